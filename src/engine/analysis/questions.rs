//! The clauses of expressions that are looked at together, and the subjects at which they meet.
//!
//! In: the clauses of one expression after the other, and the steps that are passed in between. Out: [`Questions`]. What a step may have changed
//! has another name behind it, so that it is not taken for what it was.

use super::node::Node;
use super::reach::{Lasting, Reach};
use super::sample::Sample;
use super::subject::Subject;
use super::text::Question;
use crate::cel::{Expr, ExprId};
use crate::source::Span;
use std::collections::HashSet;

/// What a clause asks of its subject.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Whether it is true. At the root of an expression anything has a truth (`CEL-14`), inside only a bool has.
    Truth { at_root: bool },
    /// `has`
    Has,
    /// A comparison with a constant, or membership in a list of constants.
    Constants(Vec<Sample>),
    /// A question about a text.
    Text(Question),
    /// A comparison of what arithmetic with constants makes of it: the numbers at which the answer may change.
    Arithmetic(Vec<Sample>),
    /// Anything about a subject that has these values alone: each of them is tried.
    Exact(Vec<Sample>),
    /// A comparison with itself.
    Itself,
    /// A comparison of two paths: whether it asks for order, which only numbers are sure to have.
    Two { of_order: bool },
    /// `'a' in p`: whether something is an element or key of it.
    Holds,
}

/// What a step changes of what later steps read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    Nothing,
    /// All that is neither an argument nor kept as it was for as long as the call waits ([`Lasting`]).
    WhatPasses,
    AllButInput,
    All,
}

/// One question about one subject.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) subject: usize,
    pub(super) form: Form,
    pub(super) span: Span,
    /// Its number in the tree of its expression.
    pub(super) id: ExprId,
    /// The clause with [`VARIABLE`] in the place of the subject.
    pub(super) asked: Expr,
    /// Whether its answer may be anything, as nothing is known of what it asks.
    pub(super) is_open: bool,
}

/// What is so of the elements of a list that a macro takes from another one, as questions of its own.
pub(super) struct Elements {
    /// The list.
    pub(super) key: String,
    /// The one that it is taken from.
    pub(super) whole: String,
    /// When they are read: how often steps have changed what later ones read.
    pub(super) time: [usize; 3],
    pub(super) node: Node,
    pub(super) subjects: Vec<Subject>,
    pub(super) clauses: Vec<Clause>,
    /// Whether several macros say so together, of which each alone is looked at elsewhere.
    pub(super) is_chain: bool,
}

/// Whether a list has an element, as a list that is filled if it has.
pub(super) struct Member {
    /// The elements that are equal to it, as a list.
    pub(super) key: String,
    /// The list.
    pub(super) whole: String,
    /// When it is read.
    pub(super) time: [usize; 3],
    /// The clause that asks for it.
    pub(super) clause: usize,
    pub(super) constant: Sample,
    /// The question whether an element is it, with [`VARIABLE`] in the place of the element.
    pub(super) asked: Expr,
}

/// The clauses that are looked at together. What has more is left undecided.
pub(super) const MAX_CLAUSES: usize = 512;

/// The name of the subject in what is run.
pub(super) const VARIABLE: &str = "it";
/// The name of the second of two paths that are compared.
pub(super) const SECOND: &str = "that";

/// All questions about all subjects, of the expressions that are looked at together.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) subjects: Vec<Subject>,
    pub(super) clauses: Vec<Clause>,
    /// Of each list that a macro takes from another one.
    pub(super) elements: Vec<Elements>,
    /// Of each clause that asks whether a list has an element.
    pub(super) members: Vec<Member>,
    /// How often a step has changed what later ones read: what may have changed has another name.
    state: usize,
    /// The same of the arguments of the call.
    input_state: usize,
    /// The same of calls on record that are kept as they were while the call waits.
    lasting_state: usize,
    /// What is kept so; without it nothing is.
    pub(super) lasting: Option<Lasting>,
    /// The arguments that every call has: without one of them no call is let by.
    pub(super) given: HashSet<String>,
}

impl Questions {
    /// A step that changes something has been passed.
    pub(super) fn pass(&mut self, changes: Changes) {
        let (other, lasting, input) = match changes {
            Changes::Nothing => (0, 0, 0),
            Changes::WhatPasses => (1, 0, 0),
            Changes::AllButInput => (1, 1, 0),
            Changes::All => (1, 1, 1),
        };
        self.state = self.state.saturating_add(other);
        self.lasting_state = self.lasting_state.saturating_add(lasting);
        self.input_state = self.input_state.saturating_add(input);
    }

    /// When something is read now: how often steps have changed what later ones read.
    pub(super) fn time(&self) -> [usize; 3] {
        [self.state, self.input_state, self.lasting_state]
    }

    /// How often calls on record may have changed that are kept as they were while a call waits.
    pub(super) fn lasting_state(&self) -> usize {
        self.lasting_state
    }

    /// Whether calls on record that are read so are kept as they are while the call waits.
    pub(super) fn lasts(&self, reach: &Reach) -> bool {
        self.lasting.as_ref().is_some_and(|lasting| lasting.covers(reach))
    }

    /// The same of the calls of these functions that succeed.
    pub(super) fn lasts_for(&self, mut functions: impl Iterator<Item = usize>) -> bool {
        self.lasting.as_ref().is_some_and(|lasting| functions.all(|function| lasting.closes(function)))
    }

    /// Whether no call of these functions is let through as long as the call waits.
    pub(super) fn keeps(&self, mut functions: impl Iterator<Item = usize>) -> bool {
        self.lasting.as_ref().is_some_and(|lasting| functions.all(|function| lasting.holds(function)))
    }

    /// How often what is read so may have changed by now; `lasts` says whether the calls are kept as they are.
    pub(super) fn state_of(&self, reach: &Reach, lasts: bool) -> usize {
        let calls = match (reach.calls.is_empty(), lasts) {
            (true, _) => 0,
            (false, true) => self.lasting_state,
            (false, false) => self.state,
        };
        let input = if reach.input { self.input_state } else { 0 };
        let other = if reach.other { self.state } else { 0 };
        calls.saturating_add(input).saturating_add(other)
    }

    /// The name of what is read so, at this time.
    pub(super) fn named(&self, key: &str, reach: &Reach, lasts: bool) -> String {
        match self.state_of(reach, lasts) {
            0 => key.to_owned(),
            state => format!("{key}@{state}"),
        }
    }

    /// The position of a subject, of which each is known once.
    pub(super) fn known(&mut self, subject: Subject) -> usize {
        match self.subjects.iter().position(|known| known.key == subject.key) {
            Some(known) => known,
            None => {
                self.subjects.push(subject);
                self.subjects.len().saturating_sub(1)
            }
        }
    }

    /// Takes over what is so of the elements of a list; the part as it is here.
    pub(super) fn take_over(&mut self, Elements { node, subjects, clauses, .. }: &Elements) -> Node {
        let first = self.clauses.len();
        for clause in clauses {
            let subject = subjects.get(clause.subject);
            let subject = subject.map_or(usize::MAX, |subject| self.known(subject.clone()));
            self.clauses.push(Clause { subject, ..clause.clone() });
        }
        node.behind(first)
    }
}
