//! What a client sends, judged: messages of the user, results of calls.
//!
//! In: a conversation, of which some was judged before. Out: what is to stand in the request in the place of what came, or the word
//! that ends it here. Everything is judged once, in the order in which it was said, whether it is new or came before the proxy
//! did; what was judged is not judged again but stands as it was decided, however often the client repeats it.

use super::asking::{Asking, Decided, Obstacle, Way, obstacle};
use super::memory::{Judged, JudgedResult, Notes, Thread};
use super::messages;
use super::threading::{Points, said_at};
use super::wire::json::is_same_but_for_blanks;
use super::wire::{Conversation, Item, Kind, ModelCall, said_by};
use celador::cel::Json;
use celador::digest::Digest;
use celador::task::{Call, CallResult, Operation, Ran, ReportedCall};
use celador_server::strict_json;
use celador_service::ProblemKind;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

/// What came of judging what a client has sent.
#[derive(Default)]
pub(crate) struct Inbound {
    /// What is to stand in the place of items.
    pub(crate) changes: Vec<(usize, Judged)>,
    /// Calls whose arguments are neither those that the client was given nor judged: the place of the item, and the id of the call on the wire.
    pub(crate) foreign: Vec<(usize, String)>,
    /// Why the model is not asked, and what the user is told.
    pub(crate) stopped: Option<(String, String)>,
}

/// Judges everything that was not judged yet.
pub(crate) async fn judge(
    asking: Asking<'_>,
    thread: &Thread,
    conversation: &Conversation,
    points: &Points,
    wait: Duration,
) -> Result<Inbound, Obstacle> {
    let items = &conversation.items;
    let behind = items.iter().rposition(|item| matches!(item.kind, Kind::Assistant(_)));
    let mut inbound = Inbound::default();
    let mut at = 0;
    while let Some(item) = items.get(at) {
        match &item.kind {
            _ if is_input(thread, items, at, points) => {
                let judged = match input(asking, thread, item, points.at(at), wait).await? {
                    Ok(judged) => judged,
                    // somebody has to answer first: nothing that was said behind it is looked at, nor kept for a later request
                    Err(decided) => {
                        let text = messages::input_waits(decided.reviewer());
                        let unjudged = at..items.len();
                        inbound
                            .changes
                            .extend(unjudged.clone().map(|at| (at, Judged::Withheld(text.clone()))));
                        inbound.foreign = calls_of(items, unjudged);
                        inbound.stopped = Some(("wait".to_owned(), text));
                        return Ok(inbound);
                    }
                };
                if let Judged::Withheld(text) = &judged
                    && behind.is_none_or(|behind| at > behind)
                {
                    inbound.stopped.get_or_insert_with(|| ("block".to_owned(), text.clone()));
                }
                inbound.changes.push((at, judged));
                at = at.saturating_add(1);
            }
            Kind::Result { .. } => {
                let run = items.get(at..).unwrap_or_default();
                let run = run.iter().take_while(|item| matches!(item.kind, Kind::Result { .. })).count();
                let end = at.saturating_add(run);
                let results: Vec<(usize, &Item)> =
                    (at..end).filter_map(|at| Some((at, items.get(at)?))).collect();
                together(asking, thread, &results).await?;
                for (at, item) in results {
                    inbound.changes.push((at, result(asking, thread, items, item).await?));
                }
                at = end;
            }
            _ => at = at.saturating_add(1),
        }
    }
    for (at, item) in items.iter().enumerate() {
        let Kind::Assistant(calls) = &item.kind else { continue };
        for call in calls {
            if !is_own(asking, thread, call).await? {
                inbound.foreign.push((at, call.id.clone()));
            }
        }
    }
    Ok(inbound)
}

/// The calls of some items, by the place of the item and the id on the wire.
fn calls_of(items: &[Item], places: Range<usize>) -> Vec<(usize, String)> {
    let calls = |at: usize| match items.get(at).map(|item| &item.kind) {
        Some(Kind::Assistant(calls)) => calls.iter().map(|call| (at, call.id.clone())).collect(),
        _ => Vec::new(),
    };
    places.flat_map(calls).collect()
}

/// Whether the model may read the arguments of a call that the client repeats: they were given to it, or judged with its result. Where
/// nothing is remembered, a call that the task has let through is believed.
async fn is_own(asking: Asking<'_>, thread: &Thread, call: &ModelCall) -> Result<bool, Obstacle> {
    if call.arguments.is_none() {
        // what readers read differently was neither given nor judged
        return Ok(false);
    }
    let known = thread.notes().arguments.get(&call.key).copied();
    if let Some(known) = known {
        return Ok(known == call.said());
    }
    let standing = asking.standing(&call.key, Duration::ZERO).await?;
    let is_let_through = standing.is_some_and(|it| !matches!(it.way(), Way::Refused | Way::Beyond));
    if is_let_through {
        thread.notes().arguments.insert(call.key.clone(), call.said());
    }
    Ok(is_let_through)
}

/// Whether an item is judged as an input: what a user says, and what a client puts into a conversation that neither the proxy gave it nor the
/// application began it with. The model reads all of it alike.
fn is_input(thread: &Thread, items: &[Item], at: usize, points: &Points) -> bool {
    let Some(item) = items.get(at).filter(|item| !item.text().is_empty()) else { return false };
    match &item.kind {
        Kind::User => true,
        Kind::System => items.iter().take(at).any(|item| item.kind != Kind::System),
        Kind::Assistant(_) => points.at(at).is_none_or(|point| !is_answer(thread, item, point)),
        Kind::Result { .. } => false,
    }
}

/// Whether the proxy has given this as an answer: with all that stands beside its text, or without.
fn is_answer(thread: &Thread, item: &Item, point: Digest) -> bool {
    let notes = thread.notes();
    let is_spoken = item.text().trim() == item.spoken().trim() && notes.answers.contains(&point);
    is_spoken || notes.answers.contains(&said_at(point, item))
}

/// A message of the user. The key is the conversation up to it: the same message at the same place is one input, in another process too.
async fn input(
    asking: Asking<'_>,
    thread: &Thread,
    item: &Item,
    point: Option<Digest>,
    wait: Duration,
) -> Result<Result<Judged, Decided>, Obstacle> {
    let point = point.unwrap_or(Digest::ZERO);
    // the point of a user's message has all that is said in it
    let point = if item.kind == Kind::User { point } else { said_at(point, item) };
    if let Some(judged) = thread.notes().inputs.get(&point) {
        return Ok(Ok(judged.clone()));
    }
    let part = |text: &str| json!({"mimeType": "text/plain", "text": text});
    let message: Vec<Value> = item.texts.iter().map(|it| part(&it.text)).collect();
    let key = format!("llm-input-{point}");
    let mut decided =
        asking.decide(Operation::Input((&json!({"message": message})).into()), Some(key), wait).await?;
    if decided.way() == Way::Beyond {
        if let Some(call) = &decided.call {
            asking.withdraw(call.as_str(), Ran::Never).await?;
        }
        decided = Decided::default();
    }
    let judged = match decided.way() {
        Way::Waits => return Ok(Err(decided)),
        Way::On => {
            let parts = decided.value.get("message").and_then(Value::as_array).cloned().unwrap_or_default();
            let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
            let texts: Vec<String> = parts.iter().filter_map(text).collect();
            let is_same = texts.iter().eq(item.texts.iter().map(|it| &it.text));
            if is_same { Judged::AsItCame } else { Judged::Changed(texts) }
        }
        // what a task refuses that takes no step is stored nowhere, and may be asked again
        Way::Over => return Ok(Ok(Judged::Withheld(decided.for_user()))),
        _ => Judged::Withheld(decided.for_user()),
    };
    thread.notes().inputs.insert(point, judged.clone());
    Ok(Ok(judged))
}

/// The object or list that a result is as JSON, if it is one text, and all readers read it alike.
fn as_json(item: &Item) -> Option<Value> {
    let [text] = &*item.texts else { return None };
    strict_json::from_str(&text.text).ok().filter(|it| it.is_object() || it.is_array())
}

/// A result as the task takes it. Models are shown texts; what such a text says as JSON, rules can read.
fn reported(item: &Item) -> (Value, bool) {
    let text = item.text();
    let failed = matches!(item.kind, Kind::Result { failed: true, .. });
    (as_json(item).unwrap_or(Value::String(text)), failed)
}

fn call_of(item: &Item) -> &str {
    if let Kind::Result { key, .. } = &item.kind { key } else { "" }
}

fn of(item: &Item) -> Digest {
    Digest::of(item.text().as_bytes())
}

fn written(call: &str, item: &Item) -> ReportedCall {
    let (output, failed) = reported(item);
    let output = Json::from(&output);
    let result = if failed { CallResult::errored(output) } else { CallResult::successful(output) };
    ReportedCall { call: call.into(), result }
}

/// Reports the results of calls that the client was given, all in one step.
async fn together(asking: Asking<'_>, thread: &Thread, results: &[(usize, &Item)]) -> Result<(), Obstacle> {
    let open: Vec<&Item> = {
        let notes = thread.notes();
        let is_open = |item: &&Item| notes.open.contains(call_of(item));
        results.iter().map(|(_, item)| *item).filter(is_open).collect()
    };
    if open.is_empty() {
        return Ok(());
    }
    let results = open.iter().map(|item| written(call_of(item), item)).collect();
    let decided = match asking.results(results).await? {
        Ok(decided) => decided,
        // one of them is over: each is reported alone, and says how it is with it
        Err(error) if matches!(error.kind(), Some(ProblemKind::UnknownCall | ProblemKind::OtherResult)) => {
            return Ok(());
        }
        Err(error) => return Err(obstacle(&error)),
    };
    let mut notes = thread.notes();
    for (item, decided) in open.into_iter().zip(decided) {
        note(&mut notes, item, judged(item, &decided));
    }
    Ok(())
}

fn note(notes: &mut Notes, item: &Item, judged: Judged) -> Judged {
    notes.open.remove(call_of(item));
    notes.results.insert(call_of(item).to_owned(), JudgedResult { of: of(item), judged: judged.clone() });
    judged
}

/// What the model gets of a result.
fn judged(item: &Item, decided: &Decided) -> Judged {
    match decided.way() {
        Way::On => {
            let now = as_text(&decided.value);
            let is_same = match as_json(item) {
                // what was judged is what is written, but for blanks
                Some(_) => is_same_but_for_blanks(&item.text(), &now),
                None => item.text() == now,
            };
            if is_same { Judged::AsItCame } else { Judged::Changed(vec![now]) }
        }
        _ => Judged::Withheld(messages::result_withheld(&decided.for_model())),
    }
}

/// A value as a model reads it.
pub(crate) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One result: as it was judged, or else as the task takes it now.
async fn result(
    asking: Asking<'_>,
    thread: &Thread,
    items: &[Item],
    item: &Item,
) -> Result<Judged, Obstacle> {
    let call = call_of(item);
    if let Some(known) = thread.notes().results.get(call) {
        // a client may shorten what it sends again; what it puts there instead was judged by nobody
        let is_same = known.of == of(item) || matches!(known.judged, Judged::Withheld(_));
        return Ok(match &known.judged {
            Judged::AsItCame if !is_same => Judged::Withheld(messages::result_changed().to_owned()),
            judged => judged.clone(),
        });
    }
    if asking.standing(call, Duration::ZERO).await?.is_none()
        && let Some(refused) = admit(asking, thread, items, item).await?
    {
        return Ok(note(&mut thread.notes(), item, Judged::Withheld(messages::result_withheld(&refused))));
    }
    let decided = match asking.results(vec![written(call, item)]).await? {
        Ok(decided) => decided.into_iter().next().unwrap_or_default(),
        Err(error) if error.kind() == Some(ProblemKind::OtherResult) => {
            let changed = Judged::Withheld(messages::result_changed().to_owned());
            return Ok(note(&mut thread.notes(), item, changed));
        }
        Err(error) => return Err(obstacle(&error)),
    };
    Ok(note(&mut thread.notes(), item, judged(item, &decided)))
}

/// A call that the task does not know, as it ran before the proxy was there: judged like any other, and if it is not let through the
/// model does not read what came of it. Says why, then.
async fn admit(
    asking: Asking<'_>,
    thread: &Thread,
    items: &[Item],
    item: &Item,
) -> Result<Option<String>, Obstacle> {
    let calls = items.iter().flat_map(|item| match &item.kind {
        Kind::Assistant(calls) => &**calls,
        _ => &[],
    });
    let unknown = || Obstacle::new(400, messages::unknown_call().to_owned());
    let call: &ModelCall = calls.into_iter().find(|call| call.key == call_of(item)).ok_or_else(unknown)?;
    let Some(arguments) = &call.arguments else { return Ok(Some(messages::bad_arguments().to_owned())) };
    let made =
        Call::new(&*call.function(), Json::from(&Value::Object(arguments.clone()))).with_id(&*call.key);
    let decided = asking.decide(Operation::Before(made), None, Duration::ZERO).await?;
    // what was not let through has no arguments that the model may read
    let said = if decided.way() == Way::On {
        said_by(&call.function(), decided.value.as_object())
    } else {
        Digest::ZERO
    };
    thread.notes().arguments.insert(call.key.clone(), said);
    Ok(match decided.way() {
        Way::On => None,
        Way::Waits | Way::Beyond => {
            asking.withdraw(&call.key, Ran::Unknown).await?;
            Some(messages::held_result().to_owned())
        }
        _ => Some(decided.for_model()),
    })
}
