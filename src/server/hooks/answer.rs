//! The answer to an event of Claude Code, and what an event is told when nothing can be decided.
//!
//! In: what is to happen. Out: the members that Claude Code reads for the kind of event. An answer without members changes nothing:
//! its own rules of permission go on.

use super::decode::repaired;
use super::event::Event;
use super::events::Kind;
use super::messages;
use super::result_shape::withheld;
use celador::cel::Json;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The answer to an event. What is absent changes nothing.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ClaudeCodeAnswer"))]
pub(crate) struct HookAnswer {
    /// False where the session takes no further step by itself.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(super) goes_on: Option<bool>,
    /// What the user is told then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_reason: Option<String>,
    /// `block` where what was said, or a result, does not reach the model, or the model has to answer anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<&'static str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// What the user is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_message: Option<String>,
    /// What is special to the kind of event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hook_specific_output: Option<Specific>,
}

/// What is special to a kind of event.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ClaudeCodeAnswerOfEvent"))]
pub(crate) struct Specific {
    /// The kind of event.
    pub(super) hook_event_name: String,
    /// `allow`, `deny` or `ask`, of a call that is about to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permission_decision: Option<&'static str>,
    /// Why: for the model where it is denied, for the user where they are asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permission_decision_reason: Option<String>,
    /// The arguments that the call is made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) updated_input: Option<Json>,
    /// What the model receives in the place of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) updated_tool_output: Option<Value>,
    /// What the model is told beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) additional_context: Option<String>,
    /// `accept` or `decline`: the answer to a question of a server of MCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) action: Option<&'static str>,
    /// What is filled in there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub(super) content: Option<Json>,
    /// Whether what was said is left out where it is said that it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suppress_original_prompt: Option<bool>,
}

impl Specific {
    pub(super) fn of(event: &Event) -> Self {
        Self { hook_event_name: event.hook_event_name.clone(), ..Self::default() }
    }
}

impl HookAnswer {
    /// Nothing changes.
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    /// The same with what is special to an event.
    pub(super) fn with(self, specific: Specific) -> Self {
        Self { hook_specific_output: Some(specific), ..self }
    }

    /// The session takes no further step.
    pub(super) fn ending(self, why: &str) -> Self {
        Self { goes_on: Some(false), stop_reason: Some(why.to_owned()), ..self }
    }

    /// Nothing follows from the event, whichever it is: `continue` ends the turn, and `decision` blocks what the event is about.
    pub(super) fn stop(why: &str) -> Self {
        Self::block(why.to_owned()).ending(why)
    }

    /// What the event is about is not taken over.
    pub(super) fn block(why: String) -> Self {
        Self { decision: Some("block"), reason: Some(why), ..Self::nothing() }
    }

    /// A call is not made; the model is told why.
    pub(super) fn deny(event: &Event, why: String) -> Self {
        Self::nothing().with(Specific {
            permission_decision: Some("deny"),
            permission_decision_reason: Some(why),
            ..Specific::of(event)
        })
    }

    /// What was said does not reach the model.
    pub(super) fn refuse_prompt(event: &Event, why: String) -> Self {
        let said = Specific { suppress_original_prompt: Some(true), ..Specific::of(event) };
        Self::block(why).with(said)
    }

    /// A result does not reach the model; a text does in its place.
    pub(super) fn withhold(event: &Event, why: String) -> Self {
        let shape = event.tool_response.as_ref().and_then(|response| serde_json::to_value(response).ok());
        let output = match event.is_of_server() {
            true => json!([{"type": "text", "text": why}]),
            false => withheld(shape.unwrap_or_default(), &why),
        };
        let specific = Specific { updated_tool_output: Some(output), ..Specific::of(event) };
        Self::block(why).with(specific)
    }
}

/// The answer to an event about which nothing could be decided, so that nothing goes on unjudged: a call is not made, what was said or
/// found does not reach the model, and a server of MCP gets no answer of the user. An event that nothing follows from is told of. What is no event at all ends the session's turn.
///
/// ```
/// let event = br#"{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t"}"#;
/// let answer = celador_server::hook_refusal(event, "the store does not answer");
/// let answer: serde_json::Value = serde_json::from_slice(&answer)?;
/// assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn refusal(event: &[u8], why: &str) -> Vec<u8> {
    let event = serde_json::from_slice::<Event>(&repaired(event)).ok().or_else(|| named(event));
    let answer = match event {
        Some(event) => refused(&event, why),
        None => HookAnswer::stop(&messages::undecided(why)),
    };
    serde_json::to_vec(&answer).unwrap_or_default()
}

/// An event that cannot be read, by its name alone, where the answer needs nothing else: a call is not made, and a question of a server is not put.
fn named(event: &[u8]) -> Option<Event> {
    let EventName { hook_event_name } = serde_json::from_slice(&repaired(event)).ok()?;
    let event = Event { hook_event_name, ..Event::default() };
    let needs_only_its_name = matches!(
        event.kind(),
        Kind::Before
            | Kind::SkillCommand
            | Kind::Prompt
            | Kind::Elicitation
            | Kind::ElicitationResult
            | Kind::Settings
    );
    needs_only_its_name.then_some(event)
}

/// The kind of an event, whatever else it holds.
#[derive(Deserialize)]
struct EventName {
    hook_event_name: String,
}

/// The same for an event that was read.
pub(super) fn refused(event: &Event, why: &str) -> HookAnswer {
    let why = messages::undecided(why);
    match event.kind() {
        Kind::Before | Kind::SkillCommand => HookAnswer::deny(event, why),
        Kind::Prompt => HookAnswer::refuse_prompt(event, why),
        Kind::After => HookAnswer::withhold(event, why),
        Kind::Elicitation | Kind::ElicitationResult => HookAnswer::decline(event, why),
        Kind::Settings => HookAnswer::block(why),
        Kind::Batch | Kind::Unknown | Kind::Unsupported => HookAnswer::stop(&why),
        // what has failed or stops anyway: to hold it up would keep the session in a circle
        Kind::Failed
        | Kind::Stop
        | Kind::SubagentStop
        | Kind::Denied
        | Kind::Start
        | Kind::End
        | Kind::Passed => HookAnswer { system_message: Some(why), ..HookAnswer::nothing() },
    }
}
