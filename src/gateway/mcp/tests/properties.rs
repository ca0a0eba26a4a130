//! Random and mutated traffic: what goes on decodes to what rules were given.

use crate::mcp::check_traffic;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Any JSON, of the names that the protocol uses.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e20..1e20).prop_map(Value::from),
        "[a\"\\\\{}0-9é\u{200b}]{0,5}".prop_map(Value::from),
        prop::sample::select(vec![
            "text",
            "image",
            "complete",
            "task",
            "{\"a\":1}",
            "[1.0]",
            "{\"a\":1,\"a\":2}"
        ])
        .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "type",
        "text",
        "content",
        "structuredContent",
        "isError",
        "_content",
        "_meta",
        "data",
        "mimeType",
        "resource",
        "uri",
        "result",
        "name",
        "a",
    ]);
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..4)
                .prop_map(|members| members.into_iter().map(|(name, it)| (name.to_owned(), it)).collect()),
        ]
    })
}

/// Content of a result: blocks of the protocol, and values that are none.
fn content() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        4 => value().prop_map(|value| json!({ "type": "text", "text": value.to_string() })),
        1 => Just(json!({ "type": "image", "data": "aa", "mimeType": "image/png" })),
        1 => Just(json!({ "type": "resource", "resource": { "uri": "u", "text": "t", "blob": "b" } })),
        1 => value(),
    ];
    prop::collection::vec(block, 0..3).prop_map(Value::from)
}

proptest! {
    #[test]
    fn a_result_goes_on_as_it_was_judged(content in content(), structured in value(), failed in value(), says in 0..3) {
        let content = match says {
            0 => json!([{ "type": "text", "text": structured.to_string() }]),
            _ => content,
        };
        let result = json!({ "content": content, "structuredContent": structured, "isError": failed });
        check_traffic(json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string().as_bytes());
    }

    #[test]
    fn a_call_goes_on_as_it_was_judged(arguments in value(), meta in value()) {
        let params = json!({ "name": "t", "uri": "u", "arguments": arguments, "_meta": meta });
        for method in ["tools/call", "resources/read", "prompts/get"] {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            check_traffic(request.to_string().as_bytes());
        }
    }

    #[test]
    fn mutated_traffic_goes_on_as_it_was_judged(seed in any::<prop::sample::Index>(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..6)) {
        let seeds = seeds();
        let mut text = seed.get(&seeds).clone();
        for (at, byte, edit) in edits {
            let at = at.index(text.len());
            match edit {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                _ => drop(text.remove(at)),
            }
            if text.is_empty() {
                return Ok(());
            }
        }
        check_traffic(&text);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/mcp");
    let mut seeds: Vec<Vec<u8>> =
        fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}
