//! What was expected against what was found.
//!
//! In: the `expect` mapping, and what an operation did. Out: a [`Mismatch`] for each check that does not hold, with both
//! sides and the place in the file. Values are equal as CEL has it: `1` equals `1.0`, and the order of keys does not
//! count. A key that is absent is not checked; a key that the operation cannot answer is a mismatch, never skipped.

use super::case::{Aspect, Check, Want};
use super::counted::{Counted, read_counted};
use super::expect_labels::{FoundLabels, LabelsKeys};
use super::expect_observed::{self, ObservedKeys};
use super::expect_terms::{self, TermsKeys};
use super::expect_words::{DecisionWord, StageWord, TaskWord, VerdictWord};
use super::{expect_labels, messages, values};
use crate::cel::Json;
use crate::counter::Decimal;
use crate::diagnostic::{Diagnostic, Severity};
use crate::manifest::node::{Data, Entry, Node};
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, ByName, List, Nullable, Object, OneOf, Required, Row, Text, TextOrTexts, closed, mapping,
    names, shape, with,
};
use crate::manifest::task_limit::TaskLimit;
use crate::source::{Embedded, Place};
use crate::task::{Finding, Origin, QuestionId, Task};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The outcome of an operation, as checks see it.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The texts, in the order of [`Aspect::ALL`].
    pub(super) texts: [Option<String>; Aspect::ALL.len()],
    /// The value to go on with.
    pub value: Option<Json>,
    /// The calls that it waits for.
    pub waits_for: Vec<String>,
    /// What it asks, if it asks.
    pub(super) asks: Option<QuestionId>,
    /// What reviewers have added, for the model.
    pub notes: Vec<String>,
    /// The executions: function and arguments, in order.
    pub invoked: Vec<(String, Json)>,
    /// The steps that were evaluated, with their outcomes.
    pub trace: Vec<(String, String)>,
    /// The observed steps, with all that can be expected of them.
    pub observed: Vec<serde_json::Map<String, Value>>,
    /// What the host has to do for the call.
    pub terms: serde_json::Map<String, Value>,
    /// What can be told of labels.
    pub(super) labels: FoundLabels,
    /// The values that `exposes` adds to a response.
    pub exposes: Option<Json>,
    /// The files after the operation.
    pub files: BTreeMap<String, String>,
    /// The counters that are looked at, each with what it holds.
    pub counted: Vec<(String, Option<Decimal>)>,
    /// Errors and warnings of the manifests.
    pub diagnostics: Vec<Diagnostic>,
    /// The rule that decided.
    pub decided_by: Option<Origin>,
    /// The findings of the decision.
    pub findings: Vec<Finding>,
}

/// A check that does not hold.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Where the check stands.
    pub place: Place,
    /// Which one: `decision`, `files.a/b`, or the expression of one of `context`.
    pub key: String,
    /// The expected value; `None` if it should be absent.
    pub expected: Option<Value>,
    /// The value that was found; `None` if it is absent.
    pub found: Option<Value>,
}

impl Found {
    /// One of the texts.
    #[must_use]
    pub fn text(&self, aspect: Aspect) -> Option<&str> {
        self.texts.get(aspect as usize)?.as_deref()
    }

    /// Finds what the reviewer is asked whom the task waits for.
    pub(super) fn find_question(&mut self, task: &Task) {
        let asks = self.asks;
        let review = task.reviews().find(|review| Some(review.question) == asks);
        self.set(Aspect::Question, review.and_then(|review| review.text));
    }

    /// Notes one of the texts.
    pub(super) fn set(&mut self, aspect: Aspect, text: Option<impl Into<String>>) {
        if let Some(place) = self.texts.get_mut(aspect as usize) {
            *place = text.map(Into::into);
        }
    }
}

mapping! {
    ExecutionKeys = "an execution" {
        /// The function.
        function = "fn": Required<Text>,
        /// The arguments, if they are to be compared.
        input: Object,
    }
}

shape! {
    /// A step and its outcome.
    TracedStep =
        |definitions| with(with(<List<Text>>::schema(definitions), "minItems", 2), "maxItems", 2);
    /// `true`.
    True = |_| json!({ "const": true });
    /// What must hold.
    pub(super) Expectations as "expect" =
        |definitions| with(Value::Object(closed(ROWS, definitions)), "minProperties", 1);
    /// What must hold after a step.
    pub(super) StepExpectations as "stepExpect" =
        |definitions| with(Value::Object(closed(ROWS.iter().chain(STEP_ROWS), definitions)), "minProperties", 1);
}

/// The key that stands in the expectations of a step alone.
const STEP_ROWS: &[Row] = &[Row::of::<ByName<Expectations>>(
    "calls",
    "What must hold of calls, by their names: of what the step has decided about them, or else of how they stand.",
)];

/// The checks of a step, and those of calls by their names.
pub(super) type StepChecks = (Vec<Check>, Vec<(Embedded, Vec<Check>)>);

/// What a key of `expect` becomes: checks, each with its place if that is not the key's.
type Wants = Vec<(Option<Place>, Want)>;

/// A key of `expect`: its name, its shape and a sentence, and how it is read.
struct Expectation {
    name: &'static str,
    read: fn(&Node, &Path, &mut Reader) -> Wants,
}

/// The keys of `expect`, one row each: the sentence for people, the name, the shape, and the reader.
macro_rules! expectations {
    ($($(#[doc = $about:literal])* ($name:expr): $shape:ty => $read:expr;)*) => {
        const ROWS: &[Row] = &[$(Row::of::<$shape>($name, concat!($($about),*))),*];
        const EXPECTATIONS: &[Expectation] = &[$(Expectation { name: $name, read: $read }),*];
    };
}

expectations! {
    /// What was decided.
    (Aspect::Decision.key()): Nullable<OneOf<DecisionWord>> => |node, path, reader| text(Aspect::Decision, node, path, reader);
    /// Where the operation was decided.
    (Aspect::Stage.key()): Nullable<OneOf<StageWord>> => |node, path, reader| text(Aspect::Stage, node, path, reader);
    /// The value to go on with.
    ("value"): Anything => |node, _, _| one(Some(Want::Value(node.to_json().into())));
    /// The message of the decision.
    (Aspect::Message.key()): Nullable<Text> => |node, path, reader| text(Aspect::Message, node, path, reader);
    /// What the user is told.
    (Aspect::UserMessage.key()): Nullable<Text> => |node, path, reader| text(Aspect::UserMessage, node, path, reader);
    /// Texts that the message contains.
    ("message_contains"): TextOrTexts => |node, path, reader| {
        one(read_texts(node, path, reader).map(Want::MessageContains))
    };
    /// Texts that the message does not contain.
    ("message_excludes"): TextOrTexts => |node, path, reader| {
        one(read_texts(node, path, reader).map(Want::MessageExcludes))
    };
    /// The limit that was reached.
    (Aspect::Limit.key()): Nullable<OneOf<TaskLimit>> => |node, path, reader| text(Aspect::Limit, node, path, reader);
    /// The reason.
    (Aspect::Reason.key()): Nullable<Text> => |node, path, reader| text(Aspect::Reason, node, path, reader);
    /// The calls that it waits for, in the order in which they were made.
    ("waits_for"): List<Text> => |node, path, reader| {
        let calls = reader.texts(node, path);
        one(calls.map(|calls| Want::WaitsFor(calls.iter().map(|call| call.text.to_string()).collect())))
    };
    /// The reviewer who is asked.
    (Aspect::Reviewer.key()): Nullable<Text> => |node, path, reader| text(Aspect::Reviewer, node, path, reader);
    /// What the reviewer is asked.
    (Aspect::Question.key()): Nullable<Text> => |node, path, reader| text(Aspect::Question, node, path, reader);
    /// What reviewers have added to their answers, for the model.
    ("notes"): List<Text> => |node, path, reader| {
        let notes = reader.texts(node, path);
        one(notes.map(|notes| Want::Notes(notes.iter().map(|note| note.text.to_string()).collect())))
    };
    /// The verdict that it would have been, of a case under `mode: observe`; null where it would have gone on.
    (Aspect::Enforced.key()): Nullable<OneOf<VerdictWord>> => |node, path, reader| text(Aspect::Enforced, node, path, reader);
    /// The message that would have been told then.
    (Aspect::EnforcedMessage.key()): Nullable<Text> => |node, path, reader| text(Aspect::EnforcedMessage, node, path, reader);
    /// What becomes of the task.
    (Aspect::Task.key()): Nullable<OneOf<TaskWord>> => |node, path, reader| text(Aspect::Task, node, path, reader);
    /// All executions, in order.
    ("invoked"): List<ExecutionKeys> => |node, path, reader| {
        one(Some(Want::Invoked(values::list(node, path, reader, read_invoked))))
    };
    /// All steps and their outcomes, in order.
    ("trace"): List<TracedStep> => |node, path, reader| {
        one(Some(Want::Trace(values::list(node, path, reader, read_step))))
    };
    /// All observed steps and what they would have done, in order.
    ("observed"): List<ObservedKeys> => |node, path, reader| {
        one(Some(Want::Observed(values::list(node, path, reader, expect_observed::read))))
    };
    /// What the host has to do for the call.
    ("terms"): TermsKeys => |node, path, reader| {
        one(expect_terms::read(node, path, reader).map(Want::Terms))
    };
    /// The labels of arguments and of the result of a call, or of a message that came in.
    ("labels"): LabelsKeys => |node, path, reader| {
        let wants = expect_labels::read(node, path, reader).into_iter();
        wants.map(|(place, want)| (Some(place), want)).collect()
    };
    /// The values that `exposes` adds to a response.
    ("exposes"): Object => |node, path, reader| {
        one(reader.mapping(node, path).map(|_| Want::Exposes(node.to_json().into())))
    };
    /// The content of files afterwards, by path.
    ("files"): ByName<Text> => |node, path, reader| {
        each(node, path, reader, |entry, path, reader| {
            let content = reader.text(&entry.value, path)?;
            Some(Want::File(entry.key.text.to_string(), content.text.to_string()))
        })
    };
    /// What counters across tasks hold afterwards, by name: a number, or numbers by key.
    ("counters"): ByName<Counted> => |node, path, reader| {
        let all = read_counted(node, path, reader).into_iter();
        all.map(|counted| (Some(counted.name.place.clone()), Want::Counter(counted))).collect()
    };
    /// What the path of some error begins with.
    ("error_at"): Text => |node, path, reader| {
        one(reader.text(node, path).map(|text| Want::ErrorAt(text.text.to_string())))
    };
    /// What the paths of some warnings begin with.
    ("warn_at"): TextOrTexts => |node, path, reader| {
        let paths = read_texts(node, path, reader).unwrap_or_default();
        paths.into_iter().map(|path| (None, Want::WarnAt(path))).collect()
    };
    /// No warning is given.
    ("no_warnings"): True => |node, path, reader| {
        if !matches!(node.data, Data::Bool(true)) {
            reader.report(path, messages::only_true(node));
        }
        one(Some(Want::NoWarnings))
    };
    /// Expressions over `context`, `c` and `now`, and their values.
    ("context"): Object => |node, path, reader| {
        each(node, path, reader, |entry, _, _| {
            Some(Want::Context(entry.key.clone(), entry.value.to_json().into()))
        })
    };
}

/// Reads `expect`.
pub(super) fn read(node: &Node, path: &Path, reader: &mut Reader) -> Vec<Check> {
    let entries = reader.mapping(node, path).unwrap_or_default();
    let checks = entries.iter().flat_map(|entry| read_key(entry, path, &[], reader)).collect();
    if entries.is_empty() {
        reader.report(path, messages::nothing_expected(&node.place));
    }
    checks
}

/// Reads `expect` of a step.
pub(super) fn read_of_step(node: &Node, path: &Path, reader: &mut Reader) -> StepChecks {
    let (mut checks, mut calls) = StepChecks::default();
    let entries = reader.mapping(node, path).unwrap_or_default();
    for entry in entries {
        if !STEP_ROWS.iter().any(|row| row.is(&entry.key.text)) {
            checks.extend(read_key(entry, path, STEP_ROWS, reader));
            continue;
        }
        let path = path.key(&entry.key.text);
        for call in reader.mapping(&entry.value, &path).unwrap_or_default() {
            calls.push((call.key.clone(), read(&call.value, &path.key(&call.key.text), reader)));
        }
    }
    if checks.is_empty() && calls.is_empty() && !reader.has_errors() {
        reader.report(path, messages::nothing_expected(&node.place));
    }
    (checks, calls)
}

/// The checks of one key, beside keys with other readers.
fn read_key(entry: &Entry, path: &Path, others: &'static [Row], reader: &mut Reader) -> Vec<Check> {
    let path = path.key(&entry.key.text);
    let known = EXPECTATIONS.iter().find(|known| *known.name == *entry.key.text);
    let Some(expectation) = known else {
        let known = [names(ROWS), names(others)].concat();
        reader.report(&path, messages::unknown_key(&entry.key, "`expect`", &known));
        return Vec::new();
    };
    let wants = (expectation.read)(&entry.value, &path, reader).into_iter();
    wants.map(|(at, want)| Check { place: at.unwrap_or(entry.key.place.clone()), want }).collect()
}

fn one(want: Option<Want>) -> Wants {
    want.map(|want| (None, want)).into_iter().collect()
}

/// A text, or null if it must be absent.
fn text(aspect: Aspect, node: &Node, path: &Path, reader: &mut Reader) -> Wants {
    let text = if node.is_null() { None } else { reader.text(node, path) };
    if let Some(text) = &text {
        aspect.check_word(text, path, reader);
    }
    one(Some(Want::Text(aspect, text.map(|text| text.text.to_string()))))
}

/// A check for each entry of a mapping, at the place of its key.
fn each(
    node: &Node,
    path: &Path,
    reader: &mut Reader,
    mut read: impl FnMut(&Entry, &Path, &mut Reader) -> Option<Want>,
) -> Wants {
    let entries = reader.mapping(node, path).unwrap_or_default();
    let wants = entries.iter().filter_map(|entry| {
        let want = read(entry, &path.key(&entry.key.text), reader)?;
        Some((Some(entry.key.place.clone()), want))
    });
    wants.collect()
}

/// A text, or a list of texts.
fn read_texts(node: &Node, path: &Path, reader: &mut Reader) -> Option<Vec<String>> {
    if let Some(text) = node.as_string() {
        return Some(vec![text.text.to_string()]);
    }
    let texts = reader.texts(node, path)?;
    Some(texts.iter().map(|text| text.text.to_string()).collect())
}

fn read_invoked(node: &Node, path: &Path, reader: &mut Reader) -> Option<(String, Option<Json>)> {
    let fields = reader.fields::<ExecutionKeys>(node, path)?;
    let function = fields.function().required_text(reader);
    let input = fields.input().object(reader);
    fields.refuse_others(reader);
    Some((function?.text.to_string(), input))
}

fn read_step(node: &Node, path: &Path, reader: &mut Reader) -> Option<(String, String)> {
    let texts = reader.texts(node, path)?;
    let [step, outcome] = texts.as_slice() else {
        reader.report(path, messages::not_a_step(&node.place));
        return None;
    };
    values::one_of(outcome, path, &[("pass", ()), ("fail", ()), ("suspend", ())], reader)?;
    Some((step.text.to_string(), outcome.text.to_string()))
}

/// Compares. `evaluate` gives the value of an expression over the context after the operation, or says why there is
/// none.
pub(super) fn compare(
    checks: &[Check],
    found: &Found,
    mut evaluate: impl FnMut(&Embedded) -> Result<Json, String>,
) -> Vec<Mismatch> {
    let mismatches = checks.iter().filter_map(|check| {
        let (key, expected, found) = judge(&check.want, found, &mut evaluate)?;
        Some(Mismatch { place: check.place.clone(), key, expected, found })
    });
    mismatches.collect()
}

/// Key, expected and found, unless the two agree.
type Verdict = Option<(String, Option<Value>, Option<Value>)>;

fn judge(
    want: &Want,
    found: &Found,
    evaluate: &mut impl FnMut(&Embedded) -> Result<Json, String>,
) -> Verdict {
    match want {
        Want::Text(aspect, expected) => {
            let text = found.text(*aspect);
            differ(
                aspect.key(),
                text == expected.as_deref(),
                expected.as_ref().map(to_value),
                text.map(to_value),
            )
        }
        Want::Value(expected) => {
            // `value: null` also says that there is none
            let agrees = match &found.value {
                Some(value) => value == expected,
                None => expected.root().is_null(),
            };
            differ("value", agrees, Some(to_value(expected)), found.value.as_ref().map(to_value))
        }
        Want::MessageContains(words) => {
            let text = found.text(Aspect::Message);
            let agrees = text.is_some_and(|text| words.iter().all(|word| text.contains(word.as_str())));
            differ("message_contains", agrees, Some(to_value(words)), text.map(to_value))
        }
        Want::MessageExcludes(words) => {
            let text = found.text(Aspect::Message).filter(|text| !text.is_empty());
            let agrees = text.is_some_and(|text| !words.iter().any(|word| text.contains(word.as_str())));
            differ("message_excludes", agrees, Some(to_value(words)), text.map(to_value))
        }
        Want::WaitsFor(expected) => {
            let waits_for = &found.waits_for;
            differ("waits_for", expected == waits_for, Some(to_value(expected)), Some(to_value(waits_for)))
        }
        Want::Notes(expected) => {
            let notes = &found.notes;
            differ("notes", expected == notes, Some(to_value(expected)), Some(to_value(notes)))
        }
        Want::Invoked(expected) => judge_invoked(expected, &found.invoked),
        Want::Trace(expected) => {
            differ("trace", *expected == found.trace, Some(to_value(expected)), Some(to_value(&found.trace)))
        }
        Want::Observed(expected) => {
            let (agrees, found) = expect_observed::judge(expected, &found.observed);
            differ("observed", agrees, Some(to_value(expected)), Some(found))
        }
        Want::Terms(expected) => {
            let (agrees, found) = expect_terms::judge(expected, &found.terms);
            differ("terms", agrees, Some(to_value(expected)), Some(found))
        }
        Want::Labels(of, expected) => {
            let labels = found.labels.labels_of(of);
            let key = expect_labels::called(of);
            differ(&key, labels.as_ref() == Some(expected), Some(to_value(expected)), labels.map(to_value))
        }
        Want::Exposes(expected) => {
            let agrees = found.exposes.as_ref() == Some(expected);
            differ("exposes", agrees, Some(to_value(expected)), found.exposes.as_ref().map(to_value))
        }
        Want::File(path, expected) => {
            let content = found.files.get(path);
            let key = format!("files.{path}");
            differ(&key, content == Some(expected), Some(to_value(expected)), content.map(to_value))
        }
        Want::Counter(expected) => {
            let called = expected.called();
            let amount =
                found.counted.iter().find(|(known, _)| *known == called).and_then(|(_, amount)| *amount);
            let number = |amount: Decimal| to_value(amount.to_double());
            let agrees = amount == Some(expected.amount);
            differ(&called, agrees, Some(number(expected.amount)), amount.map(number))
        }
        Want::ErrorAt(prefix) => judge_paths("error_at", prefix, Severity::Error, found),
        Want::WarnAt(prefix) => judge_paths("warn_at", prefix, Severity::Warning, found),
        Want::NoWarnings => {
            let paths = paths(found, Severity::Warning);
            differ("no_warnings", paths.is_empty(), None, Some(to_value(&paths)))
        }
        Want::Context(expr, expected) => {
            let (agrees, found) = match evaluate(expr) {
                Ok(value) => (value == *expected, to_value(&value)),
                Err(error) => (false, json!({ "error": error })),
            };
            differ(&expr.text, agrees, Some(to_value(expected)), Some(found))
        }
    }
}

fn judge_invoked(expected: &[(String, Option<Json>)], found: &[(String, Json)]) -> Verdict {
    let agrees = expected.len() == found.len()
        && expected.iter().zip(found).all(|((want, wanted), (function, input))| {
            want == function && wanted.as_ref().is_none_or(|wanted| wanted == input)
        });
    // only inputs that are compared are shown, so that the two sides are alike but for what differs
    let expected_side = expected.iter().map(|(function, input)| execution(function, input.as_ref()));
    let found_side = found.iter().enumerate().map(|(at, (function, input))| {
        let compared = expected.get(at).is_none_or(|(_, wanted)| wanted.is_some());
        execution(function, compared.then_some(input))
    });
    differ("invoked", agrees, Some(expected_side.collect()), Some(found_side.collect()))
}

fn execution(function: &str, input: Option<&Json>) -> Value {
    match input {
        Some(input) => json!({ "fn": function, "input": input }),
        None => json!({ "fn": function }),
    }
}

fn judge_paths(key: &str, prefix: &str, severity: Severity, found: &Found) -> Verdict {
    let paths = paths(found, severity);
    let agrees = paths.iter().any(|path| path.starts_with(prefix));
    differ(key, agrees, Some(to_value(prefix)), Some(to_value(&paths)))
}

fn paths(found: &Found, severity: Severity) -> Vec<&str> {
    let findings = found.diagnostics.iter().filter(|finding| finding.severity == severity);
    findings.map(|finding| finding.path.as_str()).collect()
}

fn differ(key: &str, agrees: bool, expected: Option<Value>, found: Option<Value>) -> Verdict {
    (!agrees).then(|| (key.to_owned(), expected, found))
}

/// Everything that is compared here is text, lists of text, or JSON already, so it has a JSON form.
fn to_value(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
