//! The limits of policy documents: those of a manifest, and bounds of spending and of stretches of a task, which manifests do not have.

use super::agent::{LimitKeys, StretchLimits, TaskLimits};
use super::fields::Key;
use super::reader::Reader;
use super::shape::{Count, Decimal, Nullable, Part, mapping};

mapping! {
    pub(super) PolicyLimitKeys = "`limits`" {
        of_manifests: Part<LimitKeys>,
        /// What turns of the model may cost in the whole task, in the unit in which the host reports it.
        max_spend: Nullable<Decimal>,
        /// What turns of the model may cost for one message of the user.
        max_spend_per_message: Nullable<Decimal>,
        /// Turns of the model for one message of the user.
        max_turns_per_message: Nullable<Count>,
        /// Calls by the model for one message of the user.
        max_tool_calls_per_message: Nullable<Count>,
        /// Calls by the model in one of its turns.
        max_tool_calls_per_turn: Nullable<Count>,
    }
}

impl Key<'_, '_, PolicyLimitKeys> {
    /// The limits that a policy sets.
    pub(super) fn limits(&self, reader: &mut Reader) -> TaskLimits {
        let Some(fields) = self.fields(reader) else { return TaskLimits::default() };
        let stretches = StretchLimits {
            max_turns_per_message: fields.max_turns_per_message().unless_null().count(reader),
            max_tool_calls_per_message: fields.max_tool_calls_per_message().unless_null().count(reader),
            max_tool_calls_per_turn: fields.max_tool_calls_per_turn().unless_null().count(reader),
            max_spend_per_message: fields.max_spend_per_message().unless_null().decimal(reader),
        };
        let max_spend = fields.max_spend().unless_null().decimal(reader);
        let of_manifests = TaskLimits::read(&fields.of_manifests().part(), reader);
        let limits = TaskLimits { max_spend, stretches, ..of_manifests };
        fields.refuse_others(reader);
        limits
    }
}
