//! The events of an agent's tools, compiled (EVT): which ones the agent hears of, and what becomes of a payload.
//!
//! In: an event as its tool declares it, and the agent's capability. Out: an [`Event`] that tests signatures, judges payloads
//! and formats them, or diagnostics. Events that `include` leaves out are compiled too: what is wrong with them is wrong
//! with the tool. Whatever goes wrong lets no event through; carrying one into a task is the task's affair.

use super::allow_list::AllowList;
use super::expression::{Expression, Texts};
use super::filter::{Filter, FilterRefusal, parameters_type};
use super::message::compile_event_message;
use super::messages;
use super::schema_type::any_of;
use super::shape::Shape;
use super::template::Template;
use super::webhook::{SignatureError, WebhookSecret, delivery_ids};
use crate::cel::{Json, Part, STANDARD, Storage, Type};
use crate::context::{Activations, Bound, ExpressionWatch, Scope, ScopeDecl, ScopeEnv, event_type};
use crate::limits::{EngineLimits, EvalLimits};
use crate::manifest::agent::Agent;
use crate::manifest::binding::DeclaredBinding;
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::{CapabilityEntry, EventEntry};
use crate::manifest::event::{EventDecl, ReceiveKind};
use crate::manifest::schema::Property;
use crate::manifest::tool::Tool;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An event that a tool of the agent may bring.
#[derive(Debug)]
pub struct Event {
    /// Its name.
    pub name: Arc<str>,
    /// Its name, sanitised: what `match` selects (MW-21).
    pub key: String,
    /// The position of its capability in the policy.
    pub capability: usize,
    /// Whether the agent is subscribed to it (AG-11).
    pub active: bool,
    /// How it arrives.
    pub source: EventSource,
    /// The time for which a subscription lives without activity, in nanoseconds; `None` means for ever (SUB-01).
    pub timeout: Option<i64>,
    secret: Option<WebhookSecret>,
    /// The shape of its payload, if the tool declares one.
    payload: Option<Shape>,
    filter: Option<Filter>,
    /// Names for parts of its data, each with the expression that gives the value (EVT-08).
    names: Vec<(Arc<str>, Expression)>,
    message: Template,
    /// Which items of a poll's response are new (TOOL-13).
    detect: Option<Expression>,
    /// The bounds of the expressions in its texts.
    limits: EvalLimits,
}

/// How an event arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// The platform posts it to us.
    Webhook,
    /// The platform posts it because we asked for it.
    Subscription,
    /// We ask again and again; the payload is one item.
    Poll,
}

impl Event {
    /// Compiles an event of the capability at a position. There is none if something of it does not compile.
    pub(super) fn compile(
        agent: &Agent,
        entry: &CapabilityEntry,
        event: &EventEntry,
        capability: usize,
        limits: &EngineLimits,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let tool = entry.tool()?;
        let declared = entry.event(event)?;
        let source = match declared.receive.kind {
            ReceiveKind::Webhook { .. } => EventSource::Webhook,
            ReceiveKind::Subscription => EventSource::Subscription,
            ReceiveKind::Poll { .. } => EventSource::Poll,
        };
        let payload = declared.payload.as_deref().map(Shape::of);
        let payload_type = payload_type(payload.as_ref());
        let names = compile_names(&declared.aliases, source, &payload_type, limits, texts);
        let data = data_type(declared, payload_type);
        let filter = declared.receive.filter.as_ref().map(|text| {
            let parameters = named_parameters(tool);
            let scope = Arc::new(ScopeEnv::new(&ScopeDecl {
                event: data.clone(),
                parameters: parameters_type(parameters.as_deref()),
                libraries: STANDARD,
                ..ScopeDecl::new(Scope::Filter, limits.eval)
            }));
            Filter::compile(&scope, text, &format!("{}.filter", declared.receive.path), texts)
        });
        let secret = match &declared.receive.kind {
            ReceiveKind::Webhook { secret: Some(text) } => {
                let path = format!("{}.secret", declared.receive.path);
                Some(WebhookSecret::compile(text, &path, &tool.settings, &mut texts.findings))
            }
            _ => None,
        };
        let detect = match &declared.receive.kind {
            ReceiveKind::Poll { detect } => {
                let decl =
                    ScopeDecl { libraries: STANDARD, ..ScopeDecl::new(Scope::PollDetect, limits.eval) };
                let path = format!("{}.detect", declared.receive.path);
                Some(Expression::compile(&Arc::new(ScopeEnv::new(&decl)), detect, &path, texts))
            }
            _ => None,
        };
        Some(Self {
            name: declared.name.text.clone(),
            key: sanitise(&declared.name.text),
            capability,
            active: event.active && entry.listed.is_some(),
            source,
            timeout: entry.subscription_timeout(agent, event),
            // each of them is there if it was written, and has compiled
            secret: sequence(secret)?,
            payload,
            filter: sequence(filter)?,
            names: names?,
            message: compile_format(declared, data, limits, texts),
            detect: sequence(detect)?,
            limits: limits.eval,
        })
    }

    /// Whether a request is one of the platform that knows the secret (WH-01); without a secret every request is (WH-03).
    /// A request that did not come as bytes cannot be tested. Linear in the body.
    ///
    /// # Errors
    /// The reason why it is not.
    pub fn verify<'h>(
        &self,
        settings: &BTreeMap<String, Json>,
        request: Option<(impl IntoIterator<Item = (&'h str, &'h str)>, &[u8])>,
    ) -> Result<(), SignatureError> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let (headers, body) = request.ok_or(SignatureError::NoBody)?;
        secret.verify(settings, headers, body, &self.limits)
    }

    /// The names that the sender of a signed request gives its delivery, each with the header that it stands in: what is sent
    /// again has them again. None without a secret, as nobody vouches for anything then. Linear in the headers.
    pub fn delivery_ids<'h>(
        &self,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> impl Iterator<Item = (&'static str, &'h str)> {
        self.secret.iter().zip(std::iter::once(headers)).flat_map(|(_, headers)| delivery_ids(headers))
    }

    /// Checks a payload against the schema that the tool declares. Without a schema every payload passes.
    ///
    /// # Errors
    /// The difference, in words that hold nothing of the payload.
    ///
    /// # Cost
    /// Linear in the payload for a schema of types and constants; for any other at most `max_cost`.
    pub fn takes(&self, payload: &Json) -> Result<(), String> {
        check_payload(self.payload.as_ref(), payload)
    }

    /// The value of `event` in expressions: the payload, and the names that the tool gives to parts of it (EVT-08). A name whose
    /// expression fails is absent, so that using it is an error and asking for it is not.
    #[must_use]
    pub fn data(&self, payload: &Json) -> Json {
        let raw = Json::object([("payload", payload.clone())]);
        if self.names.is_empty() {
            return raw;
        }
        let bound = Bound { event: Some(raw.value()), item: Some(payload.value()), ..Bound::default() };
        let mut values = Activations::new(bound);
        let named = self.names.iter();
        let named = named.filter_map(|(name, value)| Some((&**name, value.json(&mut values, None).ok()?)));
        Json::object(std::iter::once(("payload", payload.clone())).chain(named))
    }

    /// Whether the filter lets an event through (EVT-03 to EVT-05); `data` is that of [`Event::data`].
    ///
    /// # Errors
    /// Why it does not.
    pub fn passes(
        &self,
        data: &Json,
        allowed: &AllowList,
        watch: Option<&dyn ExpressionWatch>,
    ) -> Result<(), FilterRefusal> {
        self.filter.as_ref().map_or(Ok(()), |filter| filter.passes(data, allowed, watch))
    }

    /// The filter, if it has one.
    #[must_use]
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// Its expressions: the map of names, the filter, and what finds new items.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let filter = self.filter.iter().map(Filter::expression);
        self.names.iter().map(|(_, value)| value).chain(filter).chain(&self.detect)
    }

    /// The text that an event becomes (EVT-06). It never fails: an absent value renders as the empty text.
    #[must_use]
    pub fn format(&self, data: &Json) -> String {
        self.message.render(&self.limits, |placeholder| placeholder.follow(data.value()))
    }

    /// The new items of a poll's response, each an event (TOOL-13); `poll` is an object with `last_fetched_at`. Empty if the
    /// expression fails, gives no list, or the event is not polled for.
    #[must_use]
    pub fn detect(&self, response: &Json, poll: &Json) -> Vec<Json> {
        let Some(detect) = &self.detect else { return Vec::new() };
        let bound = Bound { response: Some(response.value()), poll: Some(poll.value()), ..Bound::default() };
        let items = detect.json(&mut Activations::new(bound), None).ok();
        let list = items.iter().filter(|items| items.root().is_array());
        list.flat_map(|items| items.root().items().map(|item| item.to_json()).collect::<Vec<_>>()).collect()
    }
}

/// The type of a payload that was held to this schema, if there is one.
pub(super) fn payload_type(declared: Option<&Shape>) -> Type {
    declared.map_or(Type::Dyn, |shape| shape.ty("event.payload"))
}

fn data_type(declared: &EventDecl, payload: Type) -> Type {
    let names = declared.aliases.iter().map(|alias| (alias.name.text.clone(), Type::Dyn));
    event_type(payload, names)
}

/// What `event` is to steps that run for any of these events. Where the tool says nothing of the data of one, any name may
/// be tried (EVT-09).
pub(super) fn shared_type<'e>(events: impl Iterator<Item = &'e EventDecl> + Clone) -> Type {
    let says = |event: &EventDecl| event.payload.is_some() || !event.aliases.is_empty();
    let ty = |event: &EventDecl| {
        let payload = event.payload.as_deref().map(Shape::of);
        data_type(event, payload_type(payload.as_ref()))
    };
    match any_of("event", events.clone().map(ty)) {
        Some(mut record) => {
            if !events.clone().all(says) {
                record.storage = Storage::Open;
            }
            Type::Record(Arc::new(record))
        }
        None => Type::Dyn,
    }
}

/// Whether a payload fits its schema, if there is one.
///
/// # Errors
/// What does not, in words that hold nothing of the payload.
pub(super) fn check_payload(declared: Option<&Shape>, payload: &Json) -> Result<(), String> {
    let Some(shape) = declared else { return Ok(()) };
    shape.check_part(Part::Json(payload.root())).map_err(|misfit| messages::payload_misfit(&misfit))
}

/// The map of names, over `event` or, for a poll, `item`.
fn compile_names(
    written: &[DeclaredBinding],
    source: EventSource,
    payload: &Type,
    limits: &EngineLimits,
    texts: &mut Texts<'_>,
) -> Option<Vec<(Arc<str>, Expression)>> {
    if written.is_empty() {
        return Some(Vec::new());
    }
    let scope = if source == EventSource::Poll { Scope::PollField } else { Scope::EventField };
    let declared = ScopeDecl {
        event: event_type(payload.clone(), []),
        libraries: STANDARD,
        ..ScopeDecl::new(scope, limits.eval)
    };
    let scope = Arc::new(ScopeEnv::new(&declared));
    let compile = |alias: &DeclaredBinding| {
        let value = Expression::compile(&scope, &alias.value, &alias.path, texts)?;
        Some((alias.name.text.clone(), value))
    };
    let compiled: Vec<_> = written.iter().map(compile).collect();
    compiled.into_iter().collect()
}

/// The message; an event without one is invalid, which the manifest layer has said.
fn compile_format(
    declared: &EventDecl,
    data: Type,
    limits: &EngineLimits,
    texts: &mut Texts<'_>,
) -> Template {
    let scope = ScopeEnv::new(&ScopeDecl { event: data, ..ScopeDecl::new(Scope::EventField, limits.eval) });
    let path = format!("{}.message", declared.path);
    let message = declared.message.as_ref();
    message.map(|text| compile_event_message(&scope, text, &path, &mut texts.findings)).unwrap_or_default()
}

/// The parameters that a tool's filters may name, with their types (ALW-02, ALW-20): those of the tool, its actions and
/// its events. None if they are not all known here (PAR-12).
fn named_parameters(tool: &Tool) -> Option<Vec<(Arc<str>, Type)>> {
    if tool.has_derived_parameters() {
        return None;
    }
    let actions = tool.actions.iter().flat_map(|action| &action.parameters);
    let events = tool.events.iter().flat_map(|event| &event.parameters);
    let mut named: Vec<(Arc<str>, Type)> = Vec::new();
    for Property { name, schema, .. } in tool.parameters.iter().chain(actions).chain(events) {
        let ty = Shape::of(schema).ty(&name.text);
        match named.iter_mut().find(|(known, _)| *known == name.text) {
            Some((_, known)) if *known == ty => {}
            // one set for two types (ALW-02)
            Some((_, known)) => *known = Type::Dyn,
            None => named.push((name.text.clone(), ty)),
        }
    }
    Some(named)
}

/// Something that is absent, or that there is; nothing if it ought to be and does not compile.
#[expect(
    clippy::option_option,
    reason = "the outer one says whether it was written, the inner whether it compiles"
)]
fn sequence<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    part.map_or(Some(None), |part| part.map(Some))
}
