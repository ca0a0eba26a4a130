//! Middleware steps (MW): one check, call or rewrite in a list of an agent.
//!
//! In: a list of mappings and the hook it belongs to. Out: [`Step`]s with exactly one action each, their expressions as
//! text. A step that breaks a rule of its hook is reported and left out. Nothing here reads an expression or a template.

use super::binding::Binding;
use crate::source::{Embedded, Place};

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it stands.
    pub place: Place,
    /// The manifest path, such as `capabilities.ledger.before[0]`.
    pub path: String,
    /// What it does.
    pub action: StepAction,
    /// An expression that skips the step when it is falsy (MW-24).
    pub condition: Option<Embedded>,
    /// The action or event it is for (MW-20, MW-21); compared after sanitising (MW-22). Never on guardrails.
    pub match_name: Option<Embedded>,
    /// What follows when it fails; the hook's default is filled in (MW-27, GR-03).
    pub on_fail: OnFail,
    /// The template of the message to the model or the reason of the lock.
    pub error_message: Option<Embedded>,
}

impl Step {
    /// The path of the expression that decides: `….assert`, `….invoke` or `….transform`.
    #[must_use]
    pub fn action_path(&self) -> String {
        let key = match self.action {
            StepAction::Assert(_) => "assert",
            StepAction::Invoke(_) => "invoke",
            StepAction::Transform(_) => "transform",
        };
        format!("{}.{key}", self.path)
    }
}

/// What a step does; exactly one of the three (MW-03, MW-04).
#[derive(Clone, Debug)]
pub enum StepAction {
    /// `assert: input.amount < 100`: an expression that must be truthy.
    Assert(Embedded),
    /// `invoke: audit:record`: a capability that runs, unseen by the model.
    Invoke(Invoke),
    /// `transform: output.put('note', 'x')`: an expression whose value takes the place of the output or message.
    Transform(Embedded),
}

/// The call of an invoke step.
#[derive(Clone, Debug)]
pub struct Invoke {
    /// `tool:capability` as written (MW-08).
    pub target: Embedded,
    /// The part before the colon, not empty.
    pub tool: String,
    /// The part behind the colon, not empty.
    pub capability: String,
    /// The arguments: expressions in the scope of the step (MW-13).
    pub bindings: Vec<Binding>,
}

/// What follows when a step fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFail {
    /// The call does not happen or its result is withheld; the model gets the message (MW-28, MW-29).
    Block,
    /// The next step (MW-30).
    Continue,
    /// The task ends for good (MW-31).
    LockTask,
}

/// The list that a step stands in: it decides what a step may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `before_first` of a capability.
    BeforeFirst,
    /// `before` of a capability.
    Before,
    /// `after` of a capability.
    After,
    /// `guardrails.before`.
    GuardrailBefore,
    /// `guardrails.after`.
    GuardrailAfter,
}
