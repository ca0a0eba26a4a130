//! What is written down of every decision, purge and turn of a switch: a line of the decision log, a count in the figures.
//!
//! In: what was done, before and after the store has it. Out: nothing, or with a log that is required the problem that keeps
//! the decision from being answered. Otherwise a log that cannot be written is told and counted, and its lines are owed.
//! Content is in a line only if the operator asked for it, with secrets masked, and never in one that is written late.

use super::ledger::Ledger;
use super::steps::TaskStep;
use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::Answer;
use crate::task_request::TaskRequest;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::reasons::Reason;
use celador::cel::Timestamp;
use celador::task::{Progress, Task};
use celador_store::decision_log::{DecisionLog, LogEntry, LogError, Notice, Removal, Stored};
use celador_store::{Database, DueLine, LogBehind, Owner, StoreError, SwitchTurn, TaskHead};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, info, warn};

/// Writes decisions down.
pub(crate) struct Recorder {
    ledger: Option<Ledger>,
    /// Whether a decision is answered only if the log has it.
    required: bool,
    with_content: bool,
    metrics: Arc<Metrics>,
}

/// A step that was taken.
pub(crate) struct Recorded<'t> {
    pub(crate) request: &'t TaskRequest,
    pub(crate) task: &'t Task,
    pub(crate) owner: &'t Owner,
    pub(crate) at: Timestamp,
    pub(crate) took: Duration,
    pub(crate) operation: &'static str,
    pub(crate) function: Option<&'t str>,
    /// Why the host ended the task.
    pub(crate) reason: Option<&'t str>,
    pub(crate) progress: &'t Progress,
    pub(crate) answer: &'t Answer,
    /// The body of the request as the log may show it, if it is to.
    pub(crate) shown: Option<Value>,
}

/// A line that says that an answer was given once more.
#[derive(Serialize)]
struct Replayed<'r> {
    at: String,
    who: Option<&'r str>,
    task: &'r str,
    owner: &'r str,
    version: u64,
    operation: &'static str,
    function: Option<&'r str>,
    verdict: &'r str,
    replayed: bool,
}

impl Recorder {
    /// Over a log, whose gap is closed first: what a process before this one decided and did not write.
    ///
    /// # Errors
    /// A log or a store that cannot be read; with a log that is required also one that cannot be written.
    pub(crate) fn open(
        log: Option<DecisionLog>,
        database: &Database,
        (required, with_content): (bool, bool),
        metrics: Arc<Metrics>,
    ) -> Result<Self, LogBehind> {
        let ledger = log.map(|log| Ledger::open(log, database.clone())).transpose()?;
        let recorder = Self { ledger, required, with_content, metrics };
        recorder.settle().or_else(|error| if required { Err(error) } else { Ok(()) })?;
        Ok(recorder)
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Why the log cannot be written, if so: tried by writing what is owed, and beside it.
    pub(crate) fn unwritable(&self) -> Option<Reason> {
        let ledger = self.ledger.as_ref()?;
        let tried = self.settle().and_then(|()| Ok(ledger.log().probe()?));
        let detail = messages::log_unwritable(&tried.err()?, ledger.owed());
        Some(Reason { code: "log-unwritable", blocks: self.required, detail })
    }

    /// Before anything is decided or answered: with a log that is required, nothing may be owed to it.
    pub(crate) fn ready(&self) -> Result<(), Problem> {
        match self.settle() {
            Err(_) if self.required => Err(Kind::LogUnavailable.into()),
            _ => Ok(()),
        }
    }

    /// Writes what is owed.
    fn settle(&self) -> Result<(), LogBehind> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        match ledger.settle() {
            Ok(0) => Ok(()),
            Ok(lines) => {
                info!(lines, "decisions that the decision log lacked were written to it");
                Ok(())
            }
            Err(error) => {
                warn!(%error, lines = ledger.owed(), "the decision log lacks decisions and cannot be written");
                Err(error)
            }
        }
    }

    /// The line of a decision that is about to be stored.
    pub(crate) fn due(&self, taken: &Recorded<'_>, version: u64) -> Option<DueLine> {
        let ledger = self.ledger.as_ref()?;
        let stored = Stored { owner: taken.owner.as_str(), version, event: None };
        let line = serde_json::to_string(&entry(taken, Some(stored), None)).unwrap_or_default();
        Some(ledger.due(line))
    }

    /// Writes down a decision that the store has.
    ///
    /// # Errors
    /// With a log that is required: that the log cannot be written, and the decision must not be answered yet.
    pub(crate) fn record(
        &self,
        taken: &Recorded<'_>,
        due: Option<&DueLine>,
        head: &TaskHead,
    ) -> Result<(), Problem> {
        self.count(taken);
        let (Some(ledger), Some(due)) = (&self.ledger, due) else { return Ok(()) };
        let stored =
            Stored { owner: taken.owner.as_str(), version: head.version(), event: Some(head.digest()) };
        let content = Self::content(taken);
        self.judged(ledger.write(due.number, &entry(taken, Some(stored), content.as_ref())))
    }

    /// Writes down a decision that changed nothing, and that no store has.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub(crate) fn record_rejection(&self, taken: &Recorded<'_>) -> Result<(), Problem> {
        self.count(taken);
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let content = Self::content(taken);
        self.judged(ledger.log().record(&entry(taken, None, content.as_ref())).map(|_| ()))
    }

    /// Writes down that an answer is given once more, if the log is required: another server may have decided it, and only
    /// its own log tells whether it ever wrote that down.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub(crate) fn record_replay(
        &self,
        request: &TaskRequest,
        at: Timestamp,
        (operation, function): (&'static str, Option<&str>),
        answer: &[u8],
    ) -> Result<(), Problem> {
        let Some(ledger) = self.ledger.as_ref().filter(|_| self.required) else { return Ok(()) };
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let who = request.caller.identity.as_deref();
        let line = Replayed {
            at: at.to_string(),
            who,
            task: &request.task,
            owner: who.unwrap_or_default(),
            version: answer.get("version").and_then(Value::as_u64).unwrap_or_default(),
            operation,
            function,
            verdict: answer.pointer("/decided/verdict").and_then(Value::as_str).unwrap_or("asks"),
            replayed: true,
        };
        self.judged(ledger.log().record(&line).map(|_| ()))
    }

    /// A step of which nobody knows whether the store has it.
    pub(crate) fn doubtful(&self, due: Option<&DueLine>) {
        if let (Some(ledger), Some(due)) = (&self.ledger, due) {
            ledger.doubtful(due.number);
        }
    }

    /// A line that is to be stored with what it is about.
    pub(crate) fn due_line(&self, line: String) -> Option<DueLine> {
        self.ledger.as_ref().map(|ledger| ledger.due(line))
    }

    /// Writes down something that the store knows nothing of; whether there is a log.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub(crate) fn record_notice(&self, notice: &Notice<'_>) -> Result<bool, Problem> {
        let Some(ledger) = &self.ledger else { return Ok(false) };
        self.judged(ledger.log().record(notice).map(|_| ()))?;
        Ok(true)
    }

    /// Writes a line down whose subject the store has.
    ///
    /// # Errors
    /// As [`Recorder::record`].
    pub(crate) fn record_line(&self, due: Option<&DueLine>, line: &impl Serialize) -> Result<(), Problem> {
        let (Some(ledger), Some(due)) = (&self.ledger, due) else { return Ok(()) };
        self.judged(ledger.write(due.number, line))
    }

    /// Writes down turns of switches of which this log was never told. What cannot be written is owed, so it is
    /// [`Recorder::ready`] that says whether the log has them.
    ///
    /// # Errors
    /// Those of the store: then the log was told of none.
    pub(crate) fn record_turns(&self, turns: &[SwitchTurn], now: Timestamp) -> Result<(), StoreError> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        let subjects: Vec<String> = turns.iter().map(|turn| turn.switch.to_string()).collect();
        let notices: Vec<Notice<'_>> =
            turns.iter().zip(&subjects).map(|(turn, subject)| of_turn(turn, subject, now)).collect();
        let due = |(turn, notice): (&SwitchTurn, &Notice<'_>)| {
            (turn.number, ledger.due(serde_json::to_string(notice).unwrap_or_default()))
        };
        let lines: Vec<(u64, DueLine)> = turns.iter().zip(&notices).map(due).collect();
        let put = ledger.put_turns(&lines)?;
        for ((_, due), notice) in lines.iter().zip(&notices).filter(|((_, due), _)| put.contains(&due.number))
        {
            // what is not written is owed
            let _ = self.record_line(Some(due), notice);
        }
        Ok(())
    }

    /// Writes down what other processes left for any log, and lets go of lines of purged tasks that the log has.
    pub(crate) fn tidy(&self) -> Result<(), LogBehind> {
        let Some(ledger) = &self.ledger else { return Ok(()) };
        ledger.take_over()?;
        self.settle()?;
        ledger.forget_purged()
    }

    /// Lets go of lines in the store that are older than a time and that the log has on disk; how many.
    pub(crate) fn forget_before(&self, before: Timestamp) -> Result<u64, LogBehind> {
        self.ledger.as_ref().map_or(Ok(0), |ledger| ledger.forget_before(before))
    }

    /// Removes files of the log; how many. Their lines go from the store first, or the next start would miss them.
    pub(crate) fn remove_files(&self, removal: &Removal<'_>) -> Result<u64, LogBehind> {
        let Some(ledger) = &self.ledger else { return Ok(0) };
        ledger.forget_before(removal.before)?;
        Ok(ledger.log().remove_before(removal)? as u64)
    }

    /// Writes down what was done that is no decision, and of which the store has no line.
    pub(crate) fn note(&self, notice: &Notice<'_>) {
        let Some(ledger) = &self.ledger else { return };
        if let Err(error) = ledger.log().note(notice) {
            self.metrics.log_error();
            error!(%error, operation = notice.operation, "a notice is not in the decision log");
        }
    }

    fn judged(&self, written: Result<(), LogError>) -> Result<(), Problem> {
        let Err(error) = written else { return Ok(()) };
        self.metrics.log_error();
        error!(%error, "a decision is not in the decision log");
        if self.required { Err(Kind::LogUnavailable.into()) } else { Ok(()) }
    }

    fn count(&self, taken: &Recorded<'_>) {
        let verdict = match taken.progress {
            Progress::Decided(decision) => Some(decision.verdict.kind()),
            Progress::Asks(_) => None,
        };
        self.metrics.decision(taken.operation, verdict);
        if let Progress::Decided(decision) = taken.progress {
            self.metrics.observed(taken.operation, decision);
        }
    }

    /// The body of a step as the log may show it, if content is to be in it at all: secrets are masked.
    pub(crate) fn content_of(&self, step: &impl TaskStep, task: &Task) -> Option<Value> {
        self.with_content.then(|| {
            let body = step.body();
            if task.policy().secrets().is_empty() { body } else { step.masked(task, body) }
        })
    }

    fn content(taken: &Recorded<'_>) -> Option<Value> {
        let request = taken.shown.as_ref()?;
        let mut answer: Value = serde_json::from_slice(&taken.answer.body).unwrap_or_default();
        let (key, shown) = match taken.progress {
            Progress::Decided(decision) => ("decided", serde_json::to_value(decision.clone().masked())),
            Progress::Asks(question) => {
                let asked = &question.request;
                ("asks", serde_json::to_value(taken.task.policy().masked_request(asked)))
            }
        };
        if let Some(members) = answer.as_object_mut() {
            members.insert(key.to_owned(), shown.unwrap_or_default());
        }
        Some(serde_json::json!({ "request": request, "answer": answer }))
    }
}

/// What the log says of a turn.
fn of_turn<'t>(turn: &'t SwitchTurn, subject: &'t str, now: Timestamp) -> Notice<'t> {
    let SwitchTurn { number, who, on, reason, .. } = turn;
    Notice {
        who: Some(who),
        owner: Some(""),
        version: Some(*number),
        subject: Some(subject),
        reason: Some(reason),
        ..Notice::new(now, if *on { "switch_on" } else { "switch_off" })
    }
}

fn entry<'e>(
    taken: &'e Recorded<'_>,
    stored: Option<Stored<'e>>,
    content: Option<&'e Value>,
) -> LogEntry<'e> {
    let policy = taken.task.policy();
    let entry = LogEntry {
        at: taken.at,
        who: taken.request.caller.identity.as_deref(),
        task: taken.task.id(),
        stored,
        namespace: &policy.agent().namespace.text,
        agent: &policy.agent().name.text,
        policy: policy.fingerprint(),
        operation: taken.operation,
        function: taken.function,
        verdict: "asks",
        step: None,
        policy_step: None,
        limit: None,
        ended: None,
        switch: None,
        reason: taken.reason,
        decided: &[],
        observed: &[],
        exceptions: &[],
        enforced: None,
        terms: None,
        cost: 0,
        took: taken.took,
        content,
    };
    match taken.progress {
        Progress::Decided(decision) => entry.of(decision),
        Progress::Asks(_) => entry,
    }
}
