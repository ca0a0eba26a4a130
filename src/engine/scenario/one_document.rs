//! A file that holds one document: cases, a recorded task, or the state of a task.
//!
//! In: the text of the file, the keys that mark it as what it should be, and the function that reads its keys.
//! Out: the thing, or everything that is wrong with the file.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::fields::Fields;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::Mapping;
use crate::manifest::yaml::{self, YamlDocument};
use crate::source::{Place, Source, Span};

/// Reads the one document of a file, unless it has none of the keys that mark it.
pub(crate) fn read_one<M: Mapping, T>(
    source: &Source,
    limits: &EngineLimits,
    marks: &[&str],
    read: impl FnOnce(&Fields<'_, M>, &mut Reader) -> Option<T>,
) -> Result<T, Vec<Diagnostic>> {
    let node = document(source, limits, M::OWNER, marks)?;
    read_node(&node, &Path::document(""), read)
}

/// The one document of a file, unless something is wrong with its YAML, or it has none of the keys that mark `what`.
pub(super) fn document(
    source: &Source,
    limits: &EngineLimits,
    what: &str,
    marks: &[&str],
) -> Result<Node, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut documents = yaml::parse(source, limits, &mut findings);
    let count = documents.len();
    match documents.pop().filter(|_| count == 1) {
        Some(YamlDocument { node, sound: true }) if findings.is_empty() => {
            if marks.iter().any(|mark| node.get(mark).is_some()) {
                Ok(node)
            } else {
                Err(vec![messages::something_else(&node.place, what, marks)])
            }
        }
        _ => {
            if findings.is_empty() {
                let start = Place::new(source, Span::new(0, 0));
                findings.push(messages::documents(start, count));
            }
            Err(findings)
        }
    }
}

/// Reads a mapping that has no other keys than those of `M`. What is wrong with it are errors of the format, not of a rule
/// of the specification, so the findings name none.
pub(super) fn read_node<M: Mapping, T>(
    node: &Node,
    path: &Path,
    read: impl FnOnce(&Fields<'_, M>, &mut Reader) -> Option<T>,
) -> Result<T, Vec<Diagnostic>> {
    let mut reader = Reader::default();
    let thing = reader.fields(node, path).and_then(|fields| {
        let thing = read(&fields, &mut reader);
        fields.refuse_others(&mut reader);
        thing
    });
    let findings = reader.into_findings().into_iter();
    let findings: Vec<_> = findings.map(|finding| Diagnostic { rule: None, ..finding }).collect();
    match thing {
        Some(thing) if findings.is_empty() => Ok(thing),
        _ => Err(findings),
    }
}
