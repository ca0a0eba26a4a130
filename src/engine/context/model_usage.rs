//! `usage`: what a call of the model uses, as the steps around it read it.
//!
//! In: the host's estimate ahead of the call, its report behind it. Out: a [`ModelUsage`], which expressions read where it lies. Where the host
//! has estimated nothing, each number is the least above nothing: so a limit that has nothing left lets no call through, and one
//! that has something left lets one.

use crate::amount::Amount;
use crate::cel::{At, LiveRecord, RecordType, Type, Value, View};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// What a call of the model uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelUsage {
    prompt_tokens: i64,
    completion_tokens: i64,
    total_tokens: i64,
    cost: Amount,
}

static SHAPE: LazyLock<Arc<RecordType>> = LazyLock::new(|| {
    RecordType::live(
        "usage",
        [
            ("prompt_tokens", Type::Int, "tokens read"),
            ("completion_tokens", Type::Int, "tokens written"),
            ("total_tokens", Type::Int, "tokens read and written"),
            ("cost", Type::Double, "what the call costs, in the unit of the host"),
        ],
    )
});

impl ModelUsage {
    /// What a call is expected to use.
    pub(crate) fn estimated(prompt_tokens: u64, completion_tokens: u64, cost: Amount) -> Self {
        let count = |tokens: u64| whole(tokens.max(1));
        Self {
            prompt_tokens: count(prompt_tokens),
            completion_tokens: count(completion_tokens),
            total_tokens: count(prompt_tokens.saturating_add(completion_tokens)),
            cost: cost.max(Amount::LEAST),
        }
    }

    /// The same with the tokens that were used.
    pub(crate) fn with_tokens(self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens: whole(prompt_tokens),
            completion_tokens: whole(completion_tokens),
            total_tokens: whole(prompt_tokens.saturating_add(completion_tokens)),
            ..self
        }
    }

    /// The same with what the call has cost.
    pub(crate) fn with_cost(self, cost: Amount) -> Self {
        Self { cost, ..self }
    }

    /// The same for an answer that does not report its cost: the estimate, or zero without one.
    pub(crate) fn with_estimated_cost(self) -> Self {
        if self.cost == Amount::LEAST { self.with_cost(Amount::ZERO) } else { self }
    }

    /// The type of `usage`.
    pub(super) fn cel_type() -> Type {
        Type::Record(SHAPE.clone())
    }

    /// `usage`, as expressions see it.
    pub(crate) fn value(&self) -> Value<'_> {
        Value::record(self, At(0))
    }
}

fn whole(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

impl LiveRecord for ModelUsage {
    fn shape(&self, _at: At) -> &RecordType {
        &SHAPE
    }

    fn field(&self, _at: At, slot: usize) -> Option<View<'_>> {
        match slot {
            0 => Some(View::Int(self.prompt_tokens)),
            1 => Some(View::Int(self.completion_tokens)),
            2 => Some(View::Int(self.total_tokens)),
            3 => Some(View::Double(self.cost.to_double())),
            _ => None,
        }
    }
}
