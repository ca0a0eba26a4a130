//! The tool manifest (TOOL): actions that go out, events that come in, and how each is carried.
//!
//! In: the mapping of one document. Out: a [`Tool`]. It reads all of the document and reports each problem; a part that
//! has one is left out and the tool is not [sound](Tool::sound). Backends other than `cel` are kept as they were
//! written: carrying them out is the host's affair. It never looks at another document and never reads an expression.

use super::argument_rules::ArgumentRules;
use super::capability_key::sanitise;
use super::event::{EventDecl, EventKeys, read_events};
use super::fields::{Field, Fields};
use super::kind::{DocumentKind, Family, KindOf, Version};
use super::listing::{Annotations, Listing};
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::schema::{Alone, Parameters, Property, Schema, Settings};
use super::shape::{
    Anything, Boolean, Expression, List, Mapping, Name, Part, Required, Row, Text, mapping, shape,
};
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
    /// What a document of tools says besides, if it is one: then its actions go by their own names.
    pub listing: Option<Arc<Listing>>,
}

impl Tool {
    /// Whether its parameters come from elsewhere (`openapi`, `mcp`), so that they cannot be checked here (PAR-12).
    #[must_use]
    pub fn has_derived_parameters(&self) -> bool {
        let actions = self.actions.iter().filter_map(|action| match &action.execute {
            DeclaredExecute::Runtime(runtime) => Some(runtime),
            DeclaredExecute::Cel(_) | DeclaredExecute::Host | DeclaredExecute::Absent => None,
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
    /// What holds for its arguments together, where it is a listed tool.
    pub rules: ArgumentRules,
    /// What it returns where it succeeds, if it says so: any JSON Schema, whose references lead into it.
    pub output: Option<Arc<Schema>>,
    /// What its server says of its calls, where MCP lists it.
    pub annotations: Annotations,
    /// Tags by which policies select it; a document of tools gives them.
    pub tags: Vec<Embedded>,
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
    /// By the host, which knows the tool by its own name.
    Host,
    /// By nobody, until a task brings the tool.
    Absent,
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

mapping! {
    /// Actions that go out, and events that come in.
    pub(super) ToolKeys as "tool" = "a tool" {
        /// Version and type of the manifest.
        _kind = "kind": Required<KindOf<{ Family::Tool as usize }>>,
        /// The namespace of the tool.
        namespace: Required<Name>,
        /// A name, unique in the namespace.
        name: Required<Name>,
        /// What the tool is for.
        description: Text,
        /// Whether a task waits until its actions have run.
        synchronous: Boolean => false,
        /// What operators configure; the model never sees it.
        settings: Settings,
        /// Parameters of every action and event.
        parameters: Parameters,
        runtimes: Part<RuntimeKeys>,
        /// What the model may call.
        actions: List<ActionKeys>,
        /// Of v1: the old name of `actions`.
        capabilities: List<ActionKeys>,
        /// What may come in from outside.
        events: List<EventKeys>,
    }

    /// What the model may call.
    ActionKeys as "action" = "an action" {
        /// Of v1: without effect.
        filesystem: Anything,
        /// A name, unique in the tool.
        name: Name,
        /// What the model is told.
        description: Text,
        /// Parameters of this action alone.
        parameters: Parameters,
        /// A JSON Schema of what the action returns where it succeeds.
        output: Alone,
        /// How the action is carried out: exactly one way.
        execute: ExecuteKeys,
    }

    #[rules = { "minProperties": 1, "maxProperties": 1 }]
    ExecuteKeys = "`execute`" {
        /// By an expression.
        cel: CelKeys,
        runtimes: Part<RuntimeKeys>,
    }

    CelKeys = "`cel`" {
        /// The result of the action.
        expression: Required<Expression>,
    }
}

shape! {
    /// The runtimes, one key each.
    RuntimeKeys = Anything::schema;
}

impl Mapping for RuntimeKeys {
    const OWNER: &'static str = "a runtime";
    const ROWS: &'static [Row] = &Row::all::<Anything, _, _>(&RUNTIMES);
}

impl Tool {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<ToolKeys>(&document.node, path)?;
        let namespace = fields.namespace().text_or_empty("KV-03", reader);
        let name = fields.name().text_or_empty("KV-03", reader);
        let description = fields.description().text(reader);
        let synchronous = fields.synchronous().boolean(reader).unwrap_or(false);
        let settings = fields.settings().properties(reader);
        let parameters = fields.parameters().properties(reader);
        let runtimes = read_runtimes(&fields.runtimes().part(), reader);
        let (new_name, old_name) = (fields.actions(), fields.capabilities());
        let has_old_name = new_name.get().is_none() && kind.version == Version::V1;
        let actions = if has_old_name { old_name.get() } else { new_name.get() };
        let actions = actions.map(|field| read_actions(&field, &runtimes, reader)).unwrap_or_default();
        if actions.is_empty() && !reader.has_errors() {
            reader.report(&new_name.path(), messages::tool_without_actions(fields.place));
        }
        let events = read_events(&fields.events(), reader);
        let place = fields.place.clone();
        let strange = (!has_old_name).then_some(old_name.name());
        fields.warn_of_others_but(strange.as_slice(), &["parameters"], reader);
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
            listing: None,
        })
    }
}

/// The runtime blocks of a mapping: at the top of a tool, or in `execute`.
fn read_runtimes(fields: &Fields<'_, RuntimeKeys>, reader: &mut Reader) -> Vec<DeclaredRuntime> {
    let mut runtimes = Vec::new();
    for (key, kind) in RUNTIMES {
        let Some(field) = fields.key::<Anything>(key).get() else { continue };
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
    let fields = reader.fields::<ActionKeys>(node, path)?;
    let shorthand = fields.filesystem().get();
    if let Some(field) = &shorthand {
        reader.report(&field.path, messages::without_effect(&field.key.place, &field.key.text));
    }
    let name = match shorthand.as_ref().and_then(|field| field.node.as_string()) {
        Some(name) if fields.name().get().is_none() => name.clone(),
        _ => fields.name().text_or_empty("TOOL-04", reader),
    };
    let description = fields.description().text(reader);
    let parameters = fields.parameters().properties(reader);
    let output = fields.output().alone(reader);
    let execute = match (fields.execute().get(), shorthand) {
        (Some(field), _) => read_execute(&field, reader),
        (None, Some(field)) => Some(DeclaredExecute::Runtime(DeclaredRuntime {
            kind: RuntimeKind::Filesystem,
            path: field.path.into(),
            node: field.node.clone(),
        })),
        (None, None) => inherited(fields.place, path, shared, reader),
    };
    fields.warn_of_others(&["parameters", "output"], reader);
    Some(ActionDecl {
        path: path.to_string(),
        name,
        description,
        parameters,
        rules: ArgumentRules::default(),
        output,
        annotations: Annotations::default(),
        tags: Vec::new(),
        execute: execute?,
    })
}

/// The one backend of `execute` (TOOL-01).
fn read_execute(field: &Field<'_>, reader: &mut Reader) -> Option<DeclaredExecute> {
    let fields = reader.fields::<ExecuteKeys>(field.node, &field.path)?;
    let cel = fields.cel().get();
    let mut runtimes = read_runtimes(&fields.runtimes().part(), reader);
    let cel_name = cel.iter().map(|_| fields.cel().name());
    let found = cel_name.chain(runtimes.iter().map(|runtime| runtime.kind.name())).collect::<Vec<_>>();
    if found.len() != 1 {
        let finding = if found.is_empty() {
            messages::no_backend(&field.key.place, &backend_names())
        } else {
            messages::several_backends(&field.key.place, &found)
        };
        reader.report(&field.path, finding);
    }
    fields.warn_of_others(&[], reader);
    let Some(cel) = cel else { return runtimes.pop().map(DeclaredExecute::Runtime) };
    let fields = reader.fields::<CelKeys>(cel.node, &cel.path)?;
    let expression = fields.expression().required("TOOL-06", reader);
    let expression = expression.and_then(|key| key.expression("TOOL-06", reader));
    fields.warn_of_others(&[], reader);
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
