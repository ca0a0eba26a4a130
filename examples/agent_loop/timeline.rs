//! The timeline: what happened, what was decided and why, as text for people and as rows for whoever checks it.

use celador::task::{LimitReached, StepOutcome};
use celador::{Decision, Json, Offer, Review, Task, Timestamp, VerdictKind};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What a runtime wrote down.
#[derive(Default)]
pub struct Timeline {
    /// What people read.
    pub text: String,
    /// Task, what happened, what was decided.
    pub rows: Vec<(String, String, VerdictKind)>,
    /// The agents whose prompts were shown.
    shown: BTreeSet<String>,
}

impl Timeline {
    /// A new part of the story.
    pub fn headline(&mut self, text: &str) {
        let _ = writeln!(self.text, "── {text}\n");
    }

    /// What the model is shown, the first time that it has a turn as an agent.
    pub fn turn(&mut self, task: &Task, prompt: &str, offers: &[Offer<'_>], now: Timestamp) {
        if !self.shown.insert(task.context().start().agent.to_string()) {
            return;
        }
        self.line(task, "the model reads its prompt", now);
        for line in prompt.lines() {
            self.below("", line);
        }
        for Offer { name, description, schema, .. } in offers {
            self.below("offers", &format!("{name}: {}", description.unwrap_or_default()));
            self.below("", &schema.to_string());
        }
        self.text.push('\n');
    }

    /// A decision, with what ran on the way and what explains it.
    pub fn decision(&mut self, task: &Task, what: &str, decision: &Decision, ran: &[String], now: Timestamp) {
        self.rows.push((task.id().to_owned(), what.to_owned(), decision.verdict.kind()));
        self.line(task, what, now);
        let said = decision.verdict.message().unwrap_or_default();
        self.below(decision.verdict.kind().as_str(), said);
        if let Some(reviewer) = decision.verdict.reviewer() {
            self.below("reviewer", reviewer);
        }
        if let Some(limit) = decision.verdict.limit() {
            let LimitReached { which, bound, value, .. } = limit;
            self.below("limit", &format!("{which} is {bound}, this would be {value}"));
        }
        if let Some(stage) = &decision.verdict.stage() {
            self.below("stage", stage.as_str());
        }
        for ran in ran {
            self.below("ran", ran);
        }
        if let Some(value) = decision.verdict.value() {
            self.below("value", &value.to_string());
        }
        if let Some(origin) = &decision.decided_by {
            self.below("by", &origin.to_string());
        }
        let steps = decision.trace.iter().map(|entry| match entry.outcome {
            StepOutcome::Pass => entry.step.to_string(),
            outcome => format!("{} {}", entry.step, outcome.as_str()),
        });
        let steps: Vec<String> = steps.collect();
        if !steps.is_empty() {
            self.below("steps", &steps.join(", "));
        }
        for finding in &decision.findings {
            self.below("note", &finding.message);
        }
        self.text.push('\n');
    }

    /// Who is asked while a task rests.
    pub fn reviews(&mut self, task: &Task, open: &[Review], now: Timestamp) {
        if open.is_empty() {
            return;
        }
        self.line(task, "rests until people have answered", now);
        for Review { reviewer, function, arguments, text, .. } in open {
            let function = function.as_deref().unwrap_or_default();
            let arguments = arguments.as_ref().map(Json::to_string).unwrap_or_default();
            self.below("asks", &format!("{reviewer}: {function} {arguments}"));
            self.below("", text.as_deref().unwrap_or_default());
        }
        self.text.push('\n');
    }

    fn line(&mut self, task: &Task, what: &str, now: Timestamp) {
        let agent = &task.context().start().agent;
        let _ = writeln!(self.text, "{now}  {} {agent}  {what}", task.id());
    }

    fn below(&mut self, label: &str, what: &str) {
        let line = format!("  {label:<10}{what}");
        let _ = writeln!(self.text, "{}", line.trim_end());
    }
}
