//! The trigger manifest (TRG): tasks by events from outside.
//!
//! In: the mapping of one document. Out: a [`DeclaredTrigger`] with its asserts and its message still as text. Whether an event
//! makes a task is for the layer above, which compiles them. Who may see or change a trigger (TRG-13) is the host's affair.

use super::kind::DocumentKind;
use super::launch::{Launch, Launches};
use super::reader::{Path, Reader};
use super::schema::{Schema, read_payload};
use super::step::{DeclaredStep, Hook};
use super::yaml::YamlDocument;
use crate::source::Embedded;
use std::sync::Arc;

/// A trigger manifest.
#[derive(Clone, Debug)]
pub struct DeclaredTrigger {
    /// Which tasks it makes.
    pub launch: Launch,
    /// Where its events come from, such as `email` or `github`: a word of the host's.
    pub source_type: Embedded,
    /// What the payload of its events looks like, if it says so: any JSON Schema, whose references lead into it.
    pub payload: Option<Arc<Schema>>,
    /// Asserts on each event, all of which must pass (TRG-01, TRG-02).
    pub before: Vec<DeclaredStep>,
}

impl DeclaredTrigger {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let mut fields = reader.fields(&document.node, path)?;
        let mut launch = Launch::read(&mut fields, kind, reader);
        let mut source_type = None;
        let mut payload = None;
        let mut before = Vec::new();
        if let Some(field) = fields.required("source", "TRG-01", reader)
            && let Some(mut source) = reader.fields(field.node, &field.path)
        {
            source_type = Some(source.name("type", "TRG-01", reader));
            if let Some(field) = source.get("payload") {
                payload = read_payload(&field, reader);
            }
            if let Some(field) = source.get("before") {
                before = DeclaredStep::read_all(field.node, &field.path, Hook::Trigger, reader);
            }
            source.refuse_others("`source`", reader);
        }
        fields.warn_of_others("a trigger", &["source", "inputs", "message", "enabled"], reader);
        launch.settle(document, reader);
        let source_type = source_type.unwrap_or_else(|| Embedded::new("", launch.place.clone(), []));
        Some(Self { launch, source_type, payload, before })
    }
}

impl Launches for DeclaredTrigger {
    const FAMILY: &'static str = "trigger";
    fn launch(&self) -> &Launch {
        &self.launch
    }
    fn launch_mut(&mut self) -> &mut Launch {
        &mut self.launch
    }
}
