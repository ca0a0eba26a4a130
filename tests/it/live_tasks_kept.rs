//! The manifests that a store keeps for the tasks under them: once, as long as they are needed, and only as they were.

use crate::live_tasks::{BARE, Shop, after, before, begin, call, decide, held, manifest, policy, verdict};
use crate::servers::PostgresServer;
use celador::cel::Timestamp;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{StartTask, User};
use celador_server::{LiveTasks, Settings};
use celador_store::{Database, Location, ManifestSet, Owner, Purge, StoreError, StoreLimits, StoredTasks};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::{Arc, mpsc};

/// The text of a set is kept once, goes with the last task under it, and holds what stood in the files.
#[test]
fn a_set_of_manifests_is_kept_once_and_goes_with_its_last_task() {
    let postgres = PostgresServer::shared().database();
    for location in [None, Some(postgres)] {
        let folder = tempfile::tempdir().unwrap();
        let location =
            location.map_or_else(|| Location::File(folder.path().join("s.db")), |it| Location::parse(&it));
        let database = Database::open(&location, &StoreLimits::default()).unwrap();
        let shop = Shop::over(LiveTasks::Keep, database, folder);
        let serving = shop.start();
        let old = [(); 3].map(|()| begin(&serving));
        assert_eq!(shop.count("manifest_set"), 1);
        let digest = serving.get("/v1/manifests").json()["serving"]["digest"].clone();
        assert_eq!(policy(&serving, &old[0])["manifests"], digest);
        let content = shop.database.read(|sql| sql.query("SELECT content FROM manifest_set", &[])).unwrap();
        assert!(content[0].text(0).unwrap().contains("input.amount <= 1000"));
        shop.serve(&serving, &manifest(10));
        begin(&serving);
        assert_eq!((shop.count("manifest_set"), shop.count("task_policy")), (2, 4));
        assert_eq!(serving.send("DELETE", &old[0], &[], b"").status, 200);
        assert_eq!((shop.count("manifest_set"), shop.count("task_policy")), (2, 3));
        assert_eq!(decide(&serving, &old[1], "adopt").status, 200);
        assert_eq!(shop.count("manifest_set"), 2);
        assert_eq!(serving.send("DELETE", &old[2], &[], b"").status, 200);
        assert_eq!((shop.count("manifest_set"), shop.count("task_policy")), (1, 2));
        shop.verify().unwrap();
    }
}

/// Tasks that begin while the last ones under their manifests are purged never lose the text.
#[test]
fn a_text_does_not_go_while_a_task_comes_under_it() {
    const TASKS: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let locations =
        [Location::File(folder.path().join("s.db")), Location::parse(&PostgresServer::shared().database())];
    let (engine, _) = crate::task_fixture::parse("a.yaml", &manifest(10));
    let source = Source::new("a.yaml", manifest(10));
    let set = Arc::new(ManifestSet::of(&[File { source, origin: FileOrigin::Named }]));
    let (limits, nobody) = (StoreLimits::default(), Owner::nobody());
    let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
    for location in locations {
        let [begins, purges] =
            [(); 2].map(|()| StoredTasks::new(Database::open(&location, &limits).unwrap(), &limits));
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            let purge = Purge { at: now, who: "kim", reason: "over" };
            let (purges, nobody) = (&purges, &nobody);
            // every second one is purged, at about the time when the next one begins
            scope.spawn(move || {
                told.iter().for_each(|id: String| drop(purges.purge(nobody, &id, &purge).unwrap()))
            });
            for number in 0..TASKS {
                let id = format!("t-{number}");
                let user = User { id: "u".into(), email: None, ..User::default() };
                let task = engine.start(StartTask::new(&id, "n", "a", user, now)).unwrap();
                let begun = begins.create_under(nobody, &task, now, None, Some(set.clone()));
                match begun {
                    Ok(_) if number < TASKS / 2 || number % 2 == 0 => tell.send(id).unwrap(),
                    Ok(_) => {}
                    // the text went at that moment: nothing is stored, and the next try stores it again
                    Err(error) => assert_eq!(error, StoreError::AlreadyExists),
                }
            }
            drop(tell);
        });
        let left = begins.tasks(&nobody, None, TASKS).unwrap();
        assert!(left.len() > 10, "only {} tasks", left.len());
        for task in left {
            let head = begins.load(&nobody, &task.id).unwrap().head;
            let digest = head.policy().and_then(|policy| policy.manifests.clone()).expect("manifests");
            assert_eq!(begins.manifests(&digest).unwrap().as_ref(), Some(&*set));
            assert!(begins.keeps_manifests(&digest).unwrap() && !begins.keeps_manifests("").unwrap());
        }
        begins.verify().unwrap();
    }
}

/// Manifests that the store does not have, or that this release does not take, hold the task, and it says so.
#[test]
fn a_policy_that_cannot_be_had_holds_its_tasks() {
    let digest_of = |parts: [&str; 2]| {
        let state = parts.iter().fold(Sha256::new(), |state, part| {
            state.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
        });
        state.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let bytes = Shop::new(LiveTasks::Keep).kept_bytes();
    let too_large = |most: u64| {
        move |settings: &mut Settings| {
            settings.limits.store.max_kept_manifests_bytes = most as usize;
        }
    };
    // exactly the bound is kept
    for (most, is_kept) in [(bytes, true), (bytes - 1, false), (u64::MAX, true)] {
        let shop = Shop::new(LiveTasks::Keep);
        let serving = shop.start_with(too_large(most));
        let task = begin(&serving);
        assert_eq!(shop.count("manifest_set"), u64::from(is_kept));
        shop.serve(&serving, &manifest(10));
        assert_eq!(verdict(&serving, &task, 900), "allow", "in memory it goes on");
        drop(serving.stop());
        let serving = shop.start();
        if is_kept {
            assert_eq!(verdict(&serving, &task, 900), "allow");
            continue;
        }
        assert!(held(&call(&serving, &task, 1)).contains("the store does not have the manifests"));
        assert_eq!(policy(&serving, &task)["held"]["can"], json!(["adopt", "end", "purge"]));
        held(&decide(&serving, &task, "keep"));
        assert_eq!(decide(&serving, &task, "adopt").status, 200);
        assert_eq!(verdict(&serving, &task, 20), "block");
    }
    for (new, can) in [(manifest(10), json!(["adopt", "end", "purge"])), (BARE.to_owned(), json!(["purge"]))]
    {
        let shop = Shop::new(LiveTasks::Keep);
        let serving = shop.start();
        let task = begin(&serving);
        let open = before(&serving, &task, 5)["call"].clone();
        drop(serving.stop());
        let rows =
            shop.database.read(|sql| sql.query("SELECT digest, content FROM manifest_set", &[])).unwrap();
        let (name, content) = (rows[0].text(0).unwrap(), rows[0].text(1).unwrap());
        let content = content.replace("- {assert", "- {asserted");
        let digest = digest_of([name, &content]);
        let statement = "UPDATE manifest_set SET content = $1, content_digest = $2";
        shop.database.write(|sql| sql.execute(statement, &[(&content).into(), (&digest).into()])).unwrap();
        shop.write(&new);
        let serving = shop.start();
        let said = held(&call(&serving, &task, 1));
        assert!(said.contains("this release cannot take the manifests"), "{said}");
        assert_eq!(policy(&serving, &task)["held"]["can"], can);
        held(&after(&serving, &task, &open));
        assert_eq!(serving.send("DELETE", &task, &[], b"").status, 200);
    }
}

impl Shop {
    /// How long the text of its manifests is in a store.
    fn kept_bytes(self) -> u64 {
        let serving = self.start();
        begin(&serving);
        let statement = "SELECT CAST(LENGTH(content) AS BIGINT) FROM manifest_set";
        self.database.read(|sql| sql.query(statement, &[])).unwrap()[0].count(0).unwrap()
    }
}

#[test]
fn what_is_said_of_policies_and_was_altered_is_found() {
    for damage in [
        "UPDATE task_policy SET manifests = NULL",
        "UPDATE task_policy SET decision = 'keep'",
        "UPDATE task_policy SET reason = 'another'",
        "UPDATE manifest_set SET content = '[]'",
    ] {
        let shop = Shop::new(LiveTasks::Keep);
        let serving = shop.start();
        let task = begin(&serving);
        shop.serve(&serving, &manifest(10));
        drop(serving.stop());
        shop.verify().unwrap();
        shop.database.write(|sql| sql.execute(damage, &[])).unwrap();
        assert!(shop.verify().unwrap_err().contains("not what was written"), "{damage}");
        let serving = shop.start();
        assert_eq!(call(&serving, &task, 1).status, 500, "{damage}");
    }
}
