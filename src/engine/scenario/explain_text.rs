//! An explanation as people read it: a line for each step, and below it what its expressions came to.
//!
//! In: an operation that was explained. Out: text. Of steps that passed a line is all unless they are asked for; of the others the expressions are
//! shown as trees, each part with its value, and a mark at those of which the result came.

use super::explain::ExplainedOperation;
use super::terminal::{Palette, visible};
use crate::explained::{ExplainedPart, PartOutcome};
use crate::manifest::exception::PolicyException;
use crate::task::{ExplainedExpression, ExplainedStep, StepEnding};
use std::fmt::Write as _;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Expressions of the steps that did not pass.
    OfOthers,
    /// Those of all steps.
    OfAll,
}

impl ExplainedOperation {
    /// The explanation for a person.
    #[must_use]
    pub fn render(&self, detail: Detail, palette: &Palette) -> String {
        let Palette { green, red, bold, dim, reset, .. } = palette;
        let mut text = String::new();
        let color = if self.went_on() { green } else { red };
        let decision = self.decision.as_deref().unwrap_or("-");
        let said = self.message.as_deref().map(visible).unwrap_or_default();
        let _ = writeln!(
            text,
            "{dim}{}.{reset} {bold}{}{reset}  {color}{decision}{reset}  {said}",
            self.number,
            visible(&self.called)
        );
        for (position, step) in (1_usize..).zip(&self.explanation.steps) {
            text.push_str(&render_step(position, step, detail, palette));
        }
        // what goes on in spite of a binding that has no value yet needs no word about it
        let is_told = |expression: &&ExplainedExpression| {
            detail == Detail::OfAll || (!self.went_on() && failed(&expression.tree))
        };
        let mut told: Vec<&ExplainedExpression> = Vec::new();
        for expression in self.explanation.expressions.iter().filter(is_told) {
            if told.contains(&expression) {
                continue;
            }
            told.push(expression);
            let _ = writeln!(text, "  {dim}{}{reset}", expression.origin.path);
            text.push_str(&render_tree(&expression.tree, "    ", palette));
        }
        text.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n")
    }
}

fn failed(part: &ExplainedPart) -> bool {
    matches!(part.outcome, PartOutcome::Failed | PartOutcome::FailedBelow)
}

/// One step.
#[must_use]
pub fn render_step(position: usize, step: &ExplainedStep, detail: Detail, palette: &Palette) -> String {
    let Palette { green, red, yellow, dim, reset, .. } = palette;
    let (color, word) = match step.outcome {
        StepEnding::Pass => (*green, "pass"),
        StepEnding::Fail => (*red, "fail"),
        StepEnding::Suspend => (*yellow, "suspend"),
        StepEnding::Skipped => (*dim, "skipped"),
        StepEnding::Observed => (*yellow, "observed"),
        StepEnding::NotReached => (*dim, "not reached"),
    };
    let why = step.skipped.map(|reason| format!("  {}", reason.describe())).unwrap_or_default();
    let function = step.function.as_ref().map(|function| format!(" {function}")).unwrap_or_default();
    let at = format!("{}:{}:{}", step.origin.file, step.origin.line, step.origin.column);
    let mut text = format!(
        "  {dim}{position:>2}{reset} {color}{word:<11}{reset} {}{function}{why}  {dim}{at}{reset}\n",
        step.called()
    );
    let is_shown = match (detail, step.outcome) {
        (Detail::OfAll, _) | (_, StepEnding::Fail | StepEnding::Suspend) => true,
        (Detail::OfOthers, StepEnding::Skipped) => step.skipped == Some(crate::task::SkipReason::Condition),
        (Detail::OfOthers, StepEnding::Pass | StepEnding::Observed | StepEnding::NotReached) => false,
    };
    for expression in step.expressions.iter().filter(|_| is_shown) {
        text.push_str(&render_expression(expression, palette));
    }
    if let Some(exception) = &step.exception {
        let PolicyException { path, until, reason } = &**exception;
        let said = visible(&format!("{path}, until {until}: {reason}"));
        let _ = writeln!(text, "              {dim}by the exception{reset}  {said}");
    }
    for suggestion in &step.why_not {
        let _ = writeln!(text, "              {dim}would pass{reset}  {}", visible(&suggestion.text));
    }
    text
}

fn render_expression(expression: &ExplainedExpression, palette: &Palette) -> String {
    let Palette { dim, reset, .. } = palette;
    let key = &expression.key;
    let mut lines = render_tree(&expression.tree, "", palette);
    let indent = " ".repeat(key.chars().count().saturating_add(16));
    lines = lines.lines().enumerate().fold(String::new(), |all, (at, line)| {
        let head = if at == 0 { format!("              {dim}{key}{reset}  ") } else { indent.clone() };
        all + &head + line + "\n"
    });
    lines
}

/// An expression as the tree of its parts, each line with its line break and `indent` in front.
#[must_use]
pub fn render_tree(part: &ExplainedPart, indent: &str, palette: &Palette) -> String {
    let mut text = format!("{indent}{}\n", line(part, palette));
    below(&mut text, part, indent, palette);
    text
}

/// The parts of a part; `stem` stands before each line.
fn below(text: &mut String, part: &ExplainedPart, stem: &str, palette: &Palette) {
    let Palette { dim, reset, .. } = palette;
    for (index, inner) in (1..).zip(&part.parts) {
        let (branch, gap) = if index == part.parts.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        text.push_str(&format!("{dim}{stem}{branch}{reset}{}\n", line(inner, palette)));
        below(text, inner, &format!("{stem}{gap}"), palette);
    }
}

fn line(part: &ExplainedPart, palette: &Palette) -> String {
    let Palette { green, red, yellow, bold, dim, reset } = palette;
    let text = visible(&part.text);
    let found = part.found.as_deref().unwrap_or_default();
    // the smallest part that decides is where to look
    let is_last = part.parts.iter().all(|inner| !inner.decides || inner.truth().is_none());
    let mark = if part.decides && is_last && part.truth().is_some() {
        format!("  {yellow}◄{reset}")
    } else {
        String::new()
    };
    match part.outcome {
        PartOutcome::Value if found == text => format!("{bold}{found}{reset}"),
        PartOutcome::Value if found == "true" => format!("{text}  {dim}={reset} {green}{found}{reset}{mark}"),
        PartOutcome::Value => format!("{text}  {dim}={reset} {bold}{found}{reset}{mark}"),
        PartOutcome::Failed => format!("{text}  {red}fails: {found}{reset}"),
        PartOutcome::FailedBelow => format!("{text}  {red}fails, as below{reset}"),
        PartOutcome::Asks => format!("{text}  {yellow}waits for an answer{reset}"),
        PartOutcome::Skipped => format!("{dim}{text}  not evaluated{reset}"),
        PartOutcome::Round => format!("{dim}for{reset} {text}"),
        PartOutcome::Rounds if found == "1" => format!("{dim}… and 1 more round{reset}"),
        PartOutcome::Rounds => format!("{dim}… and {found} more rounds{reset}"),
        PartOutcome::Cut => format!("{dim}… nothing more is shown{reset}"),
    }
}
