//! Switches of an operator: how one is turned, and how this server learns of turns.
//!
//! In: a switch that is turned here or by another process that shares the store. Out: the engine's table, brought up to
//! date before a step counts: the store takes no step that was decided under an older table, so there is no delay. Each
//! turn that this server learns of is a line of its decision log; with a log that is required, whoever turned it is answered
//! when the line is on disk.

use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::tasks::Tasks;
use crate::tasks::steps::check_reason;
use celador::task::Switch;
use celador_store::{StoreError, StoredSwitches, SwitchTurn, SwitchesOn};
use std::sync::PoisonError;
use tracing::warn;

impl Tasks {
    /// Brings the engine's switches up to date with the store's, and the decision log with their turns.
    pub(crate) fn learn_switches(&self) -> Result<SwitchesOn, StoreError> {
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

    /// Turns a switch, on the word of a caller.
    pub(crate) fn turn(
        &self,
        request: &Request,
        switch: &Switch,
        on: bool,
        reason: &str,
    ) -> Result<SwitchTurn, Problem> {
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
        Ok(turned)
    }
}
