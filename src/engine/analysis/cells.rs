//! The values of a subject, divided into cells in which all of its clauses have one answer.
//!
//! In: a subject and its clauses. Out: cells, and for each clause what the evaluator itself answers for the sample of each cell. What
//! is argued here is only that the cells are complete: between constants next to each other no comparison changes, a text is
//! answered as the automata say, and a list or a map is asked no more than whether it is empty. Where that is not so, the
//! answer is left free.

use super::emptiness::{Emptiness, Filling};
use super::facts::Facts;
use super::number::{Ints, doubles, ints, is_exact, moments};
use super::questions::{Clause, Form, SECOND, VARIABLE};
use super::range::Range;
use super::sample::Sample;
use super::subject::{Pair, Presence, Subject};
use super::text::{Automata, Question};
use crate::cel::{
    Activation, Constant, Env, EnvBuilder, Expr, ExprKind, LANGUAGE, Numbers, Program, Type, Value,
};
use crate::limits::EvalLimits;
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The most cells of one subject.
const MAX_CELLS: usize = 4_096;

/// What a clause answers in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    True,
    False,
    Fails,
    /// One of these, it is not known which.
    Free,
}

/// Some values of a subject.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Value(Sample),
    /// How two paths stand to each other.
    Two(Ordering),
    /// The field is not there.
    Absent,
    /// It cannot be read, and `has` of it fails, too.
    Failed,
    /// Anything else.
    Other,
}

impl Cell {
    /// Whether fields can be read from it.
    pub(super) fn has_fields(&self) -> bool {
        match self {
            Self::Value(sample) => {
                matches!(sample, Sample::Map | Sample::EmptyMap | Sample::List | Sample::EmptyList)
            }
            Self::Absent | Self::Failed | Self::Two(_) => false,
            Self::Other => true,
        }
    }

    /// What a list may be of which its subject says something.
    pub(super) fn filling(&self, said: &Emptiness) -> Filling {
        match self {
            Self::Value(sample) => said.with(sample),
            Self::Absent | Self::Failed => said.without_value(),
            Self::Two(_) | Self::Other => Filling::ANY,
        }
    }
}

/// Two numbers that stand so to each other.
pub(super) fn two(order: Ordering) -> [Value<'static>; 2] {
    let (one, two) = match order {
        Ordering::Less => (0, 1),
        Ordering::Equal => (0, 0),
        Ordering::Greater => (1, 0),
    };
    [Value::Int(one), Value::Int(two)]
}

/// The cells of a subject, and the answers of its clauses, clause by clause in the order of the cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    pub(super) answers: Vec<Vec<Answer>>,
    /// For each list that the subject says something of, what it may be, cell by cell.
    pub(super) fillings: Vec<Vec<Filling>>,
}

/// What runs clauses on samples.
pub(super) struct Trial {
    env: Env,
    pub(super) automata: Automata,
    /// Whether what schemas say of subjects counts.
    pub(super) counts_facts: bool,
}

impl Trial {
    pub(super) fn new(limits: EvalLimits) -> Self {
        let builder = Env::builder().limits(limits).optional_variable(VARIABLE, Type::Dyn);
        let builder = builder.optional_variable(SECOND, Type::Dyn);
        let env = LANGUAGE.iter().copied().fold(builder, EnvBuilder::library).build();
        Self { env, automata: Automata::default(), counts_facts: true }
    }

    /// Divides a subject as its clauses ask.
    pub(super) fn cells(&mut self, subject: &Subject, clauses: &[&Clause]) -> Cells {
        if self.facts(subject).is_beyond {
            return self.all(subject, clauses, vec![Cell::Failed], &[]);
        }
        let (texts, answered) = self.texts(subject, clauses);
        let mut cells = kinds(subject, clauses, texts, (self.facts(subject), self.allowed(subject)));
        cells.extend(missing(subject));
        if cells.len() > MAX_CELLS {
            return Cells {
                answers: vec![vec![Answer::Free]; clauses.len()],
                cells: vec![Cell::Other],
                fillings: Vec::new(),
            };
        }
        self.all(subject, clauses, cells, &answered)
    }

    /// Cells, with what clauses answer there.
    fn all(&self, subject: &Subject, clauses: &[&Clause], cells: Vec<Cell>, answered: &[Question]) -> Cells {
        let mut answers = Vec::new();
        for clause in clauses {
            let program = Program::compile_rewritten(&self.env, VARIABLE, |expr| {
                expr.kind = clause.asked.kind.clone();
            })
            .ok();
            let answer = |cell: &Cell| self.answer(clause, program.as_ref(), cell, (answered, subject.pair));
            answers.push(cells.iter().map(answer).collect::<Vec<_>>());
        }
        let fillings = subject
            .emptiness
            .iter()
            .map(|said| cells.iter().map(|cell| cell.filling(said)).collect())
            .collect();
        once(Cells { cells, answers, fillings })
    }

    /// Texts for each combination of answers to the questions about them, and which questions these were.
    fn texts(&mut self, subject: &Subject, clauses: &[&Clause]) -> (Vec<String>, Vec<Question>) {
        if !may_be_text(&subject.ty) {
            return (Vec::new(), Vec::new());
        }
        let mut questions = vec![Question::Is(String::new())];
        for clause in clauses {
            match &clause.form {
                Form::Text(question) => questions.push(question.clone()),
                Form::Constants(constants) => questions.extend(constants.iter().filter_map(|constant| {
                    let Sample::Text(text) = constant else { return None };
                    Some(Question::Is(text.to_string()))
                })),
                Form::Truth { .. }
                | Form::Has
                | Form::Arithmetic(_)
                | Form::Exact(_)
                | Form::Itself
                | Form::Two { .. }
                | Form::Holds => {}
            }
        }
        let mut known = HashSet::new();
        questions.retain(|question| known.insert(question.clone()) && self.automata.is_decided(question));
        let said = self.facts(subject).texts.iter().map(|question| (question, true));
        let given = subject.answers.iter().map(|(question, answer)| (question, *answer));
        let facts: Vec<(Question, bool)> =
            said.chain(given).map(|(question, answer)| (question.clone(), answer)).collect();
        let decided = |(question, _): &(Question, bool)| self.automata.is_decided(question);
        let facts: Vec<(Question, bool)> = facts.into_iter().filter(decided).collect();
        let is_plain = |question: &&Question| !matches!(question, Question::Matches(_));
        let plain = questions.iter().filter(is_plain).cloned().collect();
        // what would take too many states is asked with less: what is known is given up first
        let mut tries = vec![(questions.clone(), Vec::new()), (plain, Vec::new())];
        if !facts.is_empty() {
            tries.insert(0, (questions, facts));
        }
        for (questions, facts) in tries {
            let asked: Vec<&Question> =
                questions.iter().chain(facts.iter().map(|(known, _)| known)).collect();
            let Some(answered) = self.automata.answers(&asked) else { continue };
            let is_so = |answers: &[bool]| {
                let known = answers.iter().skip(questions.len()).zip(&facts);
                known.into_iter().all(|(answer, (_, expected))| answer == expected)
            };
            let texts: Vec<String> =
                answered.into_iter().filter(|(_, answers)| is_so(answers)).map(|(text, _)| text).collect();
            // a schema that no text fits says nothing of a guard
            if !texts.is_empty() {
                return (texts, questions);
            }
        }
        (vec![String::new(), "x".to_owned()], vec![Question::Is(String::new())])
    }

    /// What is known of a subject, if it counts.
    fn facts<'s>(&self, subject: &'s Subject) -> &'s Facts {
        static NOTHING: Facts = Facts::NOTHING;
        if self.counts_facts { &subject.facts } else { &NOTHING }
    }

    /// The only values of a subject. Those of an argument are what its schema says, and count as that does. Where there is a single one of anything else, such as
    /// the name of the only function of an agent, a rule may name it all the same.
    fn allowed<'s>(&self, subject: &'s Subject) -> Option<&'s [Constant]> {
        let allowed = subject.domain.as_ref()?.allowed.as_deref()?;
        let counts = if subject.is_validated { self.counts_facts } else { allowed.len() > 1 };
        counts.then_some(allowed)
    }

    /// Of two numbers every comparison is answered by their order, of any two values only whether they are equal.
    fn answer_of_two(
        &self,
        clause: &Clause,
        program: Option<&Program>,
        order: Ordering,
        pair: Option<Pair>,
    ) -> Answer {
        let is_decided = match clause.form {
            Form::Two { of_order } => !of_order || pair == Some(Pair::Numbers),
            _ => false,
        };
        let Some(program) = program.filter(|_| is_decided) else { return Answer::Free };
        let [one, two] = two(order);
        let activation = Activation::new(&self.env).with(&self.env, VARIABLE, one);
        answered(program.run(&activation.with(&self.env, SECOND, two), None).ok())
    }

    /// What an expression without variables answers; nothing if it is none.
    pub(super) fn answer_of(&self, expr: &Expr, at_root: bool) -> Option<Answer> {
        let program = Program::compile_rewritten(&self.env, VARIABLE, |any| any.clone_from(expr)).ok()?;
        Some(run(&program, &Activation::new(&self.env), at_root))
    }

    fn answer(
        &self,
        clause: &Clause,
        program: Option<&Program>,
        cell: &Cell,
        (asked, pair): (&[Question], Option<Pair>),
    ) -> Answer {
        let sample = match cell {
            Cell::Other => return Answer::Free,
            Cell::Two(order) => return self.answer_of_two(clause, program, *order, pair),
            Cell::Failed => return Answer::Fails,
            Cell::Absent if matches!(clause.form, Form::Has) => return Answer::False,
            Cell::Absent => return Answer::Fails,
            Cell::Value(_) if matches!(clause.form, Form::Has) => return Answer::True,
            Cell::Value(sample) => sample,
        };
        if !is_decided(clause, sample, asked) {
            return Answer::Free;
        }
        let Some(program) = program else { return Answer::Free };
        let activation = Activation::new(&self.env).with(&self.env, VARIABLE, sample.value());
        run(program, &activation, matches!(clause.form, Form::Truth { at_root: true }))
    }
}

/// What a run answers. At the root of an expression anything has a truth (`CEL-14`).
fn run(program: &Program, activation: &Activation<'_>, at_root: bool) -> Answer {
    if !at_root {
        return answered(program.run(activation, None).ok());
    }
    match program.holds(activation, None) {
        Ok(true) => Answer::True,
        Ok(false) => Answer::False,
        Err(_) => Answer::Fails,
    }
}

fn answered(value: Option<Value<'_>>) -> Answer {
    match value {
        Some(Value::Bool(true)) => Answer::True,
        Some(Value::Bool(false)) => Answer::False,
        _ => Answer::Fails,
    }
}

/// Whether all values of the cell are answered as its sample is.
fn is_decided(clause: &Clause, sample: &Sample, answered: &[Question]) -> bool {
    let is_asked = |question: &Question| answered.contains(question);
    match (&clause.form, sample) {
        (Form::Has, _) | (Form::Truth { .. }, _) => true,
        (Form::Text(question), Sample::Text(_)) => is_asked(question),
        // no function of texts takes anything else
        (Form::Text(_), _) => true,
        (Form::Constants(constants), Sample::Text(_)) => {
            let is_equality = match &clause.asked.kind {
                ExprKind::Call { function, .. } => {
                    matches!(function.text.as_str(), "_==_" | "_!=_" | "@in")
                }
                // with each constant of a list
                ExprKind::Comprehension(_) => true,
                _ => false,
            };
            constants.iter().all(|constant| match constant {
                Sample::Text(text) => is_equality && is_asked(&Question::Is(text.to_string())),
                _ => true,
            })
        }
        (Form::Constants(constants), sample) if sample.is_number() => constants.iter().all(is_exact),
        // a constant is neither a list nor a map
        (Form::Constants(_), _) => true,
        // what is no number fails, as the constants are numbers
        (Form::Arithmetic(_), _) => true,
        (Form::Exact(values), sample) => values.contains(sample),
        // a text that is a time compares as one; a list equals itself, unless it holds no number
        (Form::Itself, Sample::List | Sample::Map) => false,
        (Form::Itself, _) => true,
        // how two paths stand to each other is no value of one
        (Form::Two { .. }, _) => false,
        (Form::Holds, Sample::List | Sample::Map) => false,
        (Form::Holds, _) => true,
    }
}

fn may_be_text(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Dyn)
}

/// The values that a subject may have, by kind.
fn kinds(
    subject: &Subject,
    clauses: &[&Clause],
    texts: Vec<String>,
    (facts, allowed): (&Facts, Option<&[Constant]>),
) -> Vec<Cell> {
    if subject.has_no_size {
        return Vec::new();
    }
    let within = [subject.range.unwrap_or(Range::ALL), facts.numbers];
    if subject.pair.is_some() {
        let may_stand = |order: &Ordering| within.iter().all(|range| range.may_stand(*order));
        let orders = [Ordering::Less, Ordering::Equal, Ordering::Greater].into_iter().filter(may_stand);
        return orders.map(Cell::Two).collect();
    }
    let mut constants: Vec<&Sample> = Vec::new();
    for clause in clauses {
        match &clause.form {
            Form::Constants(those) => constants.extend(those.iter().filter(|constant| is_exact(constant))),
            Form::Arithmetic(points) | Form::Exact(points) => constants.extend(points),
            _ => {}
        }
    }
    // numbers stand on both sides of each bound, so that a cell lies on one of them
    let bounds: Vec<Sample> = within.iter().flat_map(|range| range.ends()).map(Sample::Double).collect();
    constants.extend(&bounds);
    let domain = subject.domain.as_deref();
    if let Some(allowed) = allowed {
        return allowed.iter().flat_map(Sample::of_constant).map(Cell::Value).collect();
    }
    let of_range = subject.range.is_some().then_some(Numbers::All);
    let numbers = domain.and_then(|domain| domain.numbers).or(of_range);
    let whole = subject.range.map_or(Ints::ALL, Range::ints);
    let or_null = domain.is_some_and(|domain| domain.or_null);
    let bools = || [true, false].map(Sample::Bool);
    let texts = || texts.iter().map(|text| Sample::Text(text.as_str().into()));
    let computed = subject.is_computed;
    let mut samples: Vec<Sample> = if or_null { vec![Sample::Null] } else { Vec::new() };
    match &subject.ty {
        Type::Null => samples.push(Sample::Null),
        Type::Bool => samples.extend(bools()),
        Type::Int => samples.extend(ints(&constants, whole)),
        Type::Double => samples.extend(doubles(&constants, Numbers::All, true)),
        Type::String => samples.extend(texts()),
        Type::List(_) | Type::Singleton(_) => {
            let [least, most] = facts.sizes;
            samples.extend((least.unwrap_or(0) == 0).then_some(Sample::EmptyList));
            samples.extend((most != Some(0)).then_some(Sample::List));
        }
        Type::Map(_) => samples.extend([Sample::EmptyMap, Sample::Map]),
        // null goes with a record, and a call that failed gives what it likes
        Type::Record(_) => {
            let record = [Sample::Null, Sample::EmptyMap, Sample::Map].map(Cell::Value);
            return record.into_iter().chain([Cell::Other]).collect();
        }
        Type::Dyn => match numbers {
            Some(numbers) => {
                samples.extend(ints(&constants, whole));
                samples.extend(doubles(&constants, numbers, computed));
            }
            None => {
                samples.push(Sample::Null);
                samples.extend(bools());
                samples.extend(ints(&constants, whole));
                samples.extend(doubles(&constants, Numbers::All, computed));
                samples.extend(texts());
                samples.extend([Sample::EmptyList, Sample::List, Sample::EmptyMap, Sample::Map]);
                if computed || subject.is_foreign {
                    return samples.into_iter().map(Cell::Value).chain([Cell::Other]).collect();
                }
            }
        },
        Type::Timestamp | Type::Duration => match moments(&constants) {
            found if found.is_empty() => return vec![Cell::Other],
            found => samples.extend(found),
        },
        Type::UInt | Type::Bytes | Type::Optional(_) | Type::TypeOf(_) | Type::Opaque(_) | Type::Param(_) => {
            return vec![Cell::Other];
        }
    }
    let is_within = |sample: &Sample| within.iter().all(|range| lies_in(sample, *range));
    samples.into_iter().filter(is_within).map(Cell::Value).collect()
}

/// Whether a number lies in a range; anything else does.
fn lies_in(sample: &Sample, range: Range) -> bool {
    sample.number().is_none_or(|number| range.holds(number))
}

/// The ways in which there is no value.
fn missing(subject: &Subject) -> Vec<Cell> {
    match subject.presence {
        Presence::Sure => Vec::new(),
        Presence::MayLack => vec![Cell::Absent],
        Presence::MayFail => vec![Cell::Absent, Cell::Failed],
        Presence::Computed => vec![Cell::Failed],
    }
}

/// One cell for each way in which all clauses are answered, and from which fields can be read. Of lists is known what its values say together.
fn once(all: Cells) -> Cells {
    let mut known = HashMap::new();
    let Cells { cells, answers, fillings } = all;
    let mut kept = Cells {
        cells: Vec::new(),
        answers: vec![Vec::new(); answers.len()],
        fillings: vec![Vec::new(); fillings.len()],
    };
    for (at, cell) in cells.into_iter().enumerate() {
        let row: Vec<Answer> = answers.iter().filter_map(|answers| answers.get(at).copied()).collect();
        let said = fillings.iter().filter_map(|said| said.get(at).copied());
        match known.entry((row.clone(), cell.has_fields(), matches!(cell, Cell::Failed))) {
            Entry::Vacant(entry) => {
                entry.insert(kept.cells.len());
                kept.cells.push(cell);
                kept.answers.iter_mut().zip(row).for_each(|(answers, answer)| answers.push(answer));
                kept.fillings.iter_mut().zip(said).for_each(|(fillings, said)| fillings.push(said));
            }
            Entry::Occupied(entry) => {
                for (fillings, said) in kept.fillings.iter_mut().zip(said) {
                    fillings.get_mut(*entry.get()).into_iter().for_each(|known| *known = known.or(said));
                }
            }
        }
    }
    kept
}
