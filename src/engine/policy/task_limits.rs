//! The limits of a task (LIM): whether the next step may be taken.
//!
//! In: what the manifest and the policies allow and what the task has used, the coming step included. Out: the first limit that
//! would be exceeded, in the order in which the specification reports them (LIM-16). A limit n allows n (LIM-02). Of several
//! limits of one name the smallest counts, so that a policy can only tighten.

use crate::amount::Amount;
use crate::manifest::agent::{StretchLimits, TaskLimits};
use crate::manifest::catalog::ResolvedAgent;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// The limits of the tasks of an agent, with the policies that set them.
#[derive(Clone, Debug, Default)]
pub(super) struct AllLimits {
    /// The smallest of each name.
    pub(super) limits: TaskLimits,
    /// Limits by name that a policy has set lower than the manifest and the policies before it, with the policy's name.
    owners: Vec<(&'static str, Arc<str>)>,
}

impl AllLimits {
    /// Those of an agent and its policies.
    pub(super) fn of(resolved: &ResolvedAgent) -> Self {
        let mut all = Self { limits: resolved.agent.limits, owners: Vec::new() };
        for applied in &resolved.policies {
            let TaskLimits {
                max_turns,
                max_prompt_tokens,
                max_completion_tokens,
                max_age,
                max_tool_calls,
                max_spend,
                stretches,
            } = applied.policy.limits;
            let StretchLimits {
                max_turns_per_message,
                max_tool_calls_per_message,
                max_tool_calls_per_turn,
                max_spend_per_message,
            } = stretches;
            let own = &mut all.limits;
            let lower = [
                ("max_turns", tighten(&mut own.max_turns, max_turns)),
                ("max_prompt_tokens", tighten(&mut own.max_prompt_tokens, max_prompt_tokens)),
                ("max_completion_tokens", tighten(&mut own.max_completion_tokens, max_completion_tokens)),
                ("max_age", tighten(&mut own.max_age, max_age)),
                ("max_tool_calls", tighten(&mut own.max_tool_calls, max_tool_calls)),
                ("max_spend", tighten(&mut own.max_spend, max_spend)),
                (
                    "max_turns_per_message",
                    tighten(&mut own.stretches.max_turns_per_message, max_turns_per_message),
                ),
                (
                    "max_tool_calls_per_message",
                    tighten(&mut own.stretches.max_tool_calls_per_message, max_tool_calls_per_message),
                ),
                (
                    "max_tool_calls_per_turn",
                    tighten(&mut own.stretches.max_tool_calls_per_turn, max_tool_calls_per_turn),
                ),
                (
                    "max_spend_per_message",
                    tighten(&mut own.stretches.max_spend_per_message, max_spend_per_message),
                ),
            ];
            for (name, _) in lower.into_iter().filter(|(_, is_lower)| *is_lower) {
                all.owners.retain(|(known, _)| *known != name);
                all.owners.push((name, applied.policy.applied_name()));
            }
        }
        all
    }

    /// The policy that has set a limit; nothing if the manifest has.
    pub(super) fn owner(&self, name: &str) -> Option<&Arc<str>> {
        self.owners.iter().find(|(known, _)| *known == name).map(|(_, policy)| policy)
    }
}

/// Puts a lower bound in the place of another. Whether it was lower.
fn tighten<T: Copy + Ord>(own: &mut Option<T>, other: Option<T>) -> bool {
    let is_lower = other.is_some_and(|other| own.is_none_or(|own| other < own));
    if is_lower {
        *own = other;
    }
    is_lower
}

/// The usage of a task, the coming step included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Nanoseconds since it was created; 0 where the clock ran backwards.
    pub age: u64,
    /// Model turns.
    pub turns: u64,
    /// Prompt tokens of all turns so far.
    pub prompt_tokens: u64,
    /// Completion tokens of all turns so far.
    pub completion_tokens: u64,
    /// Calls by the model, delegations included, middleware invokes not (LIM-10, LIM-11).
    pub calls: u64,
    /// What all turns so far have cost.
    pub spend: Amount,
}

/// A number of a limit.
///
/// ```
/// use celador::policy::LimitNumber;
///
/// // of `max_tool_calls`, and of `max_spend`
/// let (calls, spend) = (LimitNumber::from(16), LimitNumber::Amount("5.25".parse()?));
/// assert_eq!((calls.to_string(), spend.to_string()), ("16".to_owned(), "5.25".to_owned()));
/// assert_eq!((calls.count(), spend.count()), (16, 6));
/// # Ok::<(), celador::AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitNumber {
    /// Of turns, tokens, calls or bytes; nanoseconds for `max_age`.
    Count(u64),
    /// What turns cost, for `max_spend` and `max_spend_per_message`: a decimal as text.
    Amount(#[cfg_attr(feature = "schema", schemars(with = "String"))] Amount),
}

impl LimitNumber {
    /// The whole number, a part of one counting as one.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            Self::Count(count) => count,
            Self::Amount(amount) => amount.to_int().unsigned_abs(),
        }
    }
}

impl<'de> Deserialize<'de> for LimitNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = LimitNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or an amount as text")
            }

            fn visit_u64<E>(self, count: u64) -> Result<LimitNumber, E> {
                Ok(count.into())
            }

            fn visit_str<E: Error>(self, amount: &str) -> Result<LimitNumber, E> {
                amount.parse().map(LimitNumber::Amount).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl From<u64> for LimitNumber {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Amount> for LimitNumber {
    fn from(amount: Amount) -> Self {
        Self::Amount(amount)
    }
}

impl fmt::Display for LimitNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Amount(amount) => amount.fmt(f),
        }
    }
}

/// A limit that would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Its name in the manifest.
    pub name: &'static str,
    /// The greatest value that the limit allows.
    pub bound: LimitNumber,
    /// The value that the step would lead to.
    pub value: LimitNumber,
}

/// The first limit that would be exceeded.
#[must_use]
pub fn exceeded(limits: &TaskLimits, used: &Used) -> Option<Exceeded> {
    let max_age = limits.max_age.map(|nanos| u64::try_from(nanos).unwrap_or_default());
    beyond("max_age", max_age, used.age)
        .or_else(|| beyond("max_turns", limits.max_turns, used.turns))
        .or_else(|| beyond("max_prompt_tokens", limits.max_prompt_tokens, used.prompt_tokens))
        .or_else(|| beyond("max_completion_tokens", limits.max_completion_tokens, used.completion_tokens))
        .or_else(|| beyond("max_tool_calls", limits.max_tool_calls, used.calls))
        .or_else(|| beyond("max_spend", limits.max_spend, used.spend))
}

/// What a task has used since its last message and since the last turn of its model, the coming step included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedOfStretches {
    /// Model turns for the message.
    pub turns_for_message: u64,
    /// Calls by the model for the message.
    pub calls_for_message: u64,
    /// Calls by the model in the turn.
    pub calls_in_turn: u64,
    /// What the model's turns for the message have cost.
    pub spend_for_message: Amount,
}

/// The first limit of a stretch that would be exceeded: that of the longest stretch first, as it takes longest to begin anew.
#[must_use]
pub fn exceeded_stretch(limits: &StretchLimits, used: &UsedOfStretches) -> Option<Exceeded> {
    beyond("max_turns_per_message", limits.max_turns_per_message, used.turns_for_message)
        .or_else(|| {
            beyond("max_tool_calls_per_message", limits.max_tool_calls_per_message, used.calls_for_message)
        })
        .or_else(|| beyond("max_spend_per_message", limits.max_spend_per_message, used.spend_for_message))
        .or_else(|| beyond("max_tool_calls_per_turn", limits.max_tool_calls_per_turn, used.calls_in_turn))
}

#[inline]
fn beyond<N: Copy + Ord + Into<LimitNumber>>(
    name: &'static str,
    bound: Option<N>,
    value: N,
) -> Option<Exceeded> {
    let bound = bound.filter(|&bound| value > bound)?;
    Some(Exceeded { name, bound: bound.into(), value: value.into() })
}

#[cfg(test)]
mod tests {
    use super::{Used, exceeded};
    use crate::manifest::agent::TaskLimits;

    #[test]
    fn a_limit_allows_what_it_says_and_the_first_in_order_is_named() {
        let limits = TaskLimits {
            max_turns: Some(2),
            max_prompt_tokens: Some(100),
            max_completion_tokens: Some(50),
            max_age: Some(3600),
            max_tool_calls: Some(0),
            max_spend: "0.1".parse().ok(),
            ..TaskLimits::default()
        };
        let spend = "0.1".parse().unwrap();
        let at = Used { age: 3600, turns: 2, prompt_tokens: 100, completion_tokens: 50, calls: 0, spend };
        assert_eq!(exceeded(&limits, &at), None);
        let named = |used: Used| exceeded(&limits, &used).map(|exceeded| exceeded.name);
        let more = "0.100000001".parse().unwrap();
        assert_eq!(named(Used { spend: more, ..at }), Some("max_spend"));
        assert_eq!(named(Used { calls: 1, spend: more, ..at }), Some("max_tool_calls"));
        assert_eq!(named(Used { completion_tokens: 51, calls: 1, ..at }), Some("max_completion_tokens"));
        assert_eq!(named(Used { prompt_tokens: 101, ..at }), Some("max_prompt_tokens"));
        assert_eq!(named(Used { turns: 3, prompt_tokens: 101, ..at }), Some("max_turns"));
        assert_eq!(named(Used { age: 3601, turns: 3, ..at }), Some("max_age"));
        assert_eq!(exceeded(&TaskLimits::default(), &Used { turns: u64::MAX, ..at }), None);
    }
}
