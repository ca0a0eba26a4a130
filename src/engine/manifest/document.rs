//! One document of any kind: told apart by `kind`, then read.
//!
//! In: a parsed YAML document and the path that findings about it begin with. Out: a [`Document`] or, if not even its
//! kind is known, nothing but findings.

use super::agent::Agent;
use super::descriptor::Descriptor;
use super::kind::{DocumentKind, Family};
use super::messages;
use super::mount::Mount;
use super::node::Node;
use super::reader::{Path, Reader};
use super::schedule::Schedule;
use super::tool::Tool;
use super::trigger::DeclaredTrigger;
use super::yaml::YamlDocument;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;

/// A document that was read.
#[derive(Clone, Debug)]
pub enum Document {
    /// An agent.
    Agent(Box<Agent>),
    /// A tool.
    Tool(Box<Tool>),
    /// The workspace mount, which has no `kind`.
    Mount(Box<Mount>),
    /// A schedule.
    Schedule(Box<Schedule>),
    /// A trigger.
    Trigger(Box<DeclaredTrigger>),
    /// What a bundle says about itself.
    Descriptor(Box<Descriptor>),
}

impl Document {
    /// Reads a document; `path` is where findings about it begin: empty, or a prefix such as `tools[0]`.
    ///
    /// Nothing comes back if the document is no mapping or its `kind` is missing or unknown.
    pub fn read(
        document: &YamlDocument,
        path: &str,
        limits: &EngineLimits,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        if document.node.get("kind").is_none() && Mount::is_meant(&document.node) {
            return Mount::read(document, path, findings).map(|mount| Self::Mount(Box::new(mount)));
        }
        let mut reader = Reader::within(limits);
        let path = Path::document(path);
        let read = read_kind(&document.node, &path, &mut reader).and_then(|kind| match kind.family {
            Family::Agent => {
                let agent = Agent::read(document, kind, &path, &mut reader)?;
                Some(Self::Agent(Box::new(agent)))
            }
            Family::Tool => {
                let tool = Tool::read(document, kind, &path, &mut reader)?;
                Some(Self::Tool(Box::new(tool)))
            }
            Family::Schedule => {
                let schedule = Schedule::read(document, kind, &path, &mut reader)?;
                Some(Self::Schedule(Box::new(schedule)))
            }
            Family::Trigger => {
                let trigger = DeclaredTrigger::read(document, kind, &path, &mut reader)?;
                Some(Self::Trigger(Box::new(trigger)))
            }
            Family::BundleDescription => {
                let descriptor = Descriptor::read(document, kind, &path, &mut reader)?;
                Some(Self::Descriptor(Box::new(descriptor)))
            }
        });
        findings.extend(reader.into_findings());
        read
    }

    /// Type and name, as `agent/clerk`.
    #[must_use]
    pub fn title(&self) -> String {
        let (family, name) = match self {
            Self::Agent(agent) => ("agent", &agent.name),
            Self::Tool(tool) => ("tool", &tool.name),
            Self::Mount(mount) => ("mount", &mount.name),
            Self::Schedule(schedule) => ("schedule", &schedule.launch.name),
            Self::Trigger(trigger) => ("trigger", &trigger.launch.name),
            Self::Descriptor(descriptor) => ("bundle", &descriptor.name),
        };
        format!("{family}/{}", name.text)
    }
}

/// What a document is, before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A manifest, or something that is meant as one.
    Manifest,
    /// A case or a recorded task: other commands read those.
    Companion,
    /// Anything else: a folder may hold YAML of other programs.
    Foreign,
}

impl Role {
    pub(super) fn of(node: &Node) -> Self {
        let has = |key: &str| node.get(key).is_some();
        let kind = node.get("kind").and_then(Node::as_string);
        if kind.is_some_and(|kind| DocumentKind::is_meant(&kind.text))
            || (!has("kind") && Mount::is_meant(node))
        {
            Self::Manifest
        } else if (has("name") && has("call") && has("expect")) || (has("agent") && has("steps")) {
            Self::Companion
        } else {
            Self::Foreign
        }
    }
}

/// The kind of a document (KV-01, KV-09).
fn read_kind(node: &Node, path: &Path, reader: &mut Reader) -> Option<DocumentKind> {
    let mut fields = reader.fields(node, path)?;
    let Some(field) = fields.get("kind") else {
        reader.report(&path.key("kind"), messages::missing_kind(fields.place));
        return None;
    };
    let text = reader.text(field.node, &field.path)?;
    let Some(kind) = DocumentKind::parse(&text.text) else {
        reader.report(&field.path, messages::unknown_kind(&text, &DocumentKind::all_current()));
        return None;
    };
    if !kind.is_published() {
        reader.report(&field.path, messages::unpublished_kind(&text, &DocumentKind::current(kind.family)));
    }
    Some(kind)
}
