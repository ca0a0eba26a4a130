//! Rules that people wrote for their agents in other systems, said here: `tests/data/rules` has a policy and cases for each that
//! can be said, and `rules.tsv` says how well. The page about them is made of that table.
//!
//! `CELADOR_RULES` names a folder of further cases, such as the same rules as they were written for manifests alone.

use crate::suites::root;
use celador::limits::EngineLimits;
use celador::scenario::{CaseOutcome, Palette, Runner, Summary, load_cases};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Rules that people write

Rules that people wrote for their agents in other systems, and published, show whether a language for rules says the things that are
asked of it. Each rule here is one of theirs, in our words. It is **natural** (A) where an author writes down the rule and nothing else, **awkward** (B) where it takes
a detour or falls a little short, and **impossible** (C) where nothing says it. The first figures are for manifests of the specification alone,
the second ones for those with [policies](policies.md) and the [language](language.md) of today.

Each rule that can be said has its policy and cases for both sides of it in `tests/data/rules`. Where a source publishes what it expects, the cases
expect the same. This page is made of `tests/data/rules/rules.tsv` by a test, which runs the cases as well.
";

/// One line of the table.
struct Rule {
    source: String,
    id: String,
    before: Class,
    now: Class,
    by: String,
    rule: String,
    falls_short: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Natural,
    Awkward,
    Impossible,
}

impl Class {
    const ALL: [Self; 3] = [Self::Natural, Self::Awkward, Self::Impossible];

    fn read(text: &str) -> Self {
        match text {
            "A" => Self::Natural,
            "B" => Self::Awkward,
            "C" => Self::Impossible,
            _ => panic!("`{text}` is no class"),
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Natural => 'A',
            Self::Awkward => 'B',
            Self::Impossible => 'C',
        }
    }
}

impl Rule {
    fn folder(&self) -> PathBuf {
        data().join(&self.source).join(&self.id)
    }
}

fn data() -> PathBuf {
    root().join("tests/data/rules")
}

fn rules() -> Vec<Rule> {
    let text = fs::read_to_string(data().join("rules.tsv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("source\tid\tbefore\tnow\tby\trule\tfalls_short\twhere"));
    lines
        .map(|line| {
            let [source, id, before, now, by, rule, falls_short, place] =
                line.split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("not eight columns: {line}")
            };
            assert!(!place.is_empty(), "{id}: nobody knows where it comes from");
            let [source, id, by, rule, falls_short] = [source, id, by, rule, falls_short].map(str::to_owned);
            Rule { source, id, before: Class::read(before), now: Class::read(now), by, rule, falls_short }
        })
        .collect()
}

/// Runs the cases below a folder; all have to pass.
fn run(folder: &Path) -> Summary {
    let limits = EngineLimits::default();
    let (mut runner, mut summary, mut failures) = (Runner::new(limits), Summary::default(), String::new());
    for loaded in load_cases(&[folder.to_owned()], &limits).unwrap() {
        let report = loaded.map_or_else(|report| report, |case| runner.run(&case));
        summary.add(&report);
        if !matches!(report.outcome, CaseOutcome::Passed) {
            failures.push_str(&report.render(&Palette::PLAIN));
        }
    }
    assert!(failures.is_empty(), "{failures}\n{}", summary.render());
    summary
}

#[test]
fn the_cases_of_the_rules_pass() {
    let summary = run(&data());
    assert_eq!(summary.passed, 284, "no case is lost");
}

#[test]
fn further_cases_pass() {
    let Some(folder) = std::env::var_os("CELADOR_RULES") else {
        println!("further rules: skipped, `CELADOR_RULES` names no folder of them");
        return;
    };
    let summary = run(Path::new(&folder));
    println!("further rules: {}", summary.render().trim_end());
    assert!(summary.passed > 0, "there is no case in {}", folder.display());
}

#[test]
fn each_rule_that_can_be_said_has_a_policy_and_cases_that_differ() {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for rule in rules() {
        let folder = rule.folder();
        let name = format!("{}/{}", rule.source, rule.id);
        if !known.insert(folder.clone()) {
            wrong.push(format!("{name}: listed twice"));
        }
        if rule.now > rule.before {
            wrong.push(format!("{name}: was said more easily before"));
        }
        if rule.now == Class::Natural && !rule.falls_short.is_empty()
            || rule.now != Class::Natural && rule.falls_short.is_empty()
        {
            wrong.push(format!("{name}: falls short where the rule is not natural, and nowhere else"));
        }
        if rule.now < rule.before && rule.by.is_empty() {
            wrong.push(format!("{name}: there is no word on the thing that helped"));
        }
        if rule.now == Class::Impossible {
            if folder.exists() {
                wrong.push(format!("{name}: has a folder, and is said to be impossible"));
            }
            continue;
        }
        if !folder.join("policy.yaml").is_file() {
            wrong.push(format!("{name}: has no policy"));
            continue;
        }
        // a rule that cannot fail would have cases that all expect the same
        if expectations(&folder).len() < 2 {
            wrong.push(format!("{name}: its cases expect one thing only"));
        }
    }
    for source in
        fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for folder in fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
            if !known.contains(&folder) {
                wrong.push(format!("{}: is not listed", folder.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The texts of what the cases of a rule expect, of steps and in the end, each once.
fn expectations(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder.join("cases")).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|file| fs::read_to_string(file).unwrap());
    let of_one = |text: String| {
        let (steps, end) = text.rsplit_once("\nexpect:").unwrap();
        let of_steps: Vec<&str> = steps.lines().filter(|line| line.starts_with("    expect:")).collect();
        format!("{}{}", of_steps.join("\n"), end.trim())
    };
    texts.map(of_one).collect()
}

fn page() -> String {
    let rules = rules();
    let mut page = HEAD.to_owned();
    let sources: Vec<&str> = {
        let mut names: Vec<&str> = rules.iter().map(|rule| rule.source.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    page.push_str("\n## How many\n\n| source | rules | A | B | C | A now | B now | C now |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let row = |name: &str, of: &dyn Fn(&Rule) -> bool| {
        let chosen: Vec<&Rule> = rules.iter().filter(|rule| of(rule)).collect();
        let count =
            |class: &dyn Fn(&Rule) -> Class, which| chosen.iter().filter(|rule| class(rule) == which).count();
        let before = Class::ALL.map(|class| count(&|rule| rule.before, class).to_string()).join(" | ");
        let now = Class::ALL.map(|class| count(&|rule| rule.now, class).to_string()).join(" | ");
        format!("| {name} | {} | {before} | {now} |\n", chosen.len())
    };
    for source in sources {
        page.push_str(&row(source, &|rule| rule.source == source));
    }
    page.push_str(&row("**all**", &|_| true));
    page.push_str("\n## What falls short\n\n| rule | class | why |\n|---|---|---|\n");
    for rule in rules.iter().filter(|rule| rule.now != Class::Natural) {
        writeln!(page, "| {} ({}) | {} | {} |", rule.rule, rule.source, rule.now.letter(), rule.falls_short)
            .unwrap();
    }
    page.push_str("\n## All of them\n\n| rule | from | class | now by |\n|---|---|---|---|\n");
    for rule in &rules {
        let from = if rule.now == Class::Impossible {
            rule.source.clone()
        } else {
            format!("[{0}](../tests/data/rules/{0}/{1}/policy.yaml)", rule.source, rule.id)
        };
        let class = if rule.now == rule.before {
            rule.now.letter().to_string()
        } else {
            format!("{} → {}", rule.before.letter(), rule.now.letter())
        };
        writeln!(page, "| {} | {from} | {class} | {} |", rule.rule.replace('|', "\\|"), rule.by).unwrap();
    }
    page
}

/// The page is made of the table; `UPDATE_EXPECT=1` writes it.
#[test]
fn the_page_of_rules_says_what_the_table_says() {
    let path = root().join("docs/rules-people-write.md");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page());
}
