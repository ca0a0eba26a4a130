//! `celador fmt`: what it writes says the same, keeps every comment, and changes nothing the second time. On the project's own files, and on expressions by chance.

use crate::laws_expressions::{Language, cases, many};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn celador(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_celador")).args(arguments).output().unwrap()
}

fn formatted(text: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    let mut child = command.args(["fmt", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let into = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &into);
        } else {
            fs::copy(entry.path(), into).unwrap();
        }
    }
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { yaml_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect()
}

/// The comments of a text that stand on lines of their own, in the order of the alphabet.
fn comments(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut found: Vec<String> =
        text.lines().map(str::trim).filter(|line| line.starts_with('#')).map(str::to_owned).collect();
    found.sort();
    found
}

#[test]
fn what_ships_is_in_this_layout() {
    for folder in ["policies", "examples"] {
        let checked = celador(&["fmt", "--check", root().join(folder).to_str().unwrap()]);
        assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}

#[test]
fn cases_say_the_same_when_they_are_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let copied = folder.path().join("cases");
    copy(&root().join("tests/data/cases"), &copied);
    let path = copied.to_str().unwrap();
    // a case that stands elsewhere does not find the manifests of the examples, and an error shows its line
    let tested = |path: &str| {
        let printed = String::from_utf8(celador(&["test", path]).stdout).unwrap();
        printed
            .lines()
            .filter(|line| !line.contains(" --> ") && !line.contains(" |"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let before: Vec<_> = yaml_files(&copied).iter().map(|file| comments(file)).collect();
    let as_before = tested(path);
    let written = celador(&["fmt", path]);
    assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
    assert!(
        String::from_utf8_lossy(&written.stdout).lines().count() > 5,
        "some files are not in this layout"
    );
    let again = celador(&["fmt", path, "--check"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stdout));
    let after: Vec<_> = yaml_files(&copied).iter().map(|file| comments(file)).collect();
    assert_eq!(before, after);
    assert_eq!(tested(path), as_before);
}

/// Keys in an order by chance, and as they stand afterwards: a kind, and an operation, say which keys there are.
#[test]
fn keys_stand_as_people_write_them() {
    for (text, expected) in [
        (
            "\
description: Caps.
name: cap
namespace: shop
kind: celador/v1/policy
capabilities:
  pay:
    before:
      - error_message: Too much.
        severity: high
        assert: input.amount <= 100
        on_fail: lock_task
        id: cap
        condition: input.amount > 0
",
            "\
kind: celador/v1/policy
namespace: shop
name: cap
description: Caps.
capabilities:
  pay:
    before:
      - id: cap
        severity: high
        condition: input.amount > 0
        assert: input.amount <= 100
        on_fail: lock_task
        error_message: Too much.
",
        ),
        (
            "\
expect:
  message: Too much.
  decision: block
resume:
  - {lead: approved}
call:
  status: successful
  output: {paid: true}
  args: {amount: 5}
  fn: pay_order
  op: after
",
            "\
call:
  op: after
  fn: pay_order
  args: {amount: 5}
  status: successful
  output: {paid: true}
resume:
  - {lead: approved}
expect:
  decision: block
  message: Too much.
",
        ),
        (
            "\
name: pay
kind: commonagents.info/v1beta2/tool
parameters:
  properties:
    order:
      require_binding: true
      description: The order.
      type: string
",
            "\
kind: commonagents.info/v1beta2/tool
name: pay
parameters:
  properties:
    order:
      type: string
      description: The order.
      require_binding: true
",
        ),
    ] {
        assert_eq!(formatted(text), expected);
    }
}

#[test]
fn keys_are_moved_with_their_comments() {
    let text = "\
# the agent
kind: commonagents.info/v1beta2/agent
name: clerk   # who it is
# where it is
namespace: shop
prompt: You help.
description: Helps.
capabilities:
  pay:
    before:
      - error_message: no
        # why
        assert: \"input.amount>0&&!( input.late )\"
";
    let expected = "\
# the agent
kind: commonagents.info/v1beta2/agent
# where it is
namespace: shop
name: clerk   # who it is
description: Helps.
prompt: You help.
capabilities:
  pay:
    before:
      - error_message: no
        # why
        assert: \"input.amount > 0 && !(input.late)\"
";
    let found = formatted(text);
    // a comment cannot come between a dash and its first key, so that step stays in its order
    assert_eq!(found, expected);
    assert_eq!(formatted(&found), found);
    for other in ["a: [b", "x: 1\ny: 2\n", "", "kind: deployment.example.com/v1\nb: 1\na: 2\n"] {
        assert_eq!(formatted(other), other, "what is not ours stays");
    }
}

proptest! {
    #![proptest_config(many(8))]
    #[test]
    fn expressions_keep_their_meaning_and_change_once(all in prop::collection::vec(cases(Language::Whole), 30)) {
        let tree = |text: &str| celador::cel::parse(text, &EvalLimits::default()).ok().map(|expr| expr.to_string());
        let steps: String = all
            .iter()
            .map(|case| case.text.replace('\n', " "))
            .filter(|text| tree(text).is_some())
            .map(|text| format!("      - assert: {}\n", serde_json::to_string(&text).unwrap()))
            .collect();
        let text = format!("kind: commonagents.info/v1beta2/agent\ncapabilities:\n  pay:\n    before:\n{steps}");
        let once = formatted(&text);
        prop_assert_eq!(&formatted(&once), &once);
        let asserts = |text: &str| -> Vec<Option<String>> {
            let scalars = text.lines().filter_map(|line| line.trim().strip_prefix("- assert: "));
            scalars.map(|scalar| tree(&serde_json::from_str::<String>(scalar).unwrap())).collect()
        };
        prop_assert_eq!(asserts(&once), asserts(&text));
    }
}
