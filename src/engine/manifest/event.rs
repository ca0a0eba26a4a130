//! The events of a tool (EVT, SUB): what can happen outside, what it says, and how it arrives.
//!
//! In: the list `events` of a tool. Out: an [`EventDecl`] for each, and a finding for every problem; an event without a way
//! to arrive is left out. It never reads an expression.

use super::binding::DeclaredBinding;
use super::fields::{Field, Fields, Key};
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::schema::{Payload, Property, Schema, read_parameters};
use super::shape::{Anything, Duration, Expression, List, Name, Object, Required, Text, mapping};
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

impl EventDecl {
    /// Its expressions, each with its path: those of `aliases`, the filter, and that of new items.
    pub fn expressions(&self) -> impl Iterator<Item = (String, &Embedded)> {
        let Receive { kind, path, filter, node: _ } = &self.receive;
        let detect = match kind {
            ReceiveKind::Poll { detect } => Some(("detect", detect)),
            ReceiveKind::Webhook { .. } | ReceiveKind::Subscription => None,
        };
        let received = filter.iter().map(|filter| ("filter", filter)).chain(detect);
        let aliases = self.aliases.iter().map(|alias| (alias.path.clone(), &alias.value));
        aliases.chain(received.map(move |(key, text)| (format!("{path}.{key}"), text)))
    }

    /// The same, to be changed.
    pub(super) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Embedded> {
        let Receive { kind, filter, .. } = &mut self.receive;
        let detect = match kind {
            ReceiveKind::Poll { detect } => Some(detect),
            ReceiveKind::Webhook { .. } | ReceiveKind::Subscription => None,
        };
        self.aliases.iter_mut().map(|alias| &mut alias.value).chain(filter).chain(detect)
    }
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

mapping! {
    /// What can happen outside.
    pub(super) EventKeys = "an event" {
        /// A name, unique in the tool.
        name: Required<Name>,
        /// For people; the model never sees it.
        description: Text,
        /// The template of the input that the event becomes.
        message: Text,
        /// How long a subscription lives without activity.
        timeout: Duration,
        /// The most that an agent may ask for.
        max_timeout: Duration,
        /// A schema of parameters, or names for parts of the event.
        parameters: Object,
        /// A JSON Schema of the payload; an event that does not fit is discarded.
        payload: Payload,
        /// How the event arrives: exactly one way.
        receive: Required<ReceiveKeys>,
    }

    #[rules = { "minProperties": 1, "maxProperties": 1 }]
    ReceiveKeys = "`receive`" {
        /// The platform posts to us.
        webhook: WebhookKeys,
        /// We ask the platform to post to us.
        subscription: SubscriptionKeys,
        /// We ask again and again.
        poll: PollKeys,
    }

    WebhookKeys = "`webhook`" {
        /// Which events count; over `event` and `parameters`.
        filter: Expression,
        /// The template of the signing secret.
        secret: Text,
    }

    SubscriptionKeys = "`subscription`" {
        /// Which events count; over `event` and `parameters`.
        filter: Expression,
        /// The request that subscribes.
        subscribe: Object,
        /// The request that ends it.
        unsubscribe: Object,
    }

    PollKeys = "`poll`" {
        /// Which items count; over `event` and `parameters`.
        filter: Expression,
        // the request is the host's
        _method = "method": Anything,
        _url = "url": Anything,
        _headers = "headers": Anything,
        _body = "body": Anything,
        _json = "json": Anything,
        _interval = "interval": Anything,
        /// The list of new items; over `response`.
        detect: Required<Expression>,
    }
}

/// Reads the events of a tool.
pub(super) fn read_events(key: &Key<'_, '_, List<EventKeys>>, reader: &mut Reader) -> Vec<EventDecl> {
    let Some(field) = key.get() else { return Vec::new() };
    let items = reader.list(field.node, &field.path).unwrap_or_default();
    let mut names: HashMap<String, Place> = HashMap::new();
    let mut events = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let path = field.path.item(at);
        let Some(fields) = reader.fields::<EventKeys>(item, &path) else { continue };
        let name = fields.name().text_or_empty("EVT-18", reader);
        match names.entry(name.text.to_string()) {
            Entry::Occupied(first) if !name.text.is_empty() => {
                let finding = messages::duplicate_event(&name, first.get().clone());
                reader.report(&fields.name().path(), finding);
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

fn read_event(
    fields: Fields<'_, EventKeys>,
    name: Embedded,
    path: &Path,
    reader: &mut Reader,
) -> Option<EventDecl> {
    let description = fields.description().text(reader);
    let message_key = fields.message();
    let message = message_key.text(reader);
    if message_key.get().is_none() {
        let finding = messages::text_missing(fields.place, "event", message_key.name(), "EVT-06");
        reader.report(&message_key.path(), finding);
    }
    let timeout = fields.timeout().duration("SUB-14", reader);
    let max_timeout = fields.max_timeout().duration("SUB-14", reader);
    if let (Some(short), Some(long)) = (timeout, max_timeout)
        && long < short
        && let (Some(short), Some(long)) = (fields.timeout().get(), fields.max_timeout().get())
    {
        let finding = messages::max_below_timeout(&long.node.place, short.node.place.clone());
        reader.report(&long.path, finding);
    }
    let (parameters, aliases) = match fields.parameters().get() {
        Some(field) if is_schema(field.node) => {
            let parameters = read_parameters(field.node, &field.path, reader);
            for parameter in parameters.iter().filter(|parameter| !parameter.schema.secrets.is_empty()) {
                let path = Path::document(&parameter.path);
                reader.report(&path, messages::secret_of_an_event(&parameter.name.place));
            }
            (parameters, Vec::new())
        }
        Some(field) => (Vec::new(), read_aliases(&field, reader)),
        None => (Vec::new(), Vec::new()),
    };
    let payload = fields.payload().payload(reader);
    let receive = fields.receive();
    let receive = match receive.get() {
        Some(field) => read_receive(&field, reader),
        None => {
            reader.report(&receive.path(), messages::no_receive(fields.place));
            None
        }
    };
    fields.warn_of_others(&["parameters", "payload", "max_timeout"], reader);
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
    let fields = reader.fields::<ReceiveKeys>(field.node, &field.path)?;
    let (webhook, subscription, poll) = (fields.webhook(), fields.subscription(), fields.poll());
    let ways = [webhook.get(), subscription.get(), poll.get()];
    let ways = ways.into_iter().flatten().collect::<Vec<_>>();
    if ways.len() != 1 {
        let names = ways.iter().map(|way| &*way.key.text).collect::<Vec<_>>();
        let finding = if names.is_empty() {
            messages::no_receive(&field.key.place)
        } else {
            messages::several_receives(&field.key.place, &names)
        };
        reader.report(&field.path, finding);
    }
    fields.warn_of_others(&[], reader);
    let guards = ["filter", "secret"];
    let read = if poll.get().is_some() {
        poll.fields(reader).and_then(|fields| {
            let filter = fields.filter().expression("CEL-01", reader);
            let detect = fields.detect().required("TOOL-13", reader);
            let detect = detect.and_then(|key| key.expression("TOOL-13", reader))?;
            fields.warn_of_others(&guards, reader);
            Some((ReceiveKind::Poll { detect }, filter))
        })
    } else if subscription.get().is_some() {
        subscription.fields(reader).map(|fields| {
            let filter = fields.filter().expression("CEL-01", reader);
            for field in [fields.subscribe(), fields.unsubscribe()].iter().filter_map(Key::get) {
                reader.mapping(field.node, &field.path);
            }
            fields.warn_of_others(&guards, reader);
            (ReceiveKind::Subscription, filter)
        })
    } else {
        webhook.fields(reader).map(|fields| {
            let filter = fields.filter().expression("CEL-01", reader);
            let secret = fields.secret().text(reader);
            fields.warn_of_others(&guards, reader);
            (ReceiveKind::Webhook { secret }, filter)
        })
    };
    let way = ways.into_iter().next_back()?;
    let (kind, filter) = read?;
    Some(Receive { kind, path: way.path.into(), filter, node: way.node.clone() })
}
