//! The names of a table in the case that it is of: `$amount` is what a row says under `amount`.
//!
//! In: the tree of a case, and a row. Out: the tree with the row's values in it. A text that is a name and nothing else becomes the value,
//! whatever it is; a name in a longer text, or in a key, becomes the value's text. `$$` is a dollar sign. A name that the row lacks is an error: a
//! typo would compare the case with the text of the typo.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::manifest::node::{Data, Entry, Node};
use crate::source::Embedded;
use std::collections::HashSet;

/// The values of a row, and which of them a case has used.
pub(super) struct Row<'r> {
    values: &'r [Entry],
    used: HashSet<&'r str>,
    findings: Vec<Diagnostic>,
}

/// A part of a text.
enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

impl<'r> Row<'r> {
    /// A row with these names and values.
    pub(super) fn of(values: &'r [Entry]) -> Self {
        Self { values, used: HashSet::new(), findings: Vec::new() }
    }

    /// What is wrong: names that the row lacks, names that are none, values that nothing uses.
    pub(super) fn into_findings(mut self) -> Vec<Diagnostic> {
        for value in self.values {
            if !is_name(&value.key.text) {
                self.findings.push(messages::no_column(&value.key));
            } else if !self.used.contains(&*value.key.text) {
                self.findings.push(messages::unused_column(&value.key));
            }
        }
        self.findings
    }

    /// A tree with the values of the row in the place of their names. Linear in the tree.
    pub(super) fn fill(&mut self, node: &Node) -> Node {
        let data = match &node.data {
            Data::String(text) => return self.fill_text(text, node),
            Data::Sequence(items) => Data::Sequence(items.iter().map(|item| self.fill(item)).collect()),
            Data::Mapping(entries) => {
                let mut known = HashSet::new();
                let mut filled = Vec::with_capacity(entries.len());
                for entry in entries.iter() {
                    let key = self.text(&entry.key);
                    if !known.insert(key.text.clone()) {
                        self.findings.push(messages::same_key(&entry.key));
                        continue;
                    }
                    filled.push(Entry { key, value: self.fill(&entry.value) });
                }
                Data::Mapping(filled.into())
            }
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => return node.clone(),
        };
        Node { place: node.place.clone(), data }
    }

    fn fill_text(&mut self, text: &Embedded, node: &Node) -> Node {
        if let [Part::Name(name)] = parts(&text.text).as_slice() {
            return self.value(name, text).cloned().unwrap_or_else(|| node.clone());
        }
        Node { place: node.place.clone(), data: Data::String(self.text(text)) }
    }

    /// A text with the texts of values in it. Where nothing is to be done it stays what it was, with the way back into the file.
    fn text(&mut self, text: &Embedded) -> Embedded {
        if !text.text.contains('$') {
            return text.clone();
        }
        let mut filled = String::new();
        for part in parts(&text.text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Name(name) => match self.value(name, text).map(|value| &value.data) {
                    Some(Data::String(value)) => filled.push_str(&value.text),
                    Some(Data::Bool(value)) => filled.push_str(&value.to_string()),
                    Some(Data::Int(value)) => filled.push_str(&value.to_string()),
                    Some(Data::Float(value)) => filled.push_str(&value.to_string()),
                    Some(_) => self.findings.push(messages::no_text(text, name)),
                    None => {}
                },
            }
        }
        Embedded::new(filled, text.place.clone(), [])
    }

    fn value(&mut self, name: &str, text: &Embedded) -> Option<&'r Node> {
        let Some(entry) = self.values.iter().find(|entry| &*entry.key.text == name) else {
            let known: Vec<&str> = self.values.iter().map(|entry| &*entry.key.text).collect();
            self.findings.push(messages::unknown_column(text, name, &known));
            return None;
        };
        self.used.insert(&entry.key.text);
        Some(&entry.value)
    }
}

/// Whether a text can stand behind `$`.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(is_of_name)
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The parts of a text: `$name` or `${name}` is a name, `$$` a dollar sign, and so is `$` ahead of anything else.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((ahead, behind)) = rest.split_once('$') {
        if !ahead.is_empty() {
            found.push(Part::Text(ahead));
        }
        if let Some(after) = behind.strip_prefix('$') {
            found.push(Part::Text("$"));
            rest = after;
            continue;
        }
        let in_braces = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, after) = in_braces.filter(|(name, _)| is_name(name)).unwrap_or_else(|| {
            let end = behind.find(|next| !is_of_name(next)).unwrap_or(behind.len());
            behind.split_at_checked(end).unwrap_or((behind, ""))
        });
        if is_name(name) {
            found.push(Part::Name(name));
            rest = after;
        } else {
            found.push(Part::Text("$"));
            rest = behind;
        }
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    #[test]
    fn a_text_falls_into_its_parts() {
        let shown = |text| {
            let parts = parts(text);
            let parts = parts.iter().map(|part| match part {
                Part::Text(text) => format!("'{text}'"),
                Part::Name(name) => format!("<{name}>"),
            });
            parts.collect::<String>()
        };
        assert_eq!(shown("$amount"), "<amount>");
        assert_eq!(shown("up to ${limit}EUR, $$5 and $5"), "'up to '<limit>'EUR, ''$''5 and ''$''5'");
        assert_eq!(shown("$a$b ${not closed"), "<a><b>' ''$''{not closed'");
        assert_eq!(shown(""), "");
    }
}
