//! What is proved of tasks, beside tasks by chance: random policies with sums, counts and limits, random invariants about them, and calls that are open at one time, fail, are taken back, have wrong arguments and
//! wait for people. No step of such a task may contradict an answer.
//!
//! `CELADOR_PROVE=300` tries so many random policies.

use crate::prove::{begin, engine, holds, proved};
use crate::suites::root;
use celador::prove::{Answer as Known, Bounds};
use celador::scenario::Environment;
use celador::task::{CallId, Progress, Ran};
use celador::{Answer, Call, CallResult, Decision, Task, VerdictKind};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const FUNCTIONS: [&str; 2] = ["payout", "tip"];

/// Counts of the calls of a function.
const COUNTS: [&str; 11] = [
    "c.cap.F.count_successful",
    "c.cap.F.count_successful",
    "c.cap.F.count_errored",
    "size(c.cap.F.calls)",
    "c.cap.F.calls.filter(t, t.status == 'successful').size()",
    "c.cap.F.calls.filter(t, t.open || t.status == 'successful').size()",
    "c.cap.F.calls.filter(t, t.status in ['successful', 'errored']).size()",
    "c.cap.F.calls.filter(t, t.open).size()",
    "c.calls.filter(t, t.fn == 'F' && t.status == 'successful').size()",
    "c.cap._meta.invocations.filter(f, f == 'F').size()",
    "c.cap.F.calls.filter(t, t.status == 'successful' && t.input.amount > 5).size()",
];

/// Which calls are added up.
const ADDED: [&str; 6] = [
    "c.cap.F.calls.filter(t, t.status == 'successful')",
    "c.cap.F.calls",
    "c.cap.F.calls.filter(t, t.open || t.status == 'successful')",
    "c.calls.filter(t, t.fn == 'F' && t.status == 'successful')",
    "c.cap.F.calls.filter(t, t.status == 'successful' && t.input.amount > 5)",
    "c.calls.filter(t, t.fn in ['payout', 'tip'] && t.status == 'successful')",
];

fn count() -> impl Strategy<Value = String> {
    (select(&COUNTS[..]), select(&FUNCTIONS[..])).prop_map(|(count, function)| count.replace('F', function))
}

fn sum() -> impl Strategy<Value = String> {
    (select(&ADDED[..]), select(&FUNCTIONS[..])).prop_map(|(calls, function)| {
        format!("{}.map(t, double(t.input.amount)).sum()", calls.replace('F', function))
    })
}

/// A comparison of a number with a bound near by.
fn below(number: String, bound: i64, kind: u8) -> String {
    let bound = if number.ends_with("sum()") { format!("{}.0", bound * 10) } else { bound.to_string() };
    match kind {
        0 => format!("{number} < {bound}"),
        1 => format!("{bound} > {number}"),
        _ => format!("{number} <= {bound}"),
    }
}

/// What is to hold: of a task, or of a call.
fn invariant() -> impl Strategy<Value = String> {
    let number = || prop_oneof![count(), sum()].boxed();
    prop_oneof![
        9 => (number(), 1..4_i64, 0..3_u8).prop_map(|(number, bound, kind)| below(number, bound, kind)),
        1 => (count(), count(), 1..5_i64).prop_map(|(one, two, bound)| format!("{one} + {two} <= {bound}")),
        1 => (count(), count()).prop_map(|(one, two)| format!("{one} == 0 || {two} == 0")),
        1 => (count(), count()).prop_map(|(one, two)| format!("{one} <= {two}")),
        1 => select(&FUNCTIONS[..]).prop_map(|function| {
            format!("c.cap.{function}.calls.all(t, t.status != 'successful' || t.input.amount <= 10)")
        }),
        1 => select(&FUNCTIONS[..]).prop_map(|function| {
            format!("!c.cap.{function}.calls.exists(t, t.input.amount > 10)")
        }),
    ]
}

/// A tally of a function: how it is written, and what a call of the function adds to it.
#[derive(Clone, Debug)]
struct Tally {
    function: &'static str,
    is_sum: bool,
}

impl Tally {
    /// The ways to write it: those that count successful calls first, then others.
    fn written(&self, is_other: bool) -> impl Strategy<Value = String> + use<> {
        let function = self.function;
        let (own, others) = if self.is_sum { (&ADDED[..1], &ADDED[..]) } else { (&COUNTS[..1], &COUNTS[..]) };
        let is_sum = self.is_sum;
        select(if is_other { others } else { own }).prop_map(move |written| {
            let written = written.replace('F', function);
            if is_sum { format!("{written}.map(t, double(t.input.amount)).sum()") } else { written }
        })
    }
}

/// What is to hold of a tally, and steps ahead of the calls that may keep it.
fn kept() -> impl Strategy<Value = (String, Vec<Value>, Vec<Value>)> {
    let tally = (select(&FUNCTIONS[..]), any::<bool>());
    let tally = tally.prop_map(|(function, is_sum)| Tally { function, is_sum });
    (tally, 1..4_i64, any::<bool>()).prop_flat_map(|(tally, bound, is_other)| {
        let more = select(vec![0, 0, 0, 0, 0, 1, -1]);
        let texts = (tally.written(false), tally.written(is_other), more, 0..3_u8);
        let others = (step(), proptest::collection::vec(step(), 0..2), dressed());
        (texts, others).prop_map(move |((claimed, read, more, kind), (other, rest, dress))| {
            let always = below(claimed, bound, 2);
            let guard = if tally.is_sum {
                below(format!("double(input.amount) + {read}"), bound + more, 2)
            } else {
                below(read, bound + more, kind.min(1))
            };
            let mut own = vec![dress.around(&guard)];
            own.extend(rest);
            let steps = if tally.function == FUNCTIONS[0] { (own, vec![other]) } else { (vec![other], own) };
            (always, steps.0, steps.1)
        })
    })
}

/// What is to hold, and steps that have nothing to do with it.
fn anything() -> impl Strategy<Value = (String, Vec<Value>, Vec<Value>)> {
    let steps = || proptest::collection::vec(step(), 1..3);
    (invariant(), steps(), steps())
}

/// A step that anybody may have written.
fn step() -> impl Strategy<Value = Value> {
    let number = || prop_oneof![count(), sum()].boxed();
    let assert = prop_oneof![
        2 => (number(), 1..4_i64, 0..3_u8).prop_map(|(number, bound, kind)| below(number, bound, kind)),
        1 => (sum(), 1..4_i64).prop_map(|(sum, bound)| format!("double(input.amount) <= {bound}0.0 - {sum}")),
        2 => Just("input.amount > 0".to_owned()),
        2 => Just("input.amount <= 10".to_owned()),
    ];
    (assert, dressed()).prop_map(|(assert, dress)| dress.around(&assert))
}

/// What may stand around an assert.
#[derive(Clone, Debug)]
struct Dress {
    review: &'static str,
    kind: &'static str,
    condition: Option<&'static str>,
}

impl Dress {
    fn around(&self, assert: &str) -> Value {
        let Self { review, kind, condition } = self;
        let mut step = json!({ "assert": assert });
        if !review.is_empty() {
            step["assert"] = format!("({assert}){review}").into();
        }
        match *kind {
            "continue" => step["on_fail"] = (*kind).into(),
            "observe" => step["mode"] = (*kind).into(),
            _ => {}
        }
        if let Some(condition) = condition {
            step["condition"] = (*condition).into();
        }
        step
    }
}

fn dressed() -> impl Strategy<Value = Dress> {
    let review =
        select(vec!["", "", "", "", " || review('lead@example.com')", " && review('lead@example.com')"]);
    let kind = select(vec!["", "", "", "", "", "", "", "", "", "continue", "observe"]);
    let condition = proptest::option::weighted(0.1, Just("input.amount > 5"));
    (review, kind, condition).prop_map(|(review, kind, condition)| Dress { review, kind, condition })
}

/// What happens next in a task.
#[derive(Clone, Debug)]
enum Deed {
    /// A call of a function with this amount, which a schema may refuse.
    Call(usize, Value),
    Report(usize, bool),
    Withdraw(usize, bool),
    Review(usize, bool),
}

fn deed() -> impl Strategy<Value = Deed> {
    let amount = select(vec![json!(1), json!(5), json!(7.5), json!(10), json!(20), json!(-3), json!("x")]);
    prop_oneof![
        5 => (0..2_usize, amount).prop_map(|(function, amount)| Deed::Call(function, amount)),
        4 => (any::<usize>(), proptest::bool::weighted(0.8)).prop_map(|(which, success)| Deed::Report(which, success)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, unknown)| Deed::Withdraw(which, unknown)),
        2 => (any::<usize>(), proptest::bool::weighted(0.8)).prop_map(|(which, says)| Deed::Review(which, says)),
    ]
}

/// A task in which calls go on side by side.
struct Side {
    task: Task,
    made: usize,
    /// The calls that are open, waiting or asked about.
    under_way: Vec<CallId>,
}

impl Side {
    fn step(&mut self, deed: &Deed) {
        let now = Environment::default().now;
        match deed {
            Deed::Call(function, amount) => {
                self.made += 1;
                let id = CallId::from(format!("c{}", self.made).as_str());
                let mut arguments = json!({ "amount": amount });
                if *function == 0 {
                    arguments = json!({ "amount": amount, "currency": "EUR", "order": "o-1" });
                }
                let call = Call::new(FUNCTIONS[*function], (&arguments).into()).with_id(id.as_str());
                let Ok(operation) = self.task.before(&call, now) else { return };
                let verdict = match operation.into_progress() {
                    Progress::Decided(Decision { verdict, .. }) => verdict.kind(),
                    Progress::Asks(_) => VerdictKind::Suspend,
                };
                if matches!(verdict, VerdictKind::Allow | VerdictKind::Wait | VerdictKind::Suspend) {
                    self.under_way.push(id);
                }
            }
            Deed::Report(which, success) => {
                let open: Vec<CallId> = self.task.open_calls().cloned().collect();
                let Some(id) = open.get(which % open.len().max(1)) else { return };
                let result = match success {
                    true => CallResult::successful(json!({}).into()),
                    false => CallResult::errored(json!({ "error": "503" }).into()),
                };
                let _ = self.task.after(id, result, now).unwrap().into_progress();
            }
            Deed::Withdraw(which, unknown) => {
                if self.under_way.is_empty() {
                    return;
                }
                let id = self.under_way.remove(which % self.under_way.len());
                let ran = if *unknown { Ran::Unknown } else { Ran::Never };
                let _ = self.task.withdraw(&id, ran, now);
            }
            Deed::Review(which, says) => {
                let questions: Vec<_> = self.task.questions().collect();
                let Some(question) = questions.get(which % questions.len().max(1)) else { return };
                let answer = if *says { Answer::approve() } else { Answer::deny() };
                let _ = self.task.answer(question.id, answer, now).unwrap().into_progress();
            }
        }
    }
}

#[test]
fn no_task_contradicts_what_is_proved_of_tasks() {
    let rounds = std::env::var("CELADOR_PROVE").map_or(100, |rounds| rounds.parse().unwrap());
    let shop = fs::read_to_string(root().join("tests/data/prove/shop.yaml")).unwrap();
    let mut runner = TestRunner::deterministic();
    // what is broken is told of elsewhere; here as much is proved as can be
    let bounds = Bounds { depth: 1, operations: 20 };
    let (mut counts, mut steps_of_tasks) = (BTreeMap::<&str, usize>::new(), 0_usize);
    for round in 0..rounds {
        let chosen = prop_oneof![3 => kept().boxed(), 1 => anything().boxed()];
        let chosen = (chosen, proptest::option::weighted(0.2, 2..5_u64));
        let ((always, payout, tip), most) = chosen.new_tree(&mut runner).unwrap().current();
        let mut policy = json!({
            "kind": "celador/v1/policy", "namespace": "shop", "name": "chance",
            "capabilities": { "payout": { "before": payout }, "tip": { "before": tip } },
        });
        if let Some(most) = most {
            policy["limits"] = json!({ "max_tool_calls": most });
        }
        let policies = format!("{shop}---\n{policy}\n");
        let Ok(proof) = proved(&policies, &json!({ "always": always }), &bounds) else { continue };
        *counts.entry(proof.answer.as_str()).or_default() += 1;
        let Known::Holds(_) = &proof.answer else { continue };
        let engine = engine(&policies);
        for _ in 0..rounds.max(60) {
            let deeds = proptest::collection::vec(deed(), 1..24).new_tree(&mut runner).unwrap().current();
            let mut side = Side { task: begin(&engine, "u1@example.com"), made: 0, under_way: Vec::new() };
            for (at, deed) in deeds.iter().enumerate() {
                side.step(deed);
                steps_of_tasks += 1;
                assert!(
                    holds(&side.task, &always, None, &[]),
                    "round {round}: {:?} contradicts what was proved\n{always}\n{policy}",
                    &deeds[..=at]
                );
            }
        }
    }
    println!("{rounds} policies: {counts:?}, {steps_of_tasks} steps of tasks");
    assert!(counts["holds"] >= rounds / 6, "{counts:?}");
}
