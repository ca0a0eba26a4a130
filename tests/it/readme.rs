//! What the README and the pages of diagnostics and cases say is run: its console blocks are compared with what the command prints, its YAML with the files.

use crate::pages::Page;
use crate::suites::root;
use crate::terminal::Terminal;
use std::fs;

/// The commands of a page, `curl` among them, are typed into one terminal in the folder of the repository.
#[test]
fn the_console_shows_what_the_command_prints() {
    let mut wrong = Vec::new();
    for (page, least) in [
        ("README.md", 14),
        ("docs/diagnostics.md", 3),
        ("docs/cases.md", 3),
        ("docs/observe.md", 1),
        ("docs/replay.md", 2),
        ("docs/everyday.md", 1),
        ("docs/prove.md", 1),
        ("docs/testing.md", 4),
    ] {
        // it starts a server
        if page == "README.md" && !cfg!(feature = "server") {
            continue;
        }
        let mut shown = Page::read(&root().join(page));
        let mut terminal = Terminal::open(root());
        let blocks = shown.blocks();
        let consoles = blocks.iter().filter(|block| block.kind == "console");
        let ran: usize = consoles.map(|block| shown.run(block, &mut terminal)).sum();
        assert!(ran >= least, "only {ran} commands were found in {page}");
        wrong.extend(shown.finish());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_yaml_stands_in_the_files() {
    let policy = root().join("examples/first-policy");
    let files = ["agent.yaml", "cases/large-needs-review.yaml", "cases/both-at-once.yaml"];
    let files = files.map(|file| policy.join(file)).into_iter();
    let own = [
        "counter-allows.yaml",
        "file-of-several-cases.yaml",
        "host-functions.yaml",
        "policy-label-page.yaml",
        "story-of-a-payout.yaml",
        "trg-by-name.yaml",
    ];
    let files = files.chain(own.map(|file| root().join("tests/data/cases/own").join(file)));
    let files: Vec<_> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    for (page, least) in [("README.md", 2), ("docs/cases.md", 4)] {
        let blocks = Page::read(&root().join(page)).blocks().into_iter().filter(|block| block.kind == "yaml");
        let blocks: Vec<String> = blocks.map(|block| block.text()).collect();
        assert!(blocks.len() >= least, "only {} blocks are in {page}", blocks.len());
        for block in blocks {
            assert!(
                files.iter().any(|file| file.contains(&block)),
                "{page} has what is in no file:\n{block}"
            );
        }
    }
}

#[path = "../../examples/embed.rs"]
mod embed;

/// The program that the README shows is the example, and it runs.
#[test]
fn the_program_of_the_readme_is_the_example() {
    let example = fs::read_to_string(root().join("examples/embed.rs")).unwrap();
    let (_, program) = example.split_once("\n\n").unwrap();
    // visible for this test alone
    let program = program.replace("pub(crate) fn main", "fn main");
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("```rust\n{program}```")), "the README shows another program");
    embed::main().unwrap();
}
