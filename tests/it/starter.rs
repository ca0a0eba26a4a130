//! `celador init`: what it writes passes, and what is there already stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this name that is not there.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn celador(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_celador")).args(arguments).arg(folder).output().unwrap()
}

#[test]
fn what_init_writes_is_clean_and_passes() {
    let folder = fresh("starter");
    assert_eq!(celador(&["init"], &folder).status.code(), Some(0));
    let checked = celador(&["check", "--strict"], &folder);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
    let tested = celador(&["test"], &folder);
    let report = String::from_utf8_lossy(&tested.stdout).into_owned();
    assert_eq!(tested.status.code(), Some(0), "{report}");
    assert!(report.contains("4 passed, 0 failed"), "{report}");
}

#[test]
fn init_overwrites_nothing_and_does_nothing_by_halves() {
    let folder = fresh("starter-taken");
    fs::create_dir_all(folder.join("cases")).unwrap();
    let taken = folder.join("cases/card-is-hidden.yaml");
    fs::write(&taken, "mine").unwrap();
    let refused = celador(&["init"], &folder);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("card-is-hidden.yaml` is there already, so nothing was written"), "{said}");
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
    assert!(!folder.join("agent.yaml").exists() && !folder.join("tools").exists());

    // where a folder has to be there is a file: what was written before it is taken away
    let folder = fresh("starter-blocked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("cases"), "mine").unwrap();
    assert_eq!(celador(&["init"], &folder).status.code(), Some(1));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["cases"]);
}
