//! How long a call is held back, as a rule may ask for.
//!
//! In: a duration. Out: nothing, when it is over.

use std::time::Duration;

/// Waits. Without a delay it is over at once: a timer ticks once a millisecond, so a sleep of nothing would take one.
pub(crate) async fn held_back(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}
