//! Which reviews are listed, and who answers them.
//!
//! The program that embeds the engine names the person who answers. A server takes them from the token.

use celador::task::ReviewState;

/// Which reviews are listed.
#[derive(Clone, Debug, Default)]
pub struct ReviewFilter {
    /// Those in this state; without one all.
    pub state: Option<ReviewState>,
    /// Those of this person or group.
    pub reviewer: Option<String>,
    /// Those of this task.
    pub task: Option<String>,
}

/// A person who answers reviews. The program that embeds the engine vouches for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Their id.
    pub id: String,
    /// Their e-mail address.
    pub email: Option<String>,
    /// The groups that they are in.
    pub groups: Vec<String>,
}

impl Person {
    /// The names under which a review may be addressed to them.
    pub(crate) fn names(&self) -> Vec<String> {
        let groups = self.groups.iter().flat_map(|group| [group.clone(), format!("group:{group}")]);
        [Some(self.id.clone()), self.email.clone()].into_iter().flatten().chain(groups).collect()
    }
}
