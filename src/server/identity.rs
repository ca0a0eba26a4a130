//! Who asks: an identity that owns tasks and contexts, and what it may do.
//!
//! In: what authentication found. Out: a [`Caller`], which every operation is done for. Without authentication there is one
//! caller, who has no name and may do everything.
//!
//! An identity is a text, and says who vouches for it: one of a token file stands as it is written there; one of a JWT is
//! `jwt:ISSUER|CLAIM`, and no token file may name such a one. So the same name by two issuers is two owners.
//!
//! A review is addressed to a name, an e-mail address or a group. Names are those of one issuer: of the JWTs where they are
//! believed, and of the token file otherwise. An e-mail address is whose issuer says that it is verified.

use celador::task::{Identity, ReviewRecord};
use celador_store::reviewer_name;

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
    /// Unlock tasks, and see the reviews of all tasks, of all callers.
    TasksAdmin,
    /// Read the reviews that are addressed to the caller, and those of their own tasks.
    ReviewsRead,
    /// Answer the reviews that are addressed to the caller.
    ReviewsWrite,
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
    /// See the counters of all callers.
    CountersRead,
    /// Reset them.
    CountersWrite,
}

impl Scope {
    /// All of them.
    pub(super) const ALL: [Self; 18] = [
        Self::TasksRead,
        Self::TasksWrite,
        Self::TasksPurge,
        Self::TasksAdmin,
        Self::ReviewsRead,
        Self::ReviewsWrite,
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
        Self::CountersRead,
        Self::CountersWrite,
    ];

    /// The word in tokens.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::TasksRead => "tasks:read",
            Self::TasksWrite => "tasks:write",
            Self::TasksPurge => "tasks:purge",
            Self::TasksAdmin => "tasks:admin",
            Self::ReviewsRead => "reviews:read",
            Self::ReviewsWrite => "reviews:write",
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
            Self::CountersRead => "counters:read",
            Self::CountersWrite => "counters:write",
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
    /// The person, as reviews are addressed to them; none without authentication.
    pub(super) person: Option<Person>,
    scopes: Vec<Scope>,
}

impl Caller {
    /// A caller of a server without authentication.
    pub(super) fn anybody() -> Self {
        Self { identity: None, person: None, scopes: Scope::ALL.to_vec() }
    }

    /// The server itself, which does what is due and nobody asks for.
    pub(super) fn nobody() -> Self {
        Self { identity: None, person: None, scopes: Vec::new() }
    }

    /// Somebody with these scopes.
    pub(super) fn new(identity: String, person: Person, scopes: Vec<Scope>) -> Self {
        Self { identity: Some(identity), person: Some(person), scopes }
    }

    /// The same, as this person answers reviews.
    pub(super) fn speaking(self, person: Person) -> Self {
        Self { person: Some(person), ..self }
    }

    /// Whether they may.
    pub(super) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// A person, as whoever vouches for them knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// The issuer of their token; none of a token of the server's file.
    pub(super) issuer: Option<String>,
    /// The name that the issuer, or the file, has for them.
    pub(super) subject: String,
    /// Whether reviews are addressed to them by that name.
    pub(super) is_named: bool,
    /// Their e-mail address, if it is verified.
    pub(super) email: Option<String>,
    /// An e-mail address that nobody says is verified.
    pub(super) unverified_email: Option<String>,
    /// The groups that they are in.
    pub(super) groups: Vec<String>,
}

/// What stands in front of the name of a group in the name of a reviewer.
const GROUP: &str = "group:";

impl Person {
    /// The names under which reviews are addressed to this person and to nobody else.
    fn own_names(&self) -> impl Iterator<Item = String> {
        let of_issuer = self.issuer.as_deref().map(|issuer| of_issuer(issuer, &self.subject));
        // what an issuer has for a name may look like somebody's address, and be no address that it has verified
        let is_named = self.is_named && (self.issuer.is_none() || !self.subject.contains('@'));
        let name = is_named.then(|| self.subject.clone());
        [of_issuer, name, self.email.clone()].into_iter().flatten().map(|name| reviewer_name(&name))
    }

    /// The names under which reviews are addressed to this person: their own, and those of their groups.
    pub(super) fn names(&self) -> Vec<String> {
        let groups = self.groups.iter().filter(|group| !group.contains('@'));
        let groups = groups.flat_map(|group| [group.clone(), format!("{GROUP}{group}")]);
        self.own_names().chain(groups.map(|name| reviewer_name(&name))).collect()
    }

    /// Whether a review is addressed to them, by a name of their own or of a group.
    pub(super) fn is_addressed(&self, review: &ReviewRecord) -> bool {
        let names = self.names();
        review.addressees().any(|asked| names.contains(&reviewer_name(asked)))
    }

    /// Whether they would approve for themselves: they are the person for whom the task runs, and the review is addressed to a
    /// group that they happen to be in.
    pub(super) fn is_own_judge(&self, review: &ReviewRecord) -> bool {
        self.is_user(review) && self.own_names_in(review).is_empty()
    }

    /// The names of a review that are theirs and nobody else's.
    fn own_names_in(&self, review: &ReviewRecord) -> Vec<String> {
        let own: Vec<String> = self.own_names().collect();
        let is_own = |asked: &&str| own.contains(&reviewer_name(asked));
        review.addressees().filter(is_own).map(str::to_owned).collect()
    }

    /// The names of a review of several people by which their answer counts. The person for whom the task runs speaks for no
    /// group.
    pub(super) fn names_in(&self, review: &ReviewRecord) -> Vec<String> {
        if review.panel.is_none() {
            return Vec::new();
        }
        if self.is_user(review) && !self.own_names_in(review).is_empty() {
            return self.own_names_in(review);
        }
        let names = self.names();
        let is_theirs = |asked: &&str| names.contains(&reviewer_name(asked));
        review.addressees().filter(is_theirs).map(str::to_owned).collect()
    }

    /// Whether they are the person for whom the task of a review runs, as far as anybody can tell.
    fn is_user(&self, review: &ReviewRecord) -> bool {
        let user = &review.user;
        let of_issuer = self.issuer.as_deref().map(|issuer| of_issuer(issuer, &self.subject));
        let emails = [&self.email, &self.unverified_email].into_iter().flatten();
        let emails: Vec<String> = emails.map(|email| reviewer_name(email)).collect();
        let is_email = |text: &str| emails.contains(&reviewer_name(text));
        user.id == self.subject
            || of_issuer.is_some_and(|name| name == user.id)
            || [Some(&user.id), user.email.as_ref()].into_iter().flatten().map(String::as_str).any(is_email)
    }

    /// The person as a review says who answered it.
    pub(super) fn identity(&self) -> Identity {
        let Self { issuer, subject, email, .. } = self.clone();
        Identity { issuer, subject, email }
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
