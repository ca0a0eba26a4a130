//! What the README and the page of diagnostics say is run: its console blocks are compared with what the command prints, its YAML with the files.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The fenced blocks of one kind.
fn blocks(text: &str, kind: &str) -> Vec<String> {
    let fence = format!("```{kind}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The words of a shell line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words
}

#[test]
fn the_console_shows_what_the_command_prints() {
    for (page, least) in [("README.md", 5), ("docs/diagnostics.md", 3)] {
        let path = root().join(page);
        let text = fs::read_to_string(&path).unwrap();
        let mut shown = text.clone();
        let mut ran = 0;
        for block in blocks(&text, "console") {
            for command in block.split("$ celador ").skip(1) {
                let (line, expected) = command.split_once('\n').unwrap();
                let output = Command::new(env!("CARGO_BIN_EXE_celador"))
                    .args(words(line))
                    .current_dir(root())
                    .output()
                    .unwrap();
                let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
                // problems go to the error stream, ahead of the summary
                let printed = format!("{}{}", printed[1], printed[0]);
                if std::env::var_os("UPDATE_EXPECT").is_some() {
                    let before = format!("$ celador {line}\n{expected}");
                    shown = shown.replace(&before, &format!("$ celador {line}\n{}\n", printed.trim_end()));
                } else {
                    assert_eq!(printed.trim(), expected.trim(), "$ celador {line}");
                }
                ran += 1;
            }
        }
        assert!(ran >= least, "only {ran} commands were found in {page}");
        if shown != text {
            fs::write(&path, shown).unwrap();
        }
    }
}

#[test]
fn the_yaml_stands_in_the_files() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let files = ["agent.yaml", "cases/large-needs-review.yaml"]
        .map(|file| fs::read_to_string(root().join("examples/first-policy").join(file)).unwrap());
    for block in blocks(&readme, "yaml") {
        assert!(files.iter().any(|file| file.contains(&block)), "in no file:\n{block}");
    }
}
