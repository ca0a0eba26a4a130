//! The time, from whoever starts the server; [`system_clock`] is that of this machine.

use super::error::ServeError;
use celador::cel::Timestamp;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time comes from.
///
/// ```
/// use celador_server::{Clock, Parts, Server, Settings};
/// use celador_store::{Database, Location, Owner, StoredTasks};
/// use std::io::{Read as _, Write as _};
/// use std::sync::Arc;
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// // a host that tests its policies gives its server a time of its own
/// let noon: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// let clock: Clock = Arc::new(move || noon);
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.address.set_port(0); // one that is free
/// let limits = settings.limits.store;
/// let database = Database::open(&Location::Memory, &limits)?;
/// let server = Server::start(settings, Parts { clock, database: database.clone(), log: None })?;
///
/// let mut connection = std::net::TcpStream::connect(server.address())?;
/// let task = r#"{"namespace": "shop", "agent": "clerk", "user": {"id": "u-7"}}"#;
/// let head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json";
/// write!(connection, "{head}\r\nContent-Length: {}\r\n\r\n{task}", task.len())?;
/// connection.read_to_string(&mut String::new())?;
/// server.stop();
/// let tasks = StoredTasks::new(database, &limits).tasks(&Owner::nobody(), None, 10)?;
/// assert_eq!((tasks.len(), &*tasks[0].started_at), (1, "2026-06-01T12:00:00Z"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of this machine.
///
/// # Errors
/// [`ServeError::Clock`] if it is outside the calendar. One that leaves it later stands still.
pub fn system_clock() -> Result<Clock, ServeError> {
    let read = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_nanos(i128::try_from(since.as_nanos()).unwrap_or_default())
    };
    let begun = read().map_err(|_| ServeError::Clock)?;
    Ok(Arc::new(move || read().unwrap_or(begun)))
}
