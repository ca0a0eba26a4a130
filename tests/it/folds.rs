//! Loops over what a task has done go on where they were: with the outcome that going through all of it would have, and
//! with work that does not grow with the task.
//!
//! `CELADOR_FOLDS=100000 cargo test --release folds -- --nocapture` tries as many random tasks.

use celador::cel::{
    Activation, At, EXTENSIONS, Env, EnvBuilder, ErrorCode, Growth, Json, LiveList, LiveRecord, Map, Program,
    RecordType, STANDARD, Stop, Timestamp, Type, Value, View,
};
use celador::context::{
    Bound, Caller, ContextSchema, FunctionDecl, FunctionId, InvocationId, InvocationRecord, InvocationStatus,
    OpenInvocation, SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo, ToolDecl,
    TurnKind,
};
use celador::limits::{EngineLimits, EvalLimits};
use celador::source::Span;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

const FUNCTIONS: [&str; 4] = ["ledger_lookup", "ledger_post_entry", "probe", "fact_checker"];

/// Loops that compare a part of each element with something else: of a long list, only those that match are gone through.
const COMPARED: &[&str] = &[
    // what is too early is left out as well
    "c.calls.exists(t, within(t, '5s'))",
    "c.cap.all(k, c.cap.probe.inputs.all(i, i.account != k))",
    "cel.bind(n, c.cap._meta.count, c.cap.probe.inputs.exists(i, i.n == n))",
    "c.calls.exists(t, t.input.n == c.cap._meta.count)",
    "c.cap.probe.inputs.exists(i, i.n == c.cap._meta.count)",
    "c.cap.probe.inputs.exists(i, i.account == c.agent.name)",
    "c.calls.exists(t, t.input.n == size(c.input))",
    "c.calls.exists(t, size(c.input) == t.input.n && t.fn == 'probe')",
    "c.calls.all(t, t.input.n != size(c.input))",
    "c.calls.all(t, t.input.n != size(c.input) || t.status == 'successful')",
    "c.calls.all(t, t.fn == 'probe' || t.input.n != size(c.input) || t.input.account == 'a1')",
    "c.calls.filter(t, t.input.n == size(c.input)).size()",
    "c.calls.filter(t, t.fn != 'ledger_lookup' && t.input.n == size(c.input) && t.seq > 5).size()",
    "c.calls.filter(t, t.input.n != size(c.input)).size()",
    "c.calls.filter(t, t.output.balance == size(c.input)).size()",
    "c.cap.probe.calls.filter(t, t.message == size(c.input)).size()",
    "c.calls.all(t, t.message != size(c.input) || t.status == 'successful')",
    "c.calls.exists_one(t, t.input.n == size(c.output) && t.status != 'errored')",
    "c.calls.exists_one(t, t.input.n != size(c.output) || t.input.n / t.input.d == 1)",
    "c.calls.exists(t, t.input.account == c.agent.name || t.open)",
    "c.calls.exists(t, t.input.account == 'a' + string(size(c.input)) && t.input.n / t.input.d == 1)",
    "c.calls.all(t, t.input.account == 'a1')",
    "c.calls.all(t, t.fn == c.cap._meta.invocations[0])",
    "c.calls.exists(t, t.fn == c.cap._meta.invocations[0] && t.status == 'restricted')",
    "c.calls.filter(t, t.status == (size(c.input) > 2 ? 'restricted' : 'errored')).size()",
    "c.calls.exists(t, t.input.n == 1 / size(c.input))",
    "c.calls.exists(t, t.input == c.calls[0].input)",
    "c.calls.exists(t, t.output.balance == dyn(size(c.input) > 2 ? 7.0 : 7u))",
    "c.calls.filter(t, t.input.account == dyn(null)).size() + c.calls.filter(t, t.output == c.calls[0].output).size()",
    "c.cap.ledger.inputs.filter(i, i.n == size(c.input)).size()",
    "c.cap.probe.outputs.exists(o, o.balance == size(c.input))",
    "c.cap._meta.invocations.filter(f, f == c.cap._meta.invocations[0]).size()",
    "c._history.turns.exists_one(t, t == c._history.turns[0])",
    "c.input.filter(t, t.ticket_id == c.input[0].ticket_id).size()",
    "['a1', 'a2', 'zz'].filter(a, c.calls.exists(t, t.input.account == a)).size()",
    "c.cap.probe.calls.filter(a, c.cap.ledger.calls.exists(b, b.input.n == a.input.n)).size()",
    "c.calls.exists(t, t.input.n == size(c.input) && [t].all(u, u.input.n / u.input.d == 1))",
    "c.calls.filter(t, t.input.account == c.agent.name).map(t, t.input.n).sum()",
    "c.calls.filter(t, t.input.n == size(c.input) && t.status == 'successful').map(t, double(t.input.n) / 7.0).sum()",
    "c.cap.ledger.calls.map(t, t.input.n == size(c.input), t.input.n + size(c.output)).sum()",
    "c.cap.ledger.calls.map(t, t.input.n != size(c.input) || t.input.n / t.input.d == 1, t.input.d).sum()",
    "c.cap.probe.calls.filter(t, t.fn == 'probe' && t.input.n == size(c.input)).map(t, t.input.n / t.input.d).sum()",
];

const RESUMED: &[&str] = &[
    // lists that grow at the back
    "c.cap._meta.invocations.filter(f, f == 'probe').size() < 3",
    "c.cap._meta.invocations.filter(f, f.startsWith('ledger')).size()",
    "c.cap._meta.invocations.exists(f, f == 'fact_checker')",
    "c.cap._meta.invocations.exists_one(f, f == 'fact_checker')",
    "c.cap._meta.invocations.all(f, f != 'ledger_post_entry')",
    "c.cap._meta.invocations.all(f, 100 / (size(f) - 5) < 100)",
    "c.cap._meta.invocations.exists(f, 100 / (size(f) - 5) > 100)",
    "c.cap._meta.invocations.filter(f, 100 / (size(f) - 12) > 0).size()",
    "c.cap._meta.invocations.exists_one(f, f == 'probe' || 1 / (size(f) - 12) == 1)",
    "c.cap._meta.invocations.filter(f, dyn(f)).size()",
    "c._history.turns.filter(t, t == 'llm').size()",
    "c._history.turns.exists_one(t, t == 'input')",
    "c._history.turns.all(t, t.matches('^(input|llm)$'))",
    // names
    "c.cap.exists(k, k.startsWith('delete_'))",
    "c.cap.all(k, k != 'probe')",
    "c.cap.exists_one(k, k.contains('_lookup'))",
    "c.cap.filter(k, size(k) > 5).size()",
    // entries of which the last may be another one soon
    "c.input.all(t, t.message.all(p, size(p.text) < 12))",
    "c.input.exists(t, t.message.exists(p, p.text.contains('b')))",
    "c.input.exists(t, t.ticket_id == 'T-1')",
    "c.input.all(t, t.ticket_id != 'T-1')",
    "c.input.filter(t, size(t.message) > 6).size()",
    "c.input.filter(t, has(t.ticket_id)).size()",
    "c.input.exists_one(t, t.message[0].text == 'abc')",
    "c.input.all(t, size(t.message.map(p, p.text + '!')) < 3)",
    "c.input.all(t, t.message.all(p, c.input.exists(u, u.message[0].text == 'abc')))",
    "c.output.all(t, t.message.exists(p, p.text.contains('a')))",
    "c.output.filter(t, t.score > 0.5).size()",
    "c.output.exists(t, t.score > 0.8)",
    // lists that grow at the front
    "c.cap.ledger_lookup.outputs.exists(o, o.balance > 5)",
    "c.cap.ledger_lookup.outputs.all(o, o.balance < 5)",
    "c.cap.ledger_lookup.outputs.filter(o, o.balance == 3).size()",
    "c.cap.ledger_lookup.outputs.filter(o, o != null && o.balance > 3).size()",
    "c.cap.ledger_lookup.outputs.exists_one(o, o == null || o.balance == 7)",
    "c.cap.ledger.inputs.all(i, i.account == 'a1')",
    "c.cap.ledger.inputs.exists(i, i.account == 'a3' && i.n / i.d == 1)",
    "c.cap.ledger.inputs.exists(i, i.n / i.d == 1)",
    "c.cap.ledger.inputs.all(i, i.n / i.d < 3)",
    "c.cap.ledger.inputs.filter(i, i.n % i.d == 0).size()",
    "c.cap.ledger.inputs.exists_one(i, i.n == 3)",
    "c.cap.ledger.inputs.all(i, [1, 2, 3].exists(x, x == i.n) || cel.bind(y, i.n, y > 2))",
    "c.cap.probe.timestamps.all(t, timestamp(t) < timestamp('2030-01-01T00:00:00Z'))",
    "c.cap.fact_checker.task_ids.filter(t, t == null).size()",
    // of which an older one may change all the same
    "c.cap.ledger.successful.filter(s, s).size()",
    "c.cap.ledger.restricted.filter(r, r).size()",
    "c.cap.ledger.restricted.exists(r, r)",
    "c.cap.probe.errored.exists_one(e, e)",
    "c.cap.probe.successful.all(s, s)",
    "c.cap.probe.restricted.all(r, !r)",
    // calls as objects: the open ones come and go, the last on record may change, and an older one, too
    "c.calls.filter(t, t.fn == 'probe' && t.status == 'successful').size()",
    "c.calls.exists(t, t.output.balance == 7)",
    "c.calls.all(t, t.status != 'restricted')",
    "c.calls.filter(t, has(t.output.balance)).size()",
    "c.calls.exists_one(t, t.open)",
    "c.calls.filter(t, t.seq > 3).size()",
    "c.calls.filter(t, t.output == null).size()",
    "c.cap.ledger.calls.filter(t, t.input.account == 'a1' || t.fn == 'ledger_lookup').size()",
    "c.cap.ledger.calls.all(t, t.input.n / t.input.d < 3)",
    "c.cap.probe.calls.exists(t, t.status == 'errored' && t.input.n == 3)",
    "c.cap.probe.calls.exists(t, timestamp(t.at) < timestamp('2030-01-01T00:00:00Z'))",
    // sums
    "c.calls.map(t, t.input.n).sum()",
    "c.calls.filter(t, t.fn == 'probe' && has(t.input.n)).map(p, p.input.n).sum() < 20",
    "c.calls.map(t, t.status == 'successful' && has(t.input.n), double(t.input.n) / 3.0).sum()",
    "string(c.calls.map(t, has(t.input.n), double(t.input.n) * 1e300 * (t.status == 'errored' ? -1e7 : 1e7)).sum())",
    "c.calls.map(t, has(t.input.n), t.input.n > 8 ? dyn(t.input.n) : dyn(1.5)).sum()",
    "c.calls.filter(t, t.input.n / t.input.d < 3).map(t, t.input.n * 4000000000000000000).sum()",
    "string(c.cap.ledger.inputs.map(i, has(i.n), duration(string(i.n) + 's')).sum())",
    "c.cap.ledger.outputs.filter(o, o != null).map(o, uint(o.balance)).sum()",
    "c.cap._meta.invocations.map(f, size(f)).sum()",
    "c.cap._meta.invocations.filter(f, f == 'probe').map(f, size(f)).sum()",
    "c.cap.filter(k, size(k) > 5).map(k, size(k)).sum()",
    "c.input.map(t, size(t.message)).sum()",
    "c.output.filter(t, has(t.score)).map(t, t.score).sum()",
    // a loop that is run several times, over one list and over several
    "[1, 2].all(x, c.cap._meta.invocations.exists(f, f == 'probe'))",
    "['probe', 'ledger'].exists(k, c.cap[k].inputs.all(i, i.account == 'a1'))",
    "c.cap.all(k, k == '_meta' || c.cap[k].restricted.filter(r, r).size() < 2)",
    "c.cap.exists(k, k != '_meta' && c.cap[k].outputs.exists(o, o.balance == 9))",
    // not kept: what they come to depends on more than the elements
    "c.calls.exists(t, within(t, '5s'))",
    "c.cap.probe.inputs.exists(n, i, n == 1 && i.account == 'a1')",
    "c.cap.probe.inputs.map(i, i.account).exists(a, a == 'a1')",
];

static EXPRESSIONS: LazyLock<Vec<&str>> = LazyLock::new(|| [RESUMED, COMPARED].concat());

/// One change to a task.
#[derive(Clone, Debug)]
enum Change {
    Record { function: u32, status: InvocationStatus, number: i64 },
    Restrict(usize),
    PushInput(usize),
    ReplaceInput(usize),
    PopInput,
    PushOutput(usize),
    ReplaceOutput(usize),
    PopOutput,
    Turn(TurnKind),
    Open(u32, i64),
    Close(usize),
    Clone,
    Restore,
}

fn change() -> impl Strategy<Value = Change> {
    let status = prop::sample::select(&[
        InvocationStatus::Successful,
        InvocationStatus::Successful,
        InvocationStatus::Errored,
        InvocationStatus::Restricted,
    ]);
    let turn = prop::sample::select(&[TurnKind::Input, TurnKind::Llm, TurnKind::Capability]);
    let recorded = (0..4_u32, status, 0..12_i64);
    prop_oneof![
        8 => recorded.prop_map(|(function, status, number)| Change::Record { function, status, number }),
        2 => (0..40_usize).prop_map(Change::Restrict),
        3 => (0..8_usize).prop_map(Change::PushInput),
        1 => (0..8_usize).prop_map(Change::ReplaceInput),
        2 => Just(Change::PopInput),
        3 => (0..8_usize).prop_map(Change::PushOutput),
        1 => (0..8_usize).prop_map(Change::ReplaceOutput),
        2 => Just(Change::PopOutput),
        3 => turn.prop_map(Change::Turn),
        3 => (0..4_u32, 0..12_i64).prop_map(|(function, number)| Change::Open(function, number)),
        2 => (0..3_usize).prop_map(Change::Close),
        1 => Just(Change::Clone),
        1 => Just(Change::Restore),
    ]
}

static SCHEMA: LazyLock<Arc<ContextSchema>> = LazyLock::new(|| {
    let function = |key: &str| FunctionDecl {
        key: key.into(),
        input: Type::Dyn,
        output: Type::Dyn,
        delegation: key == "fact_checker",
    };
    let declared = SchemaDecl {
        functions: FUNCTIONS.map(function).into(),
        tools: vec![ToolDecl { key: "ledger".into(), members: vec![FunctionId(0), FunctionId(1)] }],
        parameters: vec![("ticket_id".into(), Type::String)],
        exposes: vec![("score".into(), Type::Double)],
        ..SchemaDecl::default()
    };
    ContextSchema::new(&declared).unwrap()
});

fn task() -> TaskContext {
    let start = TaskFacts {
        agent: "clerk".into(),
        namespace: "demo".into(),
        started_at: Timestamp::from_unix(1_780_311_600).unwrap(),
        user_id: "u-1".into(),
        user_claims: None,
        user_email: None,
        address: None,
        model: "test/model".into(),
        depth: 0,
    };
    TaskContext::new(SCHEMA.clone(), start)
}

/// An entry of `context.input` or `context.output`: some with further keys, some without.
fn entry(number: usize) -> TaskIo {
    let texts = [&["abc"][..], &["a", "b"], &["a longer text than most"], &["é", "abc", "ab"]];
    let parts: Vec<_> = texts[number % 4].iter().map(|text| json!({ "text": text })).collect();
    let entry = TaskIo::new(Json::from(json!(parts)).root()).unwrap();
    match number / 4 {
        0 => entry,
        _ => entry.with_extra(
            Json::from(json!({"ticket_id": format!("T-{}", number % 3), "score": number as f64 / 10.0}))
                .root(),
        ),
    }
}

fn invocation(function: u32, status: InvocationStatus, number: i64) -> InvocationRecord {
    let input = match number {
        0 => json!({ "account": null }),
        _ => json!({"account": format!("a{}", number % 4), "n": number, "d": number % 5}),
    };
    InvocationRecord {
        function: FunctionId(function),
        at: Timestamp::from_unix(1_780_311_600 + number).unwrap().into(),
        started_at: Timestamp::from_unix(1_780_311_600 + number / 2).unwrap().into(),
        input: input.into(),
        output: (number % 6 != 5).then(|| json!({ "balance": number }).into()),
        status,
        executed: status != InvocationStatus::Restricted,
        origin: Caller::Model,
        task_id: (number % 2 == 0).then(|| "child".into()),
        message: u32::try_from(number / 4).unwrap(),
        rejected: number % 7 == 3,
    }
}

/// A task and the ids of what was recorded, in order.
struct Running {
    context: TaskContext,
    recorded: Vec<InvocationId>,
}

impl Running {
    fn apply(&mut self, change: &Change) {
        let task = &mut self.context;
        match *change {
            Change::Record { function, status, number } => {
                self.recorded.push(task.record(invocation(function, status, number)));
            }
            // mostly the last, as in a task
            Change::Restrict(age) => {
                let age = age.saturating_sub(20);
                let id = self.recorded.len().checked_sub(age + 1).map(|place| self.recorded[place]);
                id.into_iter().for_each(|id| task.restrict(id));
            }
            Change::PushInput(number) => task.push_input(entry(number)),
            Change::ReplaceInput(number) => task.replace_last_input(entry(number)),
            Change::PopInput => drop(task.pop_input()),
            Change::PushOutput(number) => task.push_output(entry(number)),
            Change::ReplaceOutput(number) => task.replace_last_output(entry(number)),
            Change::PopOutput => drop(task.pop_output()),
            Change::Turn(kind) => task.turn(kind),
            Change::Open(function, number) => {
                let InvocationRecord { function, input, message, started_at, origin, .. } =
                    invocation(function, InvocationStatus::Successful, number);
                task.open_call(OpenInvocation { function, input, message, started_at, origin });
            }
            Change::Close(position) => task.close_call(position),
            Change::Clone => *task = task.clone(),
            Change::Restore => *task = TaskContext::restore(SCHEMA.clone(), task.state()).unwrap(),
        }
    }
}

/// A scope and its programs, one for each expression.
struct Programs(ScopeEnv, Vec<Program>);

impl Programs {
    fn new(limits: EngineLimits) -> Self {
        let libraries = [STANDARD, EXTENSIONS].concat();
        let scope = ScopeEnv::new(&ScopeDecl {
            schema: Some(&SCHEMA),
            libraries: &libraries,
            limits: limits.eval,
            ..ScopeDecl::new(Scope::Before, EvalLimits::default())
        });
        let program = |text: &&str| {
            Program::compile(scope.env(), text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
        };
        let programs = EXPRESSIONS.iter().map(program).collect();
        Self(scope, programs)
    }

    fn outcome(&self, expression: usize, task: &TaskContext) -> Outcome {
        let bound = Bound { context: Some(task), ..Bound::default() };
        let activation = self.0.activation(&bound).unwrap();
        let (found, cost) = self.1[expression].run_metered(&activation, None);
        let found = match found {
            Ok(value) => Ok(Json::from_value(&value, &EvalLimits::default()).unwrap().to_string()),
            Err(Stop::Failed(error)) => Err((error.code, error.span, error.to_string())),
            Err(Stop::Asked) => unreachable!("no host"),
        };
        (found, cost)
    }
}

/// The value, or why there is none and where; and what it cost.
type Outcome = (Result<String, (ErrorCode, Span, String)>, u64);

/// Programs that go on where they were, beside the same that keep nothing.
static PAIRS: LazyLock<Vec<(Programs, Programs)>> = LazyLock::new(|| {
    let standard = EngineLimits::default();
    let budgets = [
        standard,
        EngineLimits { eval: EvalLimits { max_cost: 40, ..standard.eval }, ..standard },
        EngineLimits { eval: EvalLimits { max_cost: 120, ..standard.eval }, ..standard },
        EngineLimits { eval: EvalLimits { max_built_bytes: 600, ..standard.eval }, ..standard },
        // too few for all expressions, so that they push each other out
        EngineLimits { eval: EvalLimits { max_folds: 2, ..standard.eval }, ..standard },
    ];
    let pair = |limits| {
        (
            Programs::new(limits),
            Programs::new(EngineLimits { eval: EvalLimits { max_folds: 0, ..limits.eval }, ..limits }),
        )
    };
    budgets.map(pair).into()
});

/// What a look-up may cost beyond a loop that ends with its first element, in the expressions of these tests.
const LOOK_UP: u64 = 20;

#[test]
fn to_go_on_is_to_go_through_all() {
    let count = std::env::var("CELADOR_FOLDS").ok().map(|count| count.parse().unwrap());
    let config = ProptestConfig { cases: count.unwrap_or(24), ..ProptestConfig::default() };
    let asked = prop::collection::vec((0..PAIRS.len(), 0..EXPRESSIONS.len()), 1..8);
    let steps = prop::collection::vec((change(), asked, 0..6_usize), 1..60);
    // names are counted in long lists only: some tasks are old when they are asked
    let steps = (prop::collection::vec(change(), 0..120), steps);
    let (compared, failed, over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let (cheaper, saved) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = TestRunner::new(config).run(&steps, |(before, steps)| {
        let mut task = Running { context: task(), recorded: Vec::new() };
        before.iter().for_each(|change| task.apply(change));
        // what a policy asks is asked again and again
        let mut asked_before: Vec<(usize, usize)> = Vec::new();
        for (change, asked, again) in steps {
            task.apply(&change);
            asked_before.extend(asked);
            for &(pair, expression) in asked_before.iter().rev().take(4 + 6 * again) {
                let (resumed, full) = &PAIRS[pair];
                let found = resumed.outcome(expression, &task.context);
                let wanted = full.outcome(expression, &task.context);
                let is_compared = COMPARED.contains(&EXPRESSIONS[expression]);
                if is_compared && matches!(wanted.0, Err((ErrorCode::BudgetExceeded, ..))) {
                    // what is left out costs nothing, so that there may be an outcome
                    saved.fetch_add(usize::from(found != wanted), Ordering::Relaxed);
                    let again = resumed.outcome(expression, &task.context.clone());
                    prop_assert_eq!(&found, &again, "{} with an index or without", EXPRESSIONS[expression]);
                    continue;
                }
                let bound = full.0.env().limits().max_cost;
                if is_compared && wanted.1 + LOOK_UP > bound && found.0 != wanted.0 {
                    prop_assert!(matches!(found.0, Err((ErrorCode::BudgetExceeded, ..))));
                    continue;
                }
                if is_compared {
                    prop_assert_eq!(&found.0, &wanted.0, "{} after {:?}", EXPRESSIONS[expression], change);
                    let again = resumed.outcome(expression, &task.context.clone());
                    prop_assert_eq!(&found, &again, "{} with an index or without", EXPRESSIONS[expression]);
                    cheaper.fetch_add(usize::from(found.1 < wanted.1), Ordering::Relaxed);
                } else {
                    prop_assert_eq!(&found, &wanted, "{} after {:?}", EXPRESSIONS[expression], change);
                }
                compared.fetch_add(1, Ordering::Relaxed);
                match wanted.0 {
                    Err((ErrorCode::BudgetExceeded, ..)) => over.fetch_add(1, Ordering::Relaxed),
                    Err(_) => failed.fetch_add(1, Ordering::Relaxed),
                    Ok(_) => 0,
                };
            }
        }
        Ok(())
    });
    println!("{compared:?} outcomes compared: {failed:?} errors, {over:?} over budget");
    println!("{cheaper:?} were cheaper by an index, {saved:?} within the budget only with one");
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

/// A loop that compares a part of each element goes through those that match, once it was asked often enough for an index.
#[test]
fn an_index_is_used_where_a_list_is_long() {
    let mut task = Running { context: task(), recorded: Vec::new() };
    for number in 0..400 {
        let (function, status) = (number % 4, InvocationStatus::Successful);
        task.apply(&Change::Record {
            function: u32::try_from(function).unwrap(),
            status,
            number: number % 12,
        });
    }
    let (resumed, full) = &PAIRS[0];
    let mut cheaper = Vec::new();
    for (expression, text) in EXPRESSIONS.iter().enumerate().filter(|(_, text)| COMPARED.contains(text)) {
        let first = resumed.outcome(expression, &task.context);
        let again = resumed.outcome(expression, &task.context);
        let wanted = full.outcome(expression, &task.context);
        assert_eq!((&first.0, &again.0), (&wanted.0, &wanted.0), "{text}");
        if again.1 < wanted.1 {
            cheaper.push(*text);
        }
    }
    assert!(cheaper.len() > COMPARED.len() / 2, "only {} of {}: {cheaper:#?}", cheaper.len(), COMPARED.len());
}

/// Predicates over names and times.
const OF_TEXTS: [&str; 9] = [
    "xs.filter(x, x == 'probe').size()",
    "xs.filter(x, x.startsWith('ledger') || x.matches('^l+m$')).size()",
    "xs.all(x, x != 'nobody')",
    "xs.all(x, x != 'fact_checker')",
    "xs.exists(x, x == 'fact_checker')",
    "xs.exists_one(x, x == 'fact_checker')",
    "xs.exists_one(x, x == 'nobody' || 1 / (size(x) - 12) == 1)",
    "xs.all(x, 100 / (size(x) - 5) < 1000)",
    "xs.filter(x, x < 'm').size() > 3",
];

/// A host lends the same text for each call of a function, and a loop asks its predicate once of it. A copy as JSON has
/// texts of its own for each.
#[test]
fn a_text_that_comes_again_is_judged_and_paid_for_as_at_first() {
    let mut task = task();
    for number in 0..400 {
        task.record(invocation(number % 7 % 4, InvocationStatus::Successful, i64::from(number)));
        task.turn(if number % 3 == 0 { TurnKind::Input } else { TurnKind::Llm });
    }
    let libraries = [STANDARD, EXTENSIONS].concat();
    let scope = ScopeEnv::new(&ScopeDecl {
        schema: Some(&SCHEMA),
        libraries: &libraries,
        ..ScopeDecl::new(Scope::Before, EvalLimits::default())
    });
    let bound = Bound { context: Some(&task), ..Bound::default() };
    let (mut failed, mut over) = (0, 0);
    for list in ["c.cap._meta.invocations", "c._history.turns", "c.cap.probe.timestamps"] {
        let list = Program::compile(scope.env(), list).unwrap();
        let lent = list.run(&scope.activation(&bound).unwrap(), None).unwrap();
        let copied = Json::from_value(&lent, &EvalLimits::default()).unwrap();
        for max_cost in [30, 200, 1_000, 1_500, EngineLimits::default().eval.max_cost] {
            let limits = EngineLimits {
                eval: EvalLimits { max_cost, ..EvalLimits::default() },
                ..EngineLimits::default()
            };
            let env = Env::builder().variable("xs", Type::list(Type::String)).limits(limits.eval);
            let env = libraries.iter().copied().fold(env, EnvBuilder::library).build();
            for text in OF_TEXTS {
                let program =
                    Program::compile(&env, text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"));
                let outcome = |xs: Value<'_>| {
                    let activation = Activation::new(&env).with(&env, "xs", xs);
                    let (found, cost) = program.run_metered(&activation, None);
                    (
                        found.map(|value| {
                            Json::from_value(&value, &EvalLimits::default()).unwrap().to_string()
                        }),
                        cost,
                    )
                };
                let found = outcome(lent.borrowed());
                assert_eq!(found, outcome(copied.value()), "{text} within {max_cost}");
                match found.0 {
                    Err(Stop::Failed(error)) if error.code == ErrorCode::BudgetExceeded => over += 1,
                    Err(_) => failed += 1,
                    Ok(_) => {}
                }
            }
        }
    }
    assert!(failed > 5 && over > 20, "{failed} failed, {over} were over their budget");
}

/// A context that counts which elements and entries are looked at.
#[derive(Debug)]
struct Counted {
    context: TaskContext,
    visits: AtomicUsize,
}

impl Counted {
    /// The same, read through this.
    fn seen<'a>(&'a self, view: View<'a>) -> View<'a> {
        match view {
            View::Record { at, .. } => View::Record { of: self, at },
            View::List { at, .. } => View::List { of: self, at },
            other => other,
        }
    }

    /// The outcome of a program, and how many elements it looked at.
    fn run(&self, env: &ScopeEnv, program: &Program) -> (Json, usize) {
        let Value::Map(Map::Live { at, .. }) = self.context.value() else { panic!("a context is a record") };
        let root = Value::record(self, at);
        let activation = Activation::new(env.env()).with(env.env(), "context", root);
        self.visits.store(0, Ordering::Relaxed);
        let value = program.run(&activation, None).unwrap();
        (Json::from_value(&value, &EvalLimits::default()).unwrap(), self.visits.load(Ordering::Relaxed))
    }
}

impl LiveRecord for Counted {
    fn shape(&self, at: At) -> &RecordType {
        self.context.shape(at)
    }

    fn field(&self, at: At, slot: usize) -> Option<View<'_>> {
        self.context.field(at, slot).map(|view| self.seen(view))
    }

    fn growth(&self, at: At) -> Option<Growth<'_>> {
        LiveRecord::growth(&self.context, at)
    }
}

impl LiveList for Counted {
    fn len(&self, at: At) -> usize {
        self.context.len(at)
    }

    fn item(&self, at: At, index: usize) -> Option<View<'_>> {
        self.visits.fetch_add(1, Ordering::Relaxed);
        self.context.item(at, index).map(|view| self.seen(view))
    }

    fn size(&self, at: At) -> usize {
        self.context.size(at)
    }

    fn forwards(&self, at: At) -> bool {
        self.context.forwards(at)
    }

    fn growth(&self, at: At) -> Option<Growth<'_>> {
        LiveList::growth(&self.context, at)
    }
}

/// How many elements an expression looks at after one more step, however long the task is. A step is two invocations, a
/// turn and an input.
const WORK: &[(&str, usize)] = &[
    ("c.cap._meta.invocations.filter(f, f == 'delete_repo').size() < 3", 2),
    ("c._history.turns.all(t, t != 'output')", 1),
    ("c.cap.probe.inputs.exists(i, i.account == 'zz')", 2),
    ("c.cap.probe.outputs.all(o, o == null || o.balance >= 0)", 2),
    ("c.cap.probe.outputs.filter(o, o != null && o.balance > 100).size()", 2),
    // the last of them may still become restricted
    ("c.cap.probe.calls.filter(t, t.status == 'restricted' && t.input.n == 4).size() > 3", 3),
    ("c.calls.exists(t, t.fn == 'ledger_lookup' || t.input.n == 100)", 3),
    ("c.cap.probe.restricted.filter(r, r).size() > 3", 3),
    ("c.calls.map(t, t.input.n).sum() > 3", 3),
    ("c.cap.probe.calls.filter(t, t.status == 'successful').map(t, double(t.input.n)).sum() > 3.0", 3),
    ("c.cap.probe.calls.filter(t, t.input.n == c._history.turn_count).map(t, t.input.n).sum() > 3", 3),
    // those that match, and the last, which is in no index yet
    ("c.cap.probe.calls.exists(t, t.input.n == c._history.turn_count && t.status == 'successful')", 3),
    ("c.cap.probe.inputs.all(i, i.account != c.user.id)", 2),
    // the last entry and the one before it, and their two parts
    ("c.input.all(t, t.message.all(p, size(p.text) < 50000))", 4),
];

#[test]
fn one_more_step_is_the_same_work_in_any_task() {
    let env = Programs::new(EngineLimits::default()).0;
    for &(text, wanted) in WORK {
        let program = Program::compile(env.env(), text).unwrap();
        let mut counted = Counted { context: task(), visits: AtomicUsize::new(0) };
        let step = |context: &mut TaskContext| {
            let id = context.record(invocation(2, InvocationStatus::Successful, 4));
            context.restrict(id);
            context.record(invocation(2, InvocationStatus::Successful, 5));
            context.turn(TurnKind::Capability);
            context.push_input(entry(0));
        };
        // short lists are gone through as they are
        for length in [20, 100, 1_000] {
            (0..length).for_each(|_| step(&mut counted.context));
            let (first, visited) = counted.run(&env, &program);
            assert!(visited >= length, "{text}: {visited} of {length} the first time");
            step(&mut counted.context);
            let (_, visited) = counted.run(&env, &program);
            assert_eq!(visited, wanted, "{text}: after a step of {length}");
            let (again, visited) = counted.run(&env, &program);
            assert!(visited <= 2, "{text}: {visited} with nothing new");
            assert_eq!(first, again);
        }
    }
}

/// Other threads find the memory in use and go without; what they get is the same.
#[test]
fn threads_share_a_task() {
    let mut running = Running { context: task(), recorded: Vec::new() };
    let (resumed, full) = &PAIRS[0];
    for number in 0..200 {
        running.apply(&Change::Record { function: 2, status: InvocationStatus::Successful, number });
        let context = &running.context;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for expression in [0, 4, 38] {
                        assert_eq!(resumed.outcome(expression, context), full.outcome(expression, context));
                    }
                });
            }
        });
    }
}

/// What is kept is bounded by number, and a task holds no more for it after a thousand expressions than after ten.
#[test]
fn max_folds() {
    let bytes = |most: usize| {
        let limits = EngineLimits {
            eval: EvalLimits { max_folds: most, ..EvalLimits::default() },
            ..EngineLimits::default()
        };
        let env = Programs::new(limits).0;
        let mut context = task();
        context.record(invocation(2, InvocationStatus::Successful, 1));
        let bare = context.heap_bytes();
        for number in 0..200 {
            let text = format!("c.cap._meta.invocations.exists(f, size(f) == {number})");
            let program = Program::compile(env.env(), &text).unwrap();
            let activation = env.activation(&Bound { context: Some(&context), ..Bound::default() }).unwrap();
            program.run(&activation, None).unwrap();
        }
        context.heap_bytes() - bare
    };
    assert_eq!(bytes(0), 0);
    assert!(bytes(1) > 0 && bytes(8) < bytes(64), "{} {} {}", bytes(1), bytes(8), bytes(64));
    assert!(bytes(64) < 16_384, "{}", bytes(64));
}

/// The outcome and the cost of an expression over a task of so many calls, each with a number of its own.
fn over_calls(calls: i64, limits: EvalLimits, text: &str) -> (Outcome, TaskContext) {
    let programs = Programs::new(EngineLimits { eval: limits, ..EngineLimits::default() });
    let mut context = task();
    for number in 0..calls {
        let input = json!({"account": format!("a{number}"), "n": number, "d": 1}).into();
        context
            .record(InvocationRecord { input, ..invocation(2, InvocationStatus::Successful, number % 12) });
    }
    (0..7).for_each(|_| context.turn(TurnKind::Llm));
    let program = Program::compile(programs.0.env(), text).unwrap();
    let bound = Bound { context: Some(&context), ..Bound::default() };
    let (found, cost) = program.run_metered(&programs.0.activation(&bound).unwrap(), None);
    let found = match found {
        Ok(value) => Ok(Json::from_value(&value, &limits).unwrap().to_string()),
        Err(Stop::Failed(error)) => Err((error.code, error.span, error.to_string())),
        Err(Stop::Asked) => unreachable!("no host"),
    };
    ((found, cost), context)
}

/// A rule that compares each call with something else costs the same however many calls there are, and is within the budget
/// where a loop over all of them is not.
#[test]
fn a_look_up_costs_the_same_in_any_task() {
    let text =
        "c.cap.probe.calls.filter(t, t.input.n == c._history.turn_count && t.output.balance == 7).size()";
    let limits = EvalLimits { max_cost: 1_000, ..EvalLimits::default() };
    let of = |calls| over_calls(calls, limits, text).0;
    assert_eq!(of(100), of(10_000));
    assert_eq!(of(100).0, Ok("1".into()));
    let without = EvalLimits { max_folds: 0, ..limits };
    assert!(matches!(over_calls(10_000, without, text).0.0, Err((ErrorCode::BudgetExceeded, ..))));
}

/// Indexes beyond the bound are not kept; each answer and its cost are what they are with one.
#[test]
fn max_index_bytes() {
    let text = "c.calls.exists(t, t.input.account == 'a' + string(c._history.turn_count))";
    let of = |most: usize| {
        let limits = EvalLimits { max_index_bytes: most, ..EvalLimits::default() };
        let (found, context) = over_calls(3_000, limits, text);
        (found, context.heap_bytes())
    };
    let (none, kept) = (of(0), of(usize::MAX));
    let bytes = kept.1 - none.1;
    assert!((3_000 * 8..3_000 * 60).contains(&bytes), "{bytes}");
    assert_eq!((&of(bytes).0, &of(bytes / 2).0), (&kept.0, &none.0));
    assert_eq!(kept.0, none.0);
    assert!(of(bytes).1 > none.1 && of(bytes / 2).1 < none.1 + bytes / 2);
}
