//! Policies with something wrong, and what is said about it, word by word; and every message of the phases is shown so.
//!
//! Each `tests/data/policy/<name>.yaml` is compiled as `celador check` does; its findings, rendered, must be
//! `<name>.expected`. Run with `UPDATE_EXPECT=1` to write what is said now, and read the difference before it goes in.

use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::{Catalog, load};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const DATA: &str = "tests/data/policy";

#[test]
fn findings_are_as_expected() {
    let mut wrong = Vec::new();
    let mut paths: Vec<PathBuf> = fs::read_dir(DATA).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    assert!(paths.len() >= 2);
    for path in paths {
        let limits = EngineLimits::default();
        let (files, mut findings) = load(&[&path], &limits).unwrap();
        let (catalog, read) = Catalog::parse(&files, &limits);
        findings.extend(read);
        findings.extend(Engine::from_catalog(&catalog, limits).1);
        let mut said = String::new();
        for finding in &findings {
            writeln!(said, "{}\nat `{}`\n", finding.render(false), finding.path).unwrap();
        }
        let said = said.replace(&format!("{DATA}/"), "");
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{}\n{said}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The files of messages that are held to be shown, and the folders of such files.
const MESSAGES: [&str; 5] = [
    "src/cel/check/messages.rs",
    "src/cel/syntax/messages.rs",
    "src/engine/lint/messages.rs",
    "src/engine/manifest/messages",
    "src/engine/policy/messages.rs",
];

/// Messages that no file can bring about: arguments that only a host in Rust can give, whose
/// words `task.rs` holds, what a script of very many functions is told, which `task_script.rs` holds, what is found when a
/// task brings its tools, which `policies.rs` and `brought_tools.rs` hold, what a call adds to counters, which `policy_counters.rs` holds, what the
/// corpora of the analysis hold, which `analysis.rs` runs, what a build without it says, which `tests/unanalysed` holds, and functions that a host has registered otherwise, which `host_functions.rs` holds.
const NOT_OF_FILES: [&str; 12] = [
    "arguments_not_an_object",
    "allowed_in_scripts",
    "nothing_brought",
    "tool_refused",
    "set_not_by_all",
    "key_of_kind",
    "amount_of_kind",
    "no_amount",
    "not_analysed",
    "no_other_arguments",
    "expired_exception",
    "registered_otherwise",
];

/// The words of every message, in each of its forms, stand in some expected text of `tests/data`. A phrase is what
/// stands between placeholders, if it has a blank in it.
#[test]
fn every_message_is_shown_in_some_expected_text() {
    let mut shown = String::new();
    expected_texts(Path::new("tests/data"), &mut shown);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut missing = Vec::new();
    let mut count = 0;
    for file in files_of_messages() {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code = lines.collect::<Vec<_>>().join("\n");
        for function in code.split("fn ").skip(1) {
            let name = function.split(['(', '<']).next().unwrap();
            for phrase in literals(function).iter().flat_map(|literal| phrases(literal)) {
                count += 1;
                let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
                if !shown.contains(&phrase) && !NOT_OF_FILES.contains(&name) {
                    missing.push(format!("{}: `{name}`: {phrase:?}", file.display()));
                }
            }
        }
    }
    assert!(count > 300, "only {count} phrases were found");
    assert!(missing.is_empty(), "shown nowhere:\n{}", missing.join("\n"));
}

fn files_of_messages() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in MESSAGES.map(PathBuf::from) {
        match fs::read_dir(&path) {
            Ok(folder) => files.extend(folder.map(|entry| entry.unwrap().path())),
            Err(_) => files.push(path),
        }
    }
    files
}

fn expected_texts(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            expected_texts(&path, into);
        } else {
            into.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()).replace("''", "'"));
            into.push('\n');
        }
    }
}

/// The string literals of some code, escapes undone.
fn literals(code: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut characters = code.chars();
    while let Some(c) = characters.next() {
        match c {
            // a character that is a quote itself
            '\'' if characters.as_str().starts_with("\"'") => drop(characters.nth(1)),
            '"' => {
                let mut literal = String::new();
                while let Some(c) = characters.next().filter(|c| *c != '"') {
                    if c == '\\' {
                        literal.extend(characters.next());
                    } else {
                        literal.push(c);
                    }
                }
                literals.push(literal);
            }
            _ => {}
        }
    }
    literals
}

/// What stands between the placeholders of a message.
fn phrases(literal: &str) -> Vec<String> {
    let literal = literal.replace("{{", "\0").replace("}}", "\u{1}");
    let parts = literal.split('{').enumerate();
    let parts = parts.map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('}').map_or("", |(_, rest)| rest),
    });
    let parts = parts.map(|part| part.replace('\0', "{").replace('\u{1}', "}"));
    parts.filter(|part| part.trim().contains(' ') && part.trim().len() >= 8).collect()
}
