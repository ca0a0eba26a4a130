//! What views of a decision do not show, as plain data.

use serde::{Deserialize, Serialize};

/// The places and texts of a decision that views mask. It holds no secret itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hidden {
    /// Places in the value ([`Verdict::value`](crate::task::Verdict::value)), as JSON pointers; the empty one is all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<String>,
    /// Places in [`Allowed::exposes`](crate::task::Allowed::exposes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exposes: Vec<String>,
    /// What is shown in the place of the message, and of the reason where that says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is shown in the place of [`Refused::user_message`](crate::task::Refused::user_message).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message: Option<String>,
}

/// A text of a manifest, rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::task) struct Said {
    /// For whoever has to know.
    pub(in crate::task) text: String,
    /// For views, if a secret is in it.
    pub(in crate::task) shown: Option<String>,
}

impl Said {
    /// As views show it.
    pub(in crate::task) fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.text)
    }
}

impl From<String> for Said {
    /// A text that holds no value.
    fn from(text: String) -> Self {
        Self { text, shown: None }
    }
}

impl Hidden {
    /// What a step that stops something says, as views show it.
    pub(in crate::task) fn said(message: Option<String>, user_message: Option<&Said>) -> Option<Box<Self>> {
        let user_message = user_message.and_then(|said| said.shown.clone());
        Self { message, user_message, ..Self::default() }.some()
    }

    /// The same if there is anything to hide.
    pub(in crate::task) fn some(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
