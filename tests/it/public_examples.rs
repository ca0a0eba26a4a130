//! The public types, and the examples in which a host sees them at work. Examples run as doc tests.

use crate::imports::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages, with the files whose `pub use` names the types that a host imports.
const DOORS: [(&str, &[&str]); 5] = [
    ("src/cel", &["lib.rs", "cel_interpreter/mod.rs"]),
    ("src/engine", &["lib.rs"]),
    ("src/store", &["lib.rs", "conversation/mod.rs", "decision_log/mod.rs"]),
    ("src/service", &["lib.rs"]),
    ("src/server", &["lib.rs"]),
];

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

/// The types at work in the examples of a file: those that stand in their code, imports and comments apart, and those whose own
/// doc has an example.
fn shown(file: &Path, shown: &mut BTreeSet<String>) {
    let (mut inside, mut imports, mut has_example) = (false, false, false);
    for line in fs::read_to_string(file).unwrap().lines().map(str::trim_start) {
        if let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) {
            // `# ` hides a line from readers, not from the compiler
            let code = doc.trim_start().trim_start_matches("# ");
            if code.starts_with("```") {
                inside = !inside;
                has_example = true;
            } else if inside && (imports || code.starts_with("use ")) {
                imports = !code.trim_end().ends_with(';');
            } else if inside {
                let code = code.split("// ").next().unwrap_or_default();
                shown.extend(words(code).map(str::to_owned));
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
    let mut without = Vec::new();
    let mut count = 0;
    for (package, doors) in DOORS {
        let folder = root().join(package);
        let mut seen = BTreeSet::new();
        rust_files(&folder).iter().for_each(|file| shown(file, &mut seen));
        let doors: Vec<_> = doors.iter().map(|door| fs::read_to_string(folder.join(door)).unwrap()).collect();
        let all: BTreeSet<&str> = doors.iter().flat_map(|door| types(door)).collect();
        count += all.len();
        without.extend(
            all.into_iter().filter(|name| !seen.contains(*name)).map(|name| format!("{package} {name}")),
        );
    }
    assert!(count > 200, "only {count} public types were found");
    assert_eq!(
        without, [""; 0],
        "show each of these at work in an example of the docs, or keep it from hosts"
    );
}
