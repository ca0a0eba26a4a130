//! Turns of the model on counters: what a call was expected to use gives way to what it has used.
//!
//! In: an answer, or a turn that is reported. Out: amounts that are spent in the place of what the call has held. What an answer does not
//! tell stays as it was estimated until the turn is reported; then the difference is spent, or taken back. A turn that a counter has no
//! key or no amount for was made all the same: what was estimated is spent, and nothing that the model has said goes on.

use super::messages;
use super::state::{
    CallId, CounterUse, Decision, Finding, ModelUnderWay, OpenModelCall, SpentTurn, Task, TaskState, Usage,
    Verdict,
};
use crate::cel::Timestamp;
use crate::context::{Activations, Bound, ModelUsage, Moment};
use crate::counter::{CounterId, HoldEnd, Reservation};
use crate::policy::{CounterFault, CounterReader, ModelRequest};

/// What a turn has spent of counters.
#[derive(Debug, Default)]
pub(super) struct TurnSpent {
    pub(super) amounts: Vec<Reservation>,
    /// The same as decisions tell it.
    pub(super) uses: Vec<CounterUse>,
    /// What is wrong with counters by which nothing is decided.
    pub(super) findings: Vec<Finding>,
    /// Why a counter has no key or no amount for it.
    pub(super) fault: Option<Finding>,
}

impl Task {
    /// Spends what a call of the model has used, in the place of what it has held.
    pub(super) fn settle_turn(&mut self, id: &CallId, model: &ModelUnderWay, now: Timestamp) -> TurnSpent {
        if matches!(self.state(), TaskState::Terminated(_)) {
            // all that the task has held is spent
            return TurnSpent::default();
        }
        let spent = self.spent_by_turn(Some(id), Some(&model.request), &model.usage, now);
        self.spend_turn(id, &spent);
        spent
    }

    fn spend_turn(&mut self, id: &CallId, spent: &TurnSpent) {
        match &spent.fault {
            None => self.holdings.settle(id.as_str(), spent.amounts.clone()),
            Some(_) => self.holdings.end(id.as_str(), HoldEnd::Spent),
        }
    }

    /// Spends what a turn has used that was reported without an answer. `open` is the call that it was of, if the task was asked about it.
    pub(super) fn count_reported_turn(
        &mut self,
        open: Option<OpenModelCall>,
        usage: Usage,
        now: Timestamp,
    ) -> Option<Finding> {
        let Usage { prompt_tokens, completion_tokens, cost } = usage;
        let used = ModelUsage::default().with_tokens(prompt_tokens, completion_tokens).with_cost(cost);
        let spent = match &open {
            Some(OpenModelCall { id, request, .. }) => {
                let spent = self.spent_by_turn(Some(id), Some(request), &used, now);
                self.spend_turn(id, &spent);
                spent
            }
            None => {
                let spent = self.spent_by_turn(None, None, &used, now);
                self.holdings.spend(spent.amounts.clone());
                spent
            }
        };
        spent.fault
    }

    /// Spends, or takes back, by how much a turn has used more or less than was known when its answer came.
    pub(super) fn correct_turn(&mut self, turn: &SpentTurn, now: Timestamp) -> Option<Finding> {
        let TurnSpent { amounts, fault, .. } =
            self.spent_by_turn(None, Some(&turn.request), &turn.usage, now);
        let difference = |mut amount: Reservation| {
            // the key is that of the answer, whatever the task has done since
            let known = turn.amounts.iter().find(|known| is_same_counter(&known.counter, &amount.counter))?;
            amount.amount = amount.amount.plus(known.amount.negated());
            amount.counter = known.counter.clone();
            (!amount.amount.is_zero()).then_some(amount)
        };
        self.holdings.spend(amounts.into_iter().filter_map(difference).collect());
        fault
    }

    /// What a turn spends of counters. What its call has held something of counts on, whatever their keys would be by now.
    fn spent_by_turn(
        &self,
        id: Option<&CallId>,
        request: Option<&ModelRequest>,
        usage: &ModelUsage,
        now: Timestamp,
    ) -> TurnSpent {
        let mut spent = TurnSpent::default();
        if self.policy.counters().fed_by_model().next().is_none() {
            return spent;
        }
        let moment = Moment::from(now);
        let bound = Bound {
            input: request.map(|request| request.json().value()),
            usage: Some(usage.value()),
            ..self.surroundings(&moment)
        };
        let mut values = Activations::new(bound);
        for counter in self.policy.counters().fed_by_model() {
            let decides = counter.decides(CounterReader::Model);
            let needed = match counter.needed(CounterReader::Model, self.tree_root(), &mut values).0 {
                Ok(needed) => needed,
                Err(CounterFault { code, message, origin }) => {
                    let finding = Finding::new(code, message, Some(origin));
                    match decides {
                        true => spent.fault = spent.fault.or(Some(finding)),
                        false => spent.findings.push(finding),
                    }
                    continue;
                }
            };
            let Some(amount) = needed.add else { continue };
            let held = id.and_then(|id| {
                self.holdings.of(id.as_str()).find(|held| is_same_counter(held, &needed.id)).cloned()
            });
            let call = id.map_or_else(String::new, |id| id.as_str().to_owned());
            spent.uses.push(CounterUse {
                policy: counter.policy.clone(),
                name: counter.name.clone(),
                counted: None,
                adds: Some(amount).filter(|_| !counter.is_secret),
                observed: counter.is_observed,
            });
            let (id, window) = (held.unwrap_or(needed.id), counter.window);
            spent.amounts.push(Reservation { counter: id, window, call, amount });
        }
        spent
    }
}

/// Whether two counters are of one declaration, whatever their keys are.
fn is_same_counter(one: &CounterId, other: &CounterId) -> bool {
    (one.policy(), one.name()) == (other.policy(), other.name())
}

/// A turn that cannot be counted.
pub(super) fn uncounted(fault: Finding) -> Decision {
    Decision { findings: vec![fault], ..Decision::new(Verdict::block(messages::blocked())) }
}
