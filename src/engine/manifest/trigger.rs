//! The trigger manifest (TRG): tasks by events from outside.
//!
//! In: the mapping of one document. Out: a [`DeclaredTrigger`] with its asserts and its message still as text. Whether an event
//! makes a task is for the layer above, which compiles them. Who may see or change a trigger (TRG-13) is the host's affair.

use super::kind::{DocumentKind, Family, KindOf};
use super::launch::{Launch, LaunchKeys, Launches};
use super::reader::{Path, Reader};
use super::schema::{Payload, Schema};
use super::shape::{Name, Part, Required, mapping};
use super::step::{DeclaredStep, Hook, Steps};
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

mapping! {
    /// Tasks by events from outside.
    pub(super) TriggerKeys as "trigger" = "a trigger" {
        /// Version and type of the manifest.
        _kind = "kind": Required<KindOf<{ Family::Trigger as usize }>>,
        launch: Part<LaunchKeys>,
        /// Where the events come from.
        source: Required<SourceKeys>,
    }

    SourceKeys = "`source`" {
        /// The kind of source, such as `email` or `github`: a word of the host's.
        kind = "type": Required<Name>,
        /// A JSON Schema of the payload; an event that does not fit makes no task.
        payload: Payload,
        /// Steps on each event; all of them must pass.
        before: Steps<{ Hook::Trigger as usize }>,
    }
}

impl DeclaredTrigger {
    /// Reads the mapping of one document; none if it is no mapping. `kind` has been read from it.
    pub(super) fn read(
        document: &YamlDocument,
        kind: DocumentKind,
        path: &Path,
        reader: &mut Reader,
    ) -> Option<Self> {
        let fields = reader.fields::<TriggerKeys>(&document.node, path)?;
        let mut launch = Launch::read(&fields.launch().part(), kind, reader);
        let mut source_type = None;
        let mut payload = None;
        let mut before = Vec::new();
        if let Some(source) = fields.source().required("TRG-01", reader)
            && let Some(source) = source.fields(reader)
        {
            source_type = Some(source.kind().text_or_empty("TRG-01", reader));
            payload = source.payload().payload(reader);
            before = source.before().steps(reader);
            source.refuse_others(reader);
        }
        fields.warn_of_others(&["source", "inputs", "message", "enabled"], reader);
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
