//! One document of any kind: told apart by `kind`, then read.
//!
//! In: a parsed YAML document and the path that findings about it begin with. Out: a [`Document`] or, if not even its
//! kind is known, nothing but findings.

use super::agent::{Agent, AgentKeys};
use super::descriptor::{Descriptor, DescriptorKeys};
use super::kind::{DocumentKind, Family};
use super::messages;
use super::mount::{Mount, MountKeys};
use super::node::Node;
use super::policy::{DeclaredPolicy, PolicyKeys};
use super::reader::{Path, Reader};
use super::schedule::{Schedule, ScheduleKeys};
use super::shape::{Definitions, Shape, document};
use super::tool::{Tool, ToolKeys};
use super::tools::ToolsKeys;
use super::trigger::{DeclaredTrigger, TriggerKeys};
use super::yaml::YamlDocument;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use serde_json::{Value, json};

/// A document that was read.
#[derive(Clone, Debug)]
pub enum Document {
    /// An agent.
    Agent(Box<Agent>),
    /// A tool, or tools that go by their own names.
    Tool(Box<Tool>),
    /// The workspace mount, which has no `kind`.
    Mount(Box<Mount>),
    /// A schedule.
    Schedule(Box<Schedule>),
    /// A trigger.
    Trigger(Box<DeclaredTrigger>),
    /// Rules for many agents.
    Policy(Box<DeclaredPolicy>),
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
            Family::Tools => {
                let tools = Tool::read_listed(document, kind, &path, &mut reader)?;
                Some(Self::Tool(Box::new(tools)))
            }
            Family::Policy => {
                let policy = DeclaredPolicy::read(document, kind, &path, &mut reader)?;
                Some(Self::Policy(Box::new(policy)))
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
            Self::Policy(policy) => ("policy", &policy.name),
            Self::Descriptor(descriptor) => ("bundle", &descriptor.name),
        };
        format!("{family}/{}", name.text)
    }
}

/// Types of documents, as their JSON Schemas tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentType {
    /// One of the types that `kind` names.
    Of(Family),
    /// The workspace mount, which has no `kind`.
    Mount,
    /// Any of those.
    Any,
}

impl DocumentType {
    /// The JSON Schema of such documents (draft 2020-12), from which an editor completes and checks.
    ///
    /// ```
    /// use celador::manifest::document::DocumentType;
    /// use celador::manifest::kind::Family;
    /// let schema = DocumentType::Of(Family::Schedule).json_schema();
    /// let cron = &schema["$defs"]["schedule"]["properties"]["cron"];
    /// assert_eq!(cron["type"], "string");
    /// ```
    #[must_use]
    pub fn json_schema(self) -> Value {
        document(|definitions| self.schema(definitions))
    }

    fn schema(self, definitions: &mut Definitions) -> Value {
        let schema = match self {
            Self::Of(Family::Agent) => AgentKeys::schema,
            Self::Of(Family::Tool) => ToolKeys::schema,
            Self::Of(Family::Trigger) => TriggerKeys::schema,
            Self::Of(Family::Schedule) => ScheduleKeys::schema,
            Self::Of(Family::BundleDescription) => DescriptorKeys::schema,
            Self::Of(Family::Tools) => ToolsKeys::schema,
            Self::Of(Family::Policy) => PolicyKeys::schema,
            Self::Mount => MountKeys::schema,
            Self::Any => return definitions.refer("manifest", any),
        };
        schema(definitions)
    }
}

fn any(definitions: &mut Definitions) -> Value {
    let families = Family::all().map(DocumentType::Of);
    let types = families.into_iter().chain([DocumentType::Mount]);
    let schemas = types.map(|one| one.schema(definitions)).collect::<Value>();
    json!({ "title": "A Common Agent manifest", "type": "object", "anyOf": schemas })
}

/// The kind of a document (KV-01, KV-09).
fn read_kind(node: &Node, path: &Path, reader: &mut Reader) -> Option<DocumentKind> {
    reader.mapping(node, path)?;
    let path = path.key("kind");
    let Some(kind) = node.get("kind").filter(|kind| !kind.is_null()) else {
        reader.report(&path, messages::missing_kind(&node.place));
        return None;
    };
    let text = reader.text(kind, &path)?;
    let Some(kind) = DocumentKind::parse(&text.text) else {
        reader.report(&path, messages::unknown_kind(&text, &DocumentKind::all_current()));
        return None;
    };
    if !kind.is_published() {
        reader.report(&path, messages::unpublished_kind(&text, &DocumentKind::current(kind.family)));
    }
    Some(kind)
}
