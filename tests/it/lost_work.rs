//! No command succeeds on work that it did not do: a table of folders, commands, exit codes and messages.
//!
//! Each row changes one file of a small world that is whole, and says how a command ends there. A row of which the change is
//! not noticed fails: the command would have reported success without the rule, the case or the file.

use std::fs;
use std::path::Path;
use std::process::Command;

const AGENT: &str = "\
kind: celador/v1/tools
namespace: bank
name: desk
tools:
  - {name: payout, inputSchema: {type: object, properties: {amount: {type: integer}}, required: [amount]}}
  - {name: page_read, inputSchema: {type: object}}
---
kind: commonagents.info/v1beta2/agent
namespace: bank
name: clerk
description: Pays.
prompt: Pay.
capabilities: {desk: '*'}
";

const RULES: &str = "\
kind: celador/v1/policy
namespace: bank
name: caps
capabilities:
  payout:
    before:
      - {id: cap, assert: input.amount <= 100, error_message: Too much.}
      - {id: total, assert: counters.paid <= 1000, error_message: Too much in all.}
      - {id: lead, condition: input.amount > 50, assert: review('lead'), error_message: Denied.}
  page_read:
    after:
      - {id: outside, label: [untrusted]}
counters:
  paid: {on: payout, key: context.user.id, window: 24h, add: input.amount}
";

const HOUSE: &str = "kind: celador/v1/policy\nnamespace: bank\nname: house\nlimits: {max_turns: 3}\n";

const CASES: &str = "\
manifest: {files: [..], agent: clerk}
cases:
  small: {call: {op: before, fn: payout, args: {amount: 40}}, expect: {decision: allow}}
  large: {call: {op: before, fn: payout, args: {amount: 400}}, expect: {decision: block}}
";

const ONE: &str = "\
name: one
manifest: {files: [..], agent: clerk}
call: {op: before, fn: payout, args: {amount: 40}}
expect: {decision: allow}
";

const TASK: &str = "\
agent: clerk
steps:
  - call: {id: c1, fn: payout, args: {amount: 40}}
";

/// A world that is whole.
fn world() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cases")).unwrap();
    for (name, text) in [
        ("agent.yaml", AGENT),
        ("rules.yaml", RULES),
        ("cases/caps.yaml", CASES),
        ("cases/one.yaml", ONE),
        ("cases/task.yaml", TASK),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// How a command ends: its code, and all that it writes.
fn end(folder: &Path, command: &str) -> (i32, String) {
    let mut celador = Command::new(env!("CARGO_BIN_EXE_celador"));
    let output = celador.current_dir(folder).args(command.split(' ')).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().expect("no signal"), text.concat())
}

/// A file that is written in the place of another, or beside it. Of a text with `→` the left side is replaced by the right
/// one; `-` removes the file.
fn change(folder: &Path, file: &str, text: &[u8]) {
    let path = folder.join(file);
    let said = String::from_utf8_lossy(text).into_owned();
    if said == "-" {
        fs::remove_file(path).unwrap();
    } else if let Some((old, new)) = said.split_once(" → ") {
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(old), "{file} has no `{old}`");
        fs::write(path, before.replace(old, new)).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// A change of a file, a command, its exit code, and what it must say.
type Row = (&'static str, &'static [u8], &'static str, i32, &'static [&'static str]);

#[track_caller]
fn hold(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (file, text, command, code, words) in rows {
        let folder = world();
        change(folder.path(), file, text);
        let (found, said) = end(folder.path(), command);
        if found != *code || !words.iter().all(|word| said.contains(word)) {
            let text = String::from_utf8_lossy(text);
            wrong.push(format!(
                "{file} {text:?}: {command}\nexpected {code} {words:?}, found {found}\n{said}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n---\n"));
}

#[test]
fn the_world_is_whole() {
    let folder = world();
    for command in [
        "check .",
        "test .",
        "test cases",
        "explain cases/caps.yaml --case small",
        "run agent.yaml rules.yaml cases/task.yaml",
        "explain cases/task.yaml --manifests agent.yaml rules.yaml",
        "replay cases/task.yaml --policies agent.yaml --against agent.yaml rules.yaml",
        "diff --old agent.yaml rules.yaml --new rules.yaml agent.yaml",
    ] {
        let (code, said) = end(folder.path(), command);
        assert_eq!(code, 0, "{command}\n{said}");
    }
    let (_, said) = end(folder.path(), "test .");
    assert!(said.ends_with("3 passed, 0 failed\n"), "{said}");
}

/// Policies that cannot be read, each of which would be the loss of a rule.
const UNREADABLE: &[(&str, &[u8])] = &[
    ("rules.yaml", b"kind: celador/v1/policy\nname: [\n"),
    ("rules.yaml", b"kind: celador/v1/policy\n\tname: caps\n"),
    ("rules.yaml", b"kind: celador/v1/policy\nname: \xff\n"),
    ("rules.yaml", b"kind: celador/v1/policy \xe2\x86\x92 kind: celador/v1/polcy"),
    ("rules.yaml", b"kind: celador/v1/policy \xe2\x86\x92 kind: Celador/v1/policy"),
    ("rules.yaml", b"kind: celador/v1/policy \xe2\x86\x92 kind: celador/v2/policy"),
    ("rules.yaml", b"kind: celador/v1/policy \xe2\x86\x92 kind: v1/policy"),
    ("rules.yaml", b"kind: celador/v1/policy \xe2\x86\x92 # no kind"),
    ("rules.yaml", b"kind: \xe2\x86\x92 knid: "),
    ("rules.yaml", b""),
    ("rules.yaml", b"# to be written\n"),
    ("rules.yaml", b"name: caps \xe2\x86\x92 name: caps\napplies_to: {agents: [bank/clrek]}"),
    ("rules.yaml", b"name: caps \xe2\x86\x92 name: caps\nuses: [{policy: shell, as: other}]"),
    ("rules.yaml", b"name: caps \xe2\x86\x92 name: caps\napplies_too: {agents: [x]}"),
    ("rules.yaml", b"  payout:\n \xe2\x86\x92   payuot:\n"),
    ("rules.yaml", b"input.amount <= 100 \xe2\x86\x92 input.amount <= lmit"),
    ("rules.yaml", b"kind:celador/v1/policy\n"),
    ("rules.yaml", b"false\n"),
    ("rules.yaml", b"- kind: celador/v1/policy\n  namespace: bank\n  name: caps\n"),
    ("rules.yaml", b"- knid: celador/v1/policy\n  namespace: bank\n  name: caps\n"),
    ("more.YAML", b"kind: celador/v1/policy\nnamespace: bank\nname: more\nlimits: {max_turns: 3}\n"),
    ("more.Yml", b"kind: celador/v1/policy\nnamespace: bank\nname: more\nlimits: {max_turns: 3}\n"),
];

#[test]
fn a_case_whose_world_is_not_loaded_is_broken() {
    let rows: Vec<Row> = UNREADABLE
        .iter()
        .flat_map(|(file, text)| {
            let told: &[&str] = &["0 passed, 3 broken"];
            let row = move |command, code, words| (*file, *text, command, code, words);
            [
                row("test cases", 2, told),
                row("explain cases/caps.yaml --case small", 1, &[]),
                row("eval input.amount --case cases/one.yaml", 1, &[]),
                row("run . cases/task.yaml", 3, &[]),
                row("check .", 3, &[]),
                row("explain cases/task.yaml --manifests .", 3, &[]),
                row("replay cases/task.yaml --policies . --against .", 3, &[]),
                row("diff . .", 3, &[]),
            ]
        })
        .collect();
    hold(&rows);
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_followed_and_end() {
    let folder = world();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("house.yaml"), "kind: celador/v1/polcy\nname: house\n").unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("itself")).unwrap();
    let (code, said) = end(folder.path(), "test .");
    assert!(code == 0 && said.ends_with("3 passed, 0 failed\n"), "{code}\n{said}");
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("shared")).unwrap();
    for (command, expected) in [("check .", 3), ("test cases", 2), ("run . cases/task.yaml", 3)] {
        let (code, said) = end(folder.path(), command);
        assert!(code == expected && said.contains("shared/house.yaml"), "{command}: {code}\n{said}");
    }
}

#[test]
fn packages_of_npm_are_searched_where_they_are_named() {
    let folder = world();
    let package = folder.path().join("node_modules/house");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("house.yaml"), "kind: celador/v1/polcy\nname: house\n").unwrap();
    let (code, said) = end(folder.path(), "test .");
    assert!(code == 0 && said.ends_with("3 passed, 0 failed\n"), "{code}\n{said}");
    let (code, said) = end(folder.path(), "check . node_modules/house");
    assert!(code == 3 && said.contains("node_modules/house/house.yaml"), "{code}\n{said}");
}

#[test]
fn a_manifest_that_is_not_there_breaks_the_case() {
    hold(&[
        (
            "cases/caps.yaml",
            b"files: [..] \xe2\x86\x92 files: [../agent.yaml, ../ruls.yaml]",
            "test cases/caps.yaml",
            2,
            &["2 broken", "ruls.yaml"],
        ),
        (
            "cases/caps.yaml",
            b"files: [..] \xe2\x86\x92 files: [../agnt]",
            "explain cases/caps.yaml",
            1,
            &["agnt"],
        ),
        (
            "cases/caps.yaml",
            b"agent: clerk \xe2\x86\x92 agent: clrek",
            "test cases/caps.yaml",
            2,
            &["2 broken", "clrek"],
        ),
        (
            "cases/caps.yaml",
            b"files: [..] \xe2\x86\x92 files: [../cases]",
            "test cases/caps.yaml",
            2,
            &["2 broken"],
        ),
    ]);
}

#[test]
fn a_file_that_is_no_case_is_reported() {
    hold(&[
        (
            "cases/caps.yaml",
            b"cases: \xe2\x86\x92 caes:",
            "test cases",
            2,
            &["caes", "did you mean `cases`", "1 broken"],
        ),
        ("cases/caps.yaml", b"cases: \xe2\x86\x92 caes:", "test .", 2, &["1 broken"]),
        ("cases/caps.yaml", b"cases: \xe2\x86\x92 caes:", "check .", 0, &["caes", "did you mean `cases`"]),
        ("cases/caps.yaml", b"cases: \xe2\x86\x92 caes:", "explain cases/caps.yaml", 1, &["cases"]),
        (
            "cases/more.yaml",
            b"name: more\nmanifest: {files: [..], agent: clerk}\nstorry: []\n",
            "test cases",
            2,
            &["1 broken"],
        ),
        (
            "cases/more.yaml",
            b"name: more\ncal: {op: before}\nexpct: {decision: allow}\n",
            "test cases",
            2,
            &["1 broken"],
        ),
        (
            "cases/more.yaml",
            b"name: more\ncall: {op: before, fn: payout}\nexpct: {decision: allow}\n",
            "test cases",
            2,
            &["expct"],
        ),
        ("cases/more.YML", b"x: 1", "test cases", 2, &["broken more", "more.YML"]),
        ("cases/more.yaml", b"a: [", "test cases", 2, &["broken more", "more.yaml"]),
        ("cases/more.yaml", b"\xff", "test cases", 2, &["broken more", "more.yaml"]),
        ("cases/more.yaml", b"version: 3\nservices: {}\n", "test cases", 0, &["more.yaml", "no manifest"]),
        ("cases/more.yaml", b"", "test cases", 2, &["broken more", "no document"]),
        ("none/rules.yaml", HOUSE.as_bytes(), "test cases none", 2, &["broken none", "3 passed, 1 broken"]),
        ("none/notes.txt", b"", "test cases none", 1, &["none"]),
        ("cases/caps.yaml", b"small: \xe2\x86\x92 smal: ", "test rules.yaml", 2, &["expected a case"]),
    ]);
}

#[test]
fn a_name_without_a_case_is_an_error_that_names_the_nearest() {
    hold(&[
        ("notes.txt", b"", "explain cases/caps.yaml --case smal", 1, &["did you mean `small`", "`large`"]),
        (
            "notes.txt",
            b"",
            "explain cases/caps.yaml --case nonsense",
            1,
            &["no case `nonsense`", "`small`, `large`"],
        ),
        ("notes.txt", b"", "explain cases/task.yaml --case small", 1, &["recorded task"]),
        ("notes.txt", b"", "test cases --filter smal1", 1, &["did you mean"]),
        ("notes.txt", b"", "test cases --filter nonsense", 1, &["`caps/small`"]),
        ("cases/more.yaml", b"a: [", "test cases --filter small", 2, &["broken more"]),
        ("notes.txt", b"", "eval 1 --case cases/nothing.yaml", 1, &["nothing.yaml"]),
        ("notes.txt", b"", "replay cases/nothing.yaml --policies .", 1, &["nothing.yaml"]),
        ("notes.txt", b"", "run . cases/nothing.yaml", 1, &["nothing.yaml"]),
        ("notes.txt", b"", "diff . nothing", 1, &["nothing"]),
        (
            "notes.txt",
            b"",
            "diff --old agent.yaml rules.yaml --new agent.yaml nothing.yaml",
            1,
            &["nothing.yaml"],
        ),
    ]);
}

/// A case with this past, which expects that a small payout is allowed.
fn with_state(state: &str) -> String {
    format!(
        "manifest: {{files: [..], agent: clerk}}\n{state}\ncases: {{small: {{call: {{op: before, fn: payout, args: {{amount: 4}}}}, expect: {{decision: allow}}}}}}\n"
    )
}

#[test]
fn the_state_of_a_case_is_reachable() {
    let read = |labels: &str| format!("state: [{{call: {{fn: page_read, output: {{}}}}, labels: {labels}}}]");
    for (state, code, words) in [
        (read("[untrusted]"), 0, &["1 passed"][..]),
        (read("[untrustd]"), 2, &["no step gives the label `untrustd`", "did you mean `untrusted`"]),
        (read("[untrusted, secret]"), 2, &["`secret`", "steps give `untrusted`"]),
        (
            "state: [{call: {fn: payout, args: {amount: 4}, output: {}}, labels: [untrusted]}]".to_owned(),
            2,
            &["a result of `payout`"],
        ),
        ("state: [{input: {message: Hi.}, labels: [untrusted]}]".to_owned(), 2, &["an input"]),
        ("state: [{invoke: {fn: page_read}}]".to_owned(), 2, &["no step invokes `page_read`"]),
        ("state: [{locked: {reason: Stop.}}]".to_owned(), 2, &["lock_task"]),
        ("state: [{call: {fn: page_raed}}]".to_owned(), 2, &["did you mean `page_read`"]),
        ("counters: {paid: 4}".to_owned(), 0, &["1 passed"]),
        ("counters: {piad: 4}".to_owned(), 2, &["did you mean `paid`"]),
        ("mocks: {page_raed: [{output: {}}]}".to_owned(), 2, &["did you mean `page_read`"]),
    ] {
        let folder = world();
        change(folder.path(), "cases/caps.yaml", with_state(&state).as_bytes());
        let (found, said) = end(folder.path(), "test cases/caps.yaml");
        assert!(found == code && words.iter().all(|word| said.contains(word)), "{state}: {found}\n{said}");
    }
}

#[test]
fn a_word_that_is_never_found_is_an_error() {
    for (expect, words) in [
        (
            "task: ended",
            &["did you mean `terminated`", "`active`, `suspended`, `locked` or `terminated`"][..],
        ),
        ("decision: denied", &["did you mean `block`"]),
        ("decision: alow", &["did you mean `allow`"]),
        ("decision: whatever", &["`lock_task`", "`invalid_input`"]),
        ("limit: max_turn", &["did you mean `max_turns`"]),
        ("enforced: valid", &["`terminate`"]),
        ("stage: filtr", &["did you mean `filter`"]),
    ] {
        let folder = world();
        let change_to = format!("expect: {{decision: block}} → expect: {{{expect}}}");
        change(folder.path(), "cases/caps.yaml", change_to.as_bytes());
        let (code, said) = end(folder.path(), "test cases");
        assert!(code == 2 && words.iter().all(|word| said.contains(word)), "{expect}: {code}\n{said}");
    }
}

#[test]
fn the_answer_of_an_outsider_can_be_expected() {
    let story = |answer: &str, expect: &str| {
        format!(
            "name: outsider\nmanifest: {{files: [..], agent: clerk}}\nstory:\n  - call: {{id: c1, fn: payout, args: {{amount: 60}}}}\n    \
             expect: {{decision: suspend, reviewer: lead}}\n  - review: {{call: c1, {answer}, verdict: approved}}\n    expect: {{{expect}}}\n"
        )
    };
    for (answer, expect, code, words) in [
        ("by: mallory", "decision: rejected, task: suspended", 0, &["1 passed"][..]),
        ("by: mallory", "decision: rejected, message_contains: '`lead`'", 0, &["1 passed"]),
        ("by: mallory", "decision: allow", 1, &["rejected"]),
        ("by: mallory", "task: suspended", 2, &["the review is addressed to `lead`"]),
        ("by: ann, addressed_as: ['group:leads']", "decision: allow", 1, &["rejected"]),
        ("by: lead", "decision: allow", 0, &["1 passed"]),
        ("by: ann, addressed_as: [lead]", "decision: allow", 0, &["1 passed"]),
    ] {
        let folder = world();
        change(folder.path(), "cases/outsider.yaml", story(answer, expect).as_bytes());
        let (found, said) = end(folder.path(), "test cases/outsider.yaml");
        assert!(
            found == code && words.iter().all(|word| said.contains(word)),
            "{answer} {expect}: {found}\n{said}"
        );
    }
}

#[test]
fn a_policy_without_an_agent_is_checked_all_the_same() {
    hold(&[
        ("agent.yaml", b"-", "check rules.yaml", 3, &["no_agent_in_scope"]),
        (
            "rules.yaml",
            b"input.amount <= 100 \xe2\x86\x92 input.amount <= lmit && smaller(input.amount)",
            "check rules.yaml",
            3,
            &["no_agent_in_scope", "undeclared_name", "undeclared_function"],
        ),
    ]);
}

#[test]
fn diff_takes_several_paths_on_each_side() {
    hold(&[
        (
            "notes.txt",
            b"",
            "diff --old agent.yaml --new agent.yaml rules.yaml",
            2,
            &["before payout: decided otherwise"],
        ),
        ("notes.txt", b"", "diff --old agent.yaml rules.yaml", 1, &["--new"]),
        ("notes.txt", b"", "diff . . .", 1, &[]),
    ]);
}
