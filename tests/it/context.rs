//! The task context against a model of it that is as slow and as plain as the specification's own words.

use celador::cel::{Json, List, Timestamp, Type, Value};
use celador::context::{
    Caller, ContextSchema, ContextState, FunctionDecl, FunctionId, InvocationId, InvocationRecord,
    InvocationStatus, Moment, OpenInvocation, RestoreError, SchemaDecl, SchemaError, TaskContext, TaskFacts,
    TaskIo, ToolDecl, TurnKind,
};
use celador::limits::EvalLimits;
use proptest::prelude::*;
use serde_json::{Value as Plain, json};
use std::sync::Arc;

const FUNCTIONS: [&str; 4] = ["ledger_lookup", "ledger_post_entry", "probe", "fact_checker"];
const START: i64 = 1_780_311_600;

fn function(key: &str) -> FunctionDecl {
    let delegation = key == "fact_checker";
    FunctionDecl { key: key.into(), input: Type::Dyn, output: Type::Dyn, delegation }
}

fn declared() -> SchemaDecl {
    SchemaDecl {
        functions: FUNCTIONS.map(function).into(),
        tools: vec![ToolDecl { key: "ledger".into(), members: vec![FunctionId(0), FunctionId(1)] }],
        parameters: vec![("ticket_id".into(), Type::String), ("repo".into(), Type::String)],
        exposes: vec![("score".into(), Type::Double)],
        ..SchemaDecl::default()
    }
}

fn schema() -> Arc<ContextSchema> {
    ContextSchema::new(&declared()).unwrap()
}

fn start() -> TaskFacts {
    TaskFacts {
        agent: "clerk".into(),
        namespace: "demo".into(),
        started_at: Timestamp::from_unix(START).unwrap(),
        user_id: "u-1".into(),
        user_claims: None,
        user_email: None,
        address: None,
        model: "test/model".into(),
        depth: 0,
    }
}

fn task() -> TaskContext {
    TaskContext::new(schema(), start())
}

fn moment(minute: i64) -> Moment {
    Timestamp::from_unix(START + 60 * minute).unwrap().into()
}

fn call(function: u32, status: InvocationStatus) -> InvocationRecord {
    InvocationRecord {
        function: FunctionId(function),
        at: moment(1),
        started_at: moment(1),
        input: json!({ "account": "a1" }).into(),
        output: (status != InvocationStatus::Restricted).then(|| json!({ "balance": 10 }).into()),
        status,
        executed: status != InvocationStatus::Restricted,
        origin: Caller::Model,
        task_id: None,
        message: 0,
        rejected: false,
    }
}

fn text(value: &Value<'_>) -> String {
    Json::from_value(value, &EvalLimits::default()).unwrap().to_string()
}

/// Reads `a.b[0].c` the way expressions do: by key and by index.
fn read<'a>(value: Value<'a>, path: &str) -> Option<Value<'a>> {
    path.split('.').try_fold(value, |value, key| match (value, key.parse()) {
        (Value::Map(map), _) => map.get_str(key),
        (Value::List(list), Ok(index)) => list.get(index),
        (Value::List(List::Live { of, at }), _) if of.forwards(at) => read(of.item(at, 0)?.into(), key),
        _ => None,
    })
}

/// One change to a task.
#[derive(Clone, Debug)]
enum Change {
    Input(Plain),
    Output(Plain),
    TransformInput(Plain),
    PopOutput,
    Turn(TurnKind),
    Tokens(u32, u32),
    Record {
        function: u32,
        status: InvocationStatus,
        executed: bool,
        origin: Caller,
        output: Option<Plain>,
        child: bool,
    },
    Restrict(usize),
    Open(u32),
    Close(usize),
}

/// The context as the specification prints it: everything is kept as it is shown, and recounted on every look.
#[derive(Clone, Debug, Default)]
struct Model {
    inputs: Vec<Plain>,
    outputs: Vec<Plain>,
    turns: Vec<&'static str>,
    tokens: (i64, i64),
    calls: Vec<(u32, Plain, InvocationStatus, Caller, bool, bool)>,
    open: Vec<(u32, Plain)>,
}

fn entry(message: &Plain, extra: &Plain) -> Plain {
    let parts = match message.as_str() {
        Some(text) => json!([{ "mimeType": "text/plain", "text": text }]),
        None => message.clone(),
    };
    let mut entry = json!({ "message": parts });
    for (key, value) in extra.as_object().into_iter().flatten().filter(|(key, _)| *key != "message") {
        entry[key] = value.clone();
    }
    entry
}

impl Model {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Input(whole) => self.inputs.push(entry(&whole["message"], whole)),
            Change::Output(whole) => self.outputs.push(entry(&whole["message"], whole)),
            Change::TransformInput(by) => {
                if let Some(last) = self.inputs.last_mut() {
                    *last = if by.is_object() { entry(&by["message"], by) } else { entry(by, last) };
                }
            }
            Change::PopOutput => {
                self.outputs.pop();
            }
            Change::Turn(kind) => self.turns.push(kind.as_str()),
            Change::Tokens(prompt, completion) => {
                self.tokens.0 += i64::from(*prompt);
                self.tokens.1 += i64::from(*completion);
            }
            Change::Record { function, status, executed, origin, output, child } => {
                let shown = json!({
                    "timestamps": moment(self.calls.len() as i64).as_str(),
                    "inputs": { "n": self.calls.len() },
                    "outputs": output,
                    "task_ids": child.then_some("t-7"),
                });
                self.calls.push((
                    *function,
                    shown,
                    *status,
                    *origin,
                    *executed,
                    status.is_rejection(*executed),
                ));
            }
            Change::Restrict(index) => {
                if let Some(call) = self.calls.get_mut(*index) {
                    call.2 = InvocationStatus::Restricted;
                }
            }
            Change::Open(function) => {
                self.open.push((*function, json!({ "n": self.open.len() })));
            }
            Change::Close(position) => {
                if *position < self.open.len() {
                    self.open.remove(*position);
                }
            }
        }
    }

    fn record(&self, members: &[u32], child: bool) -> Plain {
        let newest: Vec<_> = self.calls.iter().rev().filter(|call| members.contains(&call.0)).collect();
        let list = |key: &str| newest.iter().map(|call| call.1[key].clone()).collect::<Plain>();
        let flags = |status: InvocationStatus| newest.iter().map(|call| call.2 == status).collect::<Plain>();
        let count = |status: InvocationStatus| newest.iter().filter(|call| call.2 == status).count();
        json!({
            "count_successful": count(InvocationStatus::Successful),
            "count_errored": count(InvocationStatus::Errored),
            "count_restricted": count(InvocationStatus::Restricted),
            "timestamps": list("timestamps"),
            "inputs": list("inputs"),
            "outputs": list("outputs"),
            "successful": flags(InvocationStatus::Successful),
            "errored": flags(InvocationStatus::Errored),
            "restricted": flags(InvocationStatus::Restricted),
            "task_ids": if child { list("task_ids") } else { Plain::Null },
        })
    }

    /// The calls as objects: those of the model, or those of steps.
    fn calls(&self, members: &[u32], origin: Caller) -> Plain {
        let by = origin;
        // in these tests the model makes all calls that are open
        let open = self.open.iter().rev().filter(|call| by == Caller::Model && members.contains(&call.0));
        let open = open.map(|(function, input)| {
            json!({
                "seq": null, "at": null, "fn": FUNCTIONS[*function as usize], "input": input, "output": null,
                "status": "open", "open": true, "message": function, "started_at": moment(1).as_str(), "invoked": false,
            })
        });
        let closed = self.calls.iter().enumerate().rev().filter(|(_, call)| members.contains(&call.0));
        let closed = closed.filter(|(_, call)| !call.5 && call.3 == by);
        let closed = closed.map(|(position, (function, shown, status, origin, ..))| {
            json!({
                "seq": position + 1, "at": shown["timestamps"], "fn": FUNCTIONS[*function as usize], "input": shown["inputs"],
                "output": shown["outputs"], "status": serde_json::to_value(status).unwrap(), "open": false,
                "message": position / 3, "started_at": moment(position as i64 / 2).as_str(),
                "invoked": *origin == Caller::Middleware,
            })
        });
        open.chain(closed).collect()
    }

    fn shown(&self) -> Plain {
        let names: Vec<_> = self.calls.iter().map(|call| FUNCTIONS[call.0 as usize]).collect();
        json!({
            "agent": { "name": "clerk", "namespace": "demo", "started_at": moment(0).as_str() },
            "user": { "id": "u-1", "email": "" },
            "llm": { "model": "test/model", "tokens": {
                "prompt": self.tokens.0,
                "completion": self.tokens.1,
                "total": self.tokens.0 + self.tokens.1,
            } },
            "_history": { "turns": self.turns, "turn_count": self.turns.len() },
            "input": self.inputs,
            "output": self.outputs,
            "capabilities": {
                "_meta": {
                    "invocations": names,
                    "count": names.len(),
                    "delegation_count": names.iter().filter(|name| **name == "fact_checker").count(),
                },
                "ledger_lookup": self.record(&[0], false),
                "ledger_post_entry": self.record(&[1], false),
                "probe": self.record(&[2], false),
                "fact_checker": self.record(&[3], true),
                "ledger": self.record(&[0, 1], false),
            },
            // reviews are those of a task, which this context has none of
            "reviews": [],
        })
    }
}

fn apply(task: &mut TaskContext, recorded: &mut Vec<InvocationId>, change: &Change) {
    match change {
        Change::Input(whole) => task.push_input(TaskIo::from_entry(Json::from(whole).root()).unwrap()),
        Change::Output(whole) => task.push_output(TaskIo::from_entry(Json::from(whole).root()).unwrap()),
        Change::TransformInput(by) => {
            if let Some(last) = task.last_input() {
                let transformed = last.transformed(Json::from(by).root()).unwrap();
                task.replace_last_input(transformed);
            }
        }
        Change::PopOutput => {
            task.pop_output();
        }
        Change::Turn(kind) => task.turn(*kind),
        Change::Tokens(prompt, completion) => task.add_tokens((*prompt).into(), (*completion).into()),
        Change::Record { function, status, executed, origin, output, child } => {
            let position = task.invocations().len();
            recorded.push(task.record(InvocationRecord {
                function: FunctionId(*function),
                at: moment(position as i64),
                started_at: moment(position as i64 / 2),
                input: json!({ "n": position }).into(),
                output: output.as_ref().map(Json::from),
                status: *status,
                executed: *executed,
                origin: *origin,
                task_id: child.then(|| "t-7".into()),
                message: u32::try_from(position / 3).unwrap(),
                rejected: status.is_rejection(*executed),
            }));
        }
        Change::Restrict(index) => {
            if let Some(id) = recorded.get(*index) {
                task.restrict(*id);
            }
        }
        Change::Open(function) => {
            let input = json!({ "n": task_open(task) });
            task.open_call(OpenInvocation {
                function: FunctionId(*function),
                input: input.into(),
                message: *function,
                started_at: moment(1),
                origin: Caller::Model,
            });
        }
        Change::Close(position) => task.close_call(*position),
    }
}

/// How many calls are open.
fn task_open(task: &TaskContext) -> usize {
    let length = |path| match read(task.value(), path) {
        Some(Value::List(list)) => list.len(),
        _ => panic!("a list"),
    };
    length("calls") + length("invoked") + length("rejected") - task.invocations().len()
}

fn scalars() -> impl Strategy<Value = Plain> {
    prop_oneof![
        Just(Plain::Null),
        any::<bool>().prop_map(Plain::from),
        any::<i64>().prop_map(Plain::from),
        (-1e9..1e9).prop_map(Plain::from),
        ".{0,8}".prop_map(Plain::from),
    ]
}

fn messages() -> impl Strategy<Value = Plain> {
    let part = prop_oneof![
        ".{0,8}".prop_map(|text| json!({ "mimeType": "text/plain", "text": text })),
        Just(json!({ "mimeType": "image/png", "uri": "x" })),
    ];
    prop_oneof![".{0,8}".prop_map(Plain::from), prop::collection::vec(part, 0..3).prop_map(Plain::from)]
}

fn entries() -> impl Strategy<Value = Plain> {
    let key = prop::sample::select(vec!["ticket_id", "repo", "score", "other", "ключ"]);
    let extra = prop::collection::vec((key, scalars()), 0..4);
    (messages(), extra).prop_map(|(message, extra)| {
        let mut entry = json!({ "message": message });
        extra.into_iter().for_each(|(key, value)| entry[key] = value);
        entry
    })
}

fn changes() -> impl Strategy<Value = Change> {
    let status = || {
        prop::sample::select(vec![
            InvocationStatus::Successful,
            InvocationStatus::Errored,
            InvocationStatus::Restricted,
        ])
    };
    let origin = prop::sample::select(vec![Caller::Model, Caller::Middleware]);
    let turn = prop::sample::select(vec![TurnKind::Input, TurnKind::Llm, TurnKind::Capability]);
    let record = (0..4_u32, status(), any::<bool>(), origin, prop::option::of(scalars()), any::<bool>())
        .prop_map(|(function, status, executed, origin, output, child)| {
            let child = child && function == 3;
            Change::Record { function, status, executed, origin, output, child }
        });
    prop_oneof![
        2 => entries().prop_map(Change::Input),
        2 => entries().prop_map(Change::Output),
        1 => prop_oneof![messages(), entries()].prop_map(Change::TransformInput),
        1 => Just(Change::PopOutput),
        2 => turn.prop_map(Change::Turn),
        1 => any::<(u32, u32)>().prop_map(|(prompt, completion)| Change::Tokens(prompt, completion)),
        8 => record,
        2 => (0..40_usize).prop_map(Change::Restrict),
        3 => (0..4_u32).prop_map(Change::Open),
        2 => (0..4_usize).prop_map(Change::Close),
    ]
}

/// Every key and index of a value, looked up as expressions do, gives what walking over it gives; nothing lies past
/// the end.
fn agrees(value: &Value<'_>) {
    match value {
        Value::Map(map) => {
            for (key, field) in map.iter() {
                assert_eq!(text(&map.get(&key).unwrap()), text(&field));
                agrees(&field);
            }
            assert_eq!(map.iter().count(), map.len());
            assert!(map.get_str("no such key").is_none() && map.entry(map.len()).is_none());
        }
        Value::List(list) => {
            list.iter().for_each(|item| agrees(&item));
            assert_eq!(list.iter().count(), list.len());
            assert!(list.get(list.len()).is_none());
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_sequence_of_changes_reads_as_the_model_has_it(changes in prop::collection::vec(changes(), 0..40)) {
        let (mut task, mut recorded, mut model) = (task(), Vec::new(), Model::default());
        for change in &changes {
            apply(&mut task, &mut recorded, change);
            model.apply(change);
        }
        let json = task.to_json().unwrap();
        prop_assert_eq!(&json, &Json::from(model.shown()));
        agrees(&task.value());
        for (path, members) in [
            ("calls", &[0, 1, 2, 3][..]),
            ("capabilities.ledger_lookup.calls", &[0]),
            ("cap.ledger.calls", &[0, 1]),
            ("cap.fact_checker.calls", &[3]),
        ] {
            let invoked = path.replace("calls", "invoked");
            for (path, origin) in [(path, Caller::Model), (&*invoked, Caller::Middleware)] {
                let calls = read(task.value(), path).unwrap();
                agrees(&calls);
                prop_assert_eq!(text(&calls), Json::from(model.calls(members, origin)).to_string(), "{}", path);
            }
        }

        let by_model = |call: &&(u32, Plain, InvocationStatus, Caller, bool, bool)| call.3 == Caller::Model;
        prop_assert_eq!(task.calls_by_model() as usize, model.calls.iter().filter(by_model).count());
        prop_assert_eq!(task.llm_turns() as usize, model.turns.iter().filter(|turn| **turn == "llm").count());
        for (id, _) in schema().functions() {
            let ran = model.calls.iter().filter(by_model).filter(|call| call.4 && call.0 == id.0);
            prop_assert_eq!(task.executed(id) as usize, ran.count());
        }

        let state = task.state();
        let wire = serde_json::to_string(&state).unwrap();
        let read: ContextState = serde_json::from_str(&wire).unwrap();
        prop_assert_eq!(&read, &state);
        let restored = TaskContext::restore(task.schema().clone(), read).unwrap();
        prop_assert_eq!(serde_json::to_string(&restored.state()).unwrap(), wire);
        prop_assert_eq!(restored.to_json().unwrap().to_string(), json.to_string());
        prop_assert_eq!(restored.calls_by_model(), task.calls_by_model());
        prop_assert_eq!(restored.llm_turns(), task.llm_turns());
    }
}

#[test]
fn a_new_task_has_zeros_for_all_that_is_known() {
    let task = task();
    let shown = task.to_json().unwrap();
    assert_eq!(shown, Json::from(Model::default().shown()));
    assert!(read(task.value(), "capabilities.typo").is_none());
    for absent in ["settings", "auth", "session", "middleware"] {
        assert!(read(task.value(), absent).is_none());
    }
    assert_eq!(text(&read(task.value(), "cap._meta.count").unwrap()), "0");
    let Value::Map(context) = task.value() else { panic!("a record") };
    assert!(context.iter().all(|(key, _)| key.value().as_str() != Some("cap")));
}

#[test]
fn a_withheld_result_turns_restricted_and_stays_on_record() {
    let mut task = task();
    let first = task.record(call(0, InvocationStatus::Successful));
    task.record(call(1, InvocationStatus::Errored));
    task.restrict(first);
    task.restrict(first);
    let at = |path: &str| text(&read(task.value(), path).unwrap());
    assert_eq!(at("capabilities.ledger_lookup.count_successful"), "0");
    assert_eq!(at("capabilities.ledger_lookup.count_restricted"), "1");
    assert_eq!(at("capabilities.ledger_lookup.outputs.0.balance"), "10");
    assert_eq!(at("capabilities.ledger.restricted"), "[false,true]");
    assert_eq!(at("capabilities.ledger.count_errored"), "1");
    assert_eq!(at("capabilities.probe.task_ids"), "null");
    assert_eq!(task.executed(FunctionId(0)), 1);
    assert_eq!(task.calls_by_model(), 2);
}

#[test]
fn a_function_of_another_schema_counts_and_harms_nothing() {
    let mut task = task();
    task.record(call(99, InvocationStatus::Successful));
    assert_eq!(task.calls_by_model(), 1);
    assert_eq!(text(&read(task.value(), "capabilities._meta.count").unwrap()), "1");
    assert_eq!(
        TaskContext::restore(task.schema().clone(), task.state()).unwrap_err(),
        RestoreError::UnknownFunction("".into())
    );
    agrees(&task.value());
}

#[test]
fn size_of_a_message_counts_characters() {
    let mut task = task();
    let parts = json!([{ "text": "a😀" }, { "mimeType": "image/png" }, { "text": "é" }, { "text": 7 }]);
    task.push_input(TaskIo::new(Json::from(parts).root()).unwrap());
    let Some(Value::List(message)) = read(task.value(), "input.0.message") else { panic!("a list") };
    assert_eq!((message.size(), message.len()), (3, 4));
    assert_eq!(text(&message.get(2).unwrap()), r#"{"text":"é"}"#);
    assert_eq!(task.last_input().unwrap().message_text(), "a😀é");
    let Some(Value::List(inputs)) = read(task.value(), "input") else { panic!("a list") };
    assert_eq!(inputs.size(), 1);
}

#[test]
fn the_entry_under_test_is_the_last_one_in_a_list_of_its_own() {
    let mut task = task();
    assert_eq!(text(&task.input_under_test()), "[]");
    task.push_input(TaskIo::text("first"));
    task.push_input(
        TaskIo::text("second").with_extra(Json::from(json!({ "repo": "r", "message": 1 })).root()),
    );
    task.push_output(TaskIo::text("answer"));
    assert_eq!(text(&read(task.input_under_test(), "0.message.0.text").unwrap()), r#""second""#);
    assert_eq!(text(&read(task.input_under_test(), "message.0.text").unwrap()), r#""second""#);
    assert_eq!(text(&read(task.input_under_test(), "repo").unwrap()), r#""r""#);
    assert_eq!(text(&read(task.output_under_test(), "message.0.text").unwrap()), r#""answer""#);
    assert!(read(task.input_under_test(), "1").is_none());
    assert!(read(task.value(), "input.message").is_none());
}

#[test]
fn what_is_no_entry_is_refused_without_saying_what_it_held() {
    let refused = |entry: Plain| TaskIo::from_entry(Json::from(entry).root()).unwrap_err().to_string();
    assert_eq!(refused(json!({ "ticket": "secret" })), "an entry needs a `message`");
    assert_eq!(refused(json!({ "message": 41 })), "a message is text or a list of content parts, not `int`");
    assert_eq!(refused(json!({ "message": ["secret"] })), "a content part is an object, not `string`");
}

#[test]
fn records_need_keys_of_their_own() {
    let keys = |functions: &[&str], tools: &[&str], member: u32| {
        let tool = |key: &&str| ToolDecl { key: (*key).into(), members: vec![FunctionId(member)] };
        let functions = functions.iter().map(|key| function(key)).collect();
        let tools = tools.iter().map(tool).collect();
        ContextSchema::new(&SchemaDecl { functions, tools, ..SchemaDecl::default() }).map(|_| ())
    };
    assert_eq!(keys(&["a_b", "a_b"], &[], 0), Err(SchemaError::KeyIsTaken("a_b".into())));
    assert_eq!(keys(&["a_b"], &["a_b"], 0), Err(SchemaError::KeyIsTaken("a_b".into())));
    assert_eq!(keys(&["_meta"], &[], 0), Err(SchemaError::KeyIsTaken("_meta".into())));
    assert_eq!(keys(&["a"], &["t"], 1), Err(SchemaError::NoSuchMember("t".into())));
    assert_eq!(keys(&["a"], &["t"], 0), Ok(()));
    let schema = schema();
    assert_eq!(schema.function("probe"), Some(FunctionId(2)));
    assert_eq!(schema.function("ledger"), None, "a tool is no function");
    assert_eq!(schema.key(FunctionId(4)), None);
}

#[test]
fn a_stored_state_needs_the_version_and_the_functions_that_it_was_written_with() {
    let mut task = task();
    task.record(call(2, InvocationStatus::Successful));
    let mut wire = serde_json::to_value(task.state()).unwrap();
    let other = SchemaDecl { functions: vec![function("other")], ..SchemaDecl::default() };
    let other = ContextSchema::new(&other).unwrap();
    let unknown = TaskContext::restore(other, task.state()).unwrap_err();
    assert_eq!(unknown, RestoreError::UnknownFunction("probe".into()));
    wire["version"] = 2.into();
    let later = TaskContext::restore(schema(), serde_json::from_value(wire.clone()).unwrap()).unwrap_err();
    assert_eq!(later, RestoreError::OtherVersion(2));
    wire["surprise"] = 1.into();
    assert!(serde_json::from_value::<ContextState>(wire).is_err());
}

#[test]
fn the_started_time_keeps_its_fraction_in_the_state_only() {
    let started_at: Timestamp = "2026-05-20T03:45:00.25Z".parse().unwrap();
    let task =
        TaskContext::new(schema(), TaskFacts { started_at, user_email: Some("a@x.io".into()), ..start() });
    assert_eq!(text(&read(task.value(), "agent.started_at").unwrap()), r#""2026-05-20T03:45:00.25Z""#);
    let restored = TaskContext::restore(schema(), task.state()).unwrap();
    assert_eq!(restored.started_at(), started_at);
    assert_eq!(restored.start(), task.start());
}

#[test]
fn an_invocation_costs_little_more_than_its_json() {
    let input = json!({ "path": "/srv/docs/handbook.md", "note": "x".repeat(150), "ticket_id": 4711 });
    let output = json!({ "status": "ok", "body": "y".repeat(150), "id": 17, "status_code": 200 });
    let mut task = task();
    let before = task.heap_bytes();
    for _ in 0..10_000 {
        task.record(InvocationRecord {
            input: input.clone().into(),
            output: Some(output.clone().into()),
            ..call(2, InvocationStatus::Successful)
        });
        task.turn(TurnKind::Capability);
    }
    let bytes = task.heap_bytes() - before;
    let json = task.to_json().unwrap().to_string().len();
    assert!(bytes * 2 <= json * 3, "{bytes} bytes for {json} bytes of JSON");
    assert!(bytes / 10_000 < 1_000, "{} bytes an invocation", bytes / 10_000);
}

#[test]
fn dropping_what_was_pushed_gives_its_memory_back() {
    let mut task = task();
    task.push_output(TaskIo::text("kept"));
    let kept = task.heap_bytes();
    let large = TaskIo::text(&"x".repeat(10_000)).with_extra(Json::from(json!({ "unheard": 1 })).root());
    task.push_output(large.clone());
    assert!(task.heap_bytes() > kept + 10_000);
    assert_eq!(task.pop_output(), Some(large));
    assert!(task.heap_bytes() < kept + 1_000);
}

#[test]
fn debug_output_shows_no_task_data() {
    let mut task = task();
    task.push_input(TaskIo::text("secret"));
    assert_eq!(format!("{task:?}"), "TaskContext { turns: 0, inputs: 1, outputs: 0, invocations: 0 }");
}
