//! The property of the guard that fuzz targets check: a message that goes on decodes to exactly the value that rules were given.

use super::kinds::Kind;
use super::link::decode;
use super::message::{Body, Failure, Members, Message};
use super::methods::{METHODS, Side, method};
use super::schema;
use super::shape::{Decoder, Shape};
use celador_server::strict_json;
use serde_json::Value;

/// Checks lines of traffic, in both directions, with rules that change nothing.
///
/// # Panics
/// A line that goes on as another value than rules were given.
pub fn check_traffic(data: &[u8]) {
    for line in data.split(|byte| *byte == b'\n') {
        for message in decode(line).into_iter().flatten() {
            assert_eq!(read_again(&message).as_ref(), Some(&message), "a message is encoded as another one");
            match message.body {
                Body::Request { method, params, .. } => check_params(true, &method, params),
                Body::Notification { method, params } => check_params(false, &method, params),
                Body::Response { outcome, .. } => check_outcome(&outcome),
            }
        }
    }
}

fn read_again(message: &Message) -> Option<Message> {
    Message::of(strict_json::from_str(&message.to_line()).ok()?)
}

fn check_params(is_request: bool, name: &str, params: Option<Members>) {
    let params = Value::Object(params.unwrap_or_default());
    for side in [Side::Client, Side::Server] {
        let Some(row) = method(side, is_request, name) else { continue };
        let Some(Value::Object(mut decoded)) = decoded(&row.params, &params) else { continue };
        let Some(kind) = Kind::of(name).filter(|_| side == Side::Client) else { continue };
        let call = kind.call(&decoded);
        kind.set(&mut decoded, call.1.clone());
        let sent = Message::request(1.into(), name, Some(decoded));
        let Some(Body::Request { params: Some(sent), .. }) = read_again(&sent).map(|it| it.body) else {
            return assert!(call.0.is_empty(), "a call is not encoded");
        };
        assert_eq!(kind.call(&sent), call, "another call reaches the server than was judged");
    }
}

fn check_outcome(outcome: &Result<Value, Failure>) {
    for (kind, shape) in [
        (Kind::Tool, &schema::CALL_TOOL_RESULT),
        (Kind::Resource, &schema::READ_RESOURCE_RESULT),
        (Kind::Prompt, &schema::GET_PROMPT_RESULT),
    ] {
        let Some(judged) = output(kind, shape, outcome) else { continue };
        let told = kind.outcome(judged.layout, judged.value.clone());
        let read = read_again(&Message::response(1.into(), told)).map(|message| message.body);
        let read = if let Some(Body::Response { outcome, .. }) = read {
            output(kind, shape, &outcome)
        } else {
            None
        };
        let read = read.map(|it| (it.failed, it.value));
        assert_eq!(
            read,
            Some((judged.failed, judged.value)),
            "another result reaches the client than was judged"
        );
    }
    if let Ok(result) = outcome {
        for row in METHODS {
            decoded(&row.result, result);
        }
    }
}

fn output(kind: Kind, shape: &Shape, outcome: &Result<Value, Failure>) -> Option<super::kinds::Output> {
    let outcome = match outcome {
        Ok(result) => Ok(decoded(shape, result)?),
        Err(failure) => Err(failure.clone()),
    };
    kind.output(outcome).ok()
}

/// A value in its shape. Decoding it again changes nothing.
fn decoded(shape: &Shape, value: &Value) -> Option<Value> {
    let decoded = Decoder::new(&[], true).decode(shape, value.clone(), "").ok()?;
    let mut again = Decoder::new(&[], false);
    let stable = again.decode(shape, decoded.clone(), "");
    assert!(
        again.dropped.is_empty() && stable.as_ref() == Ok(&decoded),
        "a decoded value is decoded differently"
    );
    Some(decoded)
}
