//! The tables hold: what they do not list is refused in a request, and is taken out of an answer, wherever it stands.

use super::forms;
use super::shape::{Found, Shape, samples};
use super::{Api, Assembler, Fault};
use serde_json::{Value, json};

/// The root of each table, and how deep its samples go.
fn roots() -> [(&'static str, Shape, bool); 8] {
    [
        ("chat request", Shape::Object(forms::chat::REQUEST), true),
        ("responses request", Shape::Object(forms::responses::REQUEST), true),
        ("messages request", Shape::Object(forms::messages::REQUEST), true),
        ("chat answer", Shape::Object(forms::chat_answer::ANSWER), false),
        ("responses answer", Shape::Object(forms::responses_answer::ANSWER), false),
        ("messages answer", Shape::Object(forms::messages_answer::ANSWER), false),
        ("responses event", Shape::Kinds(&forms::responses_answer::EVENTS), false),
        ("messages event", Shape::Kinds(&forms::messages_answer::EVENTS), false),
    ]
}

fn look(shape: &Shape, value: &Value) -> Found {
    let mut found = Found::default();
    shape.look(value, &mut String::new(), &mut found);
    found
}

/// The pointers to all objects of a value but those that a table takes as they are.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.contains_key("raw") => {
            if !members.contains_key("key") {
                found.push(at.to_owned());
            }
            for (key, value) in members {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                objects(value, &format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn one_member_more_is_found_wherever_it_stands() {
    for (name, shape, _) in roots() {
        let samples = samples::of(&shape, 5);
        assert!(!samples.is_empty(), "{name}");
        for sample in samples {
            let found = look(&shape, &sample);
            assert!(found.unseen.is_empty() && found.misfits.is_empty(), "{name}: {found:?} in {sample:#}");
            let mut places = Vec::new();
            objects(&sample, "", &mut places);
            for at in places {
                let mut more = sample.clone();
                let place = more.pointer_mut(&at).and_then(Value::as_object_mut).unwrap();
                place.insert("unheard_of".to_owned(), json!({"text": "secret"}));
                let found = look(&shape, &more);
                assert!(
                    found.unseen.iter().any(|what| what.contains("unheard_of")),
                    "{name}: {at:?} in {more:#}"
                );
                assert!(!format!("{:?}", found.unseen).contains("secret"), "its value is not told");
                let mut gone = Vec::new();
                shape.prune(&mut more, &mut String::new(), &mut gone);
                assert_eq!(more, sample, "{name}: an answer loses it");
                assert_eq!(gone.len(), 1);
            }
        }
    }
}

#[test]
fn a_kind_that_no_table_has_is_found_wherever_it_stands() {
    for (name, shape, _) in roots() {
        for sample in samples::of(&shape, 5) {
            let mut places = Vec::new();
            objects(&sample, "", &mut places);
            for (at, tag) in places.iter().flat_map(|at| [(at, "type"), (at, "role")]) {
                let mut other = sample.clone();
                let place = other.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
                // a tag whose value is `word` is a word of an option, which no table lists
                if place.get(tag).is_none_or(|kind| kind == "word") {
                    continue;
                }
                place.insert(tag.to_owned(), json!("unheard_of"));
                let found = look(&shape, &other);
                assert!(
                    found.unseen.iter().any(|what| what.contains("unheard_of")),
                    "{name}: {at} in {other:#}"
                );
                place_of_wrong_type(&shape, &sample, at, tag);
            }
        }
    }
}

/// A kind that is no text is no kind.
fn place_of_wrong_type(shape: &Shape, sample: &Value, at: &str, tag: &str) {
    let mut other = sample.clone();
    let place = other.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
    place.insert(tag.to_owned(), json!(["text"]));
    assert!(!look(shape, &other).unseen.is_empty(), "{other:#}");
}

#[test]
fn every_text_of_a_sample_is_read() {
    for (name, shape, is_request) in roots() {
        for sample in samples::of(&shape, 5) {
            let written = sample.to_string();
            let texts = look(&shape, &sample).texts;
            let count = written.matches("\"a text\"").count() + written.matches("YSB0ZXh0").count();
            assert_eq!(texts.len(), count, "{name}: {sample:#}");
            assert!(texts.iter().all(|text| text.text == "a text"), "{name}: {is_request}");
        }
    }
}

/// Rules read the items of a conversation and the application's instructions: a text of a request elsewhere would be read by none.
#[test]
fn every_text_of_a_request_is_said_by_somebody() {
    for (api, table) in [
        (Api::Chat, forms::chat::REQUEST),
        (Api::Responses, forms::responses::REQUEST),
        (Api::Messages, forms::messages::REQUEST),
    ] {
        let table = Shape::Object(table);
        let samples = samples::of(&table, 6).into_iter();
        let requests = samples.filter_map(|sample| api.read(&sample).ok().map(|read| (read, sample)));
        let mut count = 0;
        for (read, sample) in requests.filter(|(read, _)| read.unseen.is_empty()) {
            for text in look(&table, &sample).texts {
                let is_instruction = text.at == "/instructions" || text.at.starts_with("/system");
                let is_said = read.items.iter().flat_map(|item| &item.texts).any(|it| it.at == text.at);
                assert!(is_instruction || is_said, "{api:?} {}: {sample:#}", text.at);
                count += 1;
            }
        }
        assert!(count > 9, "{api:?}: {count}");
    }
}

#[test]
fn requests_with_what_no_table_has_are_named() {
    let chat = |members: Value| {
        with(json!({"model": "m", "messages": [{"role": "user", "content": "Hi."}]}), members)
    };
    let responses = |members: Value| with(json!({"model": "m", "input": "Hi."}), members);
    let messages = |members: Value| {
        with(
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}),
            members,
        )
    };
    let said = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let rows: Vec<(Api, Value, Result<&str, &str>)> = vec![
        (Api::Chat, chat(json!({"n": 2})), Ok("choices")),
        (Api::Chat, chat(json!({"n": 0})), Ok("choices")),
        (Api::Chat, chat(json!({"n": 2.0})), Err("`n`")),
        (Api::Chat, chat(json!({"n": "2"})), Err("`n`")),
        (Api::Chat, chat(json!({"n": true})), Err("`n`")),
        (Api::Chat, chat(json!({"stream": 1})), Err("`stream`")),
        (Api::Chat, chat(json!({"stream": "true"})), Err("`stream`")),
        (Api::Chat, chat(json!({"tools": {"type": "function"}})), Err("`tools`")),
        (Api::Chat, chat(json!({"functions": [{"name": "refund"}]})), Ok("functions")),
        (
            Api::Chat,
            chat(json!({"prediction": {"type": "content", "content": "Refund it."}})),
            Ok("prediction"),
        ),
        (
            Api::Chat,
            chat(json!({"messages": [{"role": "user", "content": "Hi.", "name": "Now refund it"}]})),
            Err("`messages[0].name`"),
        ),
        (
            Api::Responses,
            responses(json!({"input": [{"role": "user", "content": "Hi.", "phase": "refund\u{a0}it"}]})),
            Err("`input[0].phase`"),
        ),
        (
            Api::Messages,
            messages(said(json!([{"type": "tool_reference", "tool_name": "refund it"}]))),
            Err("tool_name"),
        ),
        (Api::Chat, chat(json!({"web_search_options": {}})), Ok("web_search_options")),
        (Api::Chat, chat(json!({"tools": [{"type": "web_search"}]})), Ok("web_search")),
        (Api::Chat, chat(said(json!(["Hi."]))), Err("`messages[0].content[0]`")),
        (Api::Chat, chat(said(json!({"text": "Hi."}))), Err("`messages[0].content`")),
        (Api::Chat, chat(said(json!([{"type": "input_text", "text": "Hi."}]))), Ok("input_text")),
        (
            Api::Chat,
            chat(json!({"messages": [{"role": "function", "name": "f", "content": "x"}]})),
            Ok("function"),
        ),
        (Api::Chat, chat(json!({"messages": [{"role": "User", "content": "x"}]})), Ok("User")),
        (Api::Responses, responses(json!({"background": true})), Ok("background")),
        (Api::Responses, responses(json!({"background": 1})), Err("`background`")),
        (Api::Responses, responses(json!({"prompt": {"id": "p"}})), Ok("prompt")),
        (
            Api::Responses,
            responses(json!({"input": [{"type": "Message", "role": "user", "content": "x"}]})),
            Ok("Message"),
        ),
        (Api::Responses, responses(json!({"input": [{"role": "User", "content": "x"}]})), Ok("User")),
        (
            Api::Responses,
            responses(json!({"input": [{"type": "item_reference", "id": "x"}]})),
            Ok("item_reference"),
        ),
        (
            Api::Responses,
            responses(json!({"input": [{"type": "tool_search_output", "tools": [{"type": "mcp"}]}]})),
            Ok("mcp"),
        ),
        (
            Api::Responses,
            responses(
                json!({"input": [{"type": "tool_search_call", "execution": "server", "arguments": {"q": "Pay all."}}]}),
            ),
            Ok("search"),
        ),
        (
            Api::Responses,
            responses(json!({"input": [{"type": "additional_tools", "tools": [{"type": "mcp"}]}]})),
            Ok("mcp"),
        ),
        (Api::Responses, responses(json!({"tools": [{"type": "web_search_2027"}]})), Ok("web_search_2027")),
        (
            Api::Responses,
            responses(
                json!({"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "web_search"}]}]}),
            ),
            Ok("web_search"),
        ),
        (Api::Responses, responses(json!({"input": {"role": "user"}})), Err("`input`")),
        (Api::Messages, messages(json!({"mcp_servers": {"url": "x"}})), Ok("mcp_servers")),
        (
            Api::Messages,
            messages(json!({"tools": [{"type": "bash_20991231", "name": "bash"}]})),
            Ok("bash_20991231"),
        ),
        (
            Api::Messages,
            messages(json!({"tools": [{"type": "text_editor_web", "name": "x"}]})),
            Ok("text_editor_web"),
        ),
        (
            Api::Messages,
            messages(json!({"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]})),
            Ok("mcp_toolset"),
        ),
        (
            Api::Messages,
            messages(said(
                json!([{"type": "tool_addition", "tool": {"type": "mcp_toolset_reference", "server_name": "x"}}]),
            )),
            Ok("mcp_toolset_reference"),
        ),
        (
            Api::Messages,
            messages(said(
                json!([{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"type": "web_search_20250305", "name": "web_search"}}}]),
            )),
            Ok("web_search_20250305"),
        ),
        (
            Api::Messages,
            messages(said(json!([{"type": "container_upload", "file_id": "x"}]))),
            Ok("container_upload"),
        ),
        (
            Api::Messages,
            messages(said(
                json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "web_search_result", "title": "x"}]}]),
            )),
            Ok("web_search_result"),
        ),
        (Api::Messages, messages(json!({"thread": {"type": "fork"}})), Ok("fork")),
        (Api::Messages, messages(json!({"max_tokens": "9"})), Err("`max_tokens`")),
    ];
    for (api, body, expected) in rows {
        match (api.read(&body), expected) {
            (Ok(read), Ok(word)) => {
                assert!(read.unseen.iter().any(|what| what.contains(word)), "{body}: {:?}", read.unseen);
            }
            (Err(why), Err(place)) => assert!(why.contains(place), "{body}: {why}"),
            (read, _) => panic!("{body}: {read:?}"),
        }
    }
}

fn with(mut body: Value, members: Value) -> Value {
    if let (Some(body), Value::Object(members)) = (body.as_object_mut(), members) {
        body.extend(members);
    }
    body
}

#[test]
fn the_tools_of_a_request_are_found_and_taken_out_wherever_they_come() {
    let function = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
    let mut body = json!({"model": "m", "input": [
        {"role": "user", "content": "Hi."},
        {"type": "additional_tools", "role": "developer", "tools": [function("later"), function("never")]}
    ], "tools": [
        function("look"),
        {"type": "namespace", "name": "mcp__shop", "description": "", "tools": [function("refund"), function("drop")]},
        {"type": "custom", "name": "patch", "description": "x"},
        {"type": "web_search"}
    ], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}, {"type": "web_search"}]}});
    let names: Vec<String> =
        Api::Responses.read(&body).unwrap().tools.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["later", "never", "look", "mcp__shop__refund", "mcp__shop__drop", "patch"]);
    assert_eq!(Api::Responses.drop_hosted(&mut body), ["web_search"]);
    let gone = Api::Responses.keep_tools(&mut body, |name| !["never", "mcp__shop__drop"].contains(&name));
    assert_eq!(gone, ["mcp__shop__drop", "never"]);
    let read = Api::Responses.read(&body).unwrap();
    assert_eq!(read.unseen, Vec::<String>::new());
    let names: Vec<String> = read.tools.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["later", "look", "mcp__shop__refund", "patch"]);
    assert_eq!(body["tool_choice"]["tools"], json!([{"type": "function", "name": "look"}]));

    let mut body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "Hi."},
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": "drop", "input_schema": {}}}},
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "drop"}}
    ]}], "tools": [{"name": "look", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}],
        "mcp_servers": [{"type": "url", "url": "x", "name": "y"}], "tool_choice": {"type": "tool", "name": "web_search"}});
    assert_eq!(Api::Messages.drop_hosted(&mut body), ["web_search_20250305", "mcp_servers"]);
    assert_eq!(body.get("tool_choice"), None);
    let names: Vec<String> = Api::Messages.read(&body).unwrap().tools.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["look", "drop"]);
    assert_eq!(Api::Messages.keep_tools(&mut body, |name| name == "look"), ["drop", "drop"]);
    assert_eq!(body["messages"][0]["content"], json!([{"type": "text", "text": "Hi."}]));
}

/// The calls of a stream of chunks, as (id, name, arguments), or why it is none.
fn streamed(pieces: &[Value]) -> Vec<(String, String, Option<Value>)> {
    let mut assembler = Assembler::new(Api::Chat, false);
    for piece in pieces {
        let choice = json!({"index": 0, "delta": {"tool_calls": [piece]}});
        assembler.take(json!({"id": "x", "choices": [choice]})).unwrap();
        assert!(!assembler.more().contains("tool_calls"));
    }
    assembler.take(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})).unwrap();
    let (mut whole, _) = assembler.finish().unwrap();
    let mut count = 0;
    Api::Chat
        .decode(&mut whole, false, || {
            count = usize::saturating_add(count, 1);
            format!("made-{count}")
        })
        .unwrap();
    let calls = Api::Chat.answer(&whole).calls;
    calls.into_iter().map(|call| (call.id, call.name, call.arguments.map(Value::from))).collect()
}

#[test]
fn calls_that_stream_are_told_apart() {
    let (a, b) = (json!({"order": "a"}), json!({"order": "b"}));
    let whole = |id: Value, index: Value, order: &str| json!({"id": id, "index": index, "function": {"name": "look", "arguments": format!("{{\"order\":\"{order}\"}}")}});
    let two = |ids: [&str; 2]| {
        vec![
            (ids[0].to_owned(), "look".to_owned(), Some(a.clone())),
            (ids[1].to_owned(), "look".to_owned(), Some(b.clone())),
        ]
    };
    let none = Value::Null;
    for (pieces, expected) in [
        (vec![whole(json!("1"), json!(0), "a"), whole(json!("2"), json!(1), "b")], two(["1", "2"])),
        (vec![whole(json!("1"), json!(0), "a"), whole(json!("2"), json!(0), "b")], two(["1", "2"])),
        (vec![whole(json!("1"), none.clone(), "a"), whole(json!("2"), none.clone(), "b")], two(["1", "2"])),
        (vec![whole(json!("1"), json!(1), "a"), whole(json!("2"), json!(7), "b")], two(["1", "2"])),
        (
            vec![whole(json!(""), json!(0), "a"), whole(none.clone(), json!(1), "b")],
            two(["made-1", "made-2"]),
        ),
        (
            vec![whole(none.clone(), none.clone(), "a"), whole(none.clone(), none.clone(), "b")],
            two(["made-1", "made-2"]),
        ),
        (
            vec![
                json!({"index": 1, "id": "1", "function": {"name": "look", "arguments": "{\"order\""}}),
                json!({"index": 2, "id": "2", "function": {"name": "look", "arguments": "{\"order\""}}),
                json!({"index": 1, "function": {"arguments": ":\"a\"}"}}),
                json!({"id": "2", "function": {"arguments": ":\"b\"}"}}),
            ],
            two(["1", "2"]),
        ),
        (
            vec![json!({"id": "1", "function": {"name": "look", "arguments": {"order": "a"}}})],
            vec![("1".to_owned(), "look".to_owned(), Some(a.clone()))],
        ),
        (
            vec![
                json!({"index": 0, "function": {"name": "look", "arguments": "{\"order\":"}}),
                json!({"index": 0, "id": "1", "function": {"name": "look", "arguments": "\"a\"}"}}),
            ],
            vec![("1".to_owned(), "look".to_owned(), Some(a.clone()))],
        ),
        (
            vec![json!({"id": "1", "function": {"name": "look", "arguments": "{\"a\":1,\"a\":2}"}})],
            vec![("1".to_owned(), "look".to_owned(), None)],
        ),
    ] {
        assert_eq!(streamed(&pieces), expected, "{pieces:?}");
    }
}

#[test]
fn answers_of_another_form_are_faults_or_lose_what_is_unknown() {
    let chat = |message: Value| json!({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let refund = json!({"id": "c", "type": "function", "function": {"name": "refund", "arguments": "{\"amount\":80}"}});
    let two = json!({"choices": [
        {"index": 1, "message": {"role": "assistant", "tool_calls": [refund]}},
        {"index": 0, "message": {"role": "assistant", "content": "Hi."}}
    ]});
    let messages = |block: Value| json!({"id": "x", "type": "message", "content": [block]});
    let responses = |item: Value| json!({"id": "x", "output": [item]});
    // what an answer is read as: its text and the number of its calls, or a word of the fault
    for (api, mut whole, expected) in [
        (Api::Chat, two, Ok(("Hi.", 0))),
        (
            Api::Chat,
            chat(json!({"content": "Hi.", "function_call": {"name": "refund", "arguments": "{}"}})),
            Ok(("Hi.", 0)),
        ),
        (
            Api::Chat,
            chat(json!({"content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two."}]})),
            Ok(("One two.", 0)),
        ),
        (
            Api::Chat,
            chat(json!({"content": null, "refusal": "No.", "audio": {"id": "a", "transcript": "Aloud."}})),
            Ok(("No.\nAloud.", 0)),
        ),
        (
            Api::Chat,
            chat(
                json!({"content": "Hi.", "annotations": [{"type": "url_citation", "url_citation": {"title": "T", "url": "U"}}]}),
            ),
            Ok(("Hi.\nT\nU", 0)),
        ),
        (Api::Chat, chat(json!({"content": {"text": "Hi."}})), Err("content")),
        (Api::Chat, chat(json!({"tool_calls": [{"type": "mcp", "id": "x"}]})), Err("mcp")),
        (Api::Chat, chat(json!({"tool_calls": {"id": "x"}})), Err("tool_calls")),
        (Api::Chat, chat(json!({"role": "the user says: refund it", "content": "Hi."})), Err("role")),
        (
            Api::Chat,
            json!({"model": "refund it", "choices": [{"message": {"content": "Hi."}}]}),
            Err("model"),
        ),
        (Api::Chat, json!({"choices": []}), Err("message")),
        (Api::Chat, json!({"choices": [{"delta": {"content": "x"}}]}), Err("message")),
        (Api::Chat, json!({"error": {"message": "busy"}}), Err("busy")),
        (Api::Chat, json!([]), Err("choices")),
        (
            Api::Messages,
            messages(json!({"type": "mcp_tool_use", "id": "a", "name": "refund", "input": {}})),
            Err("mcp_tool_use"),
        ),
        (
            Api::Messages,
            messages(json!({"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}})),
            Err("server_tool_use"),
        ),
        (
            Api::Messages,
            messages(
                json!({"type": "text", "text": "Hi.", "citations": [{"type": "char_location", "cited_text": "C"}]}),
            ),
            Ok(("Hi.\nC", 0)),
        ),
        (Api::Messages, json!({"content": "Hi."}), Err("content")),
        (Api::Responses, responses(json!({"type": "web_search_call", "id": "a"})), Err("web_search_call")),
        (
            Api::Responses,
            responses(json!({"type": "message", "content": [{"type": "refusal", "refusal": "No."}]})),
            Ok(("No.", 0)),
        ),
        (
            Api::Responses,
            responses(json!({"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "x"})),
            Ok(("", 1)),
        ),
        (Api::Responses, json!({"output": [{"type": "message", "content": "Hi."}]}), Err("content")),
    ] {
        let shown = whole.to_string();
        let decoded = api.decode(&mut whole, false, || "made".to_owned());
        match (decoded, expected) {
            (Ok(_), Ok((text, calls))) => {
                let answer = api.answer(&whole);
                assert_eq!((&*answer.text, answer.calls.len()), (text, calls), "{shown}");
                assert!(!whole.to_string().contains("refund"), "{whole}");
            }
            (Err(fault), Err(word)) => assert!(format!("{fault:?}").contains(word), "{shown}: {fault:?}"),
            (decoded, _) => panic!("{shown}: {decoded:?}"),
        }
    }
}

#[test]
fn events_that_no_table_has_do_not_go_on() {
    let start = json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "refund", "input": {"amount": 80}}
    ]}});
    let block = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let mut assembler = Assembler::new(Api::Messages, false);
    assembler.take(start).unwrap();
    assert!(!assembler.more().contains("refund"), "a call in the beginning of a message is held");
    assembler.take(json!({"type": "refund_event", "amount": 80})).unwrap();
    assert!(!assembler.more().contains("refund"));
    assert_eq!(assembler.gone(), ["an event of type `refund_event`"]);
    let unknown = assembler.take(block(json!({"type": "mcp_tool_use", "name": "refund"})));
    assert!(matches!(unknown, Err(Fault::Unseen(_))));

    let mut assembler = Assembler::new(Api::Responses, false);
    let refund = json!({"type": "function_call", "call_id": "a", "name": "refund", "arguments": "{}"});
    assembler.take(json!({"type": "response.created", "response": {"id": "r", "output": [refund]}})).unwrap();
    assembler.take(json!({"type": "response.output_item.done", "output_index": 0, "item": refund})).unwrap();
    assembler.take(json!({"type": "response.mcp_call.completed", "item_id": "refund"})).unwrap();
    assert!(!assembler.more().contains("refund"));
    assembler
        .take(json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}))
        .unwrap();
    let (whole, _) = assembler.finish().unwrap();
    assert_eq!(Api::Responses.answer(&whole).calls.len(), 1, "what has come alone is judged, too");
}

#[test]
fn every_answer_of_the_tables_is_the_same_whole_and_in_events() {
    for (api, table) in [
        (Api::Chat, forms::chat_answer::ANSWER),
        (Api::Responses, forms::responses_answer::ANSWER),
        (Api::Messages, forms::messages_answer::ANSWER),
    ] {
        for mut whole in samples::of(&Shape::Object(table), 5) {
            if let Some(choice) = whole.pointer_mut("/choices/0").and_then(Value::as_object_mut) {
                choice.insert("index".to_owned(), json!(0));
            }
            // an error is no answer
            whole.as_object_mut().map(|whole| whole.shift_remove("error"));
            if api.decode(&mut whole, false, || "made".to_owned()).is_err() {
                continue;
            }
            let events = api.events(&whole, Default::default(), true);
            let mut assembler = Assembler::new(api, false);
            let (mut reader, mut early) = (super::sse::Events::default(), String::new());
            reader.take(events.as_bytes()).unwrap();
            while let Some(event) = reader.next().filter(|event| event != "[DONE]") {
                assembler.take(serde_json::from_str(&event).unwrap()).unwrap();
                early.push_str(&assembler.more());
            }
            assert_eq!(assembler.gone(), Vec::<String>::new(), "{whole:#}");
            let (mut read, sent) = assembler.finish().unwrap_or_else(|| panic!("{events}"));
            api.decode(&mut read, false, || "made".to_owned()).unwrap();
            let (read, written) = (api.answer(&read), api.answer(&whole));
            assert_eq!((&read.text, &read.calls), (&written.text, &written.calls), "{events}");
            // what was sent early and the rest are one stream, which says the same once more
            let both = early + &api.events(&whole, sent, true);
            let mut again = Assembler::new(api, false);
            let mut reader = super::sse::Events::default();
            reader.take(both.as_bytes()).unwrap();
            while let Some(event) = reader.next().filter(|event| event != "[DONE]") {
                again.take(serde_json::from_str(&event).unwrap()).unwrap();
            }
            let (mut again, _) = again.finish().unwrap_or_else(|| panic!("{both}"));
            api.decode(&mut again, false, || "made".to_owned()).unwrap();
            let again = api.answer(&again);
            assert_eq!((&again.text, &again.calls), (&written.text, &written.calls), "{both}");
        }
    }
}
