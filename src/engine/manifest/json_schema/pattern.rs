//! The regular expressions of `pattern`: ECMA 262 as JSON Schema has it, as far as it can be matched in linear time.
//!
//! In: a pattern. Out: the same for the engine of `regex`, or why it cannot be said. Looking ahead or behind and referring
//! back to a group take time that nobody bounds, and are refused. Where both languages write one thing in two ways (`\d`,
//! `\w`, `\s` and `\b` are about ASCII in ECMA 262, `\<` is a sign and no anchor) ECMA 262 decides.

#[cfg(feature = "schemas")]
use super::values::{Packed, Seen};
#[cfg(feature = "schemas")]
use crate::cel::Json;
use crate::limits::EngineLimits;
#[cfg(feature = "schemas")]
use jsonschema::Draft;
use regex::RegexBuilder;

const LOOKS: &str = "it looks ahead or behind, which takes more than linear time";
const REFERS: &str = "it refers back to a group, which takes more than linear time";
const FLAGS: &str = "it sets flags, which patterns of JSON Schema do not have";
const EMPTY_CLASS: &str = "an empty class fits nothing";
const MALFORMED: &str = "it is no regular expression of ECMA 262 with the flag `u`";
pub(super) const LARGE: &str = "it is malformed or larger than `max_regex_bytes`";

/// `\s` of ECMA 262, as the inside of a class.
const SPACE: &str = r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// The pattern as the engine reads it, if it is one of ECMA 262. It is not compiled. Linear in the pattern.
///
/// # Errors
/// Why it cannot be said.
pub(super) fn translate(pattern: &str, limits: &EngineLimits) -> Result<String, &'static str> {
    if pattern.len() > limits.eval.max_source_bytes {
        return Err("it is longer than `max_source_bytes`");
    }
    let out = rewrite(pattern)?;
    if is_ecma(pattern) { Ok(out) } else { Err(MALFORMED) }
}

/// Compiles a pattern that was translated, to see that it can be. As much work as its compiled form takes.
///
/// # Errors
/// Why it cannot be.
pub(super) fn try_out(translated: &str, limits: &EngineLimits) -> Result<(), &'static str> {
    let compiled = RegexBuilder::new(translated).size_limit(limits.eval.max_regex_bytes).build();
    compiled.map(drop).map_err(|_| LARGE)
}

/// The same words for the engine. Linear in the pattern.
///
/// # Errors
/// Why it cannot be said.
pub(super) fn rewrite(pattern: &str) -> Result<String, &'static str> {
    let mut out = String::new();
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        let after = rest.strip_prefix(character).unwrap_or_default();
        rest = match character {
            '\\' => escape(after, in_class, &mut out)?,
            '[' if !in_class => {
                in_class = true;
                let negated = after.strip_prefix('^');
                out.push_str(if negated.is_some() { "[^" } else { "[" });
                let inside = negated.unwrap_or(after);
                if inside.starts_with(']') {
                    return Err(EMPTY_CLASS);
                }
                inside
            }
            '(' if !in_class => {
                group(after)?;
                out.push(character);
                after
            }
            _ => {
                in_class &= character != ']';
                out.push(character);
                after
            }
        };
    }
    Ok(out)
}

/// What may follow the opening of a group: `?:` and `?<name>`.
fn group(after: &str) -> Result<(), &'static str> {
    let Some(kind) = after.strip_prefix('?') else { return Ok(()) };
    if kind.starts_with(['=', '!']) || kind.starts_with("<=") || kind.starts_with("<!") {
        return Err(LOOKS);
    }
    if kind.starts_with([':', '<']) { Ok(()) } else { Err(FLAGS) }
}

/// What stands behind a `\`; returns what follows it.
fn escape<'p>(after: &'p str, in_class: bool, out: &mut String) -> Result<&'p str, &'static str> {
    let Some(character) = after.chars().next() else { return Err(MALFORMED) };
    let rest = after.strip_prefix(character).unwrap_or_default();
    let class = match character {
        'd' | 'D' => Some("0-9"),
        'w' | 'W' => Some("A-Za-z0-9_"),
        's' | 'S' => Some(SPACE),
        _ => None,
    };
    match (character, class) {
        (_, Some(class)) if in_class && character.is_ascii_lowercase() => out.push_str(class),
        // a class within a class: the validator has a way to write it
        (_, Some(_)) if in_class => out.extend(['\\', character]),
        (_, Some(class)) => {
            let negation = if character.is_ascii_uppercase() { "^" } else { "" };
            out.extend(["[", negation, class, "]"]);
        }
        ('b', _) if in_class => out.push_str(r"\x08"),
        ('b', _) => out.push_str(r"(?-u:\b)"),
        ('B', _) if !in_class => out.push_str(r"(?-u:\B)"),
        ('0', _) => out.push_str(r"\x00"),
        ('<' | '>', _) => out.push(character),
        ('1'..='9' | 'k', _) => return Err(REFERS),
        ('A' | 'z' | 'Z' | 'a' | 'U' | 'Q' | 'E' | 'G', _) => return Err(MALFORMED),
        ('c', _) => {
            let letter = rest.chars().next().filter(char::is_ascii_alphabetic).ok_or(MALFORMED)?;
            let code = u32::from(letter) & 0x1f;
            out.push_str(&format!("\\x{code:02x}"));
            return Ok(rest.strip_prefix(letter).unwrap_or_default());
        }
        _ => out.extend(['\\', character]),
    }
    Ok(rest)
}

/// Whether ECMA 262 reads it at all. The representation is the one of all other schemas: the validator is compiled once
/// for each.
#[cfg(feature = "schemas")]
fn is_ecma(pattern: &str) -> bool {
    let format = serde_json::json!({ "format": "regex" });
    let options = jsonschema::options_for::<Packed>()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .offline();
    let pattern = Json::string(pattern);
    options.build(&format).is_ok_and(|ready| ready.is_valid(Seen { value: pattern.root(), meter: None }))
}

/// A build without validator refuses whatever has a pattern.
#[cfg(not(feature = "schemas"))]
fn is_ecma(_: &str) -> bool {
    true
}
