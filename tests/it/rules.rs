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

/// Words that are shaped like the ID of a rule and are none: encodings, digests, curves, and the ticket of an example.
const OTHER_WORDS: [&str; 6] = ["UTF-8", "UTF-16", "SHA-256", "P-256", "P-384", "T-1041"];

/// The words of a source that are shaped like the ID of a rule: `MW-26`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| letter != '-' && letter != '_' && !letter.is_alphanumeric());
    words.filter(|word| {
        word.split_once('-').is_some_and(|(area, number)| {
            (1..=4).contains(&area.len())
                && area.bytes().all(|byte| byte.is_ascii_uppercase())
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }) && !OTHER_WORDS.contains(word)
    })
}

/// In messages an ID becomes a link, and in a comment it is a reason: both must lead somewhere.
#[test]
fn no_link_to_a_rule_dangles() {
    let page = page();
    let mut named = BTreeSet::new();
    let mut strange = Vec::new();
    for file in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for id in ids(&text) {
            let anchor = format!("<a id=\"{}\"></a>", id.to_ascii_lowercase());
            if !page.contains(&anchor) {
                strange.push(format!("{}: there is no rule {id}", file.display()));
            }
            named.insert(id.to_owned());
        }
    }
    assert_eq!(strange, [""; 0]);
    assert!(named.len() > 300, "only {} rules are named", named.len());
}
