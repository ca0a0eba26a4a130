//! The cases that would notice what no case notices: found by trying other values.
//!
//! In: a change that survived, and the cases that come to it. Out: a [`KillingCase`], ready to be taken over: a case as it is, with other arguments, another result, message or payload of a trigger's event, and the outcome that the policy
//! gives today. Of a case of several steps one is varied, and it ends there. A limit is reached by as many turns or calls as it lets by. Each is read again and run under both policies before
//! it is offered, so it passes under the one as it is and does not under the changed one. Bounded by [`MAX_TRIES`] for each change.

use super::case::{Aspect, Case, TestedOperation};
use super::expect::Found;
use super::killing_case::{Asked, KillingCase};
use super::mutants::Mutant;
use super::report::CaseOutcome;
use super::run::{Compiled, Telling};
use super::variations::{constants, variations};
use crate::cel::Timestamp;
use crate::limits::EngineLimits;
use crate::manifest::node::Node;
use crate::manifest::task_limit::{LimitNumber, Quantity, TaskLimit};
use crate::task::Operation;
use serde_json::{Value, json};

/// How many other values are tried for one change.
const MAX_TRIES: usize = 120;

/// The most turns or calls by which a limit is reached.
const MAX_REPEATED: u64 = 100;

/// Looks for a case that would notice a change that no case notices.
pub(super) fn killer(
    mutant: &Mutant,
    compiled: &Compiled,
    mutated: &Compiled,
    cases: &[&Case],
    limits: &EngineLimits,
) -> Option<KillingCase> {
    let constants = constants(mutant, compiled, limits);
    let limit = mutant.limit(&compiled.catalog);
    let mut left = MAX_TRIES;
    // one operation is read more easily than several
    let is_of_several = |case: &&&Case| matches!(case.operation, TestedOperation::Steps(_));
    let (several, one): (Vec<_>, Vec<_>) = cases.iter().partition(is_of_several);
    for case in one.into_iter().chain(several) {
        let asked = match limit {
            Some((name, value)) => reaching(case, name, value),
            None => varied(case, &constants),
        };
        for asked in asked {
            left = left.checked_sub(1)?;
            let Some(found) = KillingCase::of(case, mutant, asked) else { continue };
            let Some(tried) = found.read(case, limits) else { continue };
            let (Some(was), Some(is)) = (compiled.found(&tried), mutated.found(&tried)) else { continue };
            let Some(expect) = difference(&was, &is) else { continue };
            let found = found.expecting(expect);
            if found.read(case, limits).is_some_and(|case| is_killer(&case, compiled, mutated, limits)) {
                return Some(found);
            }
        }
    }
    None
}

/// What may be asked in the place of what a case asks: the same with other values.
fn varied(case: &Case, constants: &[Value]) -> Vec<Asked> {
    if let Some(steps) = steps_of(case) {
        return varied_steps(steps, constants);
    }
    let key = case.operation.varied_key().filter(|_| case.resume.is_empty());
    let call = case.written.get("call").map(Node::to_json);
    let (Some(key), Some(Value::Object(call))) = (key, call) else { return Vec::new() };
    let given = call.get(key).cloned().unwrap_or_else(|| json!({}));
    let with = |value: Value| {
        let mut call = call.clone();
        call.insert(key.to_owned(), value);
        Asked::Call(call.into())
    };
    variations(&given, constants).into_iter().map(with).collect()
}

/// The steps of a case as they are written, if it has several.
fn steps_of(case: &Case) -> Option<Vec<Value>> {
    let written = case.written.get("steps").or_else(|| case.written.get("story"))?;
    match written.to_json() {
        Value::Array(steps) => Some(steps),
        _ => None,
    }
}

/// The steps up to one of them, which has another value, without what is expected of each; no more than are tried.
fn varied_steps(steps: Vec<Value>, constants: &[Value]) -> Vec<Asked> {
    let mut before: Vec<Value> = Vec::new();
    let mut found = Vec::new();
    for mut step in steps {
        if let Some(members) = step.as_object_mut() {
            members.remove("expect");
        }
        for place in places(&step) {
            let given = step.pointer(&place).cloned().unwrap_or_default();
            for value in variations(&given, constants) {
                if found.len() > MAX_TRIES {
                    return found;
                }
                let mut changed = step.clone();
                changed.pointer_mut(&place).into_iter().for_each(|place| place.clone_from(&value));
                found.push(Asked::Steps(before.iter().cloned().chain([changed]).collect()));
            }
        }
        before.push(step);
    }
    found
}

/// The places of a step at which other values are tried, as JSON pointers.
fn places(step: &Value) -> Vec<String> {
    let mut found: Vec<String> =
        ["/call/args", "/result/output", "/input", "/output", "/event/payload"].map(str::to_owned).into();
    for (list, key) in [("/llm/calls", "args"), ("/results", "output")] {
        let items = step.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
        found.extend((0..items).map(|at| format!("{list}/{at}/{key}")));
    }
    found.retain(|place| step.pointer(place).is_some());
    found
}

/// Steps that reach a limit, and those that go beyond it by one unit.
fn reaching(case: &Case, limit: TaskLimit, bound: LimitNumber) -> Vec<Asked> {
    let counts = [bound.count(), bound.count().saturating_add(1)].into_iter();
    match limit.quantity() {
        Quantity::Turns => counts.filter_map(|turns| repeat(turns, |_| json!({ "llm": {} }))).collect(),
        Quantity::Calls => {
            let Some((function, arguments)) = first_call(case) else { return Vec::new() };
            let call = |count: u64, at: u64| {
                let call = json!({ "id": format!("c{at}"), "fn": function, "args": arguments });
                // the last one is what is looked at
                if at == count { json!({ "call": call }) } else { json!({ "call": call, "result": {} }) }
            };
            counts.filter_map(|count| repeat(count, |at| call(count, at))).collect()
        }
        Quantity::Age | Quantity::PromptTokens | Quantity::CompletionTokens | Quantity::Spend => {
            let around = [limit.moved(bound, -1), Some(bound), limit.moved(bound, 1)];
            around.into_iter().flatten().filter_map(|used| used_up(case, limit.quantity(), used)).collect()
        }
    }
}

/// A turn of the model that comes when so much of what a limit bounds has been used.
fn used_up(case: &Case, quantity: Quantity, used: LimitNumber) -> Option<Asked> {
    let after = |used: Value| vec![json!({ "llm": used }), json!({ "llm": {} })];
    Some(Asked::Steps(match quantity {
        Quantity::PromptTokens => after(json!({ "prompt_tokens": used.count() })),
        Quantity::CompletionTokens => after(json!({ "completion_tokens": used.count() })),
        Quantity::Spend => after(json!({ "cost": used.to_string() })),
        Quantity::Age => {
            let begin = case.background.environment.started_at.nanos();
            let at = Timestamp::from_nanos(begin.saturating_add(used.count().into())).ok()?;
            vec![json!({ "llm": {}, "at": at.to_string() })]
        }
        Quantity::Turns | Quantity::Calls => return None,
    }))
}

/// So many steps, which are counted from 1; nothing if they are too many for a case.
fn repeat(count: u64, step: impl Fn(u64) -> Value) -> Option<Asked> {
    (1..=MAX_REPEATED).contains(&count).then(|| Asked::Steps((1..=count).map(step).collect()))
}

/// A call that a case makes: its function and arguments.
fn first_call(case: &Case) -> Option<(Value, Value)> {
    let call = match (steps_of(case), &case.operation) {
        (Some(steps), _) => steps
            .iter()
            .find_map(|step| step.pointer("/call").or_else(|| step.pointer("/llm/calls/0")).cloned())?,
        (None, TestedOperation::Operation(Operation::Before(_))) => case.written.get("call")?.to_json(),
        (None, _) => return None,
    };
    Some((call.get("fn")?.clone(), call.get("args").cloned().unwrap_or_else(|| json!({}))))
}

impl TestedOperation {
    /// The key of `call` under which other values are tried.
    const fn varied_key(&self) -> Option<&'static str> {
        match self {
            Self::Operation(Operation::Before(_) | Operation::Invoke(_)) => Some("args"),
            Self::After(..) | Self::Operation(Operation::Output(_)) => Some("output"),
            Self::Operation(Operation::Input(_)) => Some("input"),
            Self::Trigger { .. } => Some("payload"),
            _ => None,
        }
    }
}

/// Whether a case passes under the policy as it is and not under the changed one.
fn is_killer(case: &Case, compiled: &Compiled, mutated: &Compiled, limits: &EngineLimits) -> bool {
    let passes = |under: &Compiled| {
        let outcome = under.outcome(case, Telling::Off, limits, &mut Vec::new());
        matches!(outcome, Ok(CaseOutcome::Passed))
    };
    passes(compiled) && !passes(mutated)
}

/// What to expect, if two outcomes differ in it.
fn difference(was: &Found, is: &Found) -> Option<Value> {
    let mut expect = json!({ "decision": was.text(Aspect::Decision)? });
    let mut differs = was.text(Aspect::Decision) != is.text(Aspect::Decision);
    for aspect in [Aspect::Message, Aspect::Reviewer, Aspect::Reason] {
        if was.text(aspect) != is.text(aspect) {
            differs = true;
            expect.as_object_mut()?.insert(aspect.key().to_owned(), was.text(aspect).into());
        }
    }
    let shown = |found: &Found| found.value.as_ref().map(ToString::to_string);
    if shown(was) != shown(is) {
        differs = true;
        let value = shown(was).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        expect.as_object_mut()?.insert("value".to_owned(), value);
    }
    differs.then_some(expect)
}
