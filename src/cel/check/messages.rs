//! What the checker says: one function a message. Types are named, values never.

use crate::diagnostic::{Severity, nearest, slip};
use crate::domain::Constant;
use crate::env::Env;
use crate::function::Declaration;
use crate::issue::Issue;
use crate::re2;
use crate::source::Span;
use crate::syntax::{macro_form, sign_of};
use crate::types::{RecordType, Type};

fn error(code: &'static str, span: Span, message: String) -> Issue {
    Issue { code, severity: Severity::Error, message, span, label: String::new(), help: None }
}

fn warning(code: &'static str, span: Span, message: String) -> Issue {
    Issue { severity: Severity::Warning, ..error(code, span, message) }
}

/// The candidate nearest to a name that is long enough to be a slip of the pen.
fn nearest_to<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() < 3 { None } else { nearest(name, candidates) }
}

fn meant(issue: Issue, name: Option<&str>) -> Issue {
    Issue { help: name.map(|name| format!("did you mean `{name}`?")), ..issue }
}

/// `contxt`
pub(super) fn undeclared_name<'a>(
    env: &'a Env,
    locals: impl Iterator<Item = &'a str>,
    name: &str,
    span: Span,
) -> Issue {
    if let Some(reason) = env.reason(name) {
        return error("undeclared_name", span, format!("`{name}` is not known here: {reason}"));
    }
    let issue = error("undeclared_name", span, format!("no variable `{name}` is declared here"));
    if env.function(name).is_some() {
        return Issue {
            help: Some(format!("`{name}` is a function: it is called, as in `{name}(…)`")),
            ..issue
        };
    }
    let candidates = env.variables().map(|(name, _)| name).chain(locals).chain(["true", "false", "null"]);
    meant(issue, nearest_to(name, candidates))
}

/// `contextt.size2()`
pub(super) fn undeclared_function(env: &Env, name: &str, span: Span) -> Issue {
    let root = name.split('.').next().unwrap_or(name);
    if let Some(reason) = env.reason(name).or_else(|| env.reason(root)) {
        return error("undeclared_function", span, format!("`{name}` is not known here: {reason}"));
    }
    let issue = error("undeclared_function", span, format!("no function `{name}` is declared here"));
    if let Some(form) = macro_form(name) {
        return Issue { help: Some(format!("`{name}` is a macro, written `{form}`")), ..issue };
    }
    let own = name.rsplit('.').next().unwrap_or(name);
    if let Some(instead) = instead_of(own).or_else(|| instead_of(root)) {
        return Issue { help: Some(instead.to_owned()), ..issue };
    }
    if env.variable(name).is_some() {
        return Issue { help: Some(format!("`{name}` is a variable")), ..issue };
    }
    let names = || env.functions().map(|it| &*it.name).filter(|name| name.starts_with(char::is_alphabetic));
    let mut words: Vec<&str> = names().collect();
    words.extend(["has", "all", "exists", "exists_one", "filter", "map"]);
    // the functions stand in no order, and of two near names the same one must be offered each time
    words.sort_unstable();
    meant(issue, nearest_to(name, words.iter().copied()).or_else(|| nearest_to(own, words.iter().copied())))
}

/// Functions of other dialects of CEL and of other languages, and what is written here. A name with a dot after it is the root of several.
const INSTEAD: &[(&str, &str)] = &[
    // Kubernetes
    ("find", "`regex.extract(text, pattern)` gives the first match as an optional"),
    ("findAll", "`regex.extractAll(text, pattern)` gives all matches"),
    ("format", "named formats are patterns here: `text.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')`"),
    ("authorizer", "roles and claims of the user are read from the context, or `review` asks a person"),
    ("isUrl", "write `isURL(text)`"),
    ("isIp", "write `isIP(text)`"),
    ("isCidr", "write `isCIDR(text)`"),
    // Kyverno and Open Policy Agent
    ("sha256", "write `hash.sha256(text)`"),
    ("md5", "the only digest is `hash.sha256(text)`"),
    ("sha1", "the only digest is `hash.sha256(text)`"),
    ("http", "an expression reads no network: a step with `invoke` calls a tool"),
    ("resource", "an expression reads no cluster: a step with `invoke` calls a tool"),
    // other languages
    ("startswith", "write `text.startsWith('…')`"),
    ("endswith", "write `text.endsWith('…')`"),
    ("includes", "write `'…' in list`, or `text.contains('…')`"),
    ("has_key", "write `has(map.key)`, or `'key' in map`"),
    ("toLowerCase", "write `text.lowerAscii()`"),
    ("toUpperCase", "write `text.upperAscii()`"),
    ("lower", "write `text.lowerAscii()`"),
    ("upper", "write `text.upperAscii()`"),
    ("len", "write `size(value)`"),
    ("length", "write `size(value)`"),
    ("count", "write `list.filter(x, …).size()`"),
    ("any", "write `list.exists(x, …)`"),
    ("some", "write `list.exists(x, …)`"),
    ("every", "write `list.all(x, …)`"),
    ("reduce", "write `list.sum()`, `list.min()` or `list.max()`"),
    ("isEmpty", "write `size(value) == 0`"),
    ("test", "write `text.matches(pattern)`"),
    ("match", "write `text.matches(pattern)`"),
    ("float", "write `double(value)`"),
    ("str", "write `string(value)`"),
];

fn instead_of(name: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(other, _)| *other == name).map(|(_, instead)| *instead)
}

/// `Person{name: 'x'}`
pub(super) fn undeclared_type(name: &str, span: Span) -> Issue {
    let issue = error("undeclared_type", span, format!("no message type `{name}` is declared here"));
    Issue { help: Some("a map is written `{'key': value}`".to_owned()), ..issue }
}

/// `1 + 'a'`
pub(super) fn no_matching_overload(span: Span, of: &Declaration, member: bool, types: &[Type]) -> Issue {
    let name = &*of.name;
    let message = format!("found no matching overload for `{}`", applied(name, member, types, ""));
    let signatures = of.overloads.iter().map(|overload| {
        let more = if overload.variadic { ", …" } else { "" };
        format!("`{}`", applied(name, overload.member, &overload.parameters, more))
    });
    let signatures: Vec<String> = signatures.collect();
    let (shown, rest) = signatures.split_at(signatures.len().min(3));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let help = match name {
        // of a plain value: it is optional only where it was read so
        "orValue" | "or" | "value" | "hasValue" => {
            format!(
                "`{name}` takes an optional, as `map.?key` and `list[?0]` give one: `input.?amount.orValue(0)`"
            )
        }
        _ => format!("there is {}{more}", shown.join(", ")),
    };
    Issue { help: Some(help), ..warning("no_matching_overload", span, message) }
}

/// A call as it would be written with types in place of values.
fn applied(name: &str, member: bool, types: &[Type], more: &str) -> String {
    let listed = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (name, types) {
        ("_?_:_", [condition, yes, no]) => format!("{condition} ? {yes} : {no}"),
        ("_[_]", [on, by]) => format!("{on}[{by}]"),
        ("!_" | "-_", [operand]) => format!("{}{operand}", sign_of(name)),
        (name, [left, right]) if !name.starts_with(char::is_alphabetic) => {
            format!("{left} {} {right}", sign_of(name))
        }
        (name, [receiver, arguments @ ..]) if member => {
            format!("{receiver}.{name}({}{more})", listed(arguments))
        }
        (name, types) => format!("{name}({}{more})", listed(types)),
    }
}

/// `1 == 'a'`
pub(super) fn never_equal(span: Span, left: &Type, right: &Type, equal: bool) -> Issue {
    let message = format!("`{left}` and `{right}` are never equal, so this is always {}", !equal);
    warning("never_equal", span, message)
}

/// `1 in ['a']`
pub(super) fn never_in(span: Span, item: &Type, of: &Type) -> Issue {
    warning("never_equal", span, format!("`{item}` is never in `{of}`, so this is always false"))
}

/// `input.amount < '5'`, and `'refund of ' + input.amount`
pub(super) fn number_is_no_text(issue: Issue, name: &str, types: &[Type], quoted: Option<&str>) -> Issue {
    let help = match quoted {
        Some(number) => format!("a number is no text: write `{number}` without quotes"),
        None if name == "_+_" && types.contains(&Type::String) => {
            "`string(…)` makes a text of a number".to_owned()
        }
        None => return issue,
    };
    Issue { help: Some(help), ..issue }
}

/// `context.usr`
pub(super) fn unknown_field(span: Span, field: &str, record: &RecordType) -> Issue {
    let message = format!("`{}` has no field `{field}`", record.name);
    meant(warning("unknown_field", span, message), nearest_field(field, record))
}

/// `output.totl`, where others than the fields that are listed may come
pub(super) fn near_field(span: Span, field: &str, near: &str, record: &RecordType) -> Issue {
    let message =
        format!("the schema of `{}` lists no field `{field}`, and one that is nearly called so", record.name);
    meant(warning("near_field", span, message), Some(near))
}

/// `sql.parse(input.query)[0].kind`
pub(super) fn unknown_member(span: Span, field: &str, members: &[&str]) -> Issue {
    let message = format!("the map that the function returns has no member `{field}`");
    let known = members.iter().map(|member| format!("`{member}`")).collect::<Vec<_>>().join(", ");
    let issue = warning("unknown_field", span, message);
    match slip(field, members.iter().copied()) {
        Some(near) => meant(issue, Some(near)),
        None => Issue { help: Some(format!("it has {known}")), ..issue },
    }
}

/// `has(context.usr)`
pub(super) fn never_has(span: Span, field: &str, record: &RecordType) -> Issue {
    let message = format!("no `{}` has a field `{field}`, so this is always false", record.name);
    meant(warning("unknown_field", span, message), nearest_field(field, record))
}

fn nearest_field<'r>(field: &str, record: &'r RecordType) -> Option<&'r str> {
    nearest(field, names(record))
}

/// The field that a name is surely a slip of the pen for.
pub(super) fn slip_of_field<'r>(field: &str, record: &'r RecordType) -> Option<&'r str> {
    slip(field, names(record))
}

fn names(record: &RecordType) -> impl Iterator<Item = &str> {
    let aliases = record.aliases.iter().map(|(alias, _)| &**alias);
    record.fields.keys().map(|name| &**name).chain(aliases)
}

/// `1.a`
pub(super) fn not_selectable(span: Span, field: &str, on: &Type) -> Issue {
    warning("not_selectable", span, format!("`{on}` has no fields, so `{field}` cannot be selected"))
}

/// `'text'[0]`
pub(super) fn not_indexed(span: Span, on: &Type, by: &Type) -> Issue {
    let message = format!("found no matching overload for `{on}[{by}]`");
    let help = "a list is indexed by a number, a map by a key".to_owned();
    Issue { help: Some(help), ..warning("no_matching_overload", span, message) }
}

/// `1.all(x, true)`
pub(super) fn not_iterable(span: Span, name: &str, found: &Type) -> Issue {
    warning("not_iterable", span, format!("`{name}` goes through a list or a map, found `{found}`"))
}

/// `[1].all(x, x)`
pub(super) fn body_of_wrong_type(span: Span, name: &str, expected: &str, found: &Type) -> Issue {
    warning("no_matching_overload", span, format!("`{name}` expects {expected} here, found `{found}`"))
}

/// `[?1]`
pub(super) fn not_optional(span: Span, found: &Type) -> Issue {
    let message = format!("`?` expects an optional here, found `{found}`");
    warning("no_matching_overload", span, message)
}

/// `has(context.user)`
pub(super) fn always_has(span: Span, field: &str, record: &RecordType) -> Issue {
    let message = format!("every `{}` has `{field}`, so this is always true", record.name);
    warning("always_true", span, message)
}

/// `has(context)`
pub(super) fn always_bound(span: Span, name: &str) -> Issue {
    warning("always_true", span, format!("`{name}` always has a value, so this is always true"))
}

/// `input.status == 'closd'`
pub(super) fn not_in_schema(span: Span, written: &Constant, allowed: &[Constant], equal: bool) -> Issue {
    let message = format!("the schema does not allow {} here, so this is always {}", quoted(written), !equal);
    Issue { help: Some(allowed_instead(written, allowed)), ..warning("never_equal", span, message) }
}

/// `input.status in ['closd']`
pub(super) fn never_listed(span: Span, written: &Constant, allowed: &[Constant]) -> Issue {
    let message = format!("the schema does not allow {} here, so it is never found", quoted(written));
    Issue { help: Some(allowed_instead(written, allowed)), ..warning("never_equal", span, message) }
}

/// The value nearest to a misspelt one, else the first few that there are.
fn allowed_instead(written: &Constant, allowed: &[Constant]) -> String {
    let texts = allowed.iter().filter_map(|constant| match constant {
        Constant::Text(text) => Some(&**text),
        Constant::Null | Constant::Bool(_) | Constant::Number(_) => None,
    });
    if let Constant::Text(word) = written
        && let Some(near) = nearest_to(word, texts)
    {
        return format!("did you mean `'{near}'`?");
    }
    let (shown, rest) = allowed.split_at(allowed.len().min(5));
    let shown: Vec<String> = shown.iter().map(quoted).collect();
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    format!("it allows {}{more}", shown.join(", "))
}

/// A constant as an expression writes it.
fn quoted(constant: &Constant) -> String {
    match constant {
        Constant::Null => "`null`".to_owned(),
        Constant::Bool(value) => format!("`{value}`"),
        Constant::Number(value) => format!("`{value}`"),
        Constant::Text(text) => format!("`'{}'`", text.escape_debug()),
    }
}

/// `size(x) >= 0`
pub(super) fn size_is_never_negative(span: Span, truth: bool) -> Issue {
    let code = if truth { "always_true" } else { "always_false" };
    warning(code, span, format!("a size is never negative, so this is always {truth}"))
}

/// `x && false`
pub(super) fn decided_by_constant(span: Span, truth: bool) -> Issue {
    let (code, sign) = if truth { ("always_true", "||") } else { ("always_false", "&&") };
    warning(
        code,
        span,
        format!("`{sign}` with `{truth}` is always {truth}, whatever stands on the other side"),
    )
}

/// `x != 'a' || x != 'b'`
pub(super) fn decided_by_another(span: Span, truth: bool) -> Issue {
    let (code, message, other) = if truth {
        ("always_true", "one value differs from one of two constants, so this is always true", "&&")
    } else {
        ("always_false", "one value cannot equal two constants, so this is always false", "||")
    };
    let help = Some(format!("did you mean `{other}`?"));
    Issue { help, ..warning(code, span, message.to_owned()) }
}

/// The longest constant that a message repeats, in bytes.
const MAX_REPEATED: usize = 60;

/// `duration('1 hour')`
pub(crate) fn refused_constant(
    span: Span,
    function: &str,
    written: &str,
    expected: Option<&str>,
    near: Option<&str>,
) -> Issue {
    // a text that stands alone is repeated, a whole call is underlined
    let what = match written {
        text if text.len() <= MAX_REPEATED && text.starts_with(['\'', '"']) => format!("`{text}`"),
        _ => "this constant".to_owned(),
    };
    let message = format!("`{function}` refuses {what}, so the call always fails");
    let help = match near {
        Some(near) => Some(format!("did you mean `'{near}'`?")),
        None => expected.map(|expected| format!("expected {expected}")),
    };
    let issue = warning("refused_constant", span, message);
    Issue { help, ..issue }
}

/// `pii.has(input, 'emial')`
pub(super) fn unknown_row(span: Span, function: &str, name: &str, rows: &[&'static str]) -> Issue {
    let issue = error("unknown_row", span, format!("`{function}` does not know `{name}`"));
    match nearest_to(name, rows.iter().copied()) {
        Some(near) => meant(issue, Some(near)),
        None => Issue { help: Some(format!("it knows {}", listed(rows))), ..issue },
    }
}

/// `pii.has(input, [])`
pub(super) fn names_no_row(span: Span, function: &str) -> Issue {
    let issue = error("unknown_row", span, format!("an empty list leaves `{function}` nothing to look for"));
    Issue { help: Some("leave the list away, or name what is meant".to_owned()), ..issue }
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// `a.matches('(')`: `text` is the expression, `span` the place of the constant, `pattern` its value.
pub(crate) fn bad_pattern(text: &str, span: Span, pattern: &str) -> Issue {
    let (message, place, help) = match re2::parse(pattern) {
        Ok(_) => (
            "the regular expression is over `max_regex_bytes` when it is compiled".to_owned(),
            span,
            "repeat smaller parts, and fewer times",
        ),
        Err(error) => (
            format!("the regular expression is not of RE2's syntax: {error}"),
            part_of_constant(text, span, pattern, &error).unwrap_or(span),
            error.help(),
        ),
    };
    let issue = warning("bad_pattern", place, message);
    Issue { help: Some(help.to_owned()), ..issue }
}

/// The place of an error in a constant. Only one without escapes has the pattern as it is.
fn part_of_constant(text: &str, span: Span, pattern: &str, error: &re2::SyntaxError) -> Option<Span> {
    let before = text.get(span.range())?.find(pattern).filter(|_| !error.span.is_empty())?;
    let start = (span.start as usize).checked_add(before)?;
    Some(Span::new(start.checked_add(error.span.start)?, start.checked_add(error.span.end)?))
}
