//! Laws of values: JSON in and out, order across number types, durations, keys.
#![expect(clippy::arithmetic_side_effects, reason = "a test that overflows should stop")]

use super::{Duration, Entries, Json, Key, Keys, Part, Text, Timestamp, Value};
use crate::limits::EvalLimits;
use proptest::prelude::*;
use std::cmp::Ordering;

fn json(depth: u32) -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<i32>().prop_map(Into::into),
        (-1e300..1e300_f64).prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(depth, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(serde_json::Value::Array),
            prop::collection::vec((".{0,6}", inner.clone()), 0..40)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

fn parse(text: &str) -> Json {
    Json::parse(text, &EvalLimits::default()).unwrap()
}

proptest! {
    #[test]
    fn json_is_stored_as_it_came(value in json(4)) {
        let stored = parse(&value.to_string());
        prop_assert_eq!(&serde_json::to_value(&stored).unwrap(), &value);
        prop_assert_eq!(&serde_json::to_value(Json::from(&value)).unwrap(), &value);
        let rebuilt = Json::from_value(&stored.value(), &EvalLimits::default()).unwrap();
        prop_assert_eq!(&serde_json::to_value(&rebuilt).unwrap(), &value);
        prop_assert_eq!(&serde_json::to_value(stored.root().to_json()).unwrap(), &value);
    }

    #[test]
    fn every_key_of_an_object_is_found(members in prop::collection::hash_map(".{0,5}", any::<i64>(), 0..60)) {
        let stored = Json::from(serde_json::json!(members));
        for (key, value) in &members {
            prop_assert!(stored.root().get(key).unwrap().value().equals(&Value::Int(*value)));
        }
        prop_assert!(stored.root().get("absent key").is_none());
    }

    #[test]
    fn order_across_number_types_is_that_of_the_numbers(a in any::<i64>(), b in any::<u64>(), c in -1e19..1e19_f64) {
        let order = |a: &Value<'_>, b: &Value<'_>| a.order(b).unwrap().unwrap();
        prop_assert_eq!(order(&Value::Int(a), &Value::UInt(b)), i128::from(a).cmp(&i128::from(b)));
        prop_assert_eq!(order(&Value::UInt(b), &Value::Int(a)), i128::from(b).cmp(&i128::from(a)));
        let nearest = c.partial_cmp(&(a as f64)).unwrap();
        prop_assert_eq!(order(&Value::Double(c), &Value::Int(a)), nearest);
        prop_assert_eq!(order(&Value::Int(a), &Value::Double(c)), nearest.reverse());
    }

    #[test]
    fn times_read_back(seconds in -62_135_596_800_i64..=253_402_300_799, nanos in 0..1_000_000_000_i128) {
        let time = Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000 + nanos).unwrap();
        prop_assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
    }

    #[test]
    fn durations_read_back(nanos in -9_000_000_000_000_000_000_i128..9_000_000_000_000_000_000) {
        let duration = Duration::from_nanos(nanos).unwrap();
        prop_assert_eq!(duration.to_string().parse::<Duration>().unwrap(), duration);
    }
}

#[test]
fn durations_follow_the_grammar() {
    let nanos = |text: &str| text.parse::<Duration>().map(Duration::nanos).ok();
    assert_eq!(nanos("1h30m"), Some(5_400_000_000_000));
    assert_eq!(nanos("-1.5s"), Some(-1_500_000_000));
    assert_eq!(nanos("0"), Some(0));
    assert_eq!(nanos("1us"), Some(1_000));
    assert_eq!(nanos("1µs2ns"), Some(1_002));
    assert_eq!(nanos(".5s"), Some(500_000_000));
    for bad in ["", "1", "2d", "s", "1h 30m", "--1s", "1.s.", "1e3s", "."] {
        assert_eq!(nanos(bad), None, "{bad:?}");
    }
}

#[test]
fn times_outside_the_calendar_are_refused() {
    for bad in ["2009-02-13 23:31:30Z", "2009-02-13T23:31:60Z", "2009-02-13", "10000-01-01T00:00:00Z", ""] {
        assert!(bad.parse::<Timestamp>().is_err(), "{bad:?}");
    }
    assert!(Timestamp::from_unix(253_402_300_800).is_err());
}

#[test]
fn a_later_key_replaces_an_earlier_one() {
    let small = parse(r#"{"a": 1, "b": 2, "a": 3}"#);
    assert_eq!(small.to_string(), r#"{"b":2,"a":3}"#);
    let many: Vec<String> = (0..40).map(|n| format!("\"k{}\": {n}", n % 20)).collect();
    let large = parse(&format!("{{{}}}", many.join(",")));
    assert_eq!(large.root().len(), 20);
    assert!(large.root().get("k7").unwrap().value().equals(&Value::Int(27)));
}

#[test]
fn deep_and_long_json_is_refused_without_harm() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(Json::parse(&deep, &EvalLimits::default()).is_err());
    let limits = EvalLimits { max_json_depth: 3, ..EvalLimits::default() };
    assert!(Json::parse("[[[1]]]", &limits).is_ok());
    assert!(Json::parse("[[[[1]]]]", &limits).unwrap_err().to_string().contains("max_json_depth"));
    let limits = EvalLimits { max_json_bytes: 4, ..EvalLimits::default() };
    assert!(Json::parse("1234", &limits).is_ok());
    assert!(Json::parse("12345", &limits).unwrap_err().to_string().contains("`max_json_bytes` 4"));
}

#[test]
fn numbers_of_json_are_int_or_double() {
    let kind = |text: &str| parse(text).value().kind().name();
    assert_eq!(kind("3"), "int");
    assert_eq!(kind("9223372036854775807"), "int");
    assert_eq!(kind("9223372036854775808"), "double");
    assert_eq!(kind("3.0"), "double");
    assert_eq!(kind("1e2"), "double");
    assert!(parse("-9223372036854775808").value().equals(&Value::Int(i64::MIN)));
}

#[test]
fn an_int_and_a_uint_of_one_number_are_one_key() {
    let mut entries = Entries::new();
    entries.insert(Key::Int(1), Value::Null);
    assert!(entries.insert(Key::UInt(1), Value::Null).is_some());
    assert!(entries.insert(Key::UInt(u64::MAX), Value::Null).is_none());
    assert!(entries.insert(Key::String(Text::Borrowed("1")), Value::Null).is_none());
    let Value::Map(map) = Value::map(entries) else { panic!("a map") };
    assert!(map.get(&Key::lookup(&Value::Double(1.0)).unwrap()).is_some());
    assert!(Key::lookup(&Value::Double(1.5)).is_none());
    let key = |double: f64| Key::lookup(&Value::Double(double));
    assert_eq!(key(-9_223_372_036_854_775_808.0), Some(Key::Int(i64::MIN)));
    assert_eq!(key(9_223_372_036_854_775_808.0), Some(Key::UInt(1 << 63)));
    assert_eq!(key(9_223_372_036_854_774_784.0), Some(Key::Int(i64::MAX - 1_023)));
    assert_eq!(key(18_446_744_073_709_551_616.0), None);
    assert_eq!(key(f64::NAN).or(key(f64::INFINITY)), None);
}

#[test]
fn a_value_is_four_words() {
    assert_eq!(size_of::<Value<'_>>(), 32);
}

#[test]
fn nan_has_no_order_and_equals_nothing() {
    let nan = Value::Double(f64::NAN);
    assert_eq!(nan.order(&Value::Int(1)).unwrap(), None);
    assert!(!nan.equals(&nan));
    assert_eq!(Value::Int(1).order(&Value::Double(f64::INFINITY)).unwrap(), Some(Ordering::Less));
}

#[test]
fn an_object_of_known_keys_is_one_of_its_members() {
    let keys = Keys::new(["id", "tags", "note", "sum"]).unwrap();
    let tags = parse(r#"{"unused": 1, "tags": ["a", {"b": [null, 1.5]}]}"#);
    let (id, sum) = (Value::text("ä"), Value::Int(i64::MAX));
    let tags = tags.root().get("tags").unwrap();
    let parts = [Part::Value(&id), Part::Json(tags), Part::Json(tags.item(0).unwrap()), Part::Value(&sum)];
    let packed = keys.object(parts.iter().copied(), &EvalLimits::default()).unwrap();
    let members: Vec<_> = ["id", "tags", "note", "sum"].into_iter().zip(parts).collect();
    assert_eq!(packed.to_string(), Json::from_members(&members, &EvalLimits::default()).unwrap().to_string());
    assert_eq!(
        packed.to_string(),
        r#"{"id":"ä","tags":["a",{"b":[null,1.5]}],"note":"a","sum":9223372036854775807}"#
    );
    assert!(Keys::new(["a", "b", "a"]).is_none());
    let many: Vec<_> = (0..17).map(|n| n.to_string()).collect();
    assert!(Keys::new(many.iter().map(String::as_str)).is_none());
}

#[test]
fn what_is_put_together_is_no_deeper_than_it_may_be() {
    let nested = |depth: usize| {
        let value = (0..depth).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]));
        Json::from(value)
    };
    let max_depth = EvalLimits::default().max_json_depth;
    let keys = Keys::new(["a"]).unwrap();
    for (depth, fits) in [(max_depth - 1, true), (max_depth, false)] {
        let value = nested(depth);
        let (inner, part) = (value.value(), Part::Json(value.root()));
        for part in [part, Part::Value(&inner)] {
            assert_eq!(keys.object([part].into_iter(), &EvalLimits::default()).is_ok(), fits);
            assert_eq!(Json::from_members(&[("a", part)], &EvalLimits::default()).is_ok(), fits);
        }
        assert_eq!(Json::object([("a", value.clone())]).root().is_within(max_depth), fits);
    }
}

#[test]
fn an_array_has_no_keys() {
    let array = parse(r#"["a", 1, ["b", 2], {"b": 3}]"#);
    assert!(array.root().get("a").is_none() && array.root().get_at(0, "a").is_none());
    assert!(array.root().item(2).unwrap().get("b").is_none());
    assert!(array.root().item(3).unwrap().get("b").is_some());
}
