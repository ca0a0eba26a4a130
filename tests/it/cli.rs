//! The command line through the real binary: a text file for each command, with what it writes and its exit code.
//!
//! A file of `tests/data/cli` begins with the command; the rest is what came of it, written by `UPDATE_EXPECT=1`.
//! Commands run in that folder, so that paths are short and the same everywhere.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cli")
}

fn celador(arguments: &[impl AsRef<str>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.current_dir(folder()).args(arguments.iter().map(AsRef::as_ref));
    command.env_remove("NO_COLOR").env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    command
}

/// The words of a command line: divided by spaces, `'…'` and `"…"` as they are.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let mut word = String::new();
        while let Some(first) = rest.chars().next().filter(|c| !c.is_whitespace()) {
            let quote = Some(first).filter(|c| matches!(c, '\'' | '"'));
            let from = quote.map_or(0, |_| 1);
            let end = match quote {
                Some(quote) => 1 + rest[1..].find(quote).expect("a closing quote"),
                None => {
                    rest.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')).unwrap_or(rest.len())
                }
            };
            word.push_str(&rest[from..end]);
            rest = &rest[end + from..];
        }
        words.push(word);
        rest = rest.trim_start();
    }
    words
}

fn transcript(command: &str, output: &Output) -> String {
    let code = output.status.code().expect("no signal");
    assert!(code <= 4, "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let mut text = format!("{command}\nexit {code}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("--- {name}\n{}", String::from_utf8_lossy(bytes).replace('\u{1b}', "␛")));
        }
    }
    text
}

#[test]
fn commands_write_what_their_files_say() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut paths: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "txt")) {
        let expected = fs::read_to_string(path).unwrap();
        let command = expected.lines().next().unwrap();
        let arguments = words(command.strip_prefix("$ celador").expect("a command in the first line"));
        let found = transcript(command, &celador(&arguments).output().unwrap());
        count += 1;
        if update {
            fs::write(path, found).unwrap();
        } else if found != expected {
            wrong.push(format!("{}\n-- expected\n{expected}\n-- found\n{found}", path.display()));
        }
    }
    assert!(count > 60, "only {count} commands");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The exit code and the standard error of a command.
fn outcome(arguments: &[&str]) -> (i32, String) {
    let output = celador(arguments).output().unwrap();
    (output.status.code().expect("no signal"), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn written(name: &str, content: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_closed_pipe_ends_the_output_and_nothing_else() {
    for arguments in [
        &["functions"][..],
        &["check", "files/broken.yaml"],
        &["run", "files/good", "files/task.yaml"],
        &["test", "files/cases"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let open = celador(arguments).output().unwrap();
        let mut child = celador(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
        assert_eq!(output.status.code(), open.status.code(), "{arguments:?}: {stderr}");
    }
}

#[test]
fn an_expression_that_is_too_long_is_refused_without_being_repeated() {
    let path = written("long.cel", "1 + ".repeat(250_000).as_bytes());
    let (code, stderr) = outcome(&["eval", &format!("@{}", path.display())]);
    assert_eq!(code, 1);
    assert!(stderr.contains("is larger than 32768 bytes") && stderr.len() < 500, "{stderr:.300}");
    let (code, stderr) = outcome(&["eval", &"1 + ".repeat(10_000)]);
    assert_eq!((code, stderr.len() < 200), (3, true), "{stderr:.300}");
    assert!(stderr.contains("`max_source_bytes` 32768 exceeded"), "{stderr}");
    let (code, stderr) = outcome(&["eval", &format!("{}1{}", "(".repeat(2_000), ")".repeat(2_000))]);
    assert_eq!(code, 3, "{stderr:.300}");
    assert!(!stderr.contains("overflow"), "{stderr:.300}");
}

#[test]
fn json_that_is_nested_too_deep_is_refused() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let (code, stderr) = outcome(&["eval", "input", "--input", &deep]);
    assert_eq!(code, 1);
    assert!(stderr.contains("`--input` is no JSON") && stderr.len() < 500, "{stderr:.300}");
    let path = written("deep.json", format!("{{\"user\": {deep}}}").as_bytes());
    let (code, stderr) = outcome(&["eval", "1", "--context", &path.display().to_string()]);
    assert_eq!((code, stderr.len() < 500), (1, true), "{stderr:.300}");
    let path = written("deep.yaml", format!("state: {deep}").as_bytes());
    for arguments in [
        ["eval", "1", "--context", &path.display().to_string()],
        ["run", "files/good", &path.display().to_string(), "--color=never"],
    ] {
        let (code, stderr) = outcome(&arguments);
        assert_eq!(code, 1, "{stderr:.300}");
        assert!(stderr.contains("`max_yaml_depth` 64 exceeded"), "{stderr:.300}");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let path = written("binary.yaml", &[0xff, 0xfe, 0x00]);
    let name = path.display().to_string();
    for (arguments, expected) in [
        (["check", &name, "--strict"], 3),
        (["run", "files/good", &name], 1),
        (["eval", "1", &format!("--context={name}")], 1),
        (["test", &name, "--color=never"], 2),
    ] {
        let (code, stderr) = outcome(&arguments);
        assert_eq!(code, expected, "{arguments:?} {stderr}");
    }
}

#[test]
fn standard_input_is_read_where_a_file_is() {
    let mut child = celador(&["eval", "input.a", "--input", "@-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"a\": [1, 2]}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "[1,2]\n");
}

#[test]
fn no_color_is_heeded_and_always_wins() {
    let escapes = |when: &str, no_color: bool| {
        let mut command = celador(&["check", "files/doubtful.yaml", "--color", when]);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!escapes("auto", false), "there is no terminal here");
    assert!(escapes("always", true));
    assert!(!escapes("never", false));
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = celador(&["completions", shell]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains("celador"), "{shell}");
    }
}

/// What a snapshot is read back as is what was written: expressions see the same context.
#[test]
fn a_snapshot_of_a_context_reads_back_as_itself() {
    let state = ["--context", "files/state.yaml", "--manifests", "files/good"];
    let first = celador(&[&["eval", "context"][..], &state].concat()).output().unwrap();
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let path = written("snapshot.json", &first.stdout);
    let name = path.display().to_string();
    for arguments in [
        &["eval", "context", "--context", &name, "--manifests", "files/good"][..],
        &["eval", "context", "--context", &name],
    ] {
        let again = celador(arguments).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&first.stdout));
    }
}
