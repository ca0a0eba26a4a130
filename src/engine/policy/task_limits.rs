//! The limits of a task (LIM): whether the next step may be taken.
//!
//! In: what the manifest allows and what the task has used, the coming step included. Out: the first limit that would be
//! exceeded, in the order in which the specification reports them (LIM-16). A limit n allows n (LIM-02).

use crate::manifest::agent::TaskLimits;

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
}

/// A limit that would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Its name in the manifest.
    pub name: &'static str,
    /// The greatest value that the limit allows.
    pub bound: u64,
    /// The value that the step would lead to.
    pub value: u64,
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
}

#[inline]
fn beyond(name: &'static str, bound: Option<u64>, value: u64) -> Option<Exceeded> {
    let bound = bound.filter(|&bound| value > bound)?;
    Some(Exceeded { name, bound, value })
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
        };
        let at = Used { age: 3600, turns: 2, prompt_tokens: 100, completion_tokens: 50, calls: 0 };
        assert_eq!(exceeded(&limits, &at), None);
        let named = |used: Used| exceeded(&limits, &used).map(|exceeded| exceeded.name);
        assert_eq!(named(Used { calls: 1, ..at }), Some("max_tool_calls"));
        assert_eq!(named(Used { completion_tokens: 51, calls: 1, ..at }), Some("max_completion_tokens"));
        assert_eq!(named(Used { prompt_tokens: 101, ..at }), Some("max_prompt_tokens"));
        assert_eq!(named(Used { turns: 3, prompt_tokens: 101, ..at }), Some("max_turns"));
        assert_eq!(named(Used { age: 3601, turns: 3, ..at }), Some("max_age"));
        assert_eq!(exceeded(&TaskLimits::default(), &Used { turns: u64::MAX, ..at }), None);
    }
}
