//! Words and their values: what is misspelt, not supported or ill-formed is refused where it stands, at any depth.
//!
//! In: a schema. Out: findings. Where a schema leads by reference is not looked at here. Linear in the schema.

use crate::manifest::json_schema::Refusal;
use crate::manifest::json_schema::parts::{Step, schemas};
use crate::manifest::json_schema::schema_kind::SchemaKind;
use crate::manifest::json_schema::words::{
    DIALECTS, FORMATS, Format, PARAMETER_WORDS, SECRET, Takes, Treatment, WORDS, Word, kinds, word,
};
use crate::manifest::messages;
use crate::manifest::node::{Data, Entry, Node};
use crate::manifest::reader::{Path, Reader};
use crate::source::Embedded;

/// What follows where a word says nothing.
const UNCHECKED: &str = "no value is held to it";

/// Why a word of a listed tool's schema is not enforced, where JSON Schema does not know it.
pub(in crate::manifest) const NO_MEANING: &str = "JSON Schema gives it no meaning";

/// Words that are refused elsewhere and change nothing in a listed tool's schema: what would refer to them is refused itself.
const WITHOUT_EFFECT: [&str; 4] = ["discriminator", "$vocabulary", "$anchor", "id"];

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::manifest) enum Position {
    /// It is that of a parameter, which has words of its own.
    Parameter,
    /// It is that of a part of one, or of something else.
    Inner,
}

/// Checks the words of a schema and of all schemas in it.
pub(in crate::manifest) fn check(node: &Node, path: &Path, position: Position, reader: &mut Reader) {
    if matches!(node.data, Data::Bool(_)) && position == Position::Inner {
        return;
    }
    let Some(entries) = reader.mapping(node, path) else { return };
    for entry in entries {
        check_word(entry, node, &path.key(&entry.key.text), position, reader);
    }
}

/// Checks the definitions of a block, which stand beside its properties.
pub(in crate::manifest) fn check_definitions(node: &Node, path: &Path, reader: &mut Reader) {
    for (_, inner) in inner_of(node, Takes::Definitions, path) {
        check(inner.1, &inner.0, Position::Inner, reader);
    }
    if node.as_mapping().is_none() {
        reader.mapping(node, path);
    }
}

/// Checks one word of a schema and the schemas in it.
pub(in crate::manifest) fn check_word(
    entry: &Entry,
    schema: &Node,
    path: &Path,
    position: Position,
    reader: &mut Reader,
) {
    let Entry { key, value } = entry;
    if PARAMETER_WORDS.contains(&&*key.text) {
        if position == Position::Inner {
            reader.report(path, messages::only_of_parameters(key));
        } else if value.is_null() {
            reader.report(path, messages::nothing_said(key, "the parameter is as it would be without"));
        }
        return;
    }
    let Some(word) = word(&key.text) else {
        if reader.lists_tools && !key.text.starts_with("x-") {
            reader.report(path, messages::not_enforced_of_tool(key, NO_MEANING));
        } else if !key.text.starts_with("x-") {
            let known = if reader.may_propose() { known_words(position) } else { Vec::new() };
            reader.report(path, messages::unknown_keyword(key, &known));
        }
        return;
    };
    if let Treatment::Refused(reason) = word.treatment {
        let is_harmless = reader.lists_tools && WITHOUT_EFFECT.contains(&word.name);
        reader.report(
            path,
            if is_harmless {
                messages::not_enforced_of_tool(key, reason)
            } else {
                messages::unsupported_keyword(key, reason)
            },
        );
        return;
    }
    if word.name.starts_with("content") {
        reader.report(path, messages::not_enforced(key));
    }
    // null is the same as absent where the specification writes it so
    let may_be_null = (word.treatment == Treatment::Annotation && word.name != SECRET)
        || matches!(word.name, "enum" | "format" | "items" | "properties" | "required" | "type" | "const");
    if value.is_null() && may_be_null {
        if !matches!(word.name, "type" | "const") && word.treatment == Treatment::Enforced {
            reader.report(path, messages::nothing_said(key, UNCHECKED));
        }
        return;
    }
    if position == Position::Parameter && word.name == "required" {
        // of a parameter `true` means nothing (PAR-06); names are those of its fields
        if !matches!(value.data, Data::Bool(_)) && !is_names(value) {
            reader.report(path, messages::nothing_said(key, UNCHECKED));
        }
        return;
    }
    check_sense(entry, word, schema, path, reader);
    check_value(word, value, path, reader);
    for (_, (path, inner)) in inner_of(value, word.takes, path) {
        check(inner, &path, Position::Inner, reader);
    }
}

/// Says so if a word checks nothing where it stands. In the schema of a listed tool that is its server's affair.
fn check_sense(Entry { key, value }: &Entry, word: &Word, schema: &Node, path: &Path, reader: &mut Reader) {
    if reader.lists_tools {
        return;
    }
    let kinds = kinds(word.name, value.as_string().map(|format| &*format.text));
    if !is_about(kinds, schema) {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        reader.report(path, messages::not_about(key, &kinds));
    }
    if let Some(partner) = missing_partner(word, schema) {
        reader.report(path, messages::without_partner(key, partner));
    }
}

fn known_words(position: Position) -> Vec<&'static str> {
    let known = WORDS.iter().filter(|word| !matches!(word.treatment, Treatment::Refused(_)));
    let own = PARAMETER_WORDS.iter().filter(|_| position == Position::Parameter);
    known.map(|word| word.name).chain(own.copied()).collect()
}

fn inner_of<'n>(
    value: &'n Node,
    takes: Takes,
    path: &Path,
) -> impl Iterator<Item = (Step<'n>, (Path, &'n Node))> + use<'n> {
    let path = path.clone();
    schemas(takes, value).into_iter().map(move |(step, _, inner)| {
        let path = match step {
            Step::Itself => path.clone(),
            Step::Key(key) => path.key(key),
            Step::Item(at) => path.item(at),
        };
        (step, (path, inner))
    })
}

/// The word that this one says nothing without, if it is not there.
fn missing_partner(word: &Word, schema: &Node) -> Option<&'static str> {
    let has = |key: &str| schema.get(key).is_some();
    let (partner, is_there) = match word.name {
        "minContains" | "maxContains" => ("`contains`", has("contains")),
        "then" | "else" => ("`if`", has("if")),
        "if" => ("`then` or `else`", has("then") || has("else")),
        "additionalItems" => {
            ("a list of `items`", schema.get("items").is_some_and(|items| items.as_sequence().is_some()))
        }
        // a list of `items` is `prefixItems` itself
        "prefixItems" => {
            ("`items` as one schema", schema.get("items").is_none_or(|items| items.as_sequence().is_none()))
        }
        _ => return None,
    };
    (!is_there).then_some(partner)
}

/// Whether what says something about values of some types does so in a schema.
fn is_about(about: &[SchemaKind], schema: &Node) -> bool {
    let Some(declared) = schema.get("type") else { return true };
    let one = |node: &Node| node.as_string().and_then(|name| SchemaKind::named(&name.text));
    let declared: Vec<SchemaKind> = match declared.as_sequence() {
        Some(several) => several.iter().filter_map(one).collect(),
        None => one(declared).into_iter().collect(),
    };
    about.is_empty() || declared.is_empty() || declared.iter().any(|kind| about.contains(kind))
}

fn check_value(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    let expected = match word.takes {
        Takes::Anything => None,
        Takes::Text => value.as_string().is_none().then_some("text"),
        Takes::Boolean => (!matches!(value.data, Data::Bool(_))).then_some("a boolean"),
        Takes::Count => value.as_count().is_none().then_some("a whole number from 0 on"),
        Takes::Number | Takes::Positive => return check_number(word, value, path, reader),
        Takes::Types => return check_types(value, path, reader),
        Takes::Values => return check_values(word, value, path, reader),
        Takes::Value => return check_constant(value, path, reader),
        Takes::Names => (!is_names(value)).then_some("a list of different names"),
        Takes::NamesByName => {
            let fit = |entries: &[Entry]| entries.iter().all(|entry| is_names(&entry.value));
            (!value.as_mapping().is_some_and(fit)).then_some("a mapping to lists of different names")
        }
        Takes::Pattern => return check_pattern(word, value, path, reader),
        Takes::Format => return check_format(word, value, path, reader),
        Takes::Reference => value.as_string().is_none().then_some("text"),
        Takes::Dialect => return check_dialect(word, value, path, reader),
        // the schema itself is looked at next
        Takes::SchemaHere | Takes::SchemaBelow => None,
        Takes::SchemasHere | Takes::SchemasBelow => {
            value.as_sequence().is_none_or(<[_]>::is_empty).then_some("a list of at least one schema")
        }
        Takes::SchemasByPattern => {
            for entry in value.as_mapping().unwrap_or_default() {
                check_expression(&entry.key, &path.key(&entry.key.text), reader);
            }
            value.as_mapping().is_none().then_some("a mapping to schemas")
        }
        Takes::SchemasHereByName | Takes::SchemasBelowByName | Takes::Definitions => {
            value.as_mapping().is_none().then_some("a mapping to schemas")
        }
        Takes::Items => value.as_sequence().is_some_and(<[_]>::is_empty).then_some("at least one schema"),
        Takes::Dependencies => {
            let fits = |entry: &Entry| entry.value.as_sequence().is_none() || is_names(&entry.value);
            let fit = |entries: &[Entry]| entries.iter().all(fits);
            (!value.as_mapping().is_some_and(fit)).then_some("a mapping to schemas or lists of names")
        }
    };
    if let Some(expected) = expected {
        reader.report(path, messages::bad_keyword(word.name, value, expected));
    }
}

fn check_number(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    let expected = if word.takes == Takes::Positive { "a number above zero" } else { "a number" };
    let number = match value.data {
        #[expect(clippy::cast_precision_loss, reason = "only the sign counts")]
        Data::Int(number) => Some(number as f64),
        Data::Float(number) => Some(number),
        _ => None,
    };
    match number.filter(|number| word.takes != Takes::Positive || *number > 0.0) {
        Some(_) if !is_exact(value) => reader.report(path, messages::inexact_number(value)),
        Some(_) => {}
        None => reader.report(path, messages::bad_keyword(word.name, value, expected)),
    }
}

/// Whether a number is held as it was written: a whole one beyond 64 bits, an infinite one and none at all are not.
fn is_exact(value: &Node) -> bool {
    match value.data {
        Data::Float(number) => {
            let written = value.place.source.slice(value.place.span);
            let whole = !written.is_empty()
                && written.trim_start_matches(['-', '+']).bytes().all(|c| c.is_ascii_digit());
            number.is_finite() && !whole
        }
        _ => true,
    }
}

fn check_constant(value: &Node, path: &Path, reader: &mut Reader) {
    if !is_exact(value) {
        reader.report(path, messages::inexact_number(value));
    }
    for (at, item) in value.as_sequence().unwrap_or_default().iter().enumerate() {
        check_constant(item, &path.item(at), reader);
    }
    for entry in value.as_mapping().unwrap_or_default() {
        check_constant(&entry.value, &path.key(&entry.key.text), reader);
    }
}

fn check_values(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    match value.as_sequence() {
        Some([]) => reader.report(path, messages::bad_keyword(word.name, value, "at least one value")),
        Some(_) => check_constant(value, path, reader),
        None => reader.report(path, messages::wrong_type(value, "a list")),
    }
}

/// A type of JSON Schema; `null` is one beside those that a parameter has alone.
fn check_types(value: &Node, path: &Path, reader: &mut Reader) {
    let is_known = |node: &Node| match node.as_string() {
        Some(name) => &*name.text == "null" || SchemaKind::named(&name.text).is_some(),
        None => node.is_null(),
    };
    let known = SchemaKind::names();
    match value.as_sequence() {
        None if is_known(value) => {}
        None => reader.report(path, messages::unknown_type(value, &known)),
        Some([]) => reader.report(path, messages::bad_keyword("type", value, "at least one type")),
        Some(several) => {
            for (at, one) in several.iter().enumerate().filter(|(_, one)| !is_known(one)) {
                reader.report(&path.item(at), messages::unknown_type(one, &known));
            }
        }
    }
}

/// Checks a list of names.
pub(in crate::manifest) fn check_names(word: &str, value: &Node, path: &Path, reader: &mut Reader) {
    if !is_names(value) {
        reader.report(path, messages::bad_keyword(word, value, "a list of different names"));
    }
}

fn is_names(value: &Node) -> bool {
    let Some(items) = value.as_sequence() else { return false };
    let names: Option<Vec<&str>> =
        items.iter().map(|item| item.as_string().map(|name| &*name.text)).collect();
    names.is_some_and(|mut names| {
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        names.len() == all
    })
}

fn check_pattern(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    match value.as_string() {
        // a pattern that cannot be said is left out of what values are held to
        Some(text) if reader.lists_tools => match reader.schemas.pattern(&text.text) {
            Err(Refusal::Bad(reason)) => reader.report(path, messages::not_enforced_of_tool(text, reason)),
            _ => check_expression(text, path, reader),
        },
        Some(text) => check_expression(text, path, reader),
        None => reader.report(path, messages::bad_keyword(word.name, value, "text")),
    }
}

/// A regular expression: whether it can be said, and there is room for it.
fn check_expression(text: &Embedded, path: &Path, reader: &mut Reader) {
    let finding = match reader.schemas.pattern(&text.text) {
        Ok(()) => return,
        Err(Refusal::Bad(reason)) => messages::bad_pattern(text, reason),
        Err(Refusal::Spent) => {
            messages::schemas_too_large(&text.place, reader.schemas.limits().max_schema_bytes)
        }
    };
    reader.report(path, finding);
}

fn check_format(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    let Some(name) = value.as_string() else {
        return reader.report(path, messages::bad_keyword(word.name, value, "text"));
    };
    let finding = match FORMATS.iter().find(|format| *format.name == *name.text) {
        Some(Format { treatment: Treatment::Refused(reason), .. }) => {
            messages::schema_refused(&name.place, reason)
        }
        Some(_) => return,
        None if reader.lists_tools => messages::not_enforced_of_tool(name, NO_MEANING),
        None => {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            messages::unknown_format(name, &known)
        }
    };
    reader.report(path, finding);
}

fn check_dialect(word: &Word, value: &Node, path: &Path, reader: &mut Reader) {
    let Some(name) = value.as_string() else {
        return reader.report(path, messages::bad_keyword(word.name, value, "text"));
    };
    if !DIALECTS.contains(&name.text.trim_end_matches('#')) {
        reader.report(path, messages::unknown_dialect(name));
    }
}
