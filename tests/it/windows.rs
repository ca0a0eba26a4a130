//! Loops over calls that ask whether each is late enough: what they come to is what a loop over all of them would, also where a clock went back, and
//! what they cost does not grow with the calls.

use celador::cel::{EXTENSIONS, Json, Program, STANDARD, Stop, Timestamp, Type};
use celador::context::{
    Bound, Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, Moment,
    OpenInvocation, SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts,
};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use serde_json::json;
use std::sync::{Arc, LazyLock};

static SCHEMA: LazyLock<Arc<ContextSchema>> = LazyLock::new(|| {
    let function =
        |key: &str| FunctionDecl { key: key.into(), input: Type::Dyn, output: Type::Dyn, delegation: false };
    let declared =
        SchemaDecl { functions: vec![function("fetch"), function("pay")], ..SchemaDecl::default() };
    ContextSchema::new(&declared).unwrap()
});

const EXPRESSIONS: &[&str] = &[
    "c.calls.filter(t, within(t, '1m')).size()",
    "c.cap.fetch.calls.filter(t, within(t, '1m')).size()",
    "c.calls.filter(t, !within(t, '30s')).size()",
    "c.calls.exists(t, within(t, '10s'))",
    "c.calls.exists(t, !within(t, '10s'))",
    "c.calls.all(t, within(t, '2m'))",
    "c.calls.all(t, !within(t, '5s'))",
    "c.calls.exists_one(t, within(t, '3s'))",
    "c.calls.exists(t, within(t, '1m') && t.input.n > 50)",
    "c.calls.exists(t, t.input.n > 50 && within(t, '1m'))",
    "c.calls.exists(t, t.output.n > 50 && within(t, '1m'))",
    "c.calls.all(t, !within(t, '1m') || t.input.n > 5)",
    "c.calls.all(t, !within(t, '1m') || t.output.n > 5)",
    "c.calls.exists(t, !within(t, '1m') || t.input.n > 5)",
    "c.calls.filter(t, within(t, '1m') && t.status == 'successful').size()",
    "c.calls.filter(t, within(t, '1m') && t.output.n > 5).size()",
    "c.calls.filter(t, within(t, '1m') || t.input.n > 90).size()",
    "c.calls.filter(t, !within(t, '1m') && t.input.n > 90).size()",
    "c.cap.fetch.calls.filter(t, within(t, '1m')).map(t, t.input.n).sum()",
    "c.cap.pay.calls.filter(t, within(t, '1m')).map(t, t.output.n).sum()",
    "c.cap.pay.calls.filter(t, within(t, '1m') && t.status != 'errored').map(t, t.input.n).sum()",
    "c.cap.fetch.timestamps.filter(t, within(t, '45s')).size()",
    "c.cap.fetch.timestamps.all(t, within(t, '45s'))",
    "c.calls.filter(t, within(t, c.agent.name)).size()",
    "c.calls.filter(t, within(t, c.agent.namespace)).size()",
    "c.calls.exists(t, within(t.input, '1m'))",
    "c.calls.exists(t, within(c.agent.started_at, '1m') && t.input.n == 3)",
];

/// A scope and its programs, one for each expression.
struct Programs(ScopeEnv, Vec<Program>);

impl Programs {
    fn new(limits: EvalLimits) -> Self {
        let libraries = [STANDARD, EXTENSIONS].concat();
        let declared = ScopeDecl {
            schema: Some(&SCHEMA),
            libraries: &libraries,
            limits,
            ..ScopeDecl::new(Scope::Before, limits)
        };
        let scope = ScopeEnv::new(&declared);
        let program = |text: &&str| {
            Program::compile(scope.env(), text).unwrap_or_else(|issues| panic!("{text}: {issues:?}"))
        };
        let programs = EXPRESSIONS.iter().map(program).collect();
        Self(scope, programs)
    }

    /// The value, or why there is none and where; and what it cost.
    fn outcome(&self, expression: usize, task: &TaskContext, now: &Moment) -> (Result<String, String>, u64) {
        let bound = Bound { context: Some(task), now: Some(now), ..Bound::default() };
        let activation = self.0.activation(&bound).unwrap();
        let (found, cost) = self.1[expression].run_metered(&activation, None);
        let found = match found {
            Ok(value) => Ok(Json::from_value(&value, &EvalLimits::default()).unwrap().to_string()),
            Err(Stop::Failed(error)) => Err(format!("{:?} {:?} {error}", error.code, error.span)),
            Err(Stop::Asked) => unreachable!("no host"),
        };
        (found, cost)
    }
}

/// Programs that look for windows, beside the same that go through every call.
static PAIR: LazyLock<[Programs; 2]> = LazyLock::new(|| {
    let limits = EvalLimits { max_cost: u64::MAX, ..EvalLimits::default() };
    [Programs::new(limits), Programs::new(EvalLimits { max_folds: 0, ..limits })]
});

const NOON: i64 = 1_780_311_600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(NOON + seconds).unwrap()
}

fn task() -> TaskContext {
    let facts = TaskFacts {
        agent: "1m".into(),
        namespace: "no span".into(),
        started_at: at(0),
        user_id: "u".into(),
        user_email: None,
        user_claims: None,
        address: None,
        model: "m".into(),
        depth: 0,
    };
    TaskContext::new(SCHEMA.clone(), facts)
}

fn record(task: &mut TaskContext, function: u32, number: i64, time: i64) {
    let status = match number % 7 {
        5 => InvocationStatus::Errored,
        6 => InvocationStatus::Restricted,
        _ => InvocationStatus::Successful,
    };
    task.record(InvocationRecord {
        function: FunctionId(function),
        at: at(time).into(),
        started_at: at(time).into(),
        input: json!({ "n": number }).into(),
        output: (number % 9 != 8).then(|| json!({ "n": number }).into()),
        status,
        executed: true,
        origin: Caller::Model,
        task_id: None,
        message: 0,
        rejected: number % 5 == 4,
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A window comes to what the loop over all calls comes to, also where clocks went back and calls are open.
    #[test]
    fn a_window_is_what_the_plain_loop_says(
        steps in proptest::collection::vec((0..2_u32, 0..100_i64, prop_oneof![8 => 0..4_i64, 1 => -60..0_i64, 1 => 0..90_i64]), 0..160),
        open in 0..3_i64,
        later in -30..100_i64,
    ) {
        let mut task = task();
        let mut time = 0;
        for (function, number, step) in steps {
            time += step;
            record(&mut task, function, number, time);
        }
        for number in 0..open {
            task.open_call(OpenInvocation {
                function: FunctionId(0),
                input: json!({ "n": number }).into(),
                message: 0,
                started_at: at(time).into(),
                origin: Caller::Model,
            });
        }
        let now = at(time + later).into();
        for (expression, text) in EXPRESSIONS.iter().enumerate() {
            let [(found, cost), (plain, plain_cost)] = [0, 1].map(|which| PAIR[which].outcome(expression, &task, &now));
            prop_assert_eq!(&found, &plain, "{}", text);
            prop_assert!(cost <= plain_cost + 3, "{}: {} beside {}", text, cost, plain_cost);
        }
    }
}

/// Each of these costs the same after 100 calls and after 100,000, of which the last sixty are in its window.
#[test]
fn a_window_costs_what_is_in_it() {
    let [mut short, mut long] = [task(), task()];
    (0..100).for_each(|second| record(&mut short, 0, 1, second));
    (-100_000..100).for_each(|second| record(&mut long, 0, 1, second));
    let now = at(100).into();
    for expression in [0, 1, 8, 9, 11, 14, 18, 21] {
        let [short, long] = [&short, &long].map(|task| PAIR[0].outcome(expression, task, &now));
        assert_eq!(short, long, "{}", EXPRESSIONS[expression]);
        assert!(short.1 < 1_500, "{} costs {}", EXPRESSIONS[expression], short.1);
    }
    let plain = PAIR[1].outcome(0, &long, &now);
    assert!(plain.1 > 400_000, "{plain:?}");
}
