//! What an operation went through, as plain data: every step of its lists with its end, and every expression as a tree of values.
//!
//! A decision tells which step decided. An explanation tells why: of each step whether it was skipped, and for which reason, and of each expression what its
//! parts came to. It is made on demand, by the operation itself as it goes on; see [`Task::explain`](super::Task::explain).

use super::trace::{StepKind, StepName};
use crate::cel::Json;
use crate::explained::ExplainedPart;
use crate::manifest::exception::PolicyException;
use crate::policy::Origin;
use crate::source::Place;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an operation went through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The steps of its lists, in the order in which it came to them, those included that it skipped or did not come to.
    pub steps: Vec<ExplainedStep>,
    /// Expressions that belong to no step, such as bindings, in the order of evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<ExplainedExpression>,
    /// The names of policies that its expressions read.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(crate) names: Vec<NameSeen>,
    /// The checks of the tools that the task has brought, if they were asked for.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(crate) tools: Vec<ExplainedStep>,
}

/// A name of a policy that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameSeen {
    /// The policy: namespace and name.
    pub(crate) policy: String,
    /// The name with its root, such as `variables.paid`.
    pub(crate) name: String,
    /// The text of a variable.
    pub(crate) text: Option<String>,
    /// The clauses of a variable.
    pub(crate) clauses: Vec<ClauseSeen>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedStep {
    /// The list and the position of the step, such as `before[0]`.
    pub step: StepName,
    /// The function of the call that passed it; nothing for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The kind of step.
    pub action: StepKind,
    /// Where it stands.
    pub origin: Origin,
    /// Its end.
    pub outcome: StepEnding,
    /// Why it was skipped, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Its expressions, in the order of evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<ExplainedExpression>,
    /// The exception of the step that let something pass which its rule alone would have stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<Arc<PolicyException>>,
    /// What would have let it pass, if it has failed: each was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_not: Vec<Suggestion>,
    /// The characters of the step.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(crate) place: Spot,
}

/// What would have let a call pass that a step has stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suggestion {
    /// It in a few words, made of names and of constants of the policy: `amount at most 1000`, `orders_read must have succeeded`.
    pub text: String,
    /// Arguments that pass, those alone that would have to be others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Json>,
    /// The function that has to be called first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepEnding {
    /// Nothing stands in the way.
    Pass,
    /// Its `on_fail` decides what follows.
    Fail,
    /// It waits for an answer.
    Suspend,
    /// It was left out.
    Skipped,
    /// It was tried out, and decides nothing.
    Observed,
    /// The operation ended ahead of it.
    NotReached,
}

/// Why a step was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SkipReason {
    /// Its condition was false.
    Condition,
    /// Its `match` names another action or event.
    Match,
    /// It stands in `before_first`, and a call has run already.
    NotFirst,
    /// It sets arguments, and has done so before the steps were passed again.
    AlreadySet,
}

/// One expression that was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedExpression {
    /// The key under which it stands, such as `condition` or `assert`.
    pub key: String,
    /// Where it stands.
    pub origin: Origin,
    /// The expression with its parts and their values.
    pub tree: ExplainedPart,
    /// Its clauses.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(crate) clauses: Vec<ClauseSeen>,
}

/// A clause of an expression, and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClauseSeen {
    pub(crate) place: Spot,
    pub(crate) held: usize,
    pub(crate) held_not: usize,
    pub(crate) failed: usize,
    pub(crate) decided: bool,
}

/// Characters of a file, by which parts of several compilations of it are told to be the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spot(pub(crate) Option<Place>);

impl PartialEq for Spot {
    fn eq(&self, other: &Self) -> bool {
        let key = |spot: &Self| spot.0.as_ref().map(|place| (place.source.name().to_owned(), place.span));
        key(self) == key(other)
    }
}

impl StepEnding {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Suspend => "suspend",
            Self::Skipped => "skipped",
            Self::Observed => "observed",
            Self::NotReached => "not_reached",
        }
    }
}

impl SkipReason {
    /// The reason for a person, behind the word `skipped`.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Condition => "its condition is false",
            Self::Match => "it is for another action or event",
            Self::NotFirst => "a call has run already",
            Self::AlreadySet => "it has set its arguments already",
        }
    }
}

impl ExplainedStep {
    /// What the step is called: `before[0]`, and where it is one of a policy document `before[0] of shop/money#cap`.
    #[must_use]
    pub fn called(&self) -> String {
        match &self.origin.policy {
            Some(policy) => format!("{} of {policy}", self.step),
            None => self.step.to_string(),
        }
    }
}

impl Explanation {
    /// The steps of this name: `before[0]`, or the id of a step of a policy, with or without the policy.
    pub fn steps_named<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e ExplainedStep> {
        self.steps.iter().filter(move |step| {
            let policy = step.origin.policy.as_deref();
            let id = policy.and_then(|policy| policy.id.as_deref());
            step.step.to_string() == name
                || id == Some(name)
                || policy.is_some_and(|policy| policy.to_string() == name)
                || step.called() == name
        })
    }

    /// The step that stopped the operation, if one did: the last that failed or waits.
    #[must_use]
    pub fn deciding(&self) -> Option<&ExplainedStep> {
        let stopped = |step: &&ExplainedStep| matches!(step.outcome, StepEnding::Fail | StepEnding::Suspend);
        self.steps.iter().rev().find(stopped)
    }
}
