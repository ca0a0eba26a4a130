//! The rules of conversations, each table whole: lifecycle, envelope, numbers, ids, parents, and what a failing store leaves.

use celador::Timestamp;
use celador_store::conversation::{
    A2aTaskState, Artifact, Card, Changes, Context, ContextStatus, ConversationError, ConversationSettings,
    Conversations, Details, EXTENSIONS, HistoryOrder, Incoming, ListShape, MAX_ID_BYTES, Message, TaskRecord,
    Window, activated, answer, needed_scope, unauthenticated,
};
use celador_store::{Database, FaultPlan, Location, StoreLimits};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

pub const NOW: &str = "2026-01-15T12:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// Bits for new ids, one after the other from a number on.
pub fn counted(first: u64) -> impl Fn() -> u128 + Send + Sync {
    let next = AtomicU64::new(first);
    move || next.fetch_add(1, Ordering::Relaxed).into()
}

pub fn opened() -> (Conversations, Database) {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    (Conversations::new(database.clone(), counted(0)), database)
}

pub fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

pub fn message(id: &str) -> Message {
    Message::read(&raw(&json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": id}]}))).unwrap()
}

/// The answer to a body, which must be one object of JSON-RPC.
pub fn post(
    conversations: &Conversations,
    settings: &ConversationSettings,
    caller: Option<&str>,
    body: &[u8],
) -> Value {
    let bytes = answer(conversations, settings, caller, body, now());
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(answer["jsonrpc"], "2.0");
    assert_ne!(answer.get("result").is_some(), answer.get("error").is_some(), "{answer}");
    answer
}

pub fn call(conversations: &Conversations, caller: Option<&str>, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(conversations, &ConversationSettings::default(), caller, request.to_string().as_bytes())
}

/// The code of a refusal, or nothing.
pub fn code<T>(done: Result<T, ConversationError>) -> Option<i32> {
    match done {
        Ok(_) => None,
        Err(error) => Some(error.refusal().unwrap_or_else(|| panic!("{error}")).code()),
    }
}

fn context(id: &str, owner: Option<&str>, status: ContextStatus) -> Context {
    Context { status, details: Details::default(), ..Context::implicit(id, owner, now()) }
}

fn task(id: &str, state: A2aTaskState) -> TaskRecord {
    TaskRecord { id: id.into(), state, history: vec![message("m")], status_message: None, artifacts: vec![] }
}

/// The table of operations: each status, with an unfinished and a finished task in it (L1 to L3, K5).
#[test]
fn each_operation_in_each_status() {
    const SEND_NEW: fn(&Conversations) -> Option<i32> = |kept| {
        let incoming = Incoming { context_id: Some("c"), task_id: Some("new"), ..Incoming::default() };
        code(kept.send(Some("a"), &incoming, now()))
    };
    const SEND_OPEN: fn(&Conversations) -> Option<i32> = |kept| {
        let incoming = Incoming { context_id: Some("c"), task_id: Some("open"), ..Incoming::default() };
        code(kept.send(Some("a"), &incoming, now()))
    };
    const SEND_DONE: fn(&Conversations) -> Option<i32> = |kept| {
        let incoming = Incoming { context_id: Some("c"), task_id: Some("done"), ..Incoming::default() };
        code(kept.send(Some("a"), &incoming, now()))
    };
    const ADD: fn(&Conversations) -> Option<i32> =
        |kept| code(kept.add(Some("a"), "open", &[message("m")], &[], now()));
    const UPDATE: fn(&Conversations) -> Option<i32> = |kept| {
        let changes =
            Changes::read(&raw(&json!({"name": "x", "tags": ["t"], "metadata": {"k": 1}}))).unwrap();
        code(kept.update(Some("a"), "c", &changes, now()))
    };
    const CLEAR: fn(&Conversations) -> Option<i32> = |kept| code(kept.clear(Some("a"), "c"));
    const STATE: fn(&Conversations) -> Option<i32> =
        |kept| code(kept.set_task_state(Some("a"), "open", "TASK_STATE_FAILED", None));
    type Row = (&'static str, fn(&Conversations) -> Option<i32>, [Option<i32>; 4]);
    let rows: [Row; 7] = [
        ("new task", SEND_NEW, [None, Some(-32004), Some(-32004), Some(-32004)]),
        ("message to an unfinished task", SEND_OPEN, [None, None, Some(-32004), Some(-32004)]),
        ("message to a finished task", SEND_DONE, [Some(-32008); 4]),
        ("what an agent says", ADD, [None, None, Some(-32004), Some(-32004)]),
        ("change of the description", UPDATE, [None, None, None, Some(-32004)]),
        ("clear", CLEAR, [None, None, None, Some(-32021)]),
        ("state of a task", STATE, [None; 4]),
    ];
    for (name, operation, expected) in rows {
        for (status, expected) in ContextStatus::ALL.into_iter().zip(expected) {
            let (kept, _) = opened();
            let tasks = [task("open", A2aTaskState::Working), task("done", A2aTaskState::Completed)];
            let tasks: Vec<_> = tasks.into_iter().map(|task| ("c".to_owned(), task)).collect();
            kept.import(&[context("c", Some("a"), status)], &tasks).unwrap();
            let before = call(&kept, Some("a"), "contexts/list", json!({}));
            assert_eq!(operation(&kept), expected, "{name} while {}", status.name());
            if expected.is_some() {
                assert_eq!(
                    call(&kept, Some("a"), "contexts/list", json!({})),
                    before,
                    "{name} left something"
                );
            }
            for method in ["GetContext", "context/get"] {
                let read = call(&kept, Some("a"), method, json!({"contextId": "c"}));
                assert!(read["result"].is_object(), "{read}");
            }
        }
    }
}

/// Each transition, with every task finished and with one that is not (L1).
#[test]
fn each_transition() {
    const NO: Option<i32> = Some(-32004);
    // rows: from; columns: to; of completing what it takes is that every task is finished
    let table = [[None; 4], [None; 4], [NO, NO, None, None], [NO, NO, NO, None]];
    for (from, row) in ContextStatus::ALL.into_iter().zip(table) {
        for (to, expected) in ContextStatus::ALL.into_iter().zip(row) {
            for state in [None, Some(A2aTaskState::Completed), Some(A2aTaskState::InputRequired)] {
                let (kept, _) = opened();
                let tasks: Vec<_> =
                    state.map(|state| ("c".to_owned(), task("t", state))).into_iter().collect();
                kept.import(&[context("c", None, from)], &tasks).unwrap();
                let unfinished = state == Some(A2aTaskState::InputRequired);
                let completing = to == ContextStatus::Completed && from != to && unfinished;
                let expected = if completing { NO } else { expected };
                let later = "2027-01-01T00:00:00Z".parse().unwrap();
                let case = format!("{} to {} with {state:?}", from.name(), to.name());
                assert_eq!(code(kept.set_status(None, "c", to.name(), later)), expected, "{case}");
                let listed = call(&kept, None, "contexts/list", json!({}))["result"]["contexts"][0].clone();
                let moved = expected.is_none() && from != to;
                assert_eq!(listed["status"], if moved { to.name() } else { from.name() }, "{case}");
                assert_eq!(listed["updatedAt"], if moved { "2027-01-01T00:00:00Z" } else { NOW }, "{case}");
            }
        }
    }
    let (kept, _) = opened();
    kept.import(&[context("c", None, ContextStatus::Active)], &[]).unwrap();
    for unknown in ["running", "Active", "", "ACTIVE"] {
        assert_eq!(code(kept.set_status(None, "c", unknown, now())), Some(-32602));
    }
}

/// Whose a context is comes before whether a task is finished, and that before the status (L2, K3).
#[test]
fn the_owner_is_asked_for_first() {
    for (owner, caller) in [(Some("a"), Some("b")), (Some("a"), None), (None, Some("a"))] {
        let (kept, _) = opened();
        let tasks = [("c".to_owned(), task("done", A2aTaskState::Completed))];
        kept.import(&[context("c", owner, ContextStatus::Archived)], &tasks).unwrap();
        for id in ["done", "new"] {
            let incoming = Incoming { context_id: Some("c"), task_id: Some(id), ..Incoming::default() };
            let refused = kept.send(caller, &incoming, now()).unwrap_err();
            assert_eq!(refused.to_string(), "Context not found");
            assert_eq!(code::<()>(Err(refused)), Some(-32001));
        }
        let changes = Changes::read(&raw(&json!({"name": "x"}))).unwrap();
        assert_eq!(code(kept.update(caller, "c", &changes, now())), Some(-32001));
        assert_eq!(code(kept.set_status(caller, "c", "active", now())), Some(-32001));
        assert_eq!(code(kept.update(caller, "nowhere", &changes, now())), Some(-32001));
        if caller.is_some() {
            assert_eq!(code(kept.set_task_state(caller, "done", "TASK_STATE_FAILED", None)), Some(-32001));
            assert_eq!(code(kept.add(caller, "done", &[message("m")], &[], now())), Some(-32001));
        }
    }
}

/// The envelope: body, code, id of the answer (J1 to J7).
#[test]
fn each_envelope() {
    let (kept, _) = opened();
    let known = r#""method": "GetContexts""#;
    let rows: &[(&str, i64, Value)] = &[
        ("", -32700, Value::Null),
        ("   ", -32700, Value::Null),
        ("{", -32700, Value::Null),
        ("nul", -32700, Value::Null),
        ("{} {}", -32700, Value::Null),
        ("{'id': 1}", -32700, Value::Null),
        ("{\"id\": NaN}", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("null", -32600, Value::Null),
        ("\"x\"", -32600, Value::Null),
        ("7", -32600, Value::Null),
        ("{}", -32600, Value::Null),
        (r#"{"id": 1, "method": "GetContexts"}"#, -32600, json!(1)),
        (r#"{"jsonrpc": 2.0, "id": 1, "method": "GetContexts"}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2", "id": "x", "method": "GetContexts"}"#, -32600, json!("x")),
        (r#"{"jsonrpc": null, "id": null, "method": "GetContexts"}"#, -32600, Value::Null),
        (r#"{"jsonrpc": "2.0", "id": 1}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": null}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": 5}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": -4, "method": "getcontexts"}"#, -32601, json!(-4)),
        (r#"{"jsonrpc": "2.0", "id": "", "method": "message/send", "params": []}"#, -32601, json!("")),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "nothing", "params": 3}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": null}"#, -32602, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": [1]}"#, -32602, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": "x"}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": true}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": -1.5}"#, -32600, json!(1)),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": {"metadata": []}}"#,
            -32602,
            json!(1),
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "contexts/clear", "params": {"contextId": "x", "metadata": 1}}"#,
            -32602,
            json!(1),
        ),
    ];
    for (body, code, id) in rows {
        let answer = post(&kept, &ConversationSettings::default(), None, body.as_bytes());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), id), "{body}");
    }
    let no_text =
        post(&kept, &ConversationSettings::default(), None, b"{\"jsonrpc\": \"2.0\", \"id\": \"\xff\"}");
    assert_eq!(no_text["error"]["code"], -32700);
    // ids: what is no string, integer or null is not usable (J5); the others come back as they are, to the digit
    for id in ["1.0", "1.5", "1e2", "true", "[]", "{}", "[1]"] {
        let body = format!(r#"{{"jsonrpc": "2.0", "id": {id}, {known}}}"#);
        let answer = post(&kept, &ConversationSettings::default(), None, body.as_bytes());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{id}");
    }
    for id in
        ["0", "-7", "12345678901234567890123456789", "\"\"", "\"9\"", "\"a\\u0000\\ud83d\\ude00\"", "null"]
    {
        let body =
            format!(r#"{{"jsonrpc": "2.0", "trace": [], "id": {id}, {known}, "params": {{"colour": 1}}}}"#);
        let bytes = answer(&kept, &ConversationSettings::default(), None, body.as_bytes(), now());
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[]}}"#));
    }
    // of equal members the last counts
    let twice = r#"{"jsonrpc": "1.0", "jsonrpc": "2.0", "id": 1, "id": 2, "method": "GetContexts"}"#;
    assert_eq!(post(&kept, &ConversationSettings::default(), None, twice.as_bytes())["id"], 2);
}

/// Whole numbers in every form (J9, J10): how many of five contexts are left.
#[test]
fn each_number() {
    let (kept, _) = opened();
    for id in ["1", "2", "3", "4", "5"] {
        kept.send(None, &Incoming { context_id: Some(id), ..Incoming::default() }, now()).unwrap();
    }
    let count = |name: &str, value: &str| {
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "GetContexts", "params": {{"{name}": {value}}}}}"#
        );
        let answer = post(&kept, &ConversationSettings::default(), None, body.as_bytes());
        match answer["result"].as_array() {
            Some(ids) => Ok(ids.len()),
            None => Err(answer["error"]["code"].as_i64().unwrap()),
        }
    };
    let lengths = [
        ("2", 2),
        ("2.0", 2),
        ("2e0", 2),
        ("20e-1", 2),
        ("0.2e1", 2),
        ("2.000E+0", 2),
        ("\"2\"", 2),
        ("\"+2\"", 2),
        ("\"002\"", 2),
        ("0", 5),
        ("-0", 5),
        ("-0.0", 5),
        ("\"-0\"", 5),
        ("0e999999999999999999999", 5),
        ("null", 5),
        ("1e3", 5),
        ("1000000000000", 5),
        ("99999999999999999999999999999999999999999999999999", 5),
        ("1e400", 5),
        ("\"99999999999999999999999999999999999999999999\"", 5),
        ("1e99999999999999999999", 5),
    ];
    for (value, expected) in lengths {
        assert_eq!(count("historyLength", value), Ok(expected), "{value}");
        assert_eq!(count("history_length", value), Ok(expected), "{value}");
    }
    for (value, expected) in
        [("4", 1), ("\"4\"", 1), ("5", 0), ("1e30", 0), ("1e400", 0), ("null", 5), ("0", 5)]
    {
        assert_eq!(count("historyOffset", value), Ok(expected), "{value}");
    }
    let refused = [
        "-1", "-1.0", "-1e400", "1.5", "25e-1", "1e-400", "true", "false", "\"\"", "\"+\"", "\"-1\"",
        "\"2.0\"", "\" 2\"", "\"2 \"", "\"1e1\"", "\"٣\"", "\"ten\"", "\"+-2\"", "\"1_0\"", "[]", "[2]",
        "{}", "\"0x2\"",
    ];
    for value in refused {
        assert_eq!(count("historyLength", value), Err(-32602), "{value}");
        assert_eq!(count("history_offset", value), Err(-32602), "{value}");
    }
    // the camelCase spelling counts where both are there, whatever it is (J8)
    let both = |params: Value| call(&kept, None, "GetContexts", params);
    assert_eq!(both(json!({"historyLength": 1, "history_length": 2}))["result"].as_array().unwrap().len(), 1);
    assert_eq!(
        both(json!({"historyLength": null, "history_length": 2}))["result"].as_array().unwrap().len(),
        5
    );
    assert_eq!(both(json!({"historyLength": "x", "history_length": 2}))["error"]["code"], -32602);
    let ids = json!({"contextId": null, "context_id": "1"});
    assert_eq!(call(&kept, None, "GetContext", ids.clone())["error"]["code"], -32602);
    assert_eq!(call(&kept, None, "contexts/clear", ids)["error"]["code"], -32602);
}

/// Paging numbers, also beyond what a machine word holds (B6, J10).
#[test]
fn each_page() {
    let (kept, _) = opened();
    for id in ["1", "2", "3"] {
        kept.send(None, &Incoming { context_id: Some(id), ..Incoming::default() }, now()).unwrap();
    }
    let page = |metadata: &str| {
        let body = format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "method": "contexts/list", "params": {{"metadata": {metadata}}}}}"#
        );
        let answer = post(&kept, &ConversationSettings::default(), None, body.as_bytes());
        let result = &answer["result"];
        let listed = result["contexts"].as_array().map(Vec::len);
        (listed, result["total"].clone(), result["page"].clone(), result["pageSize"].clone())
    };
    let rows = [
        ("{}", 3, json!(1), json!(3)),
        (r#"{"offset": 2}"#, 1, json!(1), json!(3)),
        (r#"{"limit": 2}"#, 2, json!(1), json!(2)),
        (r#"{"limit": 2, "offset": 3}"#, 0, json!(2), json!(2)),
        (r#"{"limit": "2", "offset": 1.0}"#, 2, json!(1), json!(2)),
        (
            r#"{"limit": 1, "offset": 18446744073709551614}"#,
            0,
            json!(18_446_744_073_709_551_615_u64),
            json!(1),
        ),
        (r#"{"limit": 100000000000000000000}"#, 3, json!(1), json!(1e20)),
        (r#"{"limit": 1e400}"#, 3, json!(1), json!(3)),
        (
            r#"{"limit": null, "offset": null, "status": null, "tags": null, "sortBy": null}"#,
            3,
            json!(1),
            json!(3),
        ),
    ];
    for (metadata, listed, number, size) in rows {
        assert_eq!(page(metadata), (Some(listed), json!(3), number, size), "{metadata}");
    }
    let wrong = [
        json!({"limit": 0}),
        json!({"limit": -1}),
        json!({"limit": true}),
        json!({"offset": -1}),
        json!({"status": "Active"}),
        json!({"status": 1}),
        json!({"role": 5}),
        json!({"tags": 5}),
        json!({"tags": ["a", 1]}),
        json!({"tags": [null]}),
        json!({"tags": {}}),
        json!({"sortBy": "owner"}),
        json!({"sortBy": 1}),
        json!({"sortOrder": "ASC"}),
        json!({"createdAfter": "2025-10-01"}),
        json!({"createdAfter": "2025-10-01T00:00:00"}),
        json!({"createdAfter": 5}),
        json!({"created_before": "yesterday"}),
        json!({"createdBefore": "2025-13-01T00:00:00Z"}),
        json!({"createdAfter": "x", "created_after": "2025-01-01T00:00:00Z"}),
    ];
    for metadata in wrong {
        let answer = call(&kept, None, "contexts/list", json!({"metadata": metadata}));
        assert_eq!(answer["error"]["code"], -32602, "{metadata}");
    }
    let instants =
        json!({"createdAfter": "2026-01-15T14:00:00+02:00", "created_before": "2026-01-15T07:00:00-05:00"});
    assert_eq!(page(&instants.to_string()).0, Some(3));
    assert_eq!(
        page(r#"{"createdAfter": "2027-01-01T00:00:00Z", "createdBefore": "2020-01-01T00:00:00Z"}"#).0,
        Some(0)
    );
    assert_eq!(page(r#"{"tags": []}"#).0, Some(3));
    assert_eq!(page(r#"{"tags": "none"}"#).0, Some(0));
    assert_eq!(page(r#"{"role": "assistant"}"#).0, Some(3));
}

/// UUIDs in their usual forms, and what is none (K2, K4).
#[test]
fn each_form_of_an_id() {
    const ID: &str = "c0ffee00-0000-4000-8000-00000000abcd";
    let forms = [
        ID.to_owned(),
        ID.to_uppercase(),
        ID.replace('-', ""),
        format!("{{{ID}}}"),
        format!("{{{}}}", ID.replace('-', "").to_uppercase()),
        format!("urn:uuid:{ID}"),
        format!("URN:UUID:{}", ID.to_uppercase()),
    ];
    for form in forms {
        let (kept, _) = opened();
        let cleared =
            |kept: &Conversations| call(kept, Some("a"), "contexts/clear", json!({"contextId": form}));
        let unknown = cleared(&kept);
        assert_eq!(unknown["error"]["code"], -32001, "{form}");
        assert_eq!(unknown["error"]["message"], format!("Context {ID} not found"));
        assert_eq!(
            unknown["error"]["data"],
            json!({"contextId": ID, "reason": "CONTEXT_NOT_FOUND", "documentedCode": -32020})
        );
        kept.import(&[context(ID, Some("b"), ContextStatus::Active)], &[]).unwrap();
        assert_eq!(cleared(&kept), unknown, "somebody else's is as unknown");
        kept.clear(Some("b"), ID).unwrap();
        kept.import(&[context(ID, Some("a"), ContextStatus::Active)], &[]).unwrap();
        let message = format!("Context {ID} and all associated tasks cleared successfully");
        assert_eq!(cleared(&kept)["result"], json!({"success": true, "message": message}), "{form}");
    }
    let (kept, _) = opened();
    let own = ["trip-lisbon", "c0ffee00 0000 4000 8000 00000000abcd", "{x}", "urn:uuid:", "0"];
    let contexts: Vec<_> = own.iter().map(|id| context(id, Some("a"), ContextStatus::Active)).collect();
    kept.import(&contexts, &[]).unwrap();
    let none = [
        "",
        " ",
        "nothing",
        "trip-Lisbon",
        " c0ffee00-0000-4000-8000-00000000abcd",
        "c0ffee00-0000-4000-8000-00000000abc",
        "c0ffee000-000-4000-8000-00000000abcd",
        "{c0ffee00-0000-4000-8000-00000000abcd",
        "g0ffee00-0000-4000-8000-00000000abcd",
        "a\u{0}b",
        "ü-uuid-urn",
    ];
    for id in none {
        assert_eq!(
            call(&kept, Some("a"), "contexts/clear", json!({"contextId": id}))["error"]["code"],
            -32602,
            "{id}"
        );
    }
    for id in own {
        assert_eq!(
            call(&kept, Some("b"), "contexts/clear", json!({"contextId": id}))["error"]["code"],
            -32602,
            "{id}"
        );
        assert_eq!(
            call(&kept, None, "contexts/clear", json!({"contextId": id}))["error"]["code"],
            -32602,
            "{id}"
        );
        assert_eq!(
            call(&kept, Some("a"), "contexts/clear", json!({"contextId": id}))["result"]["success"],
            true,
            "{id}"
        );
    }
}

/// An id of as many bytes as may be, and one more: in each operation that takes an id in, and in those that look for one.
#[test]
fn the_longest_id() {
    let (kept, _) = opened();
    // an id is measured in bytes
    let longest = "é".repeat(MAX_ID_BYTES / 2);
    let over = format!("{longest}x");
    let send = |context: Option<&str>, task: Option<&str>| {
        kept.send(Some("a"), &Incoming { context_id: context, task_id: task, message: None }, now())
    };
    assert_eq!(code(send(Some(&longest), Some(&longest))), None);
    for (name, refused) in [("contextId", send(Some(&over), None)), ("taskId", send(None, Some(&over)))] {
        let Err(ConversationError::Refused(refusal)) = refused else { panic!("{refused:?}") };
        let message = format!("`{name}` is to be a string of 1 to 1024 bytes, without the character U+0000");
        assert_eq!((refusal.code(), refusal.message()), (-32602, message));
    }
    let import =
        |context: &str, id: &str| {
            let task = task(id, A2aTaskState::Working);
            code(kept.import(
                &[self::context(context, None, ContextStatus::Active)],
                &[(context.to_owned(), task)],
            ))
        };
    assert_eq!(import(&format!("y{}", &longest[2..]), &longest), None);
    assert_eq!(import(&over, "t"), Some(-32602));
    assert_eq!(import("c", &over), Some(-32602));
    assert_eq!(code(kept.clear(Some("a"), &over)), Some(-32602));
    assert_eq!(code(kept.set_status(Some("a"), &over, "paused", now())), Some(-32001));
    assert_eq!(code(kept.clear(Some("a"), &longest)), None);
}

/// What may be a parent (L5), and that nothing passes from parent to child.
#[test]
fn each_parent() {
    let (kept, _) = opened();
    let contexts =
        ["root", "child", "grandchild", "other"].map(|id| context(id, Some("a"), ContextStatus::Active));
    kept.import(&contexts, &[]).unwrap();
    kept.import(&[context("foreign", Some("b"), ContextStatus::Active)], &[]).unwrap();
    let parent = |of: &str, id: Value| {
        let changes = Changes::read(&raw(&json!({"parentContextId": id}))).unwrap();
        code(kept.update(Some("a"), of, &changes, now()))
    };
    assert_eq!(parent("child", json!("root")), None);
    assert_eq!(parent("grandchild", json!("child")), None);
    for (of, id) in [("root", "root"), ("root", "child"), ("root", "grandchild"), ("child", "grandchild")] {
        assert_eq!(parent(of, json!(id)), Some(-32602), "{id} over {of}");
    }
    for id in ["nowhere", "foreign", ""] {
        assert_eq!(parent("root", json!(id)), Some(-32602), "{id}");
    }
    assert_eq!(parent("root", json!("other")), None);
    assert_eq!(parent("root", Value::Null), None);
    assert_eq!(kept.set_status(Some("a"), "root", "archived", now()).ok(), Some(()));
    let listed = call(&kept, Some("a"), "contexts/list", json!({"metadata": {"status": "active"}}));
    assert_eq!(listed["result"]["total"], 3);
    kept.clear(Some("a"), "child").unwrap();
    let listed = call(&kept, Some("a"), "contexts/list", json!({}));
    let left = listed["result"]["contexts"].as_array().unwrap();
    let orphan = left.iter().find(|context| context["contextId"] == "grandchild").unwrap();
    assert_eq!(orphan["parentContextId"], "child", "the id stays");
}

/// What cannot be changed, and what a change that changes nothing does to the time.
#[test]
fn each_change() {
    let wrong = [
        json!([]),
        json!({"contextId": "x"}),
        json!({"status": "paused"}),
        json!({"owner": "x"}),
        json!({"tasks": []}),
        json!({"name": 5}),
        json!({"tags": "x"}),
        json!({"tags": [1]}),
        json!({"metadata": []}),
        json!({"extensions": 1}),
        json!({"referenceContextIds": "x"}),
        json!({"parentContextId": 1}),
        json!({"createdAt": NOW}),
        json!({"colour": 1}),
    ];
    for changes in wrong {
        assert_eq!(Changes::read(&raw(&changes)).unwrap_err().code(), -32602, "{changes}");
    }
    let (kept, _) = opened();
    kept.import(&[context("c", None, ContextStatus::Active)], &[]).unwrap();
    let later: Timestamp = "2026-02-01T00:00:00.25Z".parse().unwrap();
    let update = |changes: Value| {
        kept.update(None, "c", &Changes::read(&raw(&changes)).unwrap(), later).unwrap();
        call(&kept, None, "contexts/list", json!({}))["result"]["contexts"][0].clone()
    };
    assert_eq!(update(json!({}))["updatedAt"], NOW);
    assert_eq!(update(json!({"name": null}))["updatedAt"], NOW);
    let changed =
        update(json!({"name": "n", "description": "d", "role": "r", "tags": [], "metadata": {"big": 1},
        "extensions": {}, "reference_context_ids": ["x"]}));
    assert_eq!(changed["updatedAt"], "2026-02-01T00:00:00.25Z");
    assert_eq!(
        changed,
        json!({"contextId": "c", "kind": "context", "role": "r", "createdAt": NOW, "updatedAt": "2026-02-01T00:00:00.25Z",
            "status": "active", "tasks": [], "name": "n", "description": "d", "tags": [], "metadata": {"big": 1},
            "extensions": {}, "referenceContextIds": ["x"]})
    );
    let unset =
        update(json!({"name": null, "description": null, "role": null, "tags": null, "metadata": null,
        "extensions": null, "referenceContextIds": null}));
    assert_eq!(unset.as_object().unwrap().len(), 7);
    assert_eq!(unset["role"], "assistant");
}

/// Where a message goes without a context, without a task, and to a task of another context (L4).
#[test]
fn where_a_message_goes() {
    let (kept, _) = opened();
    let first = kept.send(Some("a"), &Incoming::default(), now()).unwrap();
    assert!(first.new_context && first.new_task);
    assert_eq!(first.context_id, "00000000-0000-4000-8000-000000000001");
    let task = Some(first.task_id.as_str());
    let on = kept.send(Some("a"), &Incoming { task_id: task, ..Incoming::default() }, now()).unwrap();
    assert_eq!((on.context_id, on.new_context, on.new_task), (first.context_id.clone(), false, false));
    // nobody learns that somebody else has a task of this id
    let foreign = kept.send(Some("b"), &Incoming { task_id: task, ..Incoming::default() }, now()).unwrap();
    assert!(foreign.new_context && foreign.new_task && foreign.context_id != first.context_id);
    let astray = Incoming { context_id: Some("elsewhere"), task_id: task, message: None };
    assert_eq!(code(kept.send(Some("a"), &astray, now())), Some(-32602));
    assert_eq!(
        call(&kept, None, "contexts/list", json!({}))["result"]["total"],
        2,
        "nothing was left behind"
    );
    assert_eq!(code(kept.set_task_state(None, &first.task_id, "TASK_STATE_WORKING", None)), Some(-32602));
    assert_eq!(code(kept.set_task_state(Some("b"), &first.task_id, "TASK_STATE_WORKING", None)), None);
    assert_eq!(code(kept.set_task_state(Some("b"), &first.task_id, "working", None)), Some(-32602));
    assert_eq!(code(kept.set_task_state(Some("b"), "nothing", "TASK_STATE_WORKING", None)), Some(-32001));
    let long = "x".repeat(2_000);
    for id in ["a\u{0}b", &long] {
        let bad = Incoming { context_id: Some(id), ..Incoming::default() };
        assert_eq!(code(kept.send(None, &bad, now())), Some(-32602));
        let unknown = call(&kept, None, "GetContext", json!({"contextId": id}));
        assert_eq!(unknown["result"]["status"]["state"], "TASK_STATE_UNSPECIFIED");
    }
}

/// What is shown of tasks whose messages, status messages and artifacts are out of the ordinary (A4 to A7).
#[test]
fn each_message_that_is_not_shown() {
    let (kept, _) = opened();
    let typed = |id: &str, key: &str, kind: Value| {
        let body = json!({"messageId": id, "role": "ROLE_AGENT", "parts": [], "metadata": {key: kind}});
        Message::read(&raw(&body)).unwrap()
    };
    let mut shown = vec![message("plain")];
    let mut hidden = Vec::new();
    for (number, key) in ["aion:messageType", "aion:message_type"].into_iter().enumerate() {
        for (place, kind) in [json!("message"), Value::Null].into_iter().enumerate() {
            shown.push(typed(&format!("s{number}{place}"), key, kind));
        }
        for kind in [json!("Message"), json!(""), json!(1), json!(true), json!([]), json!({}), json!("event")]
        {
            hidden.push(typed("h", key, kind));
        }
    }
    let status = typed("status", "aion:messageType", json!("event"));
    let artifact = |id: Value, name: &str| {
        Artifact::read(&raw(&json!({"artifactId": id, "name": name, "parts": [{"text": name}]}))).unwrap()
    };
    let record = |id: &str, history: Vec<Message>, artifacts: Vec<Artifact>| TaskRecord {
        id: id.into(),
        state: A2aTaskState::Rejected,
        history,
        status_message: Some(status.clone()),
        artifacts,
    };
    let of_first = vec![
        artifact(json!("x"), "old"),
        artifact(Value::Null, "none 1"),
        artifact(json!("y"), "Message Result"),
    ];
    let of_second = vec![
        artifact(json!("x"), "new"),
        artifact(json!("x"), "again"),
        artifact(Value::Null, "none 2"),
        artifact(json!(""), "none 3"),
        artifact(json!("y"), "message result"),
    ];
    let tasks = [
        record("1", [shown.clone(), hidden.clone()].concat(), of_first),
        record("2", vec![], of_second),
        record("3", hidden, vec![]),
    ];
    let tasks: Vec<_> = tasks.into_iter().map(|task| ("c".to_owned(), task)).collect();
    kept.import(&[context("c", None, ContextStatus::Active)], &tasks).unwrap();
    let read = |order| {
        let settings = ConversationSettings { aion_history_order: order, ..ConversationSettings::default() };
        let body = br#"{"jsonrpc": "2.0", "id": 1, "method": "GetContext", "params": {"contextId": "c"}}"#;
        let result = post(&kept, &settings, None, body)["result"].clone();
        let texts = |list: &str, name: &str| -> Vec<String> {
            result[list]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item[name].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(result["status"], json!({"state": "TASK_STATE_REJECTED"}));
        (texts("history", "messageId"), texts("artifacts", "name"))
    };
    let (history, artifacts) = read(HistoryOrder::OldestFirst);
    assert_eq!(history, ["plain", "s00", "s01", "s10", "s11", "status", "status"]);
    assert_eq!(artifacts, ["none 1", "new", "none 2", "none 3", "message result"]);
    let (reversed, groups) = read(HistoryOrder::NewestFirst);
    assert_eq!(reversed, history.into_iter().rev().collect::<Vec<_>>());
    assert_eq!(groups, ["new", "none 2", "none 3", "message result", "none 1"]);
}

/// Each row of section 6: what is stored, and what clients of A2A 0.3 see.
#[test]
fn each_older_shape() {
    let rows = [
        (
            json!({"text": "x", "mediaType": "text/csv", "filename": "f"}),
            json!({"kind": "text", "text": "x"}),
        ),
        (json!({"text": "", "metadata": {}}), json!({"kind": "text", "text": ""})),
        (
            json!({"text": "x", "metadata": {"a": 1}}),
            json!({"kind": "text", "text": "x", "metadata": {"a": 1}}),
        ),
        (
            json!({"data": {"a": [1.50]}, "mediaType": "application/json"}),
            json!({"kind": "data", "data": {"a": [1.5]}}),
        ),
        (
            json!({"data": [1]}),
            json!({"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}}),
        ),
        (
            json!({"data": null, "metadata": {"k": 2}}),
            json!({"kind": "data", "data": {"value": null}, "metadata": {"data_part_compat": true, "k": 2}}),
        ),
        (
            json!({"raw": "aGk=", "mediaType": "image/png", "filename": "a.png"}),
            json!({"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png", "name": "a.png"}}),
        ),
        (json!({"url": "https://x", "filename": ""}), json!({"kind": "file", "file": {"uri": "https://x"}})),
        (json!({}), json!({"kind": "text", "text": ""})),
    ];
    for (part, older) in rows {
        let (kept, _) = opened();
        let body = json!({"messageId": "m", "role": "ROLE_UNSPECIFIED", "parts": [part], "contextId": "", "taskId": "t",
            "metadata": {}, "extensions": [], "referenceTaskIds": ["r"], "colour": 1});
        let mut record = task("t", A2aTaskState::AuthRequired);
        record.history = vec![Message::read(&raw(&body)).unwrap()];
        record.artifacts = vec![Artifact::read(&raw(&json!({"parts": [part], "description": ""}))).unwrap()];
        kept.import(&[context("c", None, ContextStatus::Active)], &[("c".to_owned(), record)]).unwrap();
        let result = call(&kept, None, "context/get", json!({"context_id": "c"}))["result"].clone();
        assert_eq!(
            result["history"],
            json!([{"kind": "message", "messageId": "m", "role": "agent", "parts": [older], "taskId": "t", "referenceTaskIds": ["r"]}])
        );
        assert_eq!(result["artifacts"], json!([{"artifactId": "", "parts": [older]}]));
        assert_eq!(result["status"], json!({"state": "auth-required"}));
        let result = call(&kept, None, "GetContext", json!({"contextId": "c"}))["result"].clone();
        assert_eq!(result["history"], json!([body]), "unchanged");
    }
}

/// What was stored comes back to the digit, whatever a double makes of it (A9).
#[test]
fn stored_text_is_passed_through() {
    let (kept, _) = opened();
    let text = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"n":12345678901234567890123.450,"e":1e400}}]}"#;
    let message = Message::read(&RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    kept.send(
        None,
        &Incoming { context_id: Some("c"), message: Some(&message), ..Incoming::default() },
        now(),
    )
    .unwrap();
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"GetContext","params":{"contextId":"c"}}"#;
    let bytes = answer(&kept, &ConversationSettings::default(), None, body, now());
    assert!(String::from_utf8(bytes).unwrap().contains(text));
}

/// A failing store: the code by method, no detail, nothing half done, whichever access fails (J12, L4).
#[test]
fn a_failing_store_is_told_and_leaves_nothing_half_done() {
    let (kept, database) = opened();
    let said = message("m");
    let incoming = Incoming { context_id: Some("c"), task_id: Some("t"), message: Some(&said) };
    kept.send(None, &incoming, now()).unwrap();
    database.faults().plan(FaultPlan::Everything);
    let params = json!({"contextId": "c0ffee00-0000-4000-8000-00000000abcd"});
    for method in ["GetContext", "GetContexts", "context/get", "contexts/get"] {
        let answer = call(&kept, None, method, params.clone());
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]),
            (&json!(-32000), &json!({})),
            "{method}"
        );
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    }
    for method in ["contexts/list", "contexts/clear"] {
        assert_eq!(call(&kept, None, method, params.clone())["error"]["code"], -32603, "{method}");
    }
    assert_eq!(call(&kept, None, "GetContext", json!({"contextId": 5}))["error"]["code"], -32602);
    database.faults().plan(FaultPlan::Nothing);
    let state = || {
        let context = call(&kept, None, "GetContext", json!({"contextId": "c"}));
        (context, call(&kept, None, "contexts/list", json!({})))
    };
    let later: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
    for incoming in [
        incoming,
        Incoming { task_id: Some("u"), ..incoming },
        Incoming { context_id: Some("d"), task_id: Some("v"), ..incoming },
    ] {
        let before = state();
        let mut access = 1;
        loop {
            database.faults().plan(FaultPlan::Access(access));
            let sent = kept.send(None, &incoming, later);
            let accesses = database.faults().accesses();
            database.faults().plan(FaultPlan::Nothing);
            if sent.is_ok() {
                break;
            }
            assert_eq!(state(), before, "access {access} of {accesses}");
            assert!(access <= accesses, "it fails without a fault");
            access += 1;
        }
        assert!(access > 4);
        assert_ne!(state(), before);
    }
}

/// The headers, the card, and what servers ask about a request (section 5.6, section 4.5).
#[test]
fn headers_card_and_scopes() {
    let [documented, deployed, ..] = EXTENSIONS.map(|extension| extension.uri);
    let asked = [format!("{deployed},, x ,{documented}"), deployed.to_uppercase(), documented.to_owned()];
    let said = activated(asked.iter().map(String::as_str));
    assert_eq!(said, Some(format!("{deployed}, {documented}")));
    assert_eq!(activated([]), None);
    let card = Card { name: "n", description: "d", version: "1", url: "http://127.0.0.1/" };
    let card = serde_json::to_value(card.document()).unwrap();
    let declared = card["capabilities"]["extensions"].as_array().unwrap();
    let uris: Vec<_> = declared.iter().map(|extension| extension["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, EXTENSIONS.map(|extension| extension.uri));
    assert!(declared.iter().all(|extension| extension["required"] == false));
    let body = |method: &str| json!({"jsonrpc": "2.0", "id": 7, "method": method}).to_string().into_bytes();
    assert_eq!(needed_scope(&body("contexts/clear")).map(|scope| scope.name()), Some("agent:write"));
    assert_eq!(needed_scope(&body("contexts/get")).map(|scope| scope.name()), Some("agent:read"));
    assert_eq!(needed_scope(b"{}"), None);
    let refused: Value = serde_json::from_slice(&unauthenticated(&body("contexts/list"))).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32009)));
    let refused: Value = serde_json::from_slice(&unauthenticated(b"x")).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32009)));
    let settings: ConversationSettings =
        serde_json::from_value(json!({"bindu_list_shape": "deployed", "aion_history_order": "newest_first"}))
            .unwrap();
    let deployed = ConversationSettings {
        bindu_list_shape: ListShape::Deployed,
        aion_history_order: HistoryOrder::NewestFirst,
    };
    assert_eq!(settings, deployed);
    let (kept, _) = opened();
    assert_eq!(kept.get_contexts(None, Window::default()).unwrap(), Vec::<String>::new());
}
