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
    Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, KeptPart,
    SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo,
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
    "c.cap.probe.inputs",
    "c.cap.probe.outputs",
    "c.cap.probe.outputs[1]",
    "c.cap.probe.successful",
    "c.cap.probe.task_ids",
    "c.cap.probe",
    "c.cap.probe.count_successful",
    "c._history.turns",
    "c._history.turn_count",
    "c.input",
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
    "size(P) <= 2",
    "1 > size(P)",
    "P.size() >= 3",
    "size(P) == 0",
    "has(P.a)",
    "has(P.b)",
    "!has(P.key)",
    "has(P.count_successful)",
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
    // several questions about one place: each letter with a stroke asks where the one without does
    "A && A'",
    "A || A'",
    "A && A' && B",
    "A || !A' || B",
    "A && (A' || B)",
    "(A || A') && (A || A')",
    "A && A' || B && B'",
    "A ? B : C",
    "[1, 2].all(x, A || x > 1)",
    "w.exists(x, x == 'ab' || x.startsWith('b'))",
    "r.all(x, x.a > 0 && x.b < 7)",
    "r.all(x, has(x.a) && x.a > 0)",
    "r.exists(x, has(x.a) || size(x) < 2 || x == 'ab')",
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
        let (first, second, place) = (of(QUESTIONS), of(QUESTIONS), of(places));
        text = text.replace(&format!("{letter}'"), &second.replace('P', &place));
        text = text.replace(letter, &first.replace('P', &place));
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

/// A task with calls of these arguments, and a message and a model's turn for each. Every other call has no result, and of
/// every third only the digests of its values are kept.
fn context(arguments: &[serde_json::Value], email: bool) -> TaskContext {
    let started_at = "2026-06-01T11:00:00Z".parse().unwrap();
    let mut task = TaskContext::new(
        SCHEMA.clone(),
        TaskFacts {
            agent: "ab".into(),
            namespace: "demo".into(),
            started_at,
            user_id: "a".into(),
            user_claims: None,
            user_email: email.then(|| "key@example.com".into()),
            address: None,
            model: "test/model".into(),
            depth: 0,
        },
    );
    for (number, input) in arguments.iter().enumerate() {
        task.push_input(TaskIo::text("ab"));
        task.add_tokens(number as u64, 3);
        let id = task.record(InvocationRecord {
            function: FunctionId(0),
            at: started_at.into(),
            started_at: started_at.into(),
            input: input.clone().into(),
            output: (number % 2 == 0).then(|| json!("ab").into()),
            status: InvocationStatus::Successful,
            executed: true,
            origin: Caller::Model,
            task_id: None,
            message: 0,
            rejected: false,
        });
        if number % 3 == 1 {
            task.shorten(id, KeptPart::Input, false);
            task.shorten(id, KeptPart::Output, true);
        }
    }
    task
}

proptest! {
    #![proptest_config(many(1_500))]

    #[test]
    fn guards_of_documents_say_what_the_walk_says(
        clauses in prop::collection::vec(any::<u16>(), 10),
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
        clauses in prop::collection::vec(any::<u16>(), 10),
        calls in prop::collection::vec(prop::collection::vec(any::<u16>(), 0..60), 0..4),
        email in any::<bool>(),
    ) {
        let text = expression(OF_THE_CONTEXT, &clauses).replace("w.", "c.cap._meta.invocations.").replace("r.all", "c.cap.probe.inputs.all").replace("r.exists", "c.cap.probe.outputs.exists");
        let arguments: Vec<_> =
            calls.iter().map(|numbers| Choices::new(numbers, Language::Whole).data()["j"].clone()).collect();
        let task = context(&arguments, email);
        for (env, (guarded, walked)) in CONTEXTS.iter().zip(pairs(&CONTEXTS, &text)) {
            let activation = Activation::new(env).with(env, "context", task.value());
            prop_assert_eq!(outcomes(&guarded, &activation), outcomes(&walked, &activation), "{}", text);
        }
    }
}

/// What is out of the ordinary, by name: the chance above finds most of it, this keeps it.
#[test]
fn sizes_and_members_are_asked_in_place_as_step_by_step() {
    let arguments =
        [json!({"a": 1, "b": {"key": "x"}}), json!({"a": [1]}), json!("ab"), json!({"key": null})];
    let task = context(&arguments, false);
    let rows = [
        // the last call comes first: an object, a text, a shortened value, an object
        ("has(c.cap.probe.inputs[0].key)", "true"),
        ("has(c.cap.probe.inputs[0].a)", "false"),
        ("has(c.cap.probe.inputs[0].key.deeper)", "no_such_field"),
        ("has(c.cap.probe.inputs[0].a.deeper)", "no_such_key"),
        ("has(c.cap.probe.inputs[1].a)", "no_such_field"),
        ("has(c.cap.probe.inputs[2].a)", "value_shortened"),
        ("has(c.cap.probe.inputs[3].b.key)", "true"),
        ("has(c.cap.probe.inputs[4].a)", "index_out_of_bounds"),
        ("has(c.cap.probe.inputs[3].a) && has(c.cap.probe.inputs[3].b)", "true"),
        ("has(c.cap.probe.inputs[3].a) && has(c.cap.probe.inputs[3].c)", "false"),
        ("has(c.cap.probe.inputs[2].a) || true", "true"),
        ("has(c.cap.probe.outputs[0].a)", "no_such_field"),
        ("c.cap.probe.outputs.exists(x, has(x.a))", "no_such_field"),
        ("c.cap.probe.outputs.exists(x, x != 'ab' && has(x.a))", "false"),
        ("size(c.cap.probe.inputs) < 5", "true"),
        ("size(c.cap.probe.inputs) < 4", "false"),
        ("size(c.cap.probe.outputs) > 4", "false"),
        ("size(c.cap.probe) > 9", "true"),
        ("size(c.cap.probe.inputs[0]) > 0", "true"),
        ("size(c.cap.probe.inputs[1]) < 2", "false"),
        ("size(c.cap.probe.inputs[2]) > 0", "value_shortened"),
        ("size(c.cap.probe.inputs[3].b) >= 1 && size(c.cap.probe.inputs[3].b) <= 1", "true"),
        ("size(c.cap.probe.inputs[3].a) > 0", "no_matching_overload"),
        ("size(c.cap.probe.outputs[0]) > 0", "no_matching_overload"),
        ("size(c.input[0].message) < 3", "true"),
        ("c.cap.probe.inputs[3].a >= 1 && c.cap.probe.inputs[3].a < 2", "true"),
        ("c.cap.probe.inputs[3].a >= 1 && c.cap.probe.inputs[3].a < 1", "false"),
        ("c.cap.probe.inputs[1] == 'a' || c.cap.probe.inputs[1] == 'ab'", "true"),
        ("c.cap.probe.count_successful > 3 && c.llm.tokens.total > 17 && c._history.turn_count < 1", "true"),
        ("c.cap.probe.count_successful > 4 || c.llm.tokens.total > 18", "false"),
    ];
    for (text, expected) in rows {
        let pairs = pairs(&CONTEXTS, text);
        assert_eq!(pairs.len(), BUDGETS.len(), "{text}");
        for (budget, (guarded, walked)) in pairs.iter().enumerate() {
            let activation =
                Activation::new(&CONTEXTS[budget]).with(&CONTEXTS[budget], "context", task.value());
            let outcomes = [outcomes(guarded, &activation), outcomes(walked, &activation)];
            assert_eq!(outcomes[0], outcomes[1], "{text}");
            let found = match &outcomes[0][1].0 {
                Ok(truth) => truth.clone(),
                Err((code, _)) => code.to_string(),
            };
            assert!(budget > 0 || found == expected, "{text}: {found}");
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
