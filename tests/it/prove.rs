//! `celador prove`: rows of policies with what is to hold, each answer checked by tasks that are run apart from it, and random policies
//! with random invariants of which no task may contradict an answer.
//!
//! `CELADOR_PROVE=300` tries so many random policies.

use crate::analysis::{expression, policy as steps_as_policy, shop as analysed_shop};
use crate::suites::root;
use celador::context::Scope;
use celador::limits::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, yaml};
use celador::prove::{Answer as Known, Bounds, Counterexample, Invariants, Made, Proof, prove};
use celador::scenario::{self, CaseOutcome, Environment};
use celador::source::Source;
use celador::task::{CallStatus, Trial, Tried};
use celador::{Answer, Call, CallResult, Engine, Json, Outcome, StartTask, Task, User, VerdictKind};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

fn file(name: &str, text: &str) -> File {
    File { source: Source::new(name, text), origin: FileOrigin::Named }
}

/// The engine as it decides, whatever warnings its manifests have.
pub fn engine(text: &str) -> Engine {
    let (catalog, _) = Catalog::parse(&[file("policies.yaml", text)], &EngineLimits::default());
    Engine::lenient_from_catalog(&catalog, EngineLimits::default()).0
}

/// An invariant as a file of its own.
fn invariants(invariant: &Value) -> Invariants {
    let mut invariant = invariant.clone();
    invariant["id"] = "it".into();
    let text = json!({ "kind": "celador/v1/invariants", "invariants": [invariant] }).to_string();
    Invariants::read(&Source::new("invariants.yaml", text), &EngineLimits::default()).unwrap()
}

pub fn proved(policies: &str, invariant: &Value, bounds: &Bounds) -> Result<Proof, String> {
    let found = prove(
        &[file("policies.yaml", policies)],
        &invariants(invariant),
        EngineLimits::default(),
        bounds,
        &|| true,
    );
    let told = |findings: Vec<celador::Diagnostic>| {
        let told = findings.iter().map(|finding| finding.render(false));
        told.collect::<Vec<_>>().join("\n")
    };
    let found = found.map_err(told)?;
    assert_eq!(found.len(), 1);
    Ok(found.into_iter().next().unwrap())
}

pub fn begin(engine: &Engine, email: &str) -> Task {
    let defaults = Environment::default();
    let user = User { id: defaults.user.id, email: Some(email.to_owned()), ..User::default() };
    let start = StartTask {
        model: Some("test/model".to_owned()),
        runtime: defaults.runtime,
        ..StartTask::new("t-1", "shop", "clerk", user, defaults.started_at)
    };
    let mut task = engine.start(start).unwrap();
    let said: Json = json!({ "message": "Please see to this." }).into();
    assert!(task.input(&said, defaults.now).outcome().is_allowed());
    task
}

/// Makes a call, the people who are asked saying what is given. What it ran with, and who has approved, if it was let by.
fn make(task: &mut Task, call: &Call, says: bool) -> Option<(celador::CallId, Json, Vec<String>)> {
    let now = Environment::default().now;
    let mut approved = Vec::new();
    let mut operation = task.before(call, now).unwrap();
    while let Some(request) = operation.request() {
        let celador::Request::Review { reviewer, .. } = request else { panic!("{request:?}") };
        if says {
            approved.push(reviewer.clone());
        }
        let answer = if says { Answer::approve() } else { Answer::deny() };
        operation = operation.answer(answer, now).unwrap();
    }
    match operation.outcome() {
        Outcome::Allowed(allowed) => {
            Some((allowed.decision.call.unwrap(), allowed.decision.verdict.into_value().unwrap(), approved))
        }
        Outcome::Refused(_) => None,
        other => panic!("{other:?}"),
    }
}

/// Whether an expression is true of a task, tried out by itself: a review is true for those who have approved.
pub fn holds(task: &Task, always: &str, input: Option<&Json>, approved: &[String]) -> bool {
    let scope = if input.is_some() { Scope::Before } else { Scope::Prompt };
    let trial = Trial { input, ..Trial::new(scope, always) };
    let mut answers = Vec::new();
    loop {
        match task.evaluate(&trial, &answers, Environment::default().now).unwrap() {
            Tried::Value(value) => return value.value().is_truthy(),
            Tried::Failed(_) => return false,
            Tried::Asks(question) => {
                let celador::Request::Review { reviewer, .. } = &question else { panic!("{question:?}") };
                let answer = if approved.contains(reviewer) { Answer::approve() } else { Answer::deny() };
                answers.push(celador::task::Exchange { question, answer });
            }
        }
    }
}

/// Whether the calls break the invariant behind the last of them, and each of them is decided as it is said.
fn breaks(policies: &str, task: &Counterexample, invariant: &Value) -> bool {
    let engine = engine(policies);
    let mut run = begin(&engine, task.user["email"].as_str().unwrap());
    let always = invariant["always"].as_str().unwrap();
    let (mut is_broken, mut late) = (false, Vec::new());
    for made in &task.made {
        let Made { function, arguments, reviews, verdict, ran_with, result, is_late, .. } = made;
        let ahead = engine.restore(run.save()).unwrap();
        let says = reviews.first().is_none_or(|(_, says)| *says);
        let made = make(&mut run, &Call::new(&**function, arguments.into()), says);
        assert_eq!(made.is_some(), *verdict == VerdictKind::Allow, "{function} {arguments}");
        is_broken = false;
        if let Some((call, input, approved)) = made {
            assert_eq!(serde_json::to_value(&input).unwrap(), *ran_with.as_ref().unwrap());
            if invariant.get("call").is_some() {
                is_broken = !holds(&ahead, always, Some(&input), &approved);
            }
            let output = result.clone().unwrap();
            let is_error = output.is_null();
            let mut given = CallResult::successful(output.into());
            if is_error {
                given.status = CallStatus::Errored;
            }
            if *is_late {
                late.push((call, given));
            } else {
                let _ = run.after(&call, given, Environment::default().now).unwrap().outcome();
            }
        }
    }
    for (call, given) in late {
        let _ = run.after(&call, given, Environment::default().now).unwrap().outcome();
    }
    if invariant.get("call").is_none() {
        is_broken = !holds(&run, always, None, &[]);
    }
    is_broken
}

/// Whether the case of a counterexample, written beside the policies, passes.
fn case_passes(policies: &str, proof: &Proof, task: &Counterexample) -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policies.yaml"), policies).unwrap();
    let case = folder.path().join("it.yaml");
    let text = task.case("it", &proof.invariant, &["policies.yaml".to_owned()]);
    let limits = EngineLimits::default();
    let mut runner = scenario::Runner::new(limits);
    let cases = scenario::read(&Source::new(case.display().to_string(), text.clone()), &limits);
    let passes = cases.iter().all(|case| {
        let report = runner.run(case.as_ref().unwrap_or_else(|report| panic!("{report:?}\n{text}")));
        matches!(report.outcome, CaseOutcome::Passed)
    });
    passes && !cases.is_empty()
}

/// A policy with these steps ahead of calls, by key, beside the shop.
pub fn with_policy(shop: &str, row: &Value) -> String {
    let steps = row["policy"].as_object().unwrap().iter();
    let capabilities: serde_json::Map<_, _> =
        steps.map(|(key, steps)| (key.clone(), json!({ "before": steps }))).collect();
    let mut policy = json!({
        "kind": "celador/v1/policy", "namespace": "shop", "name": "rules", "capabilities": capabilities,
    });
    if let Some(limits) = row.get("limits") {
        policy["limits"] = limits.clone();
    }
    format!("{shop}---\n{policy}\n")
}

#[test]
fn every_row_has_its_answer() {
    let shop = fs::read_to_string(root().join("tests/data/prove/shop.yaml")).unwrap();
    let bounds = Bounds { depth: 5, operations: 6_000 };
    let (mut counts, mut wrong) = (BTreeMap::<String, usize>::new(), String::new());
    for entry in fs::read_dir(root().join("tests/data/prove")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("shop.yaml") || path.is_dir() {
            continue;
        }
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        let mut findings = Vec::new();
        let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
        assert!(findings.is_empty(), "{findings:?}");
        let rows = documents[0].node.to_json();
        for row in rows["rows"].as_array().unwrap() {
            let (name, expected) = (row["name"].as_str().unwrap(), row["answer"].as_str().unwrap());
            let policies = with_policy(&shop, row);
            let proof = match proved(&policies, &row["invariant"], &bounds) {
                Ok(proof) => proof,
                Err(told) => {
                    wrong += &format!("{name}: {told}\n");
                    continue;
                }
            };
            *counts.entry(expected.to_owned()).or_default() += 1;
            if proof.answer.as_str() != expected {
                wrong += &format!("{name}: expected {expected}, found {:?}\n", proof.answer);
                continue;
            }
            let rests_on = match &proof.answer {
                Known::Holds(grounds) => json!(grounds.limits),
                _ => json!([]),
            };
            if rests_on != *row.get("rests_on").unwrap_or(&json!([])) {
                wrong += &format!("{name}: rests on the limits {rests_on}\n");
            }
            if let Known::Broken(task) = &proof.answer {
                let calls = row["calls"].as_u64().unwrap() as usize;
                if task.made.len() != calls {
                    wrong += &format!("{name}: expected {calls} calls, found {:?}\n", task.made);
                }
                assert!(breaks(&policies, task, &row["invariant"]), "{name}: {:?}", task.made);
                assert!(case_passes(&policies, &proof, task), "{name}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    println!("{counts:?}");
    assert!(counts["holds"] >= 15 && counts["broken"] >= 15 && counts["unknown"] >= 2, "{counts:?}");
}

/// Some steps ahead of a call: what each asserts, its condition, and whether it stops what fails.
fn steps() -> impl Strategy<Value = Vec<(String, Option<String>, &'static str)>> {
    let kind = select(vec!["", "", "", "", "        on_fail: continue\n", "        mode: observe\n"]);
    let reviewed = proptest::bool::weighted(0.2);
    let assert = (expression(), reviewed).prop_map(|(text, reviewed)| match reviewed {
        true => format!("({text}) || review('lead@example.com')"),
        false => text,
    });
    proptest::collection::vec((assert, proptest::option::weighted(0.3, expression()), kind), 1..4)
}

/// What is to hold: something of the steps, often a little weaker, sometimes anything.
fn invariant(steps: &[(String, Option<String>, &'static str)]) -> impl Strategy<Value = String> + use<> {
    let steps = steps.to_vec();
    (0..steps.len(), expression(), 0..6_u8).prop_map(move |(at, other, kind)| {
        let (assert, condition, _) = &steps[at];
        let weaker = match condition {
            Some(condition) => format!("!({condition}) || ({assert})"),
            None => format!("({assert})"),
        };
        match kind {
            0 => other,
            1 => format!("({assert}) && ({other})"),
            2 => format!("{weaker} || ({other})"),
            3 => format!("({other}) ? ({weaker}) : ({weaker} || input.amount >= 5)"),
            _ => weaker,
        }
    })
}

/// The arguments of a call.
fn arguments() -> impl Strategy<Value = Value> {
    let text = || select(vec!["", "a", "ab", "b", "a.b", "ba", "zz", "aXb"]);
    let number = select(vec![
        json!(0),
        json!(5),
        json!(5.0),
        json!(10),
        json!(10.5),
        json!(100),
        json!(-1),
        json!(7),
        json!(1e300),
        json!(i64::MAX),
    ]);
    let whole = select(vec![json!(0), json!(5), json!(10), json!(-1), json!(99)]);
    let rest = (proptest::collection::vec(text(), 0..3), proptest::option::of(text()), text(), any::<bool>());
    let currency = select(vec!["EUR", "USD", "GBP"]);
    (text(), number, whole, currency, rest).prop_map(
        |(order, amount, count, currency, (items, city, note, urgent))| {
            let address = city.map_or_else(|| json!({}), |city| json!({ "city": city }));
            json!({
                "order": order, "amount": amount, "count": count, "currency": currency, "urgent": urgent,
                "items": items, "address": address, "note": note,
            })
        },
    )
}

#[test]
fn no_task_contradicts_an_answer() {
    let rounds = std::env::var("CELADOR_PROVE").map_or(60, |rounds| rounds.parse().unwrap());
    let shop = analysed_shop();
    let mut runner = TestRunner::deterministic();
    let bounds = Bounds { depth: 2, operations: 400 };
    let (mut counts, mut calls) = (BTreeMap::<&str, usize>::new(), 0_usize);
    for round in 0..rounds {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let always = invariant(&steps).new_tree(&mut runner).unwrap().current();
        let written: String = steps
            .iter()
            .map(|(assert, condition, kind)| {
                let condition = condition.as_ref().map(|it| format!("        condition: \"{it}\"\n"));
                format!("      - assert: \"{assert}\"\n{}{kind}", condition.unwrap_or_default())
            })
            .collect();
        let policies = format!("{shop}{}", steps_as_policy("chance", &written));
        let invariant = json!({ "call": "orders_refund", "always": always });
        // what can never be true, as a schema has it, is refused
        let Ok(proof) = proved(&policies, &invariant, &bounds) else { continue };
        *counts.entry(proof.answer.as_str()).or_default() += 1;
        match &proof.answer {
            Known::Broken(task) => {
                assert!(
                    breaks(&policies, task, &invariant),
                    "round {round}: {:?}\n{always}\n{written}",
                    task.made
                );
            }
            Known::Holds(_) => {
                let engine = engine(&policies);
                let plans = (proptest::collection::vec((arguments(), any::<bool>()), 1..5), any::<bool>());
                for _ in 0..rounds {
                    let (plan, _) = plans.new_tree(&mut runner).unwrap().current();
                    let mut task = begin(&engine, "u1@example.com");
                    for (arguments, says) in plan {
                        calls += 1;
                        let ahead = engine.restore(task.save()).unwrap();
                        let call = Call::new("orders_refund", (&arguments).into());
                        let Some((call, input, approved)) = make(&mut task, &call, says) else { continue };
                        assert!(
                            holds(&ahead, &always, Some(&input), &approved),
                            "round {round}: {arguments} breaks what was proved\n{always}\n{written}"
                        );
                        let result = CallResult::successful(json!({}).into());
                        let _ = task.after(&call, result, Environment::default().now).unwrap().outcome();
                    }
                }
            }
            Known::Unknown(_) => {}
        }
    }
    println!("{rounds} policies: {counts:?}, {calls} calls");
    assert!(counts["holds"] >= rounds / 10 && counts["broken"] >= rounds / 10, "{counts:?}");
}

/// The command with these arguments: its exit code and what it says.
fn run(arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    let output = command.current_dir(root()).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said)
}

#[test]
fn a_task_that_breaks_an_invariant_is_saved_as_a_case() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("invariants.yaml");
    let text = "kind: celador/v1/invariants\ninvariants:\n  - {id: small, call: payout, always: input.amount <= 500}\n";
    fs::write(&file, text).unwrap();
    let cases = folder.path().join("cases");
    let (file, cases) = (file.to_str().unwrap(), cases.to_str().unwrap());
    for name in ["small.yaml", "small-2.yaml"] {
        let (code, said) = run(&["prove", "examples/first-policy", file, "--save", cases]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(name) && said.ends_with("0 proved, 1 broken, 0 unknown\n"), "{said}");
    }
    let (code, said) = run(&["test", cases]);
    assert_eq!((code, &*said), (0, "2 passed, 0 failed\n"));
}

#[test]
fn what_is_wrong_with_invariants_is_told_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("invariants.yaml");
    let told = |invariants: &str| {
        fs::write(&path, format!("kind: celador/v1/invariants\ninvariants:\n{invariants}\n")).unwrap();
        run(&["prove", "examples/first-policy", path.to_str().unwrap()])
    };
    for (written, code, place) in [
        ("  - {id: a, call: payout, always: input.amuont <= 5}", "unknown_field", ":3:41"),
        ("  - {id: a, call: pyout, always: input.amount <= 5}", "unmatched_key", ":3:19"),
        ("  - {id: a, call: payout, always: inptu.amount <= 5}", "undeclared_name", ":3:35"),
        ("  - {id: a, agents: ['other/*'], always: 'true'}", "no_such_agent", ":3:5"),
        ("  - {id: a, always: output.message != ''}", "unknown_name", ":3:21"),
        ("  - {id: a, always: 'true'}\n  - {id: a, always: 'true'}", "duplicate_invariant", ":4:10"),
        ("  - {id: a, alwasy: 'true'}", "missing_key", ":3:5"),
        ("  []", "no_invariants", ":1:1"),
    ] {
        let (exit, said) = told(written);
        assert_eq!(exit, 3, "{written}\n{said}");
        assert!(said.contains(code) && said.contains(place), "{written}\n{said}");
    }
    // such a file may lie beside manifests, where it is none
    let beside = folder.path().join("policies");
    fs::create_dir(&beside).unwrap();
    fs::copy(root().join("examples/first-policy/agent.yaml"), beside.join("agent.yaml")).unwrap();
    fs::write(beside.join("invariants.yaml"), "kind: celador/v1/invariants\ninvariants: []\n").unwrap();
    assert_eq!(run(&["check", beside.to_str().unwrap()]).0, 0);
}
