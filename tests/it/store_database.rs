//! One way to read and write three databases: the same statements, the same answers, the same refusals.

use crate::servers::PostgresServer;
use celador_store::{Database, FaultPlan, Location, SqlValue, StoreError, StoreLimits};

/// A new store of each kind, by name, and what keeps its file.
pub fn databases() -> Vec<(&'static str, Database, Option<tempfile::TempDir>)> {
    let open = |location| Database::open(&location, &StoreLimits::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    vec![
        ("memory", open(Location::Memory), None),
        ("file", open(Location::File(folder.path().join("celador.db"))), Some(folder)),
        ("postgres", open(Location::Postgres(PostgresServer::shared().database())), None),
    ]
}

const INSERT: &str = "INSERT INTO task_answer (owner, task, key, request, answer, at, digest) \
                      VALUES ($2, '', $1, $3, $3, $3, $3) ON CONFLICT DO NOTHING";

fn insert(database: &Database, key: &str, owner: &str, text: &str) -> Result<u64, StoreError> {
    database.write(|sql| sql.execute(INSERT, &[key.into(), owner.into(), text.into()]))
}

fn keys(database: &Database) -> Vec<String> {
    let rows = database.read(|sql| sql.query("SELECT key FROM task_answer ORDER BY key", &[])).unwrap();
    rows.iter().map(|row| row.text(0).unwrap().to_owned()).collect()
}

#[test]
fn three_databases_read_and_write_alike() {
    for (name, database, _folder) in databases() {
        assert_eq!(insert(&database, "b", "o", "ü \u{1}{\"\\u0000\"}"), Ok(1), "{name}");
        assert_eq!(insert(&database, "b", "o", "other"), Ok(0), "{name}");
        for key in ["a", "B", "é", "_"] {
            assert_eq!(insert(&database, key, "o", ""), Ok(1), "{name}");
        }
        // by bytes, whatever the language of the cluster
        assert_eq!(keys(&database), ["B", "_", "a", "b", "é"], "{name}");
        let row = database
            .read(|sql| {
                sql.query_one(
                    "SELECT request, NULL, $2, CAST($1 AS BIGINT) FROM task_answer WHERE key = $2",
                    &[7_i64.into(), "b".into()],
                )
            })
            .unwrap()
            .unwrap();
        assert_eq!(row.text(0), Ok("ü \u{1}{\"\\u0000\"}"), "{name}");
        assert_eq!((row.optional_text(1), row.text(2), row.int(3)), (Ok(None), Ok("b"), Ok(7)), "{name}");
        assert_eq!((row.count(3), row.optional_int(1)), (Ok(7), Ok(None)), "{name}");
        assert!(matches!(row.text(3), Err(StoreError::Corrupt(_))) && row.int(9).is_err(), "{name}");
        let zero = database.read(|sql| sql.query("SELECT $1", &[SqlValue::from("a\0b")]));
        assert!(matches!(zero, Err(StoreError::NotStorable(_))), "{name}");
        database.check().unwrap();
    }
}

#[test]
fn a_transaction_that_fails_leaves_nothing() {
    for (name, database, _folder) in databases() {
        let insert_then = |then: Result<(), StoreError>| {
            database.write(|sql| {
                sql.execute(INSERT, &["k".into(), "o".into(), "".into()])?;
                then.clone()
            })
        };
        assert_eq!(insert_then(Err(StoreError::NotFound)), Err(StoreError::NotFound), "{name}");
        // a statement that failed ends the transaction, even if its error is not passed on
        let swallowed = database.write(|sql| {
            sql.execute(INSERT, &["k".into(), "o".into(), "".into()])?;
            let twice = "INSERT INTO task_answer (owner, task, key, request, answer, at, digest) \
                         VALUES ('o', '', 'k', '', '', '', '')";
            let _ = sql.execute(twice, &[]);
            Ok(())
        });
        assert_eq!(swallowed, Err(StoreError::AlreadyExists), "{name}");
        assert!(
            matches!(database.read(|sql| sql.query("SELECT nothing", &[])), Err(StoreError::Refused(_))),
            "{name}"
        );
        let written = database.read(|sql| sql.execute(INSERT, &["k".into(), "o".into(), "".into()]));
        assert!(written.is_err() || name == "memory", "{name}");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            database.write(|sql| -> Result<(), StoreError> {
                sql.execute(INSERT, &["k".into(), "o".into(), "".into()])?;
                panic!("in the middle of a transaction")
            })
        }));
        assert!(panicked.is_err());
        assert_eq!(keys(&database), [""; 0], "{name}");
        assert_eq!(insert_then(Ok(())), Ok(()), "{name}");
        assert_eq!(keys(&database), ["k"], "{name}");
    }
}

#[test]
fn faults_fail_just_the_access_that_was_asked_for() {
    for (name, database, _folder) in databases() {
        let write = |key: &str| insert(&database, key, "o", "");
        database.faults().plan(FaultPlan::Nothing);
        write("0").unwrap();
        assert_eq!((database.faults().accesses(), database.faults().commits()), (3, 1), "{name}");
        for access in 1..=3 {
            database.faults().plan(FaultPlan::Access(access));
            assert!(matches!(write("1"), Err(StoreError::Unavailable(_))), "{name}: access {access}");
            assert_eq!(keys(&database), ["0"], "{name}: access {access}");
        }
        assert_eq!(write("1"), Ok(1), "{name}");
        database.faults().plan(FaultPlan::CommitAnswer(1));
        assert_eq!(write("2"), Err(StoreError::Uncertain), "{name}");
        assert_eq!(keys(&database), ["0", "1", "2"], "{name}");
        database.faults().plan(FaultPlan::Everything);
        assert!(write("3").is_err() && database.read(|_| Ok(())).is_err(), "{name}");
        database.faults().plan(FaultPlan::Nothing);
        assert_eq!(write("3"), Ok(1), "{name}");
    }
}
