//! The names that expressions of policies read, as a watch is told of them: variables and named expressions clause by clause in their own text, and parameters.
//!
//! In: an expression that was evaluated, with its recording. Out: for each name that the evaluation came to a [`WatchedName`]. An expression has the text of its
//! names in their place, so a variable is evaluated once more for the watch, and a named expression with the arguments of the call: it asks nothing and changes nothing.
//! Of a call whose arguments read variables of macros around it the clauses are not told. This runs for watches alone.

use super::definitions::{Definition, Definitions, Names};
use super::expansion::{Expansion, NameRead, names_read};
use super::expression::Expression;
use super::substitution::substitute;
use crate::cel::{CameTo, EvaluatedPart, Expr, Program, Recording, Remembered, Type, parse};
use crate::context::{Activations, Bound, ExpressionWatch, WatchedName};
use crate::source::{Embedded, Place, Span};
use std::collections::HashSet;
use std::sync::Arc;

impl Expression {
    /// Tells a watch of the names that an evaluation came to.
    pub(super) fn watch_names(
        &self,
        bound: &Bound<'_>,
        recording: &Recording<'_>,
        watch: &dyn ExpressionWatch,
    ) {
        let Some(definitions) = &self.definitions else { return };
        let mut names = NameWatch { of: self, bound, watch, known: HashSet::new() };
        names.read_in(&NamedText::of_step(self, definitions), recording);
    }

    /// The places of the clauses of the variables and named expressions that it reads. A text that is in `known` is passed over, and each
    /// other one is added.
    pub(crate) fn name_clauses(&self, known: &mut HashSet<(String, Span)>) -> Vec<Place> {
        let Some(definitions) = &self.definitions else { return Vec::new() };
        let (mut found, mut pending) = (Vec::new(), vec![NamedText::of_step(self, definitions)]);
        while let Some(text) = pending.pop() {
            for name in text.names(self) {
                let Some(named) = text.named(self, &name) else { continue };
                if known.contains(&named.key()) {
                    continue;
                }
                if let Some(program) = named.program(self) {
                    known.insert(named.key());
                    let clauses = program.clauses(is_truth(&program)).into_iter();
                    found.extend(clauses.map(|span| named.text.locate(span)));
                    pending.push(named);
                }
            }
        }
        found
    }
}

/// Whether something asks for the truth of a variable.
fn is_truth(program: &Program) -> bool {
    *program.result_type() == Type::Bool
}

/// The text of a step or of a name, with what its names and its parameters stand for.
struct NamedText<'d> {
    text: &'d Embedded,
    definitions: &'d Definitions,
    /// The use that the definitions are of, seen from the policy of the step.
    library: Option<String>,
    /// The arguments by parameters, of a named expression.
    arguments: Vec<(Arc<str>, Expr)>,
}

impl<'d> NamedText<'d> {
    fn of_step(expression: &'d Expression, definitions: &'d Definitions) -> Self {
        Self { text: expression.text(), definitions, library: None, arguments: Vec::new() }
    }

    fn key(&self) -> (String, Span) {
        (self.text.place.source.name().to_owned(), self.text.place.span)
    }

    /// The names that it reads.
    fn names(&self, of: &Expression) -> Vec<NameRead> {
        parse(&self.text.text, of.limits()).map(|expr| names_read(&expr)).unwrap_or_default()
    }

    fn definition(&self, name: &NameRead) -> Option<&'d Definition> {
        self.definitions.library(name.library.as_deref())?.get(name.names, &name.name)
    }

    /// The name as a watch is told of it; `money.over` for a named expression of a used policy.
    fn full_name(&self, name: &NameRead) -> String {
        let parts = self.library.iter().chain(&name.library).map(String::as_str);
        parts.chain(std::iter::once(name.name.as_str())).collect::<Vec<_>>().join(".")
    }

    /// The text of a name that it reads, with the arguments of the call; nothing of a parameter.
    fn named(&self, of: &'d Expression, name: &NameRead) -> Option<NamedText<'d>> {
        let definitions = self.definitions.library(name.library.as_deref())?;
        let definition = definitions.get(name.names, &name.name)?;
        let parameters = definition.parameters.iter().map(|(parameter, _)| parameter.clone());
        // arguments read the names of the policy in which the call is written
        let mut expansion = self.expansion(of);
        let mut arguments = name.arguments.clone();
        for argument in &mut arguments {
            expansion.expand(argument);
            substitute(argument, &self.arguments, &[]);
        }
        let library = self.library.iter().chain(&name.library).cloned().collect::<Vec<_>>().join(".");
        Some(NamedText {
            text: definition.text.as_ref()?,
            definitions,
            library: (!library.is_empty()).then_some(library),
            arguments: parameters.zip(arguments).collect(),
        })
    }

    /// It as a program of its own, in the scope of the expression that reads it.
    fn program(&self, of: &'d Expression) -> Option<Program> {
        let mut expansion = self.expansion(of);
        let mut arguments = self.arguments.clone();
        let end = self.text.text.len();
        // clauses keep the characters of the text, and an argument has none in it
        arguments.iter_mut().for_each(|(_, argument)| argument.place_at(Span::new(end, end)));
        let program = Program::compile_rewritten(of.scope().env(), &self.text.text, |expr| {
            expansion.expand(expr);
            substitute(expr, &arguments, &[]);
        });
        program.ok()
    }

    /// The expansion of the names that the text reads.
    fn expansion(&self, of: &'d Expression) -> Expansion<'d> {
        let limits = of.limits();
        let parameters = self.arguments.iter().map(|(name, _)| name.to_string());
        Expansion::new(self.definitions, limits.max_plan_nodes, limits).within(parameters.collect())
    }
}

/// The telling of names that one evaluation came to.
struct NameWatch<'w> {
    of: &'w Expression,
    bound: &'w Bound<'w>,
    watch: &'w dyn ExpressionWatch,
    /// The names that were told, each with its arguments.
    known: HashSet<(&'static str, String, String)>,
}

impl<'w> NameWatch<'w> {
    /// Tells of the names in a text that was evaluated.
    fn read_in(&mut self, text: &NamedText<'w>, recording: &Recording<'_>) {
        let names = text.names(self.of);
        if names.is_empty() {
            return;
        }
        let mut reached = HashSet::new();
        reached_parts(&recording.tree(), &mut reached);
        for name in names {
            // constants, such as parameters, have no parts of their own in a recording
            let is_reached = name.names == Names::Parameters || reached.contains(&name.span);
            let named = text.named(self.of, &name);
            let arguments = named.iter().flat_map(|named| &named.arguments);
            let arguments: Vec<String> = arguments.map(|(_, argument)| argument.to_string()).collect();
            let known = (name.names.root(), text.full_name(&name), arguments.join(", "));
            if is_reached && self.known.insert(known) {
                self.tell(text, &name, named);
            }
        }
    }

    fn tell(&mut self, of: &NamedText<'w>, name: &NameRead, named: Option<NamedText<'w>>) {
        let Some(definition) = of.definition(name) else { return };
        let policy = self.of.step_name().map_or("", |step| &*step.name);
        let full_name = of.full_name(name);
        let told = WatchedName {
            policy,
            root: name.names.root(),
            name: &full_name,
            text: definition.text.as_ref(),
            clauses: &[],
        };
        let program = named.and_then(|named| Some((named.program(self.of)?, named)));
        let Some((program, named)) = program else { return self.watch.named(&told) };
        let bound = Bound { watch: None, ..self.bound.clone() };
        let mut values = Activations::new(bound);
        let Ok((activation, _)) = values.of(self.of.scope(), &program) else {
            return self.watch.named(&told);
        };
        let mut remembered = Remembered::default();
        let (_, _, recording) = program.run_recorded(activation, None, &mut remembered);
        let clauses = recording.clauses(is_truth(&program));
        self.watch.named(&WatchedName { clauses: &clauses, ..told });
        self.read_in(&named, &recording);
    }
}

/// The characters of the parts to which an evaluation came.
fn reached_parts(part: &EvaluatedPart<'_>, found: &mut HashSet<Span>) {
    if !matches!(part.came_to, CameTo::Skipped) {
        found.insert(part.span);
    }
    part.parts.iter().for_each(|part| reached_parts(part, found));
}
