//! Expressions over a running task: what the specification's own examples read, in the scopes that read it.

use celador::cel::{
    Code, Fault, HostFunctions, Interruption, Json, Program, STANDARD, Stop, Timestamp, Type, Value,
};
use celador::context::{
    Bound, Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, Moment,
    MountFacts, PUT, Runtime, SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo,
    ToolDecl, TurnKind,
};
use celador::limits::EvalLimits;
use serde_json::json;
use std::sync::Arc;

/// Answers reviews with yes and keeps one file.
struct Answers;

impl HostFunctions for Answers {
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        match (function, args) {
            ("review", [Value::String(_)]) => Ok(Value::Bool(true)),
            ("mount.read", [Value::String(path)]) if &**path == "notes" => Ok(Value::owned_text("kept")),
            ("mount.write", [_, text @ Value::String(_)]) => Ok(text.to_static().unwrap()),
            ("file", [Value::String(path)]) => Ok(Value::owned_text(format!("file {}", &**path))),
            _ => Err(Interruption::Fault(Fault::from(celador::cel::ErrorCode::HostFailed))),
        }
    }
}

fn schema() -> Arc<ContextSchema> {
    let function = |key: &str, delegation| FunctionDecl {
        key: key.into(),
        input: Type::Dyn,
        output: Type::Dyn,
        delegation,
    };
    ContextSchema::new(&SchemaDecl {
        functions: vec![
            function("ledger_lookup", false),
            function("ledger_post_entry", false),
            function("fact_checker", true),
        ],
        tools: vec![ToolDecl { key: "ledger".into(), members: vec![FunctionId(0), FunctionId(1)] }],
        parameters: vec![("ticket_id".into(), Type::String)],
        exposes: vec![("score".into(), Type::Double)],
        ..SchemaDecl::default()
    })
    .unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn task(schema: &Arc<ContextSchema>) -> TaskContext {
    let mut task = TaskContext::new(
        schema.clone(),
        TaskFacts {
            agent: "clerk".into(),
            namespace: "demo".into(),
            started_at: time("2026-06-01T11:00:00Z"),
            user_id: "u-1".into(),
            user_claims: None,
            user_email: None,
            address: None,
            model: "test/model".into(),
            depth: 0,
        },
    );
    task.push_input(TaskIo::text("one").with_extra(Json::from(json!({ "ticket_id": "T-1" })).root()));
    task.push_output(TaskIo::text("first answer").with_extra(Json::from(json!({ "score": 0.5 })).root()));
    task.push_input(TaskIo::text("the second input"));
    task.push_output(TaskIo::text("pending"));
    [TurnKind::Input, TurnKind::Llm, TurnKind::Capability].into_iter().for_each(|kind| task.turn(kind));
    task.add_tokens(10, 5);
    task.add_tokens(7, 3);
    for (function, minute, status) in [
        (0, 10, InvocationStatus::Successful),
        (1, 20, InvocationStatus::Errored),
        (0, 30, InvocationStatus::Restricted),
        (2, 40, InvocationStatus::Successful),
    ] {
        task.record(InvocationRecord {
            function: FunctionId(function),
            at: time(&format!("2026-06-01T11:{minute}:00.5Z")).into(),
            started_at: time(&format!("2026-06-01T11:{minute}:00.25Z")).into(),
            input: json!({ "account": "a1" }).into(),
            output: (status != InvocationStatus::Restricted).then(|| json!({ "balance": minute }).into()),
            status,
            executed: status != InvocationStatus::Restricted,
            origin: Caller::Model,
            task_id: (function == 2).then(|| "t-77".into()),
            message: 0,
            rejected: false,
        });
    }
    task
}

/// Evaluates an expression in a scope: the JSON of its value, or `error: code`.
fn evaluate(scope: Scope, text: &str) -> String {
    let schema = schema();
    let declared = ScopeDecl {
        schema: Some(&schema),
        has_mount: true,
        libraries: STANDARD,
        ..ScopeDecl::new(scope, EvalLimits::default())
    };
    let scope = ScopeEnv::new(&declared);
    let program = match Program::compile(scope.env(), text) {
        Ok(program) => program,
        Err(issues) => return format!("refused: {}", issues[0].code),
    };
    let (task, now) = (task(&schema), Moment::from(time("2026-06-01T12:00:00Z")));
    let runtime =
        Runtime { version: "1.0.0".into(), dashboard_url: "d".into(), api_root: "https://a".into() };
    let mount = MountFacts { bucket: "b".into(), prefix: "/p/".into(), backend: "gcs".into() };
    let (input, output) = (Json::from(json!({ "depth": 1 })), Json::from(json!({ "n": 2 })));
    let bound = Bound {
        context: Some(&task),
        input: Some(input.value()),
        output: Some(output.value()),
        now: Some(&now),
        runtime: Some(&runtime),
        mount: Some(&mount),
        ..Bound::default()
    };
    let activation = scope.activation(&bound).unwrap();
    match program.run(&activation, Some(&mut Answers)) {
        Ok(value) => Json::from_value(&value, &EvalLimits::default()).unwrap().to_string(),
        Err(Stop::Failed(error)) => format!("error: {}", error.code),
        Err(Stop::Asked) => "asked".to_owned(),
    }
}

const ROWS: &[(Scope, &str, &str)] = &[
    // the two orders: inputs oldest first, records newest first
    (Scope::Before, "context.input[0].message[0].text", r#""one""#),
    (Scope::Before, "context.capabilities.ledger.outputs[1].balance", "20"),
    (Scope::Before, "context.capabilities.ledger_lookup.outputs[0]", "null"),
    (Scope::Before, "context.capabilities._meta.invocations[0]", r#""ledger_lookup""#),
    // names and their other names
    (
        Scope::Before,
        "c.cap._meta.count == context.capabilities._meta.count && context.cap == c.capabilities",
        "true",
    ),
    (Scope::Before, "context['capabilities']['ledger'].count_restricted", "1"),
    (Scope::Before, "i.depth == input.depth", "true"),
    (Scope::After, "o.n == output.n", "true"),
    (
        Scope::Before,
        "context.capabilities.map(k, k)",
        r#"["_meta","ledger_lookup","ledger_post_entry","fact_checker","ledger"]"#,
    ),
    // what is there and what is not
    (
        Scope::Before,
        "has(context.capabilities.ledger.task_ids) && context.capabilities.ledger.task_ids == null",
        "true",
    ),
    (Scope::Before, "context.capabilities.fact_checker.task_ids", r#"["t-77"]"#),
    (Scope::Before, "context.capabilities.fact_checker.errored.exists(e, e)", "false"),
    (Scope::Before, "has(context.input[0].ticket_id) && !has(context.input[1].ticket_id)", "true"),
    (Scope::Before, "context['settings']", "error: no_such_key"),
    (Scope::Before, "context.capabilities['ledgr'].count_successful < 5", "error: no_such_key"),
    (Scope::Before, "context.user.email != '' ? context.user.email : 'unknown'", r#""unknown""#),
    (Scope::Before, "has(event)", "false"),
    (Scope::Before, "event.payload.x == 1", "error: unbound"),
    // counts and times
    (
        Scope::Before,
        "context.llm.tokens.total > 24 && context._history.turn_count == size(context._history.turns)",
        "true",
    ),
    (Scope::Before, "context._history.turns.filter(t, t == 'llm').size()", "1"),
    (Scope::Before, "context.capabilities.ledger.timestamps.all(t, t <= now)", "true"),
    (
        Scope::Before,
        "timestamp(now) - timestamp(context.capabilities.ledger.timestamps[0]) == duration('29m59.5s')",
        "true",
    ),
    // the entry under test, and the size of a message
    (
        Scope::GuardrailBefore,
        "input[0].message[0].text == input.message[0].text && input == [context.input[1]]",
        "true",
    ),
    (
        Scope::GuardrailBefore,
        "size(input) == 1 && size(input.message) == 16 && size(input[0].message) < 17",
        "true",
    ),
    (Scope::GuardrailBefore, "size(context.input[0].message)", "3"),
    (
        Scope::GuardrailBefore,
        "context.input.map(t, t.message.map(p, p.text))",
        r#"[["one"],["the second input"]]"#,
    ),
    (Scope::GuardrailBefore, "context.input.all(t, size(t.message) < 17) && !has(input.ticket_id)", "true"),
    (Scope::GuardrailAfter, "output.message[0].text", r#""pending""#),
    (Scope::Exposes, "[input.message[0].text, output.message[0].text]", r#"["the second input","pending"]"#),
    (Scope::GuardrailAfter, "context.output[0].score < 1.0 && !has(output.score)", "true"),
    (Scope::GuardrailBefore, "input[1]", "error: index_out_of_bounds"),
    // nothing changes the context
    (Scope::After, "size(context.put('x', 1)) == size(context) + 1 && !has(context.llm.x)", "true"),
    (Scope::After, "output.put('_note', 'x').put('n', 3)", r#"{"n":3,"_note":"x"}"#),
    // surroundings and the host's answers
    (Scope::Binding, "mount.prefix + runtime.version", r#""/p/1.0.0""#),
    (Scope::Before, "review('u-9') && runtime.api_root.startsWith('https://')", "true"),
    (Scope::CelTool, "mount.read('notes') + mount.write('notes', 'new')", r#""keptnew""#),
    (Scope::CelTool, "mount.read('absent')", "error: host_failed"),
    (Scope::Script, "file('a.pdf')", r#""file a.pdf""#),
];

#[test]
fn expressions_read_the_task_as_the_specification_says() {
    for (scope, text, wanted) in ROWS {
        assert_eq!(evaluate(*scope, text), *wanted, "{scope:?} {text}");
    }
}

/// Names that a scope does not know are refused when the expression is compiled (`CEL-25` to `CEL-38`).
const REFUSED: &[(Scope, &str)] = &[
    (Scope::Before, "output.x"),
    (Scope::GuardrailAfter, "input[0]"),
    (Scope::GuardrailBefore, "review('a')"),
    (Scope::GuardrailBefore, "!has(event)"),
    (Scope::BeforeCondition, "review('a')"),
    (Scope::Binding, "input.x"),
    (Scope::Before, "mount.read('x') == ''"),
    (Scope::Before, "file('x') != ''"),
    (Scope::Before, "settings.api_key != ''"),
    (Scope::Filter, "context.user.id"),
    (Scope::Trigger, "context.user.id"),
    (Scope::Script, "context.user.id"),
    (Scope::Script, "{}.put('a', 1)"),
];

#[test]
fn names_of_other_scopes_are_refused() {
    for (scope, text) in REFUSED {
        assert!(evaluate(*scope, text).starts_with("refused"), "{scope:?} {text}");
    }
}

#[test]
fn the_examples_of_put_hold() {
    for function in PUT {
        assert!(matches!(function.code, Code::Pure(_)));
        for (text, wanted) in function.examples {
            let wanted = match wanted.strip_prefix("error: ") {
                Some(_) => (*wanted).to_owned(),
                None => evaluate(Scope::Before, wanted),
            };
            assert_eq!(evaluate(Scope::Before, text), wanted, "{text}");
        }
    }
}
