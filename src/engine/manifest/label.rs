//! Steps of policies that label what came in or the task, or take labels away.
//!
//! In: the keys `label`, `declassify`, `label_task` and `unlabel_task` of a step. Out: [`DeclaredLabels`]: the labels as they are written, or the expression that gives
//! them. Nothing here reads an expression.

use super::fields::{Field, Fields, Key};
use super::messages;
use super::reader::Reader;
use super::shape::{Expression, List, Name, mapping, shape};
use crate::source::Embedded;
use serde_json::json;

/// The most bytes of one label.
pub const MAX_LABEL_BYTES: usize = 256;

/// What a step does with labels.
#[derive(Clone, Debug)]
pub struct DeclaredLabels {
    /// Whether it takes them away.
    pub takes: bool,
    /// Whether the task has them, and not the result or input.
    pub of_task: bool,
    /// Which labels these are.
    pub texts: LabelTexts,
}

/// Labels of a step.
#[derive(Clone, Debug)]
pub enum LabelTexts {
    /// `[untrusted, web]`
    Written(Vec<Embedded>),
    /// `output.readers`: an expression that gives a text or a list of texts.
    Computed(Embedded),
}

mapping! {
    /// What a step does with labels.
    pub(super) LabelKeys = "a step" {
        /// Labels that the result or input gets: a list of them, or an expression that gives a text or a list of texts.
        label: LabelList,
        /// Labels that the result or input loses and vouches against, in the same form.
        declassify: LabelList,
        /// Labels that the task gets, in the same form; rules read them by `taskLabels()`.
        label_task: LabelList,
        /// Labels that the task loses, in the same form.
        unlabel_task: LabelList,
    }
}

shape! {
    /// A list of labels, or the text of an expression.
    pub(super) LabelList = |definitions| {
        json!({ "anyOf": [<List<Name>>::schema(definitions), Expression::schema(definitions)] })
    };
}

/// The keys that a step has of these.
pub(super) fn label_keys<'f>(fields: &Fields<'f, LabelKeys>) -> [Option<Field<'f>>; 4] {
    [fields.label().get(), fields.declassify().get(), fields.label_task().get(), fields.unlabel_task().get()]
}

impl DeclaredLabels {
    /// The key under which they stand.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match (self.of_task, self.takes) {
            (false, false) => "label",
            (false, true) => "declassify",
            (true, false) => "label_task",
            (true, true) => "unlabel_task",
        }
    }

    /// The expression that gives them, if one does.
    #[must_use]
    pub fn computed(&self) -> Option<&Embedded> {
        match &self.texts {
            LabelTexts::Computed(text) => Some(text),
            LabelTexts::Written(_) => None,
        }
    }

    /// What a step has under these keys; nothing if it has none of them, or what is there is wrong.
    pub(super) fn read(fields: &Fields<'_, LabelKeys>, reader: &mut Reader) -> Option<Self> {
        let keys = [
            (fields.label(), false, false),
            (fields.declassify(), true, false),
            (fields.label_task(), false, true),
            (fields.unlabel_task(), true, true),
        ];
        let mut read = keys.into_iter().filter_map(|(key, takes, of_task)| {
            key.labels(reader).map(|texts| Self { takes, of_task, texts })
        });
        let first = read.next();
        // each of them is read, so that what is wrong with it is told
        read.for_each(drop);
        first
    }
}

impl Key<'_, '_, LabelList> {
    fn labels(&self, reader: &mut Reader) -> Option<LabelTexts> {
        let field = self.get()?;
        if let Some(text) = field.node.as_string() {
            return Some(LabelTexts::Computed(text.clone()));
        }
        let texts = reader.texts(field.node, &field.path)?;
        if texts.is_empty() {
            reader.report(&field.path, messages::no_labels(field.key));
        }
        for (at, text) in texts.iter().enumerate() {
            if text.text.is_empty() || text.text.len() > MAX_LABEL_BYTES {
                reader.report(&field.path.item(at), messages::bad_label(text, MAX_LABEL_BYTES));
            }
        }
        Some(LabelTexts::Written(texts))
    }
}
