//! Who asks: an identity that owns tasks and contexts, and what it may do.
//!
//! In: what authentication found. Out: a [`Caller`], which every operation is done for. Without authentication there is one
//! caller, who has no name and may do everything.

/// What a token allows; a token without scopes allows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// Read tasks, evaluate on them.
    TasksRead,
    /// Create tasks and take their steps.
    TasksWrite,
    /// See which manifests are served.
    ManifestsRead,
    /// Load them anew.
    ManifestsWrite,
    /// Read contexts over JSON-RPC.
    AgentRead,
    /// Clear contexts over JSON-RPC.
    AgentWrite,
    /// Read the figures of the server.
    MetricsRead,
}

impl Scope {
    /// All of them.
    pub(super) const ALL: [Self; 7] = [
        Self::TasksRead,
        Self::TasksWrite,
        Self::ManifestsRead,
        Self::ManifestsWrite,
        Self::AgentRead,
        Self::AgentWrite,
        Self::MetricsRead,
    ];

    /// The word in tokens.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
            Self::ManifestsRead => "manifests:read",
            Self::ManifestsWrite => "manifests:write",
            Self::AgentRead => "agent:read",
            Self::AgentWrite => "agent:write",
            Self::MetricsRead => "metrics:read",
        }
    }

    /// The scope of a word. A word that is not known allows nothing here; it may mean something elsewhere.
    pub(super) fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    /// The owner of what is created; none without authentication.
    pub(super) identity: Option<String>,
    scopes: Vec<Scope>,
}

impl Caller {
    /// Anybody, where nobody has to say who he is.
    pub(super) fn anybody() -> Self {
        Self { identity: None, scopes: Scope::ALL.to_vec() }
    }

    /// Somebody with these scopes.
    pub(super) fn new(identity: String, scopes: Vec<Scope>) -> Self {
        Self { identity: Some(identity), scopes }
    }

    /// Whether he may.
    pub(super) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}
