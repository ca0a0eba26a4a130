//! The parser by precedence and the grammar: what the one accepts is, to the last span, what the other makes of it.
//!
//! Every text that the tests have goes through both: corpora, the conformance suite, random expressions, and words in any
//! order, which are mostly almost CEL. `CELADOR_GRAMMAR` says how many random ones.

use crate::conformance;
use crate::laws_expressions::{Language, cases};
use celador::cel::{parse_by_grammar, parse_by_precedence};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::path::Path;

/// Whether the parser by precedence reads a text, which the grammar then reads the same.
pub fn agree(text: &str) -> bool {
    let limits = EvalLimits::default();
    let Some(own) = parse_by_precedence(text, &limits) else { return false };
    match parse_by_grammar(text, &limits) {
        Ok(theirs) => assert_eq!(own, theirs, "{text}"),
        Err(issues) => panic!("the grammar refuses {text:?}: {issues:?}"),
    }
    true
}

fn random() -> u32 {
    std::env::var("CELADOR_GRAMMAR").map_or(3_000, |count| count.parse().expect("a number of texts"))
}

#[test]
fn both_read_what_people_wrote_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut texts = Vec::new();
    for file in ["syntax/trees.txt", "syntax/printed.txt", "syntax/errors.txt"] {
        let file = fs::read_to_string(folder.join(file)).unwrap();
        texts.extend(file.lines().map(str::to_owned));
    }
    texts.extend(conformance::expressions());
    let limits = EvalLimits::default();
    let (mut accepted, mut own) = (0, 0);
    for text in &texts {
        own += usize::from(agree(text));
        accepted += usize::from(parse_by_grammar(text, &limits).is_ok());
    }
    println!("grammar: {} texts, {accepted} accepted, {own} of them by precedence", texts.len());
    // the rest are messages, chains of signs, and names with a dot in front
    assert!(accepted > 200 && own * 10 > accepted * 7, "{own} of {accepted}");
}

#[test]
fn both_read_random_expressions_the_same() {
    let mut runner = TestRunner::new_with_rng(
        Config { cases: random(), failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let own = std::cell::Cell::new(0);
    let all = cases(Language::Whole);
    runner
        .run(&all, |case| {
            own.set(own.get() + u32::from(agree(&case.text)));
            Ok(())
        })
        .unwrap();
    println!("grammar: {} of {} random expressions by precedence", own.get(), random());
    assert!(own.get() * 10 > random() * 8, "{}", own.get());
}

#[test]
fn both_read_words_in_any_order_the_same() {
    const WORDS: &[&str] = &[
        "a",
        "b",
        "c.d",
        "1",
        "2u",
        "0x1f",
        "1.5e3",
        "9223372036854775808",
        "'s'",
        "'\\n\\x41\\u00e9'",
        "r'\\d'",
        "b'\\377'",
        "'''t'''",
        "\"\"",
        "true",
        "null",
        "in",
        "for",
        "namespace",
        "has",
        "all",
        "cel",
        "bind",
        "optMap",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ".?",
        "[?",
        ",",
        ":",
        "?",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        ">=",
        "`q-r`",
        "f(",
        "x.all(y, y)",
        "(a)",
        "[1, ?b]",
        "{'k': 1}",
        "a ? b : c",
        "T{f: 1}",
    ];
    let words = prop::collection::vec(prop::sample::select(WORDS), 1..12);
    let texts = (words, prop::sample::select(&["", " "][..]));
    let mut runner = TestRunner::new_with_rng(
        Config { cases: random().saturating_mul(10), failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let own = std::cell::Cell::new(0);
    runner
        .run(&texts, |(words, glue)| {
            own.set(own.get() + u32::from(agree(&words.join(glue))));
            Ok(())
        })
        .unwrap();
    println!("grammar: {} of {} random texts by precedence", own.get(), random().saturating_mul(10));
    assert!(own.get() > 100, "{}", own.get());
}
