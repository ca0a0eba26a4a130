//! Whose a task is.

use std::sync::Arc;

/// The owner of a task: the identity of the caller that created it, as authentication gives it.
///
/// ```
/// use celador_store::Owner;
///
/// assert_eq!(Owner::caller("desk").as_str(), "desk");
/// assert_eq!(Owner::nobody().as_str(), "");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(Arc<str>);

impl Owner {
    /// An identity. The empty one is nobody's: authentication must not give it to anybody.
    #[must_use]
    pub fn caller(identity: &str) -> Self {
        Self(identity.into())
    }

    /// Nobody: where callers are not told apart.
    #[must_use]
    pub fn nobody() -> Self {
        Self("".into())
    }

    /// The identity; empty of nobody.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
