//! The list of attacks on the shipped policies, held against their cases: each attempt that is listed is a case that runs,
//! and each case of an attack is listed. Those on the policies of the library are allowed without them, and each promise has ten.

use celador::limits::EngineLimits;
use celador::scenario::{Aspect, Case, CaseOutcome, Manifests, Palette, Runner, load_cases};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn policies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies")
}

/// The files of attacks in a folder, without the start of their names and `.yaml`.
fn cases(folder: &Path, start: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.strip_prefix(start)?.strip_suffix(".yaml")?.to_owned())).collect()
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
        found.extend(
            cases(&policy.join("cases"), "attack-").into_iter().map(|attempt| format!("{name}/{attempt}")),
        );
    }
    wrong.extend(listed.difference(&found).map(|it| format!("listed, and there is no such case: {it}")));
    wrong.extend(found.difference(&listed).map(|it| format!("a case that is not listed: {it}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(listed.len() > 100, "only {}", listed.len());
}

const HEAD: &str = "\
# What the policies of the library stop

Each promise of a policy has a file of bypass attempts, `policies/library/<policy>/cases/attacks-<promise>.yaml`, with at least ten attempts.
Each attempt is a case: with the policy it is refused, altered or has to be allowed by a person; a test runs each without the policy too,
and then it goes through. The head of each policy lists what the policy does not detect.
";

/// Attempts that a promise has at the least.
const ATTEMPTS: usize = 10;

/// The folders of the library, by name.
fn library() -> Vec<PathBuf> {
    let entries = fs::read_dir(policies().join("library")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The files of attempts of a policy, by the names of the promises.
fn promises(policy: &Path) -> Vec<(String, PathBuf)> {
    promises_in(&policy.join("cases"))
}

/// The files of attempts in a folder of cases.
fn promises_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let names = cases(folder, "attacks-");
    names.into_iter().map(|name| (name.clone(), folder.join(format!("attacks-{name}.yaml")))).collect()
}

/// The attempts of one file.
fn attempts(file: &Path) -> Vec<Case> {
    let loaded = load_cases(&[file], &EngineLimits::default()).unwrap();
    loaded
        .into_iter()
        .map(|case| case.unwrap_or_else(|report| panic!("{}", report.render(&Palette::PLAIN))))
        .collect()
}

/// The page of attacks: one table for each promise, made of the cases.
fn page() -> String {
    let mut page = HEAD.to_owned();
    for folder in library() {
        writeln!(page, "\n## {}", folder.file_name().unwrap().to_str().unwrap()).unwrap();
        for (name, file) in promises(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            let promise = text.lines().find_map(|line| line.strip_prefix("about: ")).unwrap();
            write!(page, "\n### {name}: {promise}\n\n| attempt | what it is |\n|---|---|\n").unwrap();
            for case in attempts(&file) {
                let (_, attempt) = case.name.text.split_once('/').unwrap();
                writeln!(page, "| {attempt} | {} |", case.about.replace('|', "\\|")).unwrap();
            }
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

/// The rules of the example for Claude Code refuse each attempt although the user approves, ask about what they do not list, and allow what is harmless.
#[test]
fn the_example_for_claude_code_keeps_its_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/claude-code-cases");
    let (mut runner, mut wrong) = (Runner::new(EngineLimits::default()), String::new());
    let promises = promises_in(&folder);
    assert!(promises.len() >= 8, "{promises:?}");
    for (promise, file) in promises {
        let attempts = attempts(&file);
        let count = attempts.iter().filter(|case| !case.name.text.contains("/harmless")).count();
        if count < ATTEMPTS {
            writeln!(wrong, "{promise}: only {count} attempts").unwrap();
        }
        for report in attempts.iter().map(|case| runner.run(case)) {
            if !matches!(report.outcome, CaseOutcome::Passed) {
                wrong.push_str(&report.render(&Palette::PLAIN));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A policy without promises promises nothing, and a promise with few attempts was not attacked.
#[test]
fn each_promise_of_the_library_has_ten_attempts() {
    let mut wrong = Vec::new();
    for folder in library() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let promises = promises(&folder);
        if promises.len() < 2 {
            wrong.push(format!("{name}: only {} promises", promises.len()));
        }
        for (promise, file) in promises {
            let count = attempts(&file).len();
            if count < ATTEMPTS {
                wrong.push(format!("{name}, {promise}: only {count} attempts"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A policy that refuses what nothing would have allowed stops nothing.
#[test]
fn each_attack_on_the_library_goes_through_without_its_policy() {
    let (mut runner, mut wrong) = (Runner::new(EngineLimits::default()), String::new());
    for (_, file) in library().iter().flat_map(|folder| promises(folder)) {
        for mut case in attempts(&file) {
            let Manifests::Files { paths, .. } = &mut case.manifests else { panic!("{}", case.name.text) };
            let count = paths.len();
            paths.retain(|path| &*path.text != "../policy.yaml");
            assert_eq!(paths.len() + 1, count, "{}", case.name.text);
            // without the policy there are no counters
            case.counters.clear();
            let report = runner.run(&case);
            let is_allowed = match &report.outcome {
                CaseOutcome::Failed { mismatches, found } => {
                    found.text(Aspect::Decision) == Some("allow")
                        || mismatches.iter().any(|mismatch| mismatch.found == Some("allow".into()))
                }
                CaseOutcome::Passed | CaseOutcome::Broken(_) => false,
            };
            if !is_allowed {
                writeln!(wrong, "{}: {}", file.display(), report.render(&Palette::PLAIN)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
