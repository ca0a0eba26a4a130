//! The agent card: what A2A clients read before they call.
//!
//! In: the name and address of a server. Out: the card as JSON, which declares the extensions of [`EXTENSIONS`] with
//! `required: false` (D15). It has the members of A2A 1.0 and those that clients of A2A 0.3 look for.

use super::extension::EXTENSIONS;
use serde_json::{Value, json};

/// The agent card: the description of a server for its clients.
///
/// ```
/// use celador_store::conversation::{Card, EXTENSIONS, Extension};
///
/// let card = Card {
///     name: "Support desk",
///     description: "Answers customers of the shop.",
///     version: "1.4.0",
///     url: "https://desk.example.com/",
/// };
/// let json = card.json();
/// assert_eq!(json["supportedInterfaces"][0]["url"], "https://desk.example.com/");
///
/// // a client that looks for a method finds its URI, and may do without it
/// let declared = json["capabilities"]["extensions"].as_array().ok_or("the card declares extensions")?;
/// assert_eq!(declared.len(), EXTENSIONS.len());
/// for (Extension { uri, .. }, declared) in EXTENSIONS.iter().zip(declared) {
///     assert_eq!((declared["uri"].as_str(), declared["required"].as_bool()), (Some(*uri), Some(false)));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Card<'c> {
    /// Its name, for people.
    pub name: &'c str,
    /// Its purpose, for people.
    pub description: &'c str,
    /// Its own version.
    pub version: &'c str,
    /// Where JSON-RPC requests go.
    pub url: &'c str,
}

impl Card<'_> {
    /// The card, as it stands under `/.well-known/agent-card.json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let extensions: Vec<Value> = EXTENSIONS
            .iter()
            .map(|extension| {
                json!({"uri": extension.uri, "description": extension.description, "required": false})
            })
            .collect();
        let interface = |version: &str| json!({"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": version});
        json!({
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "supportedInterfaces": [interface("1.0"), interface("0.3")],
            "protocolVersion": "0.3.0",
            "url": self.url,
            "preferredTransport": "JSONRPC",
            "capabilities": {"streaming": false, "pushNotifications": false, "extensions": extensions},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        })
    }
}
