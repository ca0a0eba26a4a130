//! `celador repl` through the real binary: scripts through a pipe, keys through a pseudo-terminal.
//!
//! A script is a file `NAME.cel` of `tests/data/repl`, whose first line is a comment with the arguments; what came of it
//! stands in `NAME.txt`, written by `UPDATE_EXPECT=1`.

use std::fs;
use std::io::{Read as _, Write as _, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/repl")
}

/// A state folder of its own, so that no test meets the history of another or of a user.
fn state(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-state").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// What the lines of a script give, standard output and standard error as one stream, and the exit code.
fn piped(arguments: &[&str], script: &str) -> String {
    let (mut both, out) = pipe().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
    command.arg("repl").args(arguments).current_dir(folder()).env_remove("NO_COLOR");
    let mut child =
        command.stdin(Stdio::piped()).stdout(out.try_clone().unwrap()).stderr(out).spawn().unwrap();
    drop(command);
    let mut input = child.stdin.take().unwrap();
    let script = script.to_owned();
    let writer = std::thread::spawn(move || {
        // it may have ended by itself
        let _ = input.write_all(script.as_bytes());
    });
    let mut text = String::new();
    both.read_to_string(&mut text).unwrap();
    writer.join().unwrap();
    format!("{text}exit {}\n", child.wait().unwrap().code().expect("no signal"))
}

#[test]
fn scripts_give_what_stands_beside_them() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    let mut scripts: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|end| end == "cel"));
    scripts.sort();
    assert!(scripts.len() >= 5, "only {} scripts", scripts.len());
    for path in scripts {
        let script = fs::read_to_string(&path).unwrap();
        let first = script.lines().next().unwrap().strip_prefix("// celador repl").expect("the arguments");
        let found = piped(&first.split_whitespace().collect::<Vec<_>>(), &script);
        let beside = path.with_extension("txt");
        if update {
            fs::write(&beside, &found).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            wrong.push(format!("{}\n-- expected\n{expected}\n-- found\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_exit_code_says_whether_every_line_went_well() {
    assert_eq!(piped(&[], "1 + 1\n"), "2  int\nexit 0\n");
    assert_eq!(piped(&[], ""), "exit 0\n");
    assert!(piped(&[], "1 / 0\n1\n").ends_with("1  int\nexit 1\n"));
    assert!(piped(&[], "nope\n:quit\n").ends_with("exit 1\n"));
    assert!(piped(&[], ":nope\n").ends_with("exit 1\n"));
    assert!(piped(&["no/such/folder"], "1\n").ends_with("exit 1\n"));
    assert!(piped(&["../cli/files/broken.yaml"], "1\n").ends_with("exit 3\n"));
    // what is open at the end is told, and not waited for
    assert!(piped(&[], "[1,\n2").contains("`[` is never closed"));
}

#[test]
fn hostile_lines_are_refused_and_the_next_is_answered() {
    let deep = "[".repeat(100_000) + "\n\n";
    let long = "1 + ".repeat(100_000) + "1\n";
    let dear = "[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, a)))";
    let dear = format!(":explain {dear}\n");
    for script in [deep, long, dear, "'\u{1b}[2J'\n".into(), "\u{0}\n".into(), ":explain 1 +\n".into()] {
        let found = piped(&[], &format!("{script}40 + 2\n"));
        assert!(found.contains("42  int\n"), "{script:.60}: {found:.2000}");
        assert!(!found.contains('\u{1b}') && !found.contains("panicked"), "{found:.2000}");
    }
}

/// Runs a program at a pseudo-terminal: waits for a text, sends keys, and so on; shows all that came, and ends with its
/// exit code.
const DRIVER: &str = r#"
import fcntl, json, os, pty, select, struct, sys, termios, time
steps, argv = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 110, 0, 0))
seen, text = 0, b''
def more(deadline):
    global text
    ready, _, _ = select.select([fd], [], [], max(0, deadline - time.time()))
    if not ready:
        return False
    try:
        part = os.read(fd, 65536)
    except OSError:
        part = b''
    text += part
    return bool(part)
for wait, keys in steps:
    deadline = time.time() + 60
    while wait.encode() not in text[seen:]:
        if not more(deadline):
            print('WAITED IN VAIN for', repr(wait), 'behind', repr(text[seen:]))
            os.kill(pid, 9)
            sys.exit(99)
    seen += text[seen:].index(wait.encode()) + len(wait.encode())
    os.write(fd, keys.encode())
deadline = time.time() + 60
while more(deadline):
    pass
sys.stdout.write(text.decode('utf-8', 'replace'))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

/// What a session at a terminal shows, and its exit code; nothing if the system has no python3 to make a terminal.
fn typed(state: &Path, arguments: &[&str], steps: &[(&str, &str)]) -> Option<(i32, String)> {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no python3, so what happens at a terminal was not tested");
        return None;
    }
    let steps = serde_json::to_string(steps).unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", DRIVER, &steps, env!("CARGO_BIN_EXE_celador"), "repl"]).args(arguments);
    command.current_dir(folder()).env("TERM", "xterm").env("XDG_STATE_HOME", state).env_remove("NO_COLOR");
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code().expect("no signal");
    assert!(code != 99 && output.stderr.is_empty(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    Some((code, shown))
}

const PROMPT: &str = "cel> ";

#[test]
fn somebody_at_a_terminal_has_editing_completion_and_history() {
    let state = state("terminal");
    let agent = ["../cli/files/good", "--agent", "clerk"];
    let first = typed(
        &state,
        &agent,
        &[
            (PROMPT, "1 + 1\r"),
            ("2  \u{1b}[2mint", ""),
            // a bracket that is open takes the next line; an edit in the middle of a line
            (PROMPT, "[1,\r3].map(x, x * 10)\u{1b}[D\u{1b}[D0\r"),
            ("[100, 300]", ""),
            // completion: one word that fits, and the list of several
            (PROMPT, "context.capabilities.ref\t.count_s\t\r"),
            ("0  \u{1b}[2mint", ""),
            (PROMPT, "c.cap.refund.count_\t"),
            ("count_restricted", "\u{15}"),
            (PROMPT, ":scope guardrail_b\t\r"),
            // an error, with its caret
            (PROMPT, "1 + contxt\r"),
            ("did you mean `context`?", ""),
            // half a line that is thought better of, and the end
            (PROMPT, "1 + \u{3}"),
            (PROMPT, "'the last one'\r"),
            ("string", ""),
            (PROMPT, "\u{4}"),
        ],
    );
    let Some((code, shown)) = first else { return };
    assert_eq!(code, 0, "errors at a terminal are no failure of the command\n{shown}");
    assert!(shown.contains("^^^^^^"), "{shown}");
    assert!(!shown.contains("panicked"), "{shown}");

    // the next session goes back in the history of the first
    let again = [(PROMPT, "\u{1b}[A\r"), ("'the last one'  ", ""), (PROMPT, ":quit\r")];
    assert_eq!(typed(&state, &[], &again).map(|(code, _)| code), Some(0));
    let history = fs::read_to_string(state.join("celador/history")).unwrap();
    assert!(history.contains("1 + 1") && history.contains(":quit"), "{history}");
}

#[test]
fn a_history_that_cannot_be_written_is_kept_in_memory() {
    let state = state("nowhere");
    fs::write(state.join("celador"), "a file where a folder should be").unwrap();
    let steps =
        [(PROMPT, "'kept'\r"), ("string", ""), (PROMPT, "\u{1b}[A\r"), ("'kept'  ", ""), (PROMPT, "\u{4}")];
    if let Some((code, shown)) = typed(&state, &[], &steps) {
        assert_eq!(code, 0, "{shown}");
    }
}
