//! What may stand at the end of an unfinished input: fields, keys, functions, macros, variables, commands.
//!
//! In: a session and the text before the cursor. Out: where the unfinished word begins, and the words that fit. The text
//! is closed with a marker in place of the word and read by the language itself, so that what stands before a dot has
//! the type that it would have in a policy, variables of macros included; what is `dyn` is evaluated and asked for its
//! keys. Work is bounded by the bounds of expressions.

use super::command::{COMMANDS, expression};
use super::session::{Ended, Session, run};
use celador::cel::{Checked, Expr, ExprKind, Kind, Literal, MACROS, Type, Value, check, parse};
use celador::scenario::SCOPES;
use celador::source::Span;

/// A word that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What takes the place of the unfinished word.
    pub(super) text: String,
    /// What people see in the list.
    pub(super) shown: String,
}

/// Stands where the unfinished word stands, when the text is read.
const MARKER: &str = "cursor_is_here";
/// Places at which reading is tried to begin.
const MAX_STARTS: usize = 64;

/// The words that fit at the end of a text, and where the word begins that they complete.
pub(super) fn complete(session: &Session, before: &str) -> (usize, Vec<Candidate>) {
    let start = word_start(before, |c| c.is_ascii_alphanumeric() || c == '_');
    if let Some(found) = of_command(session, before) {
        return found;
    }
    let Some(text) = expression(before) else { return (start, Vec::new()) };
    let word = before.get(start..).unwrap_or_default();
    let lead = text.get(..text.len().saturating_sub(word.len())).unwrap_or_default();
    let dotted = word_start(before, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let qualified = functions(session, before.get(dotted..).unwrap_or_default(), None);
    if dotted < start && !qualified.is_empty() {
        return (dotted, qualified);
    }
    let place = place(session, lead);
    let mut found = match &place {
        Some(Place::Member { ty, operand }) => {
            let mut found = fields(session, ty, operand);
            found.extend(functions(session, "", Some(ty)));
            found
        }
        Some(Place::Key { ty, operand }) => {
            fields(session, ty, operand).into_iter().map(|field| quoted(&field, lead)).collect()
        }
        Some(Place::Name { variables }) => names(session, variables),
        Some(Place::Nowhere) => Vec::new(),
        None => names(session, &[]),
    };
    found.retain(|candidate| {
        candidate.text.trim_start_matches('`').starts_with(word) && candidate.text != word
    });
    (start, found)
}

/// Where the cursor stands.
enum Place {
    /// Behind a dot.
    Member { ty: Type, operand: String },
    /// In quotes between square brackets.
    Key { ty: Type, operand: String },
    /// Where an operand may stand, under these variables of macros.
    Name { variables: Vec<String> },
    /// In a text, or where else no word of the language stands.
    Nowhere,
}

/// The place at the end of a text, as far as the language can read what stands around it.
fn place(session: &Session, lead: &str) -> Option<Place> {
    let boundary = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let starts =
        lead.char_indices().filter(|&(_, c)| boundary(c)).map(|(at, c)| at.saturating_add(c.len_utf8()));
    for start in std::iter::once(0).chain(starts).take(MAX_STARTS) {
        let Some((text, expr)) = closed(session, lead.get(start..)?) else { continue };
        let mut found = Found { variables: Vec::new(), place: None };
        found.search(&expr, &mut Vec::new());
        match found.place {
            Some(At::Name) => return Some(Place::Name { variables: found.variables }),
            Some(At::Member(id, span) | At::Key(id, span)) => {
                let (Some(checked), _) = check(expr, session.env()) else { continue };
                let operand = text.get(span.range()).unwrap_or_default().to_owned();
                let ty = settled(&checked, id);
                return Some(match found.place {
                    Some(At::Key(..)) => Place::Key { ty, operand },
                    _ => Place::Member { ty, operand },
                });
            }
            None => return Some(Place::Nowhere),
        }
    }
    None
}

/// The type of an operand; of an optional, that of its value.
fn settled(checked: &Checked, id: celador::cel::ExprId) -> Type {
    match checked.type_of(id) {
        Type::Optional(value) => (**value).clone(),
        other => other.clone(),
    }
}

/// A text with the marker at its end and everything closed that it has opened, and what it then is.
fn closed(session: &Session, lead: &str) -> Option<(String, Expr)> {
    let mut text = format!("{lead}{MARKER}");
    for _ in 0..session.limits().eval.max_depth {
        let issues = match parse(&text, &session.limits().eval) {
            Ok(expr) => return Some((text, expr)),
            Err(issues) => issues,
        };
        let issue = issues.first()?;
        let opened = text.get(issue.span.range()).unwrap_or_default();
        let closing = match (issue.code, opened) {
            ("unterminated_string", opened) => opened.trim_start_matches(char::is_alphabetic).to_owned(),
            ("unclosed_bracket", "(") => ")".to_owned(),
            ("unclosed_bracket", "[") => "]".to_owned(),
            ("unclosed_bracket", _) => "}".to_owned(),
            _ => return None,
        };
        text.push_str(&closing);
    }
    None
}

/// What the marker is in a tree.
enum At {
    Member(celador::cel::ExprId, Span),
    Key(celador::cel::ExprId, Span),
    Name,
}

struct Found {
    variables: Vec<String>,
    place: Option<At>,
}

impl Found {
    /// Looks for the marker; `around` are the variables of the macros around.
    fn search(&mut self, expr: &Expr, around: &mut Vec<String>) {
        match &expr.kind {
            ExprKind::Ident { name, .. } if name == MARKER => {
                self.place = Some(At::Name);
                self.variables.clone_from(around);
            }
            ExprKind::Select { operand, field, .. } | ExprKind::Has { operand, field }
                if field.text == MARKER =>
            {
                self.place = Some(At::Member(operand.id, operand.span));
            }
            ExprKind::Index { operand, index, .. } if matches!(&index.kind, ExprKind::Literal(Literal::String(text)) if text == MARKER) =>
            {
                self.place = Some(At::Key(operand.id, operand.span));
            }
            ExprKind::Comprehension(loops) => {
                self.search(&loops.range, around);
                let outside = around.len();
                around
                    .extend([&loops.variable].into_iter().chain(&loops.second).map(|name| name.text.clone()));
                loops.filter.iter().chain([&loops.body]).for_each(|part| self.search(part, around));
                around.truncate(outside);
            }
            ExprKind::Bind { variable, value, body }
            | ExprKind::OptMap { variable, operand: value, body, .. } => {
                self.search(value, around);
                around.push(variable.text.clone());
                self.search(body, around);
                around.pop();
            }
            _ => expr.for_each_part(&mut |part| self.search(part, around)),
        }
    }
}

/// The fields that a type declares; of what is not known, the keys that a value has.
fn fields(session: &Session, ty: &Type, operand: &str) -> Vec<Candidate> {
    match ty {
        Type::Record(record) | Type::Singleton(record) => {
            let aliases = record
                .aliases
                .iter()
                .filter_map(|(name, slot)| Some((name, &record.fields.get_index(*slot)?.1.ty)));
            let declared = record.fields.iter().map(|(name, field)| (name, &field.ty));
            declared.chain(aliases).map(|(name, ty)| field(name, &ty.to_string())).collect()
        }
        Type::Dyn | Type::Map(_) => keys(session, operand).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The keys of the map that an operand gives.
fn keys(session: &Session, operand: &str) -> Option<Vec<Candidate>> {
    let program = session.compile(operand).ok()?;
    let now = session.now().ok()?;
    let activation = session.activation(&now).ok()?;
    let Ended::Value(Value::Map(map)) = run(&program, &activation).0 else { return None };
    let entries = map.iter().filter_map(|(key, value)| {
        let key = key.value();
        Some(field(key.as_str()?, value.kind().name()))
    });
    Some(entries.collect())
}

fn field(name: &str, ty: &str) -> Candidate {
    let word = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let text = if word { name.to_owned() } else { format!("`{name}`") };
    Candidate { shown: format!("{text}: {ty}"), text }
}

/// A field as a key in the quotes that the text has opened.
fn quoted(field: &Candidate, lead: &str) -> Candidate {
    let quote = if lead.ends_with('"') { '"' } else { '\'' };
    Candidate { text: format!("{}{quote}]", field.text.trim_matches('`')), shown: field.shown.clone() }
}

/// Functions and macros whose names begin so: those that are called on a value of a type, or those that are not.
fn functions(session: &Session, word: &str, receiver: Option<&Type>) -> Vec<Candidate> {
    let known = session.env().functions();
    let named = known.filter(|it| it.name.starts_with(char::is_alphabetic));
    let fits = |parameter: Option<&Type>| match (receiver.map(Type::kind), parameter) {
        (Some(Some(kind)), Some(parameter)) => parameter.kind().is_none_or(|takes| takes == kind),
        _ => true,
    };
    let named = named.filter_map(|declaration| {
        let mut overloads = declaration.overloads.iter();
        let overload = overloads
            .find(|overload| overload.member == receiver.is_some() && fits(overload.parameters.first()))?;
        let takes = overload.parameters.len().saturating_sub(usize::from(overload.member));
        Some(called(&declaration.name, takes))
    });
    let of_kind = |word: &str| match receiver.map(Type::kind) {
        Some(Some(Kind::List)) => word == "list",
        Some(Some(Kind::Map)) => word == "map",
        Some(Some(Kind::Optional)) => word == "optional",
        Some(Some(_)) => false,
        Some(None) => true,
        None => false,
    };
    let macros = MACROS.iter().filter(|row| match receiver {
        Some(_) => row.receivers().any(of_kind),
        None => row.receivers().next().is_none(),
    });
    let macros = macros.map(|row| called(row.name, 1));
    let mut found: Vec<Candidate> = named.chain(macros).filter(|it| it.text.starts_with(word)).collect();
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

fn called(name: &str, arguments: usize) -> Candidate {
    let (end, dots) = if arguments == 0 { ("()", "()") } else { ("(", "(…)") };
    Candidate { text: format!("{name}{end}"), shown: format!("{name}{dots}") }
}

/// Variables, of macros around first, then functions, macros and constants.
fn names(session: &Session, variables: &[String]) -> Vec<Candidate> {
    let plain = |name: &str| Candidate { text: name.to_owned(), shown: name.to_owned() };
    let mut found: Vec<Candidate> = variables.iter().map(|name| plain(name)).collect();
    found.extend(session.env().variables().map(|(name, variable)| field(name, &variable.ty.to_string())));
    found.extend(functions(session, "", None));
    found.extend(["true", "false", "null"].map(plain));
    found
}

/// Commands, and the arguments of those that take words. Paths are not completed here.
fn of_command(session: &Session, before: &str) -> Option<(usize, Vec<Candidate>)> {
    let text = before.trim_start();
    if !text.starts_with(':') {
        return None;
    }
    let plain = |text: &str, shown: String| Candidate { text: text.to_owned(), shown };
    let (name, words) = match text.split_once(char::is_whitespace) {
        None => {
            let rows = COMMANDS.iter().filter(|row| row.name.starts_with(text));
            let start = before.len().saturating_sub(text.len());
            let found = rows.map(|row| plain(row.name, format!("{} {}", row.name, row.arguments)));
            return Some((start, found.collect()));
        }
        Some(parts) => parts,
    };
    let word = words.trim_start();
    let start = before.len().saturating_sub(word.len());
    let mut found = match name {
        ":scope" => SCOPES.map(|(name, _)| plain(name, name.to_owned())).to_vec(),
        ":functions" => {
            let functions = session.env().functions().map(|declaration| &*declaration.name);
            let names = functions.chain(MACROS.iter().map(|row| row.name));
            names.map(|name| plain(name, name.to_owned())).collect()
        }
        ":set" if !word.contains('=') => {
            session.env().variables().map(|(name, _)| plain(&format!("{name} = "), name.to_owned())).collect()
        }
        _ => return None,
    };
    found.retain(|candidate| candidate.text.starts_with(word));
    found.sort_by(|a, b| a.text.cmp(&b.text));
    Some((start, found))
}

/// Where the run of `allowed` characters begins that ends a text.
fn word_start(text: &str, allowed: impl Fn(char) -> bool) -> usize {
    text.char_indices().rev().take_while(|&(_, c)| allowed(c)).last().map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::complete;
    use crate::repl::session::{Held, Session};
    use crate::screen::{Color, Format, Screen};
    use crate::subject::SubjectArguments;
    use celador::cel::Json;
    use celador::context::Scope;

    /// A session on an agent with a function `refund`, whose input is an order with two items.
    fn session() -> Session {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cli/files/good");
        let agent = Some("clerk".to_owned());
        let paths =
            SubjectArguments { manifests: vec![folder.into()], agent, context: None, case: None, step: None };
        let mut screen = Screen::new(Format::Human, Color::Never);
        let Ok(mut session) = Session::open(Some(Scope::After), paths, &mut screen) else {
            panic!("no session")
        };
        let order = serde_json::json!({ "order id": 7, "items": [{ "price": 5 }, { "price": 50 }] });
        session.bind("input", Held::document(Json::from(order))).unwrap();
        session
    }

    #[test]
    fn the_words_that_fit_are_offered() {
        let session = session();
        let words = |before: &str| {
            let (start, found) = complete(&session, before);
            let words: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
            format!("{start} {}", words.join(" "))
        };
        assert_eq!(words("con"), "0 context");
        assert_eq!(words("1 + context._h"), "12 _history");
        assert_eq!(words("c.cap.ref"), "6 refund");
        assert_eq!(
            words("context.capabilities.refund.count_"),
            "28 count_successful count_errored count_restricted"
        );
        assert_eq!(words("c.cap['ref"), "7 refund']");
        assert_eq!(words("has(context.u"), "12 user");
        assert_eq!(words("input.it"), "6 items");
        assert_eq!(words("input.order"), "6 `order id`");
        assert_eq!(words("input.items[0].pr"), "15 price prefixLength()");
        assert_eq!(words("c.cap.refund.timestamps.exi"), "24 exists( existsOne( exists_one(");
        assert_eq!(words("c.cap.refund.timestamps.all(at, at.star"), "35 startsWith(");
        assert_eq!(words("c.input.all(entry, ent"), "19 entry");
        assert_eq!(words("c.user.id == 'x' && c.user.em"), "27 email");
        assert_eq!(words("true ? c.user.em"), "14 email");
        assert_eq!(words("cel.bi"), "0 cel.bind(");
        assert_eq!(words("'con"), "1 ");
        assert_eq!(words(":ty"), "0 :type");
        assert_eq!(words(":type c.us"), "8 user");
        assert_eq!(words(":scope guard"), "7 guardrail_after guardrail_before");
        assert_eq!(words(":set now = inp"), "11 input");
        for text in ["", ".", "é.", "'", "[[[", ")(", ":", ":set", ":set x = ", "a.b.c.", "1..", "x[?"] {
            let (start, _) = complete(&session, text);
            assert!(text.is_char_boundary(start), "{text}");
        }
    }
}
