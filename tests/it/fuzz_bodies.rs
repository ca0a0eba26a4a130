//! The bodies of the fuzz targets, over the project's own data and mutations of it.

#[path = "../../fuzz/bodies.rs"]
mod bodies;

use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

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

/// The lines of files of expressions.
fn expressions() -> Vec<Vec<u8>> {
    let lines = |file: Vec<u8>| {
        String::from_utf8_lossy(&file).lines().map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>()
    };
    ["tests/data/syntax", "tests/data/check"].into_iter().flat_map(seeds).flat_map(lines).collect()
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
    expressions().iter().for_each(|seed| bodies::expression(seed));
    seeds("policies").iter().for_each(|seed| bodies::manifest(seed));
    seeds("tests/data/manifest").iter().for_each(|seed| bodies::manifest(seed));
    for seed in ["{}", "[1, 2.5, \"x\"]", "{\"a\": {\"b\": [null]}, \"a\": 1}", "1e999", "\"\\ud800\""] {
        bodies::json(seed.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_expressions_do_no_harm(bytes in mutated(expressions())) {
        bodies::expression(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn mutated_manifests_do_no_harm(bytes in mutated(seeds("tests/data/manifest"))) {
        bodies::manifest(&bytes);
    }

    #[test]
    fn mutated_json_does_no_harm(text in "[\\[\\]{}:,\"a0-9.e+ -]{0,40}") {
        bodies::json(text.as_bytes());
    }
}
