//! The page of the rules: every finding of `celador check` links to it, and no link dangles.

use crate::requirements::rules;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# The rules

What Celador holds manifests and tasks to. A finding of `celador check` names its rule and links to it here. A level with
a star is settled by a decision where the documents leave it open. Every rule is held by a case or a test, or stands in
`tests/data/requirements-not-covered.txt` with the reason.

The sentences paraphrase the [Common Agent Specification](https://github.com/buoyant-systems/commonagents), Copyright
Buoyant Systems, [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/); they are changed and shortened.
";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (letters, title, rules) in rules() {
        write!(page, "\n## {letters}: {title}\n").unwrap();
        for rule in rules {
            let anchor = rule.id.to_ascii_lowercase();
            let text = rule.text;
            write!(
                page,
                "\n<a id=\"{anchor}\"></a>**{}** ({}) {text}\n",
                rule.id,
                rule.level.replace('*', "\\*")
            )
            .unwrap();
        }
    }
    page
}

/// The page is made of the catalogue; `UPDATE_EXPECT=1` writes it.
#[test]
fn the_page_of_the_rules_says_what_the_catalogue_says() {
    let path = root().join("docs/rules.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "docs/rules.md is not what the catalogue says"
    );
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The texts of a source that look like the ID of a rule: `"MW-26"`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').filter(|word| {
        word.split_once('-').is_some_and(|(area, number)| {
            area.len() >= 2
                && area.bytes().all(|byte| byte.is_ascii_uppercase())
                && number.len() == 2
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[test]
fn no_link_to_a_rule_dangles() {
    let page = page();
    let mut named = BTreeSet::new();
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for id in ids(&text) {
            let anchor = format!("<a id=\"{}\"></a>", id.to_ascii_lowercase());
            assert!(page.contains(&anchor), "{}: there is no rule {id}", file.display());
            named.insert(id.to_owned());
        }
    }
    assert!(named.len() > 60, "only {} rules are named", named.len());
}
