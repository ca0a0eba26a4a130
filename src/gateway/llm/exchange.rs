//! One request of a client, from its body to its answer.
//!
//! In: a request. Out: an answer in the form of its API, whole or in events. In between: what the client sends is judged, calls that have
//! waited are looked at, the model is asked, what it answers is judged, and where it hears of nothing but refusals it is asked
//! again. Fails closed: what is not decided reaches neither the model nor the client.

use super::asking::{Asking, Obstacle};
use super::given::{Given, put_unsent};
use super::held::{GoneOn, go_on, settle};
use super::inbound::{self, Inbound};
use super::memory::Thread;
use super::model_steps::put_judged;
use super::names::{place, put_keys};
use super::reply::Teller;
use super::request::{Asked, Said};
use super::threading::{Points, task_of};
use super::wire::{Api, Conversation, Kind, json};
use super::{Proxy, begin, messages, model};
use crate::unjudged::tell_of_unjudged;
use celador::digest::Digest;
use celador::task::Ran;
use serde_json::Value;
use std::sync::Arc;
use tracing::{info, warn};

/// Answers a request. Whatever stands in the way is told in the form of the API.
pub(super) async fn answer(proxy: Arc<Proxy>, asked: Asked, mut teller: Teller) {
    if let Err(obstacle) = run(&proxy, &asked, &mut teller).await {
        teller.fail(asked.api, &obstacle).await;
    }
}

async fn run(proxy: &Proxy, asked: &Asked, teller: &mut Teller) -> Result<(), Obstacle> {
    let api = asked.api;
    let refuse = |status: u16, message: String| Obstacle::new(status, message);
    let mut body =
        json::read(&asked.body).map_err(|why| refuse(400, messages::not_strict(&why.to_string())))?;
    if !body.is_object() {
        return Err(refuse(400, messages::not_json().to_owned()));
    }
    if proxy.settings.drop_hosted {
        let gone = api.drop_hosted(&mut body);
        if !gone.is_empty() {
            info!(?gone, "{}", messages::hosted_dropped());
        }
    }
    let mut conversation = api.read(&body).map_err(|what| refuse(400, messages::not_readable(&what)))?;
    if !conversation.unseen.is_empty() {
        if !proxy.is_lax() {
            return Err(refuse(403, messages::unseen(&conversation.unseen)));
        }
        warn!(what = ?conversation.unseen, "{}", messages::unjudged());
        for what in &conversation.unseen {
            tell_of_unjudged(&proxy.desk, &format!("proxy: {what}"), 1).await;
        }
    }
    let user = asked.said.user.clone().or_else(|| conversation.user.clone()).unwrap_or_default();
    let digest = Digest::of(&asked.body);
    let seed = conversation.previous.clone().unwrap_or_default();
    let points = Points::of(&[&proxy.agent(), &user, &seed], &conversation.items);
    let (task, named) = task_of(&conversation, &points, &asked.said, &proxy.memory)?;
    let thread = proxy.memory.thread(&task);
    let points = match conversation.is_kept {
        // the API keeps what was said before, so the last answer stands for it
        true => {
            let seed = thread.notes().last_id.clone();
            Points::of(&[&proxy.agent(), &user, &seed], &conversation.items)
        }
        false => points,
    };
    put_keys(&mut conversation, &points, &mut thread.notes());
    let conversation = conversation;
    let asking = Asking { desk: &proxy.desk, task: &task };
    begin::begin(proxy, asking, &thread, &conversation, &user).await?;
    let given = Given {
        proxy,
        api,
        task: &task,
        thread: &thread,
        points: &points,
        conversation: &conversation,
        digest,
    };
    if let Some(point) = points.last() {
        proxy.memory.mark(point, &task);
    }
    if let Some(last) = again(&thread, &asked.said, digest) {
        given.repeat(teller, &last).await;
        return Ok(());
    }
    if !named {
        abandon(asking, &thread, &conversation).await?;
    }
    let offers = asking.offers().await?;
    let Inbound { changes, foreign, stopped } =
        inbound::judge(asking, &thread, &conversation, &points, proxy.settings.wait).await?;
    for (at, judged) in &changes {
        if let Some(item) = conversation.items.get(*at) {
            put_judged(&mut body, item, judged);
        }
    }
    if !foreign.is_empty() {
        warn!(task, count = foreign.len(), "{}", messages::foreign_arguments(proxy.settings.observe));
    }
    for (at, id) in foreign.iter().filter(|_| !proxy.settings.observe) {
        if let Some(item) = conversation.items.get(*at) {
            item.empty_arguments(&mut body, id);
        }
    }
    put_unsent(api, &thread, &mut body);
    if let Some((verdict, text)) = stopped {
        return given.make(teller, &body, &text, &verdict).await;
    }
    beside(api, &thread, &conversation, &mut body);
    if !proxy.settings.observe {
        let gone =
            api.keep_tools(&mut body, |name| offers.functions.iter().any(|function| function.name == name));
        let gone = proxy.memory.unnamed(gone);
        if !gone.is_empty() {
            warn!(task, ?gone, "{}", messages::tools_taken_out());
        }
    }
    let held = std::mem::take(&mut thread.notes().held);
    if !held.is_empty() {
        let settled = settle(asking, held, proxy.settings.wait).await?;
        if go_on(&given, teller, &mut body, settled).await? == GoneOn::Answered {
            return Ok(());
        }
    }
    model::ask(&given, asked, asking, offers.judged, teller, body).await
}

/// The last answer, if the client asks for it again: it says so, or it has carried out nothing of what it was given.
fn again(thread: &Thread, said: &Said, digest: Digest) -> Option<Value> {
    let notes = thread.notes();
    let last = notes.last.as_ref().filter(|last| last.request == digest)?;
    (said.again || last.is_open(&notes.open)).then(|| last.whole.clone())
}

/// Calls that the client was given and does not speak of any more, as it goes on from before them. Nobody knows whether they ran.
async fn abandon(asking: Asking<'_>, thread: &Thread, conversation: &Conversation) -> Result<(), Obstacle> {
    let reported = |id: &String| {
        let of = |kind: &Kind| matches!(kind, Kind::Result { key, .. } if key == id);
        conversation.items.iter().any(|item| of(&item.kind))
    };
    let open: Vec<String> = thread.notes().open.iter().filter(|id| !reported(id)).cloned().collect();
    for call in open {
        asking.withdraw(&call, Ran::Unknown).await?;
        thread.notes().open.remove(&call);
    }
    Ok(())
}

/// Puts the calls in that the client does not know of, each beside one that it does.
fn beside(api: Api, thread: &Thread, conversation: &Conversation, body: &mut Value) {
    let notes = thread.notes();
    let mut known: Vec<&str> = Vec::new();
    for item in &conversation.items {
        match &item.kind {
            Kind::Assistant(calls) => known.extend(calls.iter().map(|call| &*call.key)),
            Kind::Result { key, .. } => known.push(key),
            _ => {}
        }
    }
    let mut done: Vec<&str> = Vec::new();
    // from the last one on: what is put in behind a call changes nothing of those ahead of it
    for key in known.into_iter().rev() {
        if let Some(told) = notes.beside.get(key).filter(|_| !done.contains(&key))
            && let Some((id, after)) = place(conversation, key)
        {
            api.insert(body, &id, after, told);
        }
        done.push(key);
    }
}
