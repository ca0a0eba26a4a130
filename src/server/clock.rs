//! The time, from whoever starts the server; [`system_clock`] is that of this machine.

use super::error::ServeError;
use celador::cel::Timestamp;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time comes from.
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
