//! `celador diff`: what is the same is proved, what differs is shown by a task that was run, and what is not known is said.

use celador::diff::{Difference, OperationDifference, PolicySet, compare};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{Engine, EngineLimits, Verdict};
use std::fs;
use std::process::Command;

fn set(text: &str) -> PolicySet {
    let file = File { source: Source::new("agent.yaml", text), origin: FileOrigin::Named };
    let limits = EngineLimits::default();
    let catalog = Catalog::parse(&[file], &limits).0;
    let engine = Engine::from_catalog(&catalog, limits).0;
    PolicySet::new(catalog, engine)
}

fn first_policy() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/first-policy/agent.yaml")).unwrap()
}

fn differences(old: &str, new: &str) -> Vec<OperationDifference> {
    compare(&set(old), &set(new))
}

fn words(found: &[OperationDifference]) -> Vec<String> {
    found.iter().map(|one| format!("{} {}", one.operation, one.difference.as_str())).collect()
}

#[test]
fn layout_and_comments_decide_nothing() {
    let text = first_policy();
    let other = format!(
        "# another comment\n{}",
        text.replace("description: Pays money to a customer.", "description: Pays.")
    );
    assert_eq!(
        words(&differences(&text, &other)),
        ["input none", "output none", "model none", "event none", "before none", "after none"]
    );
}

#[test]
fn a_witness_shows_each_direction() {
    let text = first_policy();
    let changed =
        text.replace("input.amount > 0 && input.amount <= 1000", "input.amount > 5 && input.amount <= 2000");
    let found = differences(&text, &changed);
    let expected = ["input none", "output none", "model none", "event none", "before found", "after none"];
    assert_eq!(words(&found), expected);
    let Difference::Found { stricter: Some(stricter), .. } = &found[4].difference else {
        panic!("{:?}", found[4])
    };
    assert_eq!((stricter.old.verdict, stricter.new.verdict), (Verdict::Allow, Verdict::Block));
    let amount = stricter.call["args"]["amount"].as_i64().unwrap();
    assert!((1..=5).contains(&amount), "{amount}");
    // the other way round, the same shows as looser
    let back = differences(&changed, &text);
    let Difference::Found { looser: Some(looser), .. } = &back[4].difference else { panic!("{:?}", back[4]) };
    assert_eq!((looser.old.verdict, looser.new.verdict), (Verdict::Block, Verdict::Allow));
}

#[test]
fn what_no_try_shows_is_not_known() {
    let text = first_policy();
    // the same, said otherwise: nothing is proved by that no task differs
    let changed =
        text.replace("input.amount > 0 && input.amount <= 1000", "input.amount <= 1000 && input.amount > 0");
    let found = differences(&text, &changed);
    assert!(matches!(found[4].difference, Difference::Unknown { tried } if tried > 5), "{:?}", found[4]);
    // a limit may matter to everything
    let limited = text.replace("max_tool_calls: 5", "max_tool_calls: 500");
    assert!(differences(&text, &limited).iter().all(|one| one.difference != Difference::None));
    let more =
        format!("{text}\n---\n{}", text.split("---").next().unwrap().replace("name: clerk", "name: other"));
    assert!(differences(&text, &more).iter().any(|one| one.difference == Difference::Added));
    assert!(differences(&more, &text).iter().any(|one| one.difference == Difference::Removed));
}

#[test]
fn no_change_passes_without_a_word() {
    let text = first_policy();
    let unknown_alone = |changed: &str, operation: &str| {
        let found = differences(&text, changed);
        let differs = found.iter().filter(|one| one.difference != Difference::None);
        assert_eq!(differs.map(|one| one.operation).collect::<Vec<_>>(), [operation], "{:?}", words(&found));
    };
    // what the model is told, and what is checked of what is sent to it
    unknown_alone(&text.replace("prompt: ", "prompt: Be quick. "), "model");
    let policy = "kind: celador/v1/policy\nnamespace: shop\nname: short\n\
        model: {before: [{assert: 'input.model != \"large\"'}]}\n";
    unknown_alone(&format!("{text}\n---\n{policy}"), "model");
}

#[test]
fn revisions_of_git_are_read_without_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fs::create_dir(folder.path().join("policies")).unwrap();
    let file = folder.path().join("policies/agent.yaml");
    fs::write(&file, first_policy()).unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let diff = |old: &str, new: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output = command.args(["diff", old, new]).current_dir(folder.path()).output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, said) = diff("HEAD:policies", "policies");
    assert_eq!(
        (code, said.lines().last()),
        (0, Some("6 operation(s), 0 decided otherwise, 0 unknown")),
        "{said}"
    );
    fs::write(&file, first_policy().replace("input.amount > 0", "input.amount > 5")).unwrap();
    let (code, said) = diff("HEAD:policies", "policies");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("stricter: ") && said.contains("becomes block"), "{said}");
    assert_eq!(diff("nowhere:policies", "policies").0, 1);
    assert_eq!(diff("--help:policies", "policies").0, 1);
}
