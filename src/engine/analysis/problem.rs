//! What is asked, as clauses for the solver.
//!
//! In: the questions of some expressions, and the cells of their subjects. Out: a [`Problem`], in which each subject lies in one of its
//! cells and each part of an expression is true, false or fails, as the evaluator has it: `&&` is false if one side is, whatever the
//! other does, and `||` is its dual. So if there is no assignment in which a part is true, no input makes it true. Linear in the
//! answers.

use super::amounts::{Amounts, Fact};
use super::cells::{Answer, Cell, Cells, Trial};
use super::emptiness::{Apart, Filling};
use super::fixed::Implied;
use super::node::{Node, NodeKind};
use super::predicate::ELEMENT_KEY;
use super::questions::{Clause, Elements, Form, Member, Questions};
use super::sat::{Literal, Sat};
use super::twins::{self, Pair};
use super::weighed::{Contradiction, Numbers, Weights};
use std::collections::HashMap;

/// Whether a part is true and whether it is false; it fails if it is neither.
#[derive(Clone, Copy)]
pub(super) struct Truth {
    pub(super) yes: Literal,
    pub(super) no: Literal,
}

impl Truth {
    /// What holds where this is the answer; nothing where it may be any.
    fn answered(self, answer: Answer) -> Option<[Literal; 2]> {
        let Self { yes, no } = self;
        match answer {
            Answer::True => Some([yes, !no]),
            Answer::False => Some([!yes, no]),
            Answer::Fails => Some([!yes, !no]),
            Answer::Free => None,
        }
    }
}

/// Whether a list is there, and has an element or none.
#[derive(Clone, Copy)]
struct Filled {
    is_empty: Literal,
    is_filled: Literal,
}

/// The most assignments that are tried for one question, where their numbers contradict each other.
const MAX_ROUNDS: usize = 300;

/// Questions, ready to be put.
pub(super) struct Problem {
    pub(super) sat: Sat,
    /// By clause.
    clauses: Vec<Truth>,
    /// By clause: whether its answers count. One that is not taken into account may be answered in any way.
    pub(super) counts: Vec<Literal>,
    /// By subject.
    pub(super) cells: Vec<Cells>,
    /// By clause: whether every answer is known.
    pub(super) is_decided: Vec<bool>,
    always: Literal,
    /// Whether what is said of lists goes together; it does where it counts.
    pub(super) counts_lists: bool,
    goes_together: Literal,
    /// Lists that are apart because of what is so of their elements.
    pub(super) apart: Vec<Apart>,
    /// By the address of the part.
    truths: HashMap<*const Node, Truth>,
    /// Pairs of texts, with the cells of the pair and of both that do not go together.
    pub(super) twins: Vec<(Pair, Vec<[usize; 3]>)>,
    /// What clauses say of each other.
    pub(super) implied: Vec<Implied>,
    /// What comparisons say of several numbers, if that counts.
    pub(super) weights: Option<Weights>,
}

impl Problem {
    pub(super) fn new(questions: &Questions, trial: &mut Trial) -> Self {
        let mut sat = Sat::new();
        let always = sat.fresh();
        sat.clause([always]);
        let mut truth = || Truth { yes: sat.fresh(), no: sat.fresh() };
        let clauses: Vec<Truth> = questions.clauses.iter().map(|_| truth()).collect();
        let counts: Vec<Literal> = questions.clauses.iter().map(|_| sat.fresh()).collect();
        for Truth { yes, no } in &clauses {
            sat.clause([!*yes, !*no]);
        }
        let is_decided = questions.clauses.iter().map(|clause| !clause.is_open).collect();
        let goes_together = sat.fresh();
        let mut problem = Self {
            sat,
            clauses,
            counts,
            cells: Vec::new(),
            is_decided,
            always,
            counts_lists: true,
            goes_together,
            apart: apart(questions, trial),
            truths: HashMap::new(),
            twins: Vec::new(),
            implied: Vec::new(),
            weights: None,
        };
        let pairs = twins::pairs(questions);
        let asked: Vec<Vec<usize>> =
            (0..questions.subjects.len()).map(|subject| twins::asked(subject, questions, &pairs)).collect();
        let mut places: Vec<Vec<Literal>> = Vec::new();
        for ((at, subject), asked) in questions.subjects.iter().enumerate().zip(&asked) {
            let clauses: Vec<&Clause> =
                asked.iter().filter_map(|clause| questions.clauses.get(*clause)).collect();
            let cells = trial.cells(subject, &clauses);
            let own = clauses.iter().take_while(|clause| clause.subject == at).count();
            places.push(problem.place(&cells, asked.get(..own).unwrap_or_default()));
            problem.cells.push(cells);
        }
        problem.twins(questions, (&pairs, &asked), &places);
        problem.beginnings(questions, &places);
        problem.lists(questions, &places);
        // the name of a subject says when it is read; what has none may be another thing in each step
        problem.answer_once(questions, |clause| clause.subject != usize::MAX);
        problem
    }

    /// One question has one answer, also where nobody knows it: of these clauses those that ask the same of one subject.
    pub(super) fn answer_once(&mut self, questions: &Questions, counts: impl Fn(&Clause) -> bool) {
        let mut asked: HashMap<(usize, bool, String), usize> = HashMap::new();
        for (at, clause) in questions.clauses.iter().enumerate().filter(|(_, clause)| counts(clause)) {
            // at the root of an expression anything has a truth, within one a bool alone
            let at_root = matches!(clause.form, Form::Truth { at_root: true });
            let first = *asked.entry((clause.subject, at_root, clause.asked.to_string())).or_insert(at);
            if first != at {
                self.answer_alike(first, at);
            }
        }
    }

    /// A subject lies in one of its cells, and its clauses are answered as there.
    fn place(&mut self, cells: &Cells, clauses: &[usize]) -> Vec<Literal> {
        let places: Vec<Literal> = cells.cells.iter().map(|_| self.sat.fresh()).collect();
        self.sat.clause(places.iter().copied());
        for (clause, answers) in clauses.iter().zip(&cells.answers) {
            let (Some(Truth { yes, no }), Some(counts)) =
                (self.clauses.get(*clause), self.counts.get(*clause))
            else {
                continue;
            };
            let (truth, counts) = (Truth { yes: *yes, no: *no }, *counts);
            for (place, answer) in places.iter().zip(answers) {
                for answered in truth.answered(*answer).into_iter().flatten() {
                    self.sat.clause([!*place, !counts, answered]);
                }
            }
            let open = cells
                .cells
                .iter()
                .zip(answers)
                .any(|(cell, answer)| *answer == Answer::Free && !matches!(cell, Cell::Other));
            if open && let Some(decided) = self.is_decided.get_mut(*clause) {
                *decided = false;
            }
        }
        places
    }

    /// Texts lie in cells that go with how they stand to each other.
    fn twins(
        &mut self,
        questions: &Questions,
        (pairs, asked): (&[Pair], &[Vec<usize>]),
        places: &[Vec<Literal>],
    ) {
        for pair in pairs {
            let apart = twins::apart(*pair, questions, (asked, &self.cells));
            let [one, two] = pair.texts;
            for cells in &apart {
                let place = |(subject, cell): (usize, &usize)| Some(!*places.get(subject)?.get(*cell)?);
                let own = [pair.pair, one, two].into_iter().zip(cells).filter_map(place);
                self.sat.clause(own);
            }
            self.twins.push((*pair, apart));
        }
    }

    /// What begins with a path that has no fields cannot be read.
    fn beginnings(&mut self, questions: &Questions, places: &[Vec<Literal>]) {
        for (at, subject) in questions.subjects.iter().enumerate() {
            for (before, known) in questions.subjects.iter().enumerate() {
                if !subject.beginnings.contains(&known.key) {
                    continue;
                }
                let (Some(own), Some(those)) = (self.cells.get(at), self.cells.get(before)) else { continue };
                let failed = own.cells.iter().position(|cell| matches!(cell, Cell::Failed));
                let failed = failed.and_then(|failed| places.get(at)?.get(failed).copied());
                let bare = those.cells.iter().enumerate().filter(|(_, cell)| !cell.has_fields());
                let bare: Vec<Literal> =
                    bare.filter_map(|(cell, _)| places.get(before)?.get(cell).copied()).collect();
                for place in bare {
                    self.sat.clause([!place].into_iter().chain(failed));
                }
            }
        }
    }

    /// What is said of one list goes together.
    fn lists(&mut self, questions: &Questions, places: &[Vec<Literal>]) {
        let alone = !self.goes_together;
        let mut known: HashMap<&str, Filled> = HashMap::new();
        for (at, subject) in questions.subjects.iter().enumerate() {
            for (of, said) in subject.emptiness.iter().enumerate() {
                let named = said.lists.iter().map(|list| list.key.as_str());
                let lists: Vec<Filled> =
                    named.map(|list| *known.entry(list).or_insert_with(|| self.list())).collect();
                for pair in lists.windows(2) {
                    if let [own, whole] = pair {
                        self.within(*own, *whole);
                    }
                }
                let (Some(list), Some(cells), Some(places)) =
                    (lists.first(), self.cells.get(at), places.get(at))
                else {
                    continue;
                };
                for (place, said) in places.iter().zip(cells.fillings.get(of).into_iter().flatten()) {
                    let Filling { empty, filled, no_list } = said;
                    if !empty {
                        self.sat.clause([alone, !*place, !list.is_empty]);
                    }
                    if !filled {
                        self.sat.clause([alone, !*place, !list.is_filled]);
                    }
                    if !no_list {
                        self.sat.clause([alone, !*place, list.is_empty, list.is_filled]);
                    }
                }
            }
        }
        for member in &questions.members {
            let [own, whole] = [&member.key, &member.whole]
                .map(|list| *known.entry(list.as_str()).or_insert_with(|| self.list()));
            self.within(own, whole);
            let (Some(Truth { yes, no }), Some(counts)) =
                (self.clauses.get(member.clause).copied(), self.counts.get(member.clause).copied())
            else {
                continue;
            };
            self.sat.clause([alone, !counts, !yes, own.is_filled]);
            self.sat.clause([alone, !counts, !no, own.is_empty]);
        }
        for Apart { filled, empty } in &self.apart {
            let filled = known.get(filled.as_str()).map(|list| !list.is_filled);
            let empty = empty.iter().filter_map(|list| known.get(list.as_str())).map(|list| !list.is_empty);
            self.sat.clause([alone].into_iter().chain(filled).chain(empty));
        }
    }

    /// A list has no element that is not in the one that it is taken from.
    fn within(&mut self, own: Filled, whole: Filled) {
        let alone = !self.goes_together;
        self.sat.clause([alone, !whole.is_empty, own.is_empty]);
        self.sat.clause([alone, !own.is_filled, whole.is_filled]);
        self.sat.clause([alone, !own.is_empty, whole.is_empty, whole.is_filled]);
    }

    /// A list of which nothing is known.
    fn list(&mut self) -> Filled {
        let list = Filled { is_empty: self.sat.fresh(), is_filled: self.sat.fresh() };
        self.sat.clause([!list.is_empty, !list.is_filled]);
        list
    }

    /// The truth of a part, which lives as long as this does. Each is put together once.
    pub(super) fn truth(&mut self, node: &Node) -> Truth {
        let at = std::ptr::from_ref(node);
        if let Some(known) = self.truths.get(&at) {
            return *known;
        }
        let truth = self.put_together(node);
        self.truths.insert(at, truth);
        truth
    }

    fn put_together(&mut self, node: &Node) -> Truth {
        match &node.kind {
            NodeKind::Constant(true) => Truth { yes: self.always, no: !self.always },
            NodeKind::Constant(false) => Truth { yes: !self.always, no: self.always },
            NodeKind::Clause(clause) => match self.clauses.get(*clause) {
                Some(truth) => *truth,
                None => Truth { yes: self.sat.fresh(), no: self.sat.fresh() },
            },
            NodeKind::Not(operand) => {
                let Truth { yes, no } = self.truth(operand);
                Truth { yes: no, no: yes }
            }
            NodeKind::Same(operand) => self.truth(operand),
            NodeKind::And(operands) => {
                let [left, right] = operands.each_ref().map(|operand| self.truth(operand));
                Truth { yes: self.sat.all(&[left.yes, right.yes]), no: self.sat.any(&[left.no, right.no]) }
            }
            NodeKind::Or(operands) => {
                let [left, right] = operands.each_ref().map(|operand| self.truth(operand));
                Truth { yes: self.sat.any(&[left.yes, right.yes]), no: self.sat.all(&[left.no, right.no]) }
            }
            NodeKind::If(parts) => {
                let [condition, then, other] = parts.each_ref().map(|part| self.truth(part));
                let mut either = |one: Literal, two: Literal| {
                    let one = self.sat.all(&[condition.yes, one]);
                    let two = self.sat.all(&[condition.no, two]);
                    self.sat.any(&[one, two])
                };
                Truth { yes: either(then.yes, other.yes), no: either(then.no, other.no) }
            }
        }
    }

    /// The truth of a clause by its position.
    pub(super) fn truth_of_clause(&self, clause: usize) -> Option<Truth> {
        self.clauses.get(clause).copied()
    }

    /// Two clauses are the same question, so they have the same answer, also where nobody knows it.
    fn answer_alike(&mut self, one: usize, two: usize) {
        let (Some(Truth { yes, no }), Some(other)) = (self.clauses.get(one), self.clauses.get(two)) else {
            return;
        };
        for (left, right) in [(*yes, other.yes), (*no, other.no)] {
            self.sat.clause([!left, right]);
            self.sat.clause([left, !right]);
        }
    }

    /// What holds always.
    pub(super) fn always(&self) -> Literal {
        self.always
    }

    /// As [`weigh`](Self::weigh), with what is known of each number; nothing where each is asked about by itself, as cells say it all then.
    pub(super) fn weigh_several(&mut self, amounts: Amounts<'_>) {
        if amounts.are_of_several() {
            let ranges = amounts.ranges();
            self.weigh(amounts, ranges, Numbers::Exact);
        }
    }

    /// From now on answers count for what they say of several numbers, too.
    pub(super) fn weigh(&mut self, amounts: Amounts<'_>, facts: Vec<Fact>, numbers: Numbers) {
        self.terms_are_there(&amounts);
        self.weights = Some(Weights::new(amounts, facts, numbers, &mut self.sat));
    }

    /// A clause that compares sums is answered only where their terms are there; and where they are, it is, if nothing else can fail in it.
    fn terms_are_there(&mut self, amounts: &Amounts<'_>) {
        let terms: Vec<Literal> = amounts.sure().map(|_| self.sat.fresh()).collect();
        for (term, is_sure) in terms.iter().zip(amounts.sure()) {
            if is_sure {
                self.sat.clause([*term]);
            }
        }
        for (number, double) in &amounts.doubles {
            if let (Some(number), Some(double)) = (terms.get(*number), terms.get(*double)) {
                self.sat.clause([!*number, *double]);
                self.sat.clause([*number, !*double]);
            }
        }
        for compared in &amounts.compared {
            let (Some(Truth { yes, no }), Some(counts)) =
                (self.truth_of_clause(compared.clause), self.counts.get(compared.clause).copied())
            else {
                continue;
            };
            let own: Vec<Literal> = compared.terms.iter().filter_map(|at| terms.get(*at).copied()).collect();
            for term in &own {
                self.sat.clause([!counts, !yes, *term]);
                self.sat.clause([!counts, !no, *term]);
            }
            if compared.is_total {
                let missing = own.iter().map(|term| !*term);
                self.sat.clause(missing.chain([!counts, yes, no]));
            }
        }
    }

    /// Whether a proposition can hold, if the answers of these clauses count and all others may be any.
    pub(super) fn can_hold(&mut self, proposition: &[Literal], clauses: &[usize]) -> Option<bool> {
        let counts = clauses.iter().filter_map(|clause| self.counts.get(*clause)).copied();
        let lists = self.counts_lists.then_some(self.goes_together);
        let numbers = self.weights.as_ref().map(Weights::assumed).unwrap_or_default();
        let assumed: Vec<Literal> =
            proposition.iter().copied().chain(counts).chain(lists).chain(numbers).collect();
        for _ in 0..MAX_ROUNDS {
            if !self.sat.can_hold(&assumed)? {
                return Some(false);
            }
            match self.contradiction(clauses) {
                None => return Some(true),
                Some(learnt) => self.sat.clause(learnt),
            }
        }
        None
    }

    /// That the answers of the assignment are not given all at once, if their numbers contradict each other.
    fn contradiction(&self, clauses: &[usize]) -> Option<Vec<Literal>> {
        let answer = |clause: usize| {
            let Truth { yes, no } = self.truth_of_clause(clause).filter(|_| clauses.contains(&clause))?;
            match (self.sat.is_true(yes), self.sat.is_true(no)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }
        };
        let Contradiction { answers, rests_on } = self.weights.as_ref()?.contradiction(&answer)?;
        let mut learnt: Vec<Literal> = rests_on.into_iter().map(|literal| !literal).collect();
        for (clause, answer) in answers {
            let Truth { yes, no } = self.truth_of_clause(clause)?;
            learnt.extend([!*self.counts.get(clause)?, if answer { !yes } else { !no }]);
        }
        Some(learnt)
    }

    /// Takes over what clauses say of each other.
    pub(super) fn imply(&mut self, implied: Vec<Implied>) {
        for Implied { given: (given, is_yes), clause, answer } in &implied {
            let (Some(known), Some(truth)) = (self.truth_of_clause(*given), self.truth_of_clause(*clause))
            else {
                continue;
            };
            let given_counts = [*given, *clause].into_iter().filter_map(|at| self.counts.get(at).copied());
            let behind: Vec<Literal> =
                given_counts.chain([if *is_yes { known.yes } else { known.no }]).map(|it| !it).collect();
            for answered in truth.answered(*answer).into_iter().flatten() {
                self.sat.clause(behind.iter().copied().chain([answered]));
            }
        }
        self.implied = implied;
    }

    /// What a clause answers where its subject lies in a cell.
    pub(super) fn answer_in(&self, clause: usize, cell: usize, questions: &Questions) -> Option<Answer> {
        let subject = questions.clauses.get(clause)?.subject;
        let ahead = questions.clauses.get(..clause)?.iter().filter(|it| it.subject == subject).count();
        self.cells.get(subject)?.answers.get(ahead)?.get(cell).copied()
    }

    /// Whether two parts are true, false and fail for the same inputs, if the answers of these clauses count.
    pub(super) fn are_alike(&mut self, one: Truth, two: Truth, clauses: &[usize]) -> bool {
        let Truth { yes, no } = one;
        [[yes, !two.yes], [!yes, two.yes], [no, !two.no], [!no, two.no]]
            .iter()
            .all(|differs| self.can_hold(differs, clauses) == Some(false))
    }

    /// Of clauses because of which a proposition cannot hold, those that it takes: without any one of them it could.
    pub(super) fn reasons(&mut self, proposition: &[Literal], clauses: &[usize]) -> Vec<usize> {
        let mut kept = clauses.to_vec();
        for clause in clauses {
            let without: Vec<usize> = kept.iter().copied().filter(|kept| kept != clause).collect();
            if self.can_hold(proposition, &without) == Some(false) {
                kept = without;
            }
        }
        kept
    }
}

/// The most lists that are held against each other by twos.
const MAX_PAIRS: usize = 64;

/// Which of the lists that are taken from one list are apart, because of what is so of their elements.
fn apart(questions: &Questions, trial: &mut Trial) -> Vec<Apart> {
    let mut found = Vec::new();
    let mut left = MAX_PAIRS;
    for (at, one) in questions.elements.iter().enumerate() {
        if one.is_chain && !may_be_at_all(one, trial) {
            found.push(Apart { filled: one.key.clone(), empty: Vec::new() });
        }
        let others = questions.elements.iter().skip(at.saturating_add(1)).map(Taken::Elements);
        for two in others.chain(questions.members.iter().map(Taken::Member)) {
            let (key, whole, time) = two.names();
            if one.whole != *whole || one.time != time || !two.is_asked_with(one) {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else { return found };
            left = rest;
            for (filled, empty, answers) in [
                (&one.key, vec![key], [true, false]),
                (key, vec![&one.key], [false, true]),
                (whole, vec![&one.key, key], [false, false]),
            ] {
                if !may_be(one, two, answers, trial) {
                    let empty = empty.into_iter().cloned().collect();
                    found.push(Apart { filled: filled.clone(), empty });
                }
            }
        }
    }
    found
}

/// A list that is taken from another one.
#[derive(Clone, Copy)]
enum Taken<'q> {
    Elements(&'q Elements),
    Member(&'q Member),
}

impl Taken<'_> {
    fn names(&self) -> (&String, &String, [usize; 3]) {
        match self {
            Self::Elements(Elements { key, whole, time, .. })
            | Self::Member(Member { key, whole, time, .. }) => (key, whole, *time),
        }
    }

    /// Whether both ask about the same thing of an element.
    fn is_asked_with(self, one: &Elements) -> bool {
        let asks_about = |key: &str| one.subjects.iter().any(|own| own.key == key);
        match self {
            Self::Elements(two) => two.subjects.iter().any(|its| asks_about(&its.key)),
            Self::Member(_) => asks_about(ELEMENT_KEY),
        }
    }

    /// What is so of its elements, beside what has been taken over of the other list.
    fn take_over(self, questions: &mut Questions) -> Node {
        let Member { constant, asked, .. } = match self {
            Self::Elements(elements) => return questions.take_over(elements),
            Self::Member(member) => member,
        };
        let element = questions.subjects.iter().position(|subject| subject.key == ELEMENT_KEY);
        let clause = questions.clauses.len();
        questions.clauses.push(Clause {
            subject: element.unwrap_or(usize::MAX),
            form: Form::Constants(vec![constant.clone()]),
            span: asked.span,
            id: asked.id,
            asked: asked.clone(),
            is_open: false,
        });
        Node { span: asked.span, id: asked.id, kind: NodeKind::Clause(clause) }
    }
}

/// Whether an element may be as a list has them.
fn may_be_at_all(one: &Elements, trial: &mut Trial) -> bool {
    let mut questions = Questions::default();
    let node = questions.take_over(one);
    let mut problem = Problem::new(&questions, trial);
    let Truth { yes, .. } = problem.truth(&node);
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    problem.can_hold(&[yes], &all) != Some(false)
}

/// Whether one element may be so and so, for each of two lists.
fn may_be(one: &Elements, two: Taken<'_>, answers: [bool; 2], trial: &mut Trial) -> bool {
    let mut questions = Questions::default();
    let nodes = [questions.take_over(one), two.take_over(&mut questions)];
    let mut problem = Problem::new(&questions, trial);
    let proposition = answers.into_iter().zip(&nodes).map(|(answer, node)| {
        let Truth { yes, no } = problem.truth(node);
        if answer { yes } else { no }
    });
    let proposition: Vec<Literal> = proposition.collect();
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    problem.can_hold(&proposition, &all) != Some(false)
}
