//! Answers to the client: the model's as it was decided, and those that the proxy makes.
//!
//! In: an answer in the form of the API. Out: the same over the wire, whole or in events, and a note of it: which calls the client has now,
//! by what it will be found again, and what the vendor knows nothing of.

use super::Proxy;
use super::asking::Obstacle;
use super::memory::{Made, Thread};
use super::reply::Teller;
use super::threading::{Points, point_of};
use super::wire::{Api, Conversation, Sent};
use celador::digest::Digest;
use serde_json::{Value, json};
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
        if self.api == Api::Responses && id != vendor {
            let made = Made { previous: Some(vendor.to_owned()), input: Vec::new() };
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
        if self.api == Api::Responses {
            let (previous, mut input) = unsent(body);
            let output = whole.get("output").and_then(Value::as_array).into_iter().flatten();
            let is_news = |item: &&Value| item.get("call_id").is_none() || calls == Calls::Unsent;
            input.extend(output.filter(is_news).cloned());
            self.thread.notes().made.insert(text_of(&whole, "id").to_owned(), Made { previous, input });
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
        let calls: Vec<String> = self.api.answer(whole).calls.into_iter().map(|call| call.id).collect();
        let memory = &self.proxy.memory;
        let items = self.api.items(whole);
        if let Some(point) = Points::behind(self.points.last().unwrap_or(Digest::ZERO), &items).last() {
            memory.mark(point, self.task);
        }
        for call in &calls {
            memory.mark(point_of("call", call), self.task);
        }
        if self.api == Api::Responses {
            memory.mark(point_of("answer", text_of(whole, "id")), self.task);
        }
        let mut notes = self.thread.notes();
        notes.open.extend(calls.iter().cloned());
        notes.keep_last(self.digest, whole, calls);
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What a request would have told the vendor.
fn unsent(body: &Value) -> (Option<String>, Vec<Value>) {
    let previous = body.get("previous_response_id").and_then(Value::as_str).map(str::to_owned);
    let input = match body.get("input") {
        Some(Value::Array(input)) => input.clone(),
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        _ => Vec::new(),
    };
    (previous, input)
}

/// Puts ahead of a request what the vendor was not sent, where the client goes on from an answer that the proxy made.
pub(super) fn put_unsent(thread: &Thread, body: &mut Value) {
    let (Some(previous), mut input) = unsent(body) else { return };
    let Some(made) = thread.notes().made.get(&previous).cloned() else { return };
    input.splice(0..0, made.input);
    if let Some(body) = body.as_object_mut() {
        body.insert("input".to_owned(), json!(input));
        match made.previous {
            Some(previous) => body.insert("previous_response_id".to_owned(), json!(previous)),
            None => body.shift_remove("previous_response_id"),
        };
    }
}

/// An id for an answer of the proxy's own.
pub(super) fn made_up() -> String {
    format!("celador{}", uuid::Uuid::new_v4().simple())
}

/// The time, as OpenAI's answers have it.
pub(super) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
