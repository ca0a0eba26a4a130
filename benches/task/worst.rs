//! The worst that data can do: errors, a megabyte, ten thousand keys, wide characters.
//!
//! Each row is one expression over `output`; what it gives is asserted first. The last rows are whole decisions.

use crate::counting::counted;
use crate::{desk, quietest};
use celador::cel::{Activation, EXTENSIONS, Env, EnvBuilder, Json, Program, STANDARD, Stop, Type, Value};
use celador::task::{Call, VerdictKind};

/// What a row is about, its expression, and its value as text or the code of its error.
const ROWS: &[(&str, &str, &str)] = &[
    ("an error", "output.missing.status == 'ok'", "no_such_key"),
    ("an error deep inside", "output.rows[0].status.startsWith(1)", "no_matching_overload"),
    ("an error that does not count", "output.missing == 1 || true", "true"),
    ("an error for each row", "output.rows.exists(r, r.missing == 1)", "no_such_key"),
    ("one of 5,000 rows", "output.rows[4999].status == 'open'", "true"),
    ("all of 5,000 rows", "output.rows.exists(r, r.status == 'none')", "false"),
    ("a megabyte searched", "output.text.contains('needle')", "false"),
    ("a megabyte measured", "size(output.text) == 1000000", "true"),
    ("a megabyte bounded", "size(output.text) < 50000", "false"),
    ("a megabyte compared", "output.text == output.copy", "true"),
    ("a megabyte matched", "output.text.matches('[a-z]*needle')", "false"),
    ("one of 10,000 keys", "output.keys.k9999 == 9999", "true"),
    ("no such key", "has(output.keys.nothing)", "false"),
    ("each of 10,000 keys", "output.keys.exists(k, k == 'none')", "false"),
    ("wide: measured", "size(output.wide) == 100000", "true"),
    ("wide: bounded", "size(output.wide) < 500000", "true"),
    ("wide: last character", "output.wide.charAt(99999) == '𝄞'", "true"),
    ("wide: a part", "output.wide.substring(99990).size() == 10", "true"),
    ("wide: searched", "output.wide.indexOf('x') == -1", "true"),
    ("wide: matched", "output.wide.matches('x$')", "false"),
];

fn output() -> Json {
    let rows: Vec<_> = (0..5_000)
        .map(|n| serde_json::json!({ "status": "open", "n": n, "text": "t".repeat(150) }))
        .collect();
    let keys: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("k{n}"), n.into())).collect();
    let text = "a".repeat(1_000_000);
    let wide = "𝄞".repeat(100_000);
    serde_json::json!({ "rows": rows, "keys": keys, "text": text, "copy": text, "wide": wide }).into()
}

pub fn measure() {
    let output = output();
    let builder = Env::builder().variable("output", Type::Dyn);
    let env = STANDARD.iter().chain(EXTENSIONS).copied().fold(builder, EnvBuilder::library).build();
    for (name, text, expected) in ROWS {
        let program = Program::compile(&env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
        let activation = Activation::new(&env).with(&env, "output", output.value());
        let run = || match program.run(&activation, None) {
            Ok(Value::Bool(value)) => value.to_string(),
            Ok(value) => format!("{value:?}"),
            Err(Stop::Failed(error)) => error.code.as_str().to_owned(),
            Err(Stop::Asked) => "asked".to_owned(),
        };
        assert_eq!(run(), *expected, "{text}");
        let (_, allocated) = counted(|| program.run(&activation, None));
        let time = quietest(4, || (), |()| program.run(&activation, None));
        let (_, cost) = program.run_metered(&activation, None);
        println!("  {name:>30}: {time:11.1} ns, {:>2} allocations, cost {cost}", allocated.times);
    }
    blocked_over_much();
}

/// A decision whose message holds a part of arguments of a megabyte.
fn blocked_over_much() {
    let engine = desk::engine();
    let mut task = desk::task(&engine, 100);
    let arguments = serde_json::json!({ "amount": 5_000, "reason": "r".repeat(1_000_000) });
    let call = Call::new("payout", arguments.into());
    assert_eq!(
        desk::decided(task.before(&call, desk::now()).expect("the id is its own")).verdict.kind(),
        VerdictKind::Block
    );
    let (_, allocated) = counted(|| task.before(&call, desk::now()).expect("the id is its own"));
    println!(
        "  blocked, arguments of a megabyte: {} allocations of {} bytes, kept on record",
        allocated.times, allocated.bytes
    );
}
