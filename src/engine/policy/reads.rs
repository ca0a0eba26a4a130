//! Which records of calls a decision reads, and which a call may still change: what tells the calls apart that may be
//! decided side by side from those that must wait for each other.
//!
//! In: the bindings and steps of a function. Out: [`Reads`] and [`Changes`], by the keys that are written. A key that is
//! computed may be any key, so it reads every record; so do `_meta` and `_history`, which every call changes. Texts for
//! the model decide nothing and are not among them. Linear in the policy of the function; found when it is first wanted.

use super::read_path::for_each_path;
use super::{Binding, Execute, Expression, Policy, Step, StepAction};
use crate::context::{FunctionId, Selector};
use crate::manifest::step::Hook;
use std::collections::BTreeSet;

/// The records of calls that the decision on a call reads.
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
    /// The functions whose records it reads, by position.
    functions: BTreeSet<usize>,
    /// Whether it reads the record of every call.
    everything: bool,
}

/// The functions whose records a call may change: its own and those of its invoke steps, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(BTreeSet<usize>);

/// What the decision on a call of a function reads, and what the call changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// What its bindings and the steps ahead of it read.
    pub reads: Reads,
    /// What it and its steps put on record.
    pub changes: Changes,
}

impl Reads {
    /// Whether it reads no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.everything && self.functions.is_empty()
    }

    /// Whether it reads the record of every call.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// The functions whose records it reads by name.
    pub fn functions(&self) -> impl Iterator<Item = usize> {
        self.functions.iter().copied()
    }

    /// Whether a call that changes this may change what is read.
    #[must_use]
    pub fn meet(&self, changes: &Changes) -> bool {
        self.everything || !self.functions.is_disjoint(&changes.0)
    }

    fn add_path(&mut self, policy: &Policy, root: &str, path: &[Selector]) {
        match policy.schema.calls_on_path(root, path) {
            Some(functions) => self.functions.extend(functions.into_iter().map(|FunctionId(at)| at as usize)),
            None => self.everything = true,
        }
    }

    fn add(&mut self, policy: &Policy, expression: &Expression) {
        for_each_path(expression.program().expr(), &mut |root, path| self.add_path(policy, root, path));
    }

    fn add_all<'b>(&mut self, policy: &Policy, bindings: impl IntoIterator<Item = &'b Binding>) {
        for expression in bindings.into_iter().filter_map(Binding::expression) {
            self.add(policy, expression);
        }
    }
}

impl Changes {
    /// The functions whose records it changes.
    pub fn functions(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }
}

impl Policy {
    /// What the decision on a call of the function at this position reads, and what the call changes; nothing for a position
    /// without a function.
    #[must_use]
    pub fn dependencies(&self, function: usize) -> Option<&Dependencies> {
        let known = self.dependencies.get(function)?;
        Some(known.get_or_init(|| self.find_dependencies(function)))
    }

    fn find_dependencies(&self, position: usize) -> Dependencies {
        let mut found = Dependencies::default();
        found.changes.0.insert(position);
        let Some(function) = self.functions.get(position) else { return found };
        found.reads.add_all(self, function.bindings.iter().map(|binding| &**binding));
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = self.steps_of_call(hook, position);
            for step in steps.iter().filter(|step| step.is_for(&function.name)) {
                if hook != Hook::After {
                    self.add_reads(step, &mut found.reads);
                }
                if hook == Hook::BeforeFirst {
                    // it asks whether one of them has run (MW-39)
                    found.reads.functions.extend(&step.functions);
                }
                if let StepAction::Invoke(invoke) = &step.action {
                    found.changes.0.extend(invoke.function);
                }
            }
        }
        found
    }

    fn add_reads(&self, step: &Step, reads: &mut Reads) {
        for expression in step.expressions() {
            reads.add(self, expression);
        }
        let StepAction::Invoke(invoke) = &step.action else { return };
        let Some(invoked) = invoke.function.and_then(|position| self.functions.get(position)) else { return };
        reads.add_all(self, invoked.bindings.iter().map(|binding| &**binding));
        if let Execute::Cel(expression) = &invoked.execute {
            reads.add(self, expression);
        }
    }
}
