//! What holds of counts, sums and arguments, whatever a policy asks of them.
//!
//! In: the terms of some comparisons. Out: [`Fact`]s: a count is never below 0, of two tallies the one of fewer calls is the smaller one, an argument keeps to the bounds of its schema, a call
//! that is let by is within the limits of its task. Quadratic in the terms.

use super::amounts::{Amounts, Fact, Term, number_schema};
use super::inequality::{Inequality, Linear};
use super::tally::Tally;
use crate::manifest::task_limit::TaskLimit;
use crate::policy::{Missing, Policy};

impl Amounts<'_> {
    /// What holds of the terms, whatever is asked. `is_let_by` says that a call is let by, which is within the limits of its task;
    /// `adds_nothing_negative` that no call that was let by has added anything below 0.
    pub(super) fn facts(&self, policy: &Policy, is_let_by: bool, adds_nothing_negative: bool) -> Vec<Fact> {
        let mut sums: Vec<(Linear, Option<&'static str>)> = Vec::new();
        let below =
            |less: usize, more: usize| Linear { terms: [(less, 1.0), (more, -1.0)].into(), constant: 0.0 };
        let never_negative = |tally: &Tally| {
            tally.is_count()
                || adds_nothing_negative && tally.counts_commitments()
                || is_never_negative(policy, tally)
        };
        for (at, term) in self.terms.iter().enumerate() {
            let Some(tally) = &term.tally else { continue };
            if never_negative(tally) {
                sums.push((Linear { terms: [(at, -1.0)].into(), constant: 0.0 }, None));
            }
            for (other, greater) in self.terms.iter().enumerate().filter(|(other, _)| *other != at) {
                let Some(greater_tally) = &greater.tally else { continue };
                let (own, theirs) = (term.time, greater.time);
                let at_one_time =
                    own.1 == theirs.1 && (own.0.is_none() || theirs.0.is_none() || own.0 == theirs.0);
                let is_later = own.1 == theirs.1 && own.0 > theirs.0;
                // no call is let through that would add something while this one waits, and one that is open and fails takes back what it adds
                let only_falls =
                    is_later && term.is_kept && tally.counts_commitments() && never_negative(tally);
                let is_at_most =
                    (at_one_time || only_falls) && tally.is_at_most(greater_tally, &never_negative);
                // a list of calls only grows, whoever is asked meanwhile
                let is_earlier = own.1 <= theirs.1 && own.0 < theirs.0;
                let only_grows = is_earlier
                    && tally.is_count()
                    && tally.never_falls()
                    && tally.name() == greater_tally.name();
                if is_at_most || only_grows {
                    sums.push((below(at, other), None));
                }
            }
        }
        // nothing takes a counter below 0
        let counters = self.terms.iter().enumerate().filter(|(_, term)| term.name.starts_with("counters."));
        sums.extend(counters.map(|(at, _)| (Linear { terms: [(at, -1.0)].into(), constant: 0.0 }, None)));
        if is_let_by {
            sums.extend(self.limits(policy));
        }
        let is_whole = |at| self.is_whole(at);
        let facts = sums.into_iter().filter_map(|(sum, limit)| {
            Some(Fact { says: Inequality::at_most_zero(&sum, false, &is_whole)?, limit })
        });
        facts.chain(self.ranges()).collect()
    }

    /// What the limits of the task say of a call that goes on: it and the calls of the model ahead of it are at most `max_tool_calls`, at whatever time they are
    /// counted.
    fn limits(&self, policy: &Policy) -> Vec<(Linear, Option<&'static str>)> {
        let limits = policy.task_limits();
        let mut facts = Vec::new();
        #[expect(clippy::cast_precision_loss, reason = "greater ones are left out")]
        let number = |value: u64| (value < 1 << 53).then_some(value as f64);
        let is_of_model =
            |term: &Term| term.tally.as_ref().is_some_and(|tally| tally.is_count() && !tally.has_invoked());
        for (at, term) in self.terms.iter().enumerate() {
            let (limit, own) = match term.name.as_str() {
                // turns may be reported while somebody is asked, so only what is read ahead of that is within the limit
                "context.llm.tokens.prompt" => (TaskLimit::MaxPromptTokens, 0.0),
                "context.llm.tokens.completion" => (TaskLimit::MaxCompletionTokens, 0.0),
                _ if is_of_model(term) => (TaskLimit::MaxToolCalls, 1.0),
                _ => continue,
            };
            let most = limits.count(limit).and_then(number);
            let fact =
                |most| (Linear { terms: [(at, 1.0)].into(), constant: own - most }, Some(limit.as_str()));
            facts.extend(most.map(fact));
        }
        facts
    }
}

/// Whether nothing that is added can be below 0, as the schemas say.
fn is_never_negative(policy: &Policy, tally: &Tally) -> bool {
    let Some(argument) = tally.argument() else { return false };
    // what a step gives to the function that it invokes is held to no schema
    let is_invoked = |function: usize| policy.invoked().any(|invoked| invoked == function);
    let mut functions = tally.functions();
    functions.all(|function| {
        (!tally.has_invoked() || !is_invoked(function))
            && least(policy, function, argument).is_some_and(|least| least >= 0.0)
    })
}

/// The least number that an argument can be.
fn least(policy: &Policy, function: usize, argument: &str) -> Option<f64> {
    let schema = number_schema(policy, function, argument)?;
    let least = ["minimum", "exclusiveMinimum"].iter().find_map(|name| schema.get(*name)?.as_f64())?;
    let mut parameters = policy.function(function)?.parameters.iter();
    let default = match &parameters.find(|parameter| *parameter.name == *argument)?.missing {
        Missing::Default(default) => serde_json::to_value(default).ok(),
        Missing::Fault | Missing::LeftOut => None,
    };
    // a default need not fit
    let fits = default.is_none_or(|value| value.as_f64().is_some_and(|value| value >= least));
    fits.then_some(least)
}
