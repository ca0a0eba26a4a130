//! The agent manifest (AG): who it is, what it may call, and under which checks.
//!
//! In: the mapping of one document. Out: an [`Agent`] with every expression still as text and in its place. It reads all
//! of the document and reports each problem; a part that has one is left out and the agent is not [sound](Agent::sound).
//! It never looks at another document and never reads an expression.

use super::binding::Binding;
use super::kind::Kind;
use super::schema::Property;
use super::step::Step;
use crate::source::{Embedded, Place};

/// An agent manifest.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `agents[0]`.
    pub path: String,
    /// Whether nothing in this document is an error. An agent that is not sound may lack checks: it must never run.
    pub sound: bool,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace (AG-01).
    pub namespace: Embedded,
    /// Its name, unique in the namespace (AG-01).
    pub name: Embedded,
    /// What it is for.
    pub description: Option<Embedded>,
    /// The system prompt, a template (INT-11).
    pub prompt: Option<Embedded>,
    /// The model it asks for (AG-17).
    pub model: Option<Embedded>,
    /// The scheduling priority it asks for (AG-17).
    pub priority: Option<i64>,
    /// Which part of the workspace mount it works in.
    pub mount: MountScope,
    /// The limits of its tasks.
    pub limits: TaskLimits,
    /// The parameters of an input, `message` among them if it is declared (AG-05, KV-16). `default_message` of `v1` is
    /// the default of `message` here (KV-12).
    pub parameters: Vec<Property>,
    /// What it may call, in order.
    pub capabilities: Vec<Capability>,
    /// Abilities of the model that the provider switches on.
    pub model_capabilities: Vec<Embedded>,
    /// Checks of what goes in and out.
    pub guardrails: Guardrails,
    /// Names and expressions that go out with each response (EXP-01).
    pub exposes: Vec<Expose>,
}

/// One entry of `capabilities`. The wildcard `"*"` is an entry without any of the fields (AG-07).
#[derive(Clone, Debug)]
pub struct Capability {
    /// The key: the name of a tool or an agent.
    pub reference: Embedded,
    /// The manifest path, such as `capabilities.ledger`.
    pub path: String,
    /// The actions and events that are active; all of them if absent (AG-11, AG-13).
    pub include: Option<Vec<Embedded>>,
    /// Parameters that the model cannot set.
    pub bindings: Vec<Binding>,
    /// How long an event subscription lives without activity, in nanoseconds (AG-23).
    pub event_timeout: Option<i64>,
    /// Steps ahead of the first call (MW-39).
    pub before_first: Vec<Step>,
    /// Steps ahead of each call and each event (MW-44).
    pub before: Vec<Step>,
    /// Steps behind each call and each formatted event (MW-45).
    pub after: Vec<Step>,
}

impl Capability {
    /// All steps, in the order in which the lists run.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.before_first.iter().chain(&self.before).chain(&self.after)
    }
}

/// Checks at the agent's border (GR).
#[derive(Clone, Debug, Default)]
pub struct Guardrails {
    /// Steps on each input.
    pub before: Vec<Step>,
    /// Steps on each response.
    pub after: Vec<Step>,
}

impl Guardrails {
    /// All steps, `before` first.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.before.iter().chain(&self.after)
    }
}

/// The limits of a task; an absent one does not limit (LIM-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits {
    /// Model turns (LIM-03).
    pub max_turns: Option<u64>,
    /// Prompt tokens over the whole task (LIM-04).
    pub max_prompt_tokens: Option<u64>,
    /// Completion tokens over the whole task (LIM-05).
    pub max_completion_tokens: Option<u64>,
    /// Age in nanoseconds, positive (LIM-07, LIM-15).
    pub max_age: Option<i64>,
    /// Calls by the model (LIM-09).
    pub max_tool_calls: Option<u64>,
}

/// Which part of the workspace mount an agent works in (AG-03).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MountScope {
    /// No files.
    #[default]
    None,
    /// Those of the task.
    Task,
    /// Those of the agent.
    Agent,
    /// Those of the whole workspace.
    Workspace,
}

/// One entry of `exposes`.
#[derive(Clone, Debug)]
pub struct Expose {
    /// The key that goes out; never `message` (AG-20).
    pub name: Embedded,
    /// The expression.
    pub value: Embedded,
    /// The manifest path, such as `exposes.score`.
    pub path: String,
}
