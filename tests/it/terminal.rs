//! A terminal as a reader has it: one shell in which the commands of a page run, one after the other.
//!
//! In: lines as they are typed. Out: what they write, both streams in their order, and the exit code. `celador` is the command that was built
//! with the tests. A server that a line starts (`celador serve …`) listens on a port of its own and keeps its data apart; the page calls it
//! by the address that it has by default.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The address of a server where nobody says otherwise.
const DEFAULT_ADDRESS: [&str; 2] = ["localhost:8717", "127.0.0.1:8717"];
/// What ends the output of a command: a sign that nothing else writes.
const END: u8 = 0x1e;

pub(crate) struct Terminal {
    folder: PathBuf,
    shell: Child,
    typed: ChildStdin,
    shown: BufReader<ChildStdout>,
    server: Option<Server>,
}

struct Server {
    process: Child,
    address: String,
    _data: tempfile::TempDir,
}

impl Terminal {
    /// A shell in a folder.
    pub(crate) fn open(folder: &Path) -> Self {
        let mut shell = command("bash", folder);
        let mut shell =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash is installed");
        let mut typed = shell.stdin.take().unwrap();
        let shown = BufReader::new(shell.stdout.take().unwrap());
        typed.write_all(b"exec 2>&1\n").unwrap();
        Self { folder: folder.to_owned(), shell, typed, shown, server: None }
    }

    /// What a command writes, and its exit code.
    pub(crate) fn run(&mut self, line: &str) -> (String, i32) {
        if let Some(arguments) = line.strip_prefix("celador serve ") {
            return (self.serve(arguments), 0);
        }
        let line = match &self.server {
            Some(server) => line.replace(DEFAULT_ADDRESS[0], &server.address),
            None => line.to_owned(),
        };
        // the exit code is handed on, so that `$?` of the next command is that of this one
        let sent = format!("{{ {line}\n}} </dev/null; code=$?; printf '\\036%d\\036' $code; (exit $code)\n");
        self.typed.write_all(sent.as_bytes()).unwrap();
        let (text, code) = (self.up_to_end(), self.up_to_end());
        let text = match &self.server {
            Some(server) => text.replace(&server.address, DEFAULT_ADDRESS[1]),
            None => text,
        };
        (text, code.parse().unwrap_or_else(|_| panic!("the shell has ended at `{line}`")))
    }

    fn up_to_end(&mut self) -> String {
        let mut bytes = Vec::new();
        self.shown.read_until(END, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(END), "the shell has ended");
        String::from_utf8(bytes).unwrap()
    }

    /// Starts a server in the place of the one before it, and gives the line that it prints.
    fn serve(&mut self, arguments: &str) -> String {
        drop(self.server.take());
        let data = tempfile::tempdir().unwrap();
        let mut process = command("bash", &self.folder);
        process.args(["-c", &format!("exec celador serve {arguments} --listen 127.0.0.1:0 --data \"$0\"")]);
        process.arg(data.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = process.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("a server listens").to_owned();
        let address = address.strip_prefix("http://").unwrap_or(&address).to_owned();
        let shown = line.replace(&address, DEFAULT_ADDRESS[1]);
        self.server = Some(Server { process, address, _data: data });
        shown
    }
}

/// A program in a folder, with the command that was built first on its path.
fn command(program: &str, folder: &Path) -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_celador")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(built).chain(std::env::split_paths(&others))).unwrap();
    let mut command = Command::new(program);
    command.current_dir(folder).env("PATH", path).env("LC_ALL", "C.UTF-8");
    command
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CELADOR_SERVER");
    command
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[test]
fn a_terminal_shows_both_streams_and_hands_values_and_codes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(folder.path());
    assert_eq!(terminal.run("celador eval '1 + 1'"), ("2\n".to_owned(), 0));
    assert_eq!(terminal.run("NAME=Kim; echo one >&2; echo two").0, "one\ntwo\n");
    assert_eq!(terminal.run("echo $NAME | tr a-z A-Z"), ("KIM\n".to_owned(), 0));
    assert_eq!(terminal.run("false").1, 1);
    assert_eq!(terminal.run("echo $?").0, "1\n");
    // what reads the terminal is not given the rest of the page
    assert_eq!(terminal.run("cat"), (String::new(), 0));
    assert_eq!(terminal.run("no-such-command").1, 127);
}
