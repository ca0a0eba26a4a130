//! The parts of operations.

use super::verdict::EventStage;
use crate::manifest::step::Hook;
use serde::{Deserialize, Serialize};

/// The parts of operations, each in the order in which it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::task) enum Stage {
    BeforeFirst,
    Before,
    Execute,
    After,
    GuardrailBefore,
    GuardrailAfter,
    ModelBefore,
    ModelAfter,
}

impl Stage {
    /// Whether its steps decide if the call may run.
    pub(in crate::task) fn is_ahead_of_call(self) -> bool {
        matches!(self, Self::BeforeFirst | Self::Before)
    }

    /// The check that an event does not pass which is stopped here. Events have the stages before, after and that of the guardrails of inputs.
    pub(in crate::task) fn of_event(self) -> EventStage {
        match self {
            Self::BeforeFirst | Self::Before | Self::Execute => EventStage::Before,
            Self::After => EventStage::After,
            Self::GuardrailBefore | Self::GuardrailAfter | Self::ModelBefore | Self::ModelAfter => {
                EventStage::Guardrails
            }
        }
    }

    /// The list of steps that the stage runs.
    pub(in crate::task) fn hook(self) -> Option<Hook> {
        match self {
            Self::BeforeFirst => Some(Hook::BeforeFirst),
            Self::Before => Some(Hook::Before),
            Self::After => Some(Hook::After),
            Self::GuardrailBefore => Some(Hook::GuardrailBefore),
            Self::GuardrailAfter => Some(Hook::GuardrailAfter),
            Self::ModelBefore => Some(Hook::ModelBefore),
            Self::ModelAfter => Some(Hook::ModelAfter),
            Self::Execute => None,
        }
    }
}
