//! SQLite: the embedded store, in a file or in memory.
//!
//! In: the path of a file. Out: a connection to it that commits durably: a write-ahead log that is synced at each commit
//! (`synchronous = FULL`). What is deleted is overwritten with zeros (`secure_delete`), so that a task that was purged cannot
//! be read off the file. A new file is made under another name and put in its place when it is whole, so a file that is
//! empty was emptied, and is refused like every file that something else made. A transaction begins only while the path leads
//! to the file that was opened there.

use super::access::{Access, Failure};
use super::{Row, SqlValue};
use crate::same_file::leads_to;
use crate::{StoreError, messages};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, OpenFlags, ToSql, ffi};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What tells our files from those of others: `CELA`.
const APPLICATION: i64 = 0x4345_4C41;

/// How long a connection waits for another that writes.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Prepared statements that one connection keeps, those that were used last.
const PREPARED: usize = 64;

/// A connection.
pub(super) struct SqliteConnection {
    sqlite: rusqlite::Connection,
    /// The path of its file, and the file that was there when it was opened.
    opened: Option<Box<(PathBuf, Metadata)>>,
}

impl SqliteConnection {
    /// A new database in memory: it is gone with this connection.
    pub(super) fn in_memory() -> Result<Self, Failure> {
        let sqlite = rusqlite::Connection::open_in_memory().map_err(failure)?;
        let connection = Self { sqlite, opened: None };
        connection.configure()?;
        Ok(connection)
    }

    /// What the system says of the file at a path: that file alone is opened there, now and later.
    pub(super) fn find(path: &Path) -> Result<Metadata, Failure> {
        std::fs::metadata(path).map_err(unreadable)
    }

    /// A connection to a file that was found, which must be one of ours. Another file at its path is not opened: beside it
    /// lies the write-ahead log of the one that was there, which SQLite would write into it.
    pub(super) fn open(path: &Path, found: &Metadata, read_only: bool) -> Result<Self, Failure> {
        if !leads_to(path, found) {
            return Err(moved());
        }
        if Self::find(path)?.len() == 0 {
            return Err(StoreError::NotOurs.into());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = rusqlite::Connection::open_with_flags(path, flags).map_err(failure)?;
        let connection = Self { sqlite, opened: Some(Box::new((path.to_owned(), found.clone()))) };
        connection.sqlite.busy_timeout(BUSY).map_err(failure)?;
        if connection.pragma("application_id")? != APPLICATION {
            return Err(StoreError::NotOurs.into());
        }
        connection.define("PRAGMA journal_mode = WAL")?;
        connection.configure()?;
        if read_only {
            connection.define("PRAGMA query_only = ON")?;
        }
        Ok(connection)
    }

    /// An empty file of ours at a path where there is none. Once it has returned, a crash leaves the file there.
    pub(super) fn create(path: &Path) -> Result<(), Failure> {
        let beside = |ending: &str| {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(ending);
            path.with_file_name(name)
        };
        // SQLite would write what is in it into the new file
        if std::fs::metadata(beside("-wal")).is_ok_and(|log| log.len() > 0) {
            return Err(StoreError::Corrupt(messages::log_alone()).into());
        }
        let draft = beside(&format!(".{}.new", std::process::id()));
        // what a process of that number left behind
        let _ = std::fs::remove_file(&draft);
        // SQLite takes an empty file for a new one, and its companions take over who may read it
        owners_alone(&draft).map_err(unreadable)?;
        let sqlite = rusqlite::Connection::open(&draft).map_err(failure)?;
        let connection = Self { sqlite, opened: None };
        connection.define(&format!("PRAGMA synchronous = EXTRA; PRAGMA application_id = {APPLICATION}"))?;
        drop(connection);
        // unlike a renaming, a link takes nobody's file away
        let linked = std::fs::hard_link(&draft, path);
        let _ = std::fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(unreadable(error)),
            _ => sync_folder(path),
        }
    }

    fn configure(&self) -> Result<(), Failure> {
        self.sqlite.set_prepared_statement_cache_capacity(PREPARED);
        self.define(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
             PRAGMA cell_size_check = ON; PRAGMA secure_delete = ON",
        )
    }

    /// Brings all of the write-ahead log into the file and cuts the log off, if no reader is in the way for so long.
    pub(super) fn empty_log(&self, wait: Duration) -> Result<(), Failure> {
        self.sqlite.busy_timeout(wait).map_err(failure)?;
        let emptied = self.define("PRAGMA wal_checkpoint(TRUNCATE)");
        self.sqlite.busy_timeout(BUSY).map_err(failure)?;
        emptied
    }

    fn pragma(&self, name: &str) -> Result<i64, Failure> {
        self.sqlite.pragma_query_value(None, name, |row| row.get(0)).map_err(failure)
    }

    pub(super) fn begin(&mut self, access: Access) -> Result<(), Failure> {
        // what is committed to a file that nobody finds any more is lost
        if self.opened.as_ref().is_some_and(|opened| !leads_to(&opened.0, &opened.1)) {
            return Err(moved());
        }
        self.define(match access {
            Access::Read => "BEGIN",
            Access::Write | Access::WriteRows => "BEGIN IMMEDIATE",
        })
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.sqlite.execute_batch("COMMIT").map_err(|error| {
            let code = error.sqlite_error().map_or(0, |error| error.extended_code & 0xff);
            // pages that could not be synced may be there after a crash all the same
            if code == ffi::SQLITE_IOERR { StoreError::Uncertain.into() } else { failure(error) }
        })
    }

    pub(super) fn roll_back(&mut self) -> bool {
        self.sqlite.is_autocommit() || self.sqlite.execute_batch("ROLLBACK").is_ok()
    }

    pub(super) fn execute(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<u64, Failure> {
        let mut prepared = self.prepare(statement, values)?;
        let changed = prepared.raw_execute().map_err(failure)?;
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    pub(super) fn query(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<Vec<Row>, Failure> {
        let mut prepared = self.prepare(statement, values)?;
        let columns = prepared.column_count();
        let mut found = prepared.raw_query();
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(failure)? {
            let cells = (0..columns).map(|column| cell(column, row.get_ref(column).map_err(failure)?));
            rows.push(Row(cells.collect::<Result<_, Failure>>()?));
        }
        Ok(rows)
    }

    /// A statement with its parameters, prepared once and kept; it is given back without them. SQLite numbers `$2` by where
    /// it first stands, so they are bound by name.
    fn prepare(&self, statement: &str, values: &[SqlValue<'_>]) -> Result<CachedStatement<'_>, Failure> {
        let mut prepared = self.sqlite.prepare_cached(statement).map_err(failure)?;
        for index in 1..=prepared.parameter_count() {
            let name = prepared.parameter_name(index).and_then(|name| name.strip_prefix('$'));
            let number =
                name.and_then(|number| number.parse::<usize>().ok()).and_then(|it| it.checked_sub(1));
            let value = number.and_then(|number| values.get(number));
            let value = value.ok_or_else(|| StoreError::Refused("parameter".to_owned()))?;
            prepared.raw_bind_parameter(index, value).map_err(failure)?;
        }
        Ok(prepared)
    }

    pub(super) fn define(&self, statements: &str) -> Result<(), Failure> {
        self.sqlite.execute_batch(statements).map_err(failure)
    }

    pub(super) fn check(&mut self) -> Result<bool, Failure> {
        let rows = self.query("PRAGMA integrity_check(1)", &[])?;
        Ok(rows.first().is_some_and(|row| row.text(0) == Ok("ok")))
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn cell(column: usize, value: ValueRef<'_>) -> Result<SqlValue<'static>, Failure> {
    let corrupt = || StoreError::Corrupt(messages::column(column));
    Ok(match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Text(text) => std::str::from_utf8(text).map_err(|_| corrupt())?.to_owned().into(),
        ValueRef::Real(_) | ValueRef::Blob(_) => return Err(corrupt().into()),
    })
}

/// What a failure of SQLite means. Of its message nothing is kept: it may quote what was to be stored.
fn failure(error: rusqlite::Error) -> Failure {
    let rusqlite::Error::SqliteFailure(error, _) = error else {
        return StoreError::Refused("sqlite".to_owned()).into();
    };
    let unavailable = || StoreError::Unavailable(messages::database_code(error.extended_code).into());
    if error.extended_code == ffi::SQLITE_IOERR_SHORT_READ {
        return StoreError::Corrupt(messages::database_code(error.extended_code)).into();
    }
    match error.extended_code & 0xff {
        // it has waited already
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => StoreError::Unavailable(messages::BUSY.into()).into(),
        ffi::SQLITE_FULL => StoreError::Full.into(),
        ffi::SQLITE_CORRUPT => StoreError::Corrupt(messages::database_code(error.extended_code)).into(),
        ffi::SQLITE_NOTADB => StoreError::NotOurs.into(),
        ffi::SQLITE_CONSTRAINT => StoreError::AlreadyExists.into(),
        ffi::SQLITE_TOOBIG => StoreError::NotStorable(messages::TOO_LONG).into(),
        ffi::SQLITE_IOERR
        | ffi::SQLITE_CANTOPEN
        | ffi::SQLITE_READONLY
        | ffi::SQLITE_PERM
        | ffi::SQLITE_NOMEM => unavailable().into(),
        _ => StoreError::Refused(error.extended_code.to_string()).into(),
    }
}

/// The path does not lead to the file that was opened there. Its connections are kept: it may be put back.
fn moved() -> Failure {
    StoreError::Unavailable(messages::MOVED.into()).into()
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where an error is turned into another")]
fn unreadable(error: std::io::Error) -> Failure {
    StoreError::Unavailable(error.kind().to_string().into()).into()
}

/// A new file that only its owner may read: tasks hold what people said.
fn owners_alone(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Makes the name of a file as durable as the file, where folders can be synced.
fn sync_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) {
        std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(unreadable)?;
    }
    Ok(())
}
