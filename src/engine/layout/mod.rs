//! Manifests, policies, cases and recorded tasks in one layout: the blanks of expressions and the order of keys.
//!
//! In: a text. Out: the same text, formatted. Comments stay with their keys. A change is kept only if the document read again is what it was but
//! for the order of keys and the blanks of expressions; else the part stays as it is. To format twice changes nothing.
//!
//! | module | what it holds |
//! |---|---|
//! | `described` | which texts are expressions, and in which order keys stand |
//! | `expression` | the blanks of an expression |
//! | `order` | the keys of a mapping, moved |

mod described;
mod expression;
mod order;

use crate::limits::EngineLimits;
use crate::manifest::document::DocumentType;
use crate::manifest::kind::INVARIANTS;
use crate::manifest::node::{Data, Node};
use crate::manifest::yaml;
use crate::prove::Invariants;
use crate::scenario::{Case, Script};
use crate::source::{Embedded, Source};
use described::Description;
use serde_json::Value;
use std::collections::HashSet;

/// The layout of files: the descriptions of their kinds, by which keys have an order and texts are expressions.
///
/// ```
/// use celador::EngineLimits;
/// use celador::layout::Layout;
///
/// let text = "namespace: shop\nkind: celador/v1/policy # one of many\nname: cap\ncapabilities: {pay: {before: [{assert: input.amount<=100}]}}\n";
/// let formatted = Layout::default().formatted(text, &EngineLimits::default());
/// assert!(formatted.starts_with("kind: celador/v1/policy # one of many\nnamespace: shop\n"));
/// assert!(formatted.contains("input.amount <= 100"));
/// ```
#[derive(Debug)]
pub struct Layout {
    manifest: Value,
    case: Value,
    script: Value,
    invariants: Value,
}

/// How many mappings of a file are put into order, one after the other.
const MAX_MOVES: usize = 2_000;

impl Default for Layout {
    fn default() -> Self {
        Self {
            manifest: DocumentType::Any.json_schema(),
            case: Case::json_schema(),
            script: Script::json_schema(),
            invariants: Invariants::json_schema(),
        }
    }
}

impl Layout {
    /// The description of a document; nothing for one of another program.
    fn of(&self, node: &Node) -> Option<&Value> {
        let has = |key| node.get(key).is_some();
        if node.get("kind").and_then(Node::as_string).is_some_and(|kind| &*kind.text == INVARIANTS) {
            Some(&self.invariants)
        } else if has("kind") || has("path_prefixes") {
            Some(&self.manifest)
        } else if has("call") || has("expect") || has("story") || has("cases") {
            Some(&self.case)
        } else if has("agent") && has("steps") {
            Some(&self.script)
        } else {
            None
        }
    }

    /// A text, formatted. One that cannot be read is what it was.
    ///
    /// # Cost
    /// Linear in the text for each mapping that is moved, of which there are at most some thousand.
    #[must_use]
    pub fn formatted(&self, text: &str, limits: &EngineLimits) -> String {
        let text = self.with_order(text, limits);
        self.with_blanks(&text, limits)
    }

    /// Brings the keys of one mapping after the other into their order.
    fn with_order(&self, text: &str, limits: &EngineLimits) -> String {
        let mut text = text.to_owned();
        // mappings that cannot be moved, by the numbers at which they are found
        let mut left: HashSet<usize> = HashSet::new();
        for _ in 0..MAX_MOVES {
            let Some(nodes) = read(&text, limits) else { return text };
            let moved = self.parts(&nodes).iter().flat_map(|parts| &parts.mappings).enumerate().find_map(
                |(number, (mapping, order))| {
                    let moved = Some(number).filter(|number| !left.contains(number))?;
                    Some((moved, order::reordered(&text, mapping, order)?))
                },
            );
            let Some((number, candidate)) = moved else { return text };
            let is_same = read(&candidate, limits).is_some_and(|after| same(&nodes, &after));
            if is_same {
                text = candidate;
            } else {
                left.insert(number);
            }
        }
        text
    }

    fn parts<'n>(&self, nodes: &'n [Node]) -> Vec<described::Parts<'n>> {
        let described = nodes.iter().filter_map(|node| Some((node, self.of(node)?)));
        described.map(|(node, schema)| Description::of(schema).parts(node)).collect()
    }

    /// Writes plain blanks into the expressions that stand on one line.
    fn with_blanks(&self, text: &str, limits: &EngineLimits) -> String {
        let Some(nodes) = read(text, limits) else { return text.to_owned() };
        let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        for parts in self.parts(&nodes) {
            edits.extend(parts.expressions.into_iter().filter_map(|text| edit(text, limits)));
        }
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut written = text.to_owned();
        for (range, new) in edits {
            let mut candidate = written.clone();
            candidate.replace_range(range, &new);
            let is_same = read(&candidate, limits).is_some_and(|after| same(&nodes, &after));
            if is_same {
                written = candidate;
            }
        }
        written
    }
}

/// The documents of a text, if all can be read to their ends.
fn read(text: &str, limits: &EngineLimits) -> Option<Vec<Node>> {
    let mut findings = Vec::new();
    let documents = yaml::parse(&Source::new("", text), limits, &mut findings);
    let is_sound = findings.is_empty() && documents.iter().all(|document| document.sound);
    is_sound.then(|| documents.into_iter().map(|document| document.node).collect())
}

/// Whether documents are the same but for the order of keys and blanks in texts that are expressions.
fn same(before: &[Node], after: &[Node]) -> bool {
    let plain = |nodes: &[Node]| nodes.iter().map(plain).collect::<Vec<_>>();
    plain(before) == plain(after)
}

/// A document as JSON, with keys in the order of the alphabet and texts that are expressions without a choice of blanks.
fn plain(node: &Node) -> Value {
    match &node.data {
        Data::Mapping(entries) => {
            let mut members: Vec<(String, Value)> =
                entries.iter().map(|entry| (entry.key.text.to_string(), plain(&entry.value))).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(members.into_iter().collect())
        }
        Data::Sequence(items) => items.iter().map(plain).collect(),
        Data::String(text) => {
            Value::String(expression::spaced(&text.text).unwrap_or_else(|| text.text.to_string()))
        }
        _ => node.to_json(),
    }
}

/// The place of an expression, quotes aside, and what is to stand there.
fn edit(text: &Embedded, limits: &EngineLimits) -> Option<(std::ops::Range<usize>, String)> {
    let tree = |text: &str| crate::cel::parse(text, &limits.eval).ok().map(|expr| expr.to_string());
    let spaced = expression::spaced(&text.text).filter(|spaced| **spaced != *text.text)?;
    // what the blanks have changed besides is nothing that may be written
    if tree(&spaced)? != tree(&text.text)? {
        return None;
    }
    let range = text.place.span.range();
    let written = text.place.source.text().get(range.clone())?;
    let quoted = match written.chars().next()? {
        '\'' => format!("'{}'", spaced.replace('\'', "''")),
        '"' => format!("\"{}\"", spaced.replace('\\', "\\\\").replace('"', "\\\"")),
        '|' | '>' => return None,
        _ if written.contains('\n') => return None,
        _ => spaced,
    };
    Some((range, quoted))
}
