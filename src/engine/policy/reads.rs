//! What a decision reads, and what an operation may still change: the difference between operations that may be decided side by
//! side and those that must wait for each other.
//!
//! In: the bindings and steps of a function, the guardrails of inputs, the steps of an event. Out: [`Reads`] and [`Changes`], by the
//! keys that are written. A key that is computed may be any key, so it reads every record; so do `_meta` and `_history`, which every
//! call changes. An input and an event change the inputs of the task. What is known of a call while it is open (that it was made, and
//! its arguments) is kept apart: who reads no more does not wait. Texts for the model decide nothing and are not among them, nor do
//! observed steps: what such a step would have said is told of the moment at which the call is decided.
//! Linear in the steps; found when it is first wanted.

use super::read_path::{CONTEXT_ASKED, for_each_path};
use super::{Binding, CounterReader, Execute, Expression, Origin, Policy, Step, StepAction};
use crate::context::{CALL_LABELS, CallsOnPath, FunctionId, LABELS, Selector, TASK_LABELS};
use crate::manifest::mode::Mode;
use crate::manifest::step::Hook;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// What a decision reads of the records of calls and of the inputs of the task.
///
/// ```
/// use celador::{Engine, EngineLimits};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// let policy = engine.policy("shop", "clerk")?;
/// let payout = policy.position("payout").ok_or("the clerk may pay")?;
///
/// // each payout is judged by its own amount: any number of them is decided side by side
/// let dependencies = policy.dependencies(payout).ok_or("it is a function")?;
/// assert!(dependencies.reads.is_empty());
/// assert!(!dependencies.reads.meet(&dependencies.changes));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// What it reads of calls that is not known before they are closed.
    whole: Records,
    /// The records of which it reads no more than which calls were made, and with which arguments.
    made: Records,
    /// Whether it reads the inputs.
    inputs: bool,
}

/// The records of some functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Records {
    /// By position.
    functions: BTreeSet<usize>,
    /// Whether they are those of every function.
    everything: bool,
}

/// What an operation may change: the records of functions (for a call its own and those of its invoke steps), by position, and the inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// All of them.
    functions: BTreeSet<usize>,
    /// Those of its invoke steps: of these calls nothing is known while it is open.
    invoked: BTreeSet<usize>,
    inputs: bool,
}

/// What the decision on an operation reads, and what the operation changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// What its bindings and the steps ahead of it read.
    pub reads: Reads,
    /// What it and its steps put on record.
    pub changes: Changes,
}

impl Records {
    fn is_empty(&self) -> bool {
        !self.everything && self.functions.is_empty()
    }

    fn extend(&mut self, other: Self) {
        self.functions.extend(other.functions);
        self.everything |= other.everything;
    }

    fn meet(&self, functions: &BTreeSet<usize>) -> bool {
        (self.everything && !functions.is_empty()) || !self.functions.is_disjoint(functions)
    }
}

impl Reads {
    /// Whether it reads neither a record nor the inputs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.made.is_empty() && !self.inputs
    }

    /// Whether it reads the record of every call.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.whole.everything
    }

    /// The functions whose records it reads by name.
    pub fn functions(&self) -> impl Iterator<Item = usize> {
        self.whole.functions.iter().copied()
    }

    /// Whether it reads of every call that it was made, its function or its arguments: it does not wait for the result.
    #[must_use]
    pub fn is_everything_made(&self) -> bool {
        self.made.everything
    }

    /// The functions of whose calls it reads, by name of the record, that they were made, or their arguments.
    pub fn functions_made(&self) -> impl Iterator<Item = usize> {
        self.made.functions.iter().copied()
    }

    /// Whether an operation that changes this may change what is read.
    #[must_use]
    pub fn meet(&self, changes: &Changes) -> bool {
        self.meet_open(changes) || self.made.meet(&changes.functions)
    }

    /// The same of a call that was let through: it was made, and its arguments are settled, so who reads no more does not meet it.
    #[must_use]
    pub fn meet_open(&self, changes: &Changes) -> bool {
        // an input is no record, yet somebody who reads every record must not overlook one
        let said = changes.inputs && (self.inputs || self.whole.everything);
        said || self.whole.meet(&changes.functions) || self.made.meet(&changes.invoked)
    }

    fn add_path(&mut self, policy: &Policy, root: &str, path: &[Selector]) {
        if root == CONTEXT_ASKED {
            self.add_sources(policy, path);
            return;
        }
        self.inputs |= policy.schema.is_path_of_inputs(root, path);
        let CallsOnPath { functions, known_while_open } = policy.schema.calls_on_path(root, path);
        let records = if known_while_open { &mut self.made } else { &mut self.whole };
        match functions {
            Some(functions) => {
                records.functions.extend(functions.into_iter().map(|FunctionId(at)| at as usize));
            }
            None => records.everything = true,
        }
    }

    /// Whoever asks for labels reads the results that may be labelled, and whoever asks for sources reads all of them. Labels stand on
    /// record once a call is closed.
    fn add_sources(&mut self, policy: &Policy, path: &[Selector]) {
        let is_of_labels = [LABELS, CALL_LABELS, TASK_LABELS]
            .iter()
            .any(|name| path == [Selector::Name((*name).to_owned())]);
        if is_of_labels {
            self.whole.functions.extend(policy.labelled_functions());
            self.inputs |= policy.guardrails(Hook::GuardrailBefore).iter().any(is_label);
        } else {
            self.whole.everything = true;
            self.inputs = true;
        }
    }

    /// The reads of one expression.
    fn of(policy: &Policy, expression: &Expression) -> Self {
        let mut reads = Self::default();
        for_each_path(expression.program().expr(), &mut |root, path| reads.add_path(policy, root, path));
        reads
    }

    fn extend(&mut self, other: Self) {
        self.whole.extend(other.whole);
        self.made.extend(other.made);
        self.inputs |= other.inputs;
    }
}

/// An operation that a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedOperation {
    /// A call of the function at this position.
    Call(usize),
    Input,
    /// The event at this position.
    Event(usize),
    /// A call of the model.
    Model,
}

/// Collects the dependencies of one operation, and the first expression whose reads are sought.
struct Collector<'c> {
    policy: &'c Policy,
    found: Dependencies,
    is_sought: &'c dyn Fn(&Reads) -> bool,
    sought: Option<Origin>,
}

impl Collector<'_> {
    fn read(&mut self, reads: Reads, origin: impl FnOnce() -> Origin) {
        if self.sought.is_none() && (self.is_sought)(&reads) {
            self.sought = Some(origin());
        }
        self.found.reads.extend(reads);
    }

    fn expression(&mut self, expression: &Expression) {
        self.read(Reads::of(self.policy, expression), || expression.origin());
    }

    fn bindings<'b>(&mut self, bindings: impl IntoIterator<Item = &'b Binding>) {
        bindings
            .into_iter()
            .filter_map(Binding::expression)
            .for_each(|expression| self.expression(expression));
    }

    /// Adds the reads of an enforced step.
    fn reads_of(&mut self, step: &Step) {
        step.expressions().for_each(|expression| self.expression(expression));
        let StepAction::Invoke(invoke) = &step.action else { return };
        let policy = self.policy;
        let Some(invoked) = invoke.function.and_then(|position| policy.functions.get(position)) else {
            return;
        };
        self.bindings(invoked.bindings.iter().map(|binding| &**binding));
        if let Execute::Cel(expression) = &invoked.execute {
            self.expression(expression);
        }
    }

    /// Adds the function that a step invokes.
    fn changes_of(&mut self, step: &Step) {
        if let StepAction::Invoke(invoke) = &step.action {
            self.found.changes.functions.extend(invoke.function);
            self.found.changes.invoked.extend(invoke.function);
        }
    }

    /// Adds the reads of a step, and the function that it invokes.
    fn step(&mut self, step: &Step) {
        if step.mode == Mode::Enforce {
            self.reads_of(step);
            self.changes_of(step);
        }
    }

    fn operation(&mut self, operation: DecidedOperation) {
        match operation {
            DecidedOperation::Call(position) => self.call(position),
            DecidedOperation::Input => self.input(),
            DecidedOperation::Event(position) => self.event(position),
            DecidedOperation::Model => self.model(),
        }
    }

    /// Adds the reads of the steps ahead of a call of the model. The changes of their invoke steps are on record when the steps are through.
    fn model(&mut self) {
        let policy = self.policy;
        let counters = policy.counters.of(CounterReader::Model);
        for counter in counters.filter(|counter| counter.decides(CounterReader::Model)) {
            counter.expressions_of_model().for_each(|expression| self.expression(expression));
        }
        policy.steps_of_model(Hook::ModelBefore).iter().for_each(|step| self.step(step));
    }

    /// An input inherits parameters of the one before, so each reads the inputs.
    fn input(&mut self) {
        (self.found.reads.inputs, self.found.changes.inputs) = (true, true);
        self.policy.guardrails(Hook::GuardrailBefore).iter().for_each(|step| self.step(step));
    }

    /// An event becomes an input. Its filter asks for the arguments that the calls of its capability have had.
    fn event(&mut self, position: usize) {
        self.input();
        let policy = self.policy;
        let Some(event) = policy.events.get(position) else { return };
        self.found.reads.whole.functions.extend(policy.functions_of(event.capability));
        self.bindings(policy.bindings(event.capability).iter().map(|binding| &**binding));
        for hook in [Hook::Before, Hook::After] {
            let steps = policy.steps_of_event(hook, event.capability).iter();
            steps.filter(|step| step.is_for(&event.key)).for_each(|step| self.step(step));
        }
    }

    fn call(&mut self, position: usize) {
        let policy = self.policy;
        self.found.changes.functions.insert(position);
        let Some(function) = policy.functions.get(position) else { return };
        if !policy.observes() {
            self.bindings(function.bindings.iter().map(|binding| &**binding));
        }
        let reader = CounterReader::Function(position);
        for counter in policy.counters.of(reader).filter(|counter| counter.decides(reader)) {
            counter.expressions_of_calls().for_each(|expression| self.expression(expression));
        }
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = policy.steps_of_call(hook, position);
            let decides = |step: &&Step| step.mode == Mode::Enforce && step.is_for(&function.name);
            for step in steps.iter().filter(decides) {
                if hook != Hook::After {
                    self.reads_of(step);
                }
                if hook == Hook::BeforeFirst {
                    // it asks whether one of them has run (MW-39)
                    let functions = step.functions.iter().copied().collect();
                    let whole = Records { functions, everything: false };
                    self.read(Reads { whole, ..Reads::default() }, || step.origin());
                }
                self.changes_of(step);
            }
        }
    }
}

fn is_label(step: &Step) -> bool {
    matches!(step.action, StepAction::Label(_))
}

impl Policy {
    /// The functions whose results may have labels: a step gives them some, or they come along from another task.
    pub(super) fn labelled_functions(&self) -> impl Iterator<Item = usize> {
        let functions = self.functions.iter().enumerate().filter(|(position, function)| {
            function.is_delegation() || self.steps_of_call(Hook::After, *position).iter().any(is_label)
        });
        functions.map(|(position, _)| position)
    }
}

impl Changes {
    /// The functions whose records it changes.
    pub fn functions(&self) -> impl Iterator<Item = usize> {
        self.functions.iter().copied()
    }

    /// Whether it changes the inputs, as an input and an event do.
    #[must_use]
    pub fn has_inputs(&self) -> bool {
        self.inputs
    }
}

/// The dependencies that were found so far.
#[derive(Debug)]
pub(super) struct KnownDependencies {
    calls: Box<[OnceLock<Dependencies>]>,
    input: OnceLock<Dependencies>,
    model: OnceLock<Dependencies>,
    events: Box<[OnceLock<Dependencies>]>,
}

impl KnownDependencies {
    /// Of a policy with so many functions and events.
    pub(super) fn new(functions: usize, events: usize) -> Self {
        let unknown = |count: usize| (0..count).map(|_| OnceLock::new()).collect();
        Self {
            calls: unknown(functions),
            input: OnceLock::new(),
            model: OnceLock::new(),
            events: unknown(events),
        }
    }
}

impl Policy {
    /// What the decision on a call of the function at this position reads, and what the call changes; nothing for a position
    /// without a function.
    #[must_use]
    pub fn dependencies(&self, function: usize) -> Option<&Dependencies> {
        self.dependencies_of(DecidedOperation::Call(function))
    }

    /// What the steps ahead of a call of the model read.
    #[must_use]
    pub fn dependencies_of_model(&self) -> &Dependencies {
        self.dependencies.model.get_or_init(|| self.collect(DecidedOperation::Model, &|_| false).0)
    }

    /// What the decision on an operation reads, and what the operation changes; nothing for a position without a function or event.
    pub(crate) fn dependencies_of(&self, operation: DecidedOperation) -> Option<&Dependencies> {
        let KnownDependencies { calls, input, model, events } = &self.dependencies;
        let known = match operation {
            DecidedOperation::Call(position) => calls.get(position)?,
            DecidedOperation::Input => input,
            DecidedOperation::Event(position) => events.get(position)?,
            DecidedOperation::Model => model,
        };
        Some(known.get_or_init(|| self.collect(operation, &|_| false).0))
    }

    /// The first expression of the rules for an operation that reads what is sought.
    ///
    /// # Cost
    /// Linear in the rules for the operation.
    pub(crate) fn first_reading(
        &self,
        operation: DecidedOperation,
        is_sought: impl Fn(&Reads) -> bool,
    ) -> Option<Origin> {
        self.collect(operation, &is_sought).1
    }

    fn collect(
        &self,
        operation: DecidedOperation,
        is_sought: &dyn Fn(&Reads) -> bool,
    ) -> (Dependencies, Option<Origin>) {
        let mut all = Collector { policy: self, found: Dependencies::default(), is_sought, sought: None };
        all.operation(operation);
        (all.found, all.sought)
    }
}
