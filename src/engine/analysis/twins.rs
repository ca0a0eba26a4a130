//! Texts that are compared with each other: what is so of one of them is so of the other one, where they are equal.
//!
//! In: the questions, in which a pair stands beside its two texts. Out: which subjects are asked each other's questions, and in which cells the three do not lie together. Quadratic
//! in the cells of the texts, and nothing where these are more than [`MAX_CELLS`].

use super::cells::{Answer, Cell, Cells};
use super::questions::{Form, Questions};
use super::sample::Sample;
use super::subject::BETWEEN;
use super::text::Question;
use crate::cel::Type;
use std::cmp::Ordering;

/// The most cells of two texts that are held against each other.
const MAX_CELLS: usize = 4_096;

/// Two texts that are compared, by the numbers of their subjects.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// How they stand to each other.
    pub(super) pair: usize,
    pub(super) texts: [usize; 2],
}

/// The pairs of texts of which something else is asked, too.
pub(super) fn pairs(questions: &Questions) -> Vec<Pair> {
    let position = |key: &str| questions.subjects.iter().position(|subject| subject.key == key);
    let mut found = Vec::new();
    for (pair, subject) in questions.subjects.iter().enumerate().filter(|(_, it)| it.pair.is_some()) {
        let Some((one, two)) = subject.key.split_once(BETWEEN) else { continue };
        let (Some(one), Some(two)) = (position(one), position(two)) else { continue };
        let is_text = |at: usize| questions.subjects.get(at).is_some_and(|it| it.ty == Type::String);
        // where order alone is asked, which is not known of texts, one cell stands for all that two may be to each other
        let asks_equality = questions
            .clauses
            .iter()
            .any(|clause| clause.subject == pair && matches!(clause.form, Form::Two { of_order: false }));
        if is_text(one) && is_text(two) && asks_equality {
            found.push(Pair { pair, texts: [one, two] });
        }
    }
    found
}

/// The clauses of a subject, and behind them those of the texts that it is compared with, by their numbers.
pub(super) fn asked(subject: usize, questions: &Questions, pairs: &[Pair]) -> Vec<usize> {
    let of = |subject: usize| {
        let clauses = questions.clauses.iter().enumerate();
        clauses.filter(move |(_, clause)| clause.subject == subject).map(|(at, _)| at)
    };
    let mut all: Vec<usize> = of(subject).collect();
    for Pair { texts, .. } in pairs {
        let [one, two] = *texts;
        let others = [(one, two), (two, one)].into_iter().filter(|(own, _)| *own == subject);
        for clause in others.flat_map(|(_, other)| of(other)) {
            if !all.contains(&clause) {
                all.push(clause);
            }
        }
    }
    all
}

/// A subject as it is divided: its clauses and those of its twins, and its cells.
#[derive(Clone, Copy)]
struct Divided<'c> {
    asked: &'c [usize],
    cells: &'c Cells,
}

/// The cells of a pair and of its texts that do not go together.
pub(super) fn apart(
    Pair { pair, texts }: Pair,
    questions: &Questions,
    (asked, cells): (&[Vec<usize>], &[Cells]),
) -> Vec<[usize; 3]> {
    let divided = |at: usize| Some(Divided { asked: asked.get(at)?, cells: cells.get(at)? });
    let (Some(pair), [Some(one), Some(two)]) = (cells.get(pair), texts.map(divided)) else {
        return Vec::new();
    };
    let [of_one, of_two] = [one, two].map(|of| of.cells.cells.len());
    if of_one.saturating_mul(of_two) > MAX_CELLS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (how, cell) in pair.cells.iter().enumerate() {
        for (at, that) in (0..of_one).flat_map(|at| (0..of_two).map(move |that| (at, that))) {
            let may_be = match cell {
                Cell::Two(order) => may_stand(*order, questions, (one, at), (two, that)),
                // two texts that are there are compared
                Cell::Absent | Cell::Failed => {
                    let texts = [one.cells.cells.get(at), two.cells.cells.get(that)];
                    !texts.iter().all(|cell| matches!(cell, Some(Cell::Value(_))))
                }
                Cell::Value(_) | Cell::Other => true,
            };
            if !may_be {
                found.push([how, at, that]);
            }
        }
    }
    found
}

/// Whether two texts may lie in these cells and stand so to each other.
fn may_stand(
    order: Ordering,
    questions: &Questions,
    (one, at): (Divided<'_>, usize),
    (two, that): (Divided<'_>, usize),
) -> bool {
    let (Some(Cell::Value(own)), Some(Cell::Value(other))) =
        (one.cells.cells.get(at), two.cells.cells.get(that))
    else {
        // what is not there is not compared, and of anything else nothing is known
        let is_there = |cell: Option<&Cell>| !matches!(cell, Some(Cell::Absent | Cell::Failed));
        return is_there(one.cells.cells.get(at)) && is_there(two.cells.cells.get(that));
    };
    let answer = |divided: Divided<'_>, cell: usize, clause: usize| {
        let row = divided.asked.iter().position(|asked| *asked == clause)?;
        divided.cells.answers.get(row)?.get(cell).copied()
    };
    let is_alike = |clause: &usize| match (answer(one, at, *clause), answer(two, that, *clause)) {
        (Some(Answer::Free) | None, _) | (_, Some(Answer::Free) | None) => true,
        (own, other) => own == other,
    };
    match order {
        Ordering::Equal => one.asked.iter().all(is_alike),
        // a cell of one text holds nothing else
        _ => !(is_one_text(own, one, questions) && own == other && is_one_text(other, two, questions)),
    }
}

/// Whether a cell holds no text but its sample: it is asked whether it is that one.
fn is_one_text(sample: &Sample, divided: Divided<'_>, questions: &Questions) -> bool {
    let Sample::Text(text) = sample else { return false };
    let is_it = |form: &Form| matches!(form, Form::Text(Question::Is(constant)) if **constant == **text);
    divided.asked.iter().filter_map(|at| questions.clauses.get(*at)).any(|clause| is_it(&clause.form))
}
