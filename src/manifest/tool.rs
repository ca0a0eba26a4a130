//! The tool manifest (TOOL): actions that go out, events that come in, and how each is carried.
//!
//! In: the mapping of one document. Out: a [`Tool`]. It reads all of the document and reports each problem; a part that
//! has one is left out and the tool is not [sound](Tool::sound). Backends other than `cel` are kept as they were
//! written: carrying them out is the host's affair. It never looks at another document and never reads an expression.

use super::binding::Binding;
use super::kind::Kind;
use super::node::Node;
use super::schema::Property;
use crate::source::{Embedded, Place};

/// A tool manifest.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `tools[0]`.
    pub path: String,
    /// Whether nothing in this document is an error; an agent that uses a tool that is not sound must never run.
    pub sound: bool,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: Embedded,
    /// Its name, unique in the namespace.
    pub name: Embedded,
    /// What it is for.
    pub description: Option<Embedded>,
    /// Whether its actions run while the task waits (TOOL-05).
    pub synchronous: bool,
    /// What operators configure; never shown to the model (PAR-13).
    pub settings: Vec<Property>,
    /// Parameters of every action and every event (PAR-01).
    pub parameters: Vec<Property>,
    /// What the model can call.
    pub actions: Vec<ActionDecl>,
    /// What can happen outside.
    pub events: Vec<EventDecl>,
    /// Runtime blocks at the top, shared by the actions (TOOL-02).
    pub runtimes: Vec<Runtime>,
}

impl Tool {
    /// Whether its parameters come from elsewhere (`openapi`, `mcp`), so that they cannot be checked here (PAR-12).
    #[must_use]
    pub fn has_derived_parameters(&self) -> bool {
        let actions = self.actions.iter().filter_map(|action| match &action.execute {
            Execute::Cel(_) => None,
            Execute::Runtime(runtime) => Some(runtime),
        });
        self.runtimes.iter().chain(actions).any(|runtime| runtime.kind.derives_parameters())
    }
}

/// An action as a tool declares it.
#[derive(Clone, Debug)]
pub struct ActionDecl {
    /// The manifest path, such as `actions[0]`.
    pub path: String,
    /// Its name, unique in the tool after sanitising (TOOL-04).
    pub name: Embedded,
    /// What the model is told about it.
    pub description: Option<Embedded>,
    /// Its own parameters.
    pub parameters: Vec<Property>,
    /// How it is carried out.
    pub execute: Execute,
}

/// How an action is carried out: exactly one way (TOOL-01).
#[derive(Clone, Debug)]
pub enum Execute {
    /// The expression whose value is the output (TOOL-06).
    Cel(Embedded),
    /// A runtime of the host, declared with the action or at the top of the tool (TOOL-02).
    Runtime(Runtime),
}

/// A runtime block as it was written; its texts are templates (INT-03).
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Which one.
    pub kind: RuntimeKind,
    /// The manifest path, such as `actions[0].execute.stateless_http`.
    pub path: String,
    /// Its configuration.
    pub node: Node,
}

/// The runtimes of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// `stateless_http`
    StatelessHttp,
    /// `stateful_session`
    StatefulSession,
    /// `openapi`
    OpenApi,
    /// `mcp`
    Mcp,
    /// `kubernetes_job`
    KubernetesJob,
    /// `filesystem` of `v1`: read, without effect (KV-14).
    Filesystem,
}

/// An event as a tool declares it.
#[derive(Clone, Debug)]
pub struct EventDecl {
    /// The manifest path, such as `events[0]`.
    pub path: String,
    /// Its name, unique in the tool (EVT-18).
    pub name: Embedded,
    /// For people; never shown to the model (EVT-17).
    pub description: Option<Embedded>,
    /// The template of the input it becomes (EVT-06).
    pub message: Option<Embedded>,
    /// How long a subscription lives without activity, in nanoseconds (SUB-03).
    pub timeout: Option<i64>,
    /// The most that an agent may ask for, in nanoseconds (SUB-02).
    pub max_timeout: Option<i64>,
    /// Its own parameters, for the filter; empty if `aliases` are given instead.
    pub parameters: Vec<Property>,
    /// Names of the event's data (EVT-08): `author: event.payload.user.login` defines `event.author`.
    pub aliases: Vec<Binding>,
    /// How it arrives: exactly one way (EVT-02).
    pub receive: Receive,
}

/// How an event arrives.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The way.
    pub kind: ReceiveKind,
    /// The manifest path, such as `events[0].receive.webhook`.
    pub path: String,
    /// An expression that must be true for the event to count (EVT-03).
    pub filter: Option<Embedded>,
    /// The whole block as written; texts in it are templates (INT-14).
    pub node: Node,
}

/// The ways in which an event arrives.
#[derive(Clone, Debug)]
pub enum ReceiveKind {
    /// The platform posts to us.
    Webhook {
        /// The template of the signing secret; without it nothing is checked (WH-01, WH-03).
        secret: Option<Embedded>,
    },
    /// We ask the platform to post to us.
    Subscription,
    /// We ask again and again.
    Poll {
        /// An expression over `response` that gives the list of new items (TOOL-13).
        detect: Embedded,
    },
}

impl RuntimeKind {
    /// Whether its functions' parameters come from a description that lies elsewhere (TOOL-10, PAR-12).
    #[must_use]
    pub fn derives_parameters(self) -> bool {
        matches!(self, Self::OpenApi | Self::Mcp | Self::Filesystem)
    }
}
