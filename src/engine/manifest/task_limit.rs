//! The limits of a task (LIM): a table with a row for each.
//!
//! In: the key `limits` of a manifest or a policy. Out: [`TaskLimits`], the greatest value that each limit allows. The table says what each limit bounds and for how long;
//! everything that reads, reports, encodes, mutates or checks limits goes by it. Whether a step exceeds one is decided by the task.

use super::fields::{Fields, Key};
use super::reader::Reader;
use super::shape::{Count, Decimal, Duration, Nullable, Part, Vocabulary, mapping};
use crate::amount::Amount;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The quantity that a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Nanoseconds since the task was created.
    Age,
    /// Turns of the model.
    Turns,
    /// Tokens of its prompts.
    PromptTokens,
    /// Tokens of its completions.
    CompletionTokens,
    /// Calls by the model, delegations included, calls by `invoke` steps not (LIM-10, LIM-11).
    Calls,
    /// What the turns of the model cost, in a unit of the host's.
    Spend,
}

/// The stretch of a task within which a limit counts, the shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stretch {
    /// From a turn of the model to the next. A step beyond the limit is blocked.
    Turn,
    /// From a message to the next. A step beyond the limit is blocked.
    Message,
    /// The whole task. A step beyond the limit ends it.
    Task,
}

/// A table of limits: the enum, its words, and the keys of manifests and of policies with how they are read.
macro_rules! task_limits {
    (
        of manifests { $( $(#[doc = $doc:literal])* $limit:ident = $key:ident: $shape:ty, $quantity:ident for $stretch:ident, $counted:literal; )* }
        of policies { $( $(#[doc = $own_doc:literal])* $own:ident = $own_key:ident: $own_shape:ty, $own_quantity:ident for $own_stretch:ident, $own_counted:literal; )* }
    ) => {
        /// A limit of a task. Their order is that in which a step that exceeds several names them (LIM-16).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TaskLimit {
            $( $(#[doc = $doc])* $limit, )*
            $( $(#[doc = $own_doc])* $own, )*
        }

        impl Vocabulary for TaskLimit {
            type Meaning = Self;
            const WORDS: &'static [(&'static str, Self)] =
                &[$( (stringify!($key), Self::$limit), )* $( (stringify!($own_key), Self::$own), )*];
        }

        impl TaskLimit {
            /// The quantity, the stretch, and the words behind the two numbers in a message.
            const fn row(self) -> (Quantity, Stretch, &'static str) {
                match self {
                    $( Self::$limit => (Quantity::$quantity, Stretch::$stretch, $counted), )*
                    $( Self::$own => (Quantity::$own_quantity, Stretch::$own_stretch, $own_counted), )*
                }
            }
        }

        mapping! {
            pub(super) LimitKeys = "`limits`" {
                $( $(#[doc = $doc])* $key: Nullable<$shape>, )*
            }

            pub(super) PolicyLimitKeys = "`limits`" {
                of_manifests: Part<LimitKeys>,
                $( $(#[doc = $own_doc])* $own_key: Nullable<$own_shape>, )*
            }
        }

        impl TaskLimits {
            fn read(fields: &Fields<'_, LimitKeys>, reader: &mut Reader) -> Self {
                let mut limits = Self::default();
                $( limits.set(TaskLimit::$limit, BoundShape::bound(&fields.$key().unless_null(), reader)); )*
                limits
            }

            fn read_own(fields: &Fields<'_, PolicyLimitKeys>, reader: &mut Reader) -> Self {
                let mut limits = Self::read(&fields.of_manifests().part(), reader);
                $( limits.set(TaskLimit::$own, BoundShape::bound(&fields.$own_key().unless_null(), reader)); )*
                limits
            }
        }
    };
}

task_limits! {
    of manifests {
        /// The age of the task.
        MaxAge = max_age: Duration, Age for Task, "since it began";
        /// Turns of the model.
        MaxTurns = max_turns: Count, Turns for Task, "model turns";
        /// Tokens of prompts in the whole task.
        MaxPromptTokens = max_prompt_tokens: Count, PromptTokens for Task, "prompt tokens";
        /// Tokens of completions in the whole task.
        MaxCompletionTokens = max_completion_tokens: Count, CompletionTokens for Task, "completion tokens";
        /// Calls by the model.
        MaxToolCalls = max_tool_calls: Count, Calls for Task, "tool calls";
    }
    of policies {
        /// What turns of the model may cost in the whole task, in the unit in which the host reports it.
        MaxSpend = max_spend: Decimal, Spend for Task, "spent";
        /// Turns of the model for one message of the user.
        MaxTurnsPerMessage = max_turns_per_message: Count, Turns for Message, "model turns for one message";
        /// Calls by the model for one message of the user.
        MaxToolCallsPerMessage = max_tool_calls_per_message: Count, Calls for Message, "tool calls for one message";
        /// What turns of the model may cost for one message of the user.
        MaxSpendPerMessage = max_spend_per_message: Decimal, Spend for Message, "spent for one message";
        /// Calls by the model in one of its turns.
        MaxToolCallsPerTurn = max_tool_calls_per_turn: Count, Calls for Turn, "tool calls in one turn";
    }
}

/// Nanoseconds of one second.
const SECOND: u64 = 1_000_000_000;

impl TaskLimit {
    /// All limits, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::WORDS.iter().map(|(_, limit)| *limit)
    }

    /// The limit of a key.
    #[must_use]
    pub fn parse(key: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == key).map(|(_, limit)| *limit)
    }

    /// Its key in `limits`, such as `max_turns`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::WORDS.get(self as usize).map_or("", |(key, _)| key)
    }

    /// The quantity that it bounds.
    #[must_use]
    pub const fn quantity(self) -> Quantity {
        self.row().0
    }

    /// The stretch within which it counts.
    #[must_use]
    pub const fn stretch(self) -> Stretch {
        self.row().1
    }

    /// The words for its numbers in a message: `tool calls for one message`.
    #[must_use]
    pub const fn counted(self) -> &'static str {
        self.row().2
    }

    /// A bound that is greater or smaller by so many units: a second of an age, else one. `None` below 0, and for an age of 0.
    pub(crate) fn moved(self, bound: LimitNumber, by: i64) -> Option<LimitNumber> {
        Some(match bound {
            LimitNumber::Count(nanos) if self.quantity() == Quantity::Age => {
                let moved = nanos.checked_add_signed(by.checked_mul(i64::try_from(SECOND).ok()?)?)?;
                LimitNumber::Count(Some(moved).filter(|nanos| *nanos > 0)?)
            }
            LimitNumber::Count(count) => LimitNumber::Count(count.checked_add_signed(by)?),
            LimitNumber::Amount(amount) => {
                let units = Amount::from_uint(by.unsigned_abs()).ok()?;
                LimitNumber::Amount(if by < 0 { amount.minus(units)? } else { amount.plus(units) })
            }
        })
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

impl LimitNumber {
    /// The difference to another number of the same kind, at least 0.
    pub(crate) fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Count(count), Self::Count(other)) => Self::Count(count.saturating_sub(other)),
            (Self::Amount(amount), Self::Amount(other)) => {
                Self::Amount(amount.minus(other).unwrap_or_default())
            }
            (Self::Count(_), Self::Amount(_)) | (Self::Amount(_), Self::Count(_)) => self,
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

/// The greatest value that each limit of a task allows; a limit that is not set does not bound (LIM-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLimits([Option<LimitNumber>; TaskLimit::WORDS.len()]);

impl TaskLimits {
    /// The greatest value that a limit allows, if it is set.
    #[must_use]
    pub fn get(&self, limit: TaskLimit) -> Option<LimitNumber> {
        self.0.get(limit as usize).copied().flatten()
    }

    /// The same of a limit that counts.
    #[must_use]
    pub fn count(&self, limit: TaskLimit) -> Option<u64> {
        self.get(limit).map(LimitNumber::count)
    }

    /// Sets a limit.
    pub fn set(&mut self, limit: TaskLimit, bound: Option<LimitNumber>) {
        self.0.get_mut(limit as usize).into_iter().for_each(|own| *own = bound);
    }

    /// The limits that are set, in order.
    pub fn iter(&self) -> impl Iterator<Item = (TaskLimit, LimitNumber)> {
        TaskLimit::all().zip(&self.0).filter_map(|(limit, bound)| Some((limit, (*bound)?)))
    }

    /// Takes the lower of each two limits, and names those that became lower.
    pub(crate) fn tighten(&mut self, other: &Self) -> Vec<TaskLimit> {
        let lower = |limit, bound| self.get(limit).is_none_or(|own| bound < own);
        let lower: Vec<_> = other.iter().filter(|(limit, bound)| lower(*limit, *bound)).collect();
        lower.iter().for_each(|(limit, bound)| self.set(*limit, Some(*bound)));
        lower.into_iter().map(|(limit, _)| limit).collect()
    }
}

/// The shape of a limit's value.
trait BoundShape: Sized {
    fn bound(key: &Key<'_, '_, Self>, reader: &mut Reader) -> Option<LimitNumber>;
}

impl BoundShape for Count {
    fn bound(key: &Key<'_, '_, Self>, reader: &mut Reader) -> Option<LimitNumber> {
        key.count(reader).map(LimitNumber::Count)
    }
}

impl BoundShape for Decimal {
    fn bound(key: &Key<'_, '_, Self>, reader: &mut Reader) -> Option<LimitNumber> {
        key.decimal(reader).map(LimitNumber::Amount)
    }
}

impl BoundShape for Duration {
    fn bound(key: &Key<'_, '_, Self>, reader: &mut Reader) -> Option<LimitNumber> {
        let nanos = key.duration("LIM-15", reader)?;
        // a length of time that is read is positive
        u64::try_from(nanos).ok().map(LimitNumber::Count)
    }
}

impl Key<'_, '_, LimitKeys> {
    /// The limits that a manifest sets.
    pub(super) fn limits(&self, reader: &mut Reader) -> TaskLimits {
        let Some(fields) = self.fields(reader) else { return TaskLimits::default() };
        let limits = TaskLimits::read(&fields, reader);
        fields.refuse_others(reader);
        limits
    }
}

impl Key<'_, '_, PolicyLimitKeys> {
    /// The limits that a policy sets: those of manifests, and bounds of spending and of stretches of a task.
    pub(super) fn limits(&self, reader: &mut Reader) -> TaskLimits {
        let Some(fields) = self.fields(reader) else { return TaskLimits::default() };
        let limits = TaskLimits::read_own(&fields, reader);
        fields.refuse_others(reader);
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::{LimitNumber, TaskLimit, TaskLimits};

    #[test]
    fn the_lower_of_two_limits_counts() {
        let limits = |bounds: &[(&str, u64)]| {
            let mut all = TaskLimits::default();
            for (key, bound) in bounds {
                all.set(TaskLimit::parse(key).unwrap(), Some(LimitNumber::Count(*bound)));
            }
            all
        };
        let mut own = limits(&[("max_turns", 5), ("max_tool_calls", 9)]);
        let lower = own.tighten(&limits(&[("max_turns", 5), ("max_tool_calls", 8), ("max_age", 7)]));
        assert_eq!(lower, [TaskLimit::MaxAge, TaskLimit::MaxToolCalls]);
        assert_eq!(own, limits(&[("max_age", 7), ("max_turns", 5), ("max_tool_calls", 8)]));
        assert!(TaskLimit::all().all(|limit| TaskLimit::parse(limit.as_str()) == Some(limit)));
    }
}
