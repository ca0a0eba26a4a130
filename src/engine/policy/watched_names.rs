//! The names that expressions of policies read, as a watch is told of them: variables clause by clause in their own text, and parameters.
//!
//! In: an expression that was evaluated, with its recording. Out: for each name that the evaluation came to a [`WatchedName`]. An expression has the text of its
//! variables in the place of their names, so a variable is evaluated once more for the watch: it asks nothing and changes nothing. This runs for watches alone.

use super::definitions::{Definitions, Names};
use super::expansion::{Expansion, names_read};
use super::expression::Expression;
use crate::cel::{CameTo, EvaluatedPart, Program, Recording, Remembered, Type, parse};
use crate::context::{Activations, Bound, ExpressionWatch, WatchedName};
use crate::source::{Embedded, Place, Span};
use std::collections::HashSet;

impl Expression {
    /// Tells a watch of the names that an evaluation came to.
    pub(super) fn watch_names(
        &self,
        bound: &Bound<'_>,
        recording: &Recording<'_>,
        watch: &dyn ExpressionWatch,
    ) {
        let Some(definitions) = &self.definitions else { return };
        let mut names = NameWatch { of: self, definitions, bound, watch, known: HashSet::new() };
        names.read_in(self.text(), recording);
    }

    /// The places of the clauses of the variables that it reads. A variable whose text is in `known` is passed over, and each other one is added.
    pub(crate) fn variable_clauses(&self, known: &mut HashSet<(String, Span)>) -> Vec<Place> {
        let Some(definitions) = &self.definitions else { return Vec::new() };
        let (mut found, mut pending) = (Vec::new(), vec![self.text()]);
        while let Some(text) = pending.pop() {
            for (_, _, name) in
                self.names_in(text).into_iter().filter(|(_, names, _)| *names == Names::Variables)
            {
                let text = definitions.get(Names::Variables, &name).and_then(|it| it.text.as_ref());
                let is_new =
                    |text: &&Embedded| known.insert((text.place.source.name().to_owned(), text.place.span));
                let Some(text) = text.filter(is_new) else { continue };
                pending.push(text);
                if let Some(program) = self.program_of(definitions, text) {
                    let clauses = program.clauses(is_truth(&program)).into_iter();
                    found.extend(clauses.map(|span| text.locate(span)));
                }
            }
        }
        found
    }

    fn names_in(&self, text: &Embedded) -> Vec<(Span, Names, String)> {
        parse(&text.text, self.limits()).map(|expr| names_read(&expr)).unwrap_or_default()
    }

    /// A variable as a program of its own, in the scope of the expression.
    fn program_of(&self, definitions: &Definitions, text: &Embedded) -> Option<Program> {
        let limits = self.limits();
        let mut expansion = Expansion::new(definitions, limits.max_plan_nodes, limits);
        Program::compile_rewritten(self.scope().env(), &text.text, |expr| expansion.expand(expr)).ok()
    }
}

/// Whether something asks for the truth of a variable.
fn is_truth(program: &Program) -> bool {
    *program.result_type() == Type::Bool
}

/// The telling of names that one evaluation came to.
struct NameWatch<'w> {
    of: &'w Expression,
    definitions: &'w Definitions,
    bound: &'w Bound<'w>,
    watch: &'w dyn ExpressionWatch,
    /// The names that were told.
    known: HashSet<(&'static str, String)>,
}

impl NameWatch<'_> {
    /// Tells of the names in a text that was evaluated.
    fn read_in(&mut self, text: &Embedded, recording: &Recording<'_>) {
        let names = self.of.names_in(text);
        if names.is_empty() {
            return;
        }
        let mut reached = HashSet::new();
        reached_parts(&recording.tree(), &mut reached);
        for (span, names, name) in names {
            // constants, such as parameters, have no parts of their own in a recording
            let is_reached = names == Names::Parameters || reached.contains(&span);
            if is_reached && self.known.insert((names.root(), name.clone())) {
                self.tell(names, &name);
            }
        }
    }

    fn tell(&mut self, names: Names, name: &str) {
        let Some(definition) = self.definitions.get(names, name) else { return };
        let policy = self.of.step_name().map_or("", |step| &*step.name);
        let told =
            WatchedName { policy, root: names.root(), name, text: definition.text.as_ref(), clauses: &[] };
        let program = definition
            .text
            .as_ref()
            .and_then(|text| Some((text, self.of.program_of(self.definitions, text)?)));
        let Some((text, program)) = program else { return self.watch.named(&told) };
        let bound = Bound { watch: None, ..self.bound.clone() };
        let mut values = Activations::new(bound);
        let Ok((activation, _)) = values.of(self.of.scope(), &program) else {
            return self.watch.named(&told);
        };
        let mut remembered = Remembered::default();
        let (_, _, recording) = program.run_recorded(activation, None, &mut remembered);
        let clauses = recording.clauses(is_truth(&program));
        self.watch.named(&WatchedName { clauses: &clauses, ..told });
        self.read_in(text, &recording);
    }
}

/// The characters of the parts to which an evaluation came.
fn reached_parts(part: &EvaluatedPart<'_>, found: &mut HashSet<Span>) {
    if !matches!(part.came_to, CameTo::Skipped) {
        found.insert(part.span);
    }
    part.parts.iter().for_each(|part| reached_parts(part, found));
}
