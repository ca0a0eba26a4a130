//! What was forwarded although no rule saw it.

use celador_server::TaskBackend;
use celador_service::TaskService;

/// Says that something was forwarded which no rule saw, for the decision log. Where that cannot be said, traffic that is only observed goes on, and
/// the log of the process has a line.
pub(crate) async fn tell_of_unjudged(tasks: &TaskBackend, form: &str, count: u64) {
    if let Err(why) = tasks.note_unjudged(form, count).await {
        tracing::warn!(form, %why, "unjudged traffic is not counted");
    }
}
