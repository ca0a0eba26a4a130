//! What a decision tells of the steps that were evaluated, and of what went wrong in them.
//!
//! Texts are those of the manifest's author, rendered; errors are told by code and place, never by a value.

use crate::context::LabelSet;
use crate::manifest::exception::PolicyException;
use crate::manifest::policy_step::PolicyStep;
use crate::manifest::step::Hook;
use crate::policy::{Effect, LabelStep, Origin, Step, StepAction};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A step by its list and its position there: `before[0]`, `guardrails.after[1]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct StepName {
    /// The list.
    pub hook: Hook,
    /// The position, from 0, as in the manifest.
    pub index: usize,
}

const HOOKS: [(Hook, &str); 9] = [
    (Hook::BeforeFirst, "before_first"),
    (Hook::Before, "before"),
    (Hook::After, "after"),
    (Hook::GuardrailBefore, "guardrails.before"),
    (Hook::GuardrailAfter, "guardrails.after"),
    (Hook::Tools, "tools"),
    (Hook::Trigger, "source.before"),
    (Hook::ModelBefore, "model.before"),
    (Hook::ModelAfter, "model.after"),
];

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = HOOKS.iter().find(|(hook, _)| *hook == self.hook).map_or("", |(_, name)| name);
        write!(f, "{list}[{}]", self.index)
    }
}

impl From<StepName> for String {
    fn from(name: StepName) -> Self {
        name.to_string()
    }
}

impl TryFrom<String> for StepName {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let parts = text.strip_suffix(']').and_then(|text| text.split_once('['));
        let step = parts.and_then(|(list, index)| {
            let (hook, _) = HOOKS.iter().find(|(_, name)| *name == list)?;
            Some(Self { hook: *hook, index: index.parse().ok()? })
        });
        step.ok_or("a step is named as `before[0]`")
    }
}

/// One step that was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceEntry {
    /// The list and the position of the step, such as `before[0]`.
    pub step: StepName,
    /// The kind of step.
    pub action: StepKind,
    /// The end that it came to.
    pub outcome: StepOutcome,
    /// Its rendered `error_message` if it failed and has one; under `continue` it stands nowhere else.
    pub message: Option<String>,
    /// The text that views show in the place of the message, if a secret is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The arguments of the call that the step has given other values to, by name; the values are in the decision's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub set: Vec<Arc<str>>,
    /// The labels that it gave or took away.
    #[serde(default, skip_serializing_if = "LabelSet::is_empty")]
    pub labels: LabelSet,
    /// The name of the step, where it is one of a policy document: its list and position are those under its key there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<PolicyStep>>,
    /// The exception of the step that let something pass which its rule alone would have stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception: Option<Arc<PolicyException>>,
}

impl TraceEntry {
    /// What the step is called: `before[0]`, and where it is one of a policy document `before[0] of shop/money#cap`.
    #[must_use]
    pub fn called(&self) -> String {
        match &self.policy {
            Some(policy) => format!("{} of {policy}", self.step),
            None => self.step.to_string(),
        }
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepKind {
    /// It judges.
    Assert,
    /// It calls.
    Invoke,
    /// It replaces.
    Transform,
    /// It gives labels.
    Label,
    /// It takes labels away.
    Declassify,
    /// It gives labels to the task.
    LabelTask,
    /// It takes labels of the task away.
    UnlabelTask,
    /// It gives arguments other values.
    Set,
    /// It answers in the place of the tool.
    Respond,
    /// It has the host wait.
    Delay,
    /// It asks something of the host.
    Obligations,
    /// It asks for a credential.
    Credential,
}

impl StepKind {
    /// The kind of a step.
    #[must_use]
    pub fn of(step: &Step) -> Self {
        match &step.action {
            StepAction::Assert(_) => Self::Assert,
            StepAction::Invoke(_) => Self::Invoke,
            StepAction::Transform(_) => Self::Transform,
            StepAction::Label(LabelStep { takes, of_task, .. }) => match (of_task, takes) {
                (false, false) => Self::Label,
                (false, true) => Self::Declassify,
                (true, false) => Self::LabelTask,
                (true, true) => Self::UnlabelTask,
            },
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

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StepOutcome {
    /// Nothing stands in the way.
    Pass,
    /// Its `on_fail` decides what follows.
    Fail,
    /// It waits for an answer.
    Suspend,
}

impl StepOutcome {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Suspend => "suspend",
        }
    }
}

/// Something that failed or was ignored while one decision was made: an expression that failed, a bound parameter that the
/// model tried to set.
///
/// What is wrong with manifests before anything runs is a [`Diagnostic`](crate::Diagnostic).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// A stable word for programs, such as `no_such_key`.
    pub code: Cow<'static, str>,
    /// One line: what happened. Holds no task data.
    pub message: String,
    /// The place, if it is one of the manifests.
    pub origin: Option<Origin>,
}
