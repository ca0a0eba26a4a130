//! The public types, and the examples in which a host sees them at work. Examples run as doc tests.

use crate::imports::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages, with the files whose `pub use` names the types that a host imports.
const DOORS: [(&str, &[&str]); 4] = [
    ("src/cel", &["lib.rs", "cel_interpreter/mod.rs"]),
    ("src/engine", &["lib.rs"]),
    ("src/store", &["lib.rs", "conversation/mod.rs", "decision_log/mod.rs"]),
    ("src/server", &["lib.rs"]),
];

/// The types without an example, one a line, such as `src/cel Domain`. The list may only shrink: a new public type comes with an
/// example.
const WITHOUT: &str = "tests/data/types-without-example.txt";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter != '_' && !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The types that a file imports for its host: names that begin with a capital and are no constants.
fn types(text: &str) -> BTreeSet<&str> {
    let uses = text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let is_type = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_uppercase())
            && word.contains(|letter: char| letter.is_ascii_lowercase())
    };
    uses.flat_map(words).filter(is_type).collect()
}

/// The words of the examples of a file, and the types whose own doc has one.
fn shown(file: &Path, shown: &mut BTreeSet<String>) {
    let (mut inside, mut has_example) = (false, false);
    for line in fs::read_to_string(file).unwrap().lines().map(str::trim_start) {
        if let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            if doc.trim_start().starts_with("```") {
                inside = !inside;
                has_example = true;
            } else if inside {
                shown.extend(words(doc).map(str::to_owned));
            }
        } else if !line.starts_with("#[") {
            let item = ["struct ", "enum ", "trait ", "type "].iter();
            let named = item.filter_map(|kind| line.strip_prefix("pub ")?.strip_prefix(kind)).next();
            if has_example {
                shown.extend(named.and_then(|rest| words(rest).next()).map(str::to_owned));
            }
            has_example = false;
        }
    }
}

#[test]
fn public_types_have_examples() {
    let mut without = String::new();
    let mut count = 0;
    for (package, doors) in DOORS {
        let folder = root().join(package);
        let mut seen = BTreeSet::new();
        rust_files(&folder).iter().for_each(|file| shown(file, &mut seen));
        let doors: Vec<_> = doors.iter().map(|door| fs::read_to_string(folder.join(door)).unwrap()).collect();
        let all: BTreeSet<&str> = doors.iter().flat_map(|door| types(door)).collect();
        count += all.len();
        all.iter()
            .filter(|name| !seen.contains(**name))
            .for_each(|name| without += &format!("{package} {name}\n"));
    }
    assert!(count > 200, "only {count} public types were found");
    let list = root().join(WITHOUT);
    let known = fs::read_to_string(&list).unwrap();
    let new: Vec<_> = without.lines().filter(|line| known.lines().all(|known| known != *line)).collect();
    assert_eq!(new, [""; 0], "write an example in the docs of these");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&list, &without).unwrap();
    }
    assert!(
        fs::read_to_string(&list).unwrap() == without,
        "more types have an example now: shorten {WITHOUT}"
    );
}
