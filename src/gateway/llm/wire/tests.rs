//! What holds of all three interfaces: answers survive being written as events and read again, and no body makes a reader panic.

use super::sse::Events;
use super::{Answer, Api, Assembler, Fault, Kind, ModelCall, Sent, Told};
use proptest::prelude::*;
use serde_json::{Value, json};

const APIS: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

fn call(id: &str, name: &str, arguments: Value) -> ModelCall {
    ModelCall::new(id, name, arguments.as_object().cloned())
}

/// An answer with a text and calls.
fn whole(api: Api, text: &str, calls: &[ModelCall]) -> Value {
    let mut whole = api.made("1", "small-1", 7, text);
    api.dress(&mut whole, None, calls);
    whole
}

/// Reads events as they come from the model's API, in pieces of a size; says what may go on ahead of the end.
fn assembled(api: Api, events: &str, size: usize) -> (Option<(Value, Sent)>, String) {
    let (read, passed) = taken(api, events, size).unwrap();
    (read, passed)
}

type Taken = (Option<(Value, Sent)>, String);

fn taken(api: Api, events: &str, size: usize) -> Result<Taken, Fault> {
    let (mut reader, mut assembler, mut passed) =
        (Events::default(), Assembler::new(api, false), String::new());
    for piece in events.as_bytes().chunks(size) {
        assert_eq!(reader.take(piece), Ok(()));
        while let Some(event) = reader.next() {
            if event == "[DONE]" {
                continue;
            }
            assembler.take(serde_json::from_str(&event).unwrap())?;
            passed.push_str(&assembler.more());
        }
    }
    let Some((mut whole, sent)) = assembler.finish() else { return Ok((None, passed)) };
    let mut ids = 0;
    api.decode(&mut whole, false, || {
        ids = u32::saturating_add(ids, 1);
        format!("made-{ids}")
    })?;
    Ok((Some((whole, sent)), passed))
}

/// What of an answer matters to a client.
fn matters(api: Api, whole: &Value) -> Answer {
    Answer { usage: Default::default(), ..api.answer(whole) }
}

#[test]
fn an_answer_is_the_same_whole_and_in_events() {
    let two = [call("a", "find", json!({"order": "o-7"})), call("b", "pay", json!({}))];
    for api in APIS {
        for (text, calls) in
            [("Hello there.", &two[..0]), ("I look.", &two[..]), ("", &two[..1]), ("ä\u{1F600}\n\n", &[])]
        {
            let whole = whole(api, text, calls);
            let events = api.events(&whole, Sent::default(), true);
            for size in [1, 7, 1_000_000] {
                let (read, _) = assembled(api, &events, size);
                let (read, _) = read.unwrap();
                assert_eq!(matters(api, &read), matters(api, &whole), "{api:?} {text:?}");
                assert_eq!(api.answer(&read).calls, calls);
                assert_eq!(api.answer(&read).text, text);
            }
        }
    }
}

#[test]
fn nothing_of_a_call_passes_before_it_is_decided() {
    for api in APIS {
        let whole = whole(api, "I look.", &[call("call-id", "find", json!({"order": "o-7"}))]);
        let (read, passed) = assembled(api, &api.events(&whole, Sent::default(), true), 10);
        let (mut read, sent) = read.unwrap();
        assert!(
            passed.contains("I look.") && !passed.contains("call-id") && !passed.contains("o-7"),
            "{passed}"
        );
        // the rest, once the call is refused
        api.dress(&mut read, None, &[]);
        let rest = api.events(&read, sent, true);
        let is_again = |text: &str| text.contains(".delta") && text.contains("I look.");
        assert!(!rest.split("\n\n").any(is_again), "what was sent is not sent again: {rest}");
        let (joined, _) = assembled(api, &(passed + &rest), 100);
        let answer = api.answer(&joined.unwrap().0);
        assert_eq!((&*answer.text, answer.calls.len()), ("I look.", 0));
    }
}

#[test]
fn an_answer_that_breaks_off_is_none() {
    for api in APIS {
        let whole = whole(api, "I look.", &[call("a", "find", json!({}))]);
        let events = api.events(&whole, Sent::default(), false);
        let all: Vec<&str> = events.split_inclusive("\n\n").collect();
        // the last event that a maker sends besides `[DONE]` makes the answer whole
        let end = if api == Api::Chat { 2 } else { 1 };
        for count in 0..all.len() - end {
            assert!(
                assembled(api, &all[..count].concat(), 50).0.is_none(),
                "{api:?}: {count} of {}",
                all.len()
            );
        }
    }
}

#[test]
fn what_a_client_does_not_know_stands_beside_what_it_does() {
    let told = Told { call: call("b", "pay", json!({"amount": 1})), text: "No.".into(), failed: true };
    for api in APIS {
        let mut body = json!({"model": "m", "messages": [], "input": []});
        api.append(&mut body, &whole(api, "", &[call("a", "find", json!({}))]));
        api.tell(
            &mut body,
            &[Told { call: call("a", "find", json!({})), text: "Here.".into(), failed: false }],
        );
        api.insert(&mut body, "a", 0, std::slice::from_ref(&told));
        let items = api.read(&body).unwrap().items;
        let calls = items.iter().flat_map(|item| match &item.kind {
            Kind::Assistant(calls) => calls.iter().map(|call| call.id.clone()).collect(),
            Kind::Result { call, failed, .. } => {
                vec![format!("{call}: {}{}", item.text(), if *failed { "!" } else { "" })]
            }
            _ => Vec::new(),
        });
        let calls: Vec<String> = calls.collect();
        let refused = if api == Api::Messages { "b: No.!" } else { "b: No." };
        let expected = ["a", "b", "a: Here.", refused];
        let mut sorted = calls.clone();
        sorted.sort_unstable();
        let mut wanted = expected.map(str::to_owned);
        wanted.sort_unstable();
        assert_eq!(sorted, wanted, "{api:?}: {calls:?}");
    }
}

#[test]
fn texts_are_changed_where_they_stand() {
    let body = json!({"model": "m", "max_tokens": 1, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "image", "source": {"type": "url", "url": "x"}}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "text", "text": "three"}]}
    ]});
    let items = Api::Messages.read(&body).unwrap().items;
    let texts: Vec<String> = items.iter().map(super::Item::text).collect();
    assert_eq!(texts, ["", "one\ntwo", "", "", "three"]);
    let mut changed = body.clone();
    items[1].texts[1].put(&mut changed, "TWO");
    super::put_alone(&mut changed, &items[3], "result");
    super::put_alone(&mut changed, &items[4], "THREE");
    assert_eq!(changed["messages"][0]["content"][2]["text"], "TWO");
    assert_eq!(changed["messages"][0]["content"][1], body["messages"][0]["content"][1], "an image stays");
    assert_eq!(
        changed["messages"][2]["content"][0]["content"], "result",
        "a result without content has some now"
    );
    assert_eq!(changed["messages"][2]["content"][1], json!({"type": "text", "text": "THREE"}));
}

/// Any JSON, with the words of the interfaces in it.
fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "role",
        "user",
        "assistant",
        "tool",
        "content",
        "type",
        "text",
        "tool_use",
        "tool_result",
        "function",
        "id",
        "input",
        "arguments",
        "{",
        "tool_calls",
        "message",
        "function_call",
        "call_id",
        "choices",
        "delta",
        "index",
        "output",
        "usage",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "response.completed",
        "response",
        "tools",
        "model",
        "messages",
        "response.output_item.added",
        "item",
        "message_delta",
        "finish_reason",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        word.clone().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(word.clone(), inner, 0..6).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect())
        ]
    })
}

proptest! {
    #[test]
    fn no_body_and_no_event_makes_a_reader_panic(mut body in anything(), events in prop::collection::vec(anything(), 0..6)) {
        let told = [Told { call: call("a", "b", json!({})), text: "c".into(), failed: true }];
        for api in APIS {
            let _ = api.read(&body);
            let mut assembler = Assembler::new(api, false);
            for event in &events {
                let _ = assembler.take(event.clone());
                assembler.more();
            }
            for whole in assembler.finish().map(|(whole, _)| whole).into_iter().chain(events.clone()) {
                let mut dressed = whole.clone();
                api.dress(&mut dressed, Some("text"), &[call("a", "b", json!({}))]);
                api.dress(&mut dressed, None, &[]);
                api.answer(&whole);
                api.items(&whole);
                api.frame(&whole, "id", 1);
                super::probe::probe(whole.to_string().as_bytes());
                let mut held = whole.clone();
                let _ = api.decode(&mut held, false, || "made".to_owned());
                api.events(&held, Sent::default(), true);
                api.unsent_of(&whole, true);
                api.join(&mut dressed, whole.clone());
                api.append(&mut body, &whole);
            }
            api.insert(&mut body, "a", 0, &told);
            api.tell(&mut body, &told);
            let (previous, ahead) = api.unsent(&body);
            api.put_unsent(&mut body, previous.as_deref(), ahead);
            api.drop_hosted(&mut body);
            api.keep_tools(&mut body, |_| false);
        }
    }
}
