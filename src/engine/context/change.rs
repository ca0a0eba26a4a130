//! What became of a context since an earlier moment, so that storing a step costs what the step changed.
//!
//! In: a context, and a [`ContextMark`] of it from before. Out: a [`ContextChange`], and from a stored state and the change
//! the state after it. Histories only grow, but for the last input and the last response, which may still be replaced or
//! taken back, and invocations that become restricted: so all costs are linear in what changed.

use super::dropped::Dropped;
use super::invocation::InvocationStatus;
use super::labels::Labelling;
use super::snapshot::{ContextState, Kept, StoredInvocation};
use super::task_context::{Entries, TaskContext, TurnKind};
use super::task_io::TaskIo;
use crate::amount::Amount;
use crate::cel::Json;
use crate::detect::Pseudonym;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a context was at one moment. Constant size; it shares the last input and response.
#[derive(Clone, Debug)]
pub struct ContextMark {
    model: Arc<str>,
    turns: usize,
    withheld: u32,
    inputs: EntriesMark,
    outputs: EntriesMark,
    invocations: usize,
    restrictions: usize,
    shortenings: usize,
    labels: usize,
    pseudonyms: usize,
}

#[derive(Clone, Debug)]
struct EntriesMark {
    length: usize,
    epoch: u64,
    last: Option<TaskIo>,
}

/// The change of one context between two marks, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Arc<str>>,
    prompt_tokens: u64,
    completion_tokens: u64,
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    spend: Amount,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<u32>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    turns: Tail<TurnKind>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    inputs: Tail<Json>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    outputs: Tail<Json>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    invocations: Tail<StoredInvocation>,
    /// Positions of earlier invocations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    restricted: Vec<u32>,
    /// Earlier invocations whose values were shortened since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shortened: Vec<(u32, Kept)>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    labels: Tail<Labelling>,
    #[serde(default, skip_serializing_if = "Tail::is_nothing")]
    pseudonyms: Tail<Pseudonym>,
    /// What was dropped by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dropped: Option<Dropped>,
}

/// What a list ends in now: so many entries of before, then these. Nothing if it is as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tail<T>(Option<(usize, Vec<T>)>);

impl<T> Default for Tail<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Tail<T> {
    /// A list that had this length, of which so many are kept.
    fn new(before: usize, kept: usize, added: Vec<T>) -> Self {
        Self((kept < before || !added.is_empty()).then_some((kept, added)))
    }

    fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// Puts it to a list; whether it fits there.
    fn put_to(self, list: &mut Vec<T>) -> bool {
        let Some((kept, added)) = self.0 else { return true };
        let fits = kept <= list.len();
        list.truncate(kept);
        list.extend(added);
        fits
    }
}

impl ContextChange {
    /// The last call by the model that came on record: its function and its arguments.
    pub(crate) fn last_call(&self) -> Option<(&str, &Json)> {
        let (_, added) = self.invocations.0.as_ref()?;
        added.iter().rev().find_map(StoredInvocation::of_model)
    }

    /// The last input that came on record.
    pub(crate) fn last_input(&self) -> Option<&Json> {
        self.inputs.0.as_ref()?.1.last()
    }
}

impl TaskContext {
    /// Where the context is now.
    #[must_use]
    pub fn mark(&self) -> ContextMark {
        ContextMark {
            model: self.start.model.clone(),
            turns: self.turns.len(),
            withheld: self.withheld,
            inputs: self.inputs.mark(),
            outputs: self.outputs.mark(),
            invocations: self.history.log().len(),
            restrictions: self.history.restrictions().len(),
            shortenings: self.history.shortenings().len(),
            labels: self.labellings().len(),
            pseudonyms: self.pseudonyms.known().all().len(),
        }
    }

    /// Whether nothing happened since this context was at a mark. Constant time.
    #[must_use]
    pub fn is_at(&self, mark: &ContextMark) -> bool {
        self.turns.len() == mark.turns
            && self.withheld == mark.withheld
            && self.history.log().len() == mark.invocations
            && self.history.restrictions().len() == mark.restrictions
            && self.history.shortenings().len() == mark.shortenings
            && self.labellings().len() == mark.labels
            && self.pseudonyms.known().all().len() == mark.pseudonyms
            && self.inputs.is_at(&mark.inputs)
            && self.outputs.is_at(&mark.outputs)
    }

    /// The change since this context was at a mark. Linear in the change; documents are shared.
    #[must_use]
    pub fn change_since(&self, mark: &ContextMark) -> ContextChange {
        let turns = self.turns().skip(mark.turns).collect();
        let invocations = self.history.told_from(mark.invocations);
        let invocations = invocations.map(|invocation| self.stored(invocation)).collect();
        let restricted = self.history.restrictions().iter().skip(mark.restrictions).copied();
        let earlier = |position: &u32| (*position as usize) < mark.invocations;
        let shortened = self.history.shortenings().iter().skip(mark.shortenings).copied().filter(earlier);
        let kept = |position| {
            let invocation = self.history.log().get(position as usize)?;
            Some((position, Kept::of(&invocation.input, invocation.output.as_ref())))
        };
        ContextChange {
            model: (self.start.model != mark.model).then(|| self.start.model.clone()),
            prompt_tokens: self.prompt_tokens.unsigned_abs(),
            completion_tokens: self.completion_tokens.unsigned_abs(),
            spend: self.spend(),
            withheld: (self.withheld != mark.withheld).then_some(self.withheld),
            turns: Tail::new(mark.turns, mark.turns, turns),
            inputs: self.inputs.tail_since(&mark.inputs),
            outputs: self.outputs.tail_since(&mark.outputs),
            invocations: Tail::new(mark.invocations, mark.invocations, invocations),
            restricted: restricted.filter(earlier).collect(),
            shortened: shortened.filter_map(kept).collect(),
            labels: Tail::new(
                mark.labels,
                mark.labels,
                self.labellings().skip(mark.labels).cloned().collect(),
            ),
            pseudonyms: Tail::new(
                mark.pseudonyms,
                mark.pseudonyms,
                self.pseudonyms.known().all().iter().skip(mark.pseudonyms).cloned().collect(),
            ),
            dropped: self.dropped(),
        }
    }
}

impl Entries {
    fn mark(&self) -> EntriesMark {
        let last = self.len().checked_sub(1).and_then(|last| self.get(last));
        EntriesMark { length: self.len(), epoch: self.epoch, last: last.map(|entry| entry.io.clone()) }
    }

    fn is_at(&self, mark: &EntriesMark) -> bool {
        let is_last_kept = mark.last.as_ref().is_none_or(|last| self.keeps(last, mark.length));
        self.len() == mark.length && self.epoch == mark.epoch && is_last_kept
    }

    /// Whether the last of the first so many entries is this one.
    fn keeps(&self, last: &TaskIo, length: usize) -> bool {
        let entry = length.checked_sub(1).and_then(|at| self.get(at));
        entry.is_some_and(|entry| entry.io.is_same(last))
    }

    fn tail_since(&self, mark: &EntriesMark) -> Tail<Json> {
        let is_last_kept = |last: &TaskIo| self.keeps(last, mark.length);
        let kept = if self.epoch != mark.epoch {
            // earlier ones were taken back: which, nobody counts
            0
        } else if mark.last.as_ref().is_none_or(is_last_kept) {
            mark.length
        } else {
            mark.length.saturating_sub(1)
        };
        let added = (kept..self.len()).filter_map(|at| self.get(at)).map(|entry| entry.io.to_json());
        Tail::new(mark.length, kept, added.collect())
    }
}

impl ContextState {
    /// A change that leaves the state as it is.
    #[must_use]
    pub fn no_change(&self) -> ContextChange {
        ContextChange {
            model: None,
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            spend: self.spend,
            withheld: None,
            turns: Tail::default(),
            inputs: Tail::default(),
            outputs: Tail::default(),
            invocations: Tail::default(),
            restricted: Vec::new(),
            shortened: Vec::new(),
            labels: Tail::default(),
            pseudonyms: Tail::default(),
            dropped: None,
        }
    }

    /// The state after a change; nothing if it is no change of this state. Linear in the change.
    #[must_use]
    pub fn after(mut self, change: ContextChange) -> Option<Self> {
        self.model = change.model.unwrap_or(self.model);
        self.prompt_tokens = change.prompt_tokens;
        self.completion_tokens = change.completion_tokens;
        self.spend = change.spend;
        self.withheld = change.withheld.unwrap_or(self.withheld);
        let mut fits = change.turns.put_to(&mut self.turns);
        fits &= change.inputs.put_to(&mut self.inputs);
        fits &= change.outputs.put_to(&mut self.outputs);
        for position in change.restricted {
            match self.invocations.get_mut(position as usize) {
                Some(invocation) => invocation.status = InvocationStatus::Restricted,
                None => fits = false,
            }
        }
        for (position, kept) in change.shortened {
            match self.invocations.get_mut(position as usize) {
                Some(invocation) => invocation.shorten(kept),
                None => fits = false,
            }
        }
        fits &= change.invocations.put_to(&mut self.invocations);
        fits &= change.labels.put_to(&mut self.labels);
        fits &= change.pseudonyms.put_to(&mut self.pseudonyms);
        self.dropped = change.dropped.or(self.dropped);
        fits.then_some(self)
    }
}
