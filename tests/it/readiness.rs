//! `/readyz`: every reason against taking decisions is told, and those that stop them make the server not ready.

use crate::serving::Serving;
use celador_store::decision_log::{self, DecisionLog};
use celador_store::{Database, Location, StoreError, StoreLimits};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// What `/readyz` answers once it has looked anew: its status and the codes of its reasons.
fn settled(serving: &Serving, status: u16) -> Vec<(String, bool)> {
    let begun = Instant::now();
    loop {
        let reply = serving.get("/readyz");
        if reply.status == status {
            let reasons = reply.json()["reasons"].as_array().unwrap().clone();
            let reason = |it: &Value| (it["code"].as_str().unwrap().to_owned(), it["blocks"] == true);
            return reasons.iter().map(reason).collect();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "still {}: {}", reply.status, reply.text());
    }
}

fn told(code: &str, blocks: bool) -> Vec<(String, bool)> {
    vec![(code.to_owned(), blocks)]
}

#[test]
fn a_store_without_room_is_not_ready_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("celador.db"));
    let database = Database::open(&location, &StoreLimits::default()).unwrap();
    let serving = Serving::over(database.clone(), |_, _| {});
    assert_eq!(settled(&serving, 200), []);
    // the file must not grow any more: what a full disk is to SQLite
    let pages = |most: u64| {
        database.write(|sql| sql.query(&format!("PRAGMA max_page_count = {most}"), &[])).unwrap();
    };
    pages(1);
    let begun = Instant::now();
    while serving.post("/v1/tasks", &crate::serving::new_task()).status != 503 {
        assert!(begun.elapsed() < Duration::from_secs(20), "the store takes everything");
    }
    assert_eq!(settled(&serving, 503), told("store-unwritable", true));
    assert_eq!(serving.get("/readyz").json()["store"], "unavailable");
    pages(1_000_000);
    assert_eq!(settled(&serving, 200), []);
    serving.store_down(true);
    assert_eq!(settled(&serving, 503), told("store-unavailable", true));
}

/// What is committed to a file that nobody finds any more is lost, so nothing is.
#[test]
fn a_store_whose_file_is_not_in_its_place_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (file, aside) = (folder.path().join("celador.db"), folder.path().join("aside"));
    let database = Database::open(&Location::File(file.clone()), &StoreLimits::default()).unwrap();
    let serving = Serving::over(database.clone(), |_, _| {});
    let task = serving.task();
    let turn = || {
        serving
            .post(&format!("{task}/model-turn"), &json!({"prompt_tokens": 1, "completion_tokens": 1}))
            .status
    };
    let version = || serving.get(&task).json()["version"].as_u64().unwrap();
    assert_eq!(turn(), 200);
    let before = version();
    fs::rename(&file, &aside).unwrap();
    assert_eq!(turn(), 503);
    assert_eq!(settled(&serving, 503), told("store-unavailable", true));
    // the write-ahead log that lies beside the path is not another store's
    Database::open(&Location::File(folder.path().join("other.db")), &StoreLimits::default()).unwrap();
    fs::rename(folder.path().join("other.db"), &file).unwrap();
    assert_eq!(turn(), 503);
    fs::rename(&aside, &file).unwrap();
    assert_eq!(settled(&serving, 200), []);
    assert_eq!(turn(), 200);
    assert_eq!(version(), before + 1, "nothing was lost and nothing written elsewhere");
}

/// A new file beside the write-ahead log of another would take over what is in that log.
#[test]
fn a_store_is_not_made_beside_the_log_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("celador.db");
    fs::write(folder.path().join("celador.db-wal"), "frames").unwrap();
    let opened = Database::open(&Location::File(file.clone()), &StoreLimits::default());
    assert!(matches!(opened, Err(StoreError::Corrupt(why)) if why.contains("-wal")));
    assert!(!file.exists());
    fs::remove_file(folder.path().join("celador.db-wal")).unwrap();
    Database::open(&Location::File(file), &StoreLimits::default()).unwrap();
}

#[test]
fn a_log_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("log");
    let log = DecisionLog::open(decision_log::LogSettings::new(&logs), crate::serving::NOON.parse().unwrap());
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let serving = Serving::over_log(database, log.unwrap(), |_, _| {});
    assert_eq!(settled(&serving, 200), []);
    // somebody has taken the folder away: what is written to the open file is seen by nobody
    fs::rename(&logs, folder.path().join("moved")).unwrap();
    let begun = Instant::now();
    while serving.get("/readyz").json()["reasons"].as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is told");
    }
    // without `--decision-log-required` decisions are taken all the same
    assert_eq!(settled(&serving, 200), told("log-unwritable", false));
    fs::rename(folder.path().join("moved"), &logs).unwrap();
    let begun = Instant::now();
    while !serving.get("/readyz").json()["reasons"].as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is told for ever");
    }
    fs::remove_file(logs.join("decisions-000000000001.jsonl")).unwrap();
    let begun = Instant::now();
    while serving.get("/readyz").json()["reasons"].as_array().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "a file that was removed is not missed");
    }
}
