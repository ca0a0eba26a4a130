//! How a policy document says for whom it is: patterns of agents, and keys that select calls.
//!
//! In: the texts of a policy. Out: [`AgentSelector`] and [`CallSelector`], which say yes or no of an agent or of the names and
//! tags of a function. Matched when manifests are linked and never when a call is decided. Each answer is linear in the
//! names and patterns that it looks at.

use super::agent::Agent;
use super::listing::{Annotations, is_like};
use super::node::Node;
use crate::source::Embedded;
use std::collections::BTreeSet;

/// How a key that selects by tag begins.
const TAG: &str = "tag:";

/// The agents that a policy is for.
#[derive(Clone, Debug)]
pub struct AgentSelector {
    /// Patterns of `namespace/name`, in which `*` stands for any characters.
    pub patterns: Vec<Embedded>,
    /// Patterns of those among them for which it is not.
    pub except: Vec<Embedded>,
}

impl AgentSelector {
    /// All agents of a namespace.
    ///
    /// So a policy keeps to its own house unless it says otherwise, as a namespaced policy of Kubernetes does. It could be for
    /// all agents instead; then a team that writes its first policy would change what other teams' agents do. A scope that
    /// is too narrow is seen: a policy that is for no agent is refused.
    pub(super) fn of_namespace(namespace: &Embedded) -> Self {
        let pattern = format!("{}/*", namespace.text);
        Self { patterns: vec![Embedded::new(&*pattern, namespace.place.clone(), [])], except: Vec::new() }
    }

    /// All agents.
    pub(super) fn everybody(node: &Node) -> Self {
        Self { patterns: vec![Embedded::new("*", node.place.clone(), [])], except: Vec::new() }
    }

    /// Whether the policy is for an agent.
    #[must_use]
    pub fn selects(&self, agent: &Agent) -> bool {
        let name = format!("{}/{}", agent.namespace.text, agent.name.text);
        let any = |patterns: &[Embedded]| patterns.iter().any(|pattern| is_like(&name, &pattern.text));
        any(&self.patterns) && !any(&self.except)
    }
}

/// The calls that a key of a policy's `capabilities` selects.
///
/// ```
/// use celador::manifest::selector::CallSelector;
/// assert_eq!(CallSelector::parse("payments_*"), Some(CallSelector::Named("payments_*".into())));
/// assert_eq!(CallSelector::parse("tag:destructive"), Some(CallSelector::Tagged("destructive".into())));
/// assert_eq!(CallSelector::parse("tag:"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallSelector {
    /// Those of functions of which a name is like this: the name that the model calls, the key, or the name of the tool or
    /// agent in the agent's manifest. `*` stands for any characters.
    Named(Box<str>),
    /// Those of functions that have this tag.
    Tagged(Box<str>),
    /// Those of functions that no step mentions; no key is written so.
    Unmentioned,
}

impl CallSelector {
    /// The calls of a key; nothing if a part of it is empty.
    #[must_use]
    pub fn parse(key: &str) -> Option<Self> {
        let selector = match key.strip_prefix(TAG) {
            Some(tag) => (tag, Self::Tagged(tag.into())),
            None => (key, Self::Named(key.into())),
        };
        (!selector.0.trim().is_empty()).then_some(selector.1)
    }

    /// Whether it may select nothing without being misspelt: a baseline for many agents says `tag:destructive` or `*` also
    /// where no tool is destructive or there are no tools.
    pub(super) fn is_general(&self) -> bool {
        match self {
            Self::Named(pattern) => pattern.chars().all(|character| character == '*'),
            Self::Tagged(tag) => OF_HINTS.contains(&&**tag),
            Self::Unmentioned => true,
        }
    }

    /// Whether it selects functions of which nothing is known: `*`, and the tags of a tool that says nothing of itself. A step behind such
    /// calls, or ahead of the first of them, does not say that one of them may be made.
    pub(super) fn is_catch_all(&self) -> bool {
        match self {
            Self::Named(_) => self.is_general(),
            Self::Tagged(tag) => Tags::default().has(tag),
            Self::Unmentioned => false,
        }
    }

    /// Whether it selects the calls of a function with these names and these tags.
    #[must_use]
    pub fn selects<'n>(&self, names: impl IntoIterator<Item = &'n str>, tags: &Tags<'_>) -> bool {
        match self {
            Self::Named(pattern) => names.into_iter().any(|name| is_like(name, pattern)),
            Self::Tagged(tag) => tags.has(tag),
            Self::Unmentioned => false,
        }
    }
}

/// The tags that nobody gives: they follow from the hints of a tool's server.
pub(super) const OF_HINTS: [&str; 4] = ["destructive", "read-only", "idempotent", "open-world"];

/// The tags of a function: those that a document of tools gives it, and those that follow from the hints of its server.
///
/// ```
/// use celador::manifest::listing::Annotations;
/// use celador::manifest::selector::Tags;
///
/// // where nothing is said, the worst is taken for true
/// let unknown = Tags::default();
/// assert!(unknown.has("destructive") && unknown.has("open-world"));
/// assert!(!unknown.has("read-only") && !unknown.has("idempotent"));
///
/// let hints = Annotations { read_only: Some(true), ..Annotations::default() };
/// assert!(Tags { hints, ..Tags::default() }.has("read-only"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Tags<'t> {
    /// What the server says of its calls.
    pub hints: Annotations,
    /// What the document gives.
    pub given: &'t [Embedded],
}

impl<'t> Tags<'t> {
    /// Whether a tag is among them. What a task says of the tools that it brings is not believed: they are `destructive` and
    /// `open-world`, and neither `read-only` nor `idempotent`.
    #[must_use]
    pub fn has(&self, tag: &str) -> bool {
        let Self { hints, given } = self;
        let is_believed = |hint: Option<bool>| hint == Some(true) && !hints.untrusted;
        match tag {
            "destructive" => hints.is_destructive(),
            "read-only" => is_believed(hints.read_only),
            "idempotent" => is_believed(hints.idempotent),
            "open-world" => hints.untrusted || hints.open_world != Some(false),
            own => given.iter().any(|tag| *tag.text == *own),
        }
    }

    /// All of them, each once, in order.
    #[must_use]
    pub fn all(self) -> BTreeSet<&'t str> {
        let given = self.given.iter().map(|tag| &*tag.text);
        given.chain(OF_HINTS.into_iter().filter(|tag| self.has(tag))).collect()
    }
}
