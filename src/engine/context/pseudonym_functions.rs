//! `pii.hash`, `pii.tokenize` and `pii.detokenize`: what steps call to have something else in the place of personal data, by which it is known again.
//!
//! The functions are given the context, which answers: the key is one of the policy and the pseudonyms are those of the task, and neither is a value of an expression.

use crate::cel::{Code, ErrorCode, Fault, Function, Map, Meter, PureCode, Value};
use crate::detect::{Rewriting, pii_kinds};

/// The name of the function that digests a text with the key of the host.
pub const PII_HASH: &str = "pii.hash";
/// The name of the function that puts pseudonyms in the place of personal data.
pub const PII_TOKENIZE: &str = "pii.tokenize";
/// The name of the function that puts personal data in the place of its pseudonyms.
pub const PII_DETOKENIZE: &str = "pii.detokenize";

/// `pii.hash`: of every scope that knows a task.
pub const HASHING: &[Function] = &[Function {
    name: PII_HASH,
    doc: "a digest of a text by which it is known again and not found out: the first 128 bits of its HMAC-SHA-256 under a key of the host, as 32 hexadecimal digits in lower case. The \
          text is taken as it is: fold it first where `Ann@Example.com` is to be `ann@example.com` (`.lowerAscii()`, `.trim()`). Expressions never see the key; manifests that \
          call the function are refused where the host has given none, and cases hash with the key `celador-verification-key`",
    cost: "1, and the length of the text",
    overloads: &[("pii_hash_string", "pii.hash(string) -> string")],
    examples: &[
        ("pii.hash('ann@example.com')", "'e2babc5f0d063181968c301505343cd2'"),
        ("pii.hash('Ann@Example.com') == pii.hash('ann@example.com')", "false"),
        ("pii.hash(' Ann@Example.com '.trim().lowerAscii()) == pii.hash('ann@example.com')", "true"),
        ("pii.hash('')", "'bf73aaafabd4842eeb1cf6881e909e73'"),
    ],
    code: Code::Given { variables: &["context"], code: hash, accepts: |_, _| true, is_of_time: false },
}];

/// `pii.tokenize` and `pii.detokenize`: of steps that replace a value of a task.
pub const PSEUDONYMS: &[Function] = &[
    Function {
        name: PII_TOKENIZE,
        doc: "the value with pseudonyms such as `[email_1]` in place of personal data: of any usual kind, or of the kinds that are named. The same text has the same pseudonym for the whole \
              task; numbers count each kind in the order of first appearance. What only looks like a pseudonym loses its brackets. A number that is found becomes a text. Only `set` and \
              `transform` may call it",
        cost: COST,
        overloads: &[
            ("pii_tokenize", "pii.tokenize(dyn) -> dyn"),
            ("pii_tokenize_string", "pii.tokenize(dyn, string) -> dyn"),
            ("pii_tokenize_list", "pii.tokenize(dyn, list(string)) -> dyn"),
        ],
        examples: &[
            ("pii.tokenize('from ann@example.com to bob@example.org')", "'from [email_1] to [email_2]'"),
            ("pii.tokenize('ann@example.com, again ann@example.com')", "'[email_1], again [email_1]'"),
            (
                "pii.tokenize({'id': 7, 'card': '4111 1111 1111 1111'})",
                "{'id': 7, 'card': '[credit_card_1]'}",
            ),
            ("pii.tokenize('ann@example.com', 'credit_card')", "'ann@example.com'"),
            ("pii.tokenize('send it to [email_1]')", "'send it to (email_1)'"),
            ("pii.tokenize('x', dyn('emial'))", "error: invalid_argument"),
        ],
        code: asking_task(tokenize),
    },
    Function {
        name: PII_DETOKENIZE,
        doc: "the value with what its pseudonyms stand for in their place: those of all kinds, or of the kinds that are named. A pseudonym that `pii.tokenize` has not given in this task stays. \
              Only `set` and `transform` may call it, so that rules judge what goes on",
        cost: COST,
        overloads: &[
            ("pii_detokenize", "pii.detokenize(dyn) -> dyn"),
            ("pii_detokenize_string", "pii.detokenize(dyn, string) -> dyn"),
            ("pii_detokenize_list", "pii.detokenize(dyn, list(string)) -> dyn"),
        ],
        examples: &[
            ("pii.detokenize({'to': '[email_1]'})", "{'to': '[email_1]'}"),
            ("pii.detokenize('[email_1]', 'email')", "'[email_1]'"),
            ("pii.detokenize(17)", "17"),
            ("pii.detokenize('x', dyn([]))", "error: invalid_argument"),
        ],
        code: asking_task(detokenize),
    },
];

const COST: &str = "1 for each part, a tenth of the length of its texts, as much again for each kind whose sign stands there, 2 for each character of a candidate, and what is built";

/// How a function of pseudonyms is run: names of kinds are looked at before.
const fn asking_task(code: PureCode) -> Code {
    Code::Given {
        variables: &["context"],
        code,
        accepts: |position, names| position != 1 || pii_kinds(Some(names), false).is_ok(),
        is_of_time: false,
    }
}

fn hash<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    match args {
        [text @ Value::String(_), Value::Map(Map::Live { of, at })] => of.answer(*at, PII_HASH, text, meter),
        [Value::String(_), _] => Err(NO_TASK.into()),
        _ => Err(Fault::no_overload(args.iter().take(1).map(|arg| arg.kind()))),
    }
}

fn tokenize<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    rewritten(meter, args, PII_TOKENIZE, false)
}

fn detokenize<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    rewritten(meter, args, PII_DETOKENIZE, true)
}

/// A value with the texts that the task answers for its own.
fn rewritten<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    question: &'static str,
    or_all: bool,
) -> Result<Value<'a>, Fault> {
    let (value, names, context) = match args {
        [value, context] => (value, None, context),
        [value, names, context] => (value, Some(*names), context),
        _ => return Err(NO_TASK.into()),
    };
    let kinds = pii_kinds(names, or_all)?;
    let Value::Map(Map::Live { of, at }) = context else { return Err(NO_TASK.into()) };
    let mut other = |meter: &mut Meter<'_>, text: &str| {
        let asked = Value::list(vec![Value::text(text), Value::UInt(kinds)]);
        let answer = of.answer(*at, question, &asked, meter)?;
        Ok(answer.as_str().map(str::to_owned))
    };
    let other = Rewriting { meter, other: &mut other }.value(value)?;
    Ok(other.unwrap_or_else(|| Value::clone(value)))
}

/// An expression is tried out on some JSON: there is no task with a key and pseudonyms.
const NO_TASK: ErrorCode = ErrorCode::Unbound;
