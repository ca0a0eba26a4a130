//! Answers of `diff` and `prove` say how they were found, and count a task only if its evaluation reached the rule.
//!
//! A row of `tests/data/evidence/diff.yaml` is a policy with two values of one part.

use crate::suites::root;
use celador::diff::{Difference, Method, OperationDifference, PolicySet, compare};
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, yaml};
use celador::prove::{Answer, Bounds, Invariants, Proof, prove};
use celador::source::Source;
use celador::{Engine, EngineLimits};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A shop with one function, and the beginning of a policy for it.
const SHOP: &str = include_str!("../data/evidence/shop.yaml");

fn file(text: &str) -> File {
    File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named }
}

fn set(text: &str) -> PolicySet {
    let limits = EngineLimits::default();
    let (catalog, _) = Catalog::parse(&[file(text)], &limits);
    let (engine, _) = Engine::lenient_from_catalog(&catalog, limits);
    engine.policy("shop", "clerk").unwrap_or_else(|error| panic!("{error}\n{text}"));
    PolicySet::new(catalog, engine)
}

/// What is known of an operation: of `before` of the only function, for example.
fn of(operation: &str, [old, new]: &[String; 2]) -> OperationDifference {
    compare(&set(old), &set(new)).into_iter().find(|one| one.operation == operation).unwrap()
}

/// What is known of the operation of a row of `diff.yaml`, and both sides.
fn of_row(row: &Value) -> (OperationDifference, [String; 2]) {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let shop = text("in_place_of").map_or_else(|| SHOP.to_owned(), |part| SHOP.replace(part, "CHANGED"));
    let shop = format!("{shop}{}", text("policy").unwrap());
    let sides = ["old", "new"].map(|side| shop.replace("CHANGED", text(side).unwrap()));
    (of(text("operation").unwrap_or("before"), &sides), sides)
}

fn rows(name: &str) -> Vec<Value> {
    let path = root().join("tests/data/evidence").join(name);
    let source = Source::new(name, fs::read_to_string(path).unwrap());
    let mut findings = Vec::new();
    let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
    assert!(findings.is_empty(), "{findings:?}");
    documents[0].node.to_json()["rows"].as_array().unwrap().clone()
}

#[test]
fn an_answer_says_how_it_was_found() {
    for row in rows("diff.yaml") {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let about = text("about").unwrap();
        let (found, _) = of_row(&row);
        assert_eq!(found.difference.as_str(), text("known").unwrap(), "{about}: {found:?}");
        assert_eq!(found.method.map(Method::as_str), Some(text("method").unwrap_or("search")), "{about}");
        assert!(found.evidence.tried > 0 && found.evidence.reached <= found.evidence.tried, "{about}");
        assert_eq!(found.evidence.reached > 0, row["reached"] == true, "{about}: {:?}", found.evidence);
        if let Some(direction) = text("direction") {
            let directions: Vec<&str> =
                found.difference.witnesses().map(|(direction, _)| direction).collect();
            assert!(directions.contains(&direction), "{about}: {found:?}");
        }
        if let Some(reason) = text("rejected") {
            let first = &found.evidence.rejected[0];
            assert!(first.reason.contains(reason), "{about}: {:?}", found.evidence);
            assert_eq!(found.evidence.refused(), found.evidence.tried, "{about}");
        }
        let shown = found.to_json();
        assert_eq!(shown["evidence"]["tried"], found.evidence.tried, "{about}");
        assert_eq!(shown["evidence"]["reached"], found.evidence.reached, "{about}");
    }
}

#[test]
fn identical_rules_are_not_tried() {
    let policy = format!("{SHOP}capabilities: {{refund: {{before: [{{assert: input.amount < 5}}]}}}}\n");
    let found = of("before", &[policy.clone(), format!("# the same\n{policy}")]);
    assert_eq!((found.difference, found.method), (Difference::None, Some(Method::Identical)));
    assert_eq!(found.evidence.tried, 0);
}

/// A witness is a case: with its user, its counters and its past the engine decides as the witness says.
#[test]
fn a_witness_has_all_that_a_case_needs() {
    for row in rows("diff.yaml").iter().filter(|row| row["known"] == "found") {
        let text = |key: &str| row[key].as_str().unwrap();
        let (found, sides) = of_row(row);
        for (_, witness) in found.difference.witnesses() {
            for (side, outcome) in sides.iter().zip([&witness.old, &witness.new]) {
                if outcome.by.is_none() && outcome.verdict.to_string() == "error" {
                    // such a task does not begin
                    continue;
                }
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join("shop.yaml"), side).unwrap();
                let mut case = json!({
                    "name": "witness", "about": "A witness.",
                    "manifest": { "files": ["shop.yaml"], "agent": "shop/clerk" },
                    "env": { "user": witness.user, "now": "1970-01-01T00:00:00Z" },
                    "state": witness.state, "call": witness.call,
                    "expect": { "decision": outcome.verdict },
                });
                if let Some(counters) = &witness.counters {
                    case["counters"] = counters.clone();
                }
                let path = folder.path().join("witness.yaml");
                fs::write(&path, case.to_string()).unwrap();
                let (code, said) = celador(&["test", path.to_str().unwrap()], folder.path());
                assert_eq!(code, 0, "{}: {said}\n{case}", text("about"));
            }
        }
    }
}

fn celador(arguments: &[&str], folder: &Path) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said)
}

#[test]
fn the_command_says_what_did_not_reach_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let policy = "claims: {properties: {code: {type: string, minLength: 4, maxLength: 2}}, required: [code]}\n\
        capabilities: {refund: {before: [{assert: input.amount <= CAP}]}}\n";
    for (name, cap) in [("old.yaml", "1000"), ("new.yaml", "900000")] {
        fs::write(folder.path().join(name), format!("{SHOP}{}", policy.replace("CAP", cap))).unwrap();
    }
    let (code, said) = celador(&["diff", "old.yaml", "new.yaml"], folder.path());
    assert_eq!(code, 4, "{said}");
    let refused = said.lines().find(|line| line.contains("refused before the rule: ")).unwrap_or_default();
    assert!(refused.contains("`claims.code` is missing"), "{said}");
    assert!(said.contains("shop/clerk before refund: unknown (search; "), "{said}");
    assert!(said.contains("shop/clerk model: none (identical)"), "{said}");
    fs::write(
        folder.path().join("invariants.yaml"),
        "kind: celador/v1/invariants\ninvariants: [{id: cap, call: refund, always: input.amount <= 1000}]\n",
    )
    .unwrap();
    let (code, said) = celador(&["prove", "new.yaml", "invariants.yaml"], folder.path());
    assert_eq!(code, 4, "{said}");
    assert!(
        said.contains("refused before the rule: ") && said.contains("`claims.code` is missing"),
        "{said}"
    );
}

fn proofs(policy: &str, invariant: &Value) -> Proof {
    let mut invariant = invariant.clone();
    invariant["id"] = "it".into();
    let text = json!({ "kind": "celador/v1/invariants", "invariants": [invariant] }).to_string();
    let limits = EngineLimits::default();
    let invariants = Invariants::read(&Source::new("invariants.yaml", text), &limits).unwrap();
    let bounds = Bounds { depth: 3, operations: 3_000 };
    let found = prove(&[file(&format!("{SHOP}{policy}"))], &invariants, limits, &bounds, &|| true);
    found.unwrap_or_else(|findings| panic!("{findings:?}\n{policy}")).remove(0)
}

#[test]
fn a_proof_says_what_was_tried() {
    for row in rows("prove.yaml") {
        let about = row["about"].as_str().unwrap();
        let policy = row["policy"].as_str().unwrap();
        let proof = proofs(policy, &row["invariant"]);
        assert_eq!(proof.answer.as_str(), row["answer"].as_str().unwrap(), "{about}: {:?}", proof.answer);
        assert_eq!(proof.evidence.reached > 0, row["reached"] == true, "{about}: {:?}", proof.evidence);
        if let Some(reason) = row.get("rejected").and_then(Value::as_str) {
            assert!(proof.evidence.rejected[0].reason.contains(reason), "{about}: {:?}", proof.evidence);
        }
        let Answer::Broken(task) = &proof.answer else { continue };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.yaml"), format!("{SHOP}{policy}")).unwrap();
        let case = task.case("it", &proof.invariant, &["shop.yaml".to_owned()]);
        fs::write(folder.path().join("it.yaml"), &case).unwrap();
        let (code, said) = celador(&["test", "it.yaml"], folder.path());
        assert_eq!(code, 0, "{about}: {said}\n{case}");
    }
}

/// An agent whose functions are all brought by tasks, and a policy for them with a part of its own.
fn brought(policy: &str) -> String {
    format!(
        "kind: celador/v1/tools\nnamespace: shop\nname: server\nbrought: ['mcp__*']\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: D.\nprompt: P.\n\
         capabilities: {{server: '*'}}\n---\n\
         kind: celador/v1/policy\nnamespace: shop\nname: rules\n{policy}"
    )
}

#[test]
fn tools_that_tasks_bring_are_made() {
    let policy = |cap: &str| {
        brought(&format!("capabilities: {{mcp__pay_*: {{before: [{{assert: input.amount <= {cap}}}]}}}}\n"))
    };
    let found = compare(&set(&policy("1000")), &set(&policy("900000")));
    let of_tool = found.iter().find(|one| one.function.as_deref() == Some("mcp__pay_x")).unwrap();
    assert!(of_tool.evidence.reached > 0, "{of_tool:?}");
    let (direction, witness) = of_tool.difference.witnesses().next().unwrap();
    assert_eq!((direction, &*witness.tools[0].name), ("looser", "mcp__pay_x"));
    // the same rules are the same
    let found = compare(&set(&policy("1000")), &set(&policy("1000")));
    assert!(found.iter().all(|one| one.method == Some(Method::Identical)), "{found:?}");
    // what no tool is made for is not known, and never the same
    let tagged = |cap: &str| {
        brought(&format!("capabilities: {{'tag:pay': {{before: [{{assert: input.amount <= {cap}}}]}}}}\n"))
    };
    let found = compare(&set(&tagged("1000")), &set(&tagged("900000")));
    let of_brought = found.iter().find(|one| one.operation == "brought").unwrap();
    assert_eq!((&of_brought.difference, of_brought.evidence.tried), (&Difference::Unknown, 0));

    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), policy("900000")).unwrap();
    let prove = |call: &str, always: &str| {
        let invariant = json!({ "id": "it", "call": call, "always": always });
        let text = json!({ "kind": "celador/v1/invariants", "invariants": [invariant] });
        fs::write(folder.path().join("invariants.yaml"), text.to_string()).unwrap();
        celador(&["prove", "shop.yaml", "invariants.yaml", "--save", "cases"], folder.path())
    };
    let (code, said) = prove("mcp__pay_x", "input.amount <= 1000");
    assert!(code == 2 && said.contains("broken it"), "{said}");
    let (code, said) = celador(&["test", "cases"], folder.path());
    assert_eq!(code, 0, "{said}");
    // each tool has a schema of its own, so nothing is proved of all
    let (code, said) = prove("mcp__pay_x", "input.amount <= 900000");
    assert!(code == 4 && said.contains("unknown it"), "{said}");
}
