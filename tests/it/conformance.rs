//! The official conformance suite, unchanged: what goes in is a folder of its files in proto3 JSON.
//!
//! The folder is `CEL_SPEC_DIR`, or `target/cel-spec`, which `tests/fetch-conformance` fills. A value must be right
//! together with its type. An expected error must be one of the evaluation or of the types, never that a name or
//! function is unknown here. Tests that need protobuf messages are skipped, decided from the test itself; others only
//! by the list in this file. A skipped test that passes fails the run, as does an entry of the list that no test has.

mod expected;
mod scope;
mod suite;

use celador::cel::{Activation, Program, Stop};
use expected::{Expected, same_value};
use suite::{Test, read_suite};

/// What this implementation leaves out, by the beginnings of addresses, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("block_ext/", "`cel.block` is what an optimizer writes for itself, not what people or models write"),
    ("basic/variables/unbound_is_runtime_error", UNDECLARED),
    ("basic/functions/unbound_is_runtime_error", UNDECLARED),
    ("parse/receiver_function_names/", UNDECLARED),
    ("type_deductions/type_parameters/", "abstract types with parameters cannot be declared"),
];

const UNDECLARED: &str =
    "a name that nothing declares is refused before it runs, also without a check of types";

#[test]
fn conformance() {
    let Some(tests) = read_suite() else {
        println!("conformance: skipped, the suite is not here: `tests/fetch-conformance` brings it");
        return;
    };
    let mut passed = 0_usize;
    let mut skipped = 0_usize;
    let mut failed = Vec::new();
    for test in &tests {
        match (run(test), reason_to_skip(test)) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some(_)) => skipped += 1,
            (Ok(()), Some(reason)) => {
                failed.push(format!("{}: passes, but is skipped: {reason}", test.address))
            }
            (Err(why), None) => failed.push(format!("{}: `{}` {why}", test.address, test.expr)),
        }
    }
    println!("conformance: {passed} passed, {} failed, {skipped} skipped", failed.len());
    let unused =
        LEFT_OUT.iter().filter(|(start, _)| !tests.iter().any(|test| test.address.starts_with(start)));
    failed.extend(unused.map(|(start, _)| format!("{start}: is left out, but there is no such test")));
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

fn reason_to_skip(test: &Test) -> Option<&'static str> {
    let left_out = LEFT_OUT.iter().find(|(start, _)| test.address.starts_with(start));
    let messages = test.needs_messages().then_some("needs protobuf messages");
    left_out.map(|(_, reason)| *reason).or(messages)
}

/// Runs one test; says what is wrong with the outcome.
fn run(test: &Test) -> Result<(), String> {
    let env = scope::scope(test)?;
    let program = match Program::compile(&env, &test.expr) {
        Ok(program) => program,
        Err(issues) => {
            let unknown = issues.iter().find(|issue| issue.code.starts_with("undeclared"));
            return match (test.expected(), unknown) {
                (Expected::Error { unknown_name: true }, Some(_)) | (Expected::Error { .. }, None) => Ok(()),
                _ => Err(issues.iter().map(|issue| format!("is refused: {}", issue.message)).collect()),
            };
        }
    };
    if let Some(ty) = test.expected_type()
        && ty.as_deref() != Some(&program.result_type().to_string())
    {
        return Err(format!("has the type {}, not {}", program.result_type(), ty.unwrap_or_default()));
    }
    if test.is_check_only() {
        return Ok(());
    }
    let mut activation = Activation::new(&env);
    for (name, value) in test.bindings() {
        activation = activation.with(&env, name, expected::value(value).ok_or("binds what cannot be read")?);
    }
    match (program.run(&activation, None), test.expected()) {
        (Err(Stop::Failed(_)), Expected::Error { .. }) => Ok(()),
        (Ok(found), Expected::Value(value)) if same_value(&found, value) => Ok(()),
        (Ok(found), Expected::Value(value)) => Err(format!("gives {found:?}, not {value}")),
        (Ok(found), Expected::Error { .. }) => Err(format!("gives {found:?}, not an error")),
        (Err(Stop::Failed(error)), Expected::Value(value)) => Err(format!("fails ({error}), not {value}")),
        (Err(Stop::Asked), _) => Err("asks the host".to_owned()),
    }
}
