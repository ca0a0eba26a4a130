//! Asserts in a list in which they stop nothing, run too late, or check the first call only.
//!
//! In: the lists of steps of a policy. Out: findings by step. An assert in `after` that reads nothing of the result runs when the call is over. One in `before_first` that
//! reads arguments checks the first call only. One that continues on failure stops nothing. Linear in the steps.

use super::messages;
use super::path::{asked_of_host, asks_host};
use crate::cel::{Checked, Expr};
use crate::context::{LABELS, Root, SOURCES, Selector, WHOLE_SOURCES};
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
    let mut found = HashMap::new();
    for (hook, steps) in &lists {
        for step in steps {
            let address = std::ptr::from_ref(*step);
            let finding = of_step(*hook, step, heard.contains(&address));
            found.extend(finding.map(|finding| (address, vec![finding])));
        }
    }
    found
}

/// The finding about one step. `is_heard` says whether events also pass the step.
fn of_step(hook: Hook, step: &Step, is_heard: bool) -> Option<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return None };
    let path = assert.origin().path;
    let place = || assert.place().clone();
    if step.on_fail == OnFail::Continue {
        let is_remark = step.mode == Mode::Observe
            || step.name.as_ref().is_some_and(|name| name.severity.is_some())
            // a guardrail of a manifest can only lock the task or continue
            || step.name.is_none()
                && step.has_message()
                && matches!(hook, Hook::GuardrailBefore | Hook::GuardrailAfter);
        let asks = assert.checked().is_none_or(|checked| asks_host(&checked, &checked.expr));
        let is_constant = assert.program().constant().is_some();
        return (!is_remark && !asks && !is_constant).then(|| messages::unheeded_assert(place()).path(path));
    }
    if is_heard {
        return None;
    }
    let read = Read::of(step.condition.iter().chain([assert]));
    match hook {
        Hook::After | Hook::ModelAfter
            if step.on_fail != OnFail::LockTask && (read.input || read.user || read.time) && !read.other =>
        {
            Some(messages::late_assert(place(), hook == Hook::ModelAfter).path(path))
        }
        Hook::BeforeFirst if read.input || read.counters => {
            Some(messages::first_call_only(place(), read.input).path(path))
        }
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
    /// Counters.
    counters: bool,
    /// The time.
    time: bool,
    /// Values that calls, time or reviewers may change.
    other: bool,
}

impl Read {
    fn of<'e>(expressions: impl Iterator<Item = &'e Expression>) -> Self {
        let mut read = Self::default();
        for expression in expressions {
            read.other |= expression.checked().is_none_or(|checked| asks_task(&checked, &checked.expr));
            for_each_path(expression.program().expr(), &mut |root, path| {
                let is = |known: Root| known.name() == Root::long_name(root);
                match path.first() {
                    _ if is(Root::Input) => read.input = true,
                    _ if is(Root::Counters) => (read.counters, read.other) = (true, true),
                    _ if is(Root::Now) => read.time = true,
                    // the name of a library, and labels of what is read
                    _ if Root::ALL.iter().all(|root| !is(*root)) => {}
                    Some(Selector::Name(name)) if is(Root::Context) && name == "user" => read.user = true,
                    _ => read.other |= !is(Root::Call) && !is(Root::Runtime),
                }
            });
        }
        read
    }
}

/// Whether a part asks a person, or for what calls change, as labels of the task. The labels and sources of a value stay the same.
fn asks_task(checked: &Checked, expr: &Expr) -> bool {
    let own = asked_of_host(checked, expr);
    let mut asks = own.is_some_and(|name| ![LABELS, SOURCES, WHOLE_SOURCES].contains(&name));
    expr.for_each_part(&mut |part| asks |= asks_task(checked, part));
    asks
}

/// Whether expressions read something that calls, time or reviewers may change.
pub(super) fn reads_task<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    let read = Read::of(expressions);
    read.other || read.time
}

/// Whether expressions read the time, a counter or reviews, which may change while a review is open, results of steps ahead, or an event, which no call has.
pub(super) fn reads_what_passes<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    let mut reads = false;
    for expression in expressions {
        for_each_path(expression.program().expr(), &mut |root, path| {
            reads |= [Root::Now, Root::Counters, Root::Invoked, Root::Event]
                .iter()
                .any(|passing| passing.name() == root);
            reads |= Root::long_name(root) == Root::Context.name()
                && matches!(path.first(), Some(Selector::Name(name)) if name == "reviews");
        });
    }
    reads
}
