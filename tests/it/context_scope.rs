//! Which expression may name what: every scope against the specification's table, and the values that a run gets.

use celador::cel::{Activation, Env, ErrorCode, Json, Storage, Timestamp, Type, Value};
use celador::context::{
    Bound, CallAtHand, ContextSchema, HASH, HASHING, Moment, MountFacts, PSEUDONYMS, Root, Runtime,
    SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo, WITHIN, event_type,
};
use celador::detect::DETECTION;
use celador::limits::EvalLimits;
use celador::parsers::PARSERS;
use serde_json::json;
use std::sync::Arc;

/// The variables (an alias goes with its name, `event?` may be unbound) and the specification's functions of a scope.
const SCOPES: &[(Scope, &str, &str)] = &[
    (Scope::Before, "context input now runtime event?", "put review"),
    (Scope::BeforeCondition, "context input now runtime event?", "put"),
    (Scope::After, "context input output now runtime event?", "put review"),
    (Scope::AfterCondition, "context input output now runtime event?", "put"),
    (Scope::GuardrailBefore, "context input now runtime", "put"),
    (Scope::GuardrailAfter, "context output now runtime", "put"),
    (Scope::ModelBefore, "context input now runtime usage", "put"),
    (Scope::ModelAfter, "context input output now runtime usage", "put"),
    (Scope::Tools, "tool", "put"),
    (Scope::Binding, "context now runtime mount", "put"),
    (Scope::CelTool, "context input now runtime", "mount.read mount.write put review"),
    (Scope::Exposes, "context input output now runtime", "put"),
    (Scope::Prompt, "context now runtime", "put"),
    (Scope::Filter, "event parameters", "put"),
    (Scope::EventField, "event", "put"),
    (Scope::PollField, "item", "put"),
    (Scope::PollDetect, "response poll", "put"),
    (Scope::Trigger, "event now", "put"),
    (Scope::Script, "", "file"),
];

const FUNCTIONS: &[&str] = &["file", "mount.read", "mount.write", "put", "review"];

fn schema() -> Arc<ContextSchema> {
    let parameters = vec![("repo".into(), Type::String)];
    ContextSchema::new(&SchemaDecl { parameters, ..SchemaDecl::default() }).unwrap()
}

fn task(schema: &Arc<ContextSchema>) -> TaskContext {
    TaskContext::new(
        schema.clone(),
        TaskFacts {
            agent: "clerk".into(),
            namespace: "demo".into(),
            started_at: Timestamp::from_unix(1_780_311_600).unwrap(),
            user_id: "u-1".into(),
            user_claims: None,
            user_email: None,
            address: None,
            model: "test/model".into(),
            depth: 0,
        },
    )
}

fn scope(scope: Scope, schema: &Arc<ContextSchema>) -> ScopeEnv {
    ScopeEnv::new(&ScopeDecl {
        schema: Some(schema),
        has_mount: true,
        ..ScopeDecl::new(scope, EvalLimits::default())
    })
}

fn value<'a>(env: &Env, activation: &Activation<'a>, name: &str) -> Option<String> {
    let value = activation.get(env.variable(name)?.slot)?;
    Some(Json::from_value(value, &EvalLimits::default()).unwrap().to_string())
}

#[test]
fn every_scope_knows_what_the_specification_gives_it() {
    assert_eq!(SCOPES.iter().map(|row| row.0).collect::<Vec<_>>(), Scope::ALL);
    for (which, variables, functions) in SCOPES {
        let declared = scope(*which, &schema());
        let env = declared.env();
        let mut found = Vec::new();
        for root in Root::ALL {
            let Some(variable) = env.variable(root.name()) else { continue };
            found.push((
                variable.slot.0,
                format!("{}{}", root.name(), if variable.optional { "?" } else { "" }),
            ));
            if let Some(alias) = root.alias() {
                assert_eq!(
                    env.variable(alias).map(|alias| alias.slot),
                    Some(variable.slot),
                    "{which:?} {alias}"
                );
            }
        }
        found.sort();
        let found: Vec<_> = found.into_iter().map(|(_, name)| name).collect();
        assert_eq!(found.join(" "), *variables, "{which:?}");
        // these are known wherever the specification gives any but `file`; a span ends now, so it wants to know when that is
        let has_now = which.roots().contains(&Root::Now);
        let spans = WITHIN.iter().filter(|_| has_now);
        // digests need a task, and pseudonyms a value that they replace
        let hashing = HASHING.iter().filter(|_| which.roots().contains(&Root::Context));
        let replaces = matches!(
            which,
            Scope::Before
                | Scope::After
                | Scope::GuardrailBefore
                | Scope::GuardrailAfter
                | Scope::ModelBefore
                | Scope::ModelAfter
        );
        let pseudonyms = PSEUDONYMS.iter().filter(|_| replaces);
        let ours = HASH.iter().chain(spans).chain(DETECTION).chain(PARSERS).chain(hashing).chain(pseudonyms);
        let ours: Vec<_> = ours.map(|row| row.name).collect();
        let (beyond, mut known): (Vec<_>, Vec<_>) = env
            .functions()
            .map(|declaration| declaration.function.name)
            .partition(|name| ours.contains(name));
        assert_eq!(beyond.len(), if *which == Scope::Script { 0 } else { ours.len() }, "{which:?}");
        known.sort_unstable();
        assert_eq!(known.join(" "), *functions, "{which:?}");
    }
}

#[test]
fn every_name_that_another_scope_knows_has_a_reason_and_no_other() {
    let roots = Root::ALL.iter().flat_map(|root| std::iter::once(root.name()).chain(root.alias()));
    let names: Vec<_> =
        roots.chain(FUNCTIONS.iter().copied()).chain(["settings", "auth", "session"]).collect();
    for which in Scope::ALL {
        let declared = scope(*which, &schema());
        let env = declared.env();
        for name in &names {
            let known = env.variable(name).is_some() || env.function(name).is_some();
            assert_eq!(env.reason(name).is_none(), known, "{which:?} {name}");
        }
        assert_eq!(env.reason("contxt"), None);
    }
}

#[test]
fn without_a_mount_there_is_none_to_name() {
    for (which, name) in [(Scope::Binding, "mount"), (Scope::Script, "file")] {
        let declared = ScopeEnv::new(&ScopeDecl::new(which, EvalLimits::default()));
        assert!(declared.env().variable(name).is_none() && declared.env().function(name).is_none());
        assert_eq!(declared.env().reason(name), Some("the agent has no mount"));
    }
}

#[test]
fn an_activation_carries_what_the_scope_knows_and_nothing_else() {
    let (schema, now) = (schema(), Moment::from(Timestamp::from_unix(1_780_315_200).unwrap()));
    let mut task = task(&schema);
    task.push_input(TaskIo::text("first"));
    task.push_input(TaskIo::text("second"));
    task.push_output(TaskIo::text("answer"));
    let runtime = Runtime { version: "1.0.0".into(), dashboard_url: "d".into(), api_root: "a".into() };
    let mount = MountFacts { bucket: "b".into(), prefix: "/p/".into(), backend: "gcs".into() };
    let (arguments, event) = (Json::from(json!({ "depth": 1 })), Json::from(json!({ "payload": 2 })));
    let all = Bound {
        context: Some(&task),
        is_observed: false,
        input: Some(arguments.value()),
        output: Some(Value::Int(3)),
        event: Some(event.value()),
        now: Some(&now),
        runtime: Some(&runtime),
        mount: Some(&mount),
        parameters: Some(Value::Int(4)),
        item: Some(Value::Int(5)),
        response: Some(Value::Int(6)),
        poll: Some(Value::Int(7)),
        usage: Some(Value::Int(9)),
        counters: None,
        invoked: &[],
        call: None,
        watch: None,
        functions: None,
        tool: Some(Value::Int(8)),
    };
    for which in Scope::ALL {
        let declared = scope(*which, &schema);
        let activation = declared.activation(&all).unwrap();
        assert!(declared.env().variables().all(|(_, variable)| activation.get(variable.slot).is_some()));
    }
    let read = |which: Scope, name: &str| {
        let declared = scope(which, &schema);
        value(declared.env(), &declared.activation(&all).unwrap(), name).unwrap()
    };
    assert_eq!(read(Scope::Before, "i"), r#"{"depth":1}"#);
    assert_eq!(read(Scope::After, "o"), "3");
    assert_eq!(read(Scope::After, "now"), r#""2026-06-01T12:00:00Z""#);
    assert_eq!(read(Scope::Before, "runtime"), r#"{"version":"1.0.0","dashboard_url":"d","api_root":"a"}"#);
    assert_eq!(read(Scope::Binding, "mount"), r#"{"bucket":"b","prefix":"/p/","backend":"gcs"}"#);
    assert_eq!(read(Scope::Before, "c"), task.to_json().unwrap().to_string());
    let entry = |text: &str| format!(r#"[{{"message":[{{"mimeType":"text/plain","text":"{text}"}}]}}]"#);
    assert_eq!(read(Scope::GuardrailBefore, "input"), entry("second"));
    assert_eq!(read(Scope::GuardrailAfter, "output"), entry("answer"));
    assert_eq!(read(Scope::Exposes, "input"), entry("second"));

    let declared = scope(Scope::Before, &schema);
    let action = declared.activation(&Bound { event: None, ..all }).unwrap();
    assert_eq!(value(declared.env(), &action, "event"), None);
}

#[test]
fn a_step_of_a_policy_reads_what_is_called() {
    let call = CallAtHand {
        function: "pay_refund".into(),
        tool: "pay".into(),
        tags: ["destructive".into(), "money".into()].into(),
        bound: ["order".into()].into(),
    };
    let declared = ScopeEnv::new(&ScopeDecl {
        call: Some(CallAtHand::cel_type([&call].into_iter())),
        ..ScopeDecl::new(Scope::After, EvalLimits::default())
    });
    let activation = declared.activation(&Bound { call: Some(&call), ..Bound::default() }).unwrap();
    assert_eq!(
        value(declared.env(), &activation, "call").unwrap(),
        r#"{"fn":"pay_refund","tool":"pay","tags":["destructive","money"]}"#
    );
}

#[test]
fn a_context_of_another_schema_is_refused() {
    let declared = scope(Scope::Before, &schema());
    let other = task(&schema());
    let fault = declared.activation(&Bound { context: Some(&other), ..Bound::default() }).unwrap_err();
    assert_eq!(fault.code, ErrorCode::WrongScope);
}

#[test]
fn what_is_tested_has_the_types_of_the_agent() {
    let schema = schema();
    let ty = |which: Scope, name: &str| {
        let declared = ScopeDecl {
            schema: Some(&schema),
            input: Type::Int,
            ..ScopeDecl::new(which, EvalLimits::default())
        };
        ScopeEnv::new(&declared).env().variable(name).unwrap().ty.clone()
    };
    assert_eq!(ty(Scope::Before, "context"), schema.context_type());
    assert_eq!(ty(Scope::Before, "input"), Type::Int);
    assert_eq!(ty(Scope::GuardrailBefore, "input"), Type::Singleton(schema.input_type().clone()));
    assert_eq!(ty(Scope::Exposes, "output"), Type::Singleton(schema.output_type().clone()));
    assert_eq!(schema.input_type().fields["repo"].ty, Type::String);
    let untyped = ScopeEnv::new(&ScopeDecl::new(Scope::Before, EvalLimits::default()));
    assert_eq!(untyped.env().variable("context").unwrap().ty, Type::Dyn);
    let Type::Record(event) = event_type(Type::Dyn, [("author".into(), Type::String)]) else {
        panic!("a record")
    };
    assert_eq!(event.storage, Storage::Closed);
    assert_eq!(event.fields.keys().map(|key| &**key).collect::<Vec<_>>(), ["payload", "author"]);
}
