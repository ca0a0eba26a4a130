//! How far an operation came through its steps, with what it found, asked and was answered on the way.

use super::counter_use::CounterUse;
use super::effect::Answer;
use super::enforced::Enforced;
use super::exchange::Exchange;
use super::hidden::Said;
use super::observed::ObservedStep;
use super::review::Reviewed;
use super::stage::Stage;
use super::terms::Terms;
use super::trace::{Finding, StepKind, StepName, StepOutcome, TraceEntry};
use crate::cel::{Json, Remembered};
use crate::context::{InvocationId, InvokedResult, LabelSet, Moment};
use crate::manifest::exception::PolicyException;
use crate::policy::Step;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    /// When the host was first asked to carry out the call of that step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) asked_at: Option<Moment>,
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
    /// What reviewers have added to their answers, for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) notes: Vec<String>,
    /// The invoke steps that have run: steps that are passed again, with other arguments, do not repeat them (RV-04).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) invoked: Vec<(Stage, usize)>,
    /// What those of them gave that have ids. The steps behind the call see what those ahead of it gave.
    #[serde(default, skip_serializing_if = "Results::is_empty")]
    pub(in crate::task) results: Results,
    /// What variables of policies came to, from one step that only judges to the next. It is not stored, and an operation that waited begins
    /// without: so no decision depends on where it waited.
    #[serde(skip)]
    pub(in crate::task) remembered: Remembered<'static>,
}

/// What `invoke` steps gave. Shared, so that expressions read it while the course goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::task) struct Results(Option<Arc<Vec<InvokedResult>>>);

impl Results {
    pub(in crate::task) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// All of them.
    pub(in crate::task) fn all(&self) -> &[InvokedResult] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// The bytes of their documents.
    pub(in crate::task) fn bytes(&self) -> u64 {
        self.all().iter().fold(0, |sum, result| sum.saturating_add(result.output.heap_bytes() as u64))
    }

    /// Adds one. A step gives one result in an operation.
    pub(in crate::task) fn add(&mut self, result: InvokedResult) {
        Arc::make_mut(self.0.get_or_insert_default()).push(result);
    }
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

impl Course {
    /// At the beginning of a stage, where an operation begins.
    pub(in crate::task) fn at(stage: Stage) -> Self {
        Self {
            stage,
            step: 0,
            entered: false,
            formed: None,
            asked_at: None,
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
            notes: Vec::new(),
            invoked: Vec::new(),
            results: Results::default(),
            remembered: Remembered::default(),
        }
    }

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
        self.notes.clear();
        (self.rewriting, self.tried) = (Rewriting::Due, None);
        self.terms = Terms::default();
    }

    /// Goes over the steps ahead of the call again, whose arguments steps have changed since somebody approved of them: nobody has
    /// approved of what it would run with.
    pub(in crate::task) fn ask_again(&mut self) {
        self.enter(Stage::BeforeFirst);
        self.approved.clear();
        self.editors.clear();
        self.notes.clear();
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
        self.asked_at = None;
        self.exchanges.clear();
    }

    /// Adds what reviewers have added to their answers; who has edited and is one of those who approve is heard once.
    pub(in crate::task) fn add_notes(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// What the reviewers have added who denied what the step under way has asked.
    pub(in crate::task) fn denial_notes(&self) -> impl Iterator<Item = &str> {
        self.exchanges.iter().filter_map(|exchange| match &exchange.answer {
            Answer::Review(answer) if !answer.approves() => answer.note.as_deref(),
            _ => None,
        })
    }

    /// Leaves word of the step under way.
    pub(in crate::task) fn leave_trace(&mut self, step: &Step, outcome: StepOutcome, message: Option<Said>) {
        if let Some(entry) = self.trace_of(step, outcome, message) {
            self.trace.push(entry);
        }
    }

    /// The same of a step that passed, by an exception of it if there is one.
    pub(in crate::task) fn leave_pass(&mut self, step: &Step, exception: Option<Arc<PolicyException>>) {
        if let Some(entry) = self.trace_of(step, StepOutcome::Pass, None) {
            self.trace.push(TraceEntry { exception, ..entry });
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
        let exception = None;
        Some(TraceEntry { step, action, outcome, message, shown, set, labels, policy: name, exception })
    }
}
