//! Personal data and secrets in a page of prose: nanoseconds for each KiB, beside plain patterns by hand.
//!
//! By hand: the pattern for addresses and card numbers that people write, without a check digit, and one for the prefixes of a few tokens.

use crate::quietest_of;
use celador::cel::{Activation, Env, EnvBuilder, LANGUAGE, Program, Type, Value};
use celador::detect::DETECTION;
use regex::Regex;

const PAGE: &str = include_str!("../../docs/security.md");
const ADDRESSES: &str = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}|\b(?:[0-9][ -]?){13,16}\b";
const TOKENS: &str = r"AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36}|sk-[A-Za-z0-9]{32}|xox[bp]-[A-Za-z0-9-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----";

/// One line a question: what it takes for each KiB of a page without finds, with one at its end, and with one in every line.
pub fn detect() {
    let scope = LANGUAGE.iter().copied().fold(Env::builder(), EnvBuilder::library).library(DETECTION);
    let env = scope.variable("page", Type::String).build();
    let plain = PAGE.replace('@', " ").replace("://", " ");
    let last = format!("{plain} ann@example.com");
    let many = plain.replace('\n', " ann@example.com\n");
    let by_hand = [ADDRESSES, TOKENS].map(|pattern| Regex::new(pattern).expect("it is a pattern"));
    for (name, page) in [("no find", &plain), ("one at the end", &last), ("one a line", &many)] {
        let kib = page.len() as f64 / 1024.0;
        for text in [
            "pii.has(page)",
            "pii.has(page, 'email')",
            "pii.redact(page)",
            "secrets.has(page)",
            "secrets.redact(page)",
        ] {
            let program = Program::compile(&env, text).expect("it compiles");
            let activation = Activation::new(&env).with(&env, "page", Value::text(page));
            let hand = &by_hand[usize::from(text.starts_with("secrets"))];
            let found = program.run(&activation, None).expect("it is within its budget");
            let hand = if text.contains("has") {
                assert!(
                    matches!(found, Value::Bool(has) if has == (name != "no find" && text.starts_with("pii")))
                );
                quietest_of(5, 40, || hand.is_match(page))
            } else {
                quietest_of(5, 40, || hand.replace_all(page, "[mark]").len())
            };
            let celador = quietest_of(5, 40, || program.run(&activation, None).is_ok());
            println!(
                "{text:24} {name:15}: celador {:7.0} ns/KiB, by hand {:7.0} ns/KiB",
                celador / kib,
                hand / kib
            );
        }
    }
}
