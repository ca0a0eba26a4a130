//! What is asked of the way to a Postgres server: TLS or not, and how long it may take.

use std::time::Duration;

/// How long a connection may take to come about, and to notice that nobody is there any more.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked of TLS (libpq, `sslmode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Never.
    Disable,
    /// If the server does not let anybody in without.
    Allow,
    /// If the server has it.
    Prefer,
    /// Always; with whom is asked only if there is a file of roots.
    Require,
    /// Always, with somebody whom a root vouches for.
    VerifyCa,
    /// Always, with the host that was named.
    VerifyFull,
}
