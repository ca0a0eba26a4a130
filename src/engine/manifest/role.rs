//! What a YAML document is, told by its keys before it is read.
//!
//! In: a document. Out: its [`Role`]. This is the only place that tells: commands that load manifests and commands that run
//! cases ask here, so a file is never a case for one of them and something else for another. A document that is nearly one of
//! ours is [`Role::Doubtful`]: rules or cases may be lost in it. Linear in the keys of the document.

use super::doubt::Doubt;
use super::kind::{DocumentKind, INVARIANTS};
use super::messages;
use super::mount::Mount;
use super::node::{Data, Entry, Node};
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Place, Source, Span};

/// What a document is.
#[derive(Debug)]
pub enum Role<'d> {
    /// A manifest, or something that is meant as one.
    Manifest,
    /// One case, or several in a file.
    Cases,
    /// A recorded task, a file of invariants, or the state of a task: neither manifest nor case.
    Companion,
    /// Nearly a manifest, a case or a recorded task, and none of them.
    Doubtful(Doubt<'d>),
    /// A document of another program.
    Foreign,
}

impl<'d> Role<'d> {
    /// The role of a document.
    #[must_use]
    pub fn of(node: &'d Node) -> Self {
        let has = |key: &str| node.get(key).is_some();
        if let Some(kind) = node.get("kind") {
            let kind = kind.as_string();
            return match kind.map(|kind| &*kind.text) {
                Some(INVARIANTS) => Self::Companion,
                Some(kind) if DocumentKind::is_meant(kind) => Self::Manifest,
                _ => doubt(node).map_or(Self::Foreign, Self::Doubtful),
            };
        }
        if Mount::is_meant(node) {
            Self::Manifest
        } else if is_case(node) || has("cases") && has_cases(node) {
            Self::Cases
        } else if has("agent") && has("steps") || is_state(node) {
            Self::Companion
        } else {
            doubt(node).map_or(Self::Foreign, Self::Doubtful)
        }
    }

    /// What is found about a document of a folder that neither manifests nor cases are read from.
    #[must_use]
    pub fn finding(&self, node: &Node) -> Option<Diagnostic> {
        match self {
            Self::Manifest | Self::Cases | Self::Companion => None,
            Self::Doubtful(doubt) => Some(messages::skipped_document(doubt, &DocumentKind::all_current())),
            Self::Foreign => Some(messages::not_a_manifest(&node.place)),
        }
    }
}

/// What is found about a file of a folder without a document: what it held is lost.
#[must_use]
pub fn empty_file(source: &Source) -> Diagnostic {
    messages::empty_file(Place::new(source, Span::default()))
}

/// Whether the keys are those of a single case.
fn is_case(node: &Node) -> bool {
    let has = |key: &str| node.get(key).is_some();
    has("call") || has("expect") || (has("name") && (has("steps") || has("story")))
}

/// Whether `cases` holds cases.
fn has_cases(node: &Node) -> bool {
    let cases = node.get("cases").and_then(Node::as_mapping).unwrap_or_default();
    let is_one = |case: &Entry| is_case(&case.value) || case.value.get("story").is_some();
    node.get("manifest").is_some() || cases.iter().any(is_one)
}

/// Whether a document is the state of a task: `env` and `state`, and nothing else.
fn is_state(node: &Node) -> bool {
    let keys = node.as_mapping().unwrap_or_default();
    node.get("state").is_some() && keys.iter().all(|entry| matches!(&*entry.key.text, "env" | "state"))
}

fn doubt(node: &Node) -> Option<Doubt<'_>> {
    let entries = match &node.data {
        Data::Mapping(entries) => entries,
        Data::Sequence(items) => {
            let is_ours =
                |item: &Node| item.as_mapping().is_some() && !matches!(Role::of(item), Role::Foreign);
            return items.iter().any(is_ours).then_some(Doubt::NoMapping(node));
        }
        Data::Null => return None,
        Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::String(_) => {
            return Some(Doubt::NoMapping(node));
        }
    };
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
    if has_our_shape(node) {
        return Some(Doubt::Shape(&node.place));
    }
    doubtful_case(entries).filter(|_| node.get("kind").is_none())
}

/// Whether a text was to be a kind: its domain is nearly ours, or it is a version and a type of ours alone.
fn is_nearly_kind(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let domain = text.split('/').next().unwrap_or_default();
    // a third of a longer text may be anything
    let is_near = text.contains('/')
        && domain.len() < 24
        && nearest(domain, ["commonagents.info", "celador"]).is_some();
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
    let of_policies = ["namespace", "name"].iter().all(has)
        && any(&[
            "actions",
            "applies_to",
            "claims",
            "counters",
            "default",
            "expressions",
            "functions",
            "limits",
            "parameters",
            "reviews",
            "uses",
            "variables",
        ]);
    !any(&["apiVersion"]) && (of_rules || of_agents || of_policies)
}

/// The keys that tell cases and recorded tasks from other documents. A case without one of the first five is none.
const CASE_KEYS: [&str; 8] = ["call", "expect", "cases", "steps", "story", "manifest", "mocks", "state"];

/// The key that keeps a document from being a case: two of its keys are those of a case, or nearly so.
fn doubtful_case(entries: &[Entry]) -> Option<Doubt<'_>> {
    let near = |entry: &Entry| {
        let key = &*entry.key.text;
        CASE_KEYS.into_iter().find(|known| *known == key).or_else(|| nearest(key, CASE_KEYS))
    };
    let found: Vec<(&Entry, &'static str)> =
        entries.iter().filter_map(|entry| Some((entry, near(entry)?))).collect();
    if found.len() < 2 {
        return None;
    }
    let is_misspelt = |(entry, near): &&(&Entry, &str)| *entry.key.text != **near;
    let (entry, near) = found.iter().find(is_misspelt).or(found.first())?;
    Some(Doubt::Case { key: &entry.key, near })
}
