//! What is told of the server while it runs: logs, figures, spans, and the words for what went wrong.

mod logs;
pub(crate) mod metrics;
pub(crate) mod reasons;
#[cfg(feature = "otel")]
pub(crate) mod traces;

pub use logs::{LogFormat, Sending, Telemetry};
