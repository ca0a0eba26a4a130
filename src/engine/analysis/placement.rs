//! Asserts in a list in which they stop nothing, run too late, or check the first call only.
//!
//! In: the lists of steps of a policy. Out: findings by step. An assert in `after` that reads nothing of the result runs when the call is over: one that reads arguments, the time or calls of other
//! functions, and one that asks a person, unless the function only reads. One in `before_first` that reads arguments, counters or the time checks the first call only, and there are no earlier
//! calls of its function to count. One that continues on failure stops nothing. A label that a later step takes away each time marks nothing. Linear in the steps, times the labels.

use super::document;
use super::messages::{self, FirstCall};
use super::misuse::asks_person;
use super::path::{asked_of_host, asks_host, function};
use super::reach::is_root;
use crate::cel::{Checked, Expr, ExprKind, Literal};
use crate::context::{LABELS, Root, SOURCES, Selector, WHOLE_SOURCES};
use crate::diagnostic::Diagnostic;
use crate::manifest::mode::Mode;
use crate::manifest::policy_step::Severity;
use crate::manifest::step::{Hook, OnFail};
use crate::policy::{
    AgentFunction, Expression, LabelStep, Policy, Step, StepAction, StepLabels, for_each_path,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Findings about the steps of a policy, by step.
pub(super) fn findings(policy: &Policy) -> HashMap<*const Step, Vec<Diagnostic>> {
    let mut heard: HashSet<*const Step> = HashSet::new();
    for event in policy.events() {
        for hook in [Hook::Before, Hook::After] {
            let steps = policy.steps_of_event(hook, event.capability);
            heard.extend(steps.iter().filter(|step| step.is_for(&event.key)).map(std::ptr::from_ref));
        }
    }
    let mut lists: Vec<(Hook, Option<&AgentFunction>, Vec<&Step>)> = Vec::new();
    for (position, function) in policy.functions().iter().enumerate() {
        for hook in [Hook::BeforeFirst, Hook::Before, Hook::After] {
            let steps = policy.steps_of_call(hook, position);
            let steps = steps.iter().filter(|step| step.is_for(&function.name)).collect();
            lists.push((hook, Some(function), steps));
        }
    }
    for hook in [Hook::GuardrailBefore, Hook::GuardrailAfter] {
        lists.push((hook, None, policy.guardrails(hook).iter().collect()));
    }
    for hook in [Hook::ModelBefore, Hook::ModelAfter] {
        lists.push((hook, None, policy.steps_of_model(hook).iter().collect()));
    }
    let mut found = HashMap::new();
    for (hook, function, steps) in &lists {
        for step in steps {
            let address = std::ptr::from_ref(*step);
            let finding = of_step((*hook, *function), step, heard.contains(&address));
            found.extend(finding.map(|finding| (address, vec![finding])));
        }
        for (step, finding) in undone_labels(steps) {
            found.entry(step).or_insert_with(|| vec![finding]);
        }
    }
    found
}

/// Labels that a step of a document gives, and a later one of the same document takes away from each value that has them.
fn undone_labels(steps: &[&Step]) -> Vec<(*const Step, Diagnostic)> {
    let mut given: Vec<(&Step, bool, &Arc<str>)> = Vec::new();
    let mut found = Vec::new();
    for step in steps.iter().filter(|step| step.mode == Mode::Enforce) {
        let StepAction::Label(LabelStep { takes, of_task, labels: StepLabels::Written(labels) }) =
            &step.action
        else {
            continue;
        };
        if !takes {
            given.extend(labels.iter().map(|label| (*step, *of_task, label)));
            continue;
        }
        let is_undone = |(other, other_task, label): &&(&Step, bool, &Arc<str>)| {
            let condition = |step: &Step| step.condition.as_ref().map(|it| it.source().to_owned());
            let is_whole = step.condition.is_none() || condition(step) == condition(other);
            is_whole && other_task == of_task && labels.contains(*label) && document(other) == document(step)
        };
        if let Some((other, _, label)) = given.iter().find(is_undone) {
            let finding = messages::undone_label(step.place().clone(), label, other.place().clone());
            found.push((std::ptr::from_ref(*step), finding.path(step.origin().path)));
        }
    }
    found
}

/// The finding about one step in a list, which the calls of a function pass. `is_heard` says whether events also pass the step.
fn of_step(
    (hook, function): (Hook, Option<&AgentFunction>),
    step: &Step,
    is_heard: bool,
) -> Option<Diagnostic> {
    let StepAction::Assert(assert) = &step.action else { return None };
    let path = assert.origin().path;
    let place = || assert.place().clone();
    if step.on_fail == OnFail::Continue {
        let is_remark = step.mode == Mode::Observe
            || step.name.as_ref().and_then(|name| name.severity).is_some_and(|it| it < Severity::High)
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
        Hook::After | Hook::ModelAfter if step.on_fail != OnFail::LockTask && !read.other => {
            let of_model = hook == Hook::ModelAfter;
            let is_settled = !read.calls || function.is_some_and(|it| read.is_of_others(&it.key));
            if read.reviews {
                let is_read_only = function
                    .is_none_or(|it| it.annotations.as_ref().is_some_and(|it| it.read_only == Some(true)));
                // without a condition, a person may be meant to look at each result
                let is_of_call = step.condition.is_some();
                return (is_of_call && !is_read_only && !read.calls && !step.shows_result())
                    .then(|| messages::late_review(place()).path(path));
            }
            let reads = read.input || read.user || read.time || read.calls;
            (reads && is_settled).then(|| messages::late_assert(place(), of_model).path(path))
        }
        Hook::BeforeFirst => {
            let reads_own = function.is_some_and(|it| read.functions.contains(&*it.key));
            let first = match () {
                () if read.input => FirstCall::Arguments,
                () if read.counters => FirstCall::Counter,
                () if read.clock => FirstCall::Time,
                () if reads_own => FirstCall::OwnCalls,
                () => return None,
            };
            Some(messages::first_call_only(place(), first).path(path))
        }
        _ => None,
    }
}

/// Kinds of values that expressions read.
#[derive(Clone, Debug, Default)]
struct Read {
    /// The arguments of the call, or what is sent to the model.
    input: bool,
    /// The user, who is the same all along.
    user: bool,
    /// Counters.
    counters: bool,
    /// The time.
    time: bool,
    /// The time in a way that may be true now and false later, and not `now > '2027-01-01'`.
    clock: bool,
    /// Calls on record.
    calls: bool,
    /// A person's answer.
    reviews: bool,
    /// Functions whose calls are read, by their keys.
    functions: BTreeSet<String>,
    /// Values that time or calls may change.
    other: bool,
}

impl Read {
    fn of<'e>(expressions: impl Iterator<Item = &'e Expression>) -> Self {
        let mut read = Self::default();
        for expression in expressions {
            match expression.checked() {
                Some(checked) => {
                    read.other |= asks_task(&checked, &checked.expr);
                    read.reviews |= asks_person(&checked, &checked.expr);
                    read.clock |= reads_clock(&checked, &checked.expr);
                    compared_functions(&checked, &checked.expr, &mut read.functions);
                }
                None => read.other = true,
            }
            for_each_path(expression.program().expr(), &mut |root, path| {
                let is = |known: Root| known.name() == Root::long_name(root);
                match path {
                    _ if is(Root::Input) => read.input = true,
                    _ if is(Root::Counters) => (read.counters, read.other) = (true, true),
                    _ if is(Root::Now) => read.time = true,
                    // the name of a library, and labels of what is read
                    _ if Root::ALL.iter().all(|root| !is(*root)) => {}
                    [Selector::Name(name), ..] if is(Root::Context) && name == "user" => read.user = true,
                    [Selector::Name(name), ..] if is(Root::Context) && name == "calls" => read.calls = true,
                    [Selector::Name(name), Selector::Name(key), ..]
                        if is(Root::Context) && matches!(name.as_str(), "cap" | "capabilities") =>
                    {
                        read.calls = true;
                        read.functions.insert(key.clone());
                    }
                    _ => read.other |= !is(Root::Call) && !is(Root::Runtime),
                }
            });
        }
        read
    }

    /// Whether the calls that are read are those of named functions, and this one is none of them.
    fn is_of_others(&self, key: &str) -> bool {
        !self.functions.is_empty() && !self.functions.contains(key)
    }
}

/// Whether a part reads the time in another way than to ask whether a point in time is over.
fn reads_clock(checked: &Checked, expr: &Expr) -> bool {
    let is_now = |expr: &Expr| match &expr.kind {
        ExprKind::Call { target: None, args, .. } => {
            function(checked, expr).is_some_and(|(name, _)| name == "timestamp")
                && args.iter().any(|time| is_root(checked, time, Root::Now))
        }
        _ => is_root(checked, expr, Root::Now),
    };
    if let (Some((sign, _)), ExprKind::Call { target: None, args, .. }) =
        (function(checked, expr), &expr.kind)
        && let [one, other] = args.as_slice()
        && (matches!(sign, "_>_" | "_>=_") && is_now(one) || matches!(sign, "_<_" | "_<=_") && is_now(other))
    {
        return false;
    }
    let mut reads = is_root(checked, expr, Root::Now);
    expr.for_each_part(&mut |part| reads |= reads_clock(checked, part));
    reads
}

/// Collects the constants with which the functions of calls on record are compared: `t.fn == 'pay'`.
fn compared_functions(checked: &Checked, expr: &Expr, found: &mut BTreeSet<String>) {
    let is_function =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Select { field, .. } if field.text == "fn");
    let mut take = |expr: &Expr| {
        if let ExprKind::Literal(Literal::String(key)) = &expr.kind {
            found.insert(key.clone());
        }
    };
    if let (Some(("_==_" | "@in", _)), ExprKind::Call { args, .. }) = (function(checked, expr), &expr.kind)
        && let [one, other] = args.as_slice()
    {
        match (&one.kind, &other.kind) {
            (_, ExprKind::List(elements)) if is_function(one) => {
                elements.iter().for_each(|element| take(&element.value));
            }
            _ if is_function(one) => take(other),
            _ if is_function(other) => take(one),
            _ => {}
        }
    }
    expr.for_each_part(&mut |part| compared_functions(checked, part, found));
}

/// Whether a part asks for what calls change, as labels of the task. The labels and sources of a value stay the same, and a person's answer is read by itself.
fn asks_task(checked: &Checked, expr: &Expr) -> bool {
    let own = asked_of_host(checked, expr);
    let mut asks = own.is_some_and(|name| ![LABELS, SOURCES, WHOLE_SOURCES, "review"].contains(&name));
    expr.for_each_part(&mut |part| asks |= asks_task(checked, part));
    asks
}

/// Whether expressions read something that calls, time or reviewers may change.
pub(super) fn reads_task<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    let read = Read::of(expressions);
    read.other || read.time || read.calls || read.reviews
}

/// Whether expressions read the time or reviews, which may change while a review is open, results of steps ahead, or an event, which no call has. A counter that is read ahead of a review holds the amount of the call while the
/// review is open.
pub(super) fn reads_what_passes<'e>(expressions: impl Iterator<Item = &'e Expression>) -> bool {
    let mut reads = false;
    for expression in expressions {
        for_each_path(expression.program().expr(), &mut |root, path| {
            reads |= [Root::Now, Root::Invoked, Root::Event].iter().any(|passing| passing.name() == root);
            reads |= Root::long_name(root) == Root::Context.name()
                && matches!(path.first(), Some(Selector::Name(name)) if name == "reviews");
        });
    }
    reads
}
