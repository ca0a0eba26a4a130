//! `/readyz`: every reason against taking decisions is told, and those that stop them make the server not ready.

use crate::serving::Serving;
use celador::decision_log::{self, DecisionLog};
use celador::limits::EvalLimits;
use celador::store::{Database, Location};
use serde_json::Value;
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
    let database = Database::open(&location, &EvalLimits::default()).unwrap();
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

#[test]
fn a_log_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("log");
    let log = DecisionLog::open(decision_log::Settings::new(&logs), crate::serving::NOON.parse().unwrap());
    let database = Database::open(&Location::Memory, &EvalLimits::default()).unwrap();
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
