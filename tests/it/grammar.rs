//! Our grammar and that of the `cel` crate, whose trees are cel-go's: they read the same texts, and as the same trees.
//!
//! The texts are the corpus of the syntax, expressions by chance, and all of these with tokens left out, put in twice,
//! exchanged or put in from elsewhere, so that most of those are none. `CELADOR_GRAMMAR` says how many of them are tried.

use crate::fuzz_bodies::bodies::grammar::agree;
use crate::laws_expressions::{Language, cases};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::fs;

/// How many texts `cargo test` tries.
const TEXTS: u32 = 3_000;

/// What is put between the tokens of a text.
const TOKENS: [&str; 40] = [
    "a",
    "b.c",
    "f(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ".?",
    "[?",
    "?",
    ":",
    ",",
    "+",
    "-",
    "--",
    "*",
    "!",
    "!!",
    "==",
    "<",
    "in",
    "&&",
    "||",
    "1",
    "1u",
    "2.5",
    "9223372036854775808",
    "'t'",
    "b'\\xff'",
    "r'\\n'",
    "true",
    "null",
    "for",
    "`a-b`",
    ".a",
    "A{",
    "has(a.b)",
];

/// The texts of the corpus.
fn corpus() -> Vec<String> {
    let mut texts = Vec::new();
    for file in ["trees.txt", "printed.txt", "errors.txt"] {
        let rows = fs::read_to_string(format!("tests/data/syntax/{file}")).unwrap();
        // a text over several lines is several texts here, and one that repeats something is left out
        texts.extend(rows.lines().filter_map(|row| row.strip_prefix("> ")).map(str::to_owned));
    }
    texts.retain(|text| !text.contains("{{"));
    texts
}

#[test]
fn the_corpus_is_read_as_the_cel_crate_reads_it() {
    let texts = corpus();
    let wrong: Vec<_> = texts.iter().filter_map(|text| agree(text).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(texts.len() > 250, "{}", texts.len());
}

/// One change to a text: at a token, one of a few, with one of `TOKENS`.
type Change = (prop::sample::Index, u8, prop::sample::Index);

/// The pieces of a text that blanks, brackets and signs part, each with what stands behind it.
fn changed(text: &str, changes: &[Change]) -> String {
    let mut pieces: Vec<String> = Vec::new();
    for character in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(last) if word(character) && last.ends_with(word) => last.push(character),
            _ => pieces.push(character.to_string()),
        }
    }
    for (at, how, token) in changes {
        if pieces.is_empty() {
            break;
        }
        let (at, token) = (at.index(pieces.len()), TOKENS[token.index(TOKENS.len())]);
        match how % 4 {
            0 => drop(pieces.remove(at)),
            1 => pieces.insert(at, token.to_owned()),
            2 => pieces[at] = token.to_owned(),
            _ => {
                let other = (at * 7 + 3) % pieces.len();
                pieces.swap(at, other);
            }
        }
    }
    pieces.concat()
}

#[test]
fn changed_expressions_are_read_as_the_cel_crate_reads_them() {
    let count = std::env::var("CELADOR_GRAMMAR").map_or(TEXTS, |count| count.parse().unwrap());
    let corpus: Vec<String> = corpus().into_iter().filter(|text| text.len() < 200).collect();
    let of_corpus = prop::sample::select(corpus);
    let soup = prop::collection::vec(prop::sample::select(&TOKENS[..]), 1..9).prop_map(|soup| soup.join(" "));
    let by_chance = cases(Language::Whole).prop_map(|case| case.text);
    let texts = prop_oneof![4 => of_corpus, 1 => soup, 2 => by_chance];
    let changes = prop::collection::vec(any::<Change>(), 0..4);
    let config = ProptestConfig { cases: count, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (read, tried) = (Cell::new(0_u32), Cell::new(0_u32));
    let result = TestRunner::new_with_rng(config, rng).run(&(texts, changes), |(text, changes)| {
        let text = changed(&text, &changes);
        let both = agree(&text).map_err(TestCaseError::fail)?;
        read.set(read.get() + u32::from(both));
        tried.set(tried.get() + 1);
        Ok(())
    });
    println!("{} of {} texts were expressions", read.get(), tried.get());
    result.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(read.get() > tried.get() / 8, "too few were expressions");
}
