//! What comparisons say of numbers, beside what propositions say: which answers of clauses cannot be given all at once.
//!
//! In: the comparisons of sums among the clauses of a [`Problem`](super::problem::Problem), and facts about what they add up. Out: of answers that contradict each other as
//! inequalities few that do. The solver of propositions learns these, and goes on.

use super::amounts::{Amounts, Fact};
use super::cells::Answer;
use super::compared::{Compared, Says};
use super::inequality::{Inequality, contradict};
use super::sat::{Literal, Sat};
use std::collections::BTreeSet;

/// What is taken for granted of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Each is looked at by itself.
    Apart,
    /// Whole numbers are added up, which has no error, and what is rounded once stands beside a constant.
    Exact,
    /// Sums of doubles are those of mathematics, which are not rounded.
    Unrounded,
}

/// Comparisons of sums, and what is known of these.
pub(super) struct Weights {
    compared: Vec<Compared>,
    facts: Vec<Fact>,
    /// Numbers, each with the double that `double` makes of it.
    doubles: Vec<(usize, usize)>,
    /// By term: whether it is a whole number.
    whole: Vec<bool>,
    pub(super) numbers: Numbers,
    /// Limits of the task that do not count.
    pub(super) without: Vec<&'static str>,
    /// What holds where numbers are added up; what is learnt of them says nothing elsewhere.
    adds: Literal,
    /// What holds where sums are not rounded.
    is_unrounded: Literal,
    /// What holds where a limit of the task counts.
    limits: Vec<(&'static str, Literal)>,
}

/// Answers of clauses that cannot be given all at once.
pub(super) struct Contradiction {
    /// By clause.
    pub(super) answers: Vec<(usize, bool)>,
    /// What it rests on.
    pub(super) rests_on: Vec<Literal>,
}

impl Weights {
    pub(super) fn new(amounts: Amounts<'_>, facts: Vec<Fact>, numbers: Numbers, sat: &mut Sat) -> Self {
        let mut limits: Vec<(&'static str, Literal)> = Vec::new();
        for limit in facts.iter().filter_map(|fact| fact.limit) {
            if limits.iter().all(|(known, _)| *known != limit) {
                limits.push((limit, sat.fresh()));
            }
        }
        Self {
            whole: amounts.whole().collect(),
            doubles: amounts.doubles.clone(),
            compared: amounts.into_compared(),
            facts,
            numbers,
            without: Vec::new(),
            adds: sat.fresh(),
            is_unrounded: sat.fresh(),
            limits,
        }
    }

    /// The limits of the task of which something is known, each once.
    pub(super) fn limits(&self) -> Vec<&'static str> {
        self.limits.iter().map(|(limit, _)| *limit).collect()
    }

    /// What holds as numbers are taken now.
    pub(super) fn assumed(&self) -> Vec<Literal> {
        let (adds, is_unrounded) = match self.numbers {
            Numbers::Apart => (false, false),
            Numbers::Exact => (true, false),
            Numbers::Unrounded => (true, true),
        };
        let limits = self.limits.iter().filter(|(limit, _)| !self.without.contains(limit));
        let kinds = [(adds, self.adds), (is_unrounded, self.is_unrounded)];
        let kinds = kinds.into_iter().filter_map(|(holds, literal)| holds.then_some(literal));
        kinds.chain(limits.map(|(_, literal)| *literal)).collect()
    }

    /// Whether these answers of clauses cannot be given all at once. One that fails lacks a number that another one has.
    pub(super) fn contradict(&self, answer: &dyn Fn(usize) -> Option<Answer>) -> bool {
        let is_given = |answer: Answer| match answer {
            Answer::True => Some(true),
            Answer::False => Some(false),
            Answer::Fails | Answer::Free => None,
        };
        let mut are_there: BTreeSet<usize> = BTreeSet::new();
        for compared in self.compared.iter().filter(|it| answer(it.clause).and_then(is_given).is_some()) {
            are_there.extend(&compared.terms);
        }
        for (number, double) in &self.doubles {
            if are_there.contains(number) || are_there.contains(double) {
                are_there.extend([number, double]);
            }
        }
        let fails = |it: &Compared| it.is_total && answer(it.clause) == Some(Answer::Fails);
        let has_all = |it: &Compared| it.terms.iter().all(|term| are_there.contains(term));
        self.compared.iter().any(|it| fails(it) && has_all(it))
            || self.are_contradictory(&self.said(&|clause| is_given(answer(clause)?)), &self.without)
    }

    /// Few of these answers that cannot be given all at once; nothing if all can.
    pub(super) fn contradiction(&self, answer: &dyn Fn(usize) -> Option<bool>) -> Option<Contradiction> {
        let mut said = self.said(answer);
        if !self.are_contradictory(&said, &self.without) {
            return None;
        }
        for left_out in (0..said.len()).rev() {
            let mut fewer = said.clone();
            fewer.remove(left_out);
            if self.are_contradictory(&fewer, &self.without) {
                said = fewer;
            }
        }
        let mut without = self.without.clone();
        let mut rests_on = vec![self.adds];
        for (limit, counts) in self.limits.iter().filter(|(limit, _)| !self.without.contains(limit)) {
            without.push(limit);
            if !self.are_contradictory(&said, &without) {
                without.pop();
                rests_on.push(*counts);
            }
        }
        rests_on.extend(said.iter().any(|(compared, _)| compared.is_rounded).then_some(self.is_unrounded));
        let answers = said.into_iter().map(|(compared, answer)| (compared.clause, answer)).collect();
        Some(Contradiction { answers, rests_on })
    }

    /// The comparisons that are answered.
    fn said(&self, answer: &dyn Fn(usize) -> Option<bool>) -> Vec<(&Compared, bool)> {
        let counts = |it: &&Compared| match self.numbers {
            Numbers::Apart => false,
            Numbers::Exact => !it.is_rounded,
            Numbers::Unrounded => true,
        };
        let compared = self.compared.iter().filter(counts);
        compared.filter_map(|it| answer(it.clause).map(|answer| (it, answer))).collect()
    }

    /// Whether these answers cannot be given all at once. Of several numbers that differ each pair is asked about by itself, which is enough: what inequalities say leaves out one
    /// difference, or none.
    fn are_contradictory(&self, said: &[(&Compared, bool)], without: &[&'static str]) -> bool {
        if said.is_empty() {
            return false;
        }
        let says: Vec<&Says> = said.iter().map(|(it, yes)| if *yes { &it.yes } else { &it.no }).collect();
        let counts = |fact: &&Fact| fact.limit.is_none_or(|limit| !without.contains(&limit));
        let facts = self.facts.iter().filter(counts).map(|fact| &fact.says);
        let all: Vec<&Inequality> = says.iter().flat_map(|says| &says.all).chain(facts).collect();
        let is_whole = |term: usize| self.whole.get(term).is_some_and(|is_whole| *is_whole);
        let contradict =
            |more: Option<&Inequality>| contradict(all.iter().copied().chain(more).cloned(), &is_whole);
        let excludes = |either: &[Inequality; 2]| either.iter().all(|one| contradict(Some(one)));
        contradict(None) || says.iter().filter_map(|says| says.either.as_ref()).any(excludes)
    }
}
