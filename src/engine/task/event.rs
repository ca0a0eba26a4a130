//! Events of tools (EVT): what happens outside and may become an input of the task.
//!
//! In: a payload or a request as it came, and the event that it is said to be. Out: route with the entry that was added to
//! the task's inputs, or discard with the stage that it did not pass. In this order (EVT-15): subscription, signature (and
//! whether the signed delivery was taken before), the schema of the payload, filter, `before`, format, `after`,
//! `guardrails.before`. Whatever goes wrong discards; nothing of the payload or of a secret stands in what is said about it, but for what a step's own message shows.

use super::begun_operation::BegunOperation;
use super::delivery::Content;
use super::driver::Host;
use super::flow::{StopKind, Stopped};
use super::messages;
use super::outcome::RoutedEvent;
use super::size;
use super::state::delivery_name;
use super::state::{
    CallId, Decision, End, EventStage, EventUnderWay, Finding, Hidden, Next, Progress, Refused, Sender,
    Stage, Subject, Task, TaskError, UnderWay, Verdict, Wanted,
};
use crate::cel::{Json, Timestamp};
use crate::context::{TaskIo, TaskIoError};
use crate::policy::{DecidedOperation, Event, EventSource, FilterRefusal, Policy};
use std::collections::BTreeMap;

/// An event that the task hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription<'t> {
    /// The capability, as the manifest names it.
    pub capability: &'t str,
    /// The event.
    pub event: &'t str,
    /// How it arrives.
    pub source: EventSource,
    /// When it expires if the task takes no step any more; nothing if it never does (SUB-04).
    pub expires_at: Option<Timestamp>,
}

/// The outcome of a request for one of the events that it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The capability, as the manifest names it.
    pub capability: String,
    /// The event.
    pub event: String,
    /// Route or discard, or why the task took nothing.
    pub decision: Decision,
}

/// Why an event came no further than its filter.
struct Dismissal {
    stage: EventStage,
    message: String,
    findings: Vec<Finding>,
}

impl Dismissal {
    fn new(stage: EventStage, message: String) -> Self {
        Self { stage, message, findings: Vec::new() }
    }
}

impl From<Dismissal> for Progress {
    fn from(Dismissal { stage, message, findings }: Dismissal) -> Self {
        let verdict = Verdict::Discard { stage, refused: Refused::new(message) };
        Decision { findings, ..Decision::new(verdict) }.into()
    }
}

impl Task {
    pub(super) fn begin_event_of(
        &mut self,
        (capability, event): (&str, &str),
        content: &Content,
        settings: &BTreeMap<String, Json>,
        now: Timestamp,
    ) -> Progress {
        if let Some(rejected) = self.refusal_at_end(now) {
            // a task at its end has no subscriptions (SUB-12)
            return rejected.discarded(EventStage::Inactive).into();
        }
        if let Some(switch) = self.stopped() {
            return Decision::switched_off(switch).into();
        }
        let policy = self.policy.clone();
        let subscribed = policy.event_of(capability, event).filter(|(_, event)| self.hears(event, now));
        let Some((position, declared)) = subscribed else {
            return Dismissal::new(EventStage::Inactive, messages::not_subscribed()).into();
        };
        let names = self.names(declared, content);
        let payload = match self.received(declared, content, settings, &names) {
            Ok(payload) => payload,
            Err(dismissal) => return dismissal.into(),
        };
        let operation = DecidedOperation::Event(position);
        if !policy.dependencies_of(operation).is_some_and(|own| self.awaits(own)) {
            return self.judge_event(capability, event, &payload, names, None, now);
        }
        // what no filter lets through must not fill the queue; a call that is open may still let it through
        if !self.adds_values(declared.capability)
            && let Err(dismissal) = self.fits(declared, &payload)
        {
            return dismissal.into();
        }
        let (capability, event) = (capability.to_owned(), event.to_owned());
        match self.put_off(operation, || Wanted::Event { capability, event, payload }) {
            Some(decision) => {
                if matches!(decision.verdict, Verdict::Wait { .. }) {
                    self.delivered.add(names, policy.limits().max_deliveries);
                }
                decision.into()
            }
            // it waits, as was found above
            None => Decision::not_known().into(),
        }
    }

    /// Judges an event that waits for no other operation, under its name if it has waited. Whether the task hears of it was decided when it
    /// came: nobody's subscription ends because somebody else is slow.
    pub(super) fn judge_event(
        &mut self,
        capability: &str,
        event: &str,
        payload: &Json,
        names: Vec<String>,
        name: Option<CallId>,
        now: Timestamp,
    ) -> Progress {
        let policy = self.policy.clone();
        let Some((position, event)) = policy.event_of(capability, event) else {
            return Dismissal::new(EventStage::Inactive, messages::not_subscribed()).into();
        };
        self.seal(now);
        match self.fits(event, payload) {
            Ok(data) => self.begin_event(position, event, (data, names), name, now),
            Err(dismissal) => dismissal.into(),
        }
    }

    /// Takes a request as each webhook of the task's tools that it may be, with the webhook's own secret and filter (WH-08), in
    /// the order of the manifests. A request may become several inputs. Stops at nothing: while a review is open the remaining events wait.
    /// `settings` are those of the namespace, as [`Task::event`] takes them.
    ///
    /// # Errors
    /// As [`BegunOperation::drive`].
    pub fn route(
        &mut self,
        content: &Content,
        settings: &BTreeMap<String, Json>,
        host: &mut dyn Host,
    ) -> Result<Vec<Routing>, TaskError> {
        let policy = self.policy.clone();
        let mut routings = Vec::new();
        let webhooks =
            policy.events().iter().filter(|event| event.active && event.source == EventSource::Webhook);
        for event in webhooks {
            let capability = reference(&policy, event);
            let progress = self.begin_event_of((capability, &event.name), content, settings, host.now());
            let decision = BegunOperation::<RoutedEvent>::new(self, progress).drive(host)?.into_decision();
            let (capability, event) = (capability.to_owned(), event.name.to_string());
            routings.push(Routing { capability, event, decision });
        }
        Ok(routings)
    }

    /// The events that the task is subscribed to now, in the order of the manifests. Empty if it is interrupted (SUB-11) or at its
    /// end (SUB-12).
    pub fn subscriptions(&self, now: Timestamp) -> impl Iterator<Item = Subscription<'_>> {
        let heard = self.policy.events().iter().filter(move |event| self.hears(event, now));
        heard.map(|event| Subscription {
            capability: reference(&self.policy, event),
            event: &event.name,
            source: event.source,
            expires_at: self.activity.ends(event.timeout),
        })
    }

    fn hears(&self, event: &Event, now: Timestamp) -> bool {
        self.end.is_none() && event.active && self.activity.keeps(event.timeout, now)
    }

    /// The names that the sender gives the delivery, as the task keeps them.
    fn names(&self, event: &Event, content: &Content) -> Vec<String> {
        let Content::Request { headers, .. } = content else { return Vec::new() };
        let capability = reference(&self.policy, event);
        let ids = event.delivery_ids(pairs(headers));
        ids.map(|(header, id)| delivery_name(capability, &event.name, header, id)).collect()
    }

    /// The payload of a delivery whose sender is verified and that was not taken before.
    fn received(
        &self,
        event: &Event,
        content: &Content,
        settings: &BTreeMap<String, Json>,
        names: &[String],
    ) -> Result<Json, Dismissal> {
        let request = match content {
            Content::Payload(_) => None,
            Content::Request { headers, body } => Some((pairs(headers), &**body)),
        };
        let verified = event.verify(settings, request);
        verified.map_err(|error| Dismissal::new(EventStage::Signature, error.to_string()))?;
        if self.delivered.knows(names) {
            return Err(Dismissal::new(EventStage::Signature, messages::delivered_before()));
        }
        match content {
            Content::Payload(payload) => Ok(payload.clone()),
            Content::Request { body, .. } => {
                let text = std::str::from_utf8(body).ok();
                let payload = text.and_then(|text| Json::parse(text, &self.policy.limits().eval).ok());
                payload.ok_or_else(|| Dismissal::new(EventStage::Filter, messages::no_json_body()))
            }
        }
    }

    /// Schema and filter: what `event` is to expressions, if its payload passes both.
    fn fits(&self, event: &Event, payload: &Json) -> Result<Json, Dismissal> {
        let takes = event.takes(payload);
        takes.map_err(|why| Dismissal::new(EventStage::Payload, messages::unfit_payload(&why)))?;
        let data = event.data(payload);
        let allowed = self.allowed.get(event.capability);
        let passes =
            allowed.map_or(Err(FilterRefusal::False), |allowed| event.passes(&data, allowed, self.watch()));
        passes.map(|()| data).map_err(|refusal| refused(event, refusal))
    }

    /// Whether a call of a capability may still run, and so add to what the filters of its events compare with.
    fn adds_values(&self, capability: usize) -> bool {
        let is_of = |function: usize| {
            self.policy.function(function).is_some_and(|function| function.capability == capability)
        };
        let under_way = self.waiting.iter().filter_map(|pending| pending.operation.subject.call());
        let queued = self.queue.waiting.iter().filter_map(|queued| match &queued.wanted {
            Wanted::Call { call, .. } => self.policy.position(&call.function),
            Wanted::Input { .. } | Wanted::Event { .. } => None,
        });
        let open = self.open.iter().map(|open| open.function);
        open.chain(under_way.map(|call| call.function)).chain(queued).any(is_of)
    }

    /// From here on the event is a step of the task: its limits hold, and steps of the manifest run.
    /// What the delivery is called is kept from now on: nothing of it happens twice, whatever becomes of it.
    fn begin_event(
        &mut self,
        position: usize,
        event: &Event,
        (data, names): (Json, Vec<String>),
        name: Option<CallId>,
        now: Timestamp,
    ) -> Progress {
        let beyond = self.beyond(Next::Other, now).or_else(|| self.beyond_bytes(size::of(&data)));
        if let Some(beyond) = beyond {
            // the task has ended, and with it the subscription (SUB-12)
            return beyond.discarded(EventStage::Inactive).into();
        }
        self.delivered.add(names, self.policy.limits().max_deliveries);
        let subject = EventUnderWay::new(position, event.format(&data), data);
        let mut operation = UnderWay::new(Subject::Event(subject), Stage::Before);
        operation.course.would_stop(self.would_be_beyond(Next::Other, now));
        let progress = self.advance(operation.under(name), now.into());
        self.settle_event(progress, now)
    }

    /// An event that became an input is a step of the task (SUB-07); one that did not is none, so that nobody keeps a
    /// subscription alive with what is not wanted.
    pub(super) fn settle_event(&mut self, progress: Progress, now: Timestamp) -> Progress {
        if matches!(&progress, Progress::Decided(decision) if matches!(decision.verdict, Verdict::Route { .. }))
        {
            self.take_step(now);
        }
        progress
    }

    /// Puts the formatted event to the guardrails, as the last of the task's inputs. What parameters an event cannot give
    /// it inherits (CTX-15).
    pub(super) fn put_under_test(&mut self, operation: &mut UnderWay) {
        let Subject::Event(event) = &operation.subject else { return };
        let previous = self.context.last_input().map(TaskIo::extra);
        let inherited = self.policy.input().inherit(previous);
        // the entry has been one since it was formatted
        let Ok(entry) = TaskIo::from_entry(event.entry.root()) else { return };
        let given = entry.extra().entries();
        let kept = inherited.root().entries().filter(|(name, _)| entry.extra().get(name).is_none());
        let extra = Json::object(kept.chain(given).map(|(name, value)| (name, value.to_json())));
        self.context.push_input(entry.with_extra(extra.root()));
        operation.subject = Subject::Input(Sender::Event);
    }

    /// Ends an event that a step stopped: nothing of it reaches the model (EVT-10), and the message stays for the caller and
    /// the trace.
    pub(super) fn stop_event(&mut self, operation: UnderWay, stopped: Stopped) -> Decision {
        let Stopped { kind, message, user_message, origin } = stopped;
        let secret = Hidden::said(message.shown.clone(), user_message.as_ref());
        if kind == StopKind::LockTask {
            self.end = Some(End::Locked(message.shown().to_owned()));
        }
        let refused =
            Refused { user_message: user_message.map(|said| said.text), ..Refused::new(message.text) };
        let verdict = match kind {
            StopKind::Block => Verdict::Discard { stage: operation.course.stage.of_event(), refused },
            StopKind::LockTask => kind.with(refused),
        };
        Decision { secret, decided_by: Some(origin), ..operation.decide(verdict) }
    }
}

impl EventUnderWay {
    fn new(event: usize, text: String, data: Json) -> Self {
        let input = Json::object([("message", Json::string(&text))]);
        Self { event, data, entry: input.clone(), input }
    }

    /// Puts the value of a transform in the place of the formatted event (EVT-13).
    ///
    /// # Errors
    /// A value that is no message.
    pub(super) fn transform(&mut self, value: &Json) -> Result<(), TaskIoError> {
        let entry = TaskIo::from_entry(self.entry.root())?.transformed(value.root())?;
        self.input = Json::object([("message", Json::string(&entry.message_text()))]);
        self.entry = entry.to_json();
        Ok(())
    }
}

/// Headers as borrowed pairs of name and value.
fn pairs(headers: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().map(|(name, value)| (&**name, &**value))
}

/// The reference by which the manifest knows the capability of an event.
fn reference<'p>(policy: &'p Policy, event: &Event) -> &'p str {
    let capability = policy.agent().capabilities.get(event.capability);
    capability.map_or("", |capability| &capability.reference.text)
}

fn refused(event: &Event, refusal: FilterRefusal) -> Dismissal {
    match refusal {
        FilterRefusal::False => Dismissal::new(EventStage::Filter, messages::filtered()),
        FilterRefusal::NoValues(name) => {
            Dismissal::new(EventStage::Filter, messages::no_allowed_values(&name))
        }
        FilterRefusal::Failed(error) => {
            let origin = event.filter().map(|filter| filter.expression().origin_of(error.span));
            let finding = Finding { origin, ..Finding::failed(&error) };
            let message = messages::filter_failed(error.code.describe());
            Dismissal { findings: vec![finding], ..Dismissal::new(EventStage::Filter, message) }
        }
    }
}
