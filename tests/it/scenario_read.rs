//! Case files are read completely, and every mistake in one has a place.

use celador::limits::EngineLimits;
use celador::scenario::{self, CaseOutcome};
use celador::source::Source;
use std::fs;
use std::path::{Path, PathBuf};

fn data(inside: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(inside)
}

/// The findings about the cases of a file called `probe`, one a line.
fn findings(text: &str) -> String {
    let source = Source::new("probe.yaml", text);
    let read = scenario::read(&source, &EngineLimits::default()).into_iter();
    let broken = read.filter_map(Result::err).map(|report| match report.outcome {
        CaseOutcome::Broken(findings) => findings,
        _ => panic!("a case that cannot be read is broken"),
    });
    broken.flatten().map(|finding| format!("{} {finding}\n", finding.code)).collect()
}

#[test]
fn every_case_of_the_specification_can_be_read() {
    let mut read = 0;
    for entry in fs::read_dir(data("cases/spec")).unwrap() {
        let path = entry.unwrap().path();
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        for case in scenario::read(&source, &EngineLimits::default()) {
            if let Err(report) = case {
                panic!("{}", report.render(&scenario::Palette::PLAIN));
            }
            read += 1;
        }
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
        &["one_key probe.yaml:1:1: a case has exactly one of `call`, `steps` or `story`"],
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
    assert_findings("steps: []\nexpect: {task: active}\n", &["no_steps probe.yaml:3:1: `steps` has no step"]);
    assert_findings(
        "steps: [{llm: {}}]\ncall: {op: validate}\nexpect: {task: active}\n",
        &["one_key probe.yaml:1:1: a case has exactly one of `call`, `steps` or `story`"],
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

#[test]
fn cases_of_one_file_share_what_stands_beside_them() {
    let shared = "manifest: {agent: {kind: commonagents.info/v1beta2/agent}}\n";
    let source = |text: &str| Source::new("probe.yaml", format!("{shared}{text}"));
    let read = |text: &str| scenario::read(&source(text), &EngineLimits::default());
    let names = |text: &str| -> Vec<String> {
        read(text).into_iter().map(|case| case.unwrap().name.text.to_string()).collect()
    };
    let own = "call: {op: validate}, expect: {decision: valid}";
    assert_eq!(
        names(&format!("cases: {{one: {{{own}}}, two: {{{own}, env: {{model: m}}}}}}\n")),
        ["probe/one", "probe/two"]
    );
    assert_eq!(
        names(
            "cases: {t: {each: {a: {x: valid}, b: {x: invalid}}, call: {op: validate}, expect: {decision: $x}}}\n"
        ),
        ["probe/t/a", "probe/t/b"]
    );
    // one that cannot be read takes no other along
    let mixed = read(&format!("cases: {{one: {{{own}}}, two: {{call: {{op: validate}}}}}}\n"));
    assert!(matches!(mixed.as_slice(), [Ok(_), Err(report)] if report.name == "probe/two"));
    let said = |text: &str| findings(&format!("{shared}{text}"));
    assert_eq!(said("cases: {}\n"), "no_cases probe.yaml:2:8: `cases` has no case\n");
    assert_eq!(
        said(&format!("cases: {{one: {{name: one, {own}}}}}\n")),
        "unknown_key probe.yaml:2:15: a case has no key `name`\n"
    );
    assert_eq!(
        said(&format!("call: {{op: validate}}\ncases: {{one: {{{own}}}}}\n")),
        "unknown_key probe.yaml:2:1: a file of cases has no key `call`\n"
    );
    assert_eq!(
        said(&format!("mocks: 7\ncases: {{one: {{{own}}}, two: {{{own}}}}}\n")),
        "wrong_type probe.yaml:2:8: expected a mapping, found a number\n",
        "what is shared is blamed once"
    );
}

#[test]
fn a_table_says_each_value_that_its_case_names() {
    let table = |rows: &str, keys: &str| findings(&format!("{FRAME}each: {{{rows}}}\n{keys}"));
    let call = "call: {op: validate}\n";
    assert_eq!(table("a: {x: valid}, b: {x: invalid}", &format!("{call}expect: {{decision: $x}}\n")), "");
    assert_eq!(
        table("a: {x: valid}", &format!("{call}expect: {{decision: $y}}\n")),
        "unknown_column probe.yaml:5:20: the row has no value `y`\n\
         unused_column probe.yaml:3:12: nothing in the case uses `$x`\n"
    );
    assert_eq!(
        table("a: {2x: valid}", &format!("{call}expect: {{decision: valid}}\n")),
        "no_column probe.yaml:3:12: `2x` cannot be the name of a value of a row\n"
    );
    assert_eq!(
        table("a: {x: [1]}", &format!("{call}expect: {{message: 'at most $x'}}\n")),
        "no_text probe.yaml:5:19: the value `x` is no text, so it cannot stand within one\n"
    );
    assert_eq!(
        table("", &format!("{call}expect: {{decision: valid}}\n")),
        "no_rows probe.yaml:3:7: `each` has no row\n"
    );
    // a row may be wrong alone
    let rows = "a: {x: valid}, b: {y: valid}";
    let one_wrong = table(rows, &format!("{call}expect: {{decision: $x}}\n"));
    assert_eq!(one_wrong.lines().count(), 2, "{one_wrong}");
    let limits = EngineLimits { max_yaml_nodes: 60, ..EngineLimits::default() };
    let rows: String = (0..8).map(|row| format!("r{row}: {{x: valid}}, ")).collect();
    let text = format!("{FRAME}each: {{{rows}}}\n{call}expect: {{decision: $x}}\n");
    let read = scenario::read(&Source::new("probe.yaml", text), &limits);
    assert!(
        matches!(read.as_slice(), [Err(report)] if format!("{report:?}").contains("too_many_nodes")),
        "{read:?}"
    );
}

#[test]
fn a_story_claims_nothing_and_expects_something_of_each_step() {
    let story = |step: &str, more: &str| findings(&format!("{FRAME}story: [{step}]\n{more}"));
    assert_eq!(story("{llm: {}, expect: {decision: allow}}", ""), "");
    assert_eq!(
        story("{llm: {}, expect: {decision: allow}}, {llm: {}}", ""),
        "missing_key probe.yaml:3:47: `expect` is missing\n"
    );
    assert_eq!(
        story("{llm: {}, expect: {decision: allow}}", "state: []\n"),
        "state_of_story probe.yaml:4:1: a `story` has no `state`\n"
    );
}
