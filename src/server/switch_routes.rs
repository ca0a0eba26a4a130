//! Switches of an operator over HTTP: those that are on, all turns, and turning one.

use super::messages;
use super::problem::{Kind, Problem};
use super::request::{Answer, Request};
use super::service::Service;
use celador::task::Switch;
use celador_store::{StoredSwitches, SwitchTurn};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Turned<'t> {
    number: u64,
    at: &'t str,
    who: &'t str,
    on: bool,
    switch: &'t Switch,
    reason: &'t str,
}

impl<'t> From<&'t SwitchTurn> for Turned<'t> {
    fn from(turn: &'t SwitchTurn) -> Self {
        let SwitchTurn { number, at, who, on, switch, reason } = turn;
        Self { number: *number, at, who, on: *on, switch, reason }
    }
}

/// `GET /v1/switches`
pub(super) fn list(service: &Service, _: &Request) -> Result<Answer, Problem> {
    #[derive(Serialize)]
    struct List<'t> {
        version: u64,
        switches: Vec<Turned<'t>>,
    }
    let tasks = &service.tasks;
    let present = tasks.learn_switches().map_err(|error| tasks.problem(&error))?;
    let switches = present.on.iter().map(Turned::from).collect();
    Answer::json(200, &List { version: present.version, switches })
}

/// `GET /v1/switches/history`
pub(super) fn history(service: &Service, request: &Request) -> Result<Answer, Problem> {
    #[derive(Serialize)]
    struct History<'t> {
        turns: Vec<Turned<'t>>,
        next: Option<u64>,
    }
    let [after] = request.query(["after"])?;
    let bad = |_| Problem::new(Kind::BadRequest, messages::bad_query(&["after"]));
    let after = after.map(|text| text.parse().map_err(bad)).transpose()?.unwrap_or_default();
    let tasks = &service.tasks;
    let stored = StoredSwitches::new(tasks.store.database().clone(), &tasks.limits.store);
    let found = stored.history(after, tasks.page).map_err(|error| tasks.problem(&error))?;
    let next = found.last().filter(|_| found.len() >= tasks.page).map(|turn| turn.number);
    Answer::json(200, &History { turns: found.iter().map(Turned::from).collect(), next })
}

/// `POST /v1/switches`
pub(super) fn turn_on(service: &Service, request: &Request) -> Result<Answer, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TurnOn {
        switch: Switch,
        reason: String,
    }
    let TurnOn { switch, reason } = request.read(&service.settings.limits.store.engine)?;
    let most = service.settings.limits.max_switch_bytes;
    if switch.bytes() > most {
        return Err(Problem::new(Kind::BadRequest, messages::long_switch(most)));
    }
    Answer::json(200, &Turned::from(&service.tasks.turn(request, &switch, true, &reason)?))
}

/// `DELETE /v1/switches?kind=…`
pub(super) fn turn_off(service: &Service, request: &Request) -> Result<Answer, Problem> {
    const KNOWN: [&str; 5] = ["kind", "namespace", "name", "function", "reason"];
    let [kind, namespace, name, function, reason] = request.query(KNOWN)?;
    let switch = match (kind.as_deref(), namespace, name, function) {
        (Some("agent"), Some(namespace), Some(name), None) => Switch::Agent { namespace, name },
        (Some("tool"), Some(namespace), Some(name), function) => Switch::Tool { namespace, name, function },
        (Some("user"), None, Some(name), None) => Switch::User { name },
        _ => return Err(Problem::new(Kind::BadRequest, messages::bad_switch())),
    };
    let turned = service.tasks.turn(request, &switch, false, reason.as_deref().unwrap_or_default())?;
    Answer::json(200, &Turned::from(&turned))
}
