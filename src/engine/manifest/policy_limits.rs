//! The limits of policy documents: those of a manifest, and bounds of stretches of a task, which manifests do not have.

use super::agent::{LimitKeys, StretchLimits, TaskLimits};
use super::fields::Key;
use super::reader::Reader;
use super::shape::{Count, Nullable, Part, mapping};

mapping! {
    pub(super) PolicyLimitKeys = "`limits`" {
        of_manifests: Part<LimitKeys>,
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
        };
        let limits = TaskLimits { stretches, ..TaskLimits::read(&fields.of_manifests().part(), reader) };
        fields.refuse_others(reader);
        limits
    }
}
