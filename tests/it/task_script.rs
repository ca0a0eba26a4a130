//! Scripts of the model: what they may name, how they are resumed, and which files they may refer to.

use crate::task_fixture::{Script, at, call, decided, engine, noon, see, task, text_of};
use celador::cel::{LIBRARIES, MACROS};
use celador::task::{Answer, CallResult, FileReference, Progress, Request, Task, VerdictKind};
use proptest::prelude::*;
use serde_json::json;

const AGENT: &str = "
mount: task
capabilities:
  probe:
    before:
    - {assert: \"input.host != 'far' || review('boss')\"}
  ledger: {include: [lookup]}
  notes: '*'
";

fn asks<P: Into<Progress>>(progress: P) -> Request {
    match progress.into() {
        Progress::Asks(question) => question.request,
        Progress::Decided(decision) => panic!("decided {decision:?}"),
    }
}

fn refused(task: &mut Task, source: &str) -> String {
    let issues = task.script(source, noon()).expect_err(source);
    issues
        .iter()
        .map(|issue| format!("  {}\n  {}\n", issue.message, issue.help.as_deref().unwrap_or("")))
        .collect()
}

/// A script that waits is plain data: it goes on in another process, and what had run does not run again.
#[test]
fn a_script_goes_on_elsewhere_without_repeating_a_call() {
    let engine = engine(AGENT);
    let mut first = crate::task_fixture::start(&engine);
    let source = "probe({'host': ledger_lookup({'account': 'a'}).at, 'depth': 1.5}).n + [2.0, 3.0].map(d, probe({'depth': d}).n)[1]";
    let Request::Invoke(lookup) = asks(first.script(source, noon()).unwrap()) else { panic!() };
    assert_eq!(lookup.function, "ledger_lookup");
    let answer = Answer::Result(CallResult::successful(json!({ "at": "far", "size": 0.1 }).into()));
    let asked = asks(first.resume(answer, noon()).unwrap());
    assert_eq!(asked, Request::Review { reviewer: "boss".into(), panel: None });
    assert_eq!(first.suspension().unwrap().verdict.kind(), VerdictKind::Suspend);
    let refused = decided(first.invoke(&call("ledger_lookup", json!({ "account": "a" })), noon()).unwrap());
    assert_eq!(refused.verdict.kind(), VerdictKind::Rejected);
    let stored = serde_json::to_string(&first.save()).unwrap();

    let mut second = engine.restore(serde_json::from_str(&stored).unwrap()).unwrap();
    let results = [json!({ "n": 1 }), json!({ "n": 2 }), json!({ "n": 4 })];
    let results = results.map(|output| CallResult::successful(output.into()));
    let mut host = Script { results: results.into(), ..Script::default() };
    let progress = second.resume(Answer::approve(), noon()).unwrap();
    let decision = progress.drive(&mut host).unwrap().into_decision();
    assert_eq!(
        (decision.verdict.kind(), text_of(decision.verdict.value())),
        (VerdictKind::Allow, "5".to_owned())
    );
    assert_eq!(host.log.len(), 3, "{:?}", host.log);
    let order = see(&second, "context.capabilities._meta.invocations");
    assert_eq!(order, json!(["ledger_lookup", "probe", "probe", "probe"]));
    assert_eq!(decision.trace.len(), 3, "the steps of all calls are told");
}

#[test]
fn a_script_whose_review_takes_too_long_ends_with_its_task() {
    let mut task = task(&format!("{AGENT}limits: {{max_age: 2h}}\n"));
    asks(task.script("probe({'host': 'far'})", noon()).unwrap());
    let decision = decided(task.resume(Answer::approve(), at("2026-06-01T18:00:00Z")).unwrap());
    assert_eq!(decision.verdict.kind(), VerdictKind::Terminate);
    assert_eq!(decided(task.script("1", noon()).unwrap()).verdict.kind(), VerdictKind::Rejected);
}

/// Each line of `refused.txt` is a script that is refused; what is said of it stands in `refused.expected`. Run with
/// `UPDATE_EXPECT=1` to write what is said now.
#[test]
fn a_refusal_names_what_is_allowed_and_what_was_meant() {
    const SCRIPTS: &str = include_str!("../data/script/refused.txt");
    let mut task = task(AGENT);
    let said: Vec<String> =
        SCRIPTS.lines().map(|source| format!("{source}\n{}", refused(&mut task, source))).collect();
    let (said, expected) = (said.join("\n"), "tests/data/script/refused.expected");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(expected, &said).unwrap();
    }
    assert_eq!(std::fs::read_to_string(expected).unwrap_or_default(), said);
}

/// What is allowed is named in a line, however much it is.
#[test]
fn of_many_functions_a_dozen_are_named() {
    let action = |n: u32| format!("- {{name: a{n:02}, execute: {{mcp: {{url: https://m.example.com}}}}}}\n");
    let tool =
        "kind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: many\ndescription: Many.\nactions:\n";
    let agent =
        "kind: commonagents.info/v1beta2/agent\nnamespace: demo\nname: clerk\ncapabilities: {many: '*'}\n";
    let text = format!("{tool}{}---\n{agent}", (0..15).map(action).collect::<String>());
    let (engine, findings) = crate::task_fixture::parse("many.yaml", &text);
    assert!(findings.iter().all(|finding| !finding.is_error()), "{findings:?}");
    let said = refused(&mut crate::task_fixture::start(&engine), "a");
    assert!(said.contains("`many_a10`, `many_a11` and 3 more functions, besides literals"), "{said}");
}

/// A capability called `file` stands beside the function: what it is given tells the two apart.
#[test]
fn a_capability_may_be_called_file() {
    let tool = "
kind: commonagents.info/v1beta2/tool
namespace: demo
name: file
description: Files.
actions:
- {name: put, description: Puts., parameters: {properties: {of: {type: object}}}, execute: {mcp: {url: https://m.example.com}}}
---
kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Test agent.
prompt: You are a careful clerk.
mount: task
capabilities: {file: '*'}
";
    let (engine, findings) = crate::task_fixture::parse("file.yaml", tool);
    assert!(findings.iter().all(|finding| !finding.is_error()), "{findings:?}");
    let mut task = crate::task_fixture::start(&engine);
    let mut host = Script::default();
    let progress = task.script("file({'of': file('a.txt')})", noon()).unwrap();
    let _ = progress.drive(&mut host).unwrap();
    let wanted = r#"invoke file {"of":{"path":"a.txt","mimeType":"text/plain"}}"#;
    assert_eq!(host.log, ["read a.txt", wanted]);
}

/// A host that asks first may let the engine execute, be it an expression or the host's own doing.
#[test]
fn a_call_that_was_let_through_is_executed() {
    let mut task = task("capabilities: {probe: '*', notes: '*'}\nmount: task\n");
    let mut host = Script { files: [("n/k".to_owned(), "kept".to_owned())].into(), ..Script::default() };
    for (function, arguments) in [("notes_load", json!({ "key": "k" })), ("probe", json!({}))] {
        let allowed = decided(task.before(&call(function, arguments), noon()).unwrap());
        let id = allowed.call.unwrap();
        let progress = task.execute(&id, noon()).unwrap();
        let decision = progress.drive(&mut host).unwrap().into_decision();
        assert_eq!(decision.verdict.kind(), VerdictKind::Allow, "{function}");
        assert!(task.execute(&id, noon()).is_err(), "no call runs twice");
    }
    assert_eq!(see(&task, "context.capabilities._meta.invocations"), json!(["notes_load", "probe"]));
    assert_eq!(see(&task, "context.capabilities.probe.count_successful"), json!(1));
}

#[test]
fn no_function_and_no_macro_of_the_library_is_known_beyond_the_standard() {
    let mut task = task(AGENT);
    let functions = LIBRARIES.iter().flat_map(|(_, functions)| functions.iter().map(|row| row.name));
    for name in functions.filter(|name| name.starts_with(char::is_alphabetic)) {
        for source in
            [format!("{name}('a')"), format!("'a'.{name}()"), name.to_owned(), format!(".{name}({{}})")]
        {
            refused(&mut task, &source);
        }
    }
    let standard = ["has", "all", "exists", "exists_one", "existsOne", "map", "filter"];
    for row in MACROS.iter().filter(|row| !standard.contains(&row.name)) {
        for source in row.examples.iter().map(|(source, _)| source) {
            assert!(task.script(source, noon()).is_err(), "{source}");
        }
    }
    for source in
        ["[?1]", "{?'a': 1}", "{}[?'a']", "has(x)", "[1].all(i, has(i))", "[1].all(i, v, true)", "T{}"]
    {
        assert!(task.script(source, noon()).is_err(), "{source}");
    }
}

const OWN: [&str; 7] = ["probe", "ledger_lookup", "notes_load", "notes_sign", "file", "true", "false"];

proptest! {
    #[test]
    fn a_script_names_nothing_but_its_capabilities(name in "[a-z_][a-z0-9_]{0,9}", on in "(|x\\.|\\.|'a'\\.)") {
        prop_assume!(!OWN.contains(&&*name) && name != "null");
        let mut task = task(AGENT);
        for source in [format!("{on}{name}({{}})"), format!("{on}{name}"), format!("[1].map(q, {on}{name}(q))")] {
            // selecting from a literal is no name
            prop_assert!(on == "'a'." || task.script(&source, noon()).is_err(), "{}", source);
        }
    }

    #[test]
    fn no_path_leaves_the_mount(parts in prop::collection::vec(prop::sample::select(PIECES), 1..7)) {
        let path = parts.concat();
        if FileReference::new(&path, None).is_none() {
            return Ok(());
        }
        let mut plain = path.clone();
        for _ in 0..6 {
            prop_assert!(!escapes(&plain), "{path:?} is {plain:?}");
            for (masked, sign) in MASKS {
                plain = plain.replace(masked, sign);
            }
        }
        prop_assert!(!escapes(&plain), "{path:?} is {plain:?}");
    }
}

const PIECES: &[&str] = &[
    "..",
    ".",
    "/",
    "\\",
    "a",
    " ",
    "\0",
    "%2e",
    "%2E",
    "%2f",
    "%5C",
    "%00",
    "%252e",
    "%25",
    "2e",
    "2f",
    "\u{FF0E}",
    "\u{2024}",
    "\u{2025}",
    "\u{FF0F}",
    "\u{FF3C}",
    "\u{200B}",
    "%c0%ae",
    "%C0%AF",
    "%e2%80%a5",
    "e\u{301}",
    "\u{E9}",
];

const MASKS: &[(&str, &str)] = &[
    ("%25", "%"),
    ("%2e", "."),
    ("%2E", "."),
    ("%2f", "/"),
    ("%5C", "\\"),
    ("%00", "\0"),
    ("%c0%ae", "."),
    ("%C0%AF", "/"),
    ("%e2%80%a5", ".."),
    ("\u{FF0E}", "."),
    ("\u{2024}", "."),
    ("\u{2025}", ".."),
    ("\u{FF0F}", "/"),
    ("\u{FF3C}", "\\"),
    ("\u{200B}", ""),
];

/// Whether walking along the path comes above where it began.
fn escapes(path: &str) -> bool {
    let mut depth = 0;
    let climbs = path.split(['/', '\\']).any(|segment| {
        depth += match segment.trim() {
            ".." => -1,
            "" | "." => 0,
            _ => 1,
        };
        depth < 0
    });
    climbs || path.starts_with('/') || path.contains('\0')
}
