//! The model is asked, and what it answers is judged; where all that it wants is refused, it is asked again.
//!
//! In: a request as the model may read it. Out: an answer as the client may have it. While an answer comes in events, what no rule
//! judges goes on at once; the rest is held until it is decided: calls always, and everything where rules judge what is said, as
//! a rule about a text has to see all of it.

use super::asking::{Asking, Obstacle, Way};
use super::given::{Calls, Given, made_up, seconds};
use super::held::settle;
use super::memory::Held;
use super::messages;
use super::model_steps;
use super::names::put_new_keys;
use super::outbound::{self, Outbound};
use super::reply::Teller;
use super::request::Asked;
use super::upstream::{broken, piece, whole};
use super::wire::sse::Events;
use super::wire::{Api, Assembler, Fault, ModelCall, Sent, Told, json as wire_json};
use axum::http::{Method, header};
use celador::cel::Json;
use celador::task::{ModelCall as ModelRequest, Next, Operation, Ran};
use celador_service::JudgedMessages;
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::time::Duration;
use tracing::warn;

/// What came of one call of the model.
enum Round {
    /// The client was answered.
    Done,
    /// The model has to hear what came of its calls, and is asked again.
    Again(Begun),
}

/// An answer of which the client has been sent the beginning, and how much.
type Begun = Option<(Value, Sent)>;

/// Asks the model until there is an answer for the client.
pub(super) async fn ask(
    given: &Given<'_>,
    asked: &Asked,
    asking: Asking<'_>,
    judged: JudgedMessages,
    teller: &mut Teller,
    mut body: Value,
) -> Result<(), Obstacle> {
    let mut begun: Begun = None;
    for _ in 0..given.proxy.settings.rounds.max(1) {
        let call = match ahead(given, asking, judged, &mut body).await? {
            Ok(call) => call,
            Err((verdict, text)) => {
                return say(given, teller, &body, begun, given.made(&text), &verdict).await;
            }
        };
        let received = receive(given, asked, judged, teller, &body, begun.is_some()).await;
        let (whole, sent) = match received {
            Ok(Some(received)) => received,
            other => {
                // nobody will answer this call; whether the model has, nobody knows either if it broke off
                if let Some(call) = &call {
                    let ran = if other.is_ok() { Ran::Never } else { Ran::Unknown };
                    asking.withdraw(call, ran).await?;
                }
                return other.map(drop);
            }
        };
        let received = Received { whole, sent, begun };
        match judge(given, asking, call.as_deref(), teller, &mut body, received).await? {
            Round::Done => return Ok(()),
            Round::Again(sent) => begun = sent,
        }
    }
    say(given, teller, &body, begun, given.made(messages::too_many_rounds()), "block").await
}

/// Asks whether the model may be asked. The id of the call of the model, where rules judge those; or the word that ends it.
async fn ahead(
    given: &Given<'_>,
    asking: Asking<'_>,
    judged: JudgedMessages,
    body: &mut Value,
) -> Result<Result<Option<String>, (String, String)>, Obstacle> {
    if !(judged.model_before || judged.model_after) {
        let decided =
            asking.decide(Operation::Limits { next: Next::ModelTurn }, None, Duration::ZERO).await?;
        return Ok(match decided.way() {
            Way::On => Ok(None),
            _ => Err((decided.verdict().to_owned(), decided.for_user())),
        });
    }
    let unreadable = |what: String| Obstacle::new(400, messages::not_readable(&what));
    let conversation = given.api.read(body).map_err(unreadable)?;
    let id = made_up();
    let request = model_steps::request(body, &conversation);
    let step = Operation::ModelBefore(ModelRequest::new((&request).into()).with_id(&*id));
    let decided = asking.decide(step, None, Duration::ZERO).await?;
    match decided.way() {
        Way::On => {
            let misfit = |why: &str| Obstacle::new(500, why.to_owned());
            if let Err(why) = model_steps::put_request(given.api, body, &conversation, &decided.value) {
                asking.withdraw(&id, Ran::Never).await?;
                return Err(misfit(why));
            }
            Ok(Ok(Some(id)))
        }
        Way::Beyond => {
            asking.withdraw(&id, Ran::Never).await?;
            Ok(Err(("block".to_owned(), messages::beyond().to_owned())))
        }
        _ => Ok(Err((decided.verdict().to_owned(), decided.for_user()))),
    }
}

/// Sends the request and takes the answer in, whole. Nothing if the API answered with a status of its own, which the client has then.
async fn receive(
    given: &Given<'_>,
    asked: &Asked,
    judged: JudgedMessages,
    teller: &mut Teller,
    body: &Value,
    is_begun: bool,
) -> Result<Option<(Value, Sent)>, Obstacle> {
    let streams = given.conversation.streams;
    let mut sent = body.clone();
    if streams && given.api == Api::Chat {
        // what the model has used is for the proxy, whether or not the client wants to know
        let options =
            sent.as_object_mut().map(|sent| sent.entry("stream_options").or_insert_with(|| json!({})));
        if let Some(options) = options {
            if options.is_null() {
                *options = json!({});
            }
            options.as_object_mut().map(|options| options.insert("include_usage".to_owned(), json!(true)));
        }
    }
    let upstream = &given.proxy.upstream;
    let response =
        upstream.send(Method::POST, &asked.address, &asked.headers, sent.to_string().into()).await?;
    let (head, incoming) = response.into_parts();
    if head.status.is_redirection() {
        return Err(broken_by(messages::redirected()));
    }
    if !head.status.is_success() {
        let bytes = whole(incoming).await?;
        teller.pass(given.api, given.task, head.status, &head.headers, &bytes).await;
        return Ok(None);
    }
    teller.keep(&head.headers);
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let comes_in_events = kind.trim().to_ascii_lowercase().starts_with("text/event-stream");
    let (answer, sent) = match (streams, comes_in_events) {
        (false, true) => return Err(broken_by(messages::no_body())),
        (false, false) => (read(&whole(incoming).await?)?, Sent::default()),
        // some say no type, or another one; a body that is no event is found out by what is in it
        (true, false) if kind.contains("json") => return Err(broken_by(messages::no_events())),
        (true, _) => {
            // behind what the client has of an earlier answer nothing of this one can go by as it comes
            let passes = !(is_begun || judged.outputs || judged.model_after);
            read_events(given, teller, incoming, passes).await?
        }
    };
    let mut answer = answer;
    let gone = given.api.decode(&mut answer, given.proxy.is_lax(), made_up).map_err(fault)?;
    name_dropped(given, gone);
    Ok(Some((answer, sent)))
}

fn read(bytes: &[u8]) -> Result<Value, Obstacle> {
    let read = wire_json::read(bytes);
    read.map_err(|why| broken_by(&why.to_string()))
}

/// What an answer is not, with the status of an API that gives none.
fn broken_by(why: &str) -> Obstacle {
    Obstacle::new(502, messages::broken(why))
}

fn fault(fault: Fault) -> Obstacle {
    match fault {
        Fault::Broken(why) => broken_by(&why),
        Fault::Unseen(what) => Obstacle::new(502, messages::unseen_answer(&what)),
        Fault::Upstream(error) => {
            Obstacle { upstream: Some(error), ..Obstacle::new(502, messages::upstream_status(200)) }
        }
    }
}

/// Names what an answer had and the client does not get, once.
fn name_dropped(given: &Given<'_>, gone: Vec<String>) {
    let gone = given.proxy.memory.unnamed(gone);
    if !gone.is_empty() {
        warn!(task = given.task, what = ?gone, "{}", messages::dropped());
    }
}

async fn read_events(
    given: &Given<'_>,
    teller: &mut Teller,
    mut incoming: Incoming,
    passes: bool,
) -> Result<(Value, Sent), Obstacle> {
    let mut events = Events::default();
    let mut assembler = Assembler::new(given.api, given.proxy.is_lax());
    let mut is_over = false;
    while let Some(bytes) = piece(&mut incoming).await? {
        events.take(&bytes).map_err(|_| broken())?;
        while let Some(event) = events.next().filter(|_| !is_over) {
            if event.trim() == "[DONE]" {
                is_over = true;
            } else if !event.is_empty() {
                assembler.take(read(event.as_bytes())?).map_err(fault)?;
            }
        }
        name_dropped(given, assembler.gone());
        if passes {
            let more = assembler.more();
            if !more.is_empty() {
                teller.piece(given.task, more).await;
            }
        }
    }
    assembler.finish().ok_or_else(broken)
}

/// What the client has been sent, and what it is sent next.
struct Behind {
    whole: Value,
    sent: Sent,
}

/// Puts an answer behind what the client has of the ones before.
fn behind(api: Api, begun: Begun, whole: Value, sent: Sent) -> Behind {
    match begun {
        None => Behind { whole, sent },
        Some((mut first, sent)) => {
            api.join(&mut first, whole);
            Behind { whole: first, sent }
        }
    }
}

/// One answer of the model, under way to the client.
struct Received {
    whole: Value,
    sent: Sent,
    begun: Begun,
}

/// Judges an answer, and gives the client what it may have of it.
async fn judge(
    given: &Given<'_>,
    asking: Asking<'_>,
    call: Option<&str>,
    teller: &mut Teller,
    body: &mut Value,
    received: Received,
) -> Result<Round, Obstacle> {
    let api = given.api;
    let Received { mut whole, sent, begun } = received;
    let vendor = whole.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut answer = api.answer(&whole);
    let mut told = Vec::new();
    put_new_keys(&mut answer.calls, &mut given.thread.notes());
    if let Some(call) = call {
        let said = Json::from(&model_steps::answer(&answer));
        let step = Operation::ModelAfter { call: call.into(), answer: said };
        let decided = asking.decide(step, None, Duration::ZERO).await?;
        if decided.way() != Way::On {
            let received = Received { whole, sent, begun };
            return instead(given, teller, body, received, &decided.for_user(), decided.verdict()).await;
        }
        let misfit = |why: &str| Obstacle::new(500, why.to_owned());
        model_steps::put_answer(api, &mut whole, &answer, &decided.value).map_err(misfit)?;
        let mut left = api.answer(&whole);
        for call in &mut left.calls {
            if let Some(known) = answer.calls.iter().find(|known| known.id == call.id) {
                call.key.clone_from(&known.key);
            }
        }
        // what a policy has taken out the vendor may have kept, so the model is told of it like of every other call
        let is_out = |call: &&ModelCall| !left.calls.iter().any(|it| it.id == call.id);
        let out = answer.calls.iter().filter(is_out).cloned();
        told.extend(out.map(|call| Told { call, text: messages::refused().to_owned(), failed: true }));
        answer = left;
    }
    let wait = given.proxy.settings.wait;
    let Outbound { given: mut calls, told: refused, held, text, mut over } =
        outbound::judge(asking, &answer, wait).await?;
    told.extend(refused);
    let frame = api.frame(&whole, &made_up(), seconds());
    let held =
        held.into_iter().map(|call| Held { call, beside: None, told: Vec::new(), frame: frame.clone() });
    let mut held: Vec<Held> = held.collect();
    let mut reviewer = None;
    if over.is_none() && calls.is_empty() && !held.is_empty() {
        // the client has nothing to do meanwhile, so its answer waits
        let settled = settle(asking, held, wait).await?;
        calls.extend(settled.given.into_iter().map(|(_, call)| call));
        told.extend(settled.told.into_iter().map(|(_, told)| told));
        (held, reviewer, over) = (settled.held, settled.reviewer, settled.over);
    }
    if let Some(over) = over {
        let received = Received { whole, sent, begun };
        return instead(given, teller, body, received, &over.for_user(), over.verdict()).await;
    }
    if let Some(anchor) = calls.first().map(|call| call.key.clone()) {
        let mut notes = given.thread.notes();
        notes.held.extend(held.into_iter().map(|held| Held { beside: Some(anchor.clone()), ..held }));
        if !told.is_empty() {
            notes.beside.entry(anchor).or_default().extend(told);
        }
    } else if let Some(first) = held.first_mut() {
        first.told = told;
        let functions: Vec<_> = held.iter().map(|held| held.call.function()).collect();
        let words = messages::waits(reviewer.as_deref(), &functions);
        given.thread.notes().held.extend(held.iter().cloned());
        return instead(given, teller, body, Received { whole, sent, begun }, &words, "suspend").await;
    } else if !told.is_empty() {
        if !given.conversation.is_kept {
            api.append(body, &whole);
        }
        api.tell(body, &told);
        api.dress(&mut whole, text.as_deref(), &[]);
        let Behind { whole, sent } = behind(api, begun, whole, sent);
        return Ok(Round::Again(sent.begun.then_some((whole, sent))));
    }
    api.dress(&mut whole, text.as_deref(), &calls);
    let Behind { whole, sent } = behind(api, begun, whole, sent);
    given.pass_on(teller, &whole, sent, &vendor).await;
    Ok(Round::Done)
}

/// Gives the client a text in the place of an answer of the model, behind what it has been sent already.
async fn instead(
    given: &Given<'_>,
    teller: &mut Teller,
    body: &Value,
    received: Received,
    text: &str,
    verdict: &str,
) -> Result<Round, Obstacle> {
    let Received { mut whole, sent, begun } = received;
    let mut made = given.made(text);
    if let (Some(made), Some(usage)) = (made.as_object_mut(), whole.get("usage")) {
        made.insert("usage".to_owned(), usage.clone());
    }
    given.api.dress(&mut whole, None, &[]);
    let Behind { whole, sent } = behind(given.api, begun, whole, sent);
    say(given, teller, body, sent.begun.then_some((whole, sent)), made, verdict).await?;
    Ok(Round::Done)
}

/// Gives the client an answer of the proxy's own, behind what it has been sent already.
async fn say(
    given: &Given<'_>,
    teller: &mut Teller,
    body: &Value,
    begun: Begun,
    made: Value,
    verdict: &str,
) -> Result<(), Obstacle> {
    let Behind { whole, sent } = behind(given.api, begun, made, Sent::default());
    given.send(teller, body, whole, sent, verdict, Calls::Unsent).await
}
