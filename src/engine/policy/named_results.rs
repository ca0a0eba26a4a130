//! Results of `invoke` steps with ids, and which steps of the same policy can read them.
//!
//! Data, and what can be read off it: `results_read` makes it. A result is never there for a step if its own step stands behind, is about other calls, or is only tried out. The results of an operation are those of its own steps: of a call, of its result, of a message or of a call of the
//! model; steps behind a call see what steps ahead of it gave. Linear in the steps of the policy, times the results that they read.

use super::step::Step;
use crate::cel::Type;
use crate::manifest::mode::Mode;
use crate::manifest::step::Hook;
use crate::source::Place;
use std::collections::HashMap;
use std::sync::Arc;

/// The results that the steps of a policy can read.
#[derive(Debug)]
pub(super) struct NamedResults {
    /// The type of `invoked`.
    pub(super) ty: Type,
    /// The steps that give them, by their ids.
    pub(super) steps: HashMap<Arc<str>, Giver>,
    /// Where each step of the policy runs, by its path.
    pub(super) standings: HashMap<String, Standing>,
}

/// An `invoke` step with an id.
#[derive(Debug)]
pub(super) struct Giver {
    pub(super) standing: Standing,
    pub(super) place: Place,
    /// Whether it is only tried out, so that it never runs.
    pub(super) is_observed: bool,
}

/// Where a step runs.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) hook: Hook,
    /// The place of its key among those of the policy; 0 of steps on messages and around the model.
    pub(super) key: usize,
    /// Its place in its list.
    pub(super) index: usize,
    /// The functions whose calls pass it.
    pub(super) functions: Vec<usize>,
}

/// Why a step never reads a result.
pub(super) enum Never {
    /// It runs ahead of the step that gives it.
    Ahead,
    /// No operation passes both.
    Elsewhere,
    /// The step that gives it is only tried out.
    Observed,
}

impl Standing {
    /// The place of its list among those that an operation passes; the lists of different operations have no order.
    fn stage(&self) -> usize {
        match self.hook {
            Hook::BeforeFirst => 0,
            Hook::Before => 1,
            _ => 2,
        }
    }

    fn is_of_call(&self) -> bool {
        matches!(self.hook, Hook::BeforeFirst | Hook::Before | Hook::After)
    }

    /// Whether some operation passes both steps.
    fn meets(&self, other: &Self) -> bool {
        match self.is_of_call() {
            true => other.is_of_call() && self.functions.iter().any(|at| other.functions.contains(at)),
            false => self.hook == other.hook,
        }
    }

    /// Whether this step runs ahead of the other one. Steps that set arguments run ahead of all others of `before`.
    fn is_ahead_of(&self, other: &Self, sets: bool) -> bool {
        let order = (self.stage(), self.key, self.index);
        if sets { self.stage() < other.stage() } else { order < (other.stage(), other.key, other.index) }
    }
}

impl Giver {
    /// Why a step that stands so never reads the result; nothing if it can.
    pub(super) fn hidden_from(&self, reader: &Step, standing: &Standing) -> Option<Never> {
        if !self.standing.meets(standing) {
            return Some(Never::Elsewhere);
        }
        if !self.standing.is_ahead_of(standing, reader.sets().is_some()) {
            return Some(Never::Ahead);
        }
        (self.is_observed && reader.mode == Mode::Enforce).then_some(Never::Observed)
    }
}
