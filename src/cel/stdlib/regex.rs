//! The `regex` library: what regular expressions find, and what is put in its place. Linear in the text, no backtracking.

use super::no_overload;
use super::optionals::some;
use super::pattern::{CompiledPattern, Pattern};
use super::strings_ext::part;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{List, Text, Value};
use regex_automata::Span;
use regex_automata::util::captures::Captures;

pub(super) static REGEX: &[Function] = &[
    Function {
        name: "regex.extract",
        doc: "the first match, or what its only group matched; none if there is no match or the group is empty",
        cost: "1, the length of the text, and 50 for each byte of the pattern",
        overloads: &[(
            "regex_extract_string_string",
            "regex.extract(string, string) -> optional_type(string)",
        )],
        examples: &[
            ("regex.extract('item-A, item-B', r'item-(\\w+)').value()", "'A'"),
            ("regex.extract('hello', 'l+').value()", "'ll'"),
            ("regex.extract('hello', 'x').hasValue()", "false"),
            ("regex.extract('ab', '(a)(b)')", "error: invalid_argument"),
            ("regex.extract('ab', '(')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(pattern)] => {
                let pattern = extracting(meter, pattern)?;
                pattern.charge(meter, text.len())?;
                let compiled = pattern.compiled()?;
                match compiled.regex.captures_iter(&**text).next().and_then(|it| extracted(compiled, &it)) {
                    Some(found) => Ok(some(part(meter, text, found.range())?)),
                    None => Ok(Value::Optional(None)),
                }
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "regex.extractAll",
        doc: "all matches, or what the only group matched in each, without the empty ones",
        cost: "1, the length of the text, more for each match in a long one, and 50 for each byte of the pattern",
        overloads: &[("regex_extractAll_string_string", "regex.extractAll(string, string) -> list(string)")],
        examples: &[
            ("regex.extractAll('id:1, id:2', 'id:[0-9]')", "['id:1', 'id:2']"),
            ("regex.extractAll('id:1, id:2', 'id:([0-9])')", "['1', '2']"),
            ("regex.extractAll('ab', 'x')", "[]"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(pattern)] => {
                let pattern = extracting(meter, pattern)?;
                pattern.charge(meter, text.len())?;
                let mut all = Vec::new();
                let compiled = pattern.compiled()?;
                for captures in compiled.regex.captures_iter(&**text) {
                    charge_match(meter, &pattern, text, &captures)?;
                    if let Some(found) = extracted(compiled, &captures) {
                        List::charge(meter, 1)?;
                        all.push(part(meter, text, found.range())?);
                    }
                }
                Ok(Value::list(all))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "regex.replace",
        doc: r"the text with all matches, or the first few, replaced; `\1` to `\9` stand for groups, `\0` for the match",
        cost: "1, the length of the texts, more for each match in a long one, and 50 for each byte of the pattern",
        overloads: &[
            ("regex_replace_string_string_string", "regex.replace(string, string, string) -> string"),
            (
                "regex_replace_string_string_string_int",
                "regex.replace(string, string, string, int) -> string",
            ),
        ],
        examples: &[
            ("regex.replace('banana', 'a', 'x')", "'bxnxnx'"),
            ("regex.replace('banana', 'a', 'x', 1)", "'bxnana'"),
            (r"regex.replace('ann@example.com', '(\\w+)@(\\w+)', '\\2 at \\1')", "'example at ann.com'"),
            (r"regex.replace('a', 'a', '\\1')", "error: invalid_argument"),
            (r"regex.replace('a', 'a', '\\x')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text), Value::String(pattern), Value::String(by)] => {
                replace(meter, text, pattern, by, usize::MAX)
            }
            [Value::String(text), Value::String(pattern), Value::String(by), Value::Int(most)] => {
                replace(meter, text, pattern, by, usize::try_from(*most).unwrap_or(usize::MAX))
            }
            _ => no_overload(args),
        }),
    },
];

/// How much cheaper the text after a match is than text that is searched. One search may look at all the rest of the
/// text before it settles on a short match, so many of them are quadratic at worst; ordinary ones are not, so this is
/// far less than the price of text, and still bounds what an evaluation can do.
const CHEAPER_LOOKAHEAD: usize = 100;

fn charge_match(
    meter: &mut Meter<'_>,
    pattern: &Pattern,
    text: &str,
    captures: &Captures,
) -> Result<(), Fault> {
    let end = captures.get_match().map_or(0, |found| found.end());
    meter.charge(1)?;
    pattern.charge(meter, text.len().saturating_sub(end) / CHEAPER_LOOKAHEAD)
}

const ONE_GROUP: &str = "a pattern with at most one group that captures; others are written `(?:…)`";

/// A pattern to extract with: of several groups it would not be clear which is meant.
fn extracting(meter: &mut Meter<'_>, pattern: &str) -> Result<Pattern, Fault> {
    let pattern = Pattern::compile(meter, pattern)?;
    if pattern.compiled()?.captures > 1 { Err(Fault::refused(ONE_GROUP)) } else { Ok(pattern) }
}

/// What a match is taken to have found: the whole, or its group unless that is empty.
fn extracted(pattern: &CompiledPattern, captures: &Captures) -> Option<Span> {
    match pattern.captures {
        0 => captures.get_group(0),
        _ => captures.get_group(1).filter(|group| !group.is_empty()),
    }
}

fn replace<'a>(
    meter: &mut Meter<'_>,
    text: &Text<'a>,
    pattern: &str,
    by: &str,
    most: usize,
) -> Result<Value<'a>, Fault> {
    let pattern = Pattern::compile(meter, pattern)?;
    meter.charge_built(by.len())?;
    let compiled = pattern.compiled()?;
    let pieces = pieces(by, compiled.captures)?;
    pattern.charge(meter, text.len())?;
    meter.charge_built(text.len())?;
    let mut replaced = String::new();
    let mut after = 0;
    for captures in compiled.regex.captures_iter(&**text).take(most) {
        charge_match(meter, &pattern, text, &captures)?;
        let Some(whole) = captures.get_group(0) else { continue };
        replaced.push_str(text.get(after..whole.start).unwrap_or_default());
        for piece in &pieces {
            let piece = match piece {
                Piece::Text(text) => text,
                Piece::Group(number) => {
                    captures.get_group(*number).and_then(|group| text.get(group.range())).unwrap_or_default()
                }
            };
            meter.charge_built(piece.len())?;
            replaced.push_str(piece);
        }
        after = whole.end;
    }
    replaced.push_str(text.get(after..).unwrap_or_default());
    Ok(Value::owned_text(replaced))
}

/// A part of a replacement.
enum Piece<'t> {
    Text(&'t str),
    Group(usize),
}

/// Reads a replacement: a backslash stands before a digit or another backslash and nowhere else.
fn pieces(replacement: &str, groups: usize) -> Result<Vec<Piece<'_>>, Fault> {
    let mut pieces = Vec::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('\\') {
        pieces.push(Piece::Text(before));
        let mut escaped = after.chars();
        let escape = escaped.next();
        rest = escaped.as_str();
        match escape.map(|escape| (escape, escape.to_digit(10))) {
            Some(('\\', _)) => pieces.push(Piece::Text("\\")),
            Some((_, Some(digit))) if digit as usize <= groups => pieces.push(Piece::Group(digit as usize)),
            _ => return Err(ErrorCode::InvalidArgument.into()),
        }
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}
