//! Every rule of the specification is held by a case or a test, or stands in a list with the reason why it is not.
//!
//! `tests/data/requirements.txt` has the rules. A case names what it covers under `requirements`; a Rust test says it in
//! its doc comment, as `/// Covers: MW-26, RV-13`. `tests/data/requirements-not-covered.txt` has the others, one a line with
//! its reason. A rule that is covered and listed, an unknown one and one that is neither fail the test.

use celador::limits::EngineLimits;
use celador::scenario::load_cases;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A rule of the specification.
pub struct Rule {
    pub id: String,
    pub level: String,
    pub text: String,
}

/// The rules by area, each area with its letters and its title.
pub fn rules() -> Vec<(String, String, Vec<Rule>)> {
    let mut areas: Vec<(String, String, Vec<Rule>)> = Vec::new();
    for line in lines("tests/data/requirements.txt") {
        if let Some(area) = line.strip_prefix('[') {
            let (letters, title) = area.split_once("] ").unwrap();
            areas.push((letters.to_owned(), title.to_owned(), Vec::new()));
            continue;
        }
        let [id, level, text] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let (letters, _, rules) = areas.last_mut().unwrap();
        assert!(id.starts_with(&format!("{letters}-")), "{id} stands in the wrong area");
        rules.push(Rule { id: id.to_owned(), level: level.to_owned(), text: text.to_owned() });
    }
    areas
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of a file that are neither empty nor comments.
fn lines(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// What cases name, each with one case that names it.
fn covered_by_cases() -> BTreeMap<String, String> {
    let folders = ["tests/data/cases", "policies", "examples"].map(|folder| root().join(folder));
    let mut covered = BTreeMap::new();
    for case in load_cases(&folders, &EngineLimits::default()).unwrap().into_iter().flatten() {
        for id in case.requirements {
            covered.insert(id, case.name.text.to_string());
        }
    }
    covered
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// What the tests in Rust name, each with one test that names it; below the comment there must be a test.
fn covered_by_tests() -> BTreeMap<String, String> {
    let mut covered = BTreeMap::new();
    for file in ["src", "tests/it"].into_iter().flat_map(|folder| rust_files(&root().join(folder))) {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(ids) = line.strip_prefix("/// Covers: ") else { continue };
            let mut below = lines[at + 1..].iter().skip_while(|line| line.starts_with("///"));
            assert_eq!(below.next(), Some(&"#[test]"), "{}:{}: this covers nothing", file.display(), at + 1);
            let test = below.find_map(|line| line.strip_prefix("fn ")).unwrap();
            covered.extend(ids.split(", ").map(|id| (id.to_owned(), test.to_owned())));
        }
    }
    covered
}

#[test]
fn every_requirement_is_covered_or_listed_with_a_reason() {
    let known: BTreeSet<String> =
        rules().into_iter().flat_map(|(.., rules)| rules.into_iter().map(|rule| rule.id)).collect();
    assert_eq!(known.len(), 450, "the catalogue is whole");
    let mut covered = covered_by_tests();
    covered.extend(covered_by_cases());
    let listed: BTreeMap<String, String> = lines("tests/data/requirements-not-covered.txt")
        .into_iter()
        .map(|line| {
            line.split_once(' ').map(|(id, reason)| (id.to_owned(), reason.trim().to_owned())).unwrap()
        })
        .collect();
    let mut wrong = Vec::new();
    for (id, by) in &covered {
        if !known.contains(id) {
            wrong.push(format!("{id}: named by `{by}`, and there is no such rule"));
        } else if listed.contains_key(id) {
            wrong.push(format!("{id}: listed as not covered, but `{by}` covers it"));
        }
    }
    for (id, reason) in &listed {
        if !known.contains(id) {
            wrong.push(format!("{id}: listed, and there is no such rule"));
        }
        if reason.len() < 20 {
            wrong.push(format!("{id}: listed without a reason"));
        }
    }
    let neither = known.iter().filter(|id| !covered.contains_key(*id) && !listed.contains_key(*id));
    wrong.extend(neither.map(|id| format!("{id}: neither covered nor listed")));
    println!("requirements: {} covered, {} listed", covered.len(), listed.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
