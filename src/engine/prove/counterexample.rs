//! A task that breaks an invariant: call by call, and as a case.
//!
//! In: the calls that were made. Out: JSON, and the text of a case file whose story has each decision as it is. So the case passes as long as the
//! invariant is broken in this way, and shows where to change the expectation once it is not.

use super::Invariant;
use super::play::{Made, name};
use crate::candidates::MESSAGE;
use crate::manifest::brought::BroughtTool;
use crate::task::VerdictKind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A task that breaks an invariant, run through the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The agent: `namespace/name`.
    pub agent: String,
    /// The user, as `env.user` of a case has it: `id`, `email` and `claims`.
    pub user: Value,
    /// The tools that the task brings, as `env.tools` of a case has them.
    pub tools: Vec<BroughtTool>,
    /// The first input: `message` and parameters.
    pub input: Value,
    /// What counters held at the beginning, as `counters` of a case has it; nothing if all were empty.
    pub counters: Option<Value>,
    /// The results of functions that steps invoke.
    pub invoked: BTreeMap<String, Value>,
    /// The calls, in order; behind the last one the invariant is false. Without one it is false from the beginning.
    pub made: Vec<Made>,
}

impl Counterexample {
    /// As JSON: `user`, `tools`, `input` and `counters` where they are not the simplest ones, and `calls`, each with `fn`, `args`, `reviews`, `verdict`, `ran_with`, `result`, `result_verdict`, and
    /// `late` for a result that came behind all calls.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let calls = self.made.iter().map(|made| {
            let reviews =
                made.reviews.iter().map(|(who, approved)| json!({ "reviewer": who, "approved": approved }));
            json!({
                "fn": made.function,
                "args": made.arguments,
                "reviews": reviews.collect::<Vec<_>>(),
                "verdict": made.verdict,
                "ran_with": made.ran_with,
                "result": made.result,
                "result_verdict": made.result_verdict,
                "late": made.is_late,
            })
        });
        let mut shown = json!({ "user": self.user, "calls": calls.collect::<Vec<_>>() });
        if let Some(members) = shown.as_object_mut() {
            let input = Some(&self.input).filter(|input| **input != json!({ "message": MESSAGE }));
            let tools = Some(json!(self.tools)).filter(|_| !self.tools.is_empty());
            members.extend(tools.map(|tools| ("tools".to_owned(), tools)));
            members.extend(input.map(|input| ("input".to_owned(), input.clone())));
            members.extend(self.counters.iter().map(|counters| ("counters".to_owned(), counters.clone())));
        }
        shown
    }

    /// The text of a case file of this name, with manifests by these paths.
    #[must_use]
    pub fn case(&self, name: &str, invariant: &Invariant, manifests: &[String]) -> String {
        let sentence =
            invariant.text.as_ref().map_or_else(|| invariant.always.text.clone(), |text| text.text.clone());
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        let about = format!("Breaks the invariant {}: {sentence}", invariant.id.text);
        let agent = self.agent.rsplit('/').next().unwrap_or(&self.agent);
        let mut text = String::from(
            "# Each decision stands here as it is, so this case passes as long as the invariant is broken in this way.\n\
             # Once the policies are repaired, write what is decided then.\n",
        );
        let line = |key: &str, value: &Value| format!("{key}: {value}\n");
        text.push_str(&format!("name: {name}\n"));
        text.push_str(&line("about", &about.into()));
        text.push_str(&line("manifest", &json!({ "files": manifests, "agent": agent })));
        let mut environment = json!({ "user": self.user });
        if let Some(members) = environment.as_object_mut().filter(|_| !self.tools.is_empty()) {
            members.insert("tools".to_owned(), json!(self.tools));
        }
        text.push_str(&line("env", &environment));
        if let Some(counters) = &self.counters {
            text.push_str(&line("counters", counters));
        }
        if !self.invoked.is_empty() {
            let mocks = self
                .invoked
                .iter()
                .map(|(function, output)| (function.clone(), json!([{ "output": output }])));
            text.push_str(&line("mocks", &Value::Object(mocks.collect::<Map<_, _>>())));
        }
        text.push_str("story:\n");
        let mut step = |step: Value, expect: Value| {
            let mut lines =
                step.as_object().into_iter().flatten().chain(expect.as_object().into_iter().flatten());
            if let Some((key, value)) = lines.next() {
                let _ = writeln!(text, "  - {key}: {value}");
            }
            for (key, value) in lines {
                let _ = writeln!(text, "    {key}: {value}");
            }
        };
        step(json!({ "input": self.input }), json!({ "expect": { "decision": "allow" } }));
        for (at, made) in self.made.iter().enumerate() {
            steps_of(at, made, &mut step);
            if !made.is_late {
                step_of_result(at, made, &mut step);
            }
        }
        for (at, made) in self.made.iter().enumerate().filter(|(_, made)| made.is_late) {
            step_of_result(at, made, &mut step);
        }
        text
    }
}

/// The steps of a call: that it is made, and what those say who are asked.
fn steps_of(at: usize, made: &Made, step: &mut impl FnMut(Value, Value)) {
    let id = name(at);
    let decided = || {
        let mut expect = json!({ "decision": made.verdict });
        if let (Some(value), Some(members)) = (&made.ran_with, expect.as_object_mut()) {
            members.insert("value".to_owned(), value.clone());
        }
        json!({ "expect": expect })
    };
    let asks = |who: &str| json!({ "expect": { "decision": VerdictKind::Suspend, "reviewer": who } });
    let first = made.reviews.first().map_or_else(decided, |(who, _)| asks(who));
    step(json!({ "call": { "id": id, "fn": made.function, "args": made.arguments } }), first);
    for (at, (_, approved)) in made.reviews.iter().enumerate() {
        let next = made.reviews.get(at.saturating_add(1)).map_or_else(decided, |(who, _)| asks(who));
        let verdict = if *approved { "approved" } else { "denied" };
        step(json!({ "review": { "call": id, "verdict": verdict } }), next);
    }
}

/// The step of the result of a call, if it has one.
fn step_of_result(at: usize, made: &Made, step: &mut impl FnMut(Value, Value)) {
    let id = name(at);
    let Some(result) = made.result.as_ref().filter(|_| !made.is_evaluated) else { return };
    let verdict = json!({ "expect": { "decision": made.result_verdict } });
    let result = match result {
        Value::Null => json!({ "id": id, "status": "errored" }),
        output => json!({ "id": id, "output": output }),
    };
    step(json!({ "result": result }), verdict);
}
