//! Guards: the tests of a plan that only ask about values where they lie, made ready to be asked at once.
//!
//! Most clauses of a policy find a value at the end of a path (a variable, and the fields, keys and positions from there)
//! and ask one thing of it, with a constant. When a program is made, each such test becomes a closure that knows its
//! place and its question. `&&`, `||` and `!` over such tests become one more, and clauses side by side that ask about one
//! place look for it once. A guard makes, keeps and explains nothing. If anything is out of the ordinary (a key that is not
//! there, a number where a text should be, more to pay than the stretch of the budget has) it answers nothing, and the test is
//! run the long way, step by step, which says what is wrong and where, and lets other threads ahead. So there is one meaning:
//! a guard has no errors and no costs of its own. Builds with assertions run both and compare.

use super::ask::{Guard, Purse, Range};
use super::place::{Field, Find, Place, Variables};
use crate::env::Slot;
use crate::meter::text_units;
use crate::plan::{Clause, Node, NodeId, Plan, Question};
use std::fmt;

/// The guards of a plan, by the step that each of them is.
#[derive(Default)]
pub(crate) struct Guards(Box<[Option<Guard>]>);

impl Guards {
    /// Those of a plan: one for each test that is no part of a larger one.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut drafts: Vec<Option<Draft>> = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            // operands stand before their operators
            let draft = match node {
                Node::Ask { operand, question } => Draft::asking(&plan.nodes, *operand, question),
                Node::And(clauses) => Draft::junction(clauses, false, &mut drafts),
                Node::Or(clauses) => Draft::junction(clauses, true, &mut drafts),
                Node::Not(operand) => take(&mut drafts, *operand).map(Draft::negated),
                _ => None,
            };
            drafts.push(draft);
        }
        Self(drafts.into_iter().map(|draft| draft.map(Draft::ready)).collect())
    }

    /// The answer of the guard that a step is, if it is one and so many cost units are enough, and how many then are left.
    #[inline(always)]
    pub(super) fn ask(&self, step: NodeId, variables: &Variables<'_, '_>, left: u64) -> Option<(bool, u64)> {
        let guard = self.0.get(step.0 as usize)?.as_ref()?;
        let mut purse = Purse(left);
        let truth = guard(variables, &mut purse)?;
        Some((truth, purse.0))
    }

    /// About the bytes that they hold.
    pub(crate) fn heap_bytes(&self) -> usize {
        const EACH: usize = 128;
        let guards = self.0.iter().flatten().count();
        size_of_val(&*self.0).saturating_add(guards.saturating_mul(EACH))
    }
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} guards", self.0.iter().flatten().count())
    }
}

/// What a guard asks and where. Closures are made of it when the whole is known, so that clauses side by side that look at
/// one place, or at numbers that one variable leads to, go there once.
enum Draft {
    /// `context.llm.tokens.total > 1 && context._history.turn_count > 8`
    Numbers(Row<Asked<Number>>),
    /// `output.code >= 1 && output.code < 3`, `has(input.a)`
    Place(Place, Row<Asked<Question>>),
    /// `!a`
    Not(Box<Self>),
    /// `a && b`, `a || b`
    Junction(Row<Self>),
}

/// Tests in their order: the first whose truth is the deciding one decides, and if none does, the answer is the other
/// truth. A single test is a row of one.
struct Row<T> {
    tests: Vec<T>,
    deciding: bool,
}

/// What is asked, and the cost units of it: the question's own, and those of all steps since the question before it.
struct Asked<T> {
    what: T,
    cost: u64,
}

/// A number in the structs that a variable holds, and where it may be.
#[derive(Clone, Copy)]
struct Number {
    field: Field,
    range: Range,
}

fn take(drafts: &mut [Option<Draft>], step: NodeId) -> Option<Draft> {
    drafts.get_mut(step.0 as usize)?.take()
}

impl Draft {
    /// The one that asks a question about the end of a path.
    fn asking(nodes: &[Node], operand: NodeId, question: &Question) -> Option<Self> {
        let (place, cost) = Place::of(nodes, operand)?;
        let looked_at = match question {
            Question::StartsWith(part) | Question::EndsWith(part) => part.len(),
            Question::Has(key, _) => key.len(),
            _ => 0,
        };
        // the test is a step, and so was its constant
        let own = question.constants().saturating_add(1).saturating_add(text_units(looked_at));
        let cost = cost.saturating_add(own);
        Some(match (place, question) {
            (Place::Field(field), Question::Compare(comparison, bound)) => {
                let range = Range::of(*comparison, *bound);
                Self::Numbers(Row::of(Asked { what: Number { field, range }, cost }))
            }
            (place, question) => Self::Place(place, Row::of(Asked { what: question.clone(), cost })),
        })
    }

    fn negated(mut self) -> Self {
        self.add_cost(1);
        Self::Not(Box::new(self))
    }

    /// `&&` or `||`. If one of the clauses is no guard, the others stay what they are.
    fn junction(clauses: &[Clause], deciding: bool, drafts: &mut [Option<Self>]) -> Option<Self> {
        let is_guard = |clause: &Clause| matches!(drafts.get(clause.step.0 as usize), Some(Some(_)));
        if !clauses.iter().all(is_guard) {
            return None;
        }
        let mut row: Vec<Self> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let mut next = take(drafts, clause.step)?;
            next.add_cost(clause.operators.into());
            let apart = match row.last_mut() {
                Some(before) => before.join(next, deciding),
                None => Some(next),
            };
            row.extend(apart);
        }
        let mut junction = match row.pop() {
            Some(only) if row.is_empty() => only,
            last => Self::Junction(Row { tests: row.into_iter().chain(last).collect(), deciding }),
        };
        junction.add_cost(1);
        Some(junction)
    }

    /// Takes in the clause that comes next, if it looks where this one does. Gives back any other.
    fn join(&mut self, next: Self, deciding: bool) -> Option<Self> {
        match (self, next) {
            (Self::Numbers(row), Self::Numbers(next)) if row.variable() == next.variable() => {
                row.join(next, deciding).map(Self::Numbers)
            }
            (Self::Place(place, row), Self::Place(other, next)) if *place == other => {
                row.join(next, deciding).map(|next| Self::Place(other, next))
            }
            (_, next) => Some(next),
        }
    }

    /// Adds the cost of a step around it. It is paid with the first question, which is asked in any case.
    fn add_cost(&mut self, units: u64) {
        match self {
            Self::Numbers(row) => row.add_cost(units),
            Self::Place(_, row) => row.add_cost(units),
            Self::Not(draft) => draft.add_cost(units),
            Self::Junction(row) => row.tests.first_mut().into_iter().for_each(|first| first.add_cost(units)),
        }
    }

    fn ready(self) -> Guard {
        match self {
            Self::Numbers(row) => row.ready(),
            Self::Place(Place::Root(place), row) => row.about(place),
            Self::Place(Place::Field(place), row) => row.about(place),
            Self::Place(Place::Item(place), row) => row.about(place),
            Self::Place(Place::InRoot(place), row) => row.about(place),
            Self::Place(Place::InItem(place), row) => row.about(place),
            Self::Not(draft) => {
                let guard = draft.ready();
                Box::new(move |variables, purse| guard(variables, purse).map(|truth| !truth))
            }
            Self::Junction(row) => {
                let tests = row.tests.into_iter().map(Self::ready).collect();
                let row = Row { tests, deciding: row.deciding };
                Box::new(move |variables, purse| row.ask(|guard: &Guard| guard(variables, purse)))
            }
        }
    }
}

impl<T> Row<T> {
    #[inline(always)]
    fn ask(&self, mut ask: impl FnMut(&T) -> Option<bool>) -> Option<bool> {
        for test in &self.tests {
            if ask(test)? == self.deciding {
                return Some(self.deciding);
            }
        }
        Some(!self.deciding)
    }
}

impl<T> Row<Asked<T>> {
    fn of(test: Asked<T>) -> Self {
        // of a single test either truth decides
        Self { tests: vec![test], deciding: true }
    }

    /// Takes in the tests of the next row, if the first with this truth decides in both. Gives back any other.
    fn join(&mut self, next: Self, deciding: bool) -> Option<Self> {
        let fits = |row: &Self| row.deciding == deciding || row.tests.len() == 1;
        if !fits(self) || !fits(&next) {
            return Some(next);
        }
        self.tests.extend(next.tests);
        self.deciding = deciding;
        None
    }

    fn add_cost(&mut self, units: u64) {
        if let Some(first) = self.tests.first_mut() {
            first.cost = first.cost.saturating_add(units);
        }
    }
}

impl Row<Asked<Number>> {
    /// The variable that holds the structs of all of them.
    fn variable(&self) -> Option<Slot> {
        self.tests.first().map(|number| number.what.field.variable())
    }

    fn ready(self) -> Guard {
        match (&*self.tests, self.variable()) {
            (&[Asked { what, cost }], _) => what.range.about(what.field, cost),
            (_, variable) => Box::new(move |variables, purse| {
                let structs = variables.structs(variable?)?;
                self.ask(|Asked { what, cost }| {
                    let number = what.field.int_of(structs)?;
                    purse.pay(*cost)?;
                    Some(what.range.has(number))
                })
            }),
        }
    }
}

impl Row<Asked<Question>> {
    /// The guard that asks these questions about the end of a path.
    fn about(self, place: impl Find + 'static) -> Guard {
        if let [Asked { what, cost }] = &*self.tests {
            return what.about(place, *cost);
        }
        if let Some(tests) = self.tests.iter().map(Asked::range).collect() {
            let ranges = Row { tests, deciding: self.deciding };
            return Box::new(move |variables, purse| {
                let number = place.int(variables)?;
                ranges.ask(|Asked { what, cost }| {
                    purse.pay(*cost)?;
                    Some(what.has(number))
                })
            });
        }
        Box::new(move |variables, purse| {
            let value = place.view(variables)?;
            self.ask(|Asked { what, cost }| {
                purse.pay(*cost)?;
                what.of_view(value, purse)
            })
        })
    }
}

impl Asked<Question> {
    /// The range that a number is looked for in, if that is what is asked.
    fn range(&self) -> Option<Asked<Range>> {
        match self.what {
            Question::Compare(comparison, bound) => {
                Some(Asked { what: Range::of(comparison, bound), cost: self.cost })
            }
            _ => None,
        }
    }
}
