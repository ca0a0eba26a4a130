//! `celador diff`: what is the same is proved, what differs is shown by a task that was run, and what is not known is said.

use crate::analysis::{arguments, expression, judge, policy, shop};
use celador::diff::{Difference, OperationDifference, PolicySet, compare};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::{Engine, EngineLimits, VerdictKind};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::fs;
use std::process::Command;

fn set(text: &str) -> PolicySet {
    let file = File { source: Source::new("agent.yaml", text), origin: FileOrigin::Named };
    let limits = EngineLimits::default();
    let catalog = Catalog::parse(&[file], &limits).0;
    let engine = Engine::from_catalog(&catalog, limits).0;
    PolicySet::new(catalog, engine)
}

/// The same whatever warnings it has, and an engine of its own to judge with.
fn lenient_set(text: &str) -> (PolicySet, Engine) {
    let file = File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named };
    let limits = EngineLimits::default();
    let catalog = Catalog::parse(&[file], &limits).0;
    let [engine, own] = [(); 2].map(|()| Engine::lenient_from_catalog(&catalog, limits).0);
    (PolicySet::new(catalog, engine), own)
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
    assert_eq!((stricter.old.verdict, stricter.new.verdict), (VerdictKind::Allow, VerdictKind::Block));
    let amount = stricter.call["args"]["amount"].as_i64().unwrap();
    assert!((1..=5).contains(&amount), "{amount}");
    // the other way round, the same shows as looser
    let back = differences(&changed, &text);
    let Difference::Found { looser: Some(looser), .. } = &back[4].difference else { panic!("{:?}", back[4]) };
    assert_eq!((looser.old.verdict, looser.new.verdict), (VerdictKind::Block, VerdictKind::Allow));
}

/// What is known of the calls of an agent whose only rule was one expression and is another.
fn known(parameter: &str, old: &str, new: &str) -> Difference {
    let text = |assert: &str| {
        first_policy()
            .replace("amount: {type: number, description: How much.}", parameter)
            .replace("input.amount > 0 && input.amount <= 1000", &format!("\"{assert}\""))
    };
    let [(old, _), (new, _)] = [old, new].map(|assert| lenient_set(&text(assert)));
    let found = compare(&old, &new);
    found.into_iter().find(|one| one.operation == "before").unwrap().difference
}

#[test]
fn what_says_the_same_in_other_words_is_proved() {
    let more = "note: {type: string}\n        names: {type: array, items: {type: string}}";
    let number = &*format!("amount: {{type: number}}\n        {more}");
    let whole = &*format!("amount: {{type: integer}}\n        {more}");
    for (parameter, old, new) in [
        (number, "input.amount > 0 && input.amount <= 1000", "input.amount <= 1000 && input.amount > 0"),
        (number, "input.amount > 0 && input.amount <= 1000", "!(0 >= input.amount || input.amount > 1000)"),
        (number, "input.amount>0", "input.amount   >   0"),
        (whole, "input.amount > 1000", "input.amount >= 1001"),
        (number, "input.note == 'a' || input.note == 'b'", "input.note in ['b', 'a']"),
        (number, "input.names.exists(name, name == 'kim')", "input.names.exists(n, n == 'kim')"),
        // what nobody understands, in another place
        (
            number,
            "input.amount > 0 && input.names.map(n, n + 'x').size() > 1",
            "input.names.map(m, m + 'x').size() > 1 && input.amount > 0",
        ),
    ] {
        assert_eq!(known(parameter, old, new), Difference::None, "{old} and {new}");
    }
    for (parameter, old, new) in [
        // 1000.5 is between the two
        (number, "input.amount > 1000", "input.amount >= 1001"),
        (number, "input.amount > 0 && input.amount <= 1000", "input.amount > 0 || input.amount <= 1000"),
        (number, "input.names.exists(name, name == 'kim')", "input.names.exists(name, name == 'joe')"),
        (number, "input.names.exists(name, name == input.note)", "input.names.exists(note, note == note)"),
        (number, "input.note == 'a' || input.note == 'b'", "input.note in ['b', 'c']"),
        // it would say the same, and reads other things, which other calls may change
        (number, "input.amount > 0", "input.amount > 0 && (input.note == 'a' || input.note != 'a')"),
    ] {
        assert_ne!(known(parameter, old, new), Difference::None, "{old} and {new}");
    }
}

#[test]
fn what_a_person_may_let_by_is_less_strict_than_what_nobody_can() {
    let review = "review('lead@example.com')";
    let found = known("amount: {type: number}", review, "input.amount < 5");
    let Difference::Found { stricter: Some(stricter), looser: Some(looser), .. } = found else {
        panic!("{found:?}")
    };
    // less than five goes by itself now, the rest not at all
    assert_eq!((stricter.old.verdict, stricter.new.verdict), (VerdictKind::Suspend, VerdictKind::Block));
    assert_eq!((looser.old.verdict, looser.new.verdict), (VerdictKind::Suspend, VerdictKind::Allow));
}

/// What is known of the trigger of a text, with one part of it replaced.
fn of_trigger(text: &str, part: &str, instead: &str) -> Difference {
    assert!(text.contains(part), "{part}");
    let mut found = differences(text, &text.replace(part, instead));
    found.retain(|one| one.function.as_deref() == Some("on-mail"));
    assert_eq!((found.len(), found[0].operation, &*found[0].agent), (1, "trigger", "shop/desk"));
    found.remove(0).difference
}

#[test]
fn triggers_are_compared_by_payloads_of_their_events() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/coverage/triggers/agent.yaml");
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(of_trigger(&text, "# A trigger", "# Some trigger"), Difference::None);
    let same = of_trigger(&text, "event.payload.size <= 500", "\"!(event.payload.size > 500)\"");
    assert_eq!(same, Difference::None);
    for (part, instead, direction, verdicts) in [
        ("size <= 500", "size <= 400", "stricter", (VerdictKind::Allow, VerdictKind::Block)),
        ("size <= 500", "size <= 600", "looser", (VerdictKind::Block, VerdictKind::Allow)),
        ("message: A mail of", "message: Mail of", "otherwise", (VerdictKind::Allow, VerdictKind::Allow)),
        ("owner: user:desk@", "owner: user:boss@", "otherwise", (VerdictKind::Allow, VerdictKind::Allow)),
        (
            "size: {type: integer}",
            "size: {type: integer, maximum: 99}",
            "stricter",
            (VerdictKind::Allow, VerdictKind::Block),
        ),
        (
            "enabled: true\n---\nkind: commonagents.info/v1beta2/trigger",
            "enabled: false\n---\nkind: commonagents.info/v1beta2/trigger",
            "stricter",
            (VerdictKind::Allow, VerdictKind::Block),
        ),
    ] {
        let found = of_trigger(&text, part, instead);
        let mut witnesses = found.witnesses().filter(|(found, _)| *found == direction);
        let (_, witness) = witnesses.next().unwrap_or_else(|| panic!("{part}: {found:?}"));
        assert_eq!((witness.old.verdict, witness.new.verdict), verdicts, "{part}: {witness:?}");
    }
    let gone = differences(&text, &text.replace("name: on-mail", "name: on-letter"));
    assert!(words(&gone).contains(&"trigger removed".to_owned()), "{gone:?}");
    assert!(words(&gone).contains(&"trigger added".to_owned()), "{gone:?}");
    // a payload that nobody declares has the parts that steps read
    let pushed = text.replace("event.payload.branch == 'main'", "event.payload.repository.size < 7");
    let mut found = differences(&pushed, &pushed.replace("size < 7", "size < 9"));
    let found = found.pop().unwrap();
    assert_eq!((found.function.as_deref(), found.difference.as_str()), (Some("on-push"), "found"));
}

const NIGHTLY: &str = "\
kind: commonagents.info/v1beta2/agent
namespace: shop
name: desk
description: Answers mails.
prompt: You answer.
---
kind: commonagents.info/v1beta2/schedule
namespace: shop
name: nightly
agent: desk
owner: user:desk@example.com
cron: 0 3 * * 1-5
timezone: Europe/Berlin
message: Count the mails.
enabled: true
";

#[test]
fn schedules_are_compared_by_the_times_of_their_runs() {
    let of_schedule = |old: &str, new: &str| {
        let found = differences(old, new).pop().unwrap();
        assert_eq!((found.operation, found.function.as_deref()), ("schedule", Some("nightly")));
        found.difference
    };
    let changed = |part: &str, instead: &str| {
        assert!(NIGHTLY.contains(part), "{part}");
        NIGHTLY.replace(part, instead)
    };
    // in other words, the same
    assert_eq!(of_schedule(NIGHTLY, &changed("* * 1-5", "* * MON-FRI")), Difference::None);
    let off = changed("enabled: true", "enabled: false");
    assert_eq!(of_schedule(&off, &off.replace("0 3", "0 4")), Difference::None);
    let first = "2026-01-01T02:00:00Z";
    for (part, instead, direction, at) in [
        ("0 3 *", "0 4 *", "stricter", first),
        ("0 3 *", "0 4 *", "looser", "2026-01-01T03:00:00Z"),
        ("1-5", "*", "looser", "2026-01-03T02:00:00Z"),
        ("1-5", "1-4", "stricter", "2026-01-02T02:00:00Z"),
        ("Europe/Berlin", "Europe/London", "looser", "2026-01-01T03:00:00Z"),
        // the two clocks differ in some weeks of the year alone
        ("Europe/Berlin", "Africa/Lagos", "stricter", "2026-03-30T01:00:00Z"),
        ("enabled: true", "enabled: false", "stricter", first),
        ("user:desk@", "user:boss@", "otherwise", first),
        ("Count the mails", "Delete the mails", "otherwise", first),
    ] {
        let found = of_schedule(NIGHTLY, &changed(part, instead));
        let mut witnesses = found.witnesses().filter(|(found, _)| *found == direction);
        let (_, witness) = witnesses.next().unwrap_or_else(|| panic!("{part}: {found:?}"));
        assert_eq!(witness.call["at"], at, "{part}: {witness:?}");
    }
    // every day of the week is every day, and that is not proved
    let days = of_schedule(&changed("1-5", "*"), &changed("1-5", "0-7"));
    assert_eq!(days, Difference::Unknown);
    let renamed = differences(NIGHTLY, &changed("name: nightly", "name: daily"));
    for said in ["schedule added", "schedule removed"] {
        assert!(words(&renamed).contains(&said.to_owned()), "{renamed:?}");
    }
}

#[test]
fn what_no_try_shows_is_not_known() {
    let text = first_policy();
    // nothing is proved by that no task differs
    let changed =
        text.replace("input.amount > 0 &&", "input.amount + input.amount > 0 && input.amount > 0 &&");
    let found = differences(&text, &changed);
    assert_eq!(found[4].difference, Difference::Unknown);
    assert!(found[4].evidence.reached > 5, "{:?}", found[4]);
    // a limit may matter to everything
    let limited = text.replace("max_tool_calls: 5", "max_tool_calls: 500");
    assert!(differences(&text, &limited).iter().all(|one| one.difference != Difference::None));
    let more =
        format!("{text}\n---\n{}", text.split("---").next().unwrap().replace("name: clerk", "name: other"));
    assert!(differences(&text, &more).iter().any(|one| one.difference == Difference::Added));
    assert!(differences(&more, &text).iter().any(|one| one.difference == Difference::Removed));
}

/// An expression, and the same in other words, or now and then something else.
fn pair() -> impl Strategy<Value = (String, String)> {
    let part = prop_oneof![
        6 => expression().prop_map(|part| (part.clone(), part)),
        1 => (expression(), expression()),
    ];
    part.prop_recursive(3, 8, 2, |part| {
        prop_oneof![
            part.clone().prop_map(|(old, new)| (format!("!({old})"), format!("!(!(!({new})))"))),
            (part.clone(), part.clone())
                .prop_map(|((a, x), (b, y))| (format!("(({a}) && ({b}))"), format!("(({y}) && ({x}))"))),
            (part.clone(), part)
                .prop_map(|((a, x), (b, y))| (format!("(({a}) || ({b}))"), format!("!(!({x}) && !({y}))"))),
        ]
    })
}

/// No run tells two rules apart that are said to be the same.
#[test]
fn no_run_contradicts_what_is_proved_to_be_the_same() {
    let rounds = std::env::var("CELADOR_ANALYSIS").map_or(12, |rounds| rounds.parse().unwrap());
    let shop = shop();
    let mut runner = TestRunner::deterministic();
    let (mut proved, mut proved_others, mut runs) = (0, 0, 0);
    for _ in 0..rounds {
        let (old, new) = pair().new_tree(&mut runner).unwrap().current();
        let text =
            |assert: &str| format!("{shop}{}", policy("chance", &format!("      - assert: \"{assert}\"\n")));
        let sets = [text(&old), text(&new)].map(|text| lenient_set(&text));
        let [one, two] = sets;
        let found = compare(&one.0, &two.0);
        let of_refund = |it: &&OperationDifference| {
            it.operation == "before" && it.function.as_deref() == Some("orders_refund")
        };
        if found.iter().find(of_refund).unwrap().difference != Difference::None {
            continue;
        }
        proved += 1;
        proved_others += i32::from(old != new);
        for _ in 0..100 {
            let (arguments, calls) = (arguments(), 0..3_usize).new_tree(&mut runner).unwrap().current();
            runs += 1;
            let [was, is] = [&one.1, &two.1].map(|engine| judge(engine, &arguments, calls).verdict);
            assert_eq!(was, is, "{arguments} after {calls} calls\n{old}\n{new}");
        }
    }
    println!(
        "{proved} of {rounds} pairs are proved to be the same, {proved_others} in other words; {runs} runs"
    );
    assert!(proved_others * 4 > rounds as i32, "{proved_others} of {rounds}");
}

#[test]
fn no_change_passes_without_a_word() {
    let text = first_policy();
    let differing = |changed: &str| -> Vec<(&'static str, &'static str)> {
        let found = differences(&text, changed);
        let differs = found.iter().filter(|one| one.difference != Difference::None);
        differs.map(|one| (one.operation, one.difference.as_str())).collect()
    };
    // what the model is told decides nothing that is tried
    assert_eq!(differing(&text.replace("prompt: ", "prompt: Be quick. ")), [("model", "unknown")]);
    let policy = "kind: celador/v1/policy\nnamespace: shop\nname: short\n\
        model: {before: [{assert: 'input.model != \"large\"'}]}\n";
    assert_eq!(differing(&format!("{text}\n---\n{policy}")), [("model", "found")]);
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

#[test]
fn rules_that_get_named_expressions_are_proved_to_be_the_same() {
    const DESK: &str = r#"
kind: celador/v1/tools
namespace: demo
name: desk
tools:
  - {name: pay, inputSchema: {type: object, properties: {amount: {type: number}}, required: [amount]}}
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Answers.
prompt: You are careful.
capabilities: {desk: "*"}
---
kind: celador/v1/policy
namespace: demo
name: rules
"#;
    let policy = |expressions: &str, rule: &str| {
        format!("{DESK}{expressions}capabilities: {{pay: {{before: [{{assert: \"{rule}\"}}]}}}}\n")
    };
    let named = |value: &str| {
        let expressions = format!("expressions: {{f: {{parameters: [x: dyn], value: \"{value}\"}}}}\n");
        policy(&expressions, "expressions.f(input.amount)")
    };
    let before = |old: &str, new: &str| {
        let found = differences(old, new).into_iter();
        let mut found = found.filter(|it| it.operation == "before" && it.function.as_deref() == Some("pay"));
        found.next().unwrap().difference
    };
    let inline = policy("", "input.amount > 0 && input.amount <= 100");
    let (one, other) = (named("x > 0 && x <= 100"), named("!(x <= 0 || x > 100)"));
    for (old, new) in [(&inline, &one), (&one, &inline), (&one, &other), (&inline, &other)] {
        assert_eq!(before(old, new), Difference::None, "{old}\n{new}");
    }
    for (old, new) in [(&one, named("x > 0 && x <= 101")), (&inline, named("x >= 0 && x <= 100"))] {
        assert_ne!(before(old, &new), Difference::None, "{new}");
    }
}
