//! Typed access to the tree of a document that goes on after each problem.
//!
//! In: nodes and the manifest path to them. Out: the values, and a diagnostic with its path for everything that is not
//! as it must be. Null is the same as absent, as the specification's schemas write it (`… | None`). A field that a
//! document reads is a key that it knows: [`Fields`] notes what was asked for and judges the rest.

use super::json_schema::Budget;
use super::messages;
use super::node::{Data, Entry, Node};
use super::unsaid;
use super::yaml_cause::cut_off;
use crate::cel::{Duration, DurationError};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Embedded, Place};
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

    /// The fields of a mapping whose keys are known.
    pub(crate) fn fields<'a>(&mut self, node: &'a Node, path: &Path) -> Option<Fields<'a>> {
        let entries = self.mapping(node, path)?;
        Some(Fields { entries, place: &node.place, path: path.clone(), known: Vec::new() })
    }
}

/// A field of a mapping.
pub(crate) struct Field<'a> {
    /// The key as written.
    pub(crate) key: &'a Embedded,
    /// The value.
    pub(crate) node: &'a Node,
    /// The path to the value.
    pub(crate) path: Path,
}

/// The fields of a mapping; it remembers which keys were asked for.
pub(crate) struct Fields<'a> {
    entries: &'a [Entry],
    /// What to underline when something is missing.
    pub(crate) place: &'a Place,
    /// The path to the mapping.
    pub(crate) path: Path,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// The field of a key, also if it is null.
    pub(crate) fn written(&mut self, key: &'static str) -> Option<Field<'a>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let entry = self.entries.iter().find(|entry| &*entry.key.text == key)?;
        Some(Field { key: &entry.key, node: &entry.value, path: self.path.key(key) })
    }

    /// The field of a key, unless it is null.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.written(key).filter(|field| !field.node.is_null())
    }

    /// The value of a key that must be there; `rule` says so.
    pub(crate) fn required(
        &mut self,
        key: &'static str,
        rule: &'static str,
        reader: &mut Reader,
    ) -> Option<Field<'a>> {
        let field = self.get(key);
        if field.is_none() {
            reader.report(&self.path.key(key), messages::missing_key(self.place, key, rule));
        }
        field
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &'static str, reader: &mut Reader) -> Option<Embedded> {
        let field = self.get(key)?;
        let text = reader.text(field.node, &field.path)?;
        if let Some(rest) = cut_off(&text) {
            reader.report(&field.path, messages::cut_text(rest));
        }
        Some(text)
    }

    /// A text that must be there and not be empty. In its stead stands an empty text, so that reading can go on.
    pub(crate) fn name(&mut self, key: &'static str, rule: &'static str, reader: &mut Reader) -> Embedded {
        let found = self.required(key, rule, reader).and_then(|field| {
            let text = reader.text(field.node, &field.path)?;
            if text.text.is_empty() {
                reader.report(&field.path, messages::empty_name(&field.node.place, key, rule));
            }
            Some(text)
        });
        found.unwrap_or_else(|| Embedded::new("", self.place.clone(), []))
    }

    /// A boolean, `default` if absent.
    pub(crate) fn boolean(&mut self, key: &'static str, default: bool, reader: &mut Reader) -> bool {
        let Some(field) = self.get(key) else { return default };
        reader.boolean(field.node, &field.path).unwrap_or(default)
    }

    /// A positive duration in nanoseconds.
    pub(crate) fn duration(
        &mut self,
        key: &'static str,
        rule: &'static str,
        reader: &mut Reader,
    ) -> Option<i64> {
        let field = self.get(key)?;
        reader.duration(field.node, &field.path, rule)
    }

    /// Refuses every key that was not asked for: `owner` is an object of policy, where a misspelt key would drop a
    /// check without a word (AG-10).
    pub(crate) fn refuse_others(self, owner: &str, reader: &mut Reader) {
        self.warn_of_unsaid(owner, reader);
        for entry in self.others() {
            let known = if reader.may_propose() { self.known.as_slice() } else { &[] };
            let finding = messages::unknown_key(&entry.key, owner, known);
            reader.report(&self.path.key(&entry.key.text), finding);
        }
    }

    /// Warns of every key that was not asked for, except one that looks like a misspelt `guard`: a key without
    /// which a check is missing is refused. So is any key when there have been too many to look at each.
    pub(crate) fn warn_of_others(self, owner: &str, guards: &[&str], reader: &mut Reader) {
        self.warn_of_unsaid(owner, reader);
        for entry in self.others() {
            let finding = if reader.may_propose() {
                match messages::nearest_key(&entry.key, &self.known) {
                    Some(near) if guards.contains(&near) => {
                        messages::unknown_key(&entry.key, owner, &self.known)
                    }
                    _ => messages::ignored_key(&entry.key, owner, &self.known),
                }
            } else {
                messages::unknown_key(&entry.key, owner, &[])
            };
            reader.report(&self.path.key(&entry.key.text), finding);
        }
    }

    /// Warns of every key that may hold a rule and says nothing.
    fn warn_of_unsaid(&self, owner: &str, reader: &mut Reader) {
        for entry in self.entries {
            if let Some(follows) = unsaid::follows(owner, entry) {
                let path = self.path.key(&entry.key.text);
                reader.report(&path, messages::nothing_said(&entry.key, follows));
            }
        }
    }

    /// The entries whose keys nobody asked for.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let known = self.known.clone();
        self.entries.iter().filter(move |entry| !known.contains(&&*entry.key.text))
    }
}
