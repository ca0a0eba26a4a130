//! `celador explain-code`: every code of a finding has an explanation, the wrong example has that finding and no other, and the right one has
//! none.

use crate::suites::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn celador(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_celador")).args(arguments).current_dir(folder).output().unwrap()
}

fn explanations() -> Vec<Value> {
    let listed = celador(&["explain-code", "--format", "json"], root());
    assert_eq!(listed.status.code(), Some(0));
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The codes that the sources of a folder give to diagnostics and issues.
fn codes_of(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            codes_of(&path, codes);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        // examples of documentation have codes of their own
        let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.split("mod tests {").next().unwrap_or_default();
        let starts = ["Diagnostic::error(", "Diagnostic::warning(", "code: ", "error(", "warning("];
        let found = starts.iter().flat_map(|start| code.match_indices(*start));
        // findings of decisions have codes, too, and are none of manifests
        let found =
            found.filter(|(at, start)| *start != "code: " || code[..*at].trim_end().ends_with("Issue {"));
        for (before, rest) in found.map(|(at, start)| (start, &code[at + start.len()..])) {
            let Some((word, _)) = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'))
            else {
                continue;
            };
            let is_code = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if !word.is_empty() && is_code(word) && (word.contains('_') || before.starts_with("Diag")) {
                codes.insert(word.to_owned());
            }
        }
    }
}

/// The codes of a report.
fn found(report: &Output) -> BTreeSet<String> {
    let text = [&report.stdout[..], &report.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let codes = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("error[").or_else(|| line.strip_prefix("warning["))?;
        Some(rest.split_once(']')?.0.to_owned())
    });
    codes.collect()
}

#[test]
fn every_code_has_an_explanation() {
    let known: BTreeSet<String> =
        explanations().iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect();
    let mut codes = BTreeSet::new();
    for part in ["src/cel/check", "src/cel/syntax", "src/engine"] {
        codes_of(&root().join(part), &mut codes);
    }
    codes.extend(celador::lint::WARNINGS.iter().map(|warning| warning.code.to_owned()));
    assert!(codes.len() > 300, "only {} codes were found", codes.len());
    let without: Vec<&String> = codes.difference(&known).collect();
    assert!(without.is_empty(), "no page of docs/codes explains {without:?}");
}

#[test]
fn the_wrong_example_has_the_finding_and_the_right_one_none() {
    let (mut tried, mut wrong) = (0, String::new());
    for explanation in explanations() {
        let code = explanation["code"].as_str().unwrap();
        assert!(!explanation["about"].as_str().unwrap().is_empty(), "{code}");
        for side in ["wrong", "right"] {
            let example = &explanation[side];
            let Some(file) = example["file"].as_str() else { continue };
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("example.yaml"), file).unwrap();
            if let Some(beside) = example["beside"].as_str() {
                fs::write(folder.path().join("shop.yaml"), beside).unwrap();
            }
            let command: Vec<&str> = example["command"].as_str().unwrap().split(' ').skip(1).collect();
            let report = celador(&command, folder.path());
            let expected: BTreeSet<String> = (side == "wrong").then(|| code.to_owned()).into_iter().collect();
            let found = found(&report);
            // a right example may show how a finding is allowed
            let found = if side == "right" && report.status.success() { BTreeSet::new() } else { found };
            if found != expected {
                wrong += &format!("{code}, {side}: {found:?}\n");
            }
            tried += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(tried > 500, "only {tried} examples were tried");
}

#[test]
fn an_unknown_code_is_an_error_with_the_nearest_one() {
    let said = celador(&["explain-code", "unknown_mtch"], root());
    assert_eq!(said.status.code(), Some(1));
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(text.contains("no finding has the code `unknown_mtch`: did you mean `unknown_match`?"), "{text}");
}
