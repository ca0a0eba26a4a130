//! The official conformance suite, unchanged: what goes in is a folder of its files in proto3 JSON.
//!
//! The folder is `CEL_SPEC_DIR`, or `target/cel-spec`, which `tests/fetch-conformance` fills. A value must be right
//! together with its type. An expected error must be one of the evaluation or of the types, never that a name or
//! function is unknown here. Tests that need protobuf messages are skipped, decided from the test itself; no other is.
//! A skipped test that passes fails the run.

mod expected;
mod scope;
mod suite;

use crate::suites::missing;
use celador::cel::{Activation, Program, Stop};
use expected::{Expected, same_value};
use suite::{Test, read_suite};

#[test]
fn conformance() {
    let Some(tests) = read_suite() else {
        missing("conformance", "tests/fetch-conformance");
        return;
    };
    let mut passed = 0_usize;
    let mut skipped = 0_usize;
    let mut failed = Vec::new();
    for test in &tests {
        match (run(test), test.needs_messages()) {
            (Ok(()), false) => passed += 1,
            (Err(_), true) => skipped += 1,
            (Ok(()), true) => {
                failed.push(format!("{}: passes, but is skipped for its messages", test.address))
            }
            (Err(why), false) => failed.push(format!("{}: `{}` {why}", test.address, test.expr)),
        }
    }
    println!("conformance: {passed} passed, {} failed, {skipped} skipped", failed.len());
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
    // a folder of one's own may hold another release of the suite
    if std::env::var_os("CEL_SPEC_DIR").is_none() {
        assert_eq!((passed, skipped), (1_651, 693), "no test is lost");
    }
}

/// Runs one test; says what is wrong with the outcome.
fn run(test: &Test) -> Result<(), String> {
    let env = scope::scope(test)?;
    let compile = if test.is_unchecked() { Program::compile_unchecked } else { Program::compile };
    let compiled = compile(&env, &test.expr);
    let issues = compiled.as_ref().map_or_else(Vec::as_slice, Program::issues);
    let unknown = issues.iter().any(|issue| issue.code.starts_with("undeclared"));
    let program = match (&compiled, test.expected()) {
        (_, Expected::Error { unknown_name: false }) if unknown => {
            return Err("names what is unknown".to_owned());
        }
        (Ok(program), _) => program,
        (Err(_), Expected::Error { .. }) => return Ok(()),
        (Err(issues), Expected::Value(_)) => {
            return Err(issues.iter().map(|issue| format!("is refused: {}", issue.message)).collect());
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
