//! What the README and the pages of diagnostics and cases say is run: its console blocks are compared with what the command prints, its YAML with the files.

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
    for (page, least) in [
        ("README.md", 5),
        ("docs/diagnostics.md", 3),
        ("docs/cases.md", 3),
        ("docs/observe.md", 1),
        ("docs/replay.md", 2),
        ("docs/everyday.md", 1),
        ("docs/testing.md", 4),
    ] {
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

/// The blocks with `curl` are run against a server, in one shell, as they are printed but for the port.
#[cfg(feature = "server")]
#[test]
fn the_curl_lines_give_what_is_shown() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    let data = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_celador"))
        .args(["serve", "policies/support-desk", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (mut script, mut expected) = (String::new(), Vec::new());
    for block in blocks(&readme, "console").iter().filter(|block| block.contains("localhost:8717")) {
        for command in block.split("$ ").skip(1).filter(|command| !command.starts_with("celador ")) {
            let (command, shown) = command.split_once('\n').unwrap();
            script.push_str(&format!("{}\nprintf '\\036'\n", command.replace("localhost:8717", &address)));
            expected.push(shown.trim().to_owned());
        }
    }
    let output = Command::new("bash").arg("-c").arg(&script).output().expect("bash and curl are installed");
    let _ = server.kill();
    let _ = server.wait();
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<&str> = printed.trim_end_matches('\u{1e}').split('\u{1e}').map(str::trim).collect();
    assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(expected.len() > 5, "only {} lines", expected.len());
}

#[test]
fn the_yaml_stands_in_the_files() {
    let policy = root().join("examples/first-policy");
    let files = ["agent.yaml", "cases/large-needs-review.yaml", "cases/both-at-once.yaml"];
    let files = files.map(|file| policy.join(file)).into_iter();
    let own = [
        "counter-allows.yaml",
        "file-of-several-cases.yaml",
        "policy-label-page.yaml",
        "story-of-a-payout.yaml",
    ];
    let files = files.chain(own.map(|file| root().join("tests/data/cases/own").join(file)));
    let files: Vec<_> = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    for (page, least) in [("README.md", 2), ("docs/cases.md", 4)] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let blocks = blocks(&text, "yaml");
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
