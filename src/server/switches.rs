//! Switches of an operator over HTTP, and how this server learns of them.
//!
//! In: a switch that is turned here or by another process that shares the store. Out: the engine's table, brought up to
//! date before a step counts: the store takes no step that was decided under an older table, so there is no delay. Each
//! turn that this server learns of is a line of its decision log; with a log that is required, whoever turned it is answered
//! when the line is on disk.

use super::messages;
use super::problem::{Kind, Problem};
use super::request::{Answer, Request};
use super::service::Service;
use super::steps::check_reason;
use super::tasks::Tasks;
use celador::task::Switch;
use celador_store::{StoreError, StoredSwitches, SwitchTurn, SwitchesOn};
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;
use tracing::warn;

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

impl Tasks {
    /// Brings the engine's switches up to date with the store's, and the decision log with their turns.
    pub(super) fn learn_switches(&self) -> Result<SwitchesOn, StoreError> {
        let stored = StoredSwitches::new(self.store.database().clone(), &self.limits.store);
        let present = stored.on()?;
        let switches = self.engine_switches();
        if present.version > switches.version() {
            switches.replace(present.on.iter().map(|turn| turn.switch.clone()), present.version);
        }
        // whoever comes meanwhile waits until the lines are written: they may be about to answer
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        while present.version > *told {
            let turns = stored.history(*told, usize::MAX)?;
            let Some(last) = turns.last().map(|turn| turn.number) else { break };
            for SwitchTurn { number, who, on, switch, .. } in &turns {
                warn!(number, on, %switch, who, "a switch was turned");
            }
            self.recorder.record_turns(&turns, (self.clock)())?;
            *told = last;
        }
        Ok(present)
    }

    fn turn(&self, request: &Request, switch: &Switch, on: bool, reason: &str) -> Result<Answer, Problem> {
        check_reason(reason, self.limits.store.engine.max_reason_bytes)?;
        let stored = StoredSwitches::new(self.store.database().clone(), &self.limits.store);
        let who = request.caller.identity.as_deref().unwrap_or_default();
        let turned = stored.turn(switch, on, (self.clock)(), who, reason).map_err(|error| match error {
            StoreError::NotFound => Kind::UnknownSwitch.into(),
            error => self.problem(&error),
        })?;
        self.learn_switches().map_err(|error| self.problem(&error))?;
        // it is in force all the same: to stop something must not fail because a disk is full
        self.recorder.ready()?;
        Answer::json(200, &Turned::from(&turned))
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
    service.tasks.turn(request, &switch, true, &reason)
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
    service.tasks.turn(request, &switch, false, reason.as_deref().unwrap_or_default())
}
