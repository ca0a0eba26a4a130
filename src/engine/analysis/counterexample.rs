//! Runs of a part of an expression, by which a claim of the solver can be refuted.
//!
//! In: a part, the clauses in it and the cells of their subjects. Out: whether the evaluator itself says otherwise for one value of each cell. A subject is a variable of
//! its own there, so the part runs without a task. Bounded by [`MAX_RUNS`].

use super::cells::{Answer, Cell, two};
use super::emptiness::Fillings;
use super::fixed::Implied;
use super::node::Node;
use super::problem::Problem;
use super::questions::{Form, Member, Questions, SECOND, VARIABLE};
use crate::cel::{Activation, Env, EnvBuilder, Expr, ExprKind, LANGUAGE, Name, Program, Type, Value};
use crate::limits::EvalLimits;

/// Inputs on which a part is run before anything is said of it.
const MAX_RUNS: usize = 256;

/// The inputs that a claim about a part is tried on: one value of each cell.
pub(super) struct Counterexamples<'t> {
    questions: &'t Questions,
    problem: &'t Problem,
    clauses: Vec<usize>,
    subjects: Vec<usize>,
    env: Env,
}

impl<'t> Counterexamples<'t> {
    /// Those of a part; nothing if a host would have to answer.
    pub(super) fn of(
        questions: &'t Questions,
        node: &Node,
        problem: &'t Problem,
        limits: &EvalLimits,
    ) -> Option<Self> {
        let mut clauses = Vec::new();
        node.clauses(&mut clauses);
        let mut subjects: Vec<usize> =
            clauses.iter().filter_map(|at| Some(questions.clauses.get(*at)?.subject)).collect();
        subjects.sort_unstable();
        subjects.dedup();
        if subjects.last() == Some(&usize::MAX) {
            return None;
        }
        let builder = subjects.iter().fold(Env::builder().limits(*limits), |builder, subject| {
            let builder = builder.optional_variable(&named(*subject), Type::Dyn);
            builder.optional_variable(&second(&named(*subject)), Type::Dyn)
        });
        let env = LANGUAGE.iter().copied().fold(builder, EnvBuilder::library).build();
        Some(Self { questions, problem, clauses, subjects, env })
    }

    /// A part with variables in the place of what it asks about.
    fn program(&self, part: &Expr) -> Option<Program> {
        let any = named(self.subjects.first().copied().unwrap_or_default());
        let program = Program::compile_rewritten(&self.env, &any, |expr| {
            *expr = part.clone();
            substitute(expr, self.questions, &self.clauses);
        });
        program.ok()
    }

    /// Whether a run of a part comes to a truth that refutes what is claimed of it; none if the run fails.
    pub(super) fn refute(&self, part: &Expr, at_root: bool, refutes: impl Fn(Option<bool>) -> bool) -> bool {
        let Some(program) = self.program(part) else { return false };
        self.any(|activation| refutes(truth(&program, activation, at_root)))
    }

    /// Whether two parts answer some input differently.
    pub(super) fn differ(&self, one: &Expr, other: &Expr) -> bool {
        let (Some(one), Some(other)) = (self.program(one), self.program(other)) else { return false };
        self.any(|activation| truth(&one, activation, false) != truth(&other, activation, false))
    }

    /// Whether something is so for one of up to [`MAX_RUNS`] inputs.
    fn any(&self, is_so: impl Fn(&Activation<'_>) -> bool) -> bool {
        let Self { questions, problem, subjects, env, .. } = self;
        // an input in which a path and its beginning do not go together is none
        let goes_together = !subjects.iter().any(|subject| {
            questions.subjects.get(*subject).is_some_and(|subject| !subject.beginnings.is_empty())
        }) || subjects.len() < 2
            || !shares_beginnings(questions, subjects);
        if !goes_together {
            return false;
        }
        let mut choice = vec![0_usize; subjects.len()];
        for _ in 0..MAX_RUNS {
            let mut activation = Activation::new(env);
            let mut is_an_input = self.goes_together(&choice);
            for (subject, cell) in subjects.iter().zip(&choice) {
                match problem.cells.get(*subject).and_then(|cells| cells.cells.get(*cell)) {
                    Some(Cell::Value(sample)) => {
                        activation = activation.with(env, &named(*subject), sample.value());
                    }
                    Some(Cell::Two(order)) => {
                        let [one, other] = two(*order);
                        activation = activation.with(env, &named(*subject), one);
                        activation = activation.with(env, &second(&named(*subject)), other);
                    }
                    Some(Cell::Absent) => {}
                    _ => is_an_input = false,
                }
            }
            if is_an_input && is_so(&activation) {
                return true;
            }
            // the next combination, the first subject turning fastest
            let mut turned = false;
            for (at, subject) in choice.iter_mut().zip(subjects) {
                let cells = problem.cells.get(*subject).map_or(0, |cells| cells.cells.len());
                *at = at.saturating_add(1);
                if *at < cells {
                    turned = true;
                    break;
                }
                *at = 0;
            }
            if !turned {
                break;
            }
        }
        false
    }

    /// Whether what the values say of lists and of several numbers goes together.
    fn goes_together(&self, choice: &[usize]) -> bool {
        let Self { questions, problem, subjects, .. } = self;
        let mut known = Fillings::default();
        let goes_together = subjects.iter().zip(choice).all(|(subject, cell)| {
            let cell = problem.cells.get(*subject).and_then(|cells| cells.cells.get(*cell));
            let (Some(cell), Some(subject)) = (cell, questions.subjects.get(*subject)) else { return true };
            subject
                .emptiness
                .iter()
                .all(|said| known.take(said.lists.iter().map(|list| list.key.as_str()), cell.filling(said)))
        });
        // no value that stands for others has such an element
        for Member { key, whole, clause, .. } in &questions.members {
            if self.clauses.contains(clause) {
                known.take_lack(key, whole);
            }
        }
        let cell = |subject: usize| choice.get(subjects.iter().position(|own| *own == subject)?).copied();
        let are_apart = problem.twins.iter().any(|(pair, apart)| {
            let Some(how) = cell(pair.pair) else { return false };
            // a text of which nothing else is asked may lie anywhere
            let cells = |text: usize| match cell(text) {
                Some(cell) => cell..cell.saturating_add(1),
                None => 0..problem.cells.get(text).map_or(0, |cells| cells.cells.len()),
            };
            let [ones, twos] = pair.texts.map(cells);
            ones.into_iter().all(|one| twos.clone().all(|two| apart.contains(&[how, one, two])))
        });
        goes_together && !are_apart && known.go_with(&problem.apart) && !self.are_contradictory(choice)
    }

    /// What a clause answers where its subject lies in the cell of the choice; nothing if it is not asked.
    fn answer_in(&self, choice: &[usize], clause: usize) -> Option<Answer> {
        let Self { questions, problem, clauses, subjects, .. } = self;
        let subject = questions.clauses.get(clause).filter(|_| clauses.contains(&clause))?.subject;
        let cell = choice.get(subjects.iter().position(|own| *own == subject)?)?;
        problem.answer_in(clause, *cell, questions)
    }

    /// Whether clauses cannot have these answers all at once.
    fn are_contradictory(&self, choice: &[usize]) -> bool {
        let answer = |clause: usize| self.answer_in(choice, clause);
        let is_other = |Implied { given: (given, is_yes), clause, answer: implied }: &Implied| {
            let is_given = answer(*given) == Some(if *is_yes { Answer::True } else { Answer::False });
            // a value that stands for others may be none of those that go with what is given
            is_given && answer(*clause).is_some_and(|own| own != *implied)
        };
        self.problem.implied.iter().any(is_other)
            || self.problem.weights.as_ref().is_some_and(|weights| weights.contradict(&answer))
    }
}

/// What a run says. At the root of an expression anything has a truth (`CEL-14`).
fn truth(program: &Program, activation: &Activation<'_>, at_root: bool) -> Option<bool> {
    if at_root {
        return program.holds(activation, None).ok();
    }
    match program.run(activation, None) {
        Ok(Value::Bool(truth)) => Some(truth),
        _ => None,
    }
}

/// The variable in the place of a subject.
fn named(subject: usize) -> String {
    format!("{VARIABLE}{subject}")
}

fn shares_beginnings(questions: &Questions, subjects: &[usize]) -> bool {
    let of = |subject: &usize| questions.subjects.get(*subject);
    subjects
        .iter()
        .filter_map(of)
        .any(|subject| subjects.iter().filter_map(of).any(|other| other.beginnings.contains(&subject.key)))
}

/// Puts variables in the place of the subjects of clauses.
fn substitute(expr: &mut Expr, questions: &Questions, clauses: &[usize]) {
    let own = clauses.iter().filter_map(|at| questions.clauses.get(*at)).find(|clause| clause.id == expr.id);
    let Some(clause) = own else {
        expr.for_each_part_mut(&mut |part| substitute(part, questions, clauses));
        return;
    };
    let name = named(clause.subject);
    if matches!(clause.form, Form::Has) {
        expr.kind = ExprKind::HasVariable(Name { text: name, span: expr.span });
        return;
    }
    expr.kind = clause.asked.kind.clone();
    rename(expr, &name);
}

fn second(name: &str) -> String {
    format!("{name}_second")
}

fn rename(expr: &mut Expr, to: &str) {
    if let ExprKind::Ident { name, .. } = &mut expr.kind {
        match name.as_str() {
            VARIABLE => to.clone_into(name),
            SECOND => *name = second(to),
            _ => {}
        }
    }
    expr.for_each_part_mut(&mut |part| rename(part, to));
}
