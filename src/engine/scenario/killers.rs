//! The cases that would notice what no case notices: found by trying other values.
//!
//! In: a change that survived, and the cases that come to it. Out: a [`KillingCase`], ready to be taken over: a case as it is, with other arguments, another result, message or payload of a trigger's event, and the outcome that the policy
//! gives today. It is read again and run under both policies before it is offered, so it passes under the one as it is and does not under the changed one. Bounded by [`MAX_TRIES`]
//! for each change.

use super::case::{Aspect, Case, Manifests, TestedOperation};
use super::case_file::read;
use super::expect::Found;
use super::mutants::Mutant;
use super::report::CaseOutcome;
use super::run::{Compiled, Telling};
use crate::cel::{Expr, ExprKind, Literal, parse};
use crate::limits::EngineLimits;
use crate::manifest::node::Node;
use crate::source::Source;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How many other values are tried for one change.
const MAX_TRIES: usize = 120;

/// The keys that are written anew, or are about other things than the operation.
const REPLACED: [&str; 7] = ["name", "about", "requirements", "manifest", "call", "expect", "resume"];

/// A case that would notice a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillingCase {
    /// What it has of the case that it was made of, by key.
    kept: Vec<(String, Value)>,
    /// The manifests, by the ways from where the command runs.
    manifests: Vec<PathBuf>,
    agent: String,
    about: String,
    call: Value,
    expect: Value,
}

impl KillingCase {
    /// The text of its file, which has the name of the case. `way` leads from the folder of that file to a manifest.
    #[must_use]
    pub fn text(&self, name: &str, way: impl Fn(&Path) -> PathBuf) -> String {
        let files: Vec<String> = self.manifests.iter().map(|path| way(path).display().to_string()).collect();
        let manifest = json!({ "files": files, "agent": self.agent });
        let mut text =
            format!("name: {name}\nabout: {}\nmanifest: {manifest}\n", Value::from(self.about.as_str()));
        self.kept.iter().for_each(|(key, value)| text.push_str(&written(key, value)));
        text.push_str(&format!("call: {}\nexpect: {}\n", self.call, self.expect));
        text
    }

    /// The case, as whoever takes over the text would have it beside the one that it was made of.
    fn read(&self, base: &Case, limits: &EngineLimits) -> Option<Case> {
        let file = Path::new(base.name.place.source.name()).with_file_name("killer.yaml");
        let source = Source::new(file.display().to_string(), self.text("killer", Path::to_path_buf));
        read(&source, limits).pop()?.ok()
    }
}

/// A key with its value, one item of a list on each line.
fn written(key: &str, value: &Value) -> String {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: String = items.iter().map(|item| format!("  - {item}\n")).collect();
            format!("{key}:\n{items}")
        }
        value => format!("{key}: {value}\n"),
    }
}

/// Looks for a case that would notice a change that no case notices.
pub(super) fn killer(
    mutant: &Mutant,
    compiled: &Compiled,
    mutated: &Compiled,
    cases: &[&Case],
    limits: &EngineLimits,
) -> Option<KillingCase> {
    let constants = constants(mutant, compiled, limits);
    let mut left = MAX_TRIES;
    for case in cases.iter().filter(|case| case.resume.is_empty()) {
        let Some(key) = case.operation.varied_key() else { continue };
        let Some(call) = case.written.get("call").map(Node::to_json) else { continue };
        let given = call.get(key).cloned().unwrap_or_else(|| json!({}));
        for changed in variations(&given, &constants) {
            left = left.checked_sub(1)?;
            let mut call = call.clone();
            call.as_object_mut()?.insert(key.to_owned(), changed);
            let Some(mut found) = killing_case(case, mutant, call) else { continue };
            let Some(tried) = found.read(case, limits) else { continue };
            let (Some(was), Some(is)) = (compiled.found(&tried), mutated.found(&tried)) else { continue };
            let Some(expect) = difference(&was, &is) else { continue };
            found.expect = expect;
            if found.read(case, limits).is_some_and(|case| is_killer(&case, compiled, mutated, limits)) {
                return Some(found);
            }
        }
    }
    None
}

impl TestedOperation {
    /// The key of `call` under which other values are tried.
    const fn varied_key(&self) -> Option<&'static str> {
        match self {
            Self::Before(_) | Self::Invoke(_) => Some("args"),
            Self::After(..) | Self::Output(_) => Some("output"),
            Self::Input(_) => Some("input"),
            Self::Trigger { .. } => Some("payload"),
            _ => None,
        }
    }
}

/// Whether a case passes under the policy as it is and not under the changed one.
fn is_killer(case: &Case, compiled: &Compiled, mutated: &Compiled, limits: &EngineLimits) -> bool {
    let passes = |under: &Compiled| {
        let outcome = under.outcome(case, Telling::Off, limits, &mut Vec::new());
        matches!(outcome, Ok(CaseOutcome::Passed))
    };
    passes(compiled) && !passes(mutated)
}

/// The case with another `call`; what is expected of it is not known yet.
fn killing_case(case: &Case, mutant: &Mutant, call: Value) -> Option<KillingCase> {
    let Manifests::Files { agent, .. } = &case.manifests else { return None };
    Some(KillingCase {
        kept: case
            .written
            .as_mapping()
            .unwrap_or_default()
            .iter()
            .filter(|entry| !REPLACED.contains(&&*entry.key.text))
            .map(|entry| (entry.key.text.to_string(), entry.value.to_json()))
            .collect(),
        manifests: case.manifest_paths(),
        agent: agent.text.to_string(),
        about: format!("Notices if in {} {}.", mutant.path, mutant.about),
        call,
        // a case expects something; this is replaced by what the policy gives
        expect: json!({ "decision": "allow" }),
    })
}

/// What to expect, if two outcomes differ in it.
fn difference(was: &Found, is: &Found) -> Option<Value> {
    let mut expect = json!({ "decision": was.text(Aspect::Decision)? });
    let mut differs = was.text(Aspect::Decision) != is.text(Aspect::Decision);
    for aspect in [Aspect::Message, Aspect::Reviewer, Aspect::Reason] {
        if was.text(aspect) != is.text(aspect) {
            differs = true;
            expect.as_object_mut()?.insert(aspect.key().to_owned(), was.text(aspect).into());
        }
    }
    let shown = |found: &Found| found.value.as_ref().map(ToString::to_string);
    if shown(was) != shown(is) {
        differs = true;
        let value = shown(was).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        expect.as_object_mut()?.insert("value".to_owned(), value);
    }
    differs.then_some(expect)
}

/// The constants of the expressions of the changed step, and those near to them.
fn constants(mutant: &Mutant, compiled: &Compiled, limits: &EngineLimits) -> Vec<Value> {
    let mut found = Vec::new();
    let changed: Vec<_> = mutant.steps().collect();
    for list in compiled.catalog.step_lists() {
        let of_change = list.steps.iter().filter(|step| {
            changed.iter().any(|place| place.source.same(&step.place.source) && place.span == step.place.span)
        });
        for text in of_change.flat_map(|step| step.expressions()) {
            if let Ok(expression) = parse(&text.text, &limits.eval) {
                literals(&expression, &mut found);
            }
        }
    }
    found.dedup();
    found
}

fn literals(expression: &Expr, found: &mut Vec<Value>) {
    if let ExprKind::Literal(literal) = &expression.kind {
        match literal {
            Literal::Int(number) => {
                found.extend([-1, 0, 1].iter().filter_map(|by| number.checked_add(*by)).map(Value::from));
            }
            Literal::Double(number) => found.extend([-0.01, 0.0, 0.01].map(|by| json!(number + by))),
            Literal::String(text) => found.extend([text.clone(), format!("{text}~")].map(Value::from)),
            _ => {}
        }
    }
    expression.for_each_part(&mut |part| literals(part, found));
}

/// The longest text that is tried for its length alone.
const MAX_FILLER: u64 = 1_000;

/// Values near to one that is given: of an object those with one member changed or not there, of a text other texts.
fn variations(given: &Value, constants: &[Value]) -> Vec<Value> {
    let mut all = vec![given.clone()];
    let Some(members) = given.as_object() else {
        all.extend(others(given, constants));
        return all;
    };
    for (name, value) in members {
        let with = |value: Value| {
            let mut changed = members.clone();
            changed.insert(name.clone(), value);
            Value::Object(changed)
        };
        all.extend(others(value, constants).map(with));
        let mut without = members.clone();
        without.remove(name);
        all.push(without.into());
    }
    all
}

/// Other values in the place of one: the constants of its kind, the other truth, texts of the lengths that constants are.
fn others<'c>(value: &'c Value, constants: &'c [Value]) -> impl Iterator<Item = Value> + 'c {
    let fits = constants.iter().filter(move |constant| {
        std::mem::discriminant(*constant) == std::mem::discriminant(value) && *constant != value
    });
    let lengths = constants.iter().filter_map(Value::as_u64).filter(|_| value.is_string());
    let fillers = lengths
        .filter(|length| (1..=MAX_FILLER).contains(length))
        .filter_map(|length| Some(Value::from("x".repeat(usize::try_from(length).ok()?))));
    fits.cloned().chain(value.as_bool().map(|truth| (!truth).into())).chain(fillers)
}
