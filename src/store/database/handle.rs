//! A database: SQLite in a file or in memory, or Postgres, behind one way to read and one way to write.
//!
//! In: what to do in one transaction, as statements that both databases understand, with `$1` for the first parameter.
//! Out: what that gave, or a [`StoreError`] and nothing written. A write that returned is on disk. Everything blocks: a
//! server calls it from a thread that may wait, and lets the last handle go there too.

use super::access::{Access, Failure};
use super::connection::Connection;
use super::faults::Faults;
use super::pool::Pool;
use super::postgresql::PostgresConnection;
use super::sqlite::{BUSY, SqliteConnection};
use super::{Row, SqlValue, migrations};
use crate::StoreLimits;
use crate::{StoreError, messages};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often a transaction is tried that another was in the way of.
const ATTEMPTS: u32 = 16;

/// What a probe writes, in bytes.
const PROBE_BYTES: usize = 65_536;

/// Where a store keeps its data.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// In this process, until the last handle is gone.
    Memory,
    /// In a file, which is made if it does not exist, with its write-ahead log beside it.
    File(PathBuf),
    /// In a Postgres database, by a connection string: `postgres://user:password@host:port/database?sslmode=verify-full`.
    /// `sslmode`, `sslrootcert` (a file, or `system`), `sslcert`, `sslkey` and `channel_binding` are as libpq has them.
    Postgres(String),
}

impl Location {
    /// Reads a setting: `memory`, a connection string that begins with `postgres://` or `postgresql://`, or the path
    /// of a file, with `file:` ahead of it or without.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Some(path) = text.strip_prefix("file:") {
            return Self::File(path.into());
        }
        if text == "memory" {
            return Self::Memory;
        }
        let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if is_postgres { Self::Postgres(text.to_owned()) } else { Self::File(text.into()) }
    }
}

impl fmt::Debug for Location {
    /// The kind and the path. A connection string holds a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("Memory"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Postgres(_) => f.write_str("Postgres"),
        }
    }
}

/// A handle of a database. Clones share its connections.
///
/// ```
/// use celador_store::{Database, Location, StoreLimits};
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let rows = database.read(|sql| sql.query("SELECT number, name FROM celador_schema ORDER BY number", &[]))?;
/// assert_eq!(rows[0].text(1)?, "first");
/// # Ok::<(), celador_store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Database(Arc<Shared>);

struct Shared {
    location: Location,
    /// Of SQLite, those that only read; of Postgres and in memory all.
    reads: Pool,
    /// The one that writes to a file of SQLite: its writers take turns anyway, and here they do not poll.
    writes: Option<Pool>,
    faults: Faults,
}

/// A transaction under way.
///
/// ```
/// use celador_store::{Database, Location, Row, Sql, SqlValue, StoreError, StoreLimits};
///
/// // how many turns of switches an operator made since a day; it runs on SQLite and on Postgres
/// fn turns_since(sql: &mut Sql<'_>, day: &str, who: Option<&str>) -> Result<u64, StoreError> {
///     let statement = "SELECT COUNT(*) FROM switch_turn WHERE at >= $1 AND (who = $2 OR $2 IS NULL)";
///     let row: Option<Row> = sql.query_one(statement, &[day.into(), who.into()])?;
///     row.map_or(Ok(0), |row| row.count(0))
/// }
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// assert_eq!(database.read(|sql| turns_since(sql, "2026-06-01", Some("kim")))?, 0);
///
/// // what a column holds is asked by its kind, and another kind is damage
/// let name = SqlValue::from("first");
/// let found = database.read(|sql| sql.query_one("SELECT name FROM celador_schema WHERE name = $1", &[name.clone()]))?;
/// let row = found.ok_or(StoreError::NotFound)?;
/// assert_eq!(row.text(0)?, "first");
/// assert!(matches!(row.int(0), Err(StoreError::Corrupt(_))));
/// # Ok::<(), StoreError>(())
/// ```
pub struct Sql<'t> {
    connection: &'t mut Connection,
    faults: &'t Faults,
    /// The first statement that failed. Later statements do not count, even if the closure swallowed the error.
    failed: Option<Failure>,
}

/// What is done in one transaction; it keeps its answer itself.
type Work<'w> = dyn FnMut(&mut Sql<'_>) -> Result<(), StoreError> + 'w;

impl Database {
    /// Opens a store: makes it if it is not there, and brings its schema up to date. A file that is not larger than
    /// `max_checked_file_bytes` is checked page by page.
    ///
    /// # Errors
    /// [`StoreError::NotOurs`], [`StoreError::NewerVersion`], [`StoreError::Corrupt`], and those of a database that
    /// cannot be reached.
    pub fn open(location: &Location, limits: &StoreLimits) -> Result<Self, StoreError> {
        Self::connect(location, limits).map_err(|failed| failed.error)
    }

    fn connect(location: &Location, limits: &StoreLimits) -> Result<Self, Failure> {
        let wait = Duration::from_secs(limits.max_connection_wait);
        let most = limits.max_connections;
        let (reads, writes) = match location {
            Location::Memory => {
                let mut connection = Connection::Sqlite(SqliteConnection::in_memory()?);
                migrations::run(&mut connection)?;
                // one connection is the whole database: there must never be a second
                let only = || Err(StoreError::Unavailable(messages::CLOSED.into()).into());
                (Pool::new(1, wait, only).with(connection), None)
            }
            Location::File(path) => {
                if !path.try_exists().unwrap_or_default() {
                    SqliteConnection::create(path)?;
                }
                let file = SqliteConnection::find(path)?;
                let mut connection = Connection::Sqlite(SqliteConnection::open(path, &file, false)?);
                if file.len() <= limits.max_checked_file_bytes && !connection.check()? {
                    return Err(StoreError::Corrupt(messages::failed_check()).into());
                }
                migrations::run(&mut connection)?;
                let open = |read_only| {
                    let (path, file) = (path.clone(), file.clone());
                    move || SqliteConnection::open(&path, &file, read_only).map(Connection::Sqlite)
                };
                let [read, write] = [open(true), open(false)];
                let writes = Pool::new(1, wait, write).with(connection);
                if most > 1 { (Pool::new(most, wait, read), Some(writes)) } else { (writes, None) }
            }
            Location::Postgres(address) => {
                let address = address.clone();
                let connect = move || {
                    let connection = PostgresConnection::connect(&address)?;
                    Ok(Connection::Postgres(Box::new(connection)))
                };
                let mut connection = connect()?;
                migrations::run(&mut connection)?;
                (Pool::new(most, wait, connect).with(connection), None)
            }
        };
        let faults = Faults::default();
        Ok(Self(Arc::new(Shared { location: location.clone(), reads, writes, faults })))
    }

    /// Where the data is.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// The faults that tests ask for.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Reads, in one transaction: all statements see one state of the store. Writes are refused or not kept.
    ///
    /// # Errors
    /// The errors of the closure and of the database.
    pub fn read<T>(&self, work: impl FnMut(&mut Sql<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.run(Access::Read, work)
    }

    /// Writes, in one transaction that runs as if no other did, and returns when it is durable. If the closure answers
    /// with an error or one of its statements failed, nothing is written. It may be called several times, if other
    /// transactions are in the way: it must do nothing but read and write here.
    ///
    /// # Errors
    /// The errors of the closure and of the database; after [`StoreError::Uncertain`] only reading tells whether
    /// the write is there.
    pub fn write<T>(&self, work: impl FnMut(&mut Sql<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.run(Access::Write, work)
    }

    /// Writes rows that are tested in the very statement that changes them; other than that as [`Database::write`]. What
    /// else is read may be changed by others meanwhile, so there are fewer that are in the way.
    pub(crate) fn write_rows<T>(
        &self,
        work: impl FnMut(&mut Sql<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.run(Access::WriteRows, work)
    }

    /// The database's own check of all its pages and indexes; Postgres makes its own, with checksums. Linear.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it fails.
    pub fn check(&self) -> Result<(), StoreError> {
        let sound = self.read(|sql| sql.run(Connection::check))?;
        if sound { Ok(()) } else { Err(StoreError::Corrupt(messages::failed_check())) }
    }

    /// Writes a text and commits it, to see whether a step could be written now. The text is as long as a large step,
    /// so that a disk which is about to be full is seen. The one before goes when the new one is there: it would lend its
    /// room to it otherwise.
    ///
    /// # Errors
    /// The errors of the database, as a step would meet them.
    pub fn probe(&self) -> Result<(), StoreError> {
        let (name, content) = (uuid::Uuid::new_v4().to_string(), "-".repeat(PROBE_BYTES));
        self.write_rows(|sql| {
            let statement = "INSERT INTO write_probe (name, content) VALUES ($1, $2)";
            sql.execute(statement, &[(&name).into(), (&content).into()])?;
            sql.execute("DELETE FROM write_probe WHERE name <> $1", &[(&name).into()]).map(|_| ())
        })
    }

    /// Removes copies of deleted rows from the write-ahead log of a file. A reader that is in the way for long leaves it
    /// to the next time. Of Postgres and in memory there is nothing to do here.
    ///
    /// # Errors
    /// Those of the database.
    pub fn empty_log(&self) -> Result<(), StoreError> {
        self.empty_log_within(BUSY)
    }

    /// The same if the log is longer than so many bytes and nobody reads it: for processes that end after one request and leave the log to the next
    /// one, which reads all of it when it opens the store. It waits for nobody.
    ///
    /// # Errors
    /// Those of the database.
    pub fn shorten_log(&self, bytes: u64) -> Result<(), StoreError> {
        let Location::File(path) = &self.0.location else { return Ok(()) };
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        match std::fs::metadata(log) {
            Ok(log) if log.len() > bytes => self.empty_log_within(Duration::ZERO),
            _ => Ok(()),
        }
    }

    fn empty_log_within(&self, wait: Duration) -> Result<(), StoreError> {
        let Shared { location, reads, writes, .. } = &*self.0;
        if !matches!(location, Location::File(_)) {
            return Ok(());
        }
        let mut lent = writes.as_ref().unwrap_or(reads).lend().map_err(|failed| failed.error)?;
        match lent.connection().map_err(|failed| failed.error)? {
            Connection::Sqlite(connection) => connection.empty_log(wait).map_err(|failed| failed.error),
            Connection::Postgres(_) => Ok(()),
        }
    }

    fn run<T>(
        &self,
        access: Access,
        mut work: impl FnMut(&mut Sql<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut answer = None;
        self.transact(access, &mut |sql| work(sql).map(|given| answer = Some(given)))?;
        // a transaction that was committed has run its closure to the end
        answer.ok_or_else(|| StoreError::Unavailable(messages::CLOSED.into()))
    }

    /// Takes a closure by reference, so that all of this is compiled once and not for each kind of answer.
    fn transact(&self, access: Access, work: &mut Work<'_>) -> Result<(), StoreError> {
        let mut attempt = 1;
        loop {
            match self.attempt(access, work) {
                Err(failed) if failed.again && attempt < ATTEMPTS => {
                    std::thread::sleep(Duration::from_millis(u64::from(attempt)));
                    attempt = attempt.saturating_add(1);
                }
                other => return other.map_err(|failed| failed.error),
            }
        }
    }

    fn attempt(&self, access: Access, work: &mut Work<'_>) -> Result<(), Failure> {
        let Shared { reads, writes, faults, .. } = &*self.0;
        let pool = writes.as_ref().filter(|_| access != Access::Read).unwrap_or(reads);
        faults.access()?;
        let mut lent = pool.lend()?;
        if let Err(failed) = lent.connection()?.begin(access) {
            if !failed.closed {
                return Err(failed);
            }
            // the server was stopped since: so were all that are idle, and a new one tells whether it is there again
            lent.let_go();
            pool.forget_idle();
            lent = pool.lend()?;
            lent.connection()?.begin(access)?;
        }
        let mut sql = Sql { connection: lent.connection()?, faults, failed: None };
        let done = work(&mut sql);
        let ended = match (sql.failed.take(), done) {
            (Some(failed), _) => Err(failed),
            (None, Err(error)) => Err(error.into()),
            // what was only read is rolled back when the connection is given back
            (None, Ok(())) if access == Access::Read => Ok(()),
            (None, Ok(())) => faults
                .access()
                .map_err(Failure::of)
                .and_then(|()| sql.connection.commit())
                .and_then(|()| faults.committed().map_err(Failure::of)),
        };
        if ended.as_ref().is_err_and(|failed| failed.closed) {
            lent.let_go();
        }
        ended
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database").field(&self.0.location).finish()
    }
}

impl Sql<'_> {
    /// Runs a statement that changes rows; answers how many. A row that is there already is best met with
    /// `ON CONFLICT DO NOTHING`: a statement that fails ends the transaction.
    ///
    /// # Errors
    /// [`StoreError::AlreadyExists`] where a constraint is broken, and those of the database.
    pub fn execute(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        storable(values)?;
        self.run(|connection| connection.execute(statement, values))
    }

    /// Runs a statement that gives rows.
    ///
    /// # Errors
    /// Those of the database.
    pub fn query(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<Vec<Row>, StoreError> {
        storable(values)?;
        self.run(|connection| connection.query(statement, values))
    }

    /// The first row that a statement gives.
    ///
    /// # Errors
    /// Those of the database.
    pub fn query_one(&mut self, statement: &str, values: &[SqlValue<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(statement, values)?.into_iter().next())
    }

    fn run<T>(
        &mut self,
        statement: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        if let Some(failed) = &self.failed {
            return Err(failed.error.clone());
        }
        let done = self.faults.access().map_err(Failure::of).and_then(|()| statement(self.connection));
        done.map_err(|failed| self.failed.insert(failed).error.clone())
    }
}

/// Whether all values can be stored in every database.
pub(crate) fn storable(values: &[SqlValue<'_>]) -> Result<(), StoreError> {
    let zero = |value: &SqlValue<'_>| matches!(value, SqlValue::Text(text) if text.contains('\0'));
    if values.iter().any(zero) {
        return Err(StoreError::NotStorable(messages::ZERO_CHARACTER));
    }
    Ok(())
}
