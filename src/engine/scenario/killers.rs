//! The cases that would notice what no case notices: found by trying other arguments.
//!
//! In: a change that survived, and the cases that come to it. Out: a [`KillingCase`], ready to be taken over: a case as it is, with other arguments, or another payload of a trigger's event, and the outcome that the policy
//! gives today. It is read again and run under both policies before it is offered, so it passes under the one as it is and does not under the changed one. Bounded by [`MAX_TRIES`]
//! for each change.

use super::case::{Aspect, Case, Manifests, TestedOperation};
use super::case_file::read;
use super::expect::Found;
use super::mutants::Mutant;
use super::report::CaseOutcome;
use super::run::{Compiled, Telling};
use crate::cel::{Expr, ExprKind, Json, Literal, parse};
use crate::limits::EngineLimits;
use crate::source::Source;
use crate::task::Call;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How many other arguments are tried for one change.
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
    call: String,
    expect: String,
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
        let Some(given) = case.operation.given() else { continue };
        let given: Value = serde_json::from_str(&given.to_string()).ok()?;
        for changed in variations(&given, &constants) {
            left = left.checked_sub(1)?;
            let Some(operation) = case.operation.with(&changed) else { continue };
            let tried = Case { operation, expect: Vec::new(), ..(*case).clone() };
            let (Some(was), Some(is)) = (compiled.found(&tried), mutated.found(&tried)) else { continue };
            let Some(expect) = difference(&was, &is) else { continue };
            let found = killing_case(case, mutant, &changed, &expect);
            if found.as_ref().is_some_and(|found| is_killer(found, case, compiled, mutated, limits)) {
                return found;
            }
        }
    }
    None
}

impl TestedOperation {
    /// What a call is given, or what a trigger is told: an object of which other values are tried.
    fn given(&self) -> Option<&Json> {
        match self {
            Self::Before(call) | Self::Invoke(call) => Some(&call.arguments),
            Self::Trigger { payload, .. } => Some(payload),
            _ => None,
        }
    }

    /// The same with other values.
    fn with(&self, given: &Value) -> Option<Self> {
        let arguments = || Json::from(given);
        match self {
            Self::Before(call) => Some(Self::Before(Call { arguments: arguments(), ..call.clone() })),
            Self::Invoke(call) => Some(Self::Invoke(Call { arguments: arguments(), ..call.clone() })),
            Self::Trigger { name, .. } => Some(Self::Trigger { name: name.clone(), payload: arguments() }),
            _ => None,
        }
    }

    /// `call` of a case that has these values.
    fn written(&self, given: &Value) -> Option<Value> {
        match self {
            Self::Before(call) | Self::Invoke(call) => {
                Some(json!({ "op": self.name(), "fn": call.function, "args": given }))
            }
            Self::Trigger { name: Some(name), .. } => {
                Some(json!({ "op": self.name(), "name": &*name.text, "payload": given }))
            }
            Self::Trigger { name: None, .. } => Some(json!({ "op": self.name(), "payload": given })),
            _ => None,
        }
    }
}

/// Whether the case, read again, passes under the policy as it is and not under the changed one.
fn is_killer(
    found: &KillingCase,
    base: &Case,
    compiled: &Compiled,
    mutated: &Compiled,
    limits: &EngineLimits,
) -> bool {
    let file = Path::new(base.name.place.source.name()).with_file_name("killer.yaml");
    let source = Source::new(file.display().to_string(), found.text("killer", Path::to_path_buf));
    let read = read(&source, limits);
    let [Ok(case)] = read.as_slice() else { return false };
    let passes = |under: &Compiled| {
        let outcome = under.outcome(case, Telling::Off, limits, &mut Vec::new());
        matches!(outcome, Ok(CaseOutcome::Passed))
    };
    passes(compiled) && !passes(mutated)
}

fn killing_case(case: &Case, mutant: &Mutant, given: &Value, expect: &Value) -> Option<KillingCase> {
    let Manifests::Files { agent, .. } = &case.manifests else { return None };
    let call = case.operation.written(given)?;
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
        call: call.to_string(),
        expect: expect.to_string(),
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

/// Arguments, or a payload, with one value changed: to a constant of its kind, or not there.
fn variations(given: &Value, constants: &[Value]) -> Vec<Value> {
    let Some(members) = given.as_object() else { return Vec::new() };
    let mut all = vec![given.clone()];
    for (name, value) in members {
        let fits = constants.iter().filter(|constant| {
            std::mem::discriminant(*constant) == std::mem::discriminant(value) && *constant != value
        });
        for constant in fits {
            let mut changed = members.clone();
            changed.insert(name.clone(), constant.clone());
            all.push(changed.into());
        }
        if let Value::Bool(value) = value {
            let mut changed = members.clone();
            changed.insert(name.clone(), (!value).into());
            all.push(changed.into());
        }
        let mut without = members.clone();
        without.remove(name);
        all.push(without.into());
    }
    all
}
