//! `json.parse`, `text` and `hash.sha256`, each held to something that was written by others: `serde_json`, Python's `json`, `ring`.

use crate::laws_values::Plain;
use celador::cel::{Code, ErrorCode, Fault, Function, Json, Kind, LIBRARIES, Map, Meter, Shortened, Value};
use celador::context::HASH;
use celador::limits::EvalLimits;
use proptest::prelude::*;
use std::process::{Command, Stdio};

/// What a function gives within a budget.
fn within<'a>(name: &str, argument: &Value<'a>, limits: &EvalLimits) -> Result<Value<'a>, Fault> {
    let mut rows = LIBRARIES.iter().flat_map(|(_, rows)| *rows).chain(HASH);
    match rows.find(|row: &&Function| row.name == name).map(|row| row.code) {
        Some(Code::Pure(code)) => code(&mut Meter::new(limits), &[argument]),
        _ => panic!("`{name}` is a function"),
    }
}

fn ask<'a>(name: &str, argument: &Value<'a>) -> Result<Value<'a>, Fault> {
    within(name, argument, &EvalLimits::default())
}

fn parse(text: &str) -> Result<Value<'static>, Fault> {
    ask("json.parse", &Value::owned_text(text))
}

fn texts(value: &Value<'_>) -> Result<String, Fault> {
    ask("text", value).map(|text| text.as_str().unwrap().to_owned())
}

/// JSON of every kind; keys and texts with whatever JSON has to escape.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~\\n\\t\\r\\u{0}\\u{7f}é\\u{2028}\\u{1f600}\"\\\\]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map("[a-c\"\\\\\\n é]{0,3}", inner, 0..5)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// All texts of a document in their order, gathered in another way.
fn leaves(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => into.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| leaves(item, into)),
        serde_json::Value::Object(entries) => entries.iter().for_each(|(key, value)| {
            into.push(key.clone());
            leaves(value, into);
        }),
        leaf => into.push(leaf.to_string()),
    }
}

/// Says of each text whether Python reads it as JSON with no key twice and no number out of range, and how it writes it again.
const PYTHON: &str = r"
import json, sys

def object(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)

def number(digits):
    value = float(digits)
    if value in (float('inf'), float('-inf')):
        raise ValueError
    return value

def whole(digits):
    value = int(digits)
    return value if -2**63 <= value < 2**63 and digits != '-0' else number(digits)

def read(text):
    try:
        return [json.loads(text, object_pairs_hook=object, parse_float=number, parse_int=whole)]
    except (ValueError, RecursionError):
        return None

print(json.dumps([read(text) for text in json.load(sys.stdin)]))
";

/// The text of a document with one more character somewhere, or as it is.
fn edited((document, edit): (serde_json::Value, Option<(prop::sample::Index, String)>)) -> String {
    let mut text = document.to_string();
    if let Some((at, sign)) = edit {
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        text.insert_str(*at.get(&places), &sign);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// JSON in a text is the value that it would be if it came in by itself.
    #[test]
    fn json_in_a_text_is_what_it_is_elsewhere(document in document(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) }.unwrap();
        let elsewhere = Json::parse(&text, &EvalLimits::default()).unwrap();
        prop_assert_eq!(Plain::from(&parse(&text).unwrap()), Plain::from(&elsewhere.value()));
    }

    /// No text inside of a value is missing in its text, split or written in another way, and nothing else stands there.
    #[test]
    fn the_text_of_a_value_has_all_of_its_texts(document in document()) {
        let mut lines = Vec::new();
        leaves(&document, &mut lines);
        let json = Json::from(&document);
        prop_assert_eq!(texts(&json.value()).unwrap(), lines.join("\n"));
        // the same of a value that was computed
        let computed = parse(&serde_json::to_string(&document).unwrap()).unwrap();
        prop_assert_eq!(texts(&computed).unwrap(), lines.join("\n"));
    }

    #[test]
    fn a_digest_is_that_of_another_library(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let other = ring::digest::digest(&ring::digest::SHA256, &bytes);
        let other: String = other.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let blob = Value::Bytes(celador::cel::Blob::Shared(bytes.clone().into()));
        let digest = ask("hash.sha256", &blob).unwrap();
        prop_assert_eq!(digest.as_str(), Some(other.as_str()));
        if let Ok(text) = String::from_utf8(bytes) {
            let digest = ask("hash.sha256", &Value::owned_text(text)).unwrap();
            prop_assert_eq!(digest.as_str(), Some(other.as_str()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    /// Python accepts the same texts, keys that stand twice counted as no JSON, and reads the same values.
    #[test]
    fn python_reads_the_same_texts(texts in prop::collection::vec(prop_oneof![
        "[\\[\\]{}:,\"ab0-9.eE+ -]{0,8}",
        "-?[0-9]{1,22}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
        "\\{(\"[ab]\":[0-9],){0,2}\"[a-c]\":(true|null|\\[1,2\\]|\\{\"a\":1,\"[ab]\":2\\})\\}",
        (document(), prop::option::of((any::<prop::sample::Index>(), "[ -~é]"))).prop_map(edited),
    ], 500)) {
        let Ok(mut python) = Command::new("python3").args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
            println!("skipped: there is no `python3` here");
            return Ok(());
        };
        serde_json::to_writer(python.stdin.take().unwrap(), &texts).unwrap();
        let read: Vec<Option<[serde_json::Value; 1]>> =
            serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap();
        let mut accepted = 0;
        for (text, read) in texts.iter().zip(read) {
            let parsed = parse(text).ok();
            accepted += usize::from(parsed.is_some());
            let read = read.map(|[value]| Plain::from(&Json::from(value).value()));
            prop_assert_eq!(parsed.as_ref().map(Plain::from), read, "{}", text);
        }
        prop_assert!(accepted > 200, "{}", accepted);
    }
}

#[test]
fn doubtful_json_is_an_error() {
    let code = |text: &str| parse(text).map_err(|fault| (fault.code, fault.bound)).err();
    let one_value = Some((ErrorCode::InvalidArgument, Some("a text that is one JSON value")));
    for text in [
        "",
        " ",
        "{} {}",
        "[1,]",
        "{'a': 1}",
        "{a: 1}",
        "// 1\n1",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "Infinity",
        "1e999",
        "nul",
        "\"a\nb\"",
        "\"\\ud800\"",
        "\"\\x41\"",
        "\u{feff}1",
        "[",
        "{\"a\"}",
        "True",
        "1 2",
    ] {
        assert_eq!(code(text), one_value, "{text}");
    }
    let twice = Some((ErrorCode::DuplicateKey, None));
    for text in [r#"{"a": 1, "a": 1}"#, r#"{"a": 1, "\u0061": 2}"#, r#"[{"b": {"a": 1, "c": [], "a": 1}}]"#] {
        assert_eq!(code(text), twice, "{text}");
    }
    assert_eq!(code(r#"[{"a": 1}, {"a": 1}]"#), None);
}

#[test]
fn the_bounds_of_documents_hold_for_json_in_a_text() {
    let limits = EvalLimits { max_json_depth: 3, max_json_bytes: 12, ..EvalLimits::default() };
    let code = |text: &str| {
        within("json.parse", &Value::owned_text(text), &limits)
            .map_err(|fault| (fault.code, fault.bound))
            .err()
    };
    let exceeded = |bound| Some((ErrorCode::BudgetExceeded, Some(bound)));
    for (text, expected) in [
        ("[[1]]", None),
        ("[[[1]]]", None),
        ("[[[[1]]]]", exceeded("max_json_depth")),
        ("{\"a\":[{}]}", None),
        ("{\"a\":[[[]]]}", exceeded("max_json_depth")),
        ("{\"a\":[[[[]", exceeded("max_json_depth")),
        ("1           ", None),
        ("1            ", exceeded("max_json_bytes")),
    ] {
        assert_eq!(code(text), expected, "{text}");
        // by itself it is accepted up to the same bounds
        assert_eq!(Json::parse(text, &limits).is_ok(), expected.is_none(), "{text}");
    }
    // however wide the bound is, nesting costs no more stack than the parser allows
    let wide = EvalLimits { max_json_depth: usize::MAX, ..EvalLimits::default() };
    let deep = Value::owned_text("[".repeat(100_000));
    assert_eq!(within("json.parse", &deep, &wide).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn what_is_built_is_paid_for_first() {
    let many = Value::owned_text(format!("[{}1]", "[],".repeat(100_000)));
    let wide = Value::owned_text(format!(
        "{{{}\"b\":1}}",
        (0..50_000).map(|n| format!("\"{n}\":0,")).collect::<String>()
    ));
    let long = Value::list(vec![Value::owned_text("a".repeat(1_000)); 1_000]);
    let empty = Value::list(vec![Value::list(Vec::new()); 1_000]);
    for (name, argument) in [("json.parse", &many), ("json.parse", &wide), ("text", &long), ("text", &empty)]
    {
        let limits =
            |max_cost, max_built_bytes| EvalLimits { max_cost, max_built_bytes, ..EvalLimits::default() };
        assert!(ask(name, argument).is_ok(), "{name}");
        let cheap = within(name, argument, &limits(900, u64::MAX)).unwrap_err();
        assert_eq!((cheap.code, cheap.bound), (ErrorCode::BudgetExceeded, Some("max_cost")), "{name}");
        if argument.heap_bytes() > 100_000 || name == "json.parse" {
            let small = within(name, argument, &limits(u64::MAX, 900_000)).unwrap_err();
            assert_eq!(
                (small.code, small.bound),
                (ErrorCode::BudgetExceeded, Some("max_built_bytes")),
                "{name}"
            );
        }
    }
    let text = Value::owned_text("a".repeat(10_000));
    let limits = EvalLimits { max_cost: 900, ..EvalLimits::default() };
    assert_eq!(within("hash.sha256", &text, &limits).unwrap_err().bound, Some("max_cost"));
}

/// A word that stands in a part which was not kept is not missed without a word.
#[test]
fn a_value_that_was_shortened_has_no_text() {
    let sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned();
    let left =
        Shortened { sha256, bytes: 40_000_000, kind: "string".to_owned(), lacks_room: false }.to_json();
    let within =
        Json::object([("kept", Json::string("a")), ("list", Json::object([("lost", left.clone())]))]);
    for value in [left.value(), within.value(), Value::list(vec![Value::Int(1), left.value()])] {
        for name in ["text", "json.parse", "hash.sha256"] {
            let fault = ask(name, &value).unwrap_err();
            let expected = if name == "text" || value.kind() == Kind::Shortened {
                ErrorCode::ValueShortened
            } else {
                ErrorCode::NoMatchingOverload
            };
            assert_eq!(fault.code, expected, "{name}");
        }
    }
}

/// The examples of FIPS 180-2.
#[test]
fn published_digests_are_the_same() {
    for (text, digest) in [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (&"a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] {
        assert_eq!(ask("hash.sha256", &Value::text(text)).unwrap().as_str(), Some(digest));
    }
}

/// A record of a host has its names and values among its lines.
#[test]
fn the_entries_of_a_map_stand_in_its_order() {
    let value = parse(r#"{"b": {"x": [1.5, -0.0, 1e21]}, "a": "two\nlines"}"#).unwrap();
    assert_eq!(texts(&value).unwrap(), "b\nx\n1.5\n-0\n1e+21\na\ntwo\nlines");
    let Value::Map(map) = &value else { panic!("it is a map") };
    assert_eq!(Map::len(map), 2);
}
