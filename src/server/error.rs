//! Why a server does not start, or why a file that it read before cannot be read again.

use super::messages;
use celador::diagnostic::Diagnostic;
use celador_store::LogBehind;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// Why a server does not start.
///
/// ```
/// use celador_server::{Parts, ServeError, Server, Settings, system_clock};
/// use celador_store::{Database, Location};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
///
/// let start = |settings: Settings| {
///     let database = Database::open(&Location::Memory, &settings.limits.store)?;
///     Server::start(settings, Parts { clock: system_clock()?, database, log: None })
/// };
///
/// // beyond loopback every caller needs a token, or somebody says that none does
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.address = "0.0.0.0:0".parse()?;
/// match start(settings) {
///     Err(ServeError::OpenToAll(address)) => assert!(address.ip().is_unspecified()),
///     other => panic!("{:?}", other.err()),
/// }
///
/// // a folder that is not there, and a decision log that is required and was not given
/// assert!(matches!(start(Settings::new(vec!["elsewhere".into()])), Err(ServeError::Manifests(_))));
/// let mut settings = Settings::new(vec!["examples/first-policy".into()]);
/// settings.log_required = true;
/// assert!(matches!(start(settings), Err(ServeError::NoLog)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An address that is in use, or not one of this machine.
    #[error("cannot listen on {address}: {reason}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        reason: io::Error,
    },
    /// An address beyond loopback without authentication.
    #[error("{}", messages::open_to_all(.0))]
    OpenToAll(SocketAddr),
    /// A setting with a value that is not allowed.
    #[error("`{name}`: {what}")]
    Setting {
        /// The field of [`Settings`](super::Settings).
        name: &'static str,
        /// The fault.
        what: String,
    },
    /// A file that cannot be read, or holds something else.
    #[error("`{path}`: {what}")]
    File {
        /// The path.
        path: String,
        /// The fault.
        what: String,
    },
    /// Paths of manifests that cannot be read.
    #[error(transparent)]
    Manifests(#[from] celador::manifest::load::LoadError),
    /// Manifests with errors, or with warnings that may lose a rule; told finding by finding.
    #[error("the manifests are refused")]
    Invalid(Vec<Diagnostic>),
    /// A clock outside the calendar.
    #[error("{}", messages::no_time())]
    Clock,
    /// A log filter that cannot be read, or a collector that cannot be one.
    #[error("cannot log or trace: {0}")]
    Telemetry(String),
    /// The store cannot be opened.
    #[error("the store cannot be opened: {0}")]
    Store(#[from] celador_store::StoreError),
    /// The decision log cannot be written.
    #[error("the decision log cannot be written: {0}")]
    Log(#[from] celador_store::decision_log::LogError),
    /// A decision log is required, and none was given.
    #[error("every decision has to be in a decision log, and there is none")]
    NoLog,
    /// The system gives no threads.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

impl From<LogBehind> for ServeError {
    fn from(behind: LogBehind) -> Self {
        match behind {
            LogBehind::Log(error) => Self::Log(error),
            LogBehind::Store(error) => Self::Store(error),
        }
    }
}

impl ServeError {
    pub(super) fn file(path: &Path, what: impl Into<String>) -> Self {
        Self::File { path: path.display().to_string(), what: what.into() }
    }

    pub(super) fn setting(name: &'static str, what: String) -> Self {
        Self::Setting { name, what }
    }

    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::file(path, error.to_string())
    }
}
