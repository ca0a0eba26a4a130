//! Optional values: made, asked and unwrapped. The macros `optMap` and `optFlatMap` belong to the syntax.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{List, Value};
use std::sync::Arc;

pub(super) static OPTIONALS: &[Function] = &[
    Function {
        name: "optional.of",
        doc: "an optional with this value",
        cost: "1",
        overloads: &[("optional_of", "optional.of(A) -> optional_type(A)")],
        examples: &[("optional.of(1).value()", "1"), ("optional.of(null).hasValue()", "true")],
        code: Code::Pure(|_, args| match args {
            [value] => Ok(some((*value).clone())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "optional.ofNonZeroValue",
        doc: "an optional with this value, or none if it is null, false, zero or empty",
        cost: "1",
        overloads: &[("optional_ofNonZeroValue", "optional.ofNonZeroValue(A) -> optional_type(A)")],
        examples: &[
            ("optional.ofNonZeroValue('').hasValue()", "false"),
            ("optional.ofNonZeroValue([1]).hasValue()", "true"),
        ],
        code: Code::Pure(|_, args| match args {
            [value] if is_zero(value) => Ok(Value::Optional(None)),
            [value] => Ok(some((*value).clone())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "optional.none",
        doc: "the optional without a value",
        cost: "1",
        overloads: &[("optional_none", "optional.none() -> optional_type(A)")],
        examples: &[("optional.none().hasValue()", "false"), ("{}.?a == optional.none()", "true")],
        code: Code::Pure(|_, args| match args {
            [] => Ok(Value::Optional(None)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "optional.unwrap",
        doc: "the values of a list of optionals, without those that are none",
        cost: "1, and 1 for each element",
        overloads: &[("optional_unwrap", "optional.unwrap(list(optional_type(A))) -> list(A)")],
        examples: &[("optional.unwrap([optional.of(1), optional.none()])", "[1]")],
        code: Code::Pure(unwrap),
    },
    Function {
        name: "unwrapOpt",
        doc: "the values of a list of optionals, without those that are none",
        cost: "1, and 1 for each element",
        overloads: &[("optional_unwrapOpt", "list(optional_type(A)).unwrapOpt() -> list(A)")],
        examples: &[("[optional.none(), optional.of(2)].unwrapOpt()", "[2]")],
        code: Code::Pure(unwrap),
    },
    Function {
        name: "hasValue",
        doc: "whether the optional has a value",
        cost: "1",
        overloads: &[("optional_hasValue", "optional_type(A).hasValue() -> bool")],
        examples: &[("{'a': null}.?a.hasValue()", "true"), ("{}.?a.hasValue()", "false")],
        code: Code::Pure(|_, args| match args {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "value",
        doc: "the value of the optional; it is an error if there is none",
        cost: "1",
        overloads: &[("optional_value", "optional_type(A).value() -> A")],
        examples: &[("[7][?0].value()", "7"), ("[][?0].value()", "error: invalid_argument")],
        code: Code::Pure(|_, args| match args {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(ErrorCode::InvalidArgument.into()),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "or",
        doc: "the optional if it has a value, else the other, which is evaluated only then",
        cost: "1, and the other only if it is needed",
        overloads: &[("optional_or_optional", "optional_type(A).or(optional_type(A)) -> optional_type(A)")],
        examples: &[
            ("optional.none().or(optional.of(1)).value()", "1"),
            ("optional.of(2).or(optional.of(1 / 0)).value()", "2"),
        ],
        code: Code::Plan,
    },
    Function {
        name: "orValue",
        doc: "the value of the optional if it has one, else the other value, which is evaluated only then",
        cost: "1, and the other only if it is needed",
        overloads: &[("optional_orValue_value", "optional_type(A).orValue(A) -> A")],
        examples: &[
            ("{'a': 1}.?b.orValue(0)", "0"),
            ("{'a': 1}.?a.orValue(1 / 0)", "1"),
            ("{}.?a.orValue(1 / 0)", "error: divide_by_zero"),
        ],
        code: Code::Plan,
    },
];

pub(super) fn some(value: Value<'_>) -> Value<'_> {
    Value::Optional(Some(Arc::new(value)))
}

fn unwrap<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let [Value::List(list)] = args else { return no_overload(args) };
    List::charge(meter, list.len())?;
    let mut values = Vec::new();
    for item in list.iter() {
        match item {
            Value::Optional(value) => values.extend(value.map(|value| (*value).clone())),
            other => return no_overload(&[&other]),
        }
    }
    Ok(Value::list(values))
}

/// Whether a value is the one that its type begins with.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Optional(None) => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::UInt(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Duration(duration) => duration.nanos() == 0,
        Value::Timestamp(time) => time.nanos() == 0,
        Value::Optional(Some(_)) | Value::Type(_) | Value::Opaque(_) | Value::Shortened => false,
    }
}
