//! A file that holds one thing: a case, a recorded task, or the state of a task.
//!
//! In: the text of the file, what it should be and the keys that mark it as that, and the function that reads those keys.
//! Out: the thing, or everything that is wrong with the file.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::reader::{Fields, Path, Reader};
use crate::manifest::yaml::{self, YamlDocument};
use crate::source::{Place, Source, Span};

/// Reads the one document of a file, unless it has none of the keys that mark it as `what`. What is wrong with it are
/// errors of the format, not of a rule of the specification, so the findings name none.
pub(super) fn read_one<T>(
    source: &Source,
    limits: &EngineLimits,
    what: &str,
    marks: &[&str],
    read: impl FnOnce(&mut Fields<'_>, &mut Reader) -> Option<T>,
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
        return Err(vec![messages::something_else(&node.place, what, marks)]);
    }
    let mut reader = Reader::default();
    let path = Path::document("");
    let thing = reader.fields(node, &path).and_then(|mut fields| {
        let thing = read(&mut fields, &mut reader);
        fields.refuse_others(what, &mut reader);
        thing
    });
    findings.extend(reader.into_findings().into_iter().map(|finding| Diagnostic { rule: None, ..finding }));
    match thing {
        Some(thing) if findings.is_empty() => Ok(thing),
        _ => Err(findings),
    }
}
