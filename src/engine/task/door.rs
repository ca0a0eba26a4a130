//! The door of a task: where it begins, and each operation that a host may begin or go on with.
//!
//! In: what is about to happen, or has happened, and when. Out: an [`BegunOperation`], or where nothing can be asked, the
//! [`Decision`]. What an operation does stands in the file that is named after what it is about.

use super::begun_operation::BegunOperation;
use super::calls::allowed;
use super::calls::turn::{Reported, Turned};
use super::delivery::Delivery;
use super::model_outcome::{AllowedModelCall, ReceivedAnswer};
use super::outcome::{AcceptedInput, AllowedCall, DeliveredOutput, Received, RoutedEvent};
use super::state::{
    Activity, Answer, Call, CallId, CallResult, Decision, Deliveries, Extent, Holdings, KnownCalls,
    ModelCall, ModelCalls, Next, Parent, Progress, QuestionId, Queue, Ran, StartTask, Stretches, Switches,
    Task, TaskError, TerminationReason, Turn, Usage,
};
use crate::cel::{Cache, Issue, Json, Timestamp};
use crate::context::{TaskContext, TaskFacts};
use crate::policy::Policy;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Task {
    /// A task that starts under a policy; expressions that are tried out share a cache.
    #[must_use]
    pub fn new(policy: Arc<Policy>, cache: Arc<Cache>, start: StartTask) -> Self {
        let agent = policy.agent();
        let wish = agent.model.as_ref().map(|model| model.text.clone());
        let facts = TaskFacts {
            agent: agent.name.text.clone(),
            namespace: agent.namespace.text.clone(),
            started_at: start.started_at,
            user_id: start.user.id.into(),
            user_email: start.user.email.map(Into::into),
            user_claims: start.user.claims,
            address: start.address.map(|address| address.to_canonical().to_string().into()),
            model: start.model.map(Into::into).or(wish).unwrap_or_default(),
            depth: start.parent.as_ref().map_or(0, Parent::depth_below),
        };
        let context = TaskContext::new(policy.schema().clone(), facts);
        let mount = policy.mount(start.mount_id.as_deref().unwrap_or(&start.id));
        let mut task = Self {
            allowed: allowed::lists(&policy),
            id: start.id,
            policy,
            cache,
            context,
            runtime: start.runtime,
            mount,
            parent: start.parent,
            above: None,
            metadata: start.metadata,
            retain: start.retain,
            end: None,
            waiting: Vec::new(),
            next_question: 0,
            reviews: Vec::new(),
            queue: Queue::default(),
            open: Vec::new(),
            open_bytes: 0,
            script_bytes: 0,
            mount_id: start.mount_id,
            begun_with: start.begun_with,
            next_call: 1,
            model: ModelCalls::default(),
            known: KnownCalls::default(),
            activity: Activity::starting(start.started_at),
            stretches: Stretches::default(),
            delivered: Deliveries::default(),
            switches: Switches::default(),
            functions: Arc::default(),
            holdings: Holdings::default(),
            tools: start.tools.into(),
            left_out: Arc::default(),
            tool_findings: Arc::default(),
            journal: None,
        };
        task.seal(start.started_at);
        task
    }

    /// Takes an input: `{message, …parameters}`, or a text alone. Its parameters are resolved (CTX-15), then
    /// `guardrails.before` tests it. Allow carries the admitted entry.
    ///
    /// While a review is open, or a call that its guardrails read, it waits: the verdict is wait, with a name for [`Task::standing`] and
    /// [`Task::withdraw`]. It is judged by itself once that is over, in the order in which it came, and the operation that sets it
    /// free tells of its decision ([`Decision::decided`]).
    pub fn input(&mut self, input: &Json, now: impl Into<Timestamp>) -> BegunOperation<'_, AcceptedInput> {
        let now = now.into();
        let progress = self.begin_input(input, now);
        self.begun(progress, now)
    }

    /// Whether a step may be taken: allow, or terminate with the limit that it would exceed. Takes no step by itself;
    /// [`Task::before`], [`Task::invoke`] and [`Task::input`] ask for themselves.
    #[must_use]
    pub fn limits(&mut self, next: Next, now: impl Into<Timestamp>) -> Decision {
        let now = now.into();
        let decision = self.begin_limits(next, now);
        self.decision_with_decided(decision, now)
    }

    /// Whether a call of the model may be made, and what is sent then: the limits, then `model.before` of policies. Allow carries the
    /// request, with all keys that may be left out, and the id under which [`Task::model_after`] takes the answer: the host's
    /// ([`ModelCall::id`]), or one that the task makes up. A call that will not be answered is withdrawn ([`Task::withdraw`]).
    ///
    /// While an operation waits for an answer no call of the model begins, nor while calls are open that may change what the steps read:
    /// the verdict is rejected then, with the calls in [`Verdict::waits_for`](crate::task::Verdict::waits_for), and the host asks again. A request that is not of the
    /// shape that steps see is an invalid input.
    ///
    /// A call that is announced once more, under the same id with the same request, does nothing: the answer is how far it has come.
    ///
    /// # Errors
    /// [`TaskError::BadCallId`] for an id that no call may have, and [`TaskError::CallExists`] for that of another call. Nothing has
    /// happened then.
    ///
    /// # Cost
    /// Linear in the request, beside that of the steps.
    pub fn model_before(
        &mut self,
        call: &ModelCall,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, AllowedModelCall>, TaskError> {
        let now = now.into();
        let progress = self.begin_model_before(call, now)?;
        Ok(self.begun(progress, now))
    }

    /// Takes the answer of the model to a call that was let through, and runs `model.after` of policies. Allow carries the answer as they
    /// left it. The answer is a turn of the model: it is counted with its tokens as [`Task::model_turn`] does, whatever becomes of it.
    /// The next turn that the host reports, before another call of the model begins, is the same one and not counted again; if the
    /// answer has not told its `usage`, the tokens of that turn count.
    ///
    /// An answer that is not of the shape that steps see is an invalid input, and the call stays open. One that is reported once more
    /// does nothing: the last one is answered as it was, an earlier one as far as that is kept.
    ///
    /// # Errors
    /// [`TaskError::UnknownCall`] for an id that awaits no answer, and [`TaskError::OtherResult`] for another answer of a call that was
    /// reported.
    ///
    /// # Cost
    /// Linear in the answer, beside that of the steps.
    pub fn model_after(
        &mut self,
        call: &CallId,
        answer: &Json,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, ReceivedAnswer>, TaskError> {
        let now = now.into();
        let progress = self.begin_model_after(call, answer, now)?;
        Ok(self.begun(progress, now))
    }

    /// Records a turn of the model and what it used, then tests the token limits: nothing that the model asked for may
    /// run once they are exceeded (LIM-06). A turn whose answer was counted by [`Task::model_after`] is not counted again.
    pub fn model_turn(&mut self, usage: Usage, now: impl Into<Timestamp>) -> Decision {
        let now = now.into();
        let decision = self.begin_model_turn(usage, now);
        self.decision_with_decided(decision, now)
    }

    /// Records a turn of the model and decides all of its calls, in their order: as [`Task::model_turn`] and, where that allows it,
    /// [`Task::before`] for each. The calls of the turn before are told of no more.
    ///
    /// A turn whose calls are all known by their ids comes again: it is not counted once more, and the answer is how far they
    /// have come.
    ///
    /// # Errors
    /// [`TaskError::BadCallId`] and [`TaskError::CallExists`], as [`Task::before`], for any of the calls. Nothing has happened then.
    pub fn turn(&mut self, turn: &Turn, now: impl Into<Timestamp>) -> Result<Turned, TaskError> {
        self.begin_turn(turn, now.into())
    }

    /// Whether a call that the model wants to make may run: limits, parameters, `before_first`, `before`. Allow carries
    /// the resolved arguments and the id under which [`Task::after`] takes the result, or [`Task::execute`] gets it: the
    /// caller's ([`Call::id`]), or one that the task makes up.
    ///
    /// A call that is made once more, under the same id with the same function and arguments, does nothing: the answer is how far it
    /// has come ([`Task::standing`]), and rejected once its result was reported.
    ///
    /// # Errors
    /// [`TaskError::BadCallId`] for an id that no call may have, and [`TaskError::CallExists`] for that of another call. Nothing has
    /// happened then.
    pub fn before(
        &mut self,
        call: &Call,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, AllowedCall>, TaskError> {
        let now = now.into();
        if let Some(progress) = self.made_before(call, Extent::Before)? {
            return Ok(BegunOperation::new(self, progress));
        }
        let progress = self.begin(call, Extent::Before, now);
        Ok(self.begun(progress, now))
    }

    /// Takes the result of a call that was let through, records it, and runs `after`. Allow carries what the model
    /// receives. A successful result that breaks what its tool declares (`output`) is recorded as a failed one instead, with
    /// an error in its place and the finding `output_misfit`, and so it is to every step. Of a task that is locked or terminated by now the result is recorded as restricted all the same, for the
    /// call has run; rejected then says that nothing of it may reach the model (MW-45).
    ///
    /// A result that is reported once more does nothing: the answer is what the first one came to, or rejected where that is not
    /// kept. A value is kept if it is the one on record.
    ///
    /// # Errors
    /// [`TaskError::UnknownCall`] for an id that awaits no result, and [`TaskError::OtherResult`] for another result of a call that
    /// was reported.
    pub fn after(
        &mut self,
        call: &CallId,
        result: CallResult,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Received>, TaskError> {
        let now = now.into();
        if let Some(again) = self.reported_again(call, &result) {
            return Ok(BegunOperation::new(self, again?));
        }
        let progress = self.begin_after(call, result, now)?;
        Ok(self.begun(progress, now))
    }

    /// Takes the results of several calls, in the order in which they are given: as [`Task::after`] for each.
    ///
    /// # Errors
    /// [`TaskError::UnknownCall`] and [`TaskError::OtherResult`], as [`Task::after`], for any of them. Nothing has happened then.
    pub fn results(
        &mut self,
        results: Vec<(CallId, CallResult)>,
        now: impl Into<Timestamp>,
    ) -> Result<Reported, TaskError> {
        self.begin_results(results, now.into())
    }

    /// Takes back a call that was let through and will never be reported. Block carries the message for the model. A call that
    /// has not run is on record as restricted; one of which nobody knows as an error that ran. An ended task takes it, too.
    ///
    /// # Errors
    /// [`TaskError::UnknownCall`] for an id that awaits no result.
    pub fn withdraw(
        &mut self,
        call: &CallId,
        ran: Ran,
        now: impl Into<Timestamp>,
    ) -> Result<Decision, TaskError> {
        let now = now.into();
        let decision = self.begin_withdraw(call, ran, now)?;
        Ok(self.decision_with_decided(decision, now))
    }

    /// Claims a call that was let through, for one of several processes over a store: exactly one claimant gets allow, with the arguments to run
    /// the call with, and only that one runs it. `claimant` is a random text, made anew for each attempt to run a call. The same claimant may claim
    /// again, as after a lost answer, and its claim then counts from `now`.
    ///
    /// A call that waits, asks, or is over has the decision that [`Task::standing`] tells; rejected says that the task is at its end, an operator has
    /// stopped the call, or its result was reported. A claimant that has not reported the call within `max_claim_ms` has lost it: the next other
    /// claim takes the call back as [`Task::withdraw`] does with [`Ran::Unknown`], and is told block. The call is never handed on, as it may have run.
    ///
    /// # Errors
    /// [`TaskError::CallClaimed`] for a call that another claimant has, [`TaskError::UnknownCall`] for an id that awaits no result, and
    /// [`TaskError::BadClaimant`].
    ///
    /// ```
    /// use celador::{Call, Engine, EngineLimits, StartTask, TaskError, User};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    /// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    /// # let now = std::time::SystemTime::UNIX_EPOCH;
    /// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
    /// let call = Call::new("payout", serde_json::json!({"amount": 40}).into()).with_id("c1");
    /// assert!(task.before(&call, now)?.outcome().is_allowed());
    ///
    /// // two processes have the call before them; one of them runs it
    /// assert!(task.claim(&"c1".into(), "b7f1", now)?.is_allowed());
    /// assert_eq!(task.claim(&"c1".into(), "09ac", now), Err(TaskError::CallClaimed("c1".into())));
    ///
    /// // it has run nothing, and lets another one run it
    /// task.release(&"c1".into(), "b7f1")?;
    /// assert!(task.claim(&"c1".into(), "09ac", now)?.is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(
        &mut self,
        call: &CallId,
        claimant: &str,
        now: impl Into<Timestamp>,
    ) -> Result<Decision, TaskError> {
        let now = now.into();
        let decision = self.begin_claim(call, claimant, now)?;
        Ok(self.decision_with_decided(decision, now))
    }

    /// Gives a claim back, of a call that was not run and that its claimant will not run: another process may claim it. What comes back is how far
    /// the call has come. A call that may have run is taken back with [`Task::withdraw`] instead.
    ///
    /// # Errors
    /// [`TaskError::CallClaimed`] for a call that another claimant has, and [`TaskError::UnknownCall`] for an id that awaits no result.
    pub fn release(&mut self, call: &CallId, claimant: &str) -> Result<Decision, TaskError> {
        self.begin_release(call, claimant)
    }

    /// Takes back an operation that waits, by the question that it asks: its answer will never come. The call, input or response
    /// becomes what a step that stopped it would make of it; a call in the hands of the host, of which nobody knows whether it has
    /// run, is on record as an error that ran.
    ///
    /// # Errors
    /// [`TaskError::UnknownQuestion`] for a question that is not open.
    pub fn take_back(
        &mut self,
        question: QuestionId,
        ran: Ran,
        now: impl Into<Timestamp>,
    ) -> Result<Decision, TaskError> {
        let now = now.into();
        let decision = self.begin_take_back(question, ran, now)?;
        Ok(self.decision_with_decided(decision, now))
    }

    /// Has a call carried out that was let through: an action with a `cel` backend by its own expression, anything else by
    /// asking for it; then goes on as [`Task::after`]. A call that another policy let through passes the steps ahead of it
    /// once more, under this one: what it would refuse is not carried out. With [`Task::before`] it is [`Task::invoke`] in two steps.
    ///
    /// # Errors
    /// [`TaskError::UnknownCall`] for an id that awaits no result.
    pub fn execute(
        &mut self,
        call: &CallId,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Received>, TaskError> {
        let now = now.into();
        let progress = self.begin_execute(call, now)?;
        Ok(self.begun(progress, now))
    }

    /// A whole call: what [`Task::before`] does, the execution, and what [`Task::after`] does.
    ///
    /// # Errors
    /// As [`Task::before`].
    pub fn invoke(
        &mut self,
        call: &Call,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Received>, TaskError> {
        let now = now.into();
        if let Some(progress) = self.made_before(call, Extent::Whole)? {
            return Ok(BegunOperation::new(self, progress));
        }
        let progress = self.begin(call, Extent::Whole, now);
        Ok(self.begun(progress, now))
    }

    /// Runs a script that the model wrote. Allow carries its result, with the summary of a file in the place of each
    /// reference to it (SCR-07); error says that the script failed by itself. A call that is not let through ends it with
    /// that call's decision.
    ///
    /// # Errors
    /// What the script names that it must not, or why it cannot be read; nothing has happened then.
    ///
    /// # Cost
    /// That of its calls, and for each of them one evaluation within the bounds of
    /// [`EngineLimits::of_scripts`](crate::limits::EngineLimits::of_scripts).
    pub fn script(
        &mut self,
        source: &str,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Received>, Vec<Issue>> {
        let now = now.into();
        let progress = self.begin_script(source, now)?;
        Ok(self.begun(progress, now))
    }

    /// Takes an event of a tool. Route carries the entry that it became, and the task has one input more (EVT-16); all else
    /// leaves its context as it was. It may have to wait, as an input does; whether its sender may send it, and whether it came before, is
    /// found when it comes. `settings` are those of the namespace, for the secrets of webhooks (WH-07); they enter nothing of the task.
    ///
    /// # Cost
    /// Linear in what came and in the allow list; more only if the filter does other things with `parameters` than
    /// comparing them, up to twice `max_cost`.
    pub fn event(
        &mut self,
        delivery: &Delivery,
        settings: &BTreeMap<String, Json>,
        now: impl Into<Timestamp>,
    ) -> BegunOperation<'_, RoutedEvent> {
        let now = now.into();
        let Delivery { capability, event, content } = delivery;
        let progress = self.begin_event_of((capability, event), content, settings, now);
        self.begun(progress, now)
    }

    /// Takes the model's response: `{message}`, or a text alone. `exposes` is computed, then `guardrails.after` tests the
    /// whole (GR-17). Allow carries the entry that is delivered.
    pub fn output(
        &mut self,
        output: &Json,
        now: impl Into<Timestamp>,
    ) -> BegunOperation<'_, DeliveredOutput> {
        let now = now.into();
        let progress = self.begin_output(output, now);
        self.begun(progress, now)
    }

    /// Marks the task as interrupted: its event subscriptions end until its next step (SUB-11).
    pub fn interrupt(&mut self, now: impl Into<Timestamp>) -> Decision {
        self.begin_interrupt(now.into())
    }

    /// Ends the task: it takes no step any more, and its state says why. An operation that waits is taken back, as when a
    /// review takes longer than the task may live. A task at its end already stays as it is, and says rejected with the
    /// reason that it has.
    ///
    /// The message is the host's, such as the words of the person who ended it. It is told to whoever tries a step later, with
    /// the reason [`TerminationReason::EndedByHost`].
    pub fn end(&mut self, message: &str, now: impl Into<Timestamp>) -> Decision {
        self.end_because(TerminationReason::EndedByHost, message, now.into())
    }

    /// Ends the task as [`Task::end`] does, because the task that had delegated to it was locked or terminated: nobody waits for
    /// its response any more. The reason is [`TerminationReason::EndedWithParent`].
    pub fn end_with_parent(&mut self, message: &str, now: impl Into<Timestamp>) -> Decision {
        self.end_because(TerminationReason::EndedWithParent, message, now.into())
    }

    fn end_because(&mut self, reason: TerminationReason, message: &str, now: Timestamp) -> Decision {
        let decision = self.begin_end(reason, message, now);
        self.decision_with_decided(decision, now)
    }

    /// Unlocks the task: it takes steps again. A lock is for good (MW-31), so this is for an operator who has looked into it, and
    /// for a host that has been told to allow it. The lock has closed the reviews that were open and refused the calls that waited; they
    /// stay refused, as do results that were withheld. The decision has the reason, for events and logs.
    ///
    /// # Errors
    /// [`TaskError::NotLocked`], and [`TaskError::HasEnded`] for a task that was terminated; nothing has happened then.
    pub fn unlock(&mut self, reason: &str) -> Result<Decision, TaskError> {
        self.begin_unlock(reason)
    }

    /// Goes on with the operation that waits, in this process or, after [`Task::save`], in another.
    ///
    /// # Errors
    /// [`TaskError::NothingPending`], [`TaskError::SeveralPending`] if more than one operation waits ([`Task::answer`] names the
    /// question), and [`TaskError::WrongAnswer`] for an answer of another kind than the request's; all operations then still wait.
    pub fn resume(
        &mut self,
        answer: Answer,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Decision>, TaskError> {
        let question = match &*self.waiting {
            // a call that was in the hands of the host when the task was locked or ended
            [] => match &*self.open.iter().filter_map(|open| open.asked).collect::<Vec<_>>() {
                [asked] => *asked,
                [] => return Err(TaskError::NothingPending),
                _ => return Err(TaskError::SeveralPending),
            },
            [pending] => pending.id,
            _ => return Err(TaskError::SeveralPending),
        };
        self.answer(question, answer, now)
    }

    /// Goes on with the operation that asks this question.
    ///
    /// # Errors
    /// [`TaskError::UnknownQuestion`] for a question that is not open, such as one that was answered, and
    /// [`TaskError::WrongAnswer`] for an answer of another kind than the request's; the operation then still waits.
    pub fn answer(
        &mut self,
        question: QuestionId,
        answer: Answer,
        now: impl Into<Timestamp>,
    ) -> Result<BegunOperation<'_, Decision>, TaskError> {
        let progress = self.go_on_with(question, answer, now.into())?;
        Ok(BegunOperation::new(self, progress))
    }

    /// The operation that has waited longest, such as one of a task that was restored; nothing if no operation waits.
    #[must_use]
    pub fn pending(&mut self) -> Option<BegunOperation<'_, Decision>> {
        let question = self.questions().next()?;
        Some(BegunOperation::new(self, Progress::Asks(question)))
    }

    /// The operation that asks this question; nothing if it is not open.
    #[must_use]
    pub fn pending_at(&mut self, question: QuestionId) -> Option<BegunOperation<'_, Decision>> {
        let question = self.questions().find(|open| open.id == question)?;
        Some(BegunOperation::new(self, Progress::Asks(question)))
    }
}
