//! Propositions and inequalities together: whether all of some can hold at one time.
//!
//! In: a [`Problem`], the clauses of it that compare sums, and facts about these. Out: whether propositions can hold. The solver of propositions finds an assignment; the inequalities of the clauses
//! that are true or false in it are put together; if they contradict each other, that they are not so all at once is a new clause, and the solver goes on. At most [`MAX_ROUNDS`] times.

use super::amounts::{Amounts, Compared};
use super::bounds::Fact;
use super::inequality::{Inequality, contradict};
use super::problem::Problem;
use super::sat::Literal;

/// The most assignments that are tried for one question.
const MAX_ROUNDS: usize = 300;

/// What is taken for granted of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Each is looked at by itself.
    Apart,
    /// Whole numbers are added up, which has no error.
    Whole,
    /// Sums of doubles are those of mathematics, which are not rounded.
    Unrounded,
}

pub(super) struct Weighed<'p> {
    problem: Problem,
    amounts: Amounts<'p>,
    facts: Vec<Fact>,
    /// All clauses, which count.
    clauses: Vec<usize>,
}

impl<'p> Weighed<'p> {
    pub(super) fn new(mut problem: Problem, amounts: Amounts<'p>, facts: Vec<Fact>, clauses: usize) -> Self {
        terms_are_there(&mut problem, &amounts);
        Self { problem, amounts, facts, clauses: (0..clauses).collect() }
    }

    /// Whether propositions can hold together; nothing if that is not known.
    pub(super) fn can_hold(&mut self, propositions: &[Literal], numbers: Numbers) -> Option<bool> {
        let facts: Vec<usize> = (0..self.facts.len()).collect();
        self.can_hold_with(propositions, numbers, &facts)
    }

    /// The limits without any of which propositions could hold together that cannot.
    pub(super) fn limits_used(&mut self, propositions: &[Literal], numbers: Numbers) -> Vec<&'static str> {
        let mut facts: Vec<usize> = (0..self.facts.len()).collect();
        let all: Vec<&'static str> = self.facts.iter().filter_map(|fact| fact.limit).collect();
        let mut used = Vec::new();
        for limit in all {
            if used.contains(&limit) {
                continue;
            }
            let is_of = |at: &usize| self.facts.get(*at).is_some_and(|fact| fact.limit == Some(limit));
            let without: Vec<usize> = facts.iter().copied().filter(|at| !is_of(at)).collect();
            if self.can_hold_with(propositions, numbers, &without) == Some(false) {
                facts = without;
            } else {
                used.push(limit);
            }
        }
        used
    }

    fn can_hold_with(&mut self, propositions: &[Literal], numbers: Numbers, facts: &[usize]) -> Option<bool> {
        for _ in 0..MAX_ROUNDS {
            if self.problem.can_hold(propositions, &self.clauses)? {
                match self.contradiction(numbers, facts) {
                    None => return Some(true),
                    Some(literals) => self.problem.sat.clause(literals.into_iter().map(|literal| !literal)),
                }
            } else {
                return Some(false);
            }
        }
        None
    }

    /// The answers of the assignment that cannot be given all at once, few of them; nothing if they can.
    fn contradiction(&self, numbers: Numbers, facts: &[usize]) -> Option<Vec<Literal>> {
        if numbers == Numbers::Apart {
            return None;
        }
        let mut said: Vec<(Literal, Vec<Inequality>)> = Vec::new();
        let counts = |it: &&Compared| numbers == Numbers::Unrounded || !it.is_rounded;
        for compared in self.amounts.compared.iter().filter(counts) {
            let Some(truth) = self.problem.truth_of_clause(compared.clause) else { continue };
            for (literal, is_true) in [(truth.yes, true), (truth.no, false)] {
                if self.problem.sat.is_true(literal) {
                    said.push((literal, self.amounts.said(compared, is_true)));
                }
            }
        }
        let is_whole = |term| self.amounts.is_whole(term);
        let contradict = |said: &[(Literal, Vec<Inequality>)]| {
            let facts = facts.iter().filter_map(|at| Some(&self.facts.get(*at)?.says));
            contradict(said.iter().flat_map(|(_, said)| said).chain(facts), &is_whole)
        };
        if !contradict(&said) {
            return None;
        }
        let mut kept = said.clone();
        for (literal, _) in &said {
            let without: Vec<_> = kept.iter().filter(|(kept, _)| kept != literal).cloned().collect();
            if contradict(&without) {
                kept = without;
            }
        }
        Some(kept.into_iter().map(|(literal, _)| literal).collect())
    }
}

/// A clause that compares sums is answered only where their terms are there; and where they are, it is, if nothing else can fail in it.
fn terms_are_there(problem: &mut Problem, amounts: &Amounts<'_>) {
    let terms: Vec<Literal> = amounts.sure().map(|_| problem.sat.fresh()).collect();
    for (term, is_sure) in terms.iter().zip(amounts.sure()) {
        if is_sure {
            problem.sat.clause([*term]);
        }
    }
    for compared in &amounts.compared {
        let Some(truth) = problem.truth_of_clause(compared.clause) else { continue };
        let own: Vec<Literal> = Amounts::terms_of(compared).filter_map(|at| terms.get(at).copied()).collect();
        for term in &own {
            problem.sat.clause([!truth.yes, *term]);
            problem.sat.clause([!truth.no, *term]);
        }
        if compared.is_total {
            let missing = own.iter().map(|term| !*term);
            problem.sat.clause(missing.chain([truth.yes, truth.no]));
        }
    }
}
