//! Tools of a host (`celador/v1/tools`): listed as MCP lists them, or named because a task brings them.
//!
//! In: the mapping of one document, or tools that a task has brought. Out: a [`Tool`] whose actions go by their own names. The
//! specification's manifests cannot say that a parameter is optional and has no default (PAR-02, PAR-06); here `required` of a
//! schema says what must be there, and what else nobody supplies stays out. It never looks at another document.

use super::argument_rules::ArgumentRules;
use super::capability_key::sanitise;
use super::fields::{Field, Key};
use super::kind::{DocumentKind, Family, KindOf};
use super::listing::{Annotations, Listing};
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::schema::{Alone, InputSchema};
use super::selector::OF_HINTS;
use super::shape::{Anything, Boolean, List, Name, Required, Text, mapping};
use super::tool::{ActionDecl, DeclaredExecute, Tool};
use super::yaml::YamlDocument;
use crate::source::Embedded;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

mapping! {
    /// Tools that a host has, as MCP lists them, or that a task brings. Other runtimes skip such a document.
    pub(super) ToolsKeys as "tools" = "a document of tools" {
        /// Version and type of the document.
        _kind = "kind": Required<KindOf<{ Family::Tools as usize }>>,
        /// The namespace of the tools.
        namespace: Required<Name>,
        /// A name, unique among the tools of the namespace.
        name: Required<Name>,
        /// What the tools are for.
        description: Text,
        /// The tools, each as `tools/list` of MCP has it.
        tools: List<ListedKeys>,
        /// Names of tools that a task brings; `*` stands for any characters.
        brought: List<Text>,
        /// Tags of all of these tools, by which policies select them.
        tags: List<Text>,
        /// Names of tools that a task brings whose hints are believed, as whoever runs their server is trusted; `*` stands for any
        /// characters.
        believe_hints: List<Text>,
    }

    /// A tool, as `tools/list` of MCP has it.
    ListedKeys as "listed-tool" = "a listed tool" {
        /// The name that the model calls.
        name: Required<Name>,
        /// A name for people.
        title: Text,
        /// What the model is told.
        description: Text,
        /// The JSON Schema of its arguments. What `required` does not name is optional, whatever its `default`.
        input_schema = "inputSchema": Required<InputSchema>,
        /// The JSON Schema of its successful results.
        output_schema = "outputSchema": Alone,
        /// Hints of the server.
        annotations: AnnotationKeys,
        /// Tags of the tool, by which policies select it.
        tags: List<Text>,
        /// For people: not looked at.
        _icons = "icons": Anything,
        /// For the host: not looked at.
        _execution = "execution": Anything,
        /// For the host: not looked at.
        _meta = "_meta": Anything,
    }

    AnnotationKeys = "`annotations`" {
        /// A name for people.
        title: Text,
        /// It changes nothing.
        read_only = "readOnlyHint": Boolean,
        /// It may destroy something.
        destructive = "destructiveHint": Boolean,
        /// The same call again changes nothing more.
        idempotent = "idempotentHint": Boolean,
        /// It reaches beyond what its server holds.
        open_world = "openWorldHint": Boolean,
    }
}

impl Tool {
    /// Reads the mapping of one document of tools; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read_listed(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<ToolsKeys>(&document.node, path)?;
        let namespace = fields.namespace().text_or_empty("KV-03", reader);
        let name = fields.name().text_or_empty("KV-03", reader);
        let description = fields.description().text(reader);
        let mut actions = fields.tools().get().map(|field| read_tools(&field, reader)).unwrap_or_default();
        let brought = fields.brought().texts(reader).unwrap_or_default();
        let tags = read_tags(&fields.tags(), reader);
        let is_pattern = |name: &&Embedded| name.text.contains('*');
        let patterns: Vec<_> = brought.iter().filter(is_pattern).cloned().collect();
        let named = brought.iter().enumerate().filter(|(_, name)| !is_pattern(name));
        let brought_path = fields.brought().path();
        actions.extend(named.map(|(at, name)| ActionDecl::absent(name, &brought_path.item(at))));
        actions.iter_mut().for_each(|action| action.tags.extend(tags.iter().cloned()));
        if actions.is_empty() && patterns.is_empty() && !reader.has_errors() {
            reader.report(path, messages::no_tools_listed(fields.place));
        }
        let believed = fields.believe_hints().texts(reader).unwrap_or_default();
        let has_record = actions.len() > 1 || !patterns.is_empty();
        check_keys(&actions, has_record.then_some(&name), reader);
        let place = fields.place.clone();
        fields.refuse_others(reader);
        Some(Self {
            place,
            path: path.to_string(),
            sound: document.sound && !reader.has_errors(),
            kind,
            namespace,
            name,
            description,
            synchronous: false,
            settings: Vec::new(),
            parameters: Vec::new(),
            actions,
            events: Vec::new(),
            runtimes: Vec::new(),
            listing: Some(Arc::new(Listing { patterns, tags, has_record, believed })),
        })
    }

    /// Each of several listed tools alone, with the name by which an agent may admit it and no other.
    pub(super) fn alone(&self) -> impl Iterator<Item = (&str, Self)> {
        let listed =
            self.listing.iter().flat_map(|listing| self.actions.iter().map(move |action| (listing, action)));
        let others = listed.filter(|(_, action)| action.name.text != self.name.text);
        others.map(|(listing, action)| {
            let listing = Listing { patterns: Vec::new(), has_record: false, ..Listing::clone(listing) };
            let (actions, listing) = (vec![action.clone()], Some(Arc::new(listing)));
            (&*action.name.text, Self { actions, listing, ..self.clone() })
        })
    }

    /// Whether it is this tool, or one of those that this document lists.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        self.place.source.same(&other.place.source) && self.place.span == other.place.span
    }

    /// Whether a task may bring tools for it that it does not name.
    pub(super) fn takes_patterns(&self) -> bool {
        self.listing.as_ref().is_some_and(|listing| !listing.patterns.is_empty())
    }
}

impl ActionDecl {
    /// A tool that is there as soon as a task brings it.
    fn absent(name: &Embedded, path: &Path) -> Self {
        Self {
            path: path.to_string(),
            name: name.clone(),
            description: None,
            parameters: Vec::new(),
            rules: ArgumentRules::default(),
            output: None,
            annotations: Annotations { untrusted: true, ..Annotations::default() },
            tags: Vec::new(),
            execute: DeclaredExecute::Absent,
        }
    }

    /// One tool as MCP lists it.
    pub(super) fn read_listed(node: &Node, path: &Path, reader: &mut Reader) -> Option<Self> {
        let fields = reader.fields::<ListedKeys>(node, path)?;
        let name = fields.name().text_or_empty("TOOL-04", reader);
        let [title, description] = [fields.title(), fields.description()].map(|key| key.text(reader));
        let schema = fields.input_schema().required("PAR-01", reader);
        // others wrote these schemas: words that JSON Schema gives no meaning are none of ours to refuse
        reader.lists_tools = true;
        let (parameters, rules) = schema.map(|key| key.arguments(reader)).unwrap_or_default();
        let output = fields.output_schema().alone(reader);
        reader.lists_tools = false;
        let annotations = fields.annotations().fields(reader).map(|fields| {
            fields.title().text(reader);
            let annotations = Annotations {
                read_only: fields.read_only().boolean(reader),
                destructive: fields.destructive().boolean(reader),
                idempotent: fields.idempotent().boolean(reader),
                open_world: fields.open_world().boolean(reader),
                untrusted: false,
            };
            fields.warn_of_others(&["readOnlyHint", "destructiveHint"], reader);
            annotations
        });
        let tags = read_tags(&fields.tags(), reader);
        fields.warn_of_others(&["inputSchema", "outputSchema", "annotations", "tags"], reader);
        Some(Self {
            path: path.to_string(),
            name,
            description: description.or(title),
            parameters,
            rules,
            output,
            annotations: annotations.unwrap_or_default(),
            tags,
            execute: DeclaredExecute::Host,
        })
    }

    /// Whether nobody can carry it out: no task has brought it.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self.execute, DeclaredExecute::Absent)
    }
}

/// Tags that an author gives: not those that follow from hints.
fn read_tags(key: &Key<'_, '_, List<Text>>, reader: &mut Reader) -> Vec<Embedded> {
    let tags = key.texts(reader).unwrap_or_default();
    for (at, tag) in tags.iter().enumerate().filter(|(_, tag)| OF_HINTS.contains(&&*tag.text)) {
        reader.report(&key.path().item(at), messages::tag_of_hints(tag));
    }
    tags
}

fn read_tools(field: &Field<'_>, reader: &mut Reader) -> Vec<ActionDecl> {
    let items = reader.list(field.node, &field.path).unwrap_or_default();
    let items = items.iter().enumerate();
    items.filter_map(|(at, item)| ActionDecl::read_listed(item, &field.path.item(at), reader)).collect()
}

/// No two tools become one, and none becomes the record of all of them.
fn check_keys(actions: &[ActionDecl], document: Option<&Embedded>, reader: &mut Reader) {
    let mut keys: HashMap<String, &Embedded> = HashMap::new();
    keys.extend(document.map(|name| (sanitise(&name.text), name)));
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
}
