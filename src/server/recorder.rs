//! What is written down of every decision: a line of the decision log, a count in the figures.
//!
//! In: a decision that the store has. Out: nothing; a log that cannot be written is told and counted, and takes nothing back,
//! for the decision is durable already. Content is in a line only if the operator asked for it.

use super::metrics::Metrics;
use super::request::{Answer, Request};
use crate::cel::Timestamp;
use crate::decision_log::{DecisionLog, Entry};
use crate::task::{Progress, Task};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tracing::error;

/// Writes decisions down.
pub(super) struct Recorder {
    log: Option<DecisionLog>,
    with_content: bool,
    metrics: Arc<Metrics>,
}

/// A step that was taken.
pub(super) struct Taken<'t> {
    pub(super) at: Timestamp,
    pub(super) took: Duration,
    pub(super) operation: &'static str,
    pub(super) function: Option<&'t str>,
    pub(super) progress: &'t Progress,
}

impl Recorder {
    pub(super) fn new(log: Option<DecisionLog>, with_content: bool, metrics: Arc<Metrics>) -> Self {
        Self { log, with_content, metrics }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Writes one down.
    pub(super) fn record(&self, request: &Request, task: &Task, taken: &Taken<'_>, answer: &Answer) {
        let decision = match taken.progress {
            Progress::Decided(decision) => Some(decision),
            Progress::Asks(_) => None,
        };
        self.metrics.decision(taken.operation, decision.map(|decision| decision.verdict));
        let Some(log) = &self.log else { return };
        let content = self.with_content.then(|| {
            let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
            serde_json::json!({ "request": value(&request.body), "answer": value(&answer.body) })
        });
        let policy = task.policy();
        let entry = Entry {
            at: taken.at,
            who: request.caller.identity.as_deref(),
            task: task.id(),
            namespace: &policy.agent().namespace.text,
            agent: &policy.agent().name.text,
            manifest: policy.fingerprint(),
            operation: taken.operation,
            function: taken.function,
            verdict: "asks",
            step: None,
            limit: None,
            cost: 0,
            took: taken.took,
            content: content.as_ref(),
        };
        let entry = match decision {
            Some(decision) => entry.of(decision),
            None => entry,
        };
        if let Err(error) = log.record(&entry) {
            self.metrics.log_error();
            error!(%error, "a decision is not in the decision log");
        }
    }
}
