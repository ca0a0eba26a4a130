//! An operation under way, as plain data: what it is about, how far it came, and what was asked and answered.
//!
//! Everything that the rest of the operation depends on is here or in the task context, nothing on a stack: so an
//! operation can wait for days, be stored, and go on in another process.

use super::counter_use::CounterUse;
use super::counting::CallCounters;
use super::decision::{CallId, DecidedKind, Decision};
use super::effect::{Question, QuestionId, Request};
use super::enforced::Enforced;
use super::exchange::Exchange;
use super::hidden::Said;
use super::model::ModelUnderWay;
use super::observed::ObservedStep;
use super::review::Reviewed;
use super::terms::Terms;
use super::trace::{Finding, StepKind, StepName, StepOutcome, TraceEntry};
use super::verdict::{EventStage, Verdict};
use crate::cel::{Json, Remembered, Timestamp};
use crate::context::{InvocationId, LabelSet, full_time};
use crate::manifest::step::Hook;
use crate::policy::{
    Effect, Fingerprint, LabelStep, Origin, Policy, ReviewPanel, Step, StepAction, StepList,
};
use serde::{Deserialize, Deserializer, Serialize};

/// An operation under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct UnderWay {
    pub(in crate::task) subject: Subject,
    /// The name of an input, an event or a response that somebody waits for; a call has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<CallId>,
    #[serde(flatten)]
    pub(in crate::task) course: Course,
}

/// How far an operation came.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Course {
    pub(in crate::task) stage: Stage,
    /// The step of the stage's list that is next.
    pub(in crate::task) step: usize,
    /// Whether the condition of that step has held; it is not asked again after an answer, so that time cannot take a
    /// step away while somebody reviews it.
    pub(in crate::task) entered: bool,
    /// The arguments of the invoke step under way, once they are formed.
    pub(in crate::task) formed: Option<Json>,
    /// Questions of the expression or call under way, with their answers.
    pub(in crate::task) exchanges: Vec<Exchange>,
    pub(in crate::task) trace: Vec<TraceEntry>,
    /// What observed steps would have done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) observed: Vec<ObservedStep>,
    /// The first thing that would have stopped it, under a policy that observes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) enforced: Option<Box<Enforced>>,
    pub(in crate::task) findings: Vec<Finding>,
    /// What its steps cost so far.
    #[serde(default)]
    pub(in crate::task) cost: u64,
    /// The counters that it has read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) counters: Vec<CounterUse>,
    /// The calls that it has put on record, whose values its own steps see whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) recorded: Vec<InvocationId>,
    /// The arguments that the call would have if observed steps decided, where these would be others: only observed steps see them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) tried: Option<Json>,
    /// What the host has to do for the call, as far as its steps have said by now.
    #[serde(default, skip_serializing_if = "Terms::is_empty")]
    pub(in crate::task) terms: Terms,
    /// How far steps have rewritten the arguments.
    #[serde(default, skip_serializing_if = "Rewriting::is_due")]
    pub(in crate::task) rewriting: Rewriting,
    /// Who has approved of the call with these arguments: one approval covers all steps ahead of it that ask the same reviewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) approved: Vec<String>,
    /// Who has changed the arguments, and so approves of them, for which reviews of several people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) editors: Vec<(String, Reviewed)>,
    /// The invoke steps that have run: steps that are passed again, with other arguments, do not repeat them (RV-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) invoked: Vec<(Stage, usize)>,
    /// What variables of policies came to, from one step that only judges to the next. It is not stored, and an operation that waited begins
    /// without: so no decision depends on where it waited.
    #[serde(skip)]
    pub(in crate::task) remembered: Remembered<'static>,
}

/// How far steps have rewritten the arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Rewriting {
    /// The steps that do are passed as they come.
    #[default]
    Due,
    /// They have changed arguments of which somebody had approved: all steps are to be passed again.
    Lapsed,
    /// They are passed, and are left out when the others are passed again.
    Done,
}

impl Rewriting {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
    fn is_due(&self) -> bool {
        *self == Self::Due
    }
}

/// What an operation is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) enum Subject {
    /// A call by the model.
    Call(CallUnderWay),
    /// An event of a tool, on its way to become an input.
    Event(EventUnderWay),
    /// The last entry of `context.input`, not yet admitted.
    Input(Sender),
    /// The last entry of `context.output`, not yet delivered.
    Output,
    /// A call of the model, before it is made or when its answer has come.
    Model(ModelUnderWay),
    /// A script of the model; its exchanges are its finished calls.
    Script(ScriptUnderWay),
}

/// A script of the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct ScriptUnderWay {
    /// As the model wrote it.
    pub(in crate::task) source: String,
    /// The call under way, as the script puts it.
    pub(in crate::task) call: Option<Request>,
}

/// A call by the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct CallUnderWay {
    /// Its name, once somebody waits for it.
    #[serde(default)]
    pub(in crate::task) id: Option<CallId>,
    /// The position of the function in the policy.
    pub(in crate::task) function: usize,
    /// The resolved arguments.
    pub(in crate::task) arguments: Json,
    /// Whether a binding could not be evaluated: reported after the steps had their say (BND-08).
    pub(in crate::task) unbound: bool,
    /// How far the operation goes.
    pub(in crate::task) extent: Extent,
    /// What the model would receive, as the transforms so far left it.
    pub(in crate::task) output: Option<Json>,
    /// What the output is made of.
    #[serde(default, skip_serializing_if = "Made::is_by_function")]
    pub(in crate::task) made: Made,
    /// The entry on record, once it has run.
    pub(in crate::task) record: Option<InvocationId>,
    /// Whether a person or a policy gave its result in the tool's place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::task) responded: bool,
    /// What it knows of the counters that it needs.
    #[serde(default, skip_serializing_if = "CallCounters::is_unread")]
    pub(in crate::task) counters: CallCounters,
    /// The step of a policy that gave it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) answered_by: Option<Box<Origin>>,
    /// The message that it was let through for, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) message: Option<u32>,
}

impl CallUnderWay {
    /// A call at its beginning.
    pub(in crate::task) fn new(id: Option<CallId>, function: usize, arguments: Json, extent: Extent) -> Self {
        Self {
            id,
            function,
            arguments,
            unbound: false,
            extent,
            output: None,
            made: Made::default(),
            record: None,
            responded: false,
            counters: CallCounters::default(),
            answered_by: None,
            message: None,
        }
    }
}

/// What the output of a call is made of, as far as secrets are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Made {
    /// It is what the function gave.
    #[default]
    ByFunction,
    /// A transform made it, of a secret among other things.
    OfSecrets,
    /// A transform made it, of no secret.
    OfOthers,
}

impl Made {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
    fn is_by_function(&self) -> bool {
        *self == Self::ByFunction
    }
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Sender {
    /// Whoever talks to the task.
    Caller,
    /// An event, formatted.
    Event,
}

/// An event of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct EventUnderWay {
    /// The position of the event in the policy.
    pub(in crate::task) event: usize,
    /// What `event` is to expressions.
    pub(in crate::task) data: Json,
    /// The entry that it would become, as the transforms so far left it: an object with `message`.
    pub(in crate::task) entry: Json,
    /// What `input` is to its steps: `{message: text}` (EVT-12).
    pub(in crate::task) input: Json,
}

/// How far an operation on a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Extent {
    /// To the decision whether it may run: the host runs it.
    Before,
    /// To what the model receives.
    Whole,
}

/// The parts of operations, each in the order in which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Stage {
    BeforeFirst,
    Before,
    Execute,
    After,
    GuardrailBefore,
    GuardrailAfter,
    ModelBefore,
    ModelAfter,
}

/// An operation that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Pending {
    /// Names what it asks; earlier releases knew of one question at a time.
    #[serde(default)]
    pub(in crate::task) id: QuestionId,
    pub(in crate::task) operation: UnderWay,
    pub(in crate::task) request: Request,
    /// The script whose call the operation is.
    #[serde(default)]
    pub(in crate::task) script: Option<Box<UnderWay>>,
    /// What a person is told beside that; nothing where another host is asked, or an earlier release asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) asked: Option<Asked>,
}

/// What is known of a review from the moment when it was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Asked {
    #[serde(with = "full_time")]
    pub(in crate::task) at: Timestamp,
    /// When nobody's answer counts as a denial.
    #[serde(with = "full_time::optional")]
    pub(in crate::task) expires: Option<Timestamp>,
    /// What the step says, as views show it.
    pub(in crate::task) text: Option<String>,
    /// Who has approved so far, where several people are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) approvals: Vec<Reviewed>,
}

/// The operations that wait, as they are stored: earlier releases knew of one or nothing.
pub(in crate::task) fn stored_waiting<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Pending>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Several(Vec<Pending>),
        One(Box<Pending>),
        Nothing,
    }
    Ok(match Stored::deserialize(deserializer)? {
        Stored::Several(waiting) => waiting,
        Stored::One(pending) => vec![*pending],
        Stored::Nothing => Vec::new(),
    })
}

impl Pending {
    /// What it asks.
    pub(in crate::task) fn question(&self) -> Question {
        Question { id: self.id, request: self.request.clone() }
    }

    /// Whether somebody is asked for a review.
    pub(in crate::task) fn is_in_review(&self) -> bool {
        self.reviewer().is_some()
    }

    /// Its question, if it is a review of which is known when it was asked: releases of before kept no more than the question.
    pub(in crate::task) fn dated_review(&self) -> Option<QuestionId> {
        self.asked.as_ref().and(self.reviewer()).and(Some(self.id))
    }

    /// Who is asked for a review, if somebody is.
    pub(in crate::task) fn reviewer(&self) -> Option<&str> {
        match &self.request {
            Request::Review { reviewer, .. } => Some(reviewer),
            _ => None,
        }
    }

    /// The people, if several are asked for a review.
    pub(in crate::task) fn panel(&self) -> Option<&ReviewPanel> {
        match &self.request {
            Request::Review { panel, .. } => panel.as_ref(),
            _ => None,
        }
    }

    /// Who has approved so far, if several people are asked.
    pub(in crate::task) fn approvals(&self) -> &[Reviewed] {
        self.asked.as_ref().map_or(&[], |asked| &asked.approvals)
    }

    /// Whether nobody has answered in time.
    pub(in crate::task) fn has_expired(&self, now: Timestamp) -> bool {
        self.asked.as_ref().and_then(|asked| asked.expires).is_some_and(|expires| expires <= now)
    }

    /// Whether it can have come about under a policy.
    pub(in crate::task) fn fits(&self, policy: &Policy) -> bool {
        let of_script = |script: &UnderWay| {
            matches!(script.subject, Subject::Script(_))
                && self.operation.subject.call().is_some()
                && script.fits(policy)
        };
        let asks = self.operation.course.stage.hook().is_none()
            || self.operation.step_under_way(policy).is_some()
            || matches!(self.request, Request::Counters { .. });
        asks && self.operation.fits(policy) && self.script.as_deref().is_none_or(of_script)
    }

    /// Takes back what reviewers have answered to the step that waits, and with it what was answered behind that: an
    /// expression asks in order. Calls that were carried out before the first of them stay what they are.
    pub(in crate::task) fn ask_reviewers_again(&mut self) {
        self.operation.course.approved.clear();
        self.operation.course.editors.clear();
        self.asked.iter_mut().for_each(|asked| asked.approvals.clear());
        let exchanges = &mut self.operation.course.exchanges;
        let is_review = |exchange: &Exchange| matches!(exchange.question, Request::Review { .. });
        if let Some(first) = exchanges.iter().position(is_review)
            && let Some(Exchange { question, .. }) = exchanges.drain(first..).next()
        {
            self.request = question;
        }
    }
}

impl Stage {
    /// Whether its steps decide if the call may run.
    pub(in crate::task) fn is_ahead_of_call(self) -> bool {
        matches!(self, Self::BeforeFirst | Self::Before)
    }

    /// What an event does not pass that is stopped here.
    pub(in crate::task) fn of_event(self) -> Option<EventStage> {
        match self {
            Self::Before => Some(EventStage::Before),
            Self::After => Some(EventStage::After),
            Self::GuardrailBefore => Some(EventStage::Guardrails),
            Self::BeforeFirst
            | Self::Execute
            | Self::GuardrailAfter
            | Self::ModelBefore
            | Self::ModelAfter => None,
        }
    }

    /// The list of steps that the stage runs.
    pub(in crate::task) fn hook(self) -> Option<Hook> {
        match self {
            Self::BeforeFirst => Some(Hook::BeforeFirst),
            Self::Before => Some(Hook::Before),
            Self::After => Some(Hook::After),
            Self::GuardrailBefore => Some(Hook::GuardrailBefore),
            Self::GuardrailAfter => Some(Hook::GuardrailAfter),
            Self::ModelBefore => Some(Hook::ModelBefore),
            Self::ModelAfter => Some(Hook::ModelAfter),
            Self::Execute => None,
        }
    }
}

impl UnderWay {
    pub(in crate::task) fn new(subject: Subject, stage: Stage) -> Self {
        let course = Course {
            stage,
            step: 0,
            entered: false,
            formed: None,
            exchanges: Vec::new(),
            trace: Vec::new(),
            observed: Vec::new(),
            enforced: None,
            findings: Vec::new(),
            cost: 0,
            counters: Vec::new(),
            tried: None,
            terms: Terms::default(),
            rewriting: Rewriting::Due,
            recorded: Vec::new(),
            approved: Vec::new(),
            editors: Vec::new(),
            invoked: Vec::new(),
            remembered: Remembered::default(),
        };
        Self { subject, name: None, course }
    }

    /// The name under which somebody waits for it, if it has one by now.
    pub(in crate::task) fn name(&self) -> Option<&CallId> {
        match &self.subject {
            Subject::Call(call) => call.id.as_ref(),
            _ => self.name.as_ref(),
        }
    }

    /// The same under a name, or without one.
    pub(in crate::task) fn under(mut self, name: Option<CallId>) -> Self {
        match &mut self.subject {
            Subject::Call(call) => call.id = name,
            _ => self.name = name,
        }
        self
    }

    /// Whether it can have come about under a policy: nothing of it points beyond what there is.
    pub(in crate::task) fn fits(&self, policy: &Policy) -> bool {
        let stage = match (&self.subject, self.course.stage) {
            (Subject::Call(call), Stage::BeforeFirst | Stage::Before | Stage::Execute | Stage::After) => {
                policy.function(call.function).is_some()
            }
            (Subject::Event(event), Stage::Before | Stage::After) => policy.events().len() > event.event,
            (Subject::Input(_), Stage::GuardrailBefore) | (Subject::Output, Stage::GuardrailAfter) => true,
            (Subject::Model(model), Stage::ModelBefore) => model.answer.is_none(),
            (Subject::Model(model), Stage::ModelAfter) => model.answer.is_some(),
            (Subject::Script(_), Stage::Execute) => true,
            _ => false,
        };
        let list = self.course.stage.hook().map(|hook| self.subject.steps(policy, hook));
        // one that is held may have come through its list
        stage && list.is_none_or(|list| self.course.step <= list.len())
    }

    /// Whether a call lacks what a binding should supply, and its steps have had their say: it goes on without from here.
    pub(in crate::task) fn goes_on_unbound(&mut self) -> bool {
        let Self { subject: Subject::Call(call), course, .. } = self else { return false };
        course.stage == Stage::Before && std::mem::take(&mut call.unbound)
    }

    /// The stage that follows; none if the operation has come through.
    pub(in crate::task) fn next_stage(&self) -> Option<Stage> {
        match (self.course.stage, &self.subject) {
            (Stage::BeforeFirst, _) => Some(Stage::Before),
            (Stage::Before, Subject::Call(call)) if call.extent == Extent::Whole && !call.unbound => {
                Some(Stage::Execute)
            }
            (Stage::Before, Subject::Event(_)) | (Stage::Execute, _) => Some(Stage::After),
            (Stage::After, Subject::Event(_)) => Some(Stage::GuardrailBefore),
            (
                Stage::Before
                | Stage::After
                | Stage::GuardrailBefore
                | Stage::GuardrailAfter
                | Stage::ModelBefore
                | Stage::ModelAfter,
                _,
            ) => None,
        }
    }

    /// The step that is under way, if one is.
    pub(in crate::task) fn step_under_way<'p>(&self, policy: &'p Policy) -> Option<&'p Step> {
        let hook = self.course.stage.hook()?;
        self.subject.steps(policy, hook).get(self.course.step)
    }

    /// A decision about one of its calls, behind what was told of it so far.
    pub(in crate::task) fn told_before(&self, mut decision: Decision) -> Decision {
        decision.trace.splice(0..0, self.course.trace.iter().cloned());
        decision.observed.splice(0..0, self.course.observed.iter().cloned());
        decision.enforced = self.course.enforced.clone().or(decision.enforced);
        decision.findings.splice(0..0, self.course.findings.iter().cloned());
        decision.counters.splice(0..0, self.course.counters.iter().cloned());
        decision.cost = decision.cost.saturating_add(self.course.cost);
        decision
    }

    /// The decision that it ends in, with what was found on the way.
    pub(in crate::task) fn decide(self, verdict: Verdict) -> Decision {
        let Course { trace, observed, enforced, findings, counters, cost, .. } = self.course;
        Decision { trace, observed, enforced, findings, counters, cost, ..Decision::new(verdict) }
    }
}

impl Course {
    /// Notes what would have stopped it, unless something would have before.
    pub(in crate::task) fn would_stop(&mut self, enforced: impl Into<Option<Enforced>>) {
        if self.enforced.is_none() {
            self.enforced = enforced.into().map(Box::new);
        }
    }

    /// Goes on with the first step of a stage.
    pub(in crate::task) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        if !stage.is_ahead_of_call() {
            self.approved.clear();
            self.editors.clear();
            self.remembered.clear();
        }
        self.step = 0;
        self.leave_step();
    }

    /// Goes over the steps ahead of the call again, whose arguments this reviewer has changed; other approvals lapse with them.
    pub(in crate::task) fn begin_anew(&mut self) {
        self.enter(Stage::BeforeFirst);
        self.approved.clear();
        self.editors.clear();
        (self.rewriting, self.tried) = (Rewriting::Due, None);
        self.terms = Terms::default();
    }

    /// Goes over the steps ahead of the call again, whose arguments steps have changed since somebody approved of them: nobody has
    /// approved of what it would run with.
    pub(in crate::task) fn ask_again(&mut self) {
        self.enter(Stage::BeforeFirst);
        self.approved.clear();
        self.editors.clear();
        self.rewriting = Rewriting::Done;
        self.terms = Terms::default();
    }

    /// Whether steps that set arguments have done so, and are left out.
    pub(in crate::task) fn has_set(&self) -> bool {
        self.rewriting == Rewriting::Done
    }

    /// Whether the step under way has run already, before the arguments were changed.
    pub(in crate::task) fn has_invoked(&self) -> bool {
        self.invoked.contains(&(self.stage, self.step))
    }

    /// Whether the step under way has been let through to the capability that it invokes.
    pub(in crate::task) fn is_invoking(&self) -> bool {
        self.formed.is_some()
    }

    /// Goes on with the next step of the list.
    pub(in crate::task) fn next_step(&mut self) {
        self.step = self.step.saturating_add(1);
        self.leave_step();
    }

    fn leave_step(&mut self) {
        self.entered = false;
        self.formed = None;
        self.exchanges.clear();
    }

    /// Leaves word of the step under way.
    pub(in crate::task) fn leave_trace(&mut self, step: &Step, outcome: StepOutcome, message: Option<Said>) {
        if let Some(entry) = self.trace_of(step, outcome, message) {
            self.trace.push(entry);
        }
    }

    /// The same of a step that gave labels or took them away.
    pub(in crate::task) fn leave_labels(&mut self, step: &Step, labels: LabelSet) {
        if let Some(entry) = self.trace_of(step, StepOutcome::Pass, None) {
            self.trace.push(TraceEntry { labels, ..entry });
        }
    }

    /// The word that the step under way leaves.
    pub(in crate::task) fn trace_of(
        &self,
        step: &Step,
        outcome: StepOutcome,
        message: Option<Said>,
    ) -> Option<TraceEntry> {
        let action = StepKind::of(step);
        let set = if outcome == StepOutcome::Pass { step.names_set() } else { Vec::new() };
        let name = step.name.clone();
        let step = StepName { hook: self.stage.hook()?, index: step.index };
        let (message, shown) = message.map_or((None, None), |said| (Some(said.text), said.shown));
        let labels = LabelSet::new();
        Some(TraceEntry { step, action, outcome, message, shown, set, labels, policy: name })
    }
}

impl StepKind {
    /// The kind of a step.
    #[must_use]
    pub fn of(step: &Step) -> Self {
        match &step.action {
            StepAction::Assert(_) => Self::Assert,
            StepAction::Invoke(_) => Self::Invoke,
            StepAction::Transform(_) => Self::Transform,
            StepAction::Label(LabelStep { takes: false, .. }) => Self::Label,
            StepAction::Label(LabelStep { takes: true, .. }) => Self::Declassify,
            StepAction::Effect(effect) => match effect {
                Effect::Set(_) => Self::Set,
                Effect::Respond(_) => Self::Respond,
                Effect::Delay(_) => Self::Delay,
                Effect::Oblige(_) => Self::Obligations,
                Effect::Credential(_) => Self::Credential,
            },
        }
    }
}

impl Subject {
    /// The capability of the call or event; guardrails have none, and for them it does not count.
    pub(in crate::task) fn capability(&self, policy: &Policy) -> usize {
        let capability = match self {
            Self::Call(call) => policy.function(call.function).map(|function| function.capability),
            Self::Event(event) => policy.events().get(event.event).map(|event| event.capability),
            Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        };
        capability.unwrap_or_default()
    }

    /// The steps of a list that it passes.
    pub(in crate::task) fn steps<'p>(&self, policy: &'p Policy, hook: Hook) -> StepList<'p> {
        match self {
            Self::Call(call) => policy.steps_of_call(hook, call.function),
            Self::Event(_) => policy.steps_of_event(hook, self.capability(policy)),
            Self::Input(_) | Self::Output => policy.guardrails(hook),
            Self::Model(_) => policy.steps_of_model(hook),
            // a script has no steps of its own
            Self::Script(_) => StepList::default(),
        }
    }

    /// The action or event that `match` selects steps by (MW-20, MW-21); guardrails have none, and run all of theirs.
    pub(in crate::task) fn selected<'p>(&self, policy: &'p Policy) -> Option<&'p str> {
        match self {
            Self::Call(call) => policy.function(call.function).map(|function| function.name.as_str()),
            Self::Event(event) => policy.events().get(event.event).map(|event| event.key.as_str()),
            Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        }
    }

    /// The kind of operation. Nobody waits for a script: its calls are what asks.
    pub(in crate::task) fn kind(&self) -> Option<DecidedKind> {
        match self {
            Self::Call(_) => Some(DecidedKind::Call),
            Self::Input(Sender::Caller) => Some(DecidedKind::Input),
            Self::Event(_) | Self::Input(Sender::Event) => Some(DecidedKind::Event),
            Self::Output => Some(DecidedKind::Output),
            Self::Model(_) => Some(DecidedKind::Model),
            Self::Script(_) => None,
        }
    }

    /// Whether it is a call that has not read its counters.
    pub(in crate::task) fn has_unread_counters(&self) -> bool {
        self.call().is_some_and(|call| call.counters.values().is_none())
    }

    /// The call, if it is one.
    pub(in crate::task) fn call(&self) -> Option<&CallUnderWay> {
        match self {
            Self::Call(call) => Some(call),
            Self::Event(_) | Self::Input(_) | Self::Output | Self::Model(_) | Self::Script(_) => None,
        }
    }
}

/// A call that was let through and whose result is awaited.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::task) struct OpenCall {
    pub(in crate::task) id: CallId,
    /// The position of the function in the policy.
    pub(in crate::task) function: usize,
    pub(in crate::task) arguments: Json,
    /// The fingerprint of the policy that let it through.
    pub(in crate::task) admitted: Fingerprint,
    /// The message that it was let through for.
    pub(in crate::task) message: u32,
    /// Whether a step invoked it, and not the model, and the operation of the step was taken back meanwhile.
    pub(in crate::task) is_invoked: bool,
    /// What the host has to do for it.
    pub(in crate::task) terms: Option<Box<Terms>>,
    /// The question by which the host was asked to carry it out, if its operation was taken back meanwhile: the answer to that is its result.
    pub(in crate::task) asked: Option<QuestionId>,
}
