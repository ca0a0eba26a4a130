//! Patterns held to the answers of RE2 itself.
//!
//! `.ci/re2 --record` wrote `tests/data/re2/answers.jsonl`; `.ci/re2` gives a file of many more with `CELADOR_RE2_ANSWERS`.

use crate::suites::root;
use celador::cel::re2::parse;
use celador::cel::{Activation, Env, EnvBuilder, EvalLimits, LANGUAGE, Program, Type, Value};
use proptest::prelude::*;
use serde::Deserialize;
use std::fs;
use std::sync::LazyLock;

/// A pattern, and what RE2 answers for each text: whether the pattern is found, and the text with the first match and its groups
/// marked. No answers if RE2 rejects the pattern.
#[derive(Deserialize)]
struct Row {
    pattern: String,
    texts: Vec<String>,
    answers: Option<Vec<(bool, String)>>,
}

/// `matches` and `regex.replace`, by which matches and groups can be seen.
struct Functions {
    env: Env,
    matches: Program,
    replace: Program,
}

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(Functions::new);

impl Functions {
    fn new() -> Self {
        // a compiled pattern of RE2's tests may be larger than one of a policy
        let limits =
            EvalLimits { max_cost: u64::MAX / 2, max_regex_bytes: 64 << 20, ..EvalLimits::default() };
        let names = ["text", "pattern", "by"];
        let scope = names.into_iter().fold(Env::builder(), |scope, name| scope.variable(name, Type::String));
        let env = LANGUAGE.iter().copied().fold(scope.limits(limits), EnvBuilder::library).build();
        let matches = Program::compile(&env, "text.matches(pattern)").unwrap();
        let replace = Program::compile(&env, "regex.replace(text, pattern, by, 1)").unwrap();
        Self { env, matches, replace }
    }

    /// The answer for a text; nothing for a pattern that is rejected.
    fn answer(&self, pattern: &str, text: &str) -> Option<(bool, String)> {
        let captures = parse(pattern).ok()?.captures.min(9);
        let groups: String = (1..=captures).map(|group| format!(r"|\{group}")).collect();
        let by = format!(r"<\0{groups}>");
        let values = [("text", text), ("pattern", pattern), ("by", by.as_str())];
        let activation = values.into_iter().fold(Activation::new(&self.env), |activation, (name, value)| {
            activation.with(&self.env, name, Value::text(value))
        });
        let is_found = self.matches.holds(&activation, None).unwrap();
        let replaced = self.replace.run(&activation, None).unwrap();
        Some((is_found, replaced.as_str().unwrap().to_owned()))
    }
}

/// The rows that the script `.ci/re2` recorded, or those of the file that it names.
fn rows() -> Vec<Row> {
    let named = std::env::var_os("CELADOR_RE2_ANSWERS");
    let file = named.map_or_else(|| root().join("tests/data/re2/answers.jsonl"), Into::into);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn patterns_are_answered_as_by_re2() {
    let (rows, mut differences, mut pairs) = (rows(), Vec::new(), 0_usize);
    for Row { pattern, texts, answers } in &rows {
        match (parse(pattern), answers) {
            (Err(_), None) => {}
            (Err(error), Some(_)) => differences.push(format!("{pattern:?}: RE2 accepts it: {error}")),
            (Ok(_), None) => differences.push(format!("{pattern:?}: RE2 rejects it")),
            (Ok(_), Some(answers)) => {
                for (text, expected) in texts.iter().zip(answers) {
                    pairs = pairs.saturating_add(1);
                    let found = FUNCTIONS.answer(pattern, text).unwrap();
                    if found != *expected {
                        differences.push(format!("{pattern:?} in {text:?}: {found:?}, RE2: {expected:?}"));
                    }
                }
            }
        }
    }
    assert!(rows.len() >= 300 && pairs >= 1_000, "{} rows, {pairs} texts", rows.len());
    let shown: Vec<String> = differences.iter().take(40).cloned().collect();
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), shown.join("\n"));
}

/// Signs of which patterns are made, besides blanks.
const SIGNS: &str = r"a k S é ſ 0 - ^ $ . | ( (?: (?i ) [ [^ ] [:alpha:] && -- ~~ * + ? { } {2} {1,3} {,3} \ \d \W \s \b \B
    \pL \P{Greek} \Q \E \x{d800} \x41 \101 \A \z (?P<n> (?<n> : = ! < >";

fn soup() -> impl Strategy<Value = String> {
    let signs: Vec<&str> = SIGNS.split_whitespace().chain([" ", "\n"]).collect();
    prop::collection::vec(prop::sample::select(signs), 0..16).prop_map(|signs| signs.concat())
}

proptest! {
    /// No text makes the parser or the engine panic, and an error is inside of the pattern.
    #[test]
    fn every_text_is_a_pattern_or_has_a_place_where_it_is_none(pattern in soup(), text in "[aAkKſſ0 é\n]{0,8}") {
        match parse(&pattern) {
            Ok(_) => prop_assert!(FUNCTIONS.answer(&pattern, &text).is_some()),
            Err(error) => prop_assert!(pattern.get(error.span.clone()).is_some(), "{error:?}"),
        }
    }

    /// `\Q…\E` is the text itself.
    #[test]
    fn a_quoted_text_matches_itself_alone(text in any::<String>(), other in any::<String>()) {
        prop_assume!(!text.contains(r"\E"));
            let pattern = format!(r"^\Q{text}\E$");
        // a backslash at the end of the quoted text would begin another escape
        prop_assume!(!text.ends_with('\\'));
        prop_assert!(FUNCTIONS.answer(&pattern, &text).unwrap().0);
        prop_assert_eq!(FUNCTIONS.answer(&pattern, &other).unwrap().0, text == other);
    }
}
