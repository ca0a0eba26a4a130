//! The agent card: what A2A clients read before they call.
//!
//! In: the name and address of a server. Out: the card, which declares the extensions of [`EXTENSIONS`] with
//! `required: false` (D15). It has the members of A2A 1.0 and those that clients of A2A 0.3 look for.

use super::extension::{EXTENSIONS, Extension};
use serde::Serialize;

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
/// let json = serde_json::to_value(card.document())?;
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

/// The agent card of A2A, as it stands under `/.well-known/agent-card.json`.
///
/// ```
/// use celador_store::conversation::{AgentCard, Card};
///
/// let card = Card { name: "Desk", description: "Support", version: "1.0", url: "https://desk.example.com/" };
/// let document: AgentCard<'_> = card.document();
/// assert_eq!(serde_json::to_value(&document)?["preferredTransport"], "JSONRPC");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentCard<'c> {
    /// The name of the server, for people.
    name: &'c str,
    /// Its purpose, for people.
    description: &'c str,
    /// Its own version.
    version: &'c str,
    /// The addresses and versions of its protocols, as A2A 1.0 has them.
    supported_interfaces: [Interface<'c>; 2],
    /// The version of the protocol, as A2A 0.3 has it.
    protocol_version: &'static str,
    /// The address of JSON-RPC requests, as A2A 0.3 has it.
    url: &'c str,
    /// The transport at that address.
    preferred_transport: &'static str,
    /// What the server can do beyond answering requests.
    capabilities: Capabilities,
    /// The media types that it takes.
    default_input_modes: [&'static str; 1],
    /// The media types that it gives.
    default_output_modes: [&'static str; 1],
    /// It has no skills of an agent.
    skills: [&'static str; 0],
}

/// A protocol and its address.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Interface<'c> {
    /// The address of its requests.
    url: &'c str,
    /// The form of requests and answers.
    protocol_binding: &'static str,
    /// The version of the protocol.
    protocol_version: &'static str,
}

/// What a server can do beyond answering requests.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct Capabilities {
    /// Whether it streams.
    streaming: bool,
    /// Whether it calls clients.
    push_notifications: bool,
    /// The extensions that it knows.
    extensions: Vec<DeclaredExtension>,
}

/// An extension that a server knows.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct DeclaredExtension {
    /// The URI by which a client asks for it.
    uri: &'static str,
    /// Its description, for people.
    description: &'static str,
    /// Whether clients have to know it.
    required: bool,
}

impl<'c> Card<'c> {
    /// The card as clients read it.
    #[must_use]
    pub fn document(&self) -> AgentCard<'c> {
        let Self { name, description, version, url } = *self;
        let interface = |protocol_version| Interface { url, protocol_binding: "JSONRPC", protocol_version };
        let declared =
            |Extension { uri, description }| DeclaredExtension { uri, description, required: false };
        let extensions = EXTENSIONS.into_iter().map(declared).collect();
        AgentCard {
            name,
            description,
            version,
            supported_interfaces: [interface("1.0"), interface("0.3")],
            protocol_version: "0.3.0",
            url,
            preferred_transport: "JSONRPC",
            capabilities: Capabilities { streaming: false, push_notifications: false, extensions },
            default_input_modes: ["text/plain"],
            default_output_modes: ["text/plain"],
            skills: [],
        }
    }
}
