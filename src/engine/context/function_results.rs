//! The maps that functions return: the names of their members, and the words that a member can be.
//!
//! In: the functions of an agent. Out: a [`Domain`] for each function that returns a list of maps, so that the checker finds a name or a
//! word that no such map has: `sql.parse(…).all(s, s.kind == 'SELECT')`. A member without a row of words can be anything.

use super::label_functions::SOURCES;
use crate::cel::{Constant, Domain};
use crate::detect::{Kind, PII, SECRETS};
use std::sync::{Arc, LazyLock};

/// The words of a member.
enum Words {
    /// Any text, number or list.
    Any,
    /// One of these.
    One(fn() -> Vec<&'static str>),
    /// A list of these.
    List(fn() -> Vec<&'static str>),
}

/// A function that returns a list of maps, and the members of these.
type Row = (&'static str, &'static [(&'static str, Words)]);

/// The members of the place of a find.
const fn find(kinds: fn() -> Vec<&'static str>) -> [(&'static str, Words); 4] {
    [("kind", Words::One(kinds)), ("path", Words::Any), ("start", Words::Any), ("end", Words::Any)]
}

/// Each function that returns a list of maps. The words of `sources` depend on the agent.
const ROWS: &[Row] = &[
    ("pii.find", &find(|| names(PII))),
    ("secrets.find", &find(|| names(SECRETS))),
    (
        "shell.parse",
        &[
            ("words", Words::Any),
            ("variables", Words::Any),
            ("reads", Words::Any),
            ("writes", Words::Any),
            ("piped", Words::Any),
        ],
    ),
    (
        "shell.paths",
        &[
            ("program", Words::Any),
            ("path", Words::Any),
            ("reads", Words::Any),
            ("writes", Words::Any),
            ("unknown", Words::One(|| vec!["program", "code", "option", "variable", "folder"])),
        ],
    ),
    #[cfg(feature = "parsers")]
    (
        "sql.parse",
        &[
            ("kinds", Words::List(|| crate::parsers::STATEMENT_KINDS.to_vec())),
            ("reads", Words::Any),
            ("writes", Words::Any),
            ("functions", Words::Any),
            ("columns", Words::Any),
            ("keys", Words::Any),
            ("locks", Words::Any),
        ],
    ),
    #[cfg(feature = "parsers")]
    (
        "html.urls",
        &[
            ("url", Words::Any),
            ("scheme", Words::Any),
            ("host", Words::Any),
            ("from", Words::Any),
            ("fetched", Words::Any),
        ],
    ),
];

fn names(kinds: &'static [Kind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name).collect()
}

/// The domains of the rows, built once: each scope declares them.
static RESULTS: LazyLock<Vec<(&'static str, Arc<Domain>)>> = LazyLock::new(|| {
    let words = |words: Vec<&'static str>| Domain::of_texts(words.into_iter().map(Arc::from));
    let of = |member: &Words| match member {
        Words::Any => Domain::default(),
        Words::One(all) => words(all()),
        Words::List(all) => words(all()).of_lists(),
    };
    let rows = ROWS.iter().map(|(function, members)| {
        let members = members.iter().map(|(name, member)| (Arc::from(*name), of(member)));
        (*function, Arc::new(Domain::of_maps(members).of_lists()))
    });
    rows.collect()
});

/// The functions of which more is known than their type, each with the domain of its result.
pub(super) fn function_results() -> impl Iterator<Item = (&'static str, Arc<Domain>)> {
    RESULTS.iter().map(|(function, domain)| (*function, domain.clone()))
}

/// The same of `sources`, where the agent has these functions.
pub(super) fn sources_result<'f>(
    functions: impl Iterator<Item = &'f Arc<str>>,
) -> (&'static str, Arc<Domain>) {
    let kinds = Domain::of_texts(["call", "input", "binding"].map(Arc::from));
    // a source that is no call has none
    let keys = functions.map(|key| Constant::Text(key.clone())).chain([Constant::Null]);
    let keys = Domain { allowed: Some(keys.collect()), ..Domain::default() };
    let any = Domain::default;
    let members = [("kind", kinds), ("fn", keys), ("seq", any()), ("labels", any()), ("name", any())];
    let members = members.map(|(name, domain)| (Arc::from(name), domain));
    (SOURCES, Arc::new(Domain::of_maps(members).of_lists()))
}
