//! Where the stretches of a task began that have limits of their own: what is done for one message, and in one turn of the model.
//!
//! In: the calls and turns of the task so far and what it has spent, whenever a message is accepted or a turn is reported. Out: how many came since.

use crate::amount::Amount;
use crate::manifest::task_limit::{LimitNumber, Quantity, Stretch};
use serde::{Deserialize, Serialize};

/// The counts of a task at the beginning of its stretches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::task) struct Stretches {
    /// The model's turns ahead of the last message.
    turns_before_message: u64,
    /// The model's calls ahead of the last message.
    calls_before_message: u64,
    /// The model's calls ahead of its last turn, or of the last message if that came later.
    calls_before_turn: u64,
    /// What the model's turns had cost ahead of the last message.
    #[serde(skip_serializing_if = "Amount::is_zero")]
    spend_before_message: Amount,
}

impl Stretches {
    /// A message is accepted, so many turns and calls after the task began. Hosts that report no turns have one for each message.
    pub(in crate::task) fn begin_message(&mut self, turns: u64, calls: u64, spend: Amount) {
        *self = Self {
            turns_before_message: turns,
            calls_before_message: calls,
            calls_before_turn: calls,
            spend_before_message: spend,
        };
    }

    /// The model has taken a turn and asks for calls, so many calls after the task began.
    pub(in crate::task) fn begin_turn(&mut self, calls: u64) {
        self.calls_before_turn = calls;
    }

    /// The amount of a quantity that had been used when a stretch of the task began; 0 for the whole task.
    pub(in crate::task) fn used_before(&self, stretch: Stretch, quantity: Quantity) -> LimitNumber {
        match (stretch, quantity) {
            (Stretch::Message, Quantity::Turns) => self.turns_before_message.into(),
            (Stretch::Message, Quantity::Calls) => self.calls_before_message.into(),
            (Stretch::Turn, Quantity::Calls) => self.calls_before_turn.into(),
            (Stretch::Message, Quantity::Spend) => self.spend_before_message.into(),
            (_, Quantity::Spend) => Amount::ZERO.into(),
            _ => 0.into(),
        }
    }

    /// Whether neither a message nor a turn has come behind a call or a turn.
    pub(in crate::task) fn are_at_beginning(&self) -> bool {
        *self == Self::default()
    }
}
