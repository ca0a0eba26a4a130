//! Answers to the client: the model's as it was decided, and those that the proxy makes.
//!
//! In: an answer in the form of the API. Out: the same over the wire, whole or in events, and a note of it: which calls the client has now,
//! by what it will be found again, and what the vendor knows nothing of.

use super::Proxy;
use super::asking::Obstacle;
use super::memory::{Made, Thread};
use super::names::note_keys;
use super::reply::Teller;
use super::threading::{Points, point_of, said_at};
use super::wire::{Api, Conversation, ModelCall, Sent};
use celador::digest::Digest;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// What an answer is given to.
pub(super) struct Given<'g> {
    pub(super) proxy: &'g Proxy,
    pub(super) api: Api,
    pub(super) task: &'g str,
    pub(super) thread: &'g Thread,
    pub(super) points: &'g Points,
    pub(super) conversation: &'g Conversation,
    /// That of the request.
    pub(super) digest: Digest,
}

/// Whether the vendor knows the calls of an answer that the proxy makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// They stand in an answer that the vendor has kept, and that the conversation goes on from.
    Kept,
    Unsent,
}

impl Given<'_> {
    /// Gives an answer that is a text of the proxy's own.
    pub(super) async fn make(
        &self,
        teller: &mut Teller,
        body: &Value,
        text: &str,
        verdict: &str,
    ) -> Result<(), Obstacle> {
        self.send(teller, body, self.made(text), Sent::default(), verdict, Calls::Unsent).await
    }

    /// An answer that is a text of the proxy's own.
    pub(super) fn made(&self, text: &str) -> Value {
        self.api.made(&made_up(), &self.conversation.model, seconds(), text)
    }

    /// Gives an answer that was given before.
    pub(super) async fn repeat(&self, teller: &mut Teller, whole: &Value) {
        self.write(teller, whole, Sent::default(), None).await;
    }

    /// Gives an answer of the model, of which the vendor knows the last part under this id.
    pub(super) async fn pass_on(&self, teller: &mut Teller, whole: &Value, sent: Sent, vendor: &str) {
        self.note(whole);
        let id = text_of(whole, "id");
        if self.api != Api::Chat && id != vendor {
            let made = Made { previous: Some(vendor.to_owned()), said: Vec::new() };
            self.thread.notes().made.insert(id.to_owned(), made);
        }
        self.write(teller, whole, sent, None).await;
    }

    /// Gives an answer of the proxy's own. The body is the request of which the vendor knows nothing.
    pub(super) async fn send(
        &self,
        teller: &mut Teller,
        body: &Value,
        whole: Value,
        sent: Sent,
        verdict: &str,
        calls: Calls,
    ) -> Result<(), Obstacle> {
        self.note(&whole);
        if self.api != Api::Chat {
            let (previous, mut said) = self.api.unsent(body);
            said.extend(self.api.unsent_of(&whole, calls == Calls::Kept));
            self.thread.notes().made.insert(text_of(&whole, "id").to_owned(), Made { previous, said });
        }
        self.write(teller, &whole, sent, Some(verdict)).await;
        Ok(())
    }

    async fn write(&self, teller: &mut Teller, whole: &Value, sent: Sent, verdict: Option<&str>) {
        if self.conversation.streams {
            let events = self.api.events(whole, sent, self.conversation.wants_usage);
            teller.events(self.task, verdict, events).await;
        } else {
            teller.whole(self.task, verdict, whole).await;
        }
    }

    fn note(&self, whole: &Value) {
        let memory = &self.proxy.memory;
        let items = self.api.items(whole);
        let points = Points::behind(self.points.last().unwrap_or(Digest::ZERO), &items);
        if let Some(point) = points.last() {
            memory.mark(point, self.task);
        }
        let given = self.api.answer(whole).calls;
        for call in &given {
            memory.mark_alone(point_of("call", &call.id), self.task);
        }
        if self.api != Api::Chat {
            memory.mark(point_of("answer", text_of(whole, "id")), self.task);
        }
        let mut notes = self.thread.notes();
        note_keys(&items, &points, &mut notes);
        for (at, item) in items.iter().enumerate() {
            let Some(point) = points.at(at) else { continue };
            notes.answers.extend([point, said_at(point, item)]);
        }
        let key = |call: &ModelCall| notes.latest.get(&call.id).unwrap_or(&call.id).clone();
        let calls: Vec<String> = given.iter().map(key).collect();
        notes.arguments.extend(calls.iter().cloned().zip(given.iter().map(ModelCall::said)));
        notes.open.extend(calls.iter().cloned());
        notes.keep_last(self.digest, whole, calls);
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Puts ahead of a request what the vendor was not sent, where the client goes on from an answer that the proxy made.
pub(super) fn put_unsent(api: Api, thread: &Thread, body: &mut Value) {
    let (Some(previous), _) = api.unsent(body) else { return };
    let Some(made) = thread.notes().made.get(&previous).cloned() else { return };
    api.put_unsent(body, made.previous.as_deref(), made.said);
}

/// An id for an answer of the proxy's own.
pub(super) fn made_up() -> String {
    format!("celador{}", uuid::Uuid::new_v4().simple())
}

/// The time, as OpenAI's answers have it.
pub(super) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
