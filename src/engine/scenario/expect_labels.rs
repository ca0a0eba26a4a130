//! What is expected of labels: those that arguments of a call carry, and those that steps have given to its result or to a message.
//!
//! In: a mapping of a case, the decision of an operation, and the task afterwards. Out: the labels of each part that is named, in order.

use super::case::{LabelsOf, Want};
use crate::cel::Json;
use crate::context::LabelSet;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{ByName, List, Name, mapping};
use crate::source::Place;
use crate::task::{Decision, StepKind, Task};

mapping! {
    /// Labels by what has them.
    pub(super) LabelsKeys as "expectedLabels" = "`labels`" {
        /// Those that the arguments of the call carry, or that the message that came in was given.
        input: List<Name>,
        /// Those that single arguments of the call carry, by name.
        arguments: ByName<List<Name>>,
        /// Those that the result of the call was given.
        output: List<Name>,
    }
}

/// Reads what is expected of labels.
pub(super) fn read(node: &Node, path: &Path, reader: &mut Reader) -> Vec<(Place, Want)> {
    let Some(fields) = reader.fields::<LabelsKeys>(node, path) else { return Vec::new() };
    let mut wants = Vec::new();
    for (field, of) in [(fields.input().get(), LabelsOf::Input), (fields.output().get(), LabelsOf::Output)] {
        let Some(field) = field else { continue };
        wants.extend(read_one(field.node, &field.path, of, reader));
    }
    if let Some(field) = fields.arguments().get() {
        for entry in reader.mapping(field.node, &field.path).unwrap_or_default() {
            let (name, path) = (entry.key.text.to_string(), field.path.key(&entry.key.text));
            wants.extend(read_one(&entry.value, &path, LabelsOf::Argument(name), reader));
        }
    }
    fields.refuse_others(reader);
    wants
}

fn read_one(node: &Node, path: &Path, of: LabelsOf, reader: &mut Reader) -> Option<(Place, Want)> {
    let texts = reader.texts(node, path)?;
    let mut labels: Vec<String> = texts.iter().map(|label| label.text.to_string()).collect();
    labels.sort_unstable();
    Some((node.place.clone(), Want::Labels(of, labels)))
}

/// What a check of labels is called.
pub(super) fn called(of: &LabelsOf) -> String {
    match of {
        LabelsOf::Input => "labels.input".to_owned(),
        LabelsOf::Argument(name) => format!("labels.arguments.{name}"),
        LabelsOf::Output => "labels.output".to_owned(),
    }
}

/// What an operation tells of labels.
#[derive(Clone, Debug, Default)]
pub struct FoundLabels {
    /// What its steps gave and did not take away again.
    given: Vec<String>,
    /// Whether that was to a message, and not to a result.
    is_message: bool,
    /// The arguments of the call: those with which it was let through, or else those that the model gave.
    arguments: Option<Json>,
    /// The labels that they carry, each by its name.
    carried: Vec<(String, Vec<String>)>,
    /// The same of all of them.
    carried_by_all: Option<Vec<String>>,
}

impl FoundLabels {
    /// What a decision tells of labels.
    pub(super) fn of(decision: &Decision) -> Self {
        let mut given = LabelSet::new();
        for entry in &decision.trace {
            match entry.action {
                StepKind::Label => given.extend(entry.labels.iter().cloned()),
                StepKind::Declassify => given.retain(|label| !entry.labels.contains(label)),
                _ => {}
            }
        }
        // a call that was let through has a name, and its arguments are what goes on
        let arguments = decision.verdict.value().cloned().filter(|_| decision.call.is_some());
        Self { given: texts(&given), arguments, ..Self::default() }
    }

    /// The same of a message.
    pub(super) fn of_message(&self) -> Self {
        Self { is_message: true, arguments: None, ..self.clone() }
    }

    /// The call was made with these arguments.
    pub(super) fn made(&mut self, arguments: &Json) {
        self.arguments.get_or_insert_with(|| arguments.clone());
    }

    /// Finds the labels of the arguments in the task as it is now.
    pub(super) fn find(&mut self, task: &Task) {
        let Some(arguments) = &self.arguments else { return };
        let of_each = arguments
            .root()
            .entries()
            .map(|(name, value)| (name.to_owned(), texts(&task.labels_of(&value.to_json()))));
        self.carried = of_each.collect();
        self.carried_by_all = Some(texts(&task.labels_of(arguments)));
    }

    /// The labels of a part; nothing if there is no such part.
    pub(super) fn labels_of(&self, part: &LabelsOf) -> Option<Vec<String>> {
        match part {
            LabelsOf::Input if self.is_message => Some(self.given.clone()),
            LabelsOf::Input => self.carried_by_all.clone(),
            LabelsOf::Argument(name) => {
                self.carried.iter().find(|(known, _)| known == name).map(|(_, labels)| labels.clone())
            }
            LabelsOf::Output => (!self.is_message).then(|| self.given.clone()),
        }
    }
}

fn texts(labels: &LabelSet) -> Vec<String> {
    labels.iter().map(ToString::to_string).collect()
}
