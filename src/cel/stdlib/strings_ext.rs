//! The `strings` extension: parts of texts, texts in another shape. Positions count characters (code points) from 0.
//!
//! Parts of a text that outlives the evaluation are borrowed from it; whatever is built is paid for before.

use super::format::format;
use super::lists::position_of;
use super::{charge_texts, no_overload};
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{List, Text, Value};
use std::ops::Range;

pub(super) static STRINGS_EXT: &[Function] = &[
    Function {
        name: "charAt",
        doc: "the character at a position; the position after the last gives the empty text",
        cost: "1, and the length of the text",
        overloads: &[("string_char_at_int", "string.charAt(int) -> string")],
        examples: &[
            ("'añb'.charAt(1)", "'ñ'"),
            ("'ab'.charAt(2)", "''"),
            ("'ab'.charAt(3)", "error: index_out_of_bounds"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::Int(index)] => {
                meter.charge_text(text.len())?;
                let start = byte_at(text, *index)?;
                let length = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
                part(meter, text, start..start.saturating_add(length))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "indexOf",
        doc: "the first position of a text in another, at a position or after it, or of an element in a list; -1 if there is \
              none",
        cost: "1, and the length of the text, or of the list up to the element and what comparing costs",
        overloads: &[
            ("string_index_of_string", "string.indexOf(string) -> int"),
            ("string_index_of_string_int", "string.indexOf(string, int) -> int"),
            ("list_a_index_of_int", "list(A).indexOf(A) -> int"),
        ],
        examples: &[
            ("'tacocat'.indexOf('ac')", "1"),
            ("'tacocat'.indexOf('a', 3)", "5"),
            ("'tacocat'.indexOf('x')", "-1"),
            ("'tacocat'.indexOf('a', 8)", "error: index_out_of_bounds"),
            ("[1, 2, 2, 3].indexOf(2)", "1"),
            ("['a'].indexOf('b')", "-1"),
        ],
        code: Code::Pure(|meter, args| {
            let (text, sought, from) = match args {
                [Value::List(list), item] => return position_of(meter, item, list.iter().enumerate()),
                [Value::String(text), Value::String(sought)] => (text, sought, 0),
                [Value::String(text), Value::String(sought), Value::Int(from)] => (text, sought, *from),
                _ => return no_overload(args),
            };
            charge_texts(meter, args)?;
            let start = byte_at(text, from)?;
            let found = text.get(start..).and_then(|rest| rest.find(&**sought));
            Ok(position(text, found.map(|found| start.saturating_add(found))))
        }),
    },
    Function {
        name: "lastIndexOf",
        doc: "the last position of a text in another, at a position or before it, or of an element in a list; -1 if there is \
              none",
        cost: "1, and the length of the text, or of the list from the element on and what comparing costs",
        overloads: &[
            ("string_last_index_of_string", "string.lastIndexOf(string) -> int"),
            ("string_last_index_of_string_int", "string.lastIndexOf(string, int) -> int"),
            ("list_a_last_index_of_int", "list(A).lastIndexOf(A) -> int"),
        ],
        examples: &[
            ("'tacocat'.lastIndexOf('a')", "5"),
            ("'tacocat'.lastIndexOf('a', 4)", "1"),
            ("'tacocat'.lastIndexOf('')", "7"),
            ("'tacocat'.lastIndexOf('a', -1)", "error: index_out_of_bounds"),
            ("['a', 'b', 'b', 'c'].lastIndexOf('b')", "2"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list), item] => {
                let from_last = (0..list.len()).rev().filter_map(|index| Some((index, list.get(index)?)));
                position_of(meter, item, from_last)
            }
            [Value::String(text), Value::String(sought)] => {
                charge_texts(meter, args)?;
                Ok(position(text, text.rfind(&**sought)))
            }
            [Value::String(text), Value::String(sought), Value::Int(until)] => {
                charge_texts(meter, args)?;
                // an occurrence that begins no later ends no later than this, or than the character that it cuts
                let last = byte_at(text, *until)?;
                let end = last.saturating_add(sought.len()).min(text.len());
                let within = (last..=end).rev().find_map(|end| text.get(..end)).unwrap_or_default();
                Ok(position(text, within.rfind(&**sought)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "substring",
        doc: "the text from a position to its end, or up to but not including another position",
        cost: "1, and the length of the text",
        overloads: &[
            ("string_substring_int", "string.substring(int) -> string"),
            ("string_substring_int_int", "string.substring(int, int) -> string"),
        ],
        examples: &[
            ("'tacocat'.substring(4)", "'cat'"),
            ("'tacocat'.substring(0, 4)", "'taco'"),
            ("'tacocat'.substring(8)", "error: index_out_of_bounds"),
            ("'tacocat'.substring(4, 3)", "error: index_out_of_bounds"),
        ],
        code: Code::Pure(|meter, args| {
            let (text, start, end) = match args {
                [Value::String(text), Value::Int(start)] => (text, start, None),
                [Value::String(text), Value::Int(start), Value::Int(end)] => (text, start, Some(end)),
                _ => return no_overload(args),
            };
            meter.charge_text(text.len())?;
            let start = byte_at(text, *start)?;
            let end = end.map_or(Ok(text.len()), |end| byte_at(text, *end))?;
            part(meter, text, start..end)
        }),
    },
    Function {
        name: "trim",
        doc: "the text without the white space at its ends",
        cost: "1, and the length of the text",
        overloads: &[("string_trim", "string.trim() -> string")],
        examples: &[(r"' \n a b\t'.trim()", "'a b'")],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => {
                meter.charge_text(text.len())?;
                let start = text.len().saturating_sub(text.trim_start().len());
                part(meter, text, start..start.saturating_add(text.trim().len()))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "lowerAscii",
        doc: "the text with A to Z in lower case and all else as it is",
        cost: "1, and the length of the text",
        overloads: &[("string_lower_ascii", "string.lowerAscii() -> string")],
        examples: &[("'TacoCÆt'.lowerAscii()", "'tacocÆt'")],
        code: Code::Pure(|meter, args| rebuilt(meter, args, str::to_ascii_lowercase)),
    },
    Function {
        name: "upperAscii",
        doc: "the text with a to z in upper case and all else as it is",
        cost: "1, and the length of the text",
        overloads: &[("string_upper_ascii", "string.upperAscii() -> string")],
        examples: &[("'tacoCæt'.upperAscii()", "'TACOCæT'")],
        code: Code::Pure(|meter, args| rebuilt(meter, args, str::to_ascii_uppercase)),
    },
    Function {
        name: "replace",
        doc: "the text with all occurrences of another, or the first few, replaced",
        cost: "1, and the length of the text before and after",
        overloads: &[
            ("string_replace_string_string", "string.replace(string, string) -> string"),
            ("string_replace_string_string_int", "string.replace(string, string, int) -> string"),
        ],
        examples: &[
            ("'he and he'.replace('he', 'she')", "'she and she'"),
            ("'he and he'.replace('he', 'she', 1)", "'she and he'"),
            ("'ab'.replace('', '-')", "'-a-b-'"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(old), Value::String(new)] => {
                replace(meter, text, old, new, usize::MAX)
            }
            [Value::String(text), Value::String(old), Value::String(new), Value::Int(most)] => {
                replace(meter, text, old, new, limit(*most))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "split",
        doc: "the parts of a text between the occurrences of another; at most so many, the last with all the rest",
        cost: "1, the length of the text, and 1 for each part",
        overloads: &[
            ("string_split_string", "string.split(string) -> list(string)"),
            ("string_split_string_int", "string.split(string, int) -> list(string)"),
        ],
        examples: &[
            ("'a, b, c'.split(', ')", "['a', 'b', 'c']"),
            ("'a, b, c'.split(', ', 2)", "['a', 'b, c']"),
            ("'a, b, c'.split(', ', 0)", "[]"),
            ("'añ'.split('')", "['a', 'ñ']"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(separator)] => split(meter, text, separator, usize::MAX),
            [Value::String(text), Value::String(separator), Value::Int(most)] => {
                split(meter, text, separator, limit(*most))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "join",
        doc: "the texts of a list one after the other, with a separator between them if one is given",
        cost: "1, and the length of what is built",
        overloads: &[
            ("list_join", "list(string).join() -> string"),
            ("list_join_string", "list(string).join(string) -> string"),
        ],
        examples: &[
            ("['a', 'b'].join(', ')", "'a, b'"),
            ("['a', 'b'].join()", "'ab'"),
            ("[].join('-')", "''"),
            ("['a', 1].join()", "error: no_matching_overload"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list)] => join(meter, list, ""),
            [Value::List(list), Value::String(separator)] => join(meter, list, separator),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "strings.quote",
        doc: "the text in double quotes, with escapes, as it would be written in an expression",
        cost: "1, and the length of the text",
        overloads: &[("strings_quote", "strings.quote(string) -> string")],
        examples: &[(r#"strings.quote('a "b"\n')"#, r#"'"a \\"b\\"\\n"'"#)],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => {
                meter.charge_built(text.len().saturating_mul(2).saturating_add(2))?;
                Ok(Value::owned_text(quote(text)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "format",
        doc: "the text with each `%` clause replaced by an element of the list: `%s` any value, `%d` a number, `%f` and \
              `%e` with digits after the point (`%.2f`, else 6), `%x` `%X` `%o` `%b` in other bases, `%%` the sign",
        cost: "1, and the length of what is built",
        overloads: &[("string_format", "string.format(list(dyn)) -> string")],
        examples: &[
            ("'%s has %d of %.1f%%'.format(['ann', 3, 2.25])", "'ann has 3 of 2.2%'"),
            ("'%s'.format([[1, {'b': null, 'a': true}]])", "'[1, {a: true, b: null}]'"),
            ("'%x %X %o %b'.format([26, 'Hi', 8, 5])", "'1a 4869 10 101'"),
            ("'%e'.format([1052.5])", "'1.052500e+03'"),
            ("'%d'.format([])", "error: index_out_of_bounds"),
            ("'%d'.format(['a'])", "error: no_matching_overload"),
            ("'%y'.format([1])", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(template), Value::List(list)] => {
                format(meter, template, list).map(Value::owned_text)
            }
            _ => no_overload(args),
        }),
    },
];

/// The byte at which the character at a position begins; of the position after the last, the text's length.
fn byte_at(text: &str, index: i64) -> Result<usize, Fault> {
    let index = usize::try_from(index).map_err(|_| ErrorCode::IndexOutOfBounds)?;
    let mut starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    starts.nth(index).ok_or_else(|| ErrorCode::IndexOutOfBounds.into())
}

/// The position of the character that begins at a byte; -1 of none.
fn position<'a>(text: &str, byte: Option<usize>) -> Value<'a> {
    let count = byte.and_then(|byte| text.get(..byte)).map(|before| before.chars().count());
    Value::Int(count.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX)))
}

/// A part of a text, borrowed from where the text is borrowed from.
///
/// # Errors
/// `index_out_of_bounds` if the end is before the start.
pub(super) fn part<'a>(
    meter: &mut Meter<'_>,
    text: &Text<'a>,
    range: Range<usize>,
) -> Result<Value<'a>, Fault> {
    match (text.as_borrowed().and_then(|text| text.get(range.clone())), text.get(range)) {
        (Some(part), _) => Ok(Value::text(part)),
        (None, Some(part)) => {
            meter.charge_built(part.len())?;
            Ok(Value::owned_text(part))
        }
        (None, None) => Err(ErrorCode::IndexOutOfBounds.into()),
    }
}

/// A text of the same length, built anew.
fn rebuilt<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    build: fn(&str) -> String,
) -> Result<Value<'a>, Fault> {
    match args {
        [Value::String(text)] => {
            meter.charge_built(text.len())?;
            Ok(Value::owned_text(build(text)))
        }
        _ => no_overload(args),
    }
}

/// How many, where a negative number means all.
fn limit(most: i64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

fn replace<'a>(
    meter: &mut Meter<'_>,
    text: &str,
    old: &str,
    new: &str,
    most: usize,
) -> Result<Value<'a>, Fault> {
    meter.charge_text(text.len().saturating_add(old.len()))?;
    let count = text.matches(old).take(most).count();
    meter.charge_built(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::owned_text(text.replacen(old, new, most)))
}

fn split<'a>(
    meter: &mut Meter<'_>,
    text: &Text<'a>,
    separator: &str,
    most: usize,
) -> Result<Value<'a>, Fault> {
    meter.charge_text(text.len().saturating_add(separator.len()))?;
    let mut parts = Vec::new();
    let mut start = 0;
    while parts.len() < most {
        let rest = text.get(start..).unwrap_or_default();
        let end = match separator {
            _ if parts.len().saturating_add(1) == most => None,
            "" => rest.char_indices().nth(1).map(|(end, _)| end),
            separator => rest.find(separator),
        };
        if rest.is_empty() && separator.is_empty() {
            break;
        }
        let end = end.map(|end| start.saturating_add(end));
        List::charge(meter, 1)?;
        parts.push(part(meter, text, start..end.unwrap_or(text.len()))?);
        match end {
            Some(end) => start = end.saturating_add(separator.len()),
            None => break,
        }
    }
    Ok(Value::list(parts))
}

fn join<'a>(meter: &mut Meter<'_>, list: &List<'a>, separator: &str) -> Result<Value<'a>, Fault> {
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let Value::String(text) = item else { return no_overload(&[&Value::List(list.clone()), &item]) };
        let between = if index == 0 { "" } else { separator };
        meter.charge(1)?;
        meter.charge_built(between.len().saturating_add(text.len()))?;
        joined.push_str(between);
        joined.push_str(&text);
    }
    Ok(Value::owned_text(joined))
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
