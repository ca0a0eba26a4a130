//! The bodies of the fuzz targets, over the project's own data and mutations of it.

#[path = "../../fuzz/bodies.rs"]
pub(crate) mod bodies;

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

type Body = fn(&[u8]);

const TARGETS: [(&str, Body); 23] = [
    ("context", bodies::context),
    ("detect", bodies::detect),
    ("exchange", exchange),
    ("expression", bodies::expression),
    ("foreign", bodies::foreign),
    ("formats", bodies::formats),
    ("grammar", bodies::grammar),
    ("guard", bodies::guard),
    ("host_function", bodies::host_function),
    ("json", bodies::json),
    ("labels", bodies::labels),
    ("manifest", bodies::manifest),
    ("mcp", mcp),
    ("named", bodies::named),
    ("pattern", bodies::pattern),
    ("pseudonyms", bodies::pseudonyms),
    ("redaction", bodies::redaction),
    ("requests", requests),
    ("rpc", rpc),
    ("script", bodies::script),
    ("shell", bodies::shell),
    ("stored", stored),
    ("template", bodies::template),
];

/// Without a store there is nothing to ask.
fn rpc(data: &[u8]) {
    #[cfg(feature = "store")]
    bodies::rpc(data);
    let _ = data;
}

/// Without a store there are no rows.
fn stored(data: &[u8]) {
    #[cfg(feature = "store")]
    bodies::stored(data);
    let _ = data;
}

/// Without the gateway there is no guard.
fn mcp(data: &[u8]) {
    #[cfg(feature = "gateway")]
    bodies::mcp(data);
    let _ = data;
}

/// Without the gateway there is no proxy.
fn exchange(data: &[u8]) {
    #[cfg(feature = "gateway")]
    bodies::exchange(data);
    let _ = data;
}

/// Without a server nobody answers.
fn requests(data: &[u8]) {
    #[cfg(feature = "server")]
    bodies::requests(data);
    let _ = data;
}

/// Where seeds of the targets lie, apart from those of expressions.
const FOLDERS: [(&str, Body); 22] = [
    ("policies", bodies::manifest),
    ("policies", bodies::script),
    ("tests/data/manifest", bodies::manifest),
    ("tests/data/cli/files", bodies::script),
    ("fuzz/seeds/context", bodies::context),
    ("fuzz/seeds/exchange", exchange),
    ("fuzz/seeds/formats", bodies::formats),
    ("tests/data/detect", bodies::detect),
    ("fuzz/seeds/guard", bodies::guard),
    ("fuzz/seeds/host_function", bodies::host_function),
    ("fuzz/seeds/json", bodies::json),
    ("fuzz/seeds/labels", bodies::labels),
    ("fuzz/seeds/mcp", mcp),
    ("fuzz/seeds/named", bodies::named),
    ("fuzz/seeds/pattern", bodies::pattern),
    ("fuzz/seeds/pseudonyms", bodies::pseudonyms),
    ("fuzz/seeds/redaction", bodies::redaction),
    ("fuzz/seeds/requests", requests),
    ("fuzz/seeds/rpc", rpc),
    ("fuzz/seeds/script", bodies::script),
    ("fuzz/seeds/stored", stored),
    ("fuzz/seeds/template", bodies::template),
];

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut paths);
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The lines of files of expressions, or of command lines; a row of one begins with `> `, and what is found in it follows.
fn rows(folders: &[&str]) -> Vec<Vec<u8>> {
    let lines = |file: Vec<u8>| {
        let text = |line: &str| line.strip_prefix("> ").unwrap_or(line).as_bytes().to_vec();
        String::from_utf8_lossy(&file).lines().map(text).collect::<Vec<_>>()
    };
    folders.iter().copied().flat_map(seeds).flat_map(lines).collect()
}

fn expressions() -> Vec<Vec<u8>> {
    rows(&["tests/data/syntax", "tests/data/check"])
}

/// Cuts, doubles and overwrites some bytes.
fn mutated(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), any::<u8>(), 0..3_u8);
    (prop::sample::select(seeds), prop::collection::vec(edit, 0..6)).prop_map(|(mut bytes, edits)| {
        for (at, byte, how) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at),
            }
        }
        bytes
    })
}

#[test]
fn seeds_do_no_harm() {
    for seed in expressions() {
        bodies::expression(&seed);
        bodies::grammar(&seed);
    }
    rows(&["tests/data/shell"]).iter().for_each(|line| bodies::shell(line));
    for (folder, body) in FOLDERS {
        let seeds = seeds(folder);
        assert!(!seeds.is_empty(), "{folder}");
        seeds.iter().for_each(|seed| body(seed));
    }
}

/// What once went wrong, a file each, in the folder of its target.
#[test]
fn regressions_do_no_harm() {
    for (target, body) in TARGETS {
        let folder = format!("fuzz/regressions/{target}");
        if Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder).is_dir() {
            seeds(&folder).iter().for_each(|seed| body(seed));
        }
    }
}

/// What the fuzzers found worth keeping: each reaches code that the others of its target do not.
#[test]
fn kept_inputs_do_no_harm() {
    for (target, body) in TARGETS {
        let kept = seeds(&format!("fuzz/corpus/{target}"));
        assert!(!kept.is_empty(), "{target}");
        kept.iter().for_each(|input| body(input));
    }
}

/// Each target has its body among those that are run here.
#[test]
fn every_target_is_run_here() {
    let mut targets = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets"), &mut targets);
    let mut names: Vec<_> = targets.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, TARGETS.map(|(name, _)| name));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_expressions_do_no_harm(bytes in mutated(expressions())) {
        bodies::expression(&bytes);
    }

    #[test]
    fn mutated_formats_do_no_harm(bytes in mutated(seeds("fuzz/seeds/formats"))) {
        bodies::formats(&bytes);
    }

    #[test]
    fn mutated_patterns_do_no_harm(bytes in mutated(seeds("fuzz/seeds/pattern"))) {
        bodies::pattern(&bytes);
    }

    #[test]
    fn mutated_templates_do_no_harm(bytes in mutated(seeds("fuzz/seeds/template"))) {
        bodies::template(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn mutated_named_expressions_do_no_harm(bytes in mutated(seeds("fuzz/seeds/named"))) {
        bodies::named(&bytes);
    }

    #[test]
    fn mutated_manifests_do_no_harm(bytes in mutated(seeds("tests/data/manifest"))) {
        bodies::manifest(&bytes);
    }

    #[test]
    fn mutated_lines_do_no_harm(bytes in mutated(rows(&["tests/data/shell"]))) {
        bodies::shell(&bytes);
    }

    #[test]
    fn mutated_exchanges_do_no_harm(bytes in mutated(seeds("fuzz/seeds/exchange"))) {
        exchange(&bytes);
    }

    #[test]
    fn mutated_contexts_do_no_harm(bytes in mutated(seeds("fuzz/seeds/context"))) {
        bodies::context(&bytes);
    }

    #[test]
    fn mutated_scripts_do_no_harm(bytes in mutated(seeds("fuzz/seeds/script"))) {
        bodies::script(&bytes);
    }

    #[test]
    fn mutated_labels_do_no_harm(bytes in mutated(seeds("fuzz/seeds/labels"))) {
        bodies::labels(&bytes);
    }

    #[test]
    fn mutated_pseudonyms_do_no_harm(bytes in mutated(seeds("fuzz/seeds/pseudonyms"))) {
        bodies::pseudonyms(&bytes);
    }

    #[test]
    fn mutated_requests_do_no_harm(bytes in mutated(seeds("fuzz/seeds/rpc"))) {
        rpc(&bytes);
    }

    #[test]
    fn mutated_stories_do_no_harm(bytes in mutated(seeds("fuzz/seeds/requests"))) {
        requests(&bytes);
    }

    #[test]
    fn mutated_rows_do_no_harm(bytes in mutated(seeds("fuzz/seeds/stored"))) {
        stored(&bytes);
    }

    #[test]
    fn foreign_values_by_chance_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        bodies::foreign(&bytes);
    }

    #[test]
    fn guards_by_chance_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        bodies::guard(&bytes);
    }

    #[test]
    fn host_functions_by_chance_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        bodies::host_function(&bytes);
    }

    #[test]
    fn mutated_json_does_no_harm(text in "[\\[\\]{}:,\"a0-9.e+ -]{0,40}") {
        bodies::json(text.as_bytes());
    }
}
