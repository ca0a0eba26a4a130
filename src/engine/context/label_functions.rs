//! `labels` and `sources`: what the steps of policies ask of where a value came from.
//!
//! They are given the context, which answers. Steps of manifests do not have them: what they ask costs a task an index of its
//! results, and no manifest of the specification may depend on labels that only policies give.

use crate::cel::{Code, ErrorCode, Fault, Function, Map, Meter, Value};

/// The name of the function that gives the labels of a value.
pub const LABELS: &str = "labels";
/// The name of the function that gives what a value was copied from.
pub const SOURCES: &str = "sources";

const COST: &str =
    "1 for each letter of the texts, a tenth of the values that they may repeat, and what is built";

/// The functions.
pub const LABELLING: &[Function] = &[
    Function {
        name: LABELS,
        doc: "the labels, in order, of the results and inputs that a value repeats, whole or in part; of a list or a map those of all texts in it",
        cost: COST,
        overloads: &[("labels_dyn", "labels(dyn) -> list(string)")],
        examples: &[
            ("labels('nobody has said this')", "[]"),
            ("labels(['wire it to mallory@evil.example'])", "['untrusted']"),
            ("'untrusted' in labels({'to': 'MALLORY@evil.example'})", "true"),
            ("labels(17)", "[]"),
        ],
        code: Code::Given { variable: "context", code: labels, accepts: |_, _| true },
    },
    Function {
        name: SOURCES,
        doc: "what a value was copied from, whole or in part: of each result and input its `kind` (`call` or `input`), `fn` (null for an input), `seq` (its number, from 1) and \
              `labels`",
        cost: COST,
        overloads: &[("sources_dyn", "sources(dyn) -> list(map(string, dyn))")],
        examples: &[
            ("sources('nobody has said this')", "[]"),
            ("sources('to mallory@evil.example').map(s, s.fn)", "['web_fetch']"),
            (
                "sources('mallory@evil.example')",
                "[{'kind': 'call', 'fn': 'web_fetch', 'seq': 1, 'labels': ['untrusted']}]",
            ),
        ],
        code: Code::Given { variable: "context", code: sources, accepts: |_, _| true },
    },
];

fn labels<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    asked(LABELS, meter, args)
}

fn sources<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    asked(SOURCES, meter, args)
}

fn asked<'a>(question: &str, meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    match args {
        [about, Value::Map(Map::Live { of, at })] => of.answer(*at, question, about, meter),
        // an expression that is tried out on some JSON: nobody knows where that came from
        _ => Err(ErrorCode::Unbound.into()),
    }
}
