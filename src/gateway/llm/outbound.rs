//! What the model has answered, judged: the turn with its calls, and what the user is to read.
//!
//! In: an answer. Out: which of its calls the client may carry out, and with which arguments; what the model is told about the others;
//! which wait; and the text, as it may be shown. The client sees nothing of a call that is not decided.

use super::asking::{Asking, Decided, Obstacle, Way};
use super::inbound::as_text;
use super::messages;
use super::wire::{Answer, ModelCall, Told};
use crate::delay::held_back;
use celador::cel::Json;
use celador::task::{Call, Operation, Ran, Turn, Usage, VerdictKind};
use serde_json::{Value, json};
use std::time::Duration;

/// What came of an answer.
#[derive(Debug, Default)]
pub(crate) struct Outbound {
    /// What the client carries out.
    pub(crate) given: Vec<ModelCall>,
    /// What the model is told, without the client.
    pub(crate) told: Vec<Told>,
    /// What waits.
    pub(crate) held: Vec<ModelCall>,
    /// The text in the place of the model's, if it is another one.
    pub(crate) text: Option<String>,
    /// Why the task goes on no more, or not with this message: the user is told, and the model is not asked again.
    pub(crate) over: Option<Decided>,
}

/// Where the decision about a call has it belong.
pub(crate) enum Sorted {
    /// To the client, after so long.
    Given(ModelCall, Duration),
    /// To nobody: the model is told this.
    Told(Told),
    /// It waits.
    Held,
}

/// The longest delay that a policy may ask for: clients do not wait for ever.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// Judges a turn of the model.
pub(crate) async fn judge(asking: Asking<'_>, answer: &Answer, wait: Duration) -> Result<Outbound, Obstacle> {
    let mut outbound = Outbound::default();
    // what is said beside calls is judged ahead of them: once they are let through, they are open, and rules about what
    // is said may read what they come to
    if !answer.calls.is_empty() {
        outbound.text = said(asking, &answer.text, wait).await?;
    }
    let sound = answer.calls.iter().filter_map(|call| Some((call, call.arguments.as_ref()?)));
    let calls = sound.map(|(call, arguments)| {
        Call::new(&*call.function(), Json::from(&Value::Object(arguments.clone()))).with_id(&*call.key)
    });
    let usage = Usage {
        prompt_tokens: answer.usage.prompt,
        completion_tokens: answer.usage.completion,
        ..Usage::default()
    };
    let turn = asking.turn(Turn { usage, calls: calls.collect() }).await?;
    let mut decided = turn.calls.into_iter();
    let mut slowest = Duration::ZERO;
    for call in &answer.calls {
        let decided =
            if call.arguments.is_some() { decided.next().unwrap_or_default() } else { unreadable() };
        if decided.way() == Way::Over {
            outbound.over.get_or_insert_with(|| decided.clone());
        }
        match sort(asking, call, &decided).await? {
            Sorted::Given(call, delay) => {
                outbound.given.push(call);
                slowest = slowest.max(delay);
            }
            Sorted::Told(told) => outbound.told.push(told),
            Sorted::Held => outbound.held.push(call.clone()),
        }
    }
    if turn.limits.way() != Way::On {
        outbound.over = Some(turn.limits);
    }
    if answer.calls.is_empty() && outbound.over.is_none() {
        outbound.text = said(asking, &answer.text, wait).await?;
    }
    held_back(slowest).await;
    Ok(outbound)
}

fn unreadable() -> Decided {
    Decided::refusal(VerdictKind::Error, messages::bad_arguments())
}

/// Says where a call belongs. One that asks its host for more than a proxy can do is taken back.
pub(crate) async fn sort(
    asking: Asking<'_>,
    call: &ModelCall,
    decided: &Decided,
) -> Result<Sorted, Obstacle> {
    let told = |text, failed| Sorted::Told(Told { call: call.clone(), text, failed });
    Ok(match decided.way() {
        Way::On | Way::Beyond => match decided.delay().filter(|delay| *delay <= MAX_DELAY) {
            Some(delay) if decided.way() == Way::On => {
                let arguments = decided.value.as_object().cloned();
                Sorted::Given(ModelCall { arguments, ..call.clone() }, delay)
            }
            _ => {
                asking.withdraw(&call.key, Ran::Never).await?;
                told(messages::beyond().to_owned(), true)
            }
        },
        Way::Answered => told(as_text(&decided.value), false),
        Way::Waits => Sorted::Held,
        Way::Refused | Way::Over => told(decided.for_model(), true),
    })
}

/// What the user is to read: the text in the place of the model's, if it is another one.
async fn said(asking: Asking<'_>, text: &str, wait: Duration) -> Result<Option<String>, Obstacle> {
    if text.is_empty() {
        return Ok(None);
    }
    let mut decided =
        asking.decide(Operation::Output((&json!({"message": text})).into()), None, wait).await?;
    if matches!(decided.way(), Way::Waits | Way::Beyond) {
        if let Some(call) = &decided.call {
            asking.withdraw(call.as_str(), Ran::Never).await?;
        }
        decided = Decided::default();
    }
    if decided.way() != Way::On {
        return Ok(Some(decided.for_user()));
    }
    let parts = decided.value.get("message").and_then(Value::as_array).cloned().unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect();
    let now = texts.join("\n");
    Ok((now != text).then_some(now))
}
