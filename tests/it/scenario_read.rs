//! Case files are read completely, and every mistake in one has a place.

use celador::limits::EngineLimits;
use celador::scenario;
use celador::source::Source;
use std::fs;
use std::path::{Path, PathBuf};

fn data(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(inside)
}

/// The findings about a case called `probe`, one a line.
fn findings(text: &str) -> String {
    let source = Source::new("probe.yaml", text);
    match scenario::read(&source, &EngineLimits::default()) {
        Ok(_) => String::new(),
        Err(findings) => findings.iter().map(|finding| format!("{} {finding}\n", finding.code)).collect(),
    }
}

#[test]
fn every_case_of_the_specification_can_be_read() {
    let mut read = 0;
    for entry in fs::read_dir(data("cases/spec")).unwrap() {
        let path = entry.unwrap().path();
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        if let Err(findings) = scenario::read(&source, &EngineLimits::default()) {
            let all: Vec<String> = findings.iter().map(|finding| finding.render(false)).collect();
            panic!("{}", all.join("\n"));
        }
        read += 1;
    }
    assert_eq!(read, 193);
}

const FRAME: &str = "name: probe\nmanifest: {agent: {kind: commonagents.info/v1beta2/agent}}\n";

/// What is wrong with a case whose remaining keys are these.
#[track_caller]
fn assert_findings(keys: &str, expected: &[&str]) {
    let found = findings(&format!("{FRAME}{keys}"));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "\n{found}");
}

#[test]
fn an_unknown_key_is_an_error_wherever_it_stands() {
    assert_findings(
        "call: {op: validate}\nexpect: {decision: valid}\nexcept: {}\n",
        &["unknown_key probe.yaml:5:1: a case has no key `except`"],
    );
    assert_findings(
        "call: {op: before, fn: f, arg: {}}\nexpect: {decision: allow}\n",
        &["unknown_key probe.yaml:3:27: `before` has no key `arg`"],
    );
    assert_findings(
        "call: {op: validate}\nexpect: {decison: valid}\n",
        &["unknown_key probe.yaml:4:10: `expect` has no key `decison`"],
    );
    assert_findings(
        "call: {op: validate}\nexpect: {decision: valid}\nstate: [{inputs: {}}]\n",
        &["unknown_key probe.yaml:5:10: an entry of `state` has no key `inputs`"],
    );
    assert_findings(
        "call: {op: event, capability: c, event: e}\nexpect: {decision: route}\n",
        &["payload probe.yaml:3:12: an event has exactly one of `payload` and `raw_body`"],
    );
}

#[test]
fn labels_stand_beside_what_has_some() {
    let frame = |state: &str, labels: &str| {
        format!("call: {{op: before, fn: f}}\nexpect: {{labels: {{{labels}}}}}\nstate: [{state}]\n")
    };
    assert_findings(
        &frame(
            "{input: {message: x}, labels: [a]}, {call: {fn: f}, labels: [b]}",
            "arguments: {a: [b]}, output: []",
        ),
        &[],
    );
    assert_findings(
        &frame("{output: {message: x}, labels: [a]}", "input: []"),
        &[
            "nothing_to_label probe.yaml:5:40: `labels` stands beside `input`, `call` or `invoke`: nothing else has labels",
        ],
    );
    assert_findings(
        &frame("{input: {message: x}, labels: ['']}", "input: []"),
        &["bad_label probe.yaml:5:40: a label is a text of 1 to 256 bytes"],
    );
    assert_findings(&frame("", "inputs: []"), &["unknown_key probe.yaml:4:19: `labels` has no key `inputs`"]);
}

#[test]
fn a_wrong_word_is_an_error() {
    assert_findings(
        "call: {op: befor}\nexpect: {decision: allow}\n",
        &[
            "unknown_word probe.yaml:3:12: expected `validate`, `functions`, `schema`, `binding`, `before`, `after`, \
         `invoke`, `input`, `output`, `model_before`, `model_after`, `prompt`, `limits`, `event`, \
         `subscription`, `allowlist`, `trigger`, `cel`, \
         `interpolate`, `script` or `bundle`, found `befor`",
        ],
    );
    assert_findings(
        "call: {op: validate}\nexpect: {decision: valid}\nreviews: {a@b.c: maybe}\n",
        &["unknown_word probe.yaml:5:18: expected `approved` or `denied`, found `maybe`"],
    );
    assert_findings(
        "call: {op: validate}\nexpect: {decision: valid}\nenv: {now: yesterday}\n",
        &["not_a_time probe.yaml:5:12: `yesterday` is no point in time"],
    );
    assert_findings(
        "call: {op: validate}\nexpect: {trace: [[before, passed]]}\n",
        &["unknown_word probe.yaml:4:27: expected `pass`, `fail` or `suspend`, found `passed`"],
    );
}

#[test]
fn a_case_that_checks_nothing_is_refused() {
    assert_findings(
        "call: {op: validate}\nexpect: {}\n",
        &["nothing_expected probe.yaml:4:9: `expect` has no keys: the case would always pass"],
    );
    assert_findings("call: {op: validate}\n", &["missing_key probe.yaml:1:1: `expect` is missing"]);
    assert_findings(
        "expect: {decision: valid}\n",
        &["one_key probe.yaml:1:1: a case has exactly one of `call` or `steps`"],
    );
}

/// What is wrong with a step of a case, and with its expectations.
#[track_caller]
fn assert_step(step: &str, expected: &[&str]) {
    assert_findings(&format!("steps:\n  - {step}\nexpect: {{task: active}}\n"), expected);
}

#[test]
fn a_wrong_step_is_an_error_at_its_place() {
    assert_step(
        "{llm: {calls: [{id: c1, fn: f}]}, expect: {calls: {c1: {decision: wait, waits_for: [c0]}}}}",
        &[],
    );
    assert_step("review: {call: c1, verdict: edited, args: {a: 1}}", &[]);
    assert_findings("steps: []\nexpect: {task: active}\n", &["no_steps probe.yaml:3:8: `steps` has no step"]);
    assert_findings(
        "steps: [{llm: {}}]\ncall: {op: validate}\nexpect: {task: active}\n",
        &["one_key probe.yaml:1:1: a case has exactly one of `call` or `steps`"],
    );
    assert_findings(
        "steps: [{llm: {}}]\nresume: [{a: approved}]\nexpect: {task: active}\n",
        &["resume_of_steps probe.yaml:4:1: `resume` goes with `call`; among `steps` a step `review` answers"],
    );
    assert_step(
        "{llm: {}, result: {id: c1}}",
        &[
            "one_key probe.yaml:4:5: a step has exactly one of `input`, `model`, `llm`, `call`, `result`, `results`, \
           `withdraw`, `review`, `event` or `output`",
        ],
    );
    assert_step("llm: {call: []}", &["unknown_key probe.yaml:4:11: a model turn has no key `call`"]);
    assert_step(
        "withdraw: {id: c1, ran: true}",
        &["not_whether_it_ran probe.yaml:4:29: expected `false` or `unknown`, found a boolean"],
    );
    assert_step(
        "review: {verdict: approved}",
        &["whose_review probe.yaml:4:13: a review is named by its `call`, its `reviewer`, or both"],
    );
    for verdict in ["edited", "responded", "edited, output: 1", "approved, args: {}", "denied, output: 1"] {
        assert_step(
            &format!("review: {{call: c1, verdict: {verdict}}}"),
            &[
                "other_verdict probe.yaml:4:13: `args` goes with `edited`, `output` with `responded`, and neither with \
               another verdict",
            ],
        );
    }
    assert_step(
        "{llm: {}, expect: {}}",
        &["nothing_expected probe.yaml:4:23: `expect` has no keys: the case would always pass"],
    );
    assert_step(
        "{llm: {}, expect: {calls: {c1: {calls: {}}}}}",
        &["unknown_key probe.yaml:4:37: `expect` has no key `calls`"],
    );
    assert_step(
        "{llm: {}, expect: {call: {c1: {}}}}",
        &["unknown_key probe.yaml:4:24: `expect` has no key `call`"],
    );
}

#[test]
fn a_case_has_the_name_of_its_file_and_is_alone_in_it() {
    let text = "name: other\nmanifest: {agent: {}}\ncall: {op: validate}\nexpect: {decision: valid}\n";
    assert_eq!(
        findings(text),
        "other_name probe.yaml:1:7: the case is called `other` and its file `probe`\n"
    );
    let two = format!("{FRAME}call: {{op: validate}}\nexpect: {{decision: valid}}\n---\nname: second\n");
    assert_eq!(findings(&two), "documents probe.yaml:1:1: expected one document in the file, found 2\n");
    assert_eq!(findings(""), "documents probe.yaml:1:1: expected one document in the file, found 0\n");
}

#[test]
fn an_operation_on_a_task_needs_a_manifest() {
    let text = "name: probe\ncall: {op: functions}\nexpect: {value: []}\n";
    assert_eq!(findings(text), "no_manifest probe.yaml:2:12: `functions` needs a `manifest`\n");
}
