//! An evaluated expression as a tree of texts, for people and for programs.
//!
//! In: the recording of an evaluation, and which of its values may be shown. Out: [`ExplainedPart`]s, plain data that outlives the evaluation. Texts are cut
//! where they are long and the number of parts is bounded, so that an explanation of whatever expression can be sent on.

use crate::cel::{CameTo, EvaluatedPart, Expr, ExprKind, Recording, Value};
use crate::context::MASK;
use crate::source::Span;
use serde::{Deserialize, Serialize};

/// Parts of one explanation.
const MAX_PARTS: usize = 400;
/// Characters of a part's text, and of its value.
const MAX_TEXT: usize = 100;

/// A part of an expression, with what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedPart {
    /// Its text on one line; of a round of a loop, its variables with their values.
    pub text: String,
    /// What came of it.
    pub outcome: PartOutcome,
    /// Its value as CEL text, cut where it is long, or why there is none. `***` where it may show a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Whether the result of the whole came of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub decides: bool,
    /// The parts that it is made of, in the order in which they are evaluated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What came of a part of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PartOutcome {
    /// It has a value.
    Value,
    /// It failed, itself.
    Failed,
    /// It failed because a part of it did.
    FailedBelow,
    /// Somebody has to answer first.
    Asks,
    /// The evaluation did not come to it.
    Skipped,
    /// A round of a loop.
    Round,
    /// Rounds of a loop that are not told one by one; `found` is their number.
    Rounds,
    /// There is more that is not told.
    Cut,
}

impl ExplainedPart {
    /// The explanation of an expression. `is_secret` says of a part whether its value may show a secret; a truth shows none.
    #[must_use]
    pub fn of(
        recording: &Recording<'_>,
        source: &str,
        expression: &Expr,
        is_secret: &dyn Fn(&Expr) -> bool,
    ) -> Self {
        let is_open = !is_secret(expression);
        let mut telling = Telling { source, expression, is_secret, is_open, left: MAX_PARTS };
        telling.part(&recording.tree())
    }

    fn new(text: String, outcome: PartOutcome, found: Option<String>) -> Self {
        Self { text, outcome, found, decides: false, parts: Vec::new() }
    }

    /// Whether its value is a truth, and which.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match (self.outcome, self.found.as_deref()) {
            (PartOutcome::Value, Some("true")) => Some(true),
            (PartOutcome::Value, Some("false")) => Some(false),
            _ => None,
        }
    }

    /// The smallest parts of which the result came, in order.
    #[must_use]
    pub fn deciding(&self) -> Vec<&Self> {
        let inner: Vec<&Self> = self
            .parts
            .iter()
            .filter(|part| part.decides && part.is_decision())
            .flat_map(Self::deciding)
            .collect();
        if inner.is_empty() { vec![self] } else { inner }
    }

    /// Whether it is true or false, or one of those in a loop.
    fn is_decision(&self) -> bool {
        self.truth().is_some()
            || matches!(self.outcome, PartOutcome::Failed | PartOutcome::FailedBelow | PartOutcome::Asks)
            || (self.outcome == PartOutcome::Round && self.parts.iter().any(Self::is_decision))
    }
}

/// The telling of one expression.
struct Telling<'t> {
    source: &'t str,
    expression: &'t Expr,
    is_secret: &'t dyn Fn(&Expr) -> bool,
    /// Whether nothing of it reads a secret.
    is_open: bool,
    left: usize,
}

impl Telling<'_> {
    fn part(&mut self, part: &EvaluatedPart<'_>) -> ExplainedPart {
        let Some(left) = self.left.checked_sub(1) else {
            return ExplainedPart::new(String::new(), PartOutcome::Cut, None);
        };
        self.left = left;
        let text = || one_line(self.source.get(part.span.range()).unwrap_or_default());
        let mut told = match &part.came_to {
            CameTo::Value(value) => {
                ExplainedPart::new(text(), PartOutcome::Value, Some(self.shown(value, part.span)))
            }
            CameTo::Failed(error) => ExplainedPart::new(text(), PartOutcome::Failed, Some(error.to_string())),
            CameTo::FailedBelow => ExplainedPart::new(text(), PartOutcome::FailedBelow, None),
            CameTo::Asked => ExplainedPart::new(text(), PartOutcome::Asks, None),
            CameTo::Skipped => ExplainedPart::new(text(), PartOutcome::Skipped, None),
            CameTo::Round(variables) => {
                ExplainedPart::new(self.variables(variables, part.span), PartOutcome::Round, None)
            }
            CameTo::Rounds(count) => {
                ExplainedPart::new(String::new(), PartOutcome::Rounds, Some(count.to_string()))
            }
            CameTo::Cut => ExplainedPart::new(String::new(), PartOutcome::Cut, None),
        };
        told.decides = part.decides;
        for inner in &part.parts {
            let inner = self.part(inner);
            let is_cut = inner.outcome == PartOutcome::Cut;
            told.parts.push(inner);
            if is_cut {
                break;
            }
        }
        told
    }

    fn shown(&self, value: &Value<'_>, span: Span) -> String {
        let reads_secret = || part_at(self.expression, span).is_none_or(|part| (self.is_secret)(part));
        let is_open = self.is_open || matches!(value, Value::Bool(_)) || !reads_secret();
        if is_open { value.shown(MAX_TEXT) } else { MASK.to_owned() }
    }

    /// The variables of a round with their values. What a loop goes through may hold a secret wherever the expression as a whole reads one.
    fn variables(&self, values: &[Option<Value<'_>>; 2], span: Span) -> String {
        let names = names_of_loop(self.expression, span);
        let named = values.iter().enumerate().filter_map(|(position, value)| {
            let value = value.as_ref()?;
            let name = names.get(position).map_or("…", String::as_str);
            let shown = if self.is_open { value.shown(MAX_TEXT) } else { MASK.to_owned() };
            Some(format!("{name} = {shown}"))
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

/// The part of an expression that has these characters, and no variable of a loop around it; nothing if there is none.
fn part_at(expression: &Expr, span: Span) -> Option<&Expr> {
    if expression.span == span {
        return Some(expression);
    }
    // what reads a variable of a loop cannot be judged by itself
    let is_loop = matches!(
        expression.kind,
        ExprKind::Comprehension(_) | ExprKind::Bind { .. } | ExprKind::Block { .. } | ExprKind::OptMap { .. }
    );
    if is_loop {
        return Some(expression);
    }
    let mut found = None;
    expression.for_each_part(&mut |part| {
        if found.is_none() && part.span.start <= span.start && span.end <= part.span.end {
            found = Some(part);
        }
    });
    part_at(found?, span)
}

/// The names of the variables of the first loop in the part that has these characters.
fn names_of_loop(expression: &Expr, span: Span) -> Vec<String> {
    let mut names = Vec::new();
    let within = |inner: Span| span.start <= inner.start && inner.end <= span.end;
    if let ExprKind::Comprehension(comprehension) = &expression.kind
        && within(expression.span)
    {
        let variables = std::iter::once(&comprehension.variable).chain(&comprehension.second);
        return variables.map(|name| name.text.clone()).collect();
    }
    expression.for_each_part(&mut |part| {
        if names.is_empty() {
            names = names_of_loop(part, span);
        }
    });
    names
}

/// Text without its line breaks, cut where it is too long.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
