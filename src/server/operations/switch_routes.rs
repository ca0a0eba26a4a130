//! Switches of an operator over HTTP: those that are on, all turns, and turning one.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::request::{Answer, Request};
use crate::service::Service;
use celador::task::Switch;
use celador_store::{StoredSwitches, SwitchTurn};
use serde::{Deserialize, Serialize};

/// One turn of a switch.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SwitchTurn"))]
pub(crate) struct Turned<'t> {
    /// Its number among all turns, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    number: u64,
    /// The time when it was turned: RFC 3339.
    at: &'t str,
    /// The identity of those who turned it; empty where callers do not have to authenticate.
    who: &'t str,
    /// Whether it was turned on.
    on: bool,
    /// The target that it stops.
    switch: &'t Switch,
    /// The reason, in their words.
    reason: &'t str,
}

/// The switches that are on.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Switches"))]
pub(crate) struct List<'t> {
    /// The number of the last turn; 0 before the first.
    version: u64,
    /// The turns that put them on, in the order of their numbers.
    switches: Vec<Turned<'t>>,
}

/// All turns of switches, oldest first.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SwitchHistory"))]
pub(crate) struct History<'t> {
    /// The turns.
    turns: Vec<Turned<'t>>,
    /// The value of `after` for the next page; null at the end.
    next: Option<u64>,
}

/// A target that is to be stopped, and the reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TurnOn {
    /// The target.
    switch: Switch,
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    reason: String,
}

impl<'t> From<&'t SwitchTurn> for Turned<'t> {
    fn from(turn: &'t SwitchTurn) -> Self {
        let SwitchTurn { number, at, who, on, switch, reason } = turn;
        Self { number: *number, at, who, on: *on, switch, reason }
    }
}

/// The turns that are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct HistoryQuery {
    /// The `next` of the page before.
    after: Option<u64>,
}

/// The switch that is turned off, and the reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TurnOffQuery {
    /// The kind of target.
    #[cfg_attr(feature = "schema", schemars(required, extend("enum" = ["agent", "tool", "user"])))]
    kind: Option<String>,
    /// The namespace of an agent or a tool.
    namespace: Option<String>,
    /// The name; of a user the id.
    #[cfg_attr(feature = "schema", schemars(required))]
    name: Option<String>,
    /// One action of a tool.
    function: Option<String>,
    /// The reason, of at most `max_reason_bytes`.
    #[cfg_attr(feature = "schema", schemars(required, length(min = 1)))]
    reason: Option<String>,
}

/// `GET /v1/switches`
pub(crate) fn list(service: &Service, _: &Request) -> Result<Answer, Problem> {
    let tasks = &service.tasks;
    let present = tasks.learn_switches().map_err(|error| tasks.problem(&error))?;
    let switches = present.on.iter().map(Turned::from).collect();
    Answer::json(200, &List { version: present.version, switches })
}

/// `GET /v1/switches/history`
pub(crate) fn history(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let HistoryQuery { after } = request.query()?;
    let after = after.unwrap_or_default();
    let tasks = &service.tasks;
    let stored = StoredSwitches::new(tasks.store.database().clone(), &tasks.limits.store);
    let found = stored.history(after, tasks.page).map_err(|error| tasks.problem(&error))?;
    let next = found.last().filter(|_| found.len() >= tasks.page).map(|turn| turn.number);
    Answer::json(200, &History { turns: found.iter().map(Turned::from).collect(), next })
}

/// `POST /v1/switches`
pub(crate) fn turn_on(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let TurnOn { switch, reason } = request.read(&service.settings.limits.store.engine)?;
    let most = service.settings.limits.max_switch_bytes;
    if switch.bytes() > most {
        return Err(Problem::new(Kind::BadRequest, messages::long_switch(most)));
    }
    Answer::json(200, &Turned::from(&service.tasks.turn(request, &switch, true, &reason)?))
}

/// `DELETE /v1/switches?kind=…`
pub(crate) fn turn_off(service: &Service, request: &Request) -> Result<Answer, Problem> {
    let TurnOffQuery { kind, namespace, name, function, reason } = request.query()?;
    let switch = match (kind.as_deref(), namespace, name, function) {
        (Some("agent"), Some(namespace), Some(name), None) => Switch::Agent { namespace, name },
        (Some("tool"), Some(namespace), Some(name), function) => Switch::Tool { namespace, name, function },
        (Some("user"), None, Some(name), None) => Switch::User { name },
        _ => return Err(Problem::new(Kind::BadRequest, messages::bad_switch())),
    };
    let turned = service.tasks.turn(request, &switch, false, reason.as_deref().unwrap_or_default())?;
    Answer::json(200, &Turned::from(&turned))
}
