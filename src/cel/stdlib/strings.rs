//! The standard functions on text.

use super::pattern::Pattern;
use super::{charge_texts, no_overload};
use crate::cel::fault::Fault;
use crate::cel::function::{Code, Function};
use crate::cel::meter::Meter;
use crate::cel::value::Value;

pub(super) const STRINGS: &[Function] = &[
    Function {
        name: "contains",
        doc: "whether a text occurs in another",
        cost: "1, and the length of the text",
        overloads: &[("contains_string", "string.contains(string) -> bool")],
        examples: &[("'guardrail'.contains('rail')", "true"), ("'a'.contains('b')", "false")],
        code: Code::Pure(|meter, args| test(meter, args, |text, part| text.contains(part))),
    },
    Function {
        name: "startsWith",
        doc: "whether a text begins with another",
        cost: "1, and the length of the beginning",
        overloads: &[("starts_with_string", "string.startsWith(string) -> bool")],
        examples: &[("'prod-eu'.startsWith('prod-')", "true")],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(part)] => {
                meter.charge_text(part.len())?;
                Ok(Value::Bool(text.starts_with(&**part)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "endsWith",
        doc: "whether a text ends with another",
        cost: "1, and the length of the end",
        overloads: &[("ends_with_string", "string.endsWith(string) -> bool")],
        examples: &[("'ann@example.com'.endsWith('@example.com')", "true")],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(part)] => {
                meter.charge_text(part.len())?;
                Ok(Value::Bool(text.ends_with(&**part)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "matches",
        doc: "whether a regular expression (RE2) is found in a text; anchor it to mean the whole",
        cost: "1, and the length of the text, times what the pattern has more than 16 places to stand at; compiling a \
               pattern that is not constant, its length and its classes of characters",
        overloads: &[
            ("matches_string", "string.matches(string) -> bool"),
            ("matches", "matches(string, string) -> bool"),
        ],
        examples: &[
            ("'a1'.matches('[0-9]')", "true"),
            ("'a1'.matches('^[0-9]+$')", "false"),
            ("'a'.matches('(')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(pattern)] => {
                let pattern = Pattern::compile(meter, pattern)?;
                pattern.is_match(meter, text).map(Value::Bool)
            }
            _ => no_overload(args),
        }),
    },
];

/// A question about a text and another that takes a walk over the first.
fn test<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    holds: fn(&str, &str) -> bool,
) -> Result<Value<'a>, Fault> {
    match args {
        [Value::String(text), Value::String(part)] => {
            charge_texts(meter, args)?;
            Ok(Value::Bool(holds(text, part)))
        }
        _ => no_overload(args),
    }
}
