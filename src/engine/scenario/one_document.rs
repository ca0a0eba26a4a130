//! A file that holds one thing: a case, a recorded task, or the state of a task.
//!
//! In: the text of the file, the keys that mark it as what it should be, and the function that reads its keys.
//! Out: the thing, or everything that is wrong with the file.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::fields::Fields;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::Mapping;
use crate::manifest::yaml::{self, YamlDocument};
use crate::source::{Place, Source, Span};

/// Reads the one document of a file, unless it has none of the keys that mark it. What is wrong with it are
/// errors of the format, not of a rule of the specification, so the findings name none.
pub(super) fn read_one<M: Mapping, T>(
    source: &Source,
    limits: &EngineLimits,
    marks: &[&str],
    read: impl FnOnce(&Fields<'_, M>, &mut Reader) -> Option<T>,
) -> Result<T, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let documents = yaml::parse(source, limits, &mut findings);
    let [YamlDocument { node, sound: true }] = documents.as_slice() else {
        if findings.is_empty() {
            let start = Place::new(source, Span::new(0, 0));
            findings.push(messages::documents(start, documents.len()));
        }
        return Err(findings);
    };
    if !marks.iter().any(|mark| node.get(mark).is_some()) {
        return Err(vec![messages::something_else(&node.place, M::OWNER, marks)]);
    }
    let mut reader = Reader::default();
    let path = Path::document("");
    let thing = reader.fields(node, &path).and_then(|fields| {
        let thing = read(&fields, &mut reader);
        fields.refuse_others(&mut reader);
        thing
    });
    findings.extend(reader.into_findings().into_iter().map(|finding| Diagnostic { rule: None, ..finding }));
    match thing {
        Some(thing) if findings.is_empty() => Ok(thing),
        _ => Err(findings),
    }
}
