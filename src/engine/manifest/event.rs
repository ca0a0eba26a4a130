//! The events of a tool (EVT, SUB): what can happen outside, what it says, and how it arrives.
//!
//! In: the list `events` of a tool. Out: an [`EventDecl`] for each, and a finding for every problem; an event without a way
//! to arrive is left out. It never reads an expression.

use super::binding::DeclaredBinding;
use super::messages;
use super::node::Node;
use super::reader::{Field, Fields, Path, Reader};
use super::schema::{Property, Role, Schema, read_payload, read_properties};
use crate::source::{Embedded, Place};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// An event as a tool declares it.
#[derive(Clone, Debug)]
pub struct EventDecl {
    /// The manifest path, such as `events[0]`.
    pub path: String,
    /// Its name, unique in the tool (EVT-18).
    pub name: Embedded,
    /// For people; never shown to the model (EVT-17).
    pub description: Option<Embedded>,
    /// The template of the input it becomes (EVT-06).
    pub message: Option<Embedded>,
    /// How long a subscription lives without activity, in nanoseconds (SUB-03).
    pub timeout: Option<i64>,
    /// The most that an agent may ask for, in nanoseconds (SUB-02).
    pub max_timeout: Option<i64>,
    /// Its own parameters, for the filter; empty if `aliases` are given instead.
    pub parameters: Vec<Property>,
    /// Names of the event's data (EVT-08): `author: event.payload.user.login` defines `event.author`.
    pub aliases: Vec<DeclaredBinding>,
    /// What its payload looks like, if the tool says so: any JSON Schema, whose references lead into it.
    pub payload: Option<Arc<Schema>>,
    /// How it arrives: exactly one way (EVT-02).
    pub receive: Receive,
}

/// How an event arrives.
#[derive(Clone, Debug)]
pub struct Receive {
    /// The way.
    pub kind: ReceiveKind,
    /// The manifest path, such as `events[0].receive.webhook`.
    pub path: String,
    /// An expression that must be true for the event to count (EVT-03).
    pub filter: Option<Embedded>,
    /// The whole block as written; texts in it are templates (INT-14).
    pub node: Node,
}

/// The ways in which an event arrives.
#[derive(Clone, Debug)]
pub enum ReceiveKind {
    /// The platform posts to us.
    Webhook {
        /// The template of the signing secret; without it nothing is checked (WH-01, WH-03).
        secret: Option<Embedded>,
    },
    /// We ask the platform to post to us.
    Subscription,
    /// We ask again and again.
    Poll {
        /// An expression over `response` that gives the list of new items (TOOL-13).
        detect: Embedded,
    },
}

/// Reads the events of a tool.
pub(super) fn read_events(field: &Field<'_>, reader: &mut Reader) -> Vec<EventDecl> {
    let items = reader.list(field.node, &field.path).unwrap_or_default();
    let mut names: HashMap<String, Place> = HashMap::new();
    let mut events = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let path = field.path.item(at);
        let Some(mut fields) = reader.fields(item, &path) else { continue };
        let name = fields.name("name", "EVT-18", reader);
        match names.entry(name.text.to_string()) {
            Entry::Occupied(first) if !name.text.is_empty() => {
                let finding = messages::duplicate_event(&name, first.get().clone());
                reader.report(&path.key("name"), finding);
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(free) => {
                free.insert(name.place.clone());
            }
        }
        events.extend(read_event(fields, name, &path, reader));
    }
    events
}

fn read_event(mut fields: Fields<'_>, name: Embedded, path: &Path, reader: &mut Reader) -> Option<EventDecl> {
    let description = fields.text("description", reader);
    let message = fields.text("message", reader);
    if fields.get("message").is_none() {
        reader
            .report(&path.key("message"), messages::text_missing(fields.place, "event", "message", "EVT-06"));
    }
    let timeout = fields.duration("timeout", "SUB-14", reader);
    let max_timeout = fields.duration("max_timeout", "SUB-14", reader);
    if let (Some(short), Some(long)) = (timeout, max_timeout)
        && long < short
        && let (Some(short), Some(long)) = (fields.get("timeout"), fields.get("max_timeout"))
    {
        let finding = messages::max_below_timeout(&long.node.place, short.node.place.clone());
        reader.report(&long.path, finding);
    }
    let (parameters, aliases) = match fields.get("parameters") {
        Some(field) if is_schema(field.node) => {
            let parameters = read_properties(field.node, &field.path, Role::Parameters, reader);
            for parameter in parameters.iter().filter(|parameter| !parameter.schema.secrets.is_empty()) {
                let path = Path::document(&parameter.path);
                reader.report(&path, messages::secret_of_an_event(&parameter.name.place));
            }
            (parameters, Vec::new())
        }
        Some(field) => (Vec::new(), read_aliases(&field, reader)),
        None => (Vec::new(), Vec::new()),
    };
    let payload = fields.get("payload");
    let payload = payload.and_then(|field| read_payload(&field, reader));
    let receive = match fields.get("receive") {
        Some(field) => read_receive(&field, reader),
        None => {
            reader.report(&path.key("receive"), messages::no_receive(fields.place));
            None
        }
    };
    fields.warn_of_others("an event", &["parameters", "payload", "max_timeout"], reader);
    Some(EventDecl {
        path: path.to_string(),
        name,
        description,
        message,
        timeout,
        max_timeout,
        parameters,
        aliases,
        payload,
        receive: receive?,
    })
}

/// Whether the `parameters` of an event are a schema; any other mapping names parts of the payload (EVT-08).
fn is_schema(node: &Node) -> bool {
    let is_object = |node: &Node| node.as_string().is_some_and(|text| &*text.text == "object");
    node.get("properties").is_some_and(|node| node.as_string().is_none())
        || node.get("type").is_some_and(is_object)
        || node.as_mapping().is_none_or(<[_]>::is_empty)
}

/// Names for parts of the payload, each an expression (EVT-08).
fn read_aliases(field: &Field<'_>, reader: &mut Reader) -> Vec<DeclaredBinding> {
    let aliases = DeclaredBinding::read_all(field.node, &field.path, "EVT-08", reader);
    for alias in aliases.iter().filter(|alias| &*alias.name.text == "payload") {
        reader.report(&Path::document(&alias.path), messages::payload_alias(&alias.name));
    }
    aliases
}

/// The one way in which an event arrives (EVT-02).
fn read_receive(field: &Field<'_>, reader: &mut Reader) -> Option<Receive> {
    let mut fields = reader.fields(field.node, &field.path)?;
    let ways = ["webhook", "subscription", "poll"].map(|key| fields.get(key).map(|field| (key, field)));
    let mut ways = ways.into_iter().flatten().collect::<Vec<_>>();
    if ways.len() != 1 {
        let names = ways.iter().map(|(key, _)| *key).collect::<Vec<_>>();
        let finding = if names.is_empty() {
            messages::no_receive(&field.key.place)
        } else {
            messages::several_receives(&field.key.place, &names)
        };
        reader.report(&field.path, finding);
    }
    fields.warn_of_others("`receive`", &[], reader);
    let (key, way) = ways.pop()?;
    let mut fields = reader.fields(way.node, &way.path)?;
    let filter = fields.get("filter").and_then(|field| reader.expression(field.node, &field.path, "CEL-01"));
    let kind = match key {
        "webhook" => ReceiveKind::Webhook { secret: fields.text("secret", reader) },
        "subscription" => {
            for key in ["subscribe", "unsubscribe"] {
                if let Some(field) = fields.get(key) {
                    reader.mapping(field.node, &field.path);
                }
            }
            ReceiveKind::Subscription
        }
        _ => {
            for key in ["method", "url", "headers", "body", "json", "interval"] {
                fields.get(key);
            }
            let detect = fields.required("detect", "TOOL-13", reader);
            let detect = detect.and_then(|field| reader.expression(field.node, &field.path, "TOOL-13"));
            ReceiveKind::Poll { detect: detect? }
        }
    };
    fields.warn_of_others(&format!("`{key}`"), &["filter", "secret"], reader);
    Some(Receive { kind, path: way.path.into(), filter, node: way.node.clone() })
}
