//! Typed access to the tree of a document that goes on after each problem.
//!
//! In: nodes and the manifest path to them. Out: the values, and a diagnostic with its path for everything that is not
//! as it must be. Which keys a mapping has, and by which of these functions their values are read, `fields` knows.

use super::json_schema::Budget;
use super::messages;
use super::node::{Data, Entry, Node};
use crate::amount::{Amount, AmountError};
use crate::cel::{Duration, DurationError};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::Embedded;
use std::fmt;

/// The way to a node: keys joined by dots, list positions in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    /// The path of a document: empty, or a prefix such as `tools[0]`.
    pub(crate) fn document(prefix: &str) -> Self {
        Self(prefix.to_owned())
    }

    /// The path of a key below this one.
    pub(crate) fn key(&self, key: &str) -> Self {
        if self.0.is_empty() { Self(key.to_owned()) } else { Self(format!("{}.{key}", self.0)) }
    }

    /// The path of a list position below this one.
    pub(crate) fn item(&self, position: usize) -> Self {
        Self(format!("{}[{position}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.0
    }
}

/// How often a document is told which key an unknown one was meant to be: each time goes over all that are known.
const PROPOSALS: usize = 100;

/// Reads values and collects what is wrong with them.
#[derive(Default)]
pub(crate) struct Reader {
    findings: Vec<Diagnostic>,
    errors: usize,
    proposals: usize,
    /// Whether the schemas being read are those of listed tools, for which JSON Schema holds as it is: what it gives no meaning is told, and
    /// is no error.
    pub(super) lists_tools: bool,
    /// What the schemas of the document may still weigh.
    pub(super) schemas: Budget,
}

impl Reader {
    /// A reader of one document under these bounds.
    pub(crate) fn within(limits: &EngineLimits) -> Self {
        Self { schemas: Budget::new(limits), ..Self::default() }
    }

    /// Whether another name may still be proposed for one that is unknown.
    pub(crate) fn may_propose(&mut self) -> bool {
        self.proposals = self.proposals.saturating_add(1);
        self.proposals <= PROPOSALS
    }

    /// Notes a problem at a path.
    pub(crate) fn report(&mut self, path: &Path, diagnostic: Diagnostic) {
        self.errors = self.errors.saturating_add(usize::from(diagnostic.is_error()));
        self.findings.push(messages::on_one_line(diagnostic).path(path.to_string()));
    }

    /// Whether an error was noted.
    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(Diagnostic::is_error)
    }

    /// How many errors were noted.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// The error that was noted last.
    pub(super) fn last_error(&self) -> Option<&Diagnostic> {
        self.findings.iter().rfind(|finding| finding.is_error())
    }

    /// What was noted, in the order of reading.
    pub(crate) fn into_findings(self) -> Vec<Diagnostic> {
        self.findings
    }

    /// A text that the specification calls a string; a number or a boolean is not taken for one.
    pub(crate) fn text(&mut self, node: &Node, path: &Path) -> Option<Embedded> {
        let text = node.as_string().cloned();
        if text.is_none() {
            self.report(path, messages::wrong_type(node, "text"));
        }
        text
    }

    /// The text of an expression; `rule` says that it must be one.
    pub(crate) fn expression(&mut self, node: &Node, path: &Path, rule: &'static str) -> Option<Embedded> {
        let text = node.as_string().cloned();
        if text.is_none() {
            self.report(path, messages::wrong_type(node, "an expression as text").rule(rule));
        }
        text
    }

    /// A boolean.
    pub(crate) fn boolean(&mut self, node: &Node, path: &Path) -> Option<bool> {
        if let Data::Bool(value) = node.data {
            return Some(value);
        }
        self.report(path, messages::wrong_type(node, "a boolean"));
        None
    }

    /// A whole number.
    pub(crate) fn whole(&mut self, node: &Node, path: &Path) -> Option<i64> {
        if let Data::Int(value) = node.data {
            return Some(value);
        }
        self.report(path, messages::wrong_type(node, "a whole number"));
        None
    }

    /// A whole number that is not negative (LIM-13).
    pub(crate) fn count(&mut self, node: &Node, path: &Path) -> Option<u64> {
        match node.data {
            Data::Int(value) => {
                let count = u64::try_from(value).ok();
                if count.is_none() {
                    self.report(path, messages::negative_limit(&node.place));
                }
                count
            }
            _ => {
                self.report(path, messages::wrong_type(node, "a whole number").rule("LIM-13"));
                None
            }
        }
    }

    /// An amount, exactly as it is written: a number, or a decimal as text.
    pub(crate) fn decimal(&mut self, node: &Node, path: &Path) -> Option<Amount> {
        let amount = match &node.data {
            Data::Int(number) => Amount::from_int(*number),
            // a double that somebody wrote is the shortest decimal that stands for it
            Data::Float(number) if number.is_finite() => Amount::from_decimal(&number.to_string()),
            Data::Float(_) => Err(AmountError::NotFinite),
            Data::String(text) => Amount::from_decimal(&text.text),
            _ => {
                self.report(path, messages::wrong_type(node, "a number or a decimal as text"));
                return None;
            }
        };
        amount.map_err(|why| self.report(path, messages::bad_amount(&node.place, why))).ok()
    }

    /// A positive duration in nanoseconds (SUB-14); `rule` says that it must be positive.
    pub(crate) fn duration(&mut self, node: &Node, path: &Path, rule: &'static str) -> Option<i64> {
        let Some(text) = node.as_string() else {
            self.report(path, messages::wrong_type(node, "a duration such as `1h30m`").rule("SUB-14"));
            return None;
        };
        // SUB-14 counts in 64 bits
        let nanoseconds = Duration::parse(&text.text)
            .and_then(|length| i64::try_from(length.nanos()).map_err(|_| DurationError::TooLong));
        match nanoseconds {
            Ok(nanoseconds) if nanoseconds > 0 => Some(nanoseconds),
            Ok(_) => {
                self.report(path, messages::duration_not_positive(&node.place, rule));
                None
            }
            Err(problem) => {
                self.report(path, messages::bad_duration(&node.place, problem));
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'a>(&mut self, node: &'a Node, path: &Path) -> Option<&'a [Node]> {
        let items = node.as_sequence();
        if items.is_none() {
            self.report(path, messages::wrong_type(node, "a list"));
        }
        items
    }

    /// The texts of a list; an item that is no text is reported and left out.
    pub(crate) fn texts(&mut self, node: &Node, path: &Path) -> Option<Vec<Embedded>> {
        let items = self.list(node, path)?;
        let texts = items.iter().enumerate().filter_map(|(at, item)| self.text(item, &path.item(at)));
        Some(texts.collect())
    }

    /// The keys and values of a mapping, whatever the keys are.
    pub(crate) fn mapping<'a>(&mut self, node: &'a Node, path: &Path) -> Option<&'a [Entry]> {
        let entries = node.as_mapping();
        if entries.is_none() {
            self.report(path, messages::wrong_type(node, "a mapping"));
        }
        entries
    }
}
