//! `--watch`: the command does it again when a file changes, and not for being read.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

struct Watching(Child, Receiver<String>);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Watching {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, receiver) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self(child, receiver)
    }

    /// The lines of a round.
    fn round(&self) -> String {
        let mut round = String::new();
        loop {
            let line = self.1.recv_timeout(Duration::from_secs(60)).expect("a round comes to its end");
            if line.starts_with("waiting for changes") {
                return round;
            }
            round.push_str(&line);
            round.push('\n');
        }
    }
}

#[test]
fn a_change_brings_another_round() {
    let folder = tempfile::tempdir().unwrap();
    let agent = folder.path().join("agent.yaml");
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/first-policy/agent.yaml")).unwrap();
    fs::write(&agent, &text).unwrap();
    let cases = folder.path().join("cases");
    fs::create_dir(&cases).unwrap();
    let case = "name: small\nmanifest: {files: [../agent.yaml], agent: clerk}\n\
                call: {op: before, fn: payout, args: {amount: 40}}\nexpect: {decision: allow}\n";
    fs::write(cases.join("small.yaml"), case).unwrap();

    let checking = Watching::start(&["check", agent.to_str().unwrap(), "--watch"]);
    // only the case is named: its manifest is watched all the same
    let testing = Watching::start(&["test", cases.to_str().unwrap(), "--watch"]);
    assert!(checking.round().contains("0 errors"));
    assert!(testing.round().contains("1 passed, 0 failed"));
    fs::write(&agent, text.replace("input.amount > 0 &&", "input.amuont > 0 &&").replace("<= 1000", "<= 10"))
        .unwrap();
    assert!(checking.round().contains("amuont"));
    assert!(testing.round().contains("0 passed, 1 broken"));
    fs::write(&agent, &text).unwrap();
    assert!(checking.round().contains("0 errors"));
    assert!(testing.round().contains("1 passed, 0 failed"));
    // what is read changes nothing, so nothing more is said
    assert!(testing.1.recv_timeout(Duration::from_secs(1)).is_ok_and(|line| line.is_empty()));
    assert!(testing.1.recv_timeout(Duration::from_millis(700)).is_err());
}
