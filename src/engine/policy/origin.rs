//! Where a rule of a policy stands, as plain data: what a decision points to.

use crate::manifest::policy_step::PolicyStep;
use crate::source::{Place, Position};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A place in the manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// The manifest path, such as `capabilities.ledger.before[0].assert`.
    pub path: String,
    /// The name of the file or text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The name of the step, where it is one of a policy document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<PolicyStep>>,
}

impl Origin {
    /// The place of a manifest path. Logarithmic in the lines of the file.
    #[must_use]
    pub fn new(path: &str, place: &Place) -> Self {
        let Position { line, column } = place.position();
        Self { path: path.to_owned(), file: place.source.name().to_owned(), line, column, policy: None }
    }

    /// What tells the rule from all others, in a word: the name of a step of a policy, the path of one of a manifest.
    #[must_use]
    pub fn name(&self) -> String {
        self.policy.as_ref().map_or_else(|| self.path.clone(), |policy| policy.at(&self.path))
    }

    /// The same for a part of a step of a policy document, if it is one.
    #[must_use]
    pub(super) fn of(self, step: Option<&Arc<PolicyStep>>) -> Self {
        Self { policy: step.cloned(), ..self }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.path)
    }
}
