//! Who is told what the steps of a walk come to, while it takes them.
//!
//! In: each step when it begins and when it ends, and each round of a loop. Out: nothing, from [`Unwatched`], with which a walk compiles
//! to what it is without all this; or from [`Notes`] a list of what happened, in order. There is one walk: it is told, and never asks. What a step
//! comes to and costs is the same either way: a watched walk takes no answer from a guard and no round from memory, which cost what
//! the steps in their place cost. The list is bounded; of a long loop the first rounds stay, the last one, and those that failed.

use super::error::{Halt, Outcome};
use crate::plan::NodeId;
use crate::value::Value;

/// Rounds of a loop that are kept, beside the last one and those that failed.
const FIRST_ROUNDS: usize = 3;
/// What is kept of one walk, in steps and rounds.
const MAX_NOTES: usize = 10_000;

/// Is told of the steps of a walk.
pub(super) trait Watch<'a> {
    /// Whether there is anybody to tell.
    const IS_ON: bool;

    /// A step begins. What comes out is handed back when it ends.
    fn begin(&mut self, step: NodeId) -> usize;

    /// A step has come to a value, or to none.
    fn end(&mut self, note: usize, step: NodeId, came: Outcome<'a>);

    /// A round of a loop begins, with what its variables have.
    fn round(&mut self, of: NodeId, variables: [Option<Value<'a>>; 2]);

    /// What follows is no part of what the expression says.
    fn pause(&mut self);

    /// And is over.
    fn resume(&mut self);
}

/// Nobody.
pub(super) struct Unwatched;

impl<'a> Watch<'a> for Unwatched {
    const IS_ON: bool = false;

    #[inline(always)]
    fn begin(&mut self, _step: NodeId) -> usize {
        0
    }

    #[inline(always)]
    fn end(&mut self, _note: usize, _step: NodeId, _came: Outcome<'a>) {}

    #[inline(always)]
    fn round(&mut self, _of: NodeId, _variables: [Option<Value<'a>>; 2]) {}

    #[inline(always)]
    fn pause(&mut self) {}

    #[inline(always)]
    fn resume(&mut self) {}
}

/// What happened in a walk, in order.
#[derive(Debug, Default)]
pub(super) struct Notes<'a> {
    notes: Vec<Note<'a>>,
    /// The innermost step or round that has begun and not ended.
    current: Option<usize>,
    /// How often each step came to what, those included that are not kept.
    tallies: Vec<Tally>,
    /// Whether there was more than is kept.
    is_cut: bool,
    paused: usize,
}

/// One step or round.
#[derive(Debug)]
pub(super) struct Note<'a> {
    /// The step or round that it is a part of.
    pub(super) within: Option<usize>,
    pub(super) what: Noted<'a>,
    /// What it came to; nothing of a round, and nothing where the walk ended inside.
    pub(super) came: Option<Outcome<'a>>,
}

/// What a note is about.
#[derive(Debug)]
pub(super) enum Noted<'a> {
    Step {
        step: NodeId,
        /// How many rounds of a loop are left out.
        hidden: usize,
        /// How many there were, and where the last one begins.
        rounds: usize,
        last: usize,
    },
    Round {
        variables: [Option<Value<'a>>; 2],
    },
}

/// How often a step came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) held: usize,
    pub(super) held_not: usize,
    pub(super) failed: usize,
}

impl<'a> Notes<'a> {
    pub(super) fn get(&self, note: usize) -> Option<&Note<'a>> {
        self.notes.get(note)
    }

    /// The notes that are parts of each note, in order.
    pub(super) fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts = vec![Vec::new(); self.notes.len()];
        for (position, note) in self.notes.iter().enumerate() {
            if let Some(parts) = note.within.and_then(|within| parts.get_mut(within)) {
                parts.push(position);
            }
        }
        parts
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn tally(&self, step: NodeId) -> Tally {
        self.tallies.get(step.0 as usize).copied().unwrap_or_default()
    }

    fn push(&mut self, within: Option<usize>, what: Noted<'a>) -> Option<usize> {
        if self.is_cut || self.notes.len() >= MAX_NOTES {
            self.is_cut = true;
            return None;
        }
        self.notes.push(Note { within, what, came: None });
        self.notes.len().checked_sub(1)
    }

    /// The note of the loop that a round is of: the innermost one of this step.
    fn loop_of(&self, step: NodeId) -> Option<usize> {
        let mut at = self.current;
        while let Some(here) = at {
            let note = self.notes.get(here)?;
            match note.what {
                Noted::Step { step: of, .. } if of == step => return Some(here),
                _ => at = note.within,
            }
        }
        None
    }

    /// Leaves the round out that begins here, if it is none of those that are kept.
    fn leave_out(&mut self, of: usize) {
        let Some(Note { what: Noted::Step { rounds, last, .. }, .. }) = self.notes.get(of) else { return };
        let (rounds, last) = (*rounds, *last);
        let failed = |note: &Note<'_>| matches!(note.came, Some(Err(_)));
        if rounds <= FIRST_ROUNDS || self.notes.get(last..).is_some_and(|notes| notes.iter().any(failed)) {
            return;
        }
        self.notes.truncate(last);
        if let Some(Note { what: Noted::Step { hidden, .. }, .. }) = self.notes.get_mut(of) {
            *hidden = hidden.saturating_add(1);
        }
    }
}

impl<'a> Watch<'a> for &mut Notes<'a> {
    const IS_ON: bool = true;

    fn begin(&mut self, step: NodeId) -> usize {
        let what = Noted::Step { step, hidden: 0, rounds: 0, last: 0 };
        let place = if self.paused == 0 { self.push(self.current, what) } else { None };
        let Some(place) = place else { return usize::MAX };
        self.current = Some(place);
        place
    }

    fn end(&mut self, note: usize, step: NodeId, came: Outcome<'a>) {
        if self.paused > 0 {
            return;
        }
        let at = step.0 as usize;
        if self.tallies.len() <= at {
            self.tallies.resize(at.saturating_add(1), Tally::default());
        }
        let tally = self.tallies.get_mut(at);
        if let Some(tally) = tally {
            let count = match &came {
                Ok(Value::Bool(true)) => Some(&mut tally.held),
                Ok(Value::Bool(false)) => Some(&mut tally.held_not),
                Ok(_) | Err(Halt::Asked) => None,
                Err(Halt::Fault(..)) => Some(&mut tally.failed),
            };
            count.into_iter().for_each(|count| *count = count.saturating_add(1));
        }
        if let Some(place) = self.notes.get_mut(note) {
            place.came = Some(came);
            self.current = place.within;
        }
    }

    fn round(&mut self, of: NodeId, variables: [Option<Value<'a>>; 2]) {
        if self.paused > 0 || self.is_cut {
            return;
        }
        let Some(around) = self.loop_of(of) else { return };
        self.leave_out(around);
        self.current = Some(around);
        let Some(place) = self.push(Some(around), Noted::Round { variables }) else { return };
        if let Some(Note { what: Noted::Step { rounds, last, .. }, .. }) = self.notes.get_mut(around) {
            *rounds = rounds.saturating_add(1);
            *last = place;
        }
        self.current = Some(place);
    }

    fn pause(&mut self) {
        self.paused = self.paused.saturating_add(1);
    }

    fn resume(&mut self) {
        self.paused = self.paused.saturating_sub(1);
    }
}
