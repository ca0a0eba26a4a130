//! Calls that wait: for a person, or for what other calls come to.
//!
//! In: calls of an earlier turn that the client was not given. Out: those that may go on, as an answer to the client in which the model
//! had no part; for the others what the model is told, where its turn stands; or, while somebody has to answer first, a text that
//! says so. No turn of the model begins meanwhile, so an approval leads on to the very call that was approved.

use super::asking::{Asking, Decided, Obstacle, Way};
use super::given::{Calls, Given};
use super::memory::Held;
use super::messages;
use super::names::place;
use super::outbound::{Sorted, sort};
use super::reply::Teller;
use super::wire::{ModelCall, Sent, Told};
use crate::delay::held_back;
use celador::task::VerdictKind;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// What came of calls that have waited.
#[derive(Default)]
pub(super) struct Settled {
    pub(super) given: Vec<(Held, ModelCall)>,
    pub(super) told: Vec<(Held, Told)>,
    pub(super) held: Vec<Held>,
    /// Whom the first of those waits for that wait for a person.
    pub(super) reviewer: Option<String>,
    pub(super) over: Option<Decided>,
}

/// Whether the client was answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GoneOn {
    Answered,
    /// The model is to be asked.
    ToTheModel,
}

/// Asks how far the calls are, until one of them may go on, all are over, or the time has passed.
pub(super) async fn settle(asking: Asking<'_>, held: Vec<Held>, wait: Duration) -> Result<Settled, Obstacle> {
    let until = Instant::now().checked_add(wait);
    let mut settled = Settled::default();
    for held in held {
        // what may go on is not kept waiting for what may not
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        let left = if settled.given.is_empty() { left } else { Duration::ZERO };
        let decided = asking.standing(&held.call.key, left).await?;
        let decided = decided.unwrap_or_else(|| Decided::refusal(VerdictKind::Block, messages::refused()));
        if settled.reviewer.is_none() {
            settled.reviewer = decided.reviewer().map(str::to_owned);
        }
        if decided.way() == Way::Over {
            settled.over.get_or_insert_with(|| decided.clone());
        }
        match sort(asking, &held.call, &decided).await? {
            Sorted::Given(call, delay) => {
                held_back(delay).await;
                settled.given.push((held, call));
            }
            Sorted::Told(told) => settled.told.push((held, told)),
            Sorted::Held => settled.held.push(held),
        }
    }
    Ok(settled)
}

/// Goes on with what came of them. The body is the request that goes to the model, if it goes there.
pub(super) async fn go_on(
    given: &Given<'_>,
    teller: &mut Teller,
    body: &mut Value,
    settled: Settled,
) -> Result<GoneOn, Obstacle> {
    let api = given.api;
    let calls: Vec<ModelCall> = settled.given.iter().map(|(_, call)| call.clone()).collect();
    given.thread.notes().held.splice(0..0, settled.held.iter().cloned());
    let others = settled.given.iter().map(|(held, _)| (held.clone(), None));
    let told = settled.told.into_iter().map(|(held, told)| (held, Some(told)));
    for (held, told) in others.chain(told) {
        // with what the model is told of a call goes what it was not told yet of the others of the turn
        let all: Vec<Told> = held.told.into_iter().chain(told).collect();
        if all.is_empty() {
            continue;
        }
        if let Some(anchor) = held.beside.or_else(|| calls.first().map(|call| call.key.clone())) {
            if let Some((id, after)) = place(given.conversation, &anchor) {
                api.insert(body, &id, after, &all);
            }
            given.thread.notes().beside.entry(anchor).or_default().extend(all);
            continue;
        }
        // the client knows nothing of the turn that it was in: it stands behind everything else
        if !given.conversation.is_kept {
            let mut whole = held.frame;
            let calls: Vec<ModelCall> = all.iter().map(|told| told.call.clone()).collect();
            api.dress(&mut whole, None, &calls);
            api.append(body, &whole);
        }
        api.tell(body, &all);
    }
    for call in &calls {
        given.thread.notes().latest.insert(call.id.clone(), call.key.clone());
    }
    if let Some((held, _)) = settled.given.first() {
        let mut whole = held.frame.clone();
        api.dress(&mut whole, None, &calls);
        let is_kept = held.beside.is_some() || given.conversation.is_kept;
        let known = if is_kept { Calls::Kept } else { Calls::Unsent };
        given.send(teller, body, whole, Sent::default(), "allow", known).await?;
        return Ok(GoneOn::Answered);
    }
    if let Some(over) = settled.over {
        given.make(teller, body, &over.for_user(), over.verdict()).await?;
        return Ok(GoneOn::Answered);
    }
    if settled.held.is_empty() {
        return Ok(GoneOn::ToTheModel);
    }
    let functions: Vec<_> = settled.held.iter().map(|held| held.call.function()).collect();
    let text = messages::waits(settled.reviewer.as_deref(), &functions);
    given.make(teller, body, &text, "suspend").await?;
    Ok(GoneOn::Answered)
}
