//! `labels` and `sources`: what the steps of policies ask of where a value came from.
//!
//! They are given the context, which answers. Steps of manifests do not have them: what they ask costs a task an index of its
//! results, and no manifest of the specification may depend on labels that only policies give.

use crate::cel::{Code, ErrorCode, Fault, Function, Map, Meter, Value};

/// The name of the function that gives the labels of a value.
pub const LABELS: &str = "labels";
/// The name of the function that gives what a value was copied from.
pub const SOURCES: &str = "sources";
/// The name of the function that gives the labels of the result of a call.
pub const CALL_LABELS: &str = "callLabels";
/// The name of the function that gives the labels of the task.
pub const TASK_LABELS: &str = "taskLabels";
/// The questions of `sources(x, true)`, and those for the bindings of the call at hand; no function has such a name.
pub(crate) const WHOLE_SOURCES: &str = "@whole_sources";
pub(super) const BINDINGS: &str = "@bindings";
pub(super) const WHOLE_BINDINGS: &str = "@whole_bindings";

const COST: &str =
    "1 for each letter of the texts, a tenth of the values that they may repeat, and what is built";

const COST_OF_MARKS: &str = "1, and a tenth of the lengths of the labels";

/// The functions.
pub const LABELLING: &[Function] = &[
    Function {
        name: CALL_LABELS,
        doc: "the labels, in order, that steps have given to the result of a call on record, whatever text it has; of an open call none",
        cost: COST_OF_MARKS,
        overloads: &[("call_labels_map", "callLabels(map(string, dyn)) -> list(string)")],
        examples: &[
            ("callLabels({'seq': 1})", "['untrusted']"),
            ("callLabels({'seq': 2})", "[]"),
            ("callLabels({'seq': null})", "[]"),
            ("callLabels({'fn': 'web_fetch'})", "error: no_such_field"),
        ],
        code: Code::Given {
            variables: &["context"],
            code: call_labels,
            accepts: |_, _| true,
            is_of_time: false,
        },
    },
    Function {
        name: TASK_LABELS,
        doc: "the labels, in order, that steps have given to the task with `label_task`",
        cost: COST_OF_MARKS,
        overloads: &[("task_labels", "taskLabels() -> list(string)")],
        examples: &[("taskLabels()", "['suspicious']"), ("'suspicious' in taskLabels()", "true")],
        code: Code::Given {
            variables: &["context"],
            code: task_labels,
            accepts: |_, _| true,
            is_of_time: false,
        },
    },
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
        code: Code::Given { variables: &["context"], code: labels, accepts: |_, _| true, is_of_time: false },
    },
    Function {
        name: SOURCES,
        doc: "the results, inputs and bound arguments of the call from which a value was copied, as a whole or in part. Each source has `kind` (`call`, `input` or `binding`), `fn` (null \
              for an input), `seq` (its number, from 1; null for a binding) and `labels`; a binding has the `name` of the parameter. With `true` as the second argument, a source has to contain the \
              whole value: each text of the value, of at least four letters, and not as a part of a longer word, number or address. Rules that permit a value need this form",
        cost: "1 for each letter of the texts, a tenth of the values that they may repeat (of all values for a whole one that is shorter than a copy), and what is built",
        overloads: &[
            ("sources_dyn", "sources(dyn) -> list(map(string, dyn))"),
            ("sources_dyn_bool", "sources(dyn, bool) -> list(map(string, dyn))"),
        ],
        examples: &[
            ("sources('nobody has said this')", "[]"),
            ("sources('to mallory@evil.example').map(s, s.fn)", "['web_fetch']"),
            (
                "sources('mallory@evil.example')",
                "[{'kind': 'call', 'fn': 'web_fetch', 'seq': 1, 'labels': ['untrusted']}]",
            ),
            ("sources('mallory@evil.example', true).map(s, s.fn)", "['web_fetch']"),
            ("sources('to mallory@evil.example, soon').map(s, s.fn)", "['web_fetch']"),
            ("sources('to mallory@evil.example, soon', true)", "[]"),
            ("sources(['mallory@evil.example', 'eve'], true)", "[]"),
            ("sources('mallory@evil.example'.substring(1), true)", "[]"),
        ],
        code: Code::Given {
            variables: &["context", "call", "input"],
            code: sources,
            accepts: |_, _| true,
            is_of_time: false,
        },
    },
];

fn labels<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    match args {
        [about, Value::Map(Map::Live { of, at })] => of.answer(*at, LABELS, about, meter),
        _ => Err(NO_CONTEXT.into()),
    }
}

fn call_labels<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let [Value::Map(call), Value::Map(Map::Live { of, at })] = args else {
        let kinds = args.first().map(|about| about.kind());
        return Err(kinds.map_or(NO_CONTEXT.into(), |kind| Fault::no_overload([kind])));
    };
    let number = call.get_str("seq").ok_or(ErrorCode::NoSuchField)?;
    of.answer(*at, CALL_LABELS, &number, meter)
}

fn task_labels<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Map(Map::Live { of, at })] => of.answer(*at, TASK_LABELS, &Value::Null, meter),
        _ => Err(NO_CONTEXT.into()),
    }
}

fn sources<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let (about, is_whole, context, call, input) = match args {
        [about, context, call, input] => (about, false, context, call, input),
        [about, Value::Bool(is_whole), context, call, input] => (about, *is_whole, context, call, input),
        _ => return Err(NO_CONTEXT.into()),
    };
    let Value::Map(Map::Live { of, at }) = context else { return Err(NO_CONTEXT.into()) };
    let (of_records, of_bindings) =
        if is_whole { (WHOLE_SOURCES, WHOLE_BINDINGS) } else { (SOURCES, BINDINGS) };
    let sources = of.answer(*at, of_records, about, meter)?;
    if !matches!(call, Value::Map(_)) {
        return Ok(sources);
    }
    let asked = Value::list(vec![Value::clone(about), Value::clone(call), Value::clone(input)]);
    let bindings = of.answer(*at, of_bindings, &asked, meter)?;
    match (&sources, &bindings) {
        (_, Value::List(bindings)) if bindings.is_empty() => Ok(sources),
        (Value::List(sources), Value::List(bindings)) => {
            Ok(Value::list(sources.iter().chain(bindings.iter()).collect()))
        }
        _ => Err(NO_CONTEXT.into()),
    }
}

/// An expression is tried out on some JSON: nobody knows where that came from.
const NO_CONTEXT: ErrorCode = ErrorCode::Unbound;
