//! Labels: what steps of policies have said of results and inputs, and of the task.
//!
//! In: labels that are given to a value or to the task, or taken away. Out: an append-only record of that with the step that did it, and what follows
//! from it for each value. A label that was taken from a value is one that the value vouches against: a text that stands in it as a whole
//! is not labelled so, wherever else it stands. What observed steps do stands beside it: observed steps alone see it, after all that was
//! done. Each change costs a look-up.

use super::log::Log;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What can have labels: a value that came into a task, or the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueSource {
    /// An input, by its number among them, from 0.
    Input(u32),
    /// The result of a call, by its number in the history, from 0.
    Call(u32),
    /// The task. No text is a copy of it.
    Task,
}

/// Labels of a value, each once, in order.
pub type LabelSet = BTreeSet<Arc<str>>;

/// What was done with labels of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelChange {
    /// They were given.
    #[default]
    Given,
    /// They were taken away, and the value vouches against them.
    Taken,
    /// The value never became one of the task, and nothing that was said of it counts.
    Forgotten,
}

/// A change of the labels of a value, as it is on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labelling {
    /// The value.
    pub of: ValueSource,
    /// What was done.
    #[serde(default)]
    pub change: LabelChange,
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: LabelSet,
    /// The step of a policy that did it, as `acme/mail#web`; nothing where the labels came along with a delegation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Who sees it.
    #[serde(default, skip_serializing_if = "SeenBy::is_everybody")]
    pub seen_by: SeenBy,
}

/// Who sees what was done with labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// All steps.
    #[default]
    Everybody,
    /// Observed steps alone, as an observed step would have done it.
    Observed,
}

/// What is known of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) labels: LabelSet,
    /// Those that the value vouches against.
    pub(super) vouched: LabelSet,
}

/// What is known of all values.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkTable {
    marks: BTreeMap<ValueSource, Marks>,
    /// The values that vouch against labels.
    vouching: BTreeSet<ValueSource>,
}

/// All that was said of values of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelRecord {
    changes: Log<Labelling>,
    enforced: MarkTable,
    /// What observed steps see, once one of them has done something.
    observed: Option<Box<MarkTable>>,
    bytes: usize,
}

impl ValueSource {
    /// Its number among all values.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Input(at) => at.wrapping_shl(1),
            Self::Call(at) => at.wrapping_shl(1) | 1,
            // no call has this number: a task has fewer than 2^31
            Self::Task => u32::MAX,
        }
    }

    /// The value with a number.
    pub(super) fn numbered(number: u32) -> Self {
        match number {
            u32::MAX => Self::Task,
            _ if number & 1 == 0 => Self::Input(number >> 1),
            _ => Self::Call(number >> 1),
        }
    }
}

impl SeenBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
    fn is_everybody(&self) -> bool {
        *self == Self::Everybody
    }
}

impl MarkTable {
    fn take(&mut self, Labelling { of, change, labels, .. }: &Labelling) {
        let marks = self.marks.entry(*of).or_default();
        let (to, from) = match change {
            LabelChange::Given => (&mut marks.labels, &mut marks.vouched),
            LabelChange::Taken => (&mut marks.vouched, &mut marks.labels),
            LabelChange::Forgotten => {
                self.marks.remove(of);
                self.vouching.remove(of);
                return;
            }
        };
        from.retain(|label| !labels.contains(label));
        to.extend(labels.iter().cloned());
        if marks.vouched.is_empty() || *of == ValueSource::Task {
            self.vouching.remove(of);
        } else {
            self.vouching.insert(*of);
        }
    }

    /// Whether nothing is known of any value.
    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// What is known of a value of which something was said.
    pub(super) fn of(&self, source: ValueSource) -> Option<&Marks> {
        self.marks.get(&source)
    }

    /// The values that vouch against labels. A task has no text that could.
    pub(super) fn vouching(&self) -> impl Iterator<Item = (ValueSource, &LabelSet)> {
        self.vouching.iter().filter_map(|source| Some((*source, &self.marks.get(source)?.vouched)))
    }
}

impl LabelRecord {
    pub(super) fn push(&mut self, labelling: Labelling) {
        let observed = match labelling.seen_by {
            SeenBy::Everybody => {
                self.enforced.take(&labelling);
                self.observed.as_deref_mut()
            }
            SeenBy::Observed => {
                let enforced = &self.enforced;
                Some(&mut **self.observed.get_or_insert_with(|| Box::new(enforced.clone())))
            }
        };
        if let Some(observed) = observed {
            observed.take(&labelling);
        }
        self.bytes = self.bytes.saturating_add(labelling.bytes());
        self.changes.push(labelling);
    }

    /// A value that was under test has gone.
    pub(super) fn forget(&mut self, of: ValueSource) {
        if self.seen_by(SeenBy::Observed).of(of).is_some() {
            let (change, labels) = (LabelChange::Forgotten, LabelSet::new());
            self.push(Labelling { of, change, labels, by: None, seen_by: SeenBy::Everybody });
        }
    }

    /// Everything that was said, in order.
    pub(super) fn changes(&self) -> &Log<Labelling> {
        &self.changes
    }

    /// What is known of all values.
    pub(super) fn seen_by(&self, who: SeenBy) -> &MarkTable {
        match (who, &self.observed) {
            (SeenBy::Observed, Some(observed)) => observed,
            _ => &self.enforced,
        }
    }

    /// Whether observed steps see other labels than all others.
    pub(super) fn has_observed(&self) -> bool {
        self.observed.is_some()
    }

    /// What it adds to the bytes of the task: counted the same way wherever it is.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Labelling {
    fn bytes(&self) -> usize {
        let texts = self.labels.iter().chain(&self.by).map(|text| text.len().saturating_add(16));
        texts.fold(64, usize::saturating_add)
    }
}
