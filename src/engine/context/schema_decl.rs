//! What the context of an agent is made from: its functions and tools, and what its entries carry.
//!
//! Data only: a compiled agent fills it in, and `schema` makes the types of `context` out of it. A function is a number
//! from here on, its position in the list.

use super::copy_index::CopyRules;
use crate::cel::{Domain, RecordType, Type};
use crate::hash_key::HashKey;
use std::sync::Arc;

/// A function of a schema: its position among the declared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// A function that the agent can call or invoke.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// Its name for the model, which is its key in `context.capabilities` (`KEY-04`).
    pub key: Arc<str>,
    /// The type of its arguments.
    pub input: Type,
    /// The type of its results. Records hold null for what never ran and whatever a failed call gave, so a type that
    /// says more than `dyn` or a record whose fields may all be absent claims too much.
    pub output: Type,
    /// Whether it is a sub-agent.
    pub delegation: bool,
}

/// A tool with several actions: it has a record of its own that sums up its functions (`KEY-10`).
#[derive(Clone, Debug)]
pub struct ToolDecl {
    /// Its sanitised reference, the key in `context.capabilities`.
    pub key: Arc<str>,
    /// Its functions.
    pub members: Vec<FunctionId>,
}

/// The declarations that a schema is made from.
#[derive(Clone, Debug, Default)]
pub struct SchemaDecl {
    /// Every function that the agent can call or invoke (`KEY-11`).
    pub functions: Vec<FunctionDecl>,
    /// The tools among them that have several actions.
    pub tools: Vec<ToolDecl>,
    /// The agent's parameters but for `message`: further keys of an entry of `context.input` (`CTX-14`).
    pub parameters: Vec<(Arc<str>, Type)>,
    /// What is known of the values of these beyond their types, where no transform puts other entries in the place of inputs.
    pub domains: Vec<(Arc<str>, Arc<Domain>)>,
    /// The names of `exposes`: further keys of an entry of `context.output` (`CTX-16`).
    pub exposes: Vec<(Arc<str>, Type)>,
    /// The claims of the user that policies name: `context.user.claims`. Without them there is no such field (`CTX-04`).
    pub claims: Option<Arc<RecordType>>,
    /// Whether an entry of `context.input` never has other keys. A transform may replace whole entries (`GR-11`).
    pub closed_inputs: bool,
    /// The same of `context.output`.
    pub closed_outputs: bool,
    /// How copies of values are looked for.
    pub copies: CopyRules,
    /// How many values of a task may have a pseudonym, and what they may weigh.
    pub most_pseudonyms: (usize, usize),
    /// The key of `pii.hash`.
    pub hash_key: Option<HashKey>,
}
