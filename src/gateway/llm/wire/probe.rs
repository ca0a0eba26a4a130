//! What holds of every input: what goes on says exactly what rules were given. For tests and fuzzing.

use super::answer::Answer;
use super::sse::Events;
use super::{Api, Assembler, Sent, json};
use serde_json::Value;

const APIS: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

/// Reads bytes as a request, as a whole answer and as an answer in events, of each interface.
///
/// # Panics
/// If what would go on says something else than what rules would read.
pub(in super::super) fn probe(data: &[u8]) {
    for api in APIS {
        if let Ok(body) = json::read(data) {
            request(api, &body);
            let mut whole = body;
            if api.decode(&mut whole, false, made).is_ok() {
                answer(api, &whole);
            }
        }
        if let Some(mut whole) = assembled(api, data)
            && api.decode(&mut whole, false, made).is_ok()
        {
            answer(api, &whole);
        }
    }
}

fn made() -> String {
    "made".to_owned()
}

/// A request that is let through is read again as what was read.
fn request(api: Api, body: &Value) {
    let Ok(read) = api.read(body) else { return };
    let written = json::read(body.to_string().as_bytes());
    assert_eq!(written.as_ref().ok(), Some(body), "a request is written as it was read");
    let again = written.ok().and_then(|written| api.read(&written).ok());
    assert_eq!(again.map(|again| again.items), Some(read.items), "and says the same");
}

/// An answer that a client is given in events is the one that was judged.
fn answer(api: Api, whole: &Value) {
    let judged = api.answer(whole);
    // the client knows an answer to be whole by why it stopped
    if api == Api::Chat && judged.finish.is_none() {
        return;
    }
    let events = api.events(whole, Sent::default(), true);
    let mut read = assembled(api, events.as_bytes()).unwrap_or_default();
    let decoded = api.decode(&mut read, false, made);
    assert!(decoded.is_ok_and(|gone| gone.is_empty()), "what is written is known: {events}");
    let Answer { text, calls, .. } = api.answer(&read);
    assert_eq!((text, calls), (judged.text, judged.calls), "{events}");
}

/// The answer of a stream, if it is one; what would go on early and the rest of it are the same answer.
fn assembled(api: Api, data: &[u8]) -> Option<Value> {
    let (mut events, mut assembler) = (Events::default(), Assembler::new(api, false));
    events.take(data).ok()?;
    while let Some(event) = events.next().filter(|event| event.trim() != "[DONE]") {
        if !event.is_empty() {
            assembler.take(json::read(event.as_bytes()).ok()?).ok()?;
            assembler.more();
        }
    }
    assembler.finish().map(|(whole, _)| whole)
}
