//! The decision log: what is written is read again, and nothing can be done to it that is not found.

use crate::task_fixture::{call, decided, log_entry, noon, task};
use celador::{CallResult, Timestamp};
use celador_store::decision_log::{
    DecisionLog, Digest, Flaw, LogEntry, LogError, LogSettings, SyncMode, VerifyError, verify,
};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

fn now() -> Timestamp {
    "2026-11-22T04:05:06.5Z".parse().unwrap()
}

fn entry(task: &str) -> LogEntry<'_> {
    LogEntry {
        who: Some("did:web:kim.example"),
        namespace: "support",
        agent: "support-desk",
        function: Some("payments_refund"),
        verdict: "block",
        step: Some("before[0]"),
        cost: 12,
        took: Duration::from_nanos(3456),
        ..log_entry(task, now())
    }
}

fn open(folder: &Path) -> DecisionLog {
    DecisionLog::open(LogSettings::new(folder), now()).unwrap()
}

/// A folder with a log of so many lines.
fn log_of(lines: usize) -> TempDir {
    let folder = TempDir::new().unwrap();
    let log = open(folder.path());
    (0..lines).for_each(|task| {
        log.record(&entry(&format!("t-{task}"))).unwrap();
    });
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    paths
}

fn only_file(folder: &Path) -> PathBuf {
    let files = files(folder);
    assert_eq!(files.len(), 1);
    files[0].clone()
}

fn flaw(folder: &Path) -> Option<(u64, Flaw)> {
    match verify(folder, None) {
        Err(VerifyError::Broken(broken)) => Some((broken.line, broken.flaw)),
        Err(error) => panic!("{error}"),
        Ok(_) => None,
    }
}

#[test]
fn a_line_tells_of_the_calls_that_were_decided_with_its_step() {
    let agent = "capabilities: {ledger: {before: [{assert: 'c.cap.ledger_lookup.count_successful < 1'}]}}";
    let mut task = task(agent);
    let lookup = call("ledger_lookup", json!({"account": "HUSH"}));
    let first = decided(task.before(&lookup, noon()).unwrap()).call.unwrap();
    let waits = decided(task.before(&lookup, noon()).unwrap());
    assert_eq!(waits.verdict.kind().as_str(), "wait");
    let found = CallResult::successful(json!({}).into());
    let told = decided(task.after(&first, found, noon()).unwrap());
    let line = serde_json::to_value(entry("after").of(&told)).unwrap();
    let step = "capabilities.ledger.before[0].assert";
    let expected = json!([
        {"call": "2", "function": "ledger_lookup", "verdict": "block", "step": step, "cost": 3},
    ]);
    assert_eq!(line["decided"], expected);
    assert!(!line.to_string().contains("HUSH"));
}

#[test]
fn a_line_says_who_decided_what_and_why() {
    let folder = log_of(1);
    let line = fs::read_to_string(only_file(folder.path())).unwrap();
    let (said, chained) = line.split_once(",\"previous\":").unwrap();
    assert_eq!(
        said,
        r#"{"number":1,"at":"2026-11-22T04:05:06.5Z","who":"did:web:kim.example","task":"t-0","namespace":"support","agent":"support-desk","manifest":"feedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeed","operation":"before","function":"payments_refund","verdict":"block","step":"before[0]","cost":12,"nanos":3456"#
    );
    assert!(chained.starts_with(&format!("\"{}\",\"digest\":\"", "0".repeat(64))), "{chained}");
    let mut with_content = entry("t");
    let content = json!({ "arguments": { "amount": 180 } });
    with_content.content = Some(&content);
    with_content.who = None;
    let log = open(folder.path());
    assert_eq!(log.record(&with_content).unwrap(), 2);
    let text = fs::read_to_string(only_file(folder.path())).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["content"], content);
    assert!(last.get("who").is_none() && last.get("limit").is_none());
}

#[test]
fn a_log_that_was_closed_can_be_opened_at_once_while_processes_begin() {
    let folder = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        let begin = || (0..300).for_each(|_| assert!(Command::new("true").status().unwrap().success()));
        let begins = [scope.spawn(begin), scope.spawn(begin)];
        while begins.iter().any(|begin| !begin.is_finished()) {
            drop(open(folder.path()));
        }
    });
}

#[test]
fn what_was_written_by_many_threads_over_many_files_is_intact() {
    let folder = TempDir::new().unwrap();
    let settings = LogSettings { max_file_bytes: 2_000, ..LogSettings::new(folder.path()) };
    let log = Arc::new(DecisionLog::open(settings.clone(), now()).unwrap());
    let threads = (0..4).map(|thread| {
        let log = log.clone();
        std::thread::spawn(move || {
            (0..50).for_each(|task| {
                log.record(&entry(&format!("{thread}-{task}"))).unwrap();
            });
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    let (last, head) = log.head();
    drop(log);
    let intact = verify(folder.path(), Some(head)).unwrap();
    assert_eq!((intact.first, intact.last, intact.head), (1, 200, head));
    assert_eq!((last, intact.files), (200, files(folder.path()).len()));
    assert!(intact.files > 20, "{} files", intact.files);
    let longest = files(folder.path()).iter().map(|path| fs::metadata(path).unwrap().len()).max().unwrap();
    assert!(longest < 2_600, "{longest}");

    // opened again it goes on, and nothing of it goes by itself
    let log = DecisionLog::open(settings, now()).unwrap();
    (0..20).for_each(|_| assert!(log.record(&entry("t")).is_ok()));
    let again = verify(folder.path(), Some(head)).unwrap();
    assert_eq!((again.first, again.last), (1, 220));
    assert!(again.files > intact.files, "{again:?}");
}

#[test]
fn every_change_of_a_byte_is_found_at_its_line() {
    let folder = log_of(3);
    let path = only_file(folder.path());
    let bytes = fs::read(&path).unwrap();
    let head = verify(folder.path(), None).unwrap().head;
    let length = bytes.len() / 3;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 7);
        fs::write(&path, &changed).unwrap();
        let (line, _) = flaw(folder.path()).unwrap_or_else(|| panic!("byte {at} changed unnoticed"));
        assert_eq!(line, (at / length) as u64 + 1, "byte {at}");
    }
    // cut anywhere but at the end of a line
    for at in (0..bytes.len()).filter(|at| at % length != 0) {
        fs::write(&path, &bytes[..at]).unwrap();
        assert_eq!(flaw(folder.path()).unwrap().1, Flaw::CutOff, "cut at {at}");
    }
    // cut at the end of a line it is the log that it was then, unless the last digest was noted
    fs::write(&path, &bytes[..length]).unwrap();
    assert_eq!(verify(folder.path(), None).unwrap().last, 1);
    assert!(matches!(verify(folder.path(), Some(head)), Err(VerifyError::Missing(_))));
}

#[test]
fn lines_that_are_dropped_moved_repeated_or_forged_are_found() {
    let folder = log_of(4);
    let path = only_file(folder.path());
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let other = log_of(5);
    let foreign = fs::read_to_string(only_file(other.path())).unwrap().replace("t-1", "t-9");
    let foreign = foreign.lines().nth(1).unwrap();
    let unchained = |expected, found| Flaw::Unchained { expected, found };
    for (order, line, flaw_found) in [
        (vec![lines[1], lines[2], lines[3]], 1, Flaw::Misnamed(1)),
        (vec![lines[0], lines[2], lines[3]], 2, unchained(2, 3)),
        (vec![lines[0], lines[2], lines[1], lines[3]], 2, unchained(2, 3)),
        (vec![lines[0], lines[1], lines[1], lines[2]], 3, unchained(3, 2)),
        (vec![lines[0], foreign, lines[2]], 2, Flaw::Changed),
        (vec![lines[0], "{}"], 2, Flaw::NotAnEntry),
        (vec![lines[0], ""], 2, Flaw::NotAnEntry),
    ] {
        fs::write(&path, order.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        assert_eq!(flaw(folder.path()), Some((line, flaw_found)));
    }
    // a whole file that is gone
    let settings = LogSettings { max_file_bytes: 1, ..LogSettings::new(folder.path()) };
    fs::remove_file(&path).unwrap();
    let log = DecisionLog::open(settings, now()).unwrap();
    (0..3).for_each(|_| assert!(log.record(&entry("t")).is_ok()));
    fs::remove_file(&files(folder.path())[1]).unwrap();
    assert_eq!(flaw(folder.path()), Some((1, unchained(2, 3))));
}

#[test]
fn a_log_that_was_cut_off_by_a_crash_goes_on_and_says_so() {
    let whole = log_of(3);
    let bytes = fs::read(only_file(whole.path())).unwrap();
    let length = bytes.len() / 3;
    for at in 0..bytes.len() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("decisions-000000000001.jsonl");
        fs::write(&path, &bytes[..at]).unwrap();
        let log = open(folder.path());
        let (kept, torn) = ((at / length) as u64, at % length);
        let said = u64::from(torn > 0);
        assert_eq!(log.head().0, kept + said, "cut at {at}");
        assert_eq!(log.record(&entry("t")).unwrap(), kept + said + 1);
        assert_eq!(verify(folder.path(), None).unwrap().last, kept + said + 1);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains(&format!(r#""operation":"recovered","dropped_bytes":{torn},"#)), torn > 0);
        assert!(text.as_bytes().starts_with(&bytes[..at - torn]), "a whole line was lost at {at}");
    }
    // a last line that was changed is not gone on from
    let path = only_file(whole.path());
    let mut changed = bytes.clone();
    changed[2 * length + 30] ^= 1;
    fs::write(&path, &changed).unwrap();
    let refused = DecisionLog::open(LogSettings::new(whole.path()), now()).unwrap_err();
    assert!(matches!(refused, LogError::Broken { line: 3, flaw: Flaw::Changed, .. }), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), changed);
}

#[test]
fn one_process_writes_and_a_folder_that_cannot_be_written_is_said() {
    let folder = log_of(1);
    let log = open(folder.path());
    let second = DecisionLog::open(LogSettings::new(folder.path()), now());
    assert!(matches!(second, Err(LogError::InUse(_))));
    drop(log);
    let sync = LogSettings { sync: SyncMode::Always, ..LogSettings::new(folder.path()) };
    assert_eq!(DecisionLog::open(sync, now()).unwrap().record(&entry("t")).unwrap(), 2);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = DecisionLog::open(LogSettings::new(file.join("log")), now()).unwrap_err();
    assert!(refused.to_string().starts_with("cannot create"), "{refused}");
    let nothing = TempDir::new().unwrap();
    assert!(matches!(verify(nothing.path(), None), Err(VerifyError::Empty(_))));
    assert!(matches!(verify(&file, None), Err(VerifyError::Unreadable { .. })));
    for wrong in ["", "abc", &"g".repeat(64), &"A".repeat(64), &"0".repeat(65)] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}

/// A file system of its own that is soon full; nothing where only root may make one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn of(kilobytes: u32) -> Option<Self> {
        let folder = TempDir::new().unwrap();
        let size = format!("size={kilobytes}k");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_trace() {
    let Some(disk) = SmallDisk::of(64) else {
        println!("skipped: a small file system cannot be mounted here");
        return;
    };
    let folder = disk.0.path();
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 20_000]).unwrap();
    let log = open(folder);
    let mut written = 0;
    let refused = loop {
        match log.record(&entry("t")) {
            Ok(number) => written = number,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, LogError::Io { .. }), "{refused}");
    assert!((10..500).contains(&written), "{written}");
    (0..3).for_each(|_| assert!(log.record(&entry("t")).is_err()));
    assert_eq!(verify(folder, None).unwrap_or_else(|error| panic!("{error}")).last, written);
    // with room again it goes on at the very next number
    fs::remove_file(&ballast).unwrap();
    assert_eq!(log.record(&entry("t")).unwrap(), written + 1);
    drop(log);
    assert_eq!(verify(folder, None).unwrap().last, written + 1);
}

#[test]
fn the_command_line_says_whether_a_log_is_intact() {
    let folder = log_of(3);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_celador"));
        let output = command.args(["log", "verify"]).arg(folder.path()).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), text)
    };
    let head = verify(folder.path(), None).unwrap().head.to_string();
    let intact = format!("lines 1 to 3 in 1 file(s), as they were written\nhead {head}\n");
    assert_eq!(run(&[]), (0, intact.clone()));
    assert_eq!(run(&["--head", &head]), (0, intact));
    let (code, text) = run(&["--head", &"0".repeat(64)]);
    assert!(code == 2 && text.contains("no line has the digest 000"), "{text}");
    let (code, text) = run(&["--head", "nonsense"]);
    assert!(code == 1 && text.contains("a digest is 64 hexadecimal digits"), "{text}");
    let path = only_file(folder.path());
    let changed = fs::read_to_string(&path).unwrap().replace("block", "allow");
    fs::write(&path, changed).unwrap();
    let (code, text) = run(&[]);
    assert!(code == 2 && text.contains("line 1: the line was changed"), "{text}");
    let (code, text) = run(&["--format", "json"]);
    assert!(code == 2 && text.contains(r#""intact":false"#), "{text}");
    fs::remove_file(&path).unwrap();
    assert_eq!(run(&[]).0, 1);
}
