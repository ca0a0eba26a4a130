//! The tool manifest (TOOL): actions that go out, events that come in, and how each is carried.
//!
//! In: the mapping of one document. Out: a [`Tool`]. It reads all of the document and reports each problem; a part that
//! has one is left out and the tool is not [sound](Tool::sound). Backends other than `cel` are kept as they were
//! written: carrying them out is the host's affair. It never looks at another document and never reads an expression.

use super::capability_key::sanitise;
use super::event::{EventDecl, read_events};
use super::kind::{DocumentKind, Version};
use super::messages;
use super::node::Node;
use super::reader::{Field, Fields, Path, Reader};
use super::schema::{Property, Role, Schema, read_alone, read_properties};
use super::yaml::YamlDocument;
use crate::source::{Embedded, Place};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// A tool manifest.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Where the document stands.
    pub place: Place,
    /// The path of the document: empty, or that of a case file, such as `tools[0]`.
    pub path: String,
    /// Whether nothing in this document is an error; an agent that uses a tool that is not sound must never run.
    pub sound: bool,
    /// Its kind.
    pub kind: DocumentKind,
    /// Its namespace.
    pub namespace: Embedded,
    /// Its name, unique in the namespace.
    pub name: Embedded,
    /// What it is for.
    pub description: Option<Embedded>,
    /// Whether its actions run while the task waits (TOOL-05).
    pub synchronous: bool,
    /// What operators configure; never shown to the model (PAR-13).
    pub settings: Vec<Property>,
    /// Parameters of every action and every event (PAR-01).
    pub parameters: Vec<Property>,
    /// What the model can call.
    pub actions: Vec<ActionDecl>,
    /// What can happen outside.
    pub events: Vec<EventDecl>,
    /// Runtime blocks at the top, shared by the actions (TOOL-02).
    pub runtimes: Vec<DeclaredRuntime>,
}

impl Tool {
    /// Whether its parameters come from elsewhere (`openapi`, `mcp`), so that they cannot be checked here (PAR-12).
    #[must_use]
    pub fn has_derived_parameters(&self) -> bool {
        let actions = self.actions.iter().filter_map(|action| match &action.execute {
            DeclaredExecute::Cel(_) => None,
            DeclaredExecute::Runtime(runtime) => Some(runtime),
        });
        self.runtimes.iter().chain(actions).any(|runtime| runtime.kind.derives_parameters())
    }
}

/// An action as a tool declares it.
#[derive(Clone, Debug)]
pub struct ActionDecl {
    /// The manifest path, such as `actions[0]`.
    pub path: String,
    /// Its name, unique in the tool after sanitising (TOOL-04).
    pub name: Embedded,
    /// What the model is told about it.
    pub description: Option<Embedded>,
    /// Its own parameters.
    pub parameters: Vec<Property>,
    /// What it returns where it succeeds, if it says so: any JSON Schema, whose references lead into it.
    pub output: Option<Arc<Schema>>,
    /// How it is carried out.
    pub execute: DeclaredExecute,
}

/// How an action is carried out: exactly one way (TOOL-01).
#[derive(Clone, Debug)]
pub enum DeclaredExecute {
    /// The expression whose value is the output (TOOL-06).
    Cel(Embedded),
    /// A runtime of the host, declared with the action or at the top of the tool (TOOL-02).
    Runtime(DeclaredRuntime),
}

/// A runtime block as it was written; its texts are templates (INT-03).
#[derive(Clone, Debug)]
pub struct DeclaredRuntime {
    /// Which one.
    pub kind: RuntimeKind,
    /// The manifest path, such as `actions[0].execute.stateless_http`.
    pub path: String,
    /// Its configuration.
    pub node: Node,
}

/// The runtimes of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    /// `stateless_http`
    StatelessHttp,
    /// `stateful_session`
    StatefulSession,
    /// `openapi`
    OpenApi,
    /// `mcp`
    Mcp,
    /// `kubernetes_job`
    KubernetesJob,
    /// `filesystem` of `v1`: read, without effect (KV-14).
    Filesystem,
}

impl RuntimeKind {
    /// The key that declares it.
    #[must_use]
    pub fn name(self) -> &'static str {
        RUNTIMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Whether its functions' parameters come from a description that lies elsewhere (TOOL-10, PAR-12).
    #[must_use]
    pub fn derives_parameters(self) -> bool {
        matches!(self, Self::OpenApi | Self::Mcp | Self::Filesystem)
    }
}

const RUNTIMES: [(&str, RuntimeKind); 6] = [
    ("stateless_http", RuntimeKind::StatelessHttp),
    ("stateful_session", RuntimeKind::StatefulSession),
    ("openapi", RuntimeKind::OpenApi),
    ("mcp", RuntimeKind::Mcp),
    ("kubernetes_job", RuntimeKind::KubernetesJob),
    ("filesystem", RuntimeKind::Filesystem),
];

impl Tool {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let mut fields = reader.fields(&document.node, path)?;
        fields.written("kind");
        let namespace = fields.name("namespace", "KV-03", reader);
        let name = fields.name("name", "KV-03", reader);
        let description = fields.text("description", reader);
        let synchronous = fields.boolean("synchronous", false, reader);
        let settings = read_block(&mut fields, "settings", Role::Settings, reader);
        let parameters = read_block(&mut fields, "parameters", Role::Parameters, reader);
        let runtimes = read_runtimes(&mut fields, reader);
        let mut actions = fields.get("actions");
        if actions.is_none() && kind.version == Version::V1 {
            actions = fields.get("capabilities");
        }
        let actions = actions.map(|field| read_actions(&field, &runtimes, reader)).unwrap_or_default();
        if actions.is_empty() && !reader.has_errors() {
            reader.report(&path.key("actions"), messages::tool_without_actions(fields.place));
        }
        let events = fields.get("events").map(|field| read_events(&field, reader)).unwrap_or_default();
        let place = fields.place.clone();
        fields.warn_of_others("a tool", &["parameters"], reader);
        Some(Self {
            place,
            path: path.to_string(),
            sound: document.sound && !reader.has_errors(),
            kind,
            namespace,
            name,
            description,
            synchronous,
            settings,
            parameters,
            actions,
            events,
            runtimes,
        })
    }
}

fn read_block(fields: &mut Fields<'_>, key: &'static str, role: Role, reader: &mut Reader) -> Vec<Property> {
    let field = fields.get(key);
    field.map(|field| read_properties(field.node, &field.path, role, reader)).unwrap_or_default()
}

/// The runtime blocks of a mapping: at the top of a tool, or in `execute`.
fn read_runtimes(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<DeclaredRuntime> {
    let mut runtimes = Vec::new();
    for (key, kind) in RUNTIMES {
        let Some(field) = fields.get(key) else { continue };
        if kind == RuntimeKind::Filesystem {
            reader.report(&field.path, messages::without_effect(&field.key.place, key));
        } else {
            reader.mapping(field.node, &field.path);
        }
        runtimes.push(DeclaredRuntime { kind, path: field.path.into(), node: field.node.clone() });
    }
    runtimes
}

fn read_actions(field: &Field<'_>, shared: &[DeclaredRuntime], reader: &mut Reader) -> Vec<ActionDecl> {
    let items = reader.list(field.node, &field.path).unwrap_or_default();
    let actions = items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| read_action(item, &field.path.item(at), shared, reader))
        .collect::<Vec<_>>();
    let mut keys: HashMap<String, &Embedded> = HashMap::new();
    for action in actions.iter().filter(|action| !action.name.text.is_empty()) {
        match keys.entry(sanitise(&action.name.text)) {
            Entry::Occupied(first) => {
                let path = Path::document(&action.path).key("name");
                reader.report(&path, messages::duplicate_action(&action.name, first.get().place.clone()));
            }
            Entry::Vacant(free) => {
                free.insert(&action.name);
            }
        }
    }
    actions
}

fn read_action(
    node: &Node,
    path: &Path,
    shared: &[DeclaredRuntime],
    reader: &mut Reader,
) -> Option<ActionDecl> {
    let mut fields = reader.fields(node, path)?;
    let shorthand = fields.get("filesystem");
    if let Some(field) = &shorthand {
        reader.report(&field.path, messages::without_effect(&field.key.place, "filesystem"));
    }
    let name = match shorthand.as_ref().and_then(|field| field.node.as_string()) {
        Some(name) if fields.get("name").is_none() => name.clone(),
        _ => fields.name("name", "TOOL-04", reader),
    };
    let description = fields.text("description", reader);
    let parameters = read_block(&mut fields, "parameters", Role::Parameters, reader);
    let output = fields.get("output");
    let output = output.and_then(|field| read_alone(field.node, &field.path, reader));
    let execute = match (fields.get("execute"), shorthand) {
        (Some(field), _) => read_execute(&field, reader),
        (None, Some(field)) => Some(DeclaredExecute::Runtime(DeclaredRuntime {
            kind: RuntimeKind::Filesystem,
            path: field.path.into(),
            node: field.node.clone(),
        })),
        (None, None) => inherited(fields.place, path, shared, reader),
    };
    fields.warn_of_others("an action", &["parameters", "output"], reader);
    Some(ActionDecl { path: path.to_string(), name, description, parameters, output, execute: execute? })
}

/// The one backend of `execute` (TOOL-01).
fn read_execute(field: &Field<'_>, reader: &mut Reader) -> Option<DeclaredExecute> {
    let mut fields = reader.fields(field.node, &field.path)?;
    let cel = fields.get("cel");
    let mut runtimes = read_runtimes(&mut fields, reader);
    let cel_name = cel.iter().map(|_| "cel");
    let found = cel_name.chain(runtimes.iter().map(|runtime| runtime.kind.name())).collect::<Vec<_>>();
    if found.len() != 1 {
        let finding = if found.is_empty() {
            messages::no_backend(&field.key.place, &backend_names())
        } else {
            messages::several_backends(&field.key.place, &found)
        };
        reader.report(&field.path, finding);
    }
    fields.warn_of_others("`execute`", &[], reader);
    let Some(cel) = cel else { return runtimes.pop().map(DeclaredExecute::Runtime) };
    let mut fields = reader.fields(cel.node, &cel.path)?;
    let expression = fields.required("expression", "TOOL-06", reader);
    let expression = expression.and_then(|field| reader.expression(field.node, &field.path, "TOOL-06"));
    fields.warn_of_others("`cel`", &[], reader);
    expression.map(DeclaredExecute::Cel)
}

/// The runtime at the top of the tool, for an action that has none of its own (TOOL-02).
fn inherited(
    place: &Place,
    path: &Path,
    shared: &[DeclaredRuntime],
    reader: &mut Reader,
) -> Option<DeclaredExecute> {
    let finding = match shared {
        [runtime] => return Some(DeclaredExecute::Runtime(runtime.clone())),
        [] => messages::no_backend(place, &backend_names()),
        _ => {
            let found = shared.iter().map(|runtime| runtime.kind.name()).collect::<Vec<_>>();
            messages::several_backends(place, &found)
        }
    };
    reader.report(&path.key("execute"), finding);
    None
}

fn backend_names() -> Vec<&'static str> {
    let runtimes = RUNTIMES.iter().filter(|(_, kind)| *kind != RuntimeKind::Filesystem);
    std::iter::once("cel").chain(runtimes.map(|(name, _)| *name)).collect()
}
