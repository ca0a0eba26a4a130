//! Guards, which answer a test of a plan where its values lie, come to what the walk over the plan comes to: the same
//! truth, the same error at the same place, the same cost, whatever the data and the budget.
//!
//! A build with assertions asks both and compares, so there it is the comparison inside that would fail. The build of
//! `tests/shipped` trusts guards, as what is shipped does.

use crate::laws_expressions::{Choices, Language, many, variables};
use celador::cel::{
    Activation, At, EXTENSIONS, Env, EnvBuilder, ErrorCode, Json, LiveRecord, Map, Program, RecordType,
    STANDARD, Stop, Type, Value, View,
};
use celador::context::{
    Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, SchemaDecl, Scope,
    ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo,
};
use celador::limits::EvalLimits;
use celador::source::Span;
use proptest::prelude::*;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// Ends of paths: variables, parts of documents, positions, and what is not there or of another kind.
const OF_DOCUMENTS: &[&str] = &[
    "n", "m", "d", "s", "t", "j", "j.a", "j.b", "j.key", "j['x y']", "j.a.b", "j[0]", "j[2]", "j.b[1].a",
    "o.a", "o.c", "p.a", "p.key", "l[0]", "w[0]", "w[2]", "r[0].a", "r[1].b",
];

/// Fields of a host's structs, and documents in its lists.
const OF_THE_CONTEXT: &[&str] = &[
    "c.llm.tokens.total",
    "c.llm.tokens.prompt",
    "c.agent.name",
    "c.agent.namespace",
    "c.user.id",
    "c.user.email",
    "c.cap._meta.count",
    "c.cap.probe.count",
    "c.cap.probe.inputs[0].a",
    "c.cap.probe.inputs[1].b.key",
    "c.cap.probe.inputs[2][0]",
    "c.cap.probe.outputs[0]",
    "c.cap.probe.inputs[9].a",
    "c.input[0].message",
];

/// What is asked of them.
const QUESTIONS: &[&str] = &[
    "P > 1",
    "P >= 0",
    "P < 100",
    "P <= -1",
    "3 < P",
    "P == 7",
    "P != 7",
    "P == 'a'",
    "P != 'ab'",
    "'b' == P",
    "P == ''",
    "P.startsWith('a')",
    "P.startsWith('a longer beginning than any text has')",
    "P.endsWith('b')",
    "size(P) > 1",
    "size(P) == 0",
    "P.matches('^[a-z]+$')",
    "P.contains('e')",
    "P == 9223372036854775807",
    "P > -9223372036854775808",
];

/// How they stand together; each letter becomes a question of its own.
const FORMS: &[&str] = &[
    "A",
    "A",
    "!A",
    "A && B",
    "A || B",
    "!(A && B)",
    "A && B && C",
    "A || B || C",
    "A && (B || C)",
    "(A || !B) && C",
    "A ? B : C",
    "[1, 2].all(x, A || x > 1)",
    "w.exists(x, x == 'ab' || x.startsWith('b'))",
    "r.all(x, x.a > 0 && x.b < 7)",
    "l.filter(x, x > 1 && A).size() > 1",
    "true && A",
    "A == B",
];

/// The budgets under which they are run: enough, and too little at one place or another.
const BUDGETS: [u64; 5] = [u64::MAX, 30, 12, 6, 3];

/// Makes an expression of what the numbers choose.
fn expression(places: &[&str], numbers: &[u16]) -> String {
    let mut numbers = numbers.iter().map(|&number| usize::from(number));
    let mut of = |items: &[&str]| items[numbers.next().unwrap_or_default() % items.len()].to_owned();
    let mut text = of(FORMS);
    for letter in ["A", "B", "C"] {
        let question = of(QUESTIONS).replace('P', &of(places));
        text = text.replace(letter, &question);
    }
    text
}

/// What came of a run: the value or the error with its place, and what it cost.
type Outcome = (Result<String, (ErrorCode, Span)>, u64);

fn outcome<T>(result: Result<T, Stop>, cost: u64, shown: impl Fn(T) -> String) -> Outcome {
    let result = match result {
        Ok(value) => Ok(shown(value)),
        Err(Stop::Failed(error)) => Err((error.code, error.span)),
        Err(Stop::Asked) => unreachable!("no host"),
    };
    (result, cost)
}

/// What a program comes to, by each of its two doors.
fn outcomes<'a>(program: &'a Program, activation: &Activation<'a>) -> [Outcome; 2] {
    let (value, cost) = program.run_metered(activation, None);
    let (truth, cost_of_truth) = program.holds_metered(activation, None);
    [
        outcome(value, cost, |value| Json::from_value(&value, &EvalLimits::default()).unwrap().to_string()),
        outcome(truth, cost_of_truth, |truth| truth.to_string()),
    ]
}

/// Compiles an expression under each budget, with guards and without; nothing if it is ill-typed beyond compiling.
fn pairs(envs: &[Env], text: &str) -> Vec<(Program, Program)> {
    let compile = |env: &Env| Program::compile(env, text).ok();
    envs.iter().filter_map(|env| Some((compile(env)?, compile(env)?.unguarded()))).collect()
}

fn budgets(build: impl Fn(EvalLimits) -> Env) -> Vec<Env> {
    let standard = EvalLimits::default();
    BUDGETS.map(|most| build(EvalLimits { max_cost: standard.max_cost.min(most), ..standard })).into()
}

static DOCUMENTS: LazyLock<Vec<Env>> = LazyLock::new(|| {
    budgets(|limits| {
        let scope =
            variables().iter().fold(Env::builder(), |scope, (name, _)| scope.variable(name, Type::Dyn));
        STANDARD.iter().chain(EXTENSIONS).copied().fold(scope.limits(limits), EnvBuilder::library).build()
    })
});

static SCHEMA: LazyLock<Arc<ContextSchema>> = LazyLock::new(|| {
    let probe = FunctionDecl { key: "probe".into(), input: Type::Dyn, output: Type::Dyn, delegation: false };
    ContextSchema::new(&SchemaDecl { functions: vec![probe], ..SchemaDecl::default() }).unwrap()
});

fn context_env(limits: EvalLimits) -> Env {
    let libraries = [STANDARD, EXTENSIONS].concat();
    let declared =
        ScopeDecl { schema: Some(&SCHEMA), libraries: &libraries, ..ScopeDecl::new(Scope::Before, limits) };
    ScopeEnv::new(&declared).env().clone()
}

static CONTEXTS: LazyLock<Vec<Env>> = LazyLock::new(|| budgets(context_env));

/// A task with calls of these arguments, and a message and a model's turn for each.
fn context(arguments: &[serde_json::Value], email: bool) -> TaskContext {
    let started_at = "2026-06-01T11:00:00Z".parse().unwrap();
    let mut task = TaskContext::new(
        SCHEMA.clone(),
        TaskFacts {
            agent: "ab".into(),
            namespace: "demo".into(),
            started_at,
            user_id: "a".into(),
            user_email: email.then(|| "key@example.com".into()),
            model: "test/model".into(),
        },
    );
    for (number, input) in arguments.iter().enumerate() {
        task.push_input(TaskIo::text("ab"));
        task.add_tokens(number as u64, 3);
        task.record(InvocationRecord {
            function: FunctionId(0),
            at: started_at.into(),
            input: input.clone().into(),
            output: (number % 2 == 0).then(|| json!("ab").into()),
            status: InvocationStatus::Successful,
            executed: true,
            origin: Caller::Model,
            task_id: None,
        });
    }
    task
}

proptest! {
    #![proptest_config(many(1_500))]

    #[test]
    fn guards_of_documents_say_what_the_walk_says(
        clauses in prop::collection::vec(any::<u16>(), 7),
        data in prop::collection::vec(any::<u16>(), 0..80),
    ) {
        let text = expression(OF_DOCUMENTS, &clauses);
        let data = Json::from(Choices::new(&data, Language::Whole).data());
        for (env, (guarded, walked)) in DOCUMENTS.iter().zip(pairs(&DOCUMENTS, &text)) {
            let members = data.root().entries();
            let activation = members.fold(Activation::new(env), |activation, (name, value)| {
                activation.with(env, name, value.value())
            });
            prop_assert_eq!(outcomes(&guarded, &activation), outcomes(&walked, &activation), "{}", text);
        }
    }

    #[test]
    fn guards_of_live_state_say_what_the_walk_says(
        clauses in prop::collection::vec(any::<u16>(), 7),
        calls in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..60), 0..4),
        email in any::<bool>(),
    ) {
        let text = expression(OF_THE_CONTEXT, &clauses).replace("w.", "c.cap._meta.invocations.").replace("r.all", "c.cap.probe.inputs.all");
        let arguments: Vec<_> =
            calls.iter().map(|numbers| Choices::new(numbers, Language::Whole).data()["j"].clone()).collect();
        let task = context(&arguments, email);
        for (env, (guarded, walked)) in CONTEXTS.iter().zip(pairs(&CONTEXTS, &text)) {
            let activation = Activation::new(env).with(env, "context", task.value());
            prop_assert_eq!(outcomes(&guarded, &activation), outcomes(&walked, &activation), "{}", text);
        }
    }
}

/// A task that counts how often one of its fields is read.
#[derive(Debug)]
struct Counted {
    task: TaskContext,
    reads: AtomicUsize,
}

impl LiveRecord for Counted {
    fn shape(&self, at: At) -> &RecordType {
        self.task.shape(at)
    }

    fn field(&self, at: At, slot: usize) -> Option<View<'_>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.task.field(at, slot)? {
            View::Record { at, .. } => Some(View::Record { of: self, at }),
            other => Some(other),
        }
    }
}

/// That the comparison above is one: without assertions a guard is believed, so its field is read once. With them the walk
/// reads it too.
#[test]
fn a_guard_is_believed_as_shipped() {
    let env = context_env(EvalLimits::default());
    let counted = Counted { task: context(&[], false), reads: AtomicUsize::new(0) };
    let Value::Map(Map::Live { at, .. }) = counted.task.value() else { panic!("a context is a record") };
    let activation = Activation::new(&env).with(&env, "context", Value::record(&counted, at));
    let expected = if cfg!(debug_assertions) { 2 } else { 1 };
    // as a part of an expression, and as the whole of one, which has a door of its own
    let program = Program::compile(&env, "c.llm.tokens.total > 5 ? 1 : 2").unwrap();
    program.run(&activation, None).unwrap();
    assert_eq!(counted.reads.load(Ordering::Relaxed), expected, "as a part");
    let program = Program::compile(&env, "c.llm.tokens.total > 5").unwrap();
    counted.reads.store(0, Ordering::Relaxed);
    assert!(!program.holds(&activation, None).unwrap());
    assert_eq!(counted.reads.load(Ordering::Relaxed), expected, "as a whole");
}
