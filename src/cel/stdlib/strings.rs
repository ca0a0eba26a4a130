//! The standard functions on text.

use super::no_overload;
use super::pattern::Pattern;
use crate::fault::Fault;
use crate::function::{Code, Function};
use crate::value::Value;

pub(super) static STRINGS: &[Function] = &[
    Function {
        name: "contains",
        doc: "whether a text occurs in another",
        cost: "1, and the length of the text",
        overloads: &[("contains_string", "string.contains(string) -> bool")],
        examples: &[("'guardrail'.contains('rail')", "true"), ("'a'.contains('b')", "false")],
        code: Code::Test(|meter, text, part| match (text, part) {
            (Value::String(text), Value::String(part)) => {
                meter.charge_text(text.len())?;
                meter.charge_text(part.len())?;
                Ok(text.contains(&**part))
            }
            _ => Err(Fault::no_overload([text.kind(), part.kind()])),
        }),
    },
    Function {
        name: "startsWith",
        doc: "whether a text begins with another",
        cost: "1, and the length of the beginning",
        overloads: &[("starts_with_string", "string.startsWith(string) -> bool")],
        examples: &[("'prod-eu'.startsWith('prod-')", "true")],
        code: Code::Test(|meter, text, part| match (text, part) {
            (Value::String(text), Value::String(part)) => {
                meter.charge_text(part.len())?;
                Ok(text.starts_with(&**part))
            }
            _ => Err(Fault::no_overload([text.kind(), part.kind()])),
        }),
    },
    Function {
        name: "endsWith",
        doc: "whether a text ends with another",
        cost: "1, and the length of the end",
        overloads: &[("ends_with_string", "string.endsWith(string) -> bool")],
        examples: &[("'ann@example.com'.endsWith('@example.com')", "true")],
        code: Code::Test(|meter, text, part| match (text, part) {
            (Value::String(text), Value::String(part)) => {
                meter.charge_text(part.len())?;
                Ok(text.ends_with(&**part))
            }
            _ => Err(Fault::no_overload([text.kind(), part.kind()])),
        }),
    },
    Function {
        name: "matches",
        doc: "whether a regular expression of RE2's syntax is found in a text; `^` and `$` around it ask for the whole text",
        cost: "1, and the length of the text, times what the pattern has more than 16 places to stand at; compiling a \
               pattern that is not constant, its length and its classes of characters",
        overloads: &[
            ("matches_string", "string.matches(string) -> bool"),
            ("matches", "matches(string, string) -> bool"),
        ],
        examples: &[
            ("'a1'.matches('[0-9]')", "true"),
            ("'a1'.matches('^[0-9]+$')", "false"),
            (r"'é٣'.matches(r'\w|\d')", "false"),
            ("'a'.matches('(')", "error: invalid_argument"),
            ("'a'.matches('(?=a)')", "error: invalid_argument"),
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
