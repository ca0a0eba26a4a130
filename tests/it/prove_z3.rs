//! What is proved, beside what z3 says of the same steps and invariants in an encoding of its own.
//!
//! In: the rows of `tests/data/prove` whose expressions the encoding knows; the others are passed over and counted. An invariant of calls holds if no call passes the steps that it is false of. One of tasks that bounds
//! the count or the sum of the successful calls of one function holds if no call takes it over the bound that was within. z3 knows nothing of how two tallies stand to each other and of no limit: where a
//! proof takes more than it has, that is counted, too. What is broken by a run may never be proved by z3.

use crate::analysis_z3::{Encoder, Z3};
use crate::prove::{proved, with_policy};
use crate::suites::{missing, root};
use celador::cel::{EvalLimits, Expr, parse};
use celador::limits::EngineLimits;
use celador::manifest::yaml;
use celador::prove::{Answer as Known, Bounds};
use celador::source::Source;
use serde_json::Value;
use std::fs;

/// What a row says to z3.
struct Claim {
    encoder: Encoder,
    /// When a call passes the steps, is as it was given, and what is to hold is not true of it.
    breaks: String,
    /// Whether the steps read other tallies than the invariant, or a limit counts.
    knows_less: bool,
}

fn read(text: &str) -> Option<Expr> {
    parse(text, &EvalLimits::default()).ok()
}

/// What a call of this function is, if it passes the steps of a row; nothing where the encoding does not know one of them.
fn passes(encoder: &mut Encoder, row: &Value, function: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for step in row["policy"][function].as_array().map_or(&[][..], Vec::as_slice) {
        if step.get("on_fail").is_some_and(|on_fail| on_fail == "continue") || step.get("mode").is_some() {
            continue;
        }
        let assert = encoder.part(&read(step["assert"].as_str()?)?)?.yes;
        all.push(match step.get("condition").and_then(Value::as_str) {
            None => assert,
            Some(condition) => {
                let condition = encoder.part(&read(condition)?)?;
                format!("(or {} (and {} {assert}))", condition.no, condition.yes)
            }
        });
    }
    Some(all)
}

fn claim(row: &Value) -> Option<Claim> {
    let mut encoder = Encoder::default();
    encoder.unrounded = true;
    let always = row["invariant"]["always"].as_str()?;
    let call = row["invariant"].get("call").and_then(Value::as_str);
    let (function, given, goal) = match call {
        Some(function) => (function, None, always.to_owned()),
        None => {
            let (tally, bound) = always.split_once(" <= ")?;
            let function = tally.strip_prefix("c.cap.")?.split('.').next()?;
            let calls = format!("c.cap.{function}.calls.filter(t, t.status == 'successful')");
            let adds = if tally == format!("c.cap.{function}.count_successful") {
                "1"
            } else if tally == format!("{calls}.map(t, double(t.input.amount)).sum()") {
                "double(input.amount)"
            } else {
                return None;
            };
            (function, Some(always), format!("{tally} + {adds} <= {bound}"))
        }
    };
    if row["policy"].get(function).is_none() && call.is_some() || function.contains('*') {
        return None;
    }
    let mut all = passes(&mut encoder, row, function)?;
    let of_steps = encoder.declared.keys().filter(|name| name.contains("c.")).count();
    if let Some(given) = given {
        all.push(encoder.part(&read(given)?)?.yes);
    }
    let goal = encoder.part(&read(&goal)?)?.yes;
    // the schema of the shop has two
    if encoder.declared.contains_key("|input.currency|") {
        all.push("(or (= |input.currency| \"EUR\") (= |input.currency| \"USD\"))".to_owned());
    }
    let tallies = encoder.declared.keys().filter(|name| name.contains("c.")).count();
    let knows_less = row.get("limits").is_some() || tallies > 1 || given.is_some() && of_steps == 0;
    let breaks = format!("(and true {} (not {goal}))", all.join(" "));
    Some(Claim { encoder, breaks, knows_less })
}

#[test]
fn z3_says_the_same_of_proofs() {
    let Some(mut z3) = Z3::start() else {
        missing("z3", "apt-get install z3");
        return;
    };
    let shop = fs::read_to_string(root().join("tests/data/prove/shop.yaml")).unwrap();
    let bounds = Bounds { depth: 1, operations: 1 };
    let (mut alike, mut less, mut passed_over, mut unknown, mut wrong) = (0, 0, 0, 0, String::new());
    for file in ["calls", "reviews", "history", "counts", "sums"] {
        let path = root().join(format!("tests/data/prove/{file}.yaml"));
        let source = Source::new(path.display().to_string(), fs::read_to_string(&path).unwrap());
        let mut findings = Vec::new();
        let documents = yaml::parse(&source, &EngineLimits::default(), &mut findings);
        for row in documents[0].node.to_json()["rows"].as_array().unwrap() {
            let Some(Claim { encoder, breaks, knows_less }) = claim(row) else {
                passed_over += 1;
                continue;
            };
            let Some(can_break) = z3.can_hold(&encoder.declared, &breaks) else {
                unknown += 1;
                continue;
            };
            let proof = proved(&with_policy(&shop, row), &row["invariant"], &bounds).unwrap();
            let holds = matches!(proof.answer, Known::Holds(_));
            let is_broken = row["answer"] == "broken";
            match (holds, can_break) {
                (true, false) => alike += 1,
                (false, true) => alike += 1,
                (true, true) if knows_less => less += 1,
                // a rule may be too weak for an induction that goes from one sum to the next
                (false, false) if !is_broken && row["answer"] == "unknown" => less += 1,
                _ => {
                    wrong += &format!("{}: holds {holds}, z3: can break {can_break}: {breaks}\n", row["name"])
                }
            }
        }
    }
    println!(
        "{alike} alike, {less} in which one of the two knows less, {passed_over} passed over, z3 gave up on {unknown}"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(alike >= 30 && unknown * 10 < alike);
}
