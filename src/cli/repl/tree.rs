//! An explanation: the parts of an expression with what came of each, as data, as text and as JSON.
//!
//! As text a part is a line, and its parts stand indented below it.

use celador::scenario::Palette;
use serde_json::json;

/// A part with what came of it.
pub(super) struct Node {
    /// Its text on one line; of a round, the variables.
    pub(super) text: String,
    pub(super) outcome: Outcome,
    pub(super) parts: Vec<Self>,
}

/// What came of a part.
pub(super) enum Outcome {
    Value {
        text: String,
        /// What decides about other parts, if it is a `bool` or an optional.
        answer: Option<bool>,
    },
    /// It failed, itself.
    Failed(String),
    /// It failed because a part of it did.
    Passed,
    /// The host would have to answer.
    Asks(String),
    /// A run does not come to it.
    Skipped,
    /// A round of a loop, or the part of an expression in which a variable is known.
    Round,
    /// So many rounds that are not shown.
    Rounds(usize),
    /// Nothing more is shown.
    Cut,
}

impl Node {
    pub(super) fn new(text: impl Into<String>, outcome: Outcome) -> Self {
        Self { text: text.into(), outcome, parts: Vec::new() }
    }

    /// What it says to the parts around it.
    pub(super) fn answer(&self) -> Option<bool> {
        match self.outcome {
            Outcome::Value { answer, .. } => answer,
            _ => None,
        }
    }

    pub(super) fn has_value(&self) -> bool {
        matches!(self.outcome, Outcome::Value { .. })
    }

    /// Whether a run stops here, whatever stands around it.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.outcome, Outcome::Asks(_) | Outcome::Cut)
    }

    /// Whether it failed or, for a round, one of its parts.
    pub(super) fn failed(&self) -> bool {
        match self.outcome {
            Outcome::Failed(_) | Outcome::Passed => true,
            Outcome::Round => self.parts.iter().any(Self::failed),
            _ => false,
        }
    }

    /// The tree for a program.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let (outcome, found) = match &self.outcome {
            Outcome::Value { text, .. } => ("value", Some(text.clone())),
            Outcome::Failed(error) => ("failed", Some(error.clone())),
            Outcome::Passed => ("failed_below", None),
            Outcome::Asks(question) => ("asks", Some(question.clone())),
            Outcome::Skipped => ("skipped", None),
            Outcome::Round => ("round", None),
            Outcome::Rounds(count) => ("rounds", Some(count.to_string())),
            Outcome::Cut => ("cut", None),
        };
        let parts: Vec<_> = self.parts.iter().map(Self::to_json).collect();
        json!({ "text": self.text, "outcome": outcome, "found": found, "parts": parts })
    }
}

/// The lines of an explanation, each with its line break.
pub(super) fn render(node: &Node, palette: &Palette) -> String {
    let mut text = line(node, palette) + "\n";
    below(&mut text, node, "", palette);
    text
}

/// The parts of a node; `stem` stands before each line.
fn below(text: &mut String, node: &Node, stem: &str, palette: &Palette) {
    let Palette { dim, reset, .. } = palette;
    for (index, part) in (1..).zip(&node.parts) {
        let (branch, gap) = if index == node.parts.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        text.push_str(&format!("{dim}{stem}{branch}{reset}{}\n", line(part, palette)));
        below(text, part, &format!("{stem}{gap}"), palette);
    }
}

fn line(node: &Node, palette: &Palette) -> String {
    let Palette { green, red, yellow, bold, dim, reset } = palette;
    let shown = &node.text;
    match &node.outcome {
        // a constant says so itself
        Outcome::Value { text, .. } if text == shown => format!("{bold}{text}{reset}"),
        Outcome::Value { text, answer: Some(true) } if text == "true" => {
            format!("{shown}  {dim}={reset} {green}{text}{reset}")
        }
        Outcome::Value { text, .. } => format!("{shown}  {dim}={reset} {bold}{text}{reset}"),
        Outcome::Failed(error) => format!("{shown}  {red}fails: {error}{reset}"),
        Outcome::Passed => format!("{shown}  {red}fails, as below{reset}"),
        Outcome::Asks(question) => format!("{shown}  {yellow}{question}{reset}"),
        Outcome::Skipped => format!("{dim}{shown}  not evaluated{reset}"),
        Outcome::Round => format!("{dim}for{reset} {shown}"),
        Outcome::Rounds(1) => format!("{dim}… and 1 more round{reset}"),
        Outcome::Rounds(count) => format!("{dim}… and {count} more rounds{reset}"),
        Outcome::Cut => format!("{dim}… nothing more is shown{reset}"),
    }
}
