//! `pii` and `secrets`: what expressions of policies call.
//!
//! A find says its kind and its place and nothing of what stands there, so that no rule puts a secret into a message because its author
//! wrote `{secrets.find(output)}`. What a rule must compare, such as the domain of an address, is `pii.texts`, whose name says what it
//! gives; there is none for secrets. A mark is the name of the kind in square brackets: no kind has one of these in it, so a text with
//! marks has nothing of what was taken away, and marking it again changes nothing.

use super::kind::Kind;
use super::pii::PII;
use super::pseudonym::{self, Book};
use super::search::Instead;
use super::secrets::SECRETS;
use super::table::Table;
use super::walk::{Place, Walk};
use super::wanted::Wanted;
use crate::cel::{Code, Entries, Fault, Function, Key, List, Map, Meter, Value};
use std::sync::LazyLock;

static PII_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(PII));
static SECRETS_TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(SECRETS));

fn names(kinds: &'static [Kind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

/// Both for a table: the code, and the names that a constant is held to.
macro_rules! over {
    ($table:ident, $kinds:ident, $code:ident) => {
        Code::Named(|meter, args| $code(meter, &$table, args), || names($kinds))
    };
}

const HAS_COST: &str = "1 for each part, a tenth of the length of its texts, as much again for each kind whose sign stands there, and 2 for each \
                        character of a candidate; up to the first find";
const COST: &str = "1 for each part, a tenth of the length of its texts, as much again for each kind whose sign stands there, 2 for each character of a \
                    candidate, and what is built";

/// The functions of both tables.
pub const DETECTION: &[Function] = &[
    Function {
        name: "pii.has",
        doc: "whether a value has personal data: of any usual kind, or of the kinds that are named; every text inside is looked at, keys and numbers, too",
        cost: HAS_COST,
        overloads: &[
            ("pii_has", "pii.has(dyn) -> bool"),
            ("pii_has_string", "pii.has(dyn, string) -> bool"),
            ("pii_has_list", "pii.has(dyn, list(string)) -> bool"),
        ],
        examples: &[
            ("pii.has('write to ann@example.com')", "true"),
            ("pii.has({'to': ['ann@example.com']}, 'credit_card')", "false"),
            ("pii.has('4111-1111-1111-1111', ['credit_card', 'iban'])", "true"),
            ("pii.has('4111-1111-1111-1112', 'credit_card')", "false"),
            ("pii.has(4111111111111111)", "true"),
            ("pii.has('４１１１ １１１１ １１１１ １１１１')", "true"),
            ("pii.has('192.168.0.1')", "false"),
            ("pii.has('192.168.0.1', 'ip_address')", "true"),
            ("pii.has('x', dyn('emial'))", "error: invalid_argument"),
        ],
        code: over!(PII_TABLE, PII, has),
    },
    Function {
        name: "pii.find",
        doc: "where a value has personal data: of each find its `kind`, the `path` of the part that has it (RFC 6901; of a key, that of its map), and where in the text of \
              that part it has its `start` and `end`, in characters; nothing of what stands there",
        cost: COST,
        overloads: &[
            ("pii_find", "pii.find(dyn) -> list(map(string, dyn))"),
            ("pii_find_string", "pii.find(dyn, string) -> list(map(string, dyn))"),
            ("pii_find_list", "pii.find(dyn, list(string)) -> list(map(string, dyn))"),
        ],
        examples: &[
            (
                "pii.find({'notes': ['call +1 212 555 0100']})",
                "[{'kind': 'phone', 'path': '/notes/0', 'start': 5, 'end': 20}]",
            ),
            ("pii.find({'ann@example.com': 1}).map(f, f.path)", "['']"),
            ("pii.find('no', 'email')", "[]"),
        ],
        code: over!(PII_TABLE, PII, find),
    },
    Function {
        name: "pii.texts",
        doc: "the personal data of a value as it is written there; for rules that compare it, such as with the domain of a company",
        cost: COST,
        overloads: &[
            ("pii_texts", "pii.texts(dyn) -> list(string)"),
            ("pii_texts_string", "pii.texts(dyn, string) -> list(string)"),
            ("pii_texts_list", "pii.texts(dyn, list(string)) -> list(string)"),
        ],
        examples: &[
            (
                "pii.texts('from ann@example.com to bob@example.org', 'email')",
                "['ann@example.com', 'bob@example.org']",
            ),
            ("pii.texts({'to': 'ann@acme.example'}, 'email').all(a, a.endsWith('@acme.example'))", "true"),
        ],
        code: over!(PII_TABLE, PII, texts),
    },
    Function {
        name: "pii.redact",
        doc: "the value with marks such as `[email]` in place of personal data; a number that is found becomes a text, and of keys that would be alike then, the later ones are numbered",
        cost: COST,
        overloads: &[
            ("pii_redact", "pii.redact(dyn) -> dyn"),
            ("pii_redact_string", "pii.redact(dyn, string) -> dyn"),
            ("pii_redact_list", "pii.redact(dyn, list(string)) -> dyn"),
        ],
        examples: &[
            (
                "pii.redact('ann@example.com pays with 4111 1111 1111 1111')",
                "'[email] pays with [credit_card]'",
            ),
            (
                "pii.redact({'a@b.example': 1, 'c@d.example': [2]}, 'email')",
                "{'[email]': 1, '[email] (2)': [2]}",
            ),
            ("pii.redact(pii.redact('ann@example.com'))", "'[email]'"),
            ("pii.redact([1, 'text'])", "[1, 'text']"),
        ],
        code: over!(PII_TABLE, PII, redact),
    },
    Function {
        name: "pii.mask",
        doc: "the value with stars in place of the letters and digits of personal data, but for the last four of each find, by which a person knows it again; of one with eight or fewer \
              none is left",
        cost: COST,
        overloads: &[
            ("pii_mask", "pii.mask(dyn) -> dyn"),
            ("pii_mask_string", "pii.mask(dyn, string) -> dyn"),
            ("pii_mask_list", "pii.mask(dyn, list(string)) -> dyn"),
        ],
        examples: &[
            ("pii.mask('pay with 4111-1111-1111-1111', 'credit_card')", "'pay with ****-****-****-1111'"),
            ("pii.mask({'card': 4111111111111111})", "{'card': '************1111'}"),
            ("pii.mask('a@b.example', 'email')", "'*@*.***mple'"),
            ("pii.mask('a@b.io', 'email')", "'*@*.**'"),
            ("pii.mask('order 1111')", "'order 1111'"),
        ],
        code: over!(PII_TABLE, PII, mask),
    },
    Function {
        name: "secrets.has",
        doc: "whether a value has keys, tokens or passwords: of any usual kind, or of the kinds that are named",
        cost: HAS_COST,
        overloads: &[
            ("secrets_has", "secrets.has(dyn) -> bool"),
            ("secrets_has_string", "secrets.has(dyn, string) -> bool"),
            ("secrets_has_list", "secrets.has(dyn, list(string)) -> bool"),
        ],
        examples: &[
            ("secrets.has({'env': 'AKIA' + 'IOSFODNN7EXAMPLE'})", "true"),
            ("secrets.has('postgres://app:hunter2@db/shop', ['url_password'])", "true"),
            ("secrets.has('postgres://app@db/shop')", "false"),
            ("secrets.has('x', dyn([]))", "error: invalid_argument"),
        ],
        code: over!(SECRETS_TABLE, SECRETS, has),
    },
    Function {
        name: "secrets.find",
        doc: "where a value has secrets, as `pii.find` says it; nothing gives their text",
        cost: COST,
        overloads: &[
            ("secrets_find", "secrets.find(dyn) -> list(map(string, dyn))"),
            ("secrets_find_string", "secrets.find(dyn, string) -> list(map(string, dyn))"),
            ("secrets_find_list", "secrets.find(dyn, list(string)) -> list(map(string, dyn))"),
        ],
        examples: &[(
            "secrets.find(['key: AKIA' + 'IOSFODNN7EXAMPLE'])",
            "[{'kind': 'aws_access_key', 'path': '/0', 'start': 5, 'end': 25}]",
        )],
        code: over!(SECRETS_TABLE, SECRETS, find),
    },
    Function {
        name: "secrets.redact",
        doc: "the value with marks such as `[jwt]` in place of secrets",
        cost: COST,
        overloads: &[
            ("secrets_redact", "secrets.redact(dyn) -> dyn"),
            ("secrets_redact_string", "secrets.redact(dyn, string) -> dyn"),
            ("secrets_redact_list", "secrets.redact(dyn, list(string)) -> dyn"),
        ],
        examples: &[
            ("secrets.redact('postgres://app:hunter2@db/shop')", "'postgres://app:[url_password]@db/shop'"),
            (
                "secrets.redact({'log': ['id AKIA' + 'IOSFODNN7EXAMPLE.']})",
                "{'log': ['id [aws_access_key].']}",
            ),
        ],
        code: over!(SECRETS_TABLE, SECRETS, redact),
    },
    super::key_redaction::REDACT,
    super::invisible::HAS,
    super::invisible::STRIP,
];

/// The kinds of personal data that `names` names, as a number for [`tokenized`] and [`detokenized`]; where it names none the usual ones, or all.
///
/// # Errors
/// As those of the other functions for names that are none of kinds.
pub(crate) fn pii_kinds(names: Option<&Value<'_>>, or_all: bool) -> Result<u64, Fault> {
    let wanted = match names {
        Some(names) => PII_TABLE.named(names)?,
        None if or_all => Wanted::of(0..PII.len()),
        None => PII_TABLE.usual(),
    };
    Ok(wanted.bits())
}

/// A text with pseudonyms in the place of personal data of these kinds, and without what only looks like one; `None` if it is as it was.
///
/// # Errors
/// `budget_exceeded`, also where the book is full.
pub(crate) fn tokenized(
    meter: &mut Meter<'_>,
    kinds: u64,
    text: &str,
    book: &mut Book<'_>,
) -> Result<Option<String>, Fault> {
    pseudonym::tokenized(meter, (&PII_TABLE, Wanted::of_bits(kinds)), text, book)
}

/// A text with the values of the pseudonyms of these kinds that the book knows; `None` if it has none.
///
/// # Errors
/// `budget_exceeded`.
pub(crate) fn detokenized(
    meter: &mut Meter<'_>,
    kinds: u64,
    text: &str,
    book: &Book<'_>,
) -> Result<Option<String>, Fault> {
    pseudonym::detokenized(meter, (&PII_TABLE, Wanted::of_bits(kinds)), text, book)
}

/// The value, and the kinds that are wanted: the usual ones if none is named.
fn asked<'v, 'a>(table: &Table, args: &[&'v Value<'a>]) -> Result<(&'v Value<'a>, Wanted), Fault> {
    match args {
        [value] => Ok((value, table.usual())),
        [value, names] => Ok((value, table.named(names)?)),
        _ => Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    }
}

fn has<'a>(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let (value, wanted) = asked(table, args)?;
    Walk { meter, table, wanted }.has(value).map(Value::Bool)
}

fn redact<'a>(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    without(meter, table, args, Instead::Mark)
}

fn mask<'a>(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    without(meter, table, args, Instead::Stars)
}

fn without<'a>(
    meter: &mut Meter<'_>,
    table: &Table,
    args: &[&Value<'a>],
    instead: Instead,
) -> Result<Value<'a>, Fault> {
    let (value, wanted) = asked(table, args)?;
    let redacted = Walk { meter, table, wanted }.redacted(value, instead)?;
    Ok(redacted.unwrap_or_else(|| value.clone()))
}

fn find<'a>(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let places = places(meter, table, args)?;
    let entry = Map::bytes(4).saturating_mul(places.len());
    meter.charge_built(entry)?;
    Ok(Value::list(places.into_iter().map(shown).collect()))
}

fn texts<'a>(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let places = places(meter, table, args)?;
    Ok(Value::list(places.into_iter().map(|place| Value::owned_text(place.text)).collect()))
}

fn places(meter: &mut Meter<'_>, table: &Table, args: &[&Value<'_>]) -> Result<Vec<Place>, Fault> {
    let (value, wanted) = asked(table, args)?;
    let places = Walk { meter: &mut *meter, table, wanted }.places(value)?;
    List::charge(meter, places.len())?;
    Ok(places)
}

/// A find as expressions see it.
fn shown<'a>(place: Place) -> Value<'a> {
    let number = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let entries = [
        ("kind", Value::text(place.kind)),
        ("path", Value::owned_text(place.path)),
        ("start", number(place.start)),
        ("end", number(place.end)),
    ];
    let entries =
        entries.into_iter().filter_map(|(key, value)| Some((Key::from_value(&Value::text(key))?, value)));
    Value::map(entries.collect::<Entries<'a>>())
}
