//! A whole turn of the model in one operation, and the results of several calls in one.
//!
//! In: what the model used and all that it asked for, or what came back. Out: what each alone would have come to, in their order.
//! What is wrong with one of them is told before anything happens: an operation is taken whole or not at all.

use crate::cel::Timestamp;
use crate::task::state::{
    Call, CallId, CallResult, DecidedCall, DecidedKind, Decision, Extent, Named, Refused, Task, TaskError,
    Turn, Verdict,
};

/// What a turn of the model came to.
///
/// ```
/// use celador::{Call, Engine, EngineLimits, StartTask, Turn, Turned, Usage, User, VerdictKind};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: None, ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
///
/// // the model answers with three calls, each under an id that it made up
/// let pay = |id: &str, amount: i64| Call::new("payout", serde_json::json!({"amount": amount}).into()).with_id(id);
/// let usage = Usage { prompt_tokens: 640, completion_tokens: 35, ..Usage::default() };
/// let turn = Turn { usage, calls: vec![pay("call_1", 40), pay("call_2", 250), pay("call_3", 2_000)] };
///
/// let Turned { limits, calls } = task.turn(&turn, now)?;
/// assert!(limits.is_allowed());
/// let verdicts: Vec<VerdictKind> = calls.iter().map(|decided| decided.decision.verdict.kind()).collect();
/// // the second waits for the lead, and 2000 is too much for anybody
/// assert_eq!(verdicts, [VerdictKind::Allow, VerdictKind::Suspend, VerdictKind::Block]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// Whether the turn is within the limits, as [`Task::model_turn`] says it. Without that no call is looked at.
    pub limits: Decision,
    /// How far each call came, in the order of the turn.
    pub calls: Vec<DecidedCall>,
}

/// What the results of several calls came to.
///
/// ```
/// use celador::{Call, CallResult, Engine, EngineLimits, Reported, StartTask, Turn, Usage, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
/// # let user = User { id: "u-7".into(), email: None, ..User::default() };
/// # let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// # let pay = |id: &str| Call::new("payout", serde_json::json!({"amount": 40}).into()).with_id(id);
/// # task.turn(&Turn { usage: Usage::default(), calls: vec![pay("call_1"), pay("call_2")] }, now)?;
///
/// // both have run side by side
/// let paid = CallResult::successful(serde_json::json!({"paid": true}).into());
/// let results = vec![("call_2".into(), paid.clone()), ("call_1".into(), paid)];
/// let Reported { calls, decided } = task.results(results, now)?;
/// // what the model receives of each, and the calls that have waited for these
/// assert_eq!((calls.len(), decided.len()), (2, 0));
/// assert!(calls.iter().all(|decided| decided.decision.is_allowed()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// What each result came to, in the order in which they were given, as [`Task::after`] says it.
    pub calls: Vec<DecidedCall>,
    /// The calls, inputs and events that waited and were decided because of them.
    pub decided: Vec<DecidedCall>,
}

impl Turned {
    /// One decision, for logs and stores: that of the limits, whose `decided` has the calls of the turn and then those that waited.
    #[must_use]
    pub fn into_decision(self) -> Decision {
        let Self { mut limits, mut calls } = self;
        calls.append(&mut limits.decided);
        Decision { decided: calls, ..limits }
    }
}

impl Reported {
    /// One decision, for logs and stores: allow, whose `decided` has the calls that were reported and then those that waited.
    #[must_use]
    pub fn into_decision(self) -> Decision {
        let Self { mut calls, mut decided } = self;
        calls.append(&mut decided);
        Decision { decided: calls, ..Decision::new(Verdict::allow(None)) }
    }
}

impl Task {
    pub(in crate::task) fn begin_turn(&mut self, turn: &Turn, now: Timestamp) -> Result<Turned, TaskError> {
        let mut known: usize = 0;
        for (at, call) in turn.calls.iter().enumerate() {
            let is_same = |other: &Call| call.id.is_some() && other.id == call.id;
            if let Some(id) = call.id.as_ref().filter(|_| turn.calls.iter().take(at).any(is_same)) {
                return Err(TaskError::CallExists(id.clone()));
            }
            known = known.saturating_add(usize::from(self.made_before(call, Extent::Before)?.is_some()));
        }
        // a turn that comes again, call by call, was counted when it came first
        let comes_again = known > 0 && known == turn.calls.len();
        let limits = if comes_again {
            Decision::new(Verdict::allow(None))
        } else {
            self.begin_model_turn(turn.usage, now)
        };
        let mut calls = Vec::with_capacity(turn.calls.len());
        for call in &turn.calls {
            let decision = if limits.is_allowed() {
                let progress = match self.made_before(call, Extent::Before)? {
                    Some(progress) => progress,
                    None => self.begin(call, Extent::Before, now),
                };
                self.told(progress)
            } else {
                let message = limits.verdict.message().unwrap_or_default().to_owned();
                let reason = limits.verdict.reason().map(str::to_owned);
                Decision::new(Verdict::rejected(Refused { reason, ..Refused::new(message) }))
            };
            let named = decision.call.clone().or_else(|| call.id.clone());
            let id = named.unwrap_or_else(|| {
                let id = self.made_up_id(DecidedKind::Call);
                self.close_unless_open(Some(&id), &decision);
                id
            });
            calls.push(
                Named { id, kind: DecidedKind::Call, function: call.function.clone() }.decided(decision),
            );
        }
        Ok(Turned { limits: self.decision_with_decided(limits, now), calls })
    }

    pub(in crate::task) fn begin_results(
        &mut self,
        results: Vec<(CallId, CallResult)>,
        now: Timestamp,
    ) -> Result<Reported, TaskError> {
        for (at, (call, result)) in results.iter().enumerate() {
            if results.iter().take(at).any(|(other, _)| other == call) {
                return Err(TaskError::OtherResult(call.clone()));
            }
            if let Err(unknown) = self.open_position(call)
                && !self.is_unruled(call)
            {
                self.reported_again(call, result).ok_or(unknown)??;
            }
        }
        let mut calls = Vec::with_capacity(results.len());
        for (call, result) in results {
            let function = self.function_of(&call).unwrap_or_default().to_owned();
            let progress = match self.reported_again(&call, &result) {
                Some(again) => again?,
                None => self.begin_after(&call, result, now)?,
            };
            let decision = self.told(progress);
            calls.push(Named { id: call, kind: DecidedKind::Call, function }.decided(decision));
        }
        let decided = self.decision_with_decided(Decision::new(Verdict::allow(None)), now).decided;
        Ok(Reported { calls, decided })
    }
}
