//! The house rules that code can hold: the direction of dependencies, and where IO, clocks and printing may be.

use crate::imports::{circles, code, imports, rust_files};
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages of the workspace, by their folders, each using only those before it: Cargo holds that.
const PACKAGES: &[&str] = &[
    "src/cel",
    "src/engine",
    "src/store",
    "src/service",
    "src/server",
    "src/gateway",
    "src/embed",
    "src/cli",
    "src/wasm",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn nothing_is_imported_in_a_circle() {
    let mut wrong = Vec::new();
    let mut folders = 0;
    for package in PACKAGES {
        for (folder, edges) in imports(&root().join(package)) {
            folders += 1;
            let circles = circles(&edges);
            if !circles.is_empty() {
                wrong.push(format!("{package}/{folder}: {}", circles.join(", ")));
            }
        }
    }
    assert!(folders > 20, "{folders} folders were looked at");
    assert!(wrong.is_empty(), "imports in circles:\n{}", wrong.join("\n"));
}

#[test]
fn io_clocks_and_chance_stay_at_the_rim() {
    let mut wrong = Vec::new();
    for package in ["src/cel", "src/engine", "src/store/conversation"] {
        for file in rust_files(&root().join(package)) {
            let inside = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            // what reads folders, and the stores of Aletheia, which are sockets
            let rim = [
                "src/engine/manifest/load.rs",
                "src/engine/scenario/load",
                "src/store/conversation/aletheia",
            ];
            if rim.iter().any(|place| inside.starts_with(place)) {
                continue;
            }
            let code = code(&file);
            for name in [
                "std::fs",
                "std::net",
                "std::env",
                "std::process",
                "SystemTime::now",
                "Instant::now",
                "Utc::now",
                "rand::",
                "new_v4",
            ] {
                let whole = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if code.match_indices(name).any(|(at, _)| whole(at)) {
                    wrong.push(format!("{inside} names {name}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "IO inside:\n{}", wrong.join("\n"));
}

/// What a host allows comes in by the door and goes down from there: nothing below falls back on bounds of its own.
#[test]
fn bounds_below_the_door_are_those_of_the_host() {
    // `Engine::parse` says that it takes the standard bounds, and settings are changed before a server has them
    let doors = ["src/engine/engine.rs", "src/server/settings.rs"];
    let mut wrong = Vec::new();
    for package in ["src/cel", "src/engine", "src/store", "src/service", "src/server", "src/gateway"] {
        for file in rust_files(&root().join(package)) {
            let inside = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            let is_test = inside.ends_with("/tests.rs");
            if is_test || inside.ends_with("limits.rs") || doors.contains(&&*inside) {
                continue;
            }
            let code = code(&file);
            for name in ["EvalLimits", "EngineLimits", "StoreLimits", "ServerLimits", "Limits"] {
                let default = format!("{name}::default()");
                let whole = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if code.match_indices(&default).any(|(at, _)| whole(at)) {
                    wrong.push(format!("{inside} has {default}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "bounds that no host chose:\n{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is() {
    let others = [
        "tests/it",
        "benches/workload",
        "benches/task",
        "benches/labels",
        "benches/load",
        "benches/runtimes",
        "benches/peers/src",
        "src/python/extension",
        "examples",
        "fuzz/fuzz_targets",
    ];
    for folder in PACKAGES.iter().chain(&others) {
        for file in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.starts_with("//!"), "{} has no header", file.display());
        }
    }
}

/// The documents of the repository, its history aside.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_left_out = ["target", "node_modules", ".git", "dist", "CHANGELOG.md"];
        if is_left_out.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found
}

/// Paths from the top of the repository, and in the documents about the code names of Rust files with a folder.
#[test]
fn each_path_that_a_document_names_exists() {
    // what a crash of a fuzz target is written to
    const MADE_LATER: &[&str] = &["fuzz/regressions"];
    let top: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir() && entry.file_name() != "target")
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let sources: Vec<String> = PACKAGES
        .iter()
        .flat_map(|package| rust_files(&root().join(package)))
        .map(|file| file.to_str().unwrap().to_owned())
        .collect();
    let path = Regex::new(r"`([\w.-]+/[\w./*-]+)`").unwrap();
    let (mut named, mut wrong) = (0, Vec::new());
    for document in documents(&root()) {
        let text = fs::read_to_string(&document).unwrap();
        let is_about_code =
            ["ARCHITECTURE.md", "CONTRIBUTING.md"].iter().any(|name| document.ends_with(name));
        for word in path.captures_iter(&text) {
            let word = &word[1];
            // of a pattern the folder that it begins with
            let fixed = match word.split_once('*') {
                Some((before, _)) => before.rsplit_once('/').map_or("", |(folder, _)| folder),
                None => word,
            };
            let exists = if top.iter().any(|folder| word.starts_with(&format!("{folder}/"))) {
                root().join(fixed).exists() || MADE_LATER.iter().any(|known| fixed.starts_with(known))
            } else if is_about_code && word.ends_with(".rs") {
                sources.iter().any(|source| source.ends_with(&format!("/{word}")))
            } else {
                continue;
            };
            named += 1;
            if !exists {
                wrong.push(format!("{}: {word}", document.display()));
            }
        }
    }
    assert!(named > 100, "only {named} paths were found");
    assert!(wrong.is_empty(), "documents name what is not there:\n{}", wrong.join("\n"));
}
