//! Filters of events (EVT-03, ALW-05 to ALW-07): whether an event is one that the task has to do with.
//!
//! In: the expression of `receive.filter`, the names of the tool's parameters, and then events and allow lists. Out: passes,
//! or why not. `x == parameters.p` asks whether x is among the values of p and `x != parameters.p` whether it is not; both
//! are rewritten to look into the set. Any other use is tried with each value, in all combinations, until one passes.
//! It fails closed: a name without values, an error and too much work are all refusals.

use super::allow_list::AllowList;
use super::expression::{Expression, Texts};
use crate::cel::{
    Entries, EvalError, Expr, ExprKind, Fault, Field, Json, JsonRef, Key, Literal, Name, RecordType, Stop,
    Storage, Text, Type, Value,
};
use crate::context::{Activations, Bound, ExpressionWatch, ScopeEnv};
use crate::source::Embedded;
use indexmap::IndexMap;
use std::sync::Arc;

/// The variable whose members are the parameters.
const PARAMETERS: &str = "parameters";
/// What is put behind the name of a parameter to mean all its values. No author can write it.
const ALL_OF: &str = "@all";

/// A compiled filter.
#[derive(Debug)]
pub struct Filter {
    expression: Expression,
    uses: Uses,
    /// Whether `parameters` itself is used, and with it every parameter that has values.
    whole: bool,
}

/// The parameters that a filter names.
type Uses = IndexMap<Arc<str>, Use>;

/// How a filter uses a parameter.
#[derive(Debug, Default)]
struct Use {
    /// The key of all its values, if some `==` or `!=` looks for something among them.
    set: Option<Arc<str>>,
    /// Whether it is used in any other way, so that one of its values has to be chosen.
    chosen: bool,
}

/// Why an event does not pass.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterRefusal {
    /// The filter is false, with whatever values.
    False,
    /// It names a parameter that has no values yet (ALW-06).
    NoValues(Arc<str>),
    /// It failed, and passed with no other values (EVT-04).
    Failed(EvalError),
}

/// The type of `parameters` in the filters of a tool: its parameters with their types; none if they are not known here
/// (PAR-12).
pub(super) fn parameters_type(parameters: Option<&[(Arc<str>, Type)]>) -> Type {
    let Some(parameters) = parameters else { return Type::map(Type::String, Type::Dyn) };
    let field = Field::optional;
    let one = parameters.iter().map(|(name, ty)| (name.clone(), field(ty.clone())));
    let all = parameters.iter().map(|(name, ty)| (all_of(name), field(Type::list(ty.clone()))));
    Type::Record(Arc::new(RecordType {
        name: PARAMETERS.to_owned(),
        fields: one.chain(all).collect(),
        aliases: Vec::new(),
        storage: Storage::Closed,
    }))
}

fn all_of(name: &str) -> Arc<str> {
    format!("{name}{ALL_OF}").into()
}

impl Filter {
    /// Compiles a filter in its scope, whose `parameters` has the type of [`parameters_type`].
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        text: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let declared = scope.env().variable(PARAMETERS)?.ty.clone();
        let mut rewriter = Rewriter { declared, uses: Uses::new(), whole: false };
        let expression =
            Expression::compile_rewritten(scope, text, path, texts, |expr| rewriter.rewrite(expr, false))?;
        Some(Self { expression, uses: rewriter.uses, whole: rewriter.whole })
    }

    /// The expression, after comparisons with parameters were rewritten to look into sets of values.
    #[must_use]
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Whether an event (`{payload, …}`) passes with the values that a task's calls and bindings have had.
    ///
    /// # Errors
    /// Why it does not.
    ///
    /// # Cost
    /// Linear in the values of the names that the filter uses, and one evaluation for each combination of those that it
    /// does not merely compare with; all of them together may take twice the scope's `max_cost`.
    pub fn passes(
        &self,
        event: &Json,
        allowed: &AllowList,
        watch: Option<&dyn ExpressionWatch>,
    ) -> Result<(), FilterRefusal> {
        let mut parameters = Entries::new();
        let mut choices: Vec<(&str, Vec<Value<'_>>)> = Vec::new();
        for (name, used) in &self.uses {
            let values: Vec<Value<'_>> = allowed.values(name).map(JsonRef::value).collect();
            if values.is_empty() {
                return Err(FilterRefusal::NoValues(name.clone()));
            }
            if let Some(set) = &used.set {
                parameters.insert(Key::String(Text::Borrowed(set)), Value::list(values.clone()));
            }
            if used.chosen {
                choices.push((name, values));
            }
        }
        if self.whole {
            for (name, _) in allowed.names() {
                let values: Vec<_> = allowed.values(name).map(JsonRef::value).collect();
                let new = !values.is_empty() && choices.iter().all(|(known, _)| *known != &**name);
                choices.extend(new.then_some((&**name, values)));
            }
            if choices.is_empty() {
                return Err(FilterRefusal::NoValues(PARAMETERS.into()));
            }
        }
        self.try_each(event, parameters, &choices, watch)
    }

    /// Evaluates the filter with each combination of values until one passes.
    fn try_each<'v>(
        &'v self,
        event: &'v Json,
        mut parameters: Entries<'v>,
        choices: &[(&'v str, Vec<Value<'v>>)],
        watch: Option<&'v dyn ExpressionWatch>,
    ) -> Result<(), FilterRefusal> {
        let max_cost = self.expression.max_cost();
        let mut turns: Vec<usize> = vec![0; choices.len()];
        let mut spent: u64 = 0;
        let mut refusal = FilterRefusal::False;
        loop {
            for ((name, values), turn) in choices.iter().zip(&turns) {
                let value = values.get(*turn).cloned().unwrap_or(Value::Null);
                parameters.insert(Key::String(Text::Borrowed(name)), value);
            }
            let bound = Bound {
                event: Some(event.value()),
                parameters: Some(Value::map(parameters.clone())),
                watch,
                ..Bound::default()
            };
            let (result, cost) = self.expression.run_metered(&mut Activations::new(bound), None);
            match result {
                Ok(value) if value.is_truthy() => return Ok(()),
                Ok(_) => {}
                Err(Stop::Failed(error)) => refusal = first(refusal, error),
                // the scope of filters has no function that asks
                Err(Stop::Asked) => return Err(FilterRefusal::False),
            }
            spent = spent.saturating_add(cost);
            if !advance(&mut turns, choices) {
                return Err(refusal);
            }
            if spent > max_cost {
                return Err(match self.expression.failure(Fault::budget("max_cost")) {
                    Stop::Failed(error) => FilterRefusal::Failed(error),
                    Stop::Asked => refusal,
                });
            }
        }
    }
}

/// The first error is the one that is told.
fn first(refusal: FilterRefusal, error: EvalError) -> FilterRefusal {
    match refusal {
        FilterRefusal::Failed(_) => refusal,
        FilterRefusal::False | FilterRefusal::NoValues(_) => FilterRefusal::Failed(error),
    }
}

/// Goes on to the next combination, the last choice fastest; false behind the last one.
fn advance(turns: &mut [usize], choices: &[(&str, Vec<Value<'_>>)]) -> bool {
    for (turn, (_, values)) in turns.iter_mut().zip(choices).rev() {
        *turn = turn.saturating_add(1);
        if *turn < values.len() {
            return true;
        }
        *turn = 0;
    }
    false
}

/// Finds the uses of parameters, and puts membership in the place of comparisons.
struct Rewriter {
    /// The type of `parameters`.
    declared: Type,
    uses: Uses,
    whole: bool,
}

impl Rewriter {
    /// `hidden` says whether a variable of a macro is called `parameters` here.
    fn rewrite(&mut self, expr: &mut Expr, hidden: bool) {
        if let ExprKind::Call { function, target: None, args } = &mut expr.kind
            && let ("_==_" | "_!=_", [left, right]) = (function.text.as_str(), args.as_mut_slice())
        {
            if self.parameter(right, hidden).is_none() && self.parameter(left, hidden).is_some() {
                std::mem::swap(left, right);
            }
            if let Some(name) = self.parameter(right, hidden) {
                self.rewrite(left, hidden);
                if self.becomes_set(right, &name) {
                    become_membership(expr);
                }
                return;
            }
        }
        if let Some(name) = self.parameter(expr, hidden) {
            self.note(&name).chosen = true;
            return;
        }
        match &mut expr.kind {
            ExprKind::Has { operand, field } if is_parameters(operand, hidden) => {
                self.note(&field.text).chosen = true;
            }
            ExprKind::Ident { .. } => self.whole |= is_parameters(expr, hidden),
            ExprKind::Comprehension(loops) => {
                let second = loops.second.as_ref();
                let inside = hidden || is_name(&loops.variable) || second.is_some_and(is_name);
                self.rewrite(&mut loops.range, hidden);
                loops.filter.iter_mut().for_each(|filter| self.rewrite(filter, inside));
                self.rewrite(&mut loops.body, inside);
            }
            ExprKind::Bind { variable, value, body } => {
                let inside = hidden || is_name(variable);
                self.rewrite(value, hidden);
                self.rewrite(body, inside);
            }
            ExprKind::OptMap { operand, variable, body, .. } => {
                let inside = hidden || is_name(variable);
                self.rewrite(operand, hidden);
                self.rewrite(body, inside);
            }
            _ => expr.for_each_part_mut(&mut |part| self.rewrite(part, hidden)),
        }
    }

    /// The parameter that an expression is, whichever way it is written.
    fn parameter(&self, expr: &Expr, hidden: bool) -> Option<String> {
        match &expr.kind {
            ExprKind::Select { operand, field, .. } if is_parameters(operand, hidden) => {
                Some(field.text.clone())
            }
            ExprKind::Index { operand, index, .. } if is_parameters(operand, hidden) => match &index.kind {
                ExprKind::Literal(Literal::String(name)) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Makes of a parameter all its values. One that the tool does not have stays, for the checker to complain about.
    fn becomes_set(&mut self, expr: &mut Expr, name: &str) -> bool {
        let set = all_of(name);
        let known = match &self.declared {
            Type::Record(record) => record.slot(name).is_some(),
            _ => true,
        };
        let used = self.note(name);
        if !known {
            return false;
        }
        match &mut expr.kind {
            ExprKind::Select { field, optional: false, .. } => field.text = set.to_string(),
            ExprKind::Index { index, optional: false, .. } => {
                index.kind = ExprKind::Literal(Literal::String(set.to_string()));
            }
            _ => {
                used.chosen = true;
                return false;
            }
        }
        used.set = Some(set);
        true
    }

    fn note(&mut self, name: &str) -> &mut Use {
        self.uses.entry(name.into()).or_default()
    }
}

/// `a == b` to `a in b`, and `a != b` to `!(a in b)`.
fn become_membership(expr: &mut Expr) {
    let ExprKind::Call { function, .. } = &mut expr.kind else { return };
    let negated = function.text == "_!=_";
    function.text = "@in".to_owned();
    if negated {
        let not = Name { text: "!_".to_owned(), span: function.span };
        let kind = std::mem::replace(&mut expr.kind, ExprKind::Literal(Literal::Null));
        let inner = Expr { id: expr.id, span: expr.span, kind, in_place_of: None };
        expr.kind = ExprKind::Call { function: not, target: None, args: vec![inner] };
    }
}

/// Whether an expression is the variable `parameters` of the scope.
fn is_parameters(expr: &Expr, hidden: bool) -> bool {
    matches!(&expr.kind, ExprKind::Ident { name, absolute } if name == PARAMETERS && (*absolute || !hidden))
}

fn is_name(variable: &Name) -> bool {
    variable.text == PARAMETERS
}
