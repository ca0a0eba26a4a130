//! The list of attacks on the shipped policies, held against their cases: each attempt that is listed is a case that runs,
//! and each case of an attack is listed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies")
}

/// The cases of attacks below a folder, without `attack-` and `.yaml`.
fn cases(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_prefix("attack-")?.strip_suffix(".yaml")?.to_owned())).collect()
}

/// `policy/attempt` of each row, and what is wrong with rows.
fn listed(text: &str) -> (BTreeSet<String>, Vec<String>) {
    let (mut rows, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut policy = "";
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            policy = heading.trim();
        }
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else { continue };
        let [attempt, about, before] = row.splitn(3, " | ").collect::<Vec<_>>()[..] else {
            wrong.push(format!("not three columns: {line}"));
            continue;
        };
        if (attempt, before) == ("attempt", "before") {
            continue;
        }
        if about.is_empty() || !["got through", "held"].contains(&before) {
            wrong.push(format!("not what is said of an attempt: {line}"));
        }
        if !rows.insert(format!("{policy}/{attempt}")) {
            wrong.push(format!("listed twice: {policy}/{attempt}"));
        }
    }
    (rows, wrong)
}

#[test]
fn each_attack_that_is_listed_is_a_case_and_each_case_is_listed() {
    let (listed, mut wrong) = listed(&fs::read_to_string(policies().join("ATTACKS.md")).unwrap());
    let mut found = BTreeSet::new();
    for policy in fs::read_dir(policies()).unwrap().map(|entry| entry.unwrap().path()) {
        let name = policy.file_name().unwrap().to_str().unwrap().to_owned();
        found.extend(cases(&policy.join("cases")).into_iter().map(|attempt| format!("{name}/{attempt}")));
    }
    wrong.extend(listed.difference(&found).map(|it| format!("listed, and there is no such case: {it}")));
    wrong.extend(found.difference(&listed).map(|it| format!("a case that is not listed: {it}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(listed.len() > 100, "only {}", listed.len());
}
