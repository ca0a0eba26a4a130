//! Who asks: an identity that owns tasks and contexts, and what it may do.
//!
//! In: what authentication found. Out: a [`Caller`], which every operation is done for. Without authentication there is one
//! caller, who has no name and may do everything.
//!
//! An identity is a text, and says who vouches for it: one of a token file stands as it is written there; one of a JWT is
//! `jwt:ISSUER|CLAIM`, and no token file may name such a one. So the same name by two issuers is two owners.

/// How the identities of JWTs begin, and no others.
const OF_JWT: &str = "jwt:";

/// The identity of somebody whom an issuer calls by a name. `|` divides the two: in an issuer it is written `%7C`, and `%`
/// is written `%25`, so that no two pairs have one text. An issuer is a URI as a rule, and has no `|`.
pub(super) fn of_issuer(issuer: &str, name: &str) -> String {
    format!("{OF_JWT}{}|{name}", issuer.replace('%', "%25").replace('|', "%7C"))
}

/// Whether an identity is of the form of those of JWTs, whoever the issuer is.
pub(super) fn is_of_issuer(identity: &str) -> bool {
    identity.starts_with(OF_JWT)
}

/// What a token allows; a token without scopes allows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// Read tasks, evaluate on them.
    TasksRead,
    /// Create tasks and take their steps.
    TasksWrite,
    /// Take tasks away for good.
    TasksPurge,
    /// Unlock tasks, of all callers.
    TasksAdmin,
    /// Decide under which policy tasks go on, of all callers.
    PoliciesWrite,
    /// See which manifests are served.
    ManifestsRead,
    /// Load them anew.
    ManifestsWrite,
    /// Read contexts over JSON-RPC.
    AgentRead,
    /// Clear contexts over JSON-RPC.
    AgentWrite,
    /// Read which contexts agents are in, whoever set them.
    AgentContextsRead,
    /// Set and delete which contexts agents are in, whoever set them.
    AgentContextsWrite,
    /// Read the figures of the server.
    MetricsRead,
    /// See what an operator has stopped.
    SwitchesRead,
    /// Stop agents, tools and users, of all callers.
    SwitchesWrite,
}

impl Scope {
    /// All of them.
    pub(super) const ALL: [Self; 14] = [
        Self::TasksRead,
        Self::TasksWrite,
        Self::TasksPurge,
        Self::TasksAdmin,
        Self::PoliciesWrite,
        Self::ManifestsRead,
        Self::ManifestsWrite,
        Self::AgentRead,
        Self::AgentWrite,
        Self::AgentContextsRead,
        Self::AgentContextsWrite,
        Self::MetricsRead,
        Self::SwitchesRead,
        Self::SwitchesWrite,
    ];

    /// The word in tokens.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
            Self::TasksPurge => "tasks:purge",
            Self::TasksAdmin => "tasks:admin",
            Self::PoliciesWrite => "policies:write",
            Self::ManifestsRead => "manifests:read",
            Self::ManifestsWrite => "manifests:write",
            Self::AgentRead => "agent:read",
            Self::AgentWrite => "agent:write",
            Self::AgentContextsRead => "agent-contexts:read",
            Self::AgentContextsWrite => "agent-contexts:write",
            Self::MetricsRead => "metrics:read",
            Self::SwitchesRead => "switches:read",
            Self::SwitchesWrite => "switches:write",
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
    /// A caller of a server without authentication.
    pub(super) fn anybody() -> Self {
        Self { identity: None, scopes: Scope::ALL.to_vec() }
    }

    /// Somebody with these scopes.
    pub(super) fn new(identity: String, scopes: Vec<Scope>) -> Self {
        Self { identity: Some(identity), scopes }
    }

    /// Whether they may.
    pub(super) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_of_issuer, of_issuer};
    use std::collections::BTreeSet;

    #[test]
    fn no_two_pairs_of_issuer_and_name_are_one_identity() {
        let texts =
            ["a", "a|", "|a", "a|b", "b", "|", "%", "%7C", "%257C", "%25", "jwt:a", "a%", "|%7C", "a%7Cb"];
        let pairs = texts.iter().flat_map(|issuer| texts.map(|name| of_issuer(issuer, name)));
        let identities: BTreeSet<String> = pairs.collect();
        assert_eq!(identities.len(), texts.len() * texts.len());
        assert!(identities.iter().all(|identity| is_of_issuer(identity)));
        assert_eq!(
            of_issuer("https://issuer.example", "did:web:ann"),
            "jwt:https://issuer.example|did:web:ann"
        );
    }
}
