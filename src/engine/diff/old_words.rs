//! New rules in the words of the old ones, where both say the same.
//!
//! In: an agent, or a trigger, before and after. Out: that of after, in which each condition and assert that is proved to answer as the one in its place did before has the text of before, and where names of a policy
//! are read by such alone, the policy has the names of before. If the
//! digests of the two are the same then, no other difference is left.

use crate::analysis::answer_alike;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::named_expression::EXPRESSIONS;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::step::{DeclaredAction, DeclaredStep};
use crate::manifest::trigger::DeclaredTrigger;
use crate::policy::{Expression, Policy, Step, StepAction, Trigger};
use crate::source::Embedded;
use std::collections::HashMap;
use std::sync::Arc;

/// The compiled expressions of some steps, by file and first character: several where a step was compiled for several functions.
type Compiled<'p> = HashMap<(&'p str, u32), Vec<&'p Expression>>;

/// The new agent in the words of the old one; nothing if no expression differs.
pub(super) fn in_old_words(
    (old, old_policy): (&ResolvedAgent, &Policy),
    (new, new_policy): (&ResolvedAgent, &Policy),
) -> Option<ResolvedAgent> {
    let mut words = Words::of(old_policy.steps(), new_policy.steps());
    let mut rewritten = new.clone();
    let agent = Arc::make_mut(&mut rewritten.agent);
    for (old, new) in old.agent.capabilities.iter().zip(&mut agent.capabilities) {
        words.list(&old.before_first, &mut new.before_first);
        words.list(&old.before, &mut new.before);
        words.list(&old.after, &mut new.after);
    }
    words.list(&old.agent.guardrails.before, &mut agent.guardrails.before);
    words.list(&old.agent.guardrails.after, &mut agent.guardrails.after);
    for (old, new) in old.policies.iter().zip(&mut rewritten.policies) {
        let (old, new) = (&*old.policy, Arc::make_mut(&mut new.policy));
        words.names(old, new);
        for (old, new) in old.capabilities.iter().zip(&mut new.capabilities) {
            words.list(&old.before_first, &mut new.before_first);
            words.list(&old.before, &mut new.before);
            words.list(&old.after, &mut new.after);
        }
        words.list(&old.guardrails_before, &mut new.guardrails_before);
        words.list(&old.guardrails_after, &mut new.guardrails_after);
        words.list(&old.model_before, &mut new.model_before);
        words.list(&old.model_after, &mut new.model_after);
    }
    words.changed.then_some(rewritten)
}

/// The same of a trigger.
pub(super) fn trigger_in_old_words(
    (old, old_trigger): (&DeclaredTrigger, &Trigger),
    (new, new_trigger): (&DeclaredTrigger, &Trigger),
) -> Option<DeclaredTrigger> {
    let mut words = Words::of(old_trigger.steps().iter(), new_trigger.steps().iter());
    let mut rewritten = new.clone();
    words.list(&old.before, &mut rewritten.before);
    words.changed.then_some(rewritten)
}

fn compiled<'p>(steps: impl Iterator<Item = &'p Step>) -> Compiled<'p> {
    let mut compiled: Compiled<'_> = HashMap::new();
    for step in steps {
        let assert = match &step.action {
            StepAction::Assert(assert) => Some(assert),
            _ => None,
        };
        for expression in step.condition.iter().chain(assert) {
            let place = expression.place();
            compiled.entry((place.source.name(), place.span.start)).or_default().push(expression);
        }
    }
    compiled
}

/// The expressions that were compiled of a text.
fn of<'c, 'p>(compiled: &'c Compiled<'p>, text: &'c Embedded) -> Option<&'c [&'p Expression]> {
    let place = &text.place;
    compiled.get(&(place.source.name(), place.span.start)).map(Vec::as_slice)
}

/// The condition of a step, and its assert.
fn judged(step: &DeclaredStep) -> impl Iterator<Item = &Embedded> {
    let assert = match &step.action {
        DeclaredAction::Assert(assert) => Some(assert),
        _ => None,
    };
    step.condition.iter().chain(assert)
}

/// Whether a text may read a variable or a named expression.
fn reads_names(text: &Embedded) -> bool {
    ["variables", EXPRESSIONS].iter().any(|root| text.text.contains(root))
}

struct Words<'p> {
    old: Compiled<'p>,
    new: Compiled<'p>,
    changed: bool,
}

impl<'p> Words<'p> {
    /// Those of the steps of before and of after.
    fn of(old: impl Iterator<Item = &'p Step>, new: impl Iterator<Item = &'p Step>) -> Self {
        Self { old: compiled(old), new: compiled(new), changed: false }
    }

    /// Rewrites a list whose steps stand in the places of those of before.
    fn list(&mut self, old: &[DeclaredStep], new: &mut [DeclaredStep]) {
        if old.len() != new.len() {
            return;
        }
        for (old, new) in old.iter().zip(new) {
            // what would have let a call pass is told in the words of the step itself
            let suggests = |step: &DeclaredStep| {
                let mut messages = step.says();
                messages.any(|message| message.text.contains("suggestion"))
            };
            if suggests(old) || suggests(new) {
                continue;
            }
            if let (Some(old), Some(new)) = (&old.condition, &mut new.condition) {
                self.text(old, new);
            }
            if let (DeclaredAction::Assert(old), DeclaredAction::Assert(new)) = (&old.action, &mut new.action)
            {
                self.text(old, new);
            }
        }
    }

    /// Gives the new policy the variables and named expressions of the old one, if all that reads any are conditions and asserts that answer
    /// as those in their place did before.
    fn names(&mut self, old: &DeclaredPolicy, new: &mut DeclaredPolicy) {
        let is_counted = |policy: &DeclaredPolicy| {
            let mut texts = policy.counters.iter().flat_map(|it| it.expressions());
            texts.any(|(_, text)| reads_names(text))
        };
        let are_same = old.named_texts().map(|it| &it.text).eq(new.named_texts().map(|it| &it.text));
        let are_as_many = old.steps().count() == new.steps().count();
        if are_same || is_counted(old) || is_counted(new) || !are_as_many {
            return;
        }
        let are_alike = old.steps().zip(new.steps()).all(|(old, new)| self.reads_alike(old, new));
        if !are_alike {
            return;
        }
        new.variables.clone_from(&old.variables);
        new.expressions.clone_from(&old.expressions);
        new.imports.clone_from(&old.imports);
        self.changed = true;
    }

    /// Whether names are read by conditions and asserts alone that answer alike in both steps.
    fn reads_alike(&self, old: &DeclaredStep, new: &DeclaredStep) -> bool {
        if ![old, new].into_iter().any(|step| step.expressions().chain(step.says()).any(reads_names)) {
            return true;
        }
        let others = |step: &DeclaredStep| {
            let is_judged = |text: &&Embedded| judged(step).any(|it| std::ptr::eq(it, *text));
            step.says().any(reads_names)
                || step.expressions().filter(|text| !is_judged(text)).any(reads_names)
        };
        let mut pairs = judged(old).zip(judged(new));
        !others(old)
            && !others(new)
            && old.condition.is_some() == new.condition.is_some()
            && judged(old).count() == judged(new).count()
            && pairs.all(|(old, new)| self.is_alike(old, new))
    }

    fn is_alike(&self, old: &Embedded, new: &Embedded) -> bool {
        let [Some(before), Some(after)] = [of(&self.old, old), of(&self.new, new)] else { return false };
        before.len() == after.len()
            && before.iter().zip(after).all(|(before, after)| answer_alike(before, after))
    }

    fn text(&mut self, old: &Embedded, new: &mut Embedded) {
        if old.text == new.text {
            return;
        }
        if self.is_alike(old, new) {
            new.text = old.text.clone();
            self.changed = true;
        }
    }
}
