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
use super::reply::Teller;
use super::request::{Asked, Said};
use super::threading::{Points, task_of};
use super::wire::{Api, Conversation, Kind};
use super::{Proxy, begin, messages, model};
use celador::digest::Digest;
use serde_json::{Value, json};
use std::sync::Arc;

/// Answers a request. Whatever stands in the way is told in the form of the API.
pub(super) async fn answer(proxy: Arc<Proxy>, asked: Asked, mut teller: Teller) {
    if let Err(obstacle) = run(&proxy, &asked, &mut teller).await {
        teller.fail(asked.api, &obstacle).await;
    }
}

async fn run(proxy: &Proxy, asked: &Asked, teller: &mut Teller) -> Result<(), Obstacle> {
    let api = asked.api;
    let refuse = |status, message| Obstacle { status, message };
    let mut body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    if !body.is_object() {
        return Err(refuse(400, messages::not_json().to_owned()));
    }
    let conversation = api.read(&body).map_err(|what| refuse(400, messages::not_readable(&what)))?;
    if !conversation.unseen.is_empty() && !proxy.settings.allow_other {
        return Err(refuse(403, messages::unseen(&conversation.unseen)));
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
    let Inbound { changes, stopped } =
        inbound::judge(asking, &thread, &conversation, &points, proxy.settings.wait).await?;
    for (at, judged) in &changes {
        if let Some(item) = conversation.items.get(*at) {
            put_judged(&mut body, item, judged);
        }
    }
    put_unsent(&thread, &mut body);
    if let Some((verdict, text)) = stopped {
        return given.make(teller, &body, &text, &verdict).await;
    }
    beside(api, &thread, &conversation, &mut body);
    if !proxy.settings.observe {
        api.keep_tools(&mut body, |name| offers.functions.iter().any(|function| function.name == name));
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
        let of = |kind: &Kind| matches!(kind, Kind::Result { call, .. } if call == id);
        conversation.items.iter().any(|item| of(&item.kind))
    };
    let open: Vec<String> = thread.notes().open.iter().filter(|id| !reported(id)).cloned().collect();
    for call in open {
        asking.withdraw(&call, json!("unknown")).await?;
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
            Kind::Assistant(calls) => known.extend(calls.iter().map(|call| &*call.id)),
            Kind::Result { call, .. } => known.push(call),
            _ => {}
        }
    }
    known.sort_unstable();
    known.dedup();
    for call in known {
        if let Some(told) = notes.beside.get(call) {
            api.insert(body, call, told);
        }
    }
}
