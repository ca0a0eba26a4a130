//! Asserts in a list in which they stop nothing, run too late, or check the first call only.
//!
//! In: the lists of steps of a policy. Out: findings by step. An assert in `after` that reads nothing of the result runs when the call is over. One in `before_first` that
//! reads arguments checks the first call only. One that continues on failure stops nothing. Linear in the steps.

use super::document;
use super::messages;
use super::path::asks_host;
use crate::context::{Root, Selector};
use crate::diagnostic::Diagnostic;
use crate::manifest::mode::Mode;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{Expression, Policy, Step, StepAction, for_each_path};
use std::collections::{HashMap, HashSet};

/// Findings about the steps of a policy, by step.
pub(super) fn findings(policy: &Policy) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut heard: HashSet<*const Step> = HashSet::new();
    for event in policy.events() {
        for hook in [Hook::Before, Hook::After] {
            let steps = policy.steps_of_event(hook, event.capability);
            heard.extend(steps.iter().filter(|step| step.is_for(&event.key)).map(std::ptr::from_ref));
        }
    }
    let mut lists: Vec<(Hook, Vec<&Step>)> = Vec::new();
    for (position, function) in policy.functions().iter().enumerate() {
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = policy.steps_of_call(hook, position);
            lists.push((hook, steps.iter().filter(|step| step.is_for(&function.name)).collect()));
        }
    }
    for hook in [Hook::GuardrailBefore, Hook::GuardrailAfter] {
        lists.push((hook, policy.guardrails(hook).iter().collect()));
    }
    for hook in [Hook::ModelBefore, Hook::ModelAfter] {
        lists.push((hook, policy.steps_of_model(hook).iter().collect()));
    }
    let mut followed: HashSet<*const Step> = HashSet::new();
    for (_, steps) in &lists {
        for (at, step) in steps.iter().enumerate() {
            let mut behind = steps.iter().skip(at.saturating_add(1));
            if behind.any(|other| document(other) == document(step)) {
                followed.insert(std::ptr::from_ref(*step));
            }
        }
    }
    let mut found = HashMap::new();
    for (hook, steps) in &lists {
        for step in steps {
            let address = std::ptr::from_ref(*step);
            let finding = of_step(*hook, step, heard.contains(&address), followed.contains(&address));
            found.extend(finding.map(|finding| (address, vec![finding])));
        }
    }
    found
}

/// The finding about one step. `is_heard` says whether events also pass the step, `is_followed` whether other steps of its document follow.
fn of_step(hook: Hook, step: &Step, is_heard: bool, is_followed: bool) -> Option<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return None };
    let path = assert.origin().path;
    let place = || assert.place().clone();
    if step.on_fail == OnFail::Continue {
        let is_remark = step.mode == Mode::Observe
            || step.says_to_user()
            || step.name.as_ref().is_some_and(|name| name.severity.is_some())
            // a message ahead of other steps is a remark, and a guardrail of a manifest can only lock the task or continue
            || step.has_message()
                && (is_followed || matches!(hook, Hook::GuardrailBefore | Hook::GuardrailAfter));
        let asks = assert.checked().is_none_or(|checked| asks_host(&checked, &checked.expr));
        let is_constant = assert.program().constant().is_some();
        return (!is_remark && !asks && !is_constant).then(|| messages::unheeded_assert(place()).path(path));
    }
    if is_heard {
        return None;
    }
    let read = Read::of(step.condition.iter().chain([assert]));
    match hook {
        Hook::After | Hook::ModelAfter if (read.input || read.user) && !read.other => {
            Some(messages::late_assert(place(), hook == Hook::ModelAfter).path(path))
        }
        Hook::BeforeFirst if read.input => Some(messages::first_call_only(place()).path(path)),
        _ => None,
    }
}

/// Kinds of values that expressions read.
#[derive(Clone, Copy, Debug, Default)]
struct Read {
    /// The arguments of the call, or what is sent to the model.
    input: bool,
    /// The user, who is the same all along.
    user: bool,
    /// Values that calls, time or reviewers may change.
    other: bool,
}

impl Read {
    fn of<'e>(expressions: impl Iterator<Item = &'e Expression>) -> Self {
        let mut read = Self::default();
        for expression in expressions {
            read.other |= expression.checked().is_none_or(|checked| asks_host(&checked, &checked.expr));
            for_each_path(expression.program().expr(), &mut |root, path| {
                let is = |known: Root| known.name() == Root::long_name(root);
                match path.first() {
                    _ if is(Root::Input) => read.input = true,
                    Some(Selector::Name(name)) if is(Root::Context) && name == "user" => read.user = true,
                    _ => read.other |= !is(Root::Call) && !is(Root::Runtime),
                }
            });
        }
        read
    }
}

/// Whether expressions read something that calls, time or reviewers may change.
pub(super) fn reads_task<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    Read::of(expressions).other
}

/// Whether expressions read the time or a counter, which may change while a review is open, or an event, which no call has.
pub(super) fn reads_what_passes<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    let mut reads = false;
    for expression in expressions {
        for_each_path(expression.program().expr(), &mut |root, _| {
            reads |= [Root::Now, Root::Counters, Root::Event].iter().any(|passing| passing.name() == root);
        });
    }
    reads
}
