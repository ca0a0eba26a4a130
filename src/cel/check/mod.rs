//! An [`Expr`] and its [`Env`] to a [`Checked`] expression: types, resolved names, static cost; or diagnostics.
//!
//! Types are gradual: what is not known is `dyn` and goes with everything. What the scope does not declare is an
//! error; what only fails when it runs (no overload for these types, a field that the record lacks) is a warning, and
//! the checked expression is there all the same. One line: `infer` walks the tree, `names` finds what names stand
//! for, `fields` which fields there are, `calls` which overloads apply, `unify` whether types go together; then `decided`
//! says what asks nothing, `numbers` where a number cannot stand, `constants` which constants name nothing, and `cost` adds up.

mod calls;
mod constants;
mod cost;
mod decided;
mod fields;
mod infer;
pub(super) mod messages;
mod names;
mod numbers;
mod unify;

use super::domain::Domain;
use super::env::{Env, Slot};
use super::function::Declaration;
use super::issue::Issue;
use super::syntax::{Expr, ExprId};
use super::types::Type;
use crate::diagnostic::Severity;
use crate::source::Span;
use std::sync::Arc;

/// An expression whose names are resolved and whose types are known as far as they can be.
///
/// ```
/// use celador_cel::{Checked, Env, EnvBuilder, ExprId, ExprKind, Reference, STANDARD, Type, check, parse};
///
/// let scope = Env::builder().variable("order", Type::Dyn).variable("names", Type::list(Type::String));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let expr = parse("names[0].size() > 3 && order.total > 5", env.limits()).unwrap();
/// let (checked, issues) = check(expr, &env);
/// let checked: Checked = checked.ok_or("no issue is an error")?;
/// assert!(issues.is_empty());
/// assert_eq!(checked.type_of(checked.expr.id), &Type::Bool);
///
/// // the meaning of each name: which of the overloads of `size` is it, now that the type is known?
/// let ExprKind::Call { args, .. } = &checked.expr.kind else { panic!("`&&` is a call") };
/// let ExprKind::Call { args: compared, .. } = &args[0].kind else { panic!("`>` is a call") };
/// let size: ExprId = compared[0].id;
/// match checked.reference(size) {
///     Some(Reference::Function { overloads, qualified: false, .. }) => assert_eq!(overloads, &["string_size"]),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree.
    pub expr: Expr,
    /// The type of each expression, by its id.
    pub types: Vec<Type>,
    /// The meaning of each name, by the id of its expression.
    pub references: Vec<Option<Reference>>,
    /// The cost of one evaluation.
    pub cost: CostEstimate,
    /// The values that each expression can have, where more is known than its type; by its id.
    domains: Vec<Option<Arc<Domain>>>,
}

/// The meaning of a name.
#[derive(Clone, Debug)]
pub enum Reference {
    /// A variable of the scope; on a selection, a variable with a qualified name.
    Variable(Slot),
    /// A variable of a comprehension or binding around it: how many such variables are declared between it and here,
    /// 0 for the innermost; of two variables of one macro the second is the inner one.
    Local(usize),
    /// A function with the overloads that may apply; on a qualified call, its target is part of the name.
    Function {
        /// The function.
        declaration: Declaration,
        /// The ids of the overloads that fit the types of the arguments. Empty if no overload fits: the call then fails when it runs.
        overloads: Vec<&'static str>,
        /// Whether the call's target is a part of the function's name: `math.greatest(1, 2)`.
        qualified: bool,
    },
    /// A type as a value: `int`, `google.protobuf.Timestamp`.
    Type(Type),
    /// A field of a live record, by its slot.
    Field(usize),
}

/// The static cost in cost units: a range, and whether every evaluation stays in it.
///
/// ```
/// use celador_cel::{Assumptions, CostEstimate, Env, EnvBuilder, Program, STANDARD, Type};
///
/// let scope = Env::builder().variable("names", Type::List(Type::String.into()));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let CostEstimate { min, max, assumes } = Program::compile(&env, "names.all(n, n != '')").unwrap().cost();
/// assert!(min > 0);
/// // the list may have any number of elements
/// assert_eq!(max, None);
/// let Assumptions { unbounded, short_texts, .. } = assumes;
/// assert_eq!(unbounded.map(|part| (part.start, part.end)), Some((0, 5)));
///
/// // a single text is taken to be short, and the maximum holds under that assumption
/// let CostEstimate { max, assumes, .. } = Program::compile(&env, "names[0].startsWith('a')").unwrap().cost();
/// assert!(max.is_some() && assumes.short_texts);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostEstimate {
    /// The least that an evaluation which ends without an error costs.
    pub min: u64,
    /// The most that an evaluation costs if the assumptions hold; `None` if nothing bounds it.
    pub max: Option<u64>,
    /// The assumptions behind the maximum, or the reason why it is unbounded.
    pub assumes: Assumptions,
}

/// The assumptions of a maximum cost. They are not enforced; only `max_cost` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// Texts of unknown length have at most 1,000 bytes.
    pub short_texts: bool,
    /// Values keep to the sizes of their schemas: `maxLength`, `maxItems`, `maxProperties`, the longest of `enum`.
    pub sizes_of_schemas: bool,
    /// The first part whose work nothing bounds: a list or map of unknown size that is gone through, most often.
    pub unbounded: Option<Span>,
}

impl Checked {
    /// The type of an expression of the tree.
    #[must_use]
    pub fn type_of(&self, id: ExprId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&Type::Dyn)
    }

    /// Whether the value of an expression of the tree may have a type. What is not known may have any; a JSON number is an `int`, a
    /// `uint` or a `double`.
    #[must_use]
    pub fn may_be(&self, id: ExprId, ty: &Type) -> bool {
        let found = self.type_of(id);
        let is_number = || self.domain_of(id).is_some_and(|domain| domain.numbers.is_some());
        if *found == Type::Dyn && is_number() {
            return matches!(ty, Type::Dyn | Type::Int | Type::UInt | Type::Double);
        }
        unify::Substitution::default().unify(ty, found)
    }

    /// What an expression of the tree is beyond its type, where it is a path to a field of which more is known.
    #[must_use]
    pub fn domain_of(&self, id: ExprId) -> Option<&Domain> {
        self.domains.get(id.0 as usize)?.as_deref()
    }

    /// The meaning of the name that stands at this expression of the tree.
    #[must_use]
    pub fn reference(&self, id: ExprId) -> Option<&Reference> {
        self.references.get(id.0 as usize)?.as_ref()
    }
}

/// Checks an expression in a scope. The checked expression is there if no issue is an error; its calls that no
/// overload fits have an empty list of them and fail when they run.
///
/// Codes of errors: `undeclared_name`, `undeclared_function`, `undeclared_type`, `unknown_row`. Codes of warnings:
/// `no_matching_overload`, `unknown_field`, `not_selectable`, `not_iterable`, `never_equal`, `always_true`,
/// `always_false`.
///
/// # Cost
/// Linear in the tree, times the overloads of the functions called.
#[must_use]
pub fn check(expr: Expr, env: &Env) -> (Option<Checked>, Vec<Issue>) {
    let (checked, issues) = resolve(expr, env);
    let refused = issues.iter().any(|issue| issue.severity == Severity::Error);
    ((!refused).then_some(checked), issues)
}

/// The same without refusing anything: what the scope does not declare has no reference and the type `dyn`, and fails
/// when it is run.
pub(crate) fn resolve(expr: Expr, env: &Env) -> (Checked, Vec<Issue>) {
    let (types, references, mut issues) = infer::infer(&expr, env);
    let cost = CostEstimate { min: 0, max: None, assumes: Assumptions::default() };
    let mut checked = Checked { expr, types, references, cost, domains: Vec::new() };
    let (domains, doubts) = decided::decided(&checked, env);
    checked.domains = domains;
    issues.extend(doubts);
    issues.extend(numbers::numbers(&checked));
    issues.extend(constants::constants(&checked));
    issues.sort_by_key(|issue| issue.span);
    checked.cost = cost::estimate(&checked, env.limits());
    (checked, issues)
}
