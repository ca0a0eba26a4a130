//! The list of attacks on the shipped policies, held against their cases: each attempt that is listed is a case that runs,
//! and each case of an attack is listed. Those on the policies of the library are let through without them.

use celador::limits::EngineLimits;
use celador::scenario::{CaseOutcome, Palette, Runner, load_cases};
use std::collections::BTreeSet;
use std::fmt::Write as _;
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

const HEAD: &str = "\
# What the policies of the library stop

Each attempt is a case that runs with the others: `policies/library/<policy>/cases/attack-<attempt>.yaml`. With the policy it is refused,
altered or has to be allowed by a person; a test runs each without the policy too, and then it goes through. What each policy cannot hold
stands at its beginning.
";

/// The folders of the library, by name.
fn library() -> Vec<PathBuf> {
    let entries = fs::read_dir(policies().join("library")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The page of attacks: one table for each policy, made of the cases.
fn page() -> String {
    let mut page = HEAD.to_owned();
    for folder in library() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let attempts = cases(&folder.join("cases"));
        assert!(attempts.len() >= 2, "{name}: only {} attacks", attempts.len());
        write!(page, "\n## {name}\n\n| attempt | what it is |\n|---|---|\n").unwrap();
        for attempt in attempts {
            let text = fs::read_to_string(folder.join(format!("cases/attack-{attempt}.yaml"))).unwrap();
            let about = text.lines().find_map(|line| line.strip_prefix("about: ")).unwrap();
            writeln!(page, "| {attempt} | {} |", about.trim_matches('"').replace('|', "\\|")).unwrap();
        }
    }
    page
}

/// The page is made of the cases; `UPDATE_EXPECT=1` writes it.
#[test]
fn the_page_of_the_library_lists_its_attacks() {
    let path = policies().join("library/ATTACKS.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page());
}

/// A policy that refuses what nobody would have done stops nothing.
#[test]
fn each_attack_on_the_library_goes_through_without_its_policy() {
    let limits = EngineLimits::default();
    let (mut runner, mut wrong) = (Runner::new(limits), String::new());
    for folder in library() {
        let without = tempfile::tempdir().unwrap();
        fs::create_dir(without.path().join("cases")).unwrap();
        fs::copy(folder.join("example.yaml"), without.path().join("example.yaml")).unwrap();
        for attempt in cases(&folder.join("cases")) {
            let file = format!("cases/attack-{attempt}.yaml");
            let text = fs::read_to_string(folder.join(&file)).unwrap();
            assert!(text.contains("[../policy.yaml, ../example.yaml]"), "{attempt}");
            let case = text.replace("../policy.yaml, ", "");
            // in a case of several steps the last one is the attempt
            let case = match case.rsplit_once("\n    expect: ").filter(|_| case.contains("\nsteps:")) {
                Some((steps, _)) => {
                    format!("{steps}\n    expect: {{decision: allow}}\nexpect: {{task: active}}\n")
                }
                None => {
                    format!("{}\nexpect: {{decision: allow}}\n", case.rsplit_once("\nexpect:").unwrap().0)
                }
            };
            // without the policy there is nothing that counts
            let lines: Vec<&str> = case.lines().filter(|line| !line.starts_with("counters:")).collect();
            fs::write(without.path().join(&file), lines.join("\n")).unwrap();
        }
        for loaded in load_cases(&[without.path()], &limits).unwrap() {
            let report = loaded.map_or_else(|report| report, |case| runner.run(&case));
            if !matches!(report.outcome, CaseOutcome::Passed) {
                wrong.push_str(&report.render(&Palette::PLAIN));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
