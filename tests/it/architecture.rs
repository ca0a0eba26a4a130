//! The house rules that code can hold: the direction of dependencies, and where IO, clocks and printing may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of `celador`, each naming only those before it. The first are those of `celador-cel`, which cannot name others.
const LAYERS: &[&str] = &[
    "cel",
    "diagnostic",
    "source",
    "digest",
    "lint",
    "same_file",
    "limits",
    "context",
    "manifest",
    "policy",
    "task",
    "engine",
    "scenario",
    "decision_log",
    "store",
    "conversation",
    "server",
    "cli",
];

/// The modules of the language, likewise: the package `celador-cel`.
const CEL_LAYERS: &[&str] = &[
    "source",
    "diagnostic",
    "domain",
    "types",
    "limits",
    "fault",
    "meter",
    "value",
    "function",
    "stdlib",
    "issue",
    "syntax",
    "env",
    "check",
    "plan",
    "eval",
    "program",
    "cache",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("target") {
            continue;
        }
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The code of a file without comments and without its test module at the end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let body = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    // what a macro names is named where it is used
    let body = body.replace("$crate::", "");
    body.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The names that follow a path prefix, those of a `{…}` group included.
fn named(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let group = rest.strip_prefix('{').map_or(rest, |group| group.split('}').next().unwrap_or_default());
        let parts: Vec<&str> = if rest.starts_with('{') { group.split(',').collect() } else { vec![group] };
        for part in parts {
            let name: String = part.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !name.is_empty() {
                names.insert(name);
            }
        }
    }
    names
}

fn layer(layers: &[&str], name: &str) -> Option<usize> {
    layers.iter().position(|layer| *layer == name)
}

#[test]
fn modules_name_only_modules_before_them() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap();
        let top = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let Some(own) = layer(LAYERS, &top).filter(|_| top != "cel") else { continue };
        for name in named(&code(&file), "crate::") {
            match layer(LAYERS, &name) {
                Some(other) if other <= own => {}
                _ => wrong.push(format!("{} names crate::{name}", inside.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "upward dependencies:\n{}", wrong.join("\n"));
}

#[test]
fn modules_of_the_language_name_only_modules_before_them() {
    let src = root().join("src/cel");
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap();
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        let top = parts[0].trim_end_matches(".rs");
        let Some(own) = layer(CEL_LAYERS, top) else { continue };
        let code = code(&file);
        let mut names = named(&code, "crate::");
        if parts.len() == 1 || parts[1] == "mod.rs" {
            names.extend(named(&code, "super::"));
        }
        for name in names {
            match layer(CEL_LAYERS, &name) {
                Some(other) if other <= own => {}
                _ => wrong.push(format!("cel/{} names {name}", inside.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "upward dependencies:\n{}", wrong.join("\n"));
}

#[test]
fn the_lists_of_layers_are_whole() {
    for (folder, layers, apart) in
        [("src", LAYERS, &["lib", "main"][..]), ("src/cel", CEL_LAYERS, &["lib", "Cargo.toml"][..])]
    {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let name = name.trim_end_matches(".rs");
            assert!(apart.contains(&name) || layers.contains(&name), "{folder}/{name} stands in no list");
        }
    }
}

#[test]
fn io_clocks_and_chance_stay_at_the_rim() {
    let src = root().join("src");
    let rim = ["manifest/load.rs", "main.rs", "same_file.rs"];
    let mut wrong = Vec::new();
    for file in rust_files(&src) {
        let inside = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        let below = ["cli/", "scenario/load", "decision_log/", "store/", "server/"];
        if rim.contains(&inside.as_str()) || below.iter().any(|folder| inside.starts_with(folder)) {
            continue;
        }
        let code = code(&file);
        for name in [
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "SystemTime",
            "Instant::now",
            "Utc::now",
            "rand::",
        ] {
            let whole = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            if code.match_indices(name).any(|(at, _)| whole(at)) {
                wrong.push(format!("{inside} names {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "IO inside:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is() {
    for folder in ["src", "tests/it", "benches", "examples", "fuzz"] {
        let folder = root().join(folder);
        if !folder.exists() {
            continue;
        }
        for file in rust_files(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} has no header", file.display());
        }
    }
}
