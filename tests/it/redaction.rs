//! `redact`: values of named keys, in values and in JSON that a text has in it, against a walk over `serde_json`'s values.

use celador::cel::{Code, ErrorCode, EvalLimits, Fault, Json, Meter, Shortened, Value};
use celador::detect::DETECTION;
use proptest::prelude::*;

fn redact_within<'a>(limits: &EvalLimits, value: &Value<'a>, keys: &[&str]) -> Result<Value<'a>, Fault> {
    let row = DETECTION.iter().find(|row| row.name == "redact").unwrap();
    let Code::Pure(code) = row.code else { panic!("it is pure") };
    let keys = Value::list(keys.iter().map(|key| Value::owned_text(*key)).collect());
    code(&mut Meter::new(limits), &[value, &keys])
}

fn redact<'a>(value: &Value<'a>, keys: &[&str]) -> Result<Value<'a>, Fault> {
    redact_within(&EvalLimits::default(), value, keys)
}

/// A text without the values of keys.
fn text(text: &str, keys: &[&str]) -> String {
    redact(&Value::owned_text(text), keys).unwrap().as_str().unwrap().to_owned()
}

/// The same by a walk over what `serde_json` reads.
fn expected(value: &serde_json::Value, keys: &[&str]) -> serde_json::Value {
    let plain = |key: &str| key.to_lowercase().replace(['_', '-'], "");
    let is_named = |key: &str| keys.iter().any(|other| plain(other) == plain(key));
    match value {
        serde_json::Value::Object(object) => {
            let member = |(key, value): (&String, &serde_json::Value)| {
                let value = if is_named(key) { "[redacted]".into() } else { expected(value, keys) };
                (key.clone(), value)
            };
            serde_json::Value::Object(object.iter().map(member).collect())
        }
        serde_json::Value::Array(items) => items.iter().map(|item| expected(item, keys)).collect(),
        other => other.clone(),
    }
}

/// JSON whose keys are few, and whose texts have what JSON has to escape.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a\\\\\"\\[\\]:, \\n\\u{0}é😀]{0,10}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop::sample::select(&["ssn", "SSN", "s_sn", "name", "a\"", "\\", "ssn_of", "é"][..]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((key, inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Keys to redact.
const KEYS: &[&[&str]] = &[&["ssn"], &["S-SN", "é"], &["name", "none"]];

proptest! {
    #[test]
    fn a_value_and_its_text_lose_the_same(document in document(), keys in prop::sample::select(KEYS)) {
        let wanted = expected(&document, keys);
        let json = Json::from(document.clone());
        let redacted = redact(&json.value(), keys).unwrap();
        prop_assert_eq!(Json::from_value(&redacted, &EvalLimits::default()).unwrap().to_string(), Json::from(wanted.clone()).to_string());
        for written in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            // alone, between words, as a line of several, and as a text of a text
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            prop_assert_eq!(read(&text(&written, keys)), wanted.clone());
            if wanted == document {
                prop_assert_eq!(&text(&written, keys), &written);
            }
            let within = text(&format!("So \"it\" is: {written} (all)"), keys);
            prop_assert_eq!(read(within.strip_prefix("So \"it\" is: ").unwrap().strip_suffix(" (all)").unwrap()), wanted.clone());
            let quoted = serde_json::json!([{"text": written}]);
            let inner = read(&text(&quoted.to_string(), keys));
            prop_assert_eq!(read(inner[0]["text"].as_str().unwrap()), wanted.clone());
            let lines = text(&format!("{document}\n{document}\n"), keys);
            prop_assert!(lines.lines().all(|line| read(line) == wanted));
        }
    }
}

#[test]
fn texts_that_are_nearly_json_keep_nothing() {
    for (given, left) in [
        (r#"{"ssn": 1, "ssn": 2}"#, r#"{"ssn": "[redacted]", "ssn": "[redacted]"}"#),
        (r#"{"ssn": NaN, "n": 1.50}"#, r#"{"ssn": "[redacted]", "n": 1.50}"#),
        (r#"{"ssn": "078-05"#, r#"{"ssn": "[redacted]""#),
        (r#"{"ssn": {"a": [1, "}"]}, "b": 2}"#, r#"{"ssn": "[redacted]", "b": 2}"#),
        (r#"{"s\u0073n" : 1}"#, r#"{"s\u0073n" : "[redacted]"}"#),
        (r#"{"ssn\ud800": 1}"#, r#"{"ssn\ud800": "[redacted]"}"#),
        ("{\"ｓsn\": 1, \"s\u{200b}sn\": 2}", "{\"ｓsn\": \"[redacted]\", \"s\u{200b}sn\": \"[redacted]\"}"),
        ("\u{feff}{\"ssn\":1}", "\u{feff}{\"ssn\":\"[redacted]\"}"),
        ("```json\n{\"ssn\": 1}\n```", "```json\n{\"ssn\": \"[redacted]\"}\n```"),
        ("data: {\"ssn\": 1}\n\n", "data: {\"ssn\": \"[redacted]\"}\n\n"),
        (r#"a 5" pipe {"ssn": 1}"#, r#"a 5" pipe {"ssn": "[redacted]"}"#),
        (r#""{\"ssn\": 1}""#, r#""{\"ssn\": \"[redacted]\"}""#),
        (
            r#"{"t": "{\"t\": \"{\\\"ssn\\\": 1}\"}"}"#,
            r#"{"t": "{\"t\": \"{\\\"ssn\\\": \\\"[redacted]\\\"}\"}"}"#,
        ),
        (
            r#"{"t": "{\"ssn\": 1, \"x\": \"\ud800\"}"}"#,
            "{\"t\": \"{\\\"ssn\\\": \\\"[redacted]\\\", \\\"x\\\": \\\"\u{fffd}\\\"}\"}",
        ),
        (r#"{"t": "\u007b\"ssn\": 1}"}"#, r#"{"t": "{\"ssn\": \"[redacted]\"}"}"#),
        // no key
        (r#"{"t": "ssn", "u": ["ssn", 1]}"#, r#"{"t": "ssn", "u": ["ssn", 1]}"#),
        (r#"{"ssn"}"#, r#"{"ssn"}"#),
        (r#"["ssn": 1]"#, r#"["ssn": 1]"#),
        ("ssn: 1", "ssn: 1"),
    ] {
        assert_eq!(text(given, &["ssn"]), left, "{given}");
        assert_eq!(text(left, &["ssn"]), left, "{left}");
    }
}

#[test]
fn what_cannot_be_looked_through_is_an_error() {
    let code = |value: &Value<'_>, keys: &[&str]| redact(value, keys).map(drop).map_err(|fault| fault.code);
    let shortened =
        Shortened { sha256: "0".repeat(64), bytes: 1, kind: "string".to_owned(), lacks_room: false }
            .to_json();
    let nested = Value::list(vec![Value::list(vec![shortened.value()])]);
    assert_eq!(code(&nested, &["ssn"]), Err(ErrorCode::ValueShortened));
    assert_eq!(code(&Value::Null, &[]), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(&Value::Null, &["ssn", "_\u{200b}"]), Err(ErrorCode::InvalidArgument));
    // texts within texts count as levels
    let nest =
        |levels| (0..levels).fold("{}".to_owned(), |text, _| serde_json::json!({"t": text}).to_string());
    let limits = EvalLimits { max_json_depth: 3, ..EvalLimits::default() };
    let within = |levels| redact_within(&limits, &Value::owned_text(nest(levels)), &["ssn"]).map(drop);
    assert_eq!(within(2), Ok(()));
    assert_eq!(within(3), Err(Fault::budget("max_json_depth")));
    let limits = EvalLimits { max_cost: 300, ..EvalLimits::default() };
    assert_eq!(
        redact_within(&limits, &Value::owned_text(nest(8)), &["ssn"]).map(drop),
        Err(Fault::budget("max_cost"))
    );
}
