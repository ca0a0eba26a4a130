//! The word to stop, as those hear it who are at work.

use tokio::sync::watch;

/// Waits until the server is to stop.
pub(crate) async fn told(stopped: &mut watch::Receiver<bool>) {
    // a sender that is gone is a server that is gone
    let _ = stopped.wait_for(|stop| *stop).await;
}
