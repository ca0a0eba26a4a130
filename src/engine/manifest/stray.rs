//! Documents of a folder that are no manifests: those of another program, and those that are meant as ours.
//!
//! In: a document without a kind that is ours. Out: one finding. A kind that is nearly one of ours, a `kind` that is
//! misspelt and keys that only our manifests have together say that rules were meant; whatever else lies in a folder is
//! another program's.

use super::kind::DocumentKind;
use super::messages::{self, Doubt};
use super::node::{Entry, Node};
use crate::diagnostic::{Diagnostic, nearest};

/// What is said of a document that is skipped.
pub(super) fn finding(node: &Node) -> Diagnostic {
    match doubt(node) {
        Some(doubt) => messages::skipped_document(&doubt, &DocumentKind::all_current()).rule("KV-01"),
        None => messages::not_a_manifest(&node.place),
    }
}

fn doubt(node: &Node) -> Option<Doubt<'_>> {
    let entries = node.as_mapping()?;
    let named = |entry: &Entry| entry.value.as_string().is_some_and(|text| is_nearly_kind(&text.text));
    if let Some(kind) = node.get("kind").and_then(Node::as_string).filter(|text| is_nearly_kind(&text.text)) {
        return Some(Doubt::Kind(kind));
    }
    let is_key = |entry: &&Entry| {
        matches!(&*entry.key.text, "apiVersion" | "type") || nearest(&entry.key.text, ["kind"]).is_some()
    };
    if let Some(entry) = entries.iter().filter(is_key).find(|entry| named(entry)) {
        return Some(Doubt::Key(&entry.key));
    }
    has_our_shape(node).then_some(Doubt::Shape(&node.place))
}

/// Whether a text was to be a kind: it names our house or nearly so, or a version and a type of ours stand alone.
fn is_nearly_kind(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let house = text.split('/').next().unwrap_or_default();
    // a third of a longer text may be anything
    let is_near =
        text.contains('/') && house.len() < 24 && nearest(house, ["commonagents.info", "celador"]).is_some();
    let is_ours = ["commonagent", "celador/"].iter().any(|ours| text.starts_with(ours));
    is_near || is_ours || DocumentKind::is_ending(&text)
}

/// Whether the keys of a document stand together in our manifests alone.
fn has_our_shape(node: &Node) -> bool {
    let has = |key: &&str| node.get(key).is_some();
    let any = |keys: &[&str]| keys.iter().any(has);
    let of_rules = any(&["guardrails", "middleware"])
        && any(&["namespace", "name", "agent", "prompt", "capabilities", "limits", "tools"]);
    let of_agents = any(&["capabilities"]) && any(&["namespace", "agent", "prompt", "limits"]);
    let of_tools = ["namespace", "name", "actions"].iter().all(has);
    !any(&["apiVersion"]) && (of_rules || of_agents || of_tools)
}
