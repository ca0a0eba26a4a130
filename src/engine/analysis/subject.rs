//! What a clause asks about: a path, or an expression that is taken as a whole, with the values that it can have.
//!
//! In: an expression of a checked tree. Out: a [`Subject`]: its name, under which all clauses that ask about the same thing meet, and the
//! kinds of values that the checker, the schemas that the runtime enforces and the context leave it. What is not known is left
//! open: a set of values that is too large makes an accusation less, one that is too small would make a wrong one.

use super::emptiness::Emptiness;
use super::facts::{Facts, answers};
use super::number::Ints;
use super::path::{are_claims, asks_host, is_of_result, is_path, is_validated, key, sized};
use super::range::{Range, difference};
use super::reach::Reach;
use super::sample::Sample;
use super::text::Question;
use crate::cel::{
    Checked, ComprehensionKind, Constant, Domain, Expr, ExprKind, Literal, Name, Numbers, RecordType,
    Reference, Storage, Type,
};
use crate::context::Root;
use std::sync::Arc;

/// What a clause asks about.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// Equal for what has equal values.
    pub(super) key: String,
    /// The paths that it starts with, shortest first.
    pub(super) beginnings: Vec<String>,
    pub(super) ty: Type,
    pub(super) domain: Option<Arc<Domain>>,
    /// Where it lies whatever schemas say, if it is a number; of two numbers, where the difference of the first and the second one does.
    pub(super) range: Option<Range>,
    /// What the schemas of arguments say.
    pub(super) facts: Facts,
    /// Of a text that a function gives: questions that have one answer, with that.
    pub(super) answers: Vec<(Question, bool)>,
    /// What its values say of lists.
    pub(super) emptiness: Vec<Emptiness>,
    pub(super) presence: Presence,
    /// Whether the runtime holds it to its schema: an argument of the call at hand, or a claim of the user.
    pub(super) is_validated: bool,
    /// Whether it is computed, and no path to a value that is there.
    pub(super) is_computed: bool,
    /// Of `size(p)`: whether `p` is a number or a truth, of which there is no size.
    pub(super) has_no_size: bool,
    /// Whether it may be what no JSON is, such as a time: the variable of a macro over what is computed.
    pub(super) is_foreign: bool,
    /// Of two paths that are compared: what they are.
    pub(super) pair: Option<Pair>,
    /// What it reads, as far as steps may change it.
    pub(super) reach: Reach,
}

/// Two paths that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// Two numbers, neither of which is NaN: one is less, or they are equal.
    Numbers,
    /// Anything: they are equal or not.
    Values,
}

/// The most values that are tried one by one.
const MAX_FEW: usize = 64;

/// The most ints that are tried one by one.
const MAX_INTS: i64 = 32;

/// What stands between the names of two paths in the name of both.
pub(super) const BETWEEN: &str = " <=> ";

/// Whether there is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Always.
    Sure,
    /// The record is always there, the field may be missing.
    MayLack,
    /// The record may be missing, too, or be none.
    MayFail,
    /// It is computed, which may fail.
    Computed,
}

/// The roots that always have a value, and whose fields are what their types say.
const SURE: [Root; 6] = [Root::Context, Root::Input, Root::Now, Root::Runtime, Root::Call, Root::Counters];

impl Subject {
    /// What an expression asks about, if it is one that a host does not answer anew.
    pub(super) fn of(checked: &Checked, expr: &Expr) -> Option<Self> {
        if asks_host(checked, expr) {
            return None;
        }
        let is_path = is_path(checked, expr);
        // a call that failed gives what it likes, whatever the schema of its result says
        let of_result = is_path && is_of_result(checked, expr);
        let ty = if of_result { Type::Dyn } else { checked.type_of(expr.id).clone() };
        let presence = presence(checked, expr);
        let domain = checked.domain_of(expr.id).filter(|_| !of_result).cloned().map(Arc::new);
        let facts = match is_validated(checked, expr) {
            true => Facts::of_path(checked, expr),
            false => Facts::of_numbers(Range::of(checked, expr, true).unwrap_or(Range::ALL)),
        };
        Some(Self {
            key: key(checked, expr),
            beginnings: beginnings(checked, expr),
            ty,
            domain,
            range: Range::of(checked, expr, false),
            facts,
            answers: answers(checked, expr),
            emptiness: Emptiness::of(checked, expr),
            presence,
            is_validated: is_validated(checked, expr),
            is_computed: !is_path,
            has_no_size: sized(checked, expr).is_some_and(|of| is_scalar(checked, of)),
            is_foreign: is_foreign(checked, expr),
            pair: None,
            reach: Reach::of(checked, expr),
        })
    }

    /// All of its values, if there are few.
    pub(super) fn few_values(&self) -> Option<Vec<Sample>> {
        let domain = self.domain.as_deref();
        if let Some(allowed) = domain.and_then(|domain| domain.allowed.as_deref()) {
            return (allowed.len() <= MAX_FEW)
                .then(|| allowed.iter().flat_map(Sample::of_constant).collect());
        }
        if domain.is_some_and(|domain| domain.or_null) {
            return None;
        }
        match &self.ty {
            Type::Bool => Some([true, false].map(Sample::Bool).to_vec()),
            _ => self.few_ints(),
        }
    }

    /// The ints that a schema leaves to an argument, if they are few, and the doubles that JSON may write for them. `-0.0` is equal to `0.0` and not written like it,
    /// so neither of them is known.
    fn few_ints(&self) -> Option<Vec<Sample>> {
        let domain = self.domain.as_deref().filter(|domain| domain.numbers == Some(Numbers::Whole))?;
        let Ints { least, most } = Range::of_argument(domain).ints();
        let is_few = self.is_validated && most.checked_sub(least)? < MAX_INTS;
        let both = |value| {
            let double = Sample::of_constant(&Constant::Number(value)).into_iter();
            double.filter(|sample| *sample != Sample::Double(0.0))
        };
        #[expect(clippy::cast_precision_loss, reason = "the ends are exact doubles")]
        is_few.then(|| (least..=most).flat_map(|value| both(value as f64)).collect())
    }

    /// Two paths as one thing, or two numbers that are computed, whose values are how they stand to each other; nothing if what is computed may be no number.
    pub(super) fn pair(checked: &Checked, left: &Expr, right: &Expr) -> Option<Self> {
        let (one, two) = (Self::of(checked, left)?, Self::of(checked, right)?);
        let is_computed = one.is_computed || two.is_computed;
        let is_number = |of: &Self| match &of.domain {
            _ if of.is_computed => of.range.is_some_and(Range::is_ordered),
            Some(domain) if domain.numbers.is_some() => domain.allowed.is_none(),
            _ => matches!(of.ty, Type::Int | Type::Double),
        };
        let are_numbers = is_number(&one) && is_number(&two);
        if is_computed && !are_numbers {
            return None;
        }
        let presence = match (one.presence, two.presence) {
            _ if is_computed => Presence::Computed,
            (Presence::Sure, Presence::Sure) => Presence::Sure,
            _ => Presence::MayLack,
        };
        let further = |with_schemas| difference(checked, left, right, with_schemas).unwrap_or(Range::ALL);
        let ranges = one.range.zip(two.range).filter(|_| are_numbers);
        let range = ranges.map(|(one, two)| one.less(two).and(further(false)));
        let facts = ranges.map(|(of_one, of_two)| {
            let (of_one, of_two) = (of_one.and(one.facts.numbers), of_two.and(two.facts.numbers));
            of_one.less(of_two).and(further(true))
        });
        Some(Self {
            key: format!("{}{BETWEEN}{}", one.key, two.key),
            beginnings: Vec::new(),
            ty: Type::Dyn,
            domain: None,
            range,
            facts: Facts::of_numbers(facts.unwrap_or(Range::ALL)),
            answers: Vec::new(),
            emptiness: Vec::new(),
            presence,
            is_validated: false,
            is_computed: false,
            has_no_size: false,
            is_foreign: false,
            pair: Some(if are_numbers { Pair::Numbers } else { Pair::Values }),
            reach: one.reach.clone().and(&two.reach),
        })
    }

    /// The field that `has` looks for.
    pub(super) fn of_field(checked: &Checked, operand: &Expr, field: &Name) -> Option<Self> {
        if asks_host(checked, operand) {
            return None;
        }
        let select = Expr {
            kind: ExprKind::Select {
                operand: Box::new(operand.clone()),
                field: field.clone(),
                optional: false,
            },
            ..operand.clone()
        };
        let is_known = !is_of_result(checked, &select);
        let declared = record(checked.type_of(operand.id)).filter(|_| is_known).and_then(|record| {
            let (_, declared) = record.fields.get_index(record.slot(&field.text)?)?;
            Some(declared)
        });
        Some(Self {
            key: key(checked, &select),
            beginnings: beginnings(checked, &select),
            ty: declared.map_or(Type::Dyn, |declared| declared.ty.clone()),
            domain: declared.and_then(|declared| declared.domain.clone()),
            range: None,
            facts: declared
                .and_then(|declared| declared.domain.as_deref())
                .filter(|_| is_validated(checked, operand))
                .map_or(Facts::NOTHING, Facts::of_argument),
            answers: Vec::new(),
            emptiness: Emptiness::of_path(checked, &select),
            presence: presence_of_field(checked, operand, &field.text),
            is_validated: is_validated(checked, operand),
            is_computed: !is_path(checked, operand),
            has_no_size: false,
            is_foreign: is_foreign(checked, operand),
            pair: None,
            reach: Reach::of(checked, &select),
        })
    }
}

fn beginnings(checked: &Checked, expr: &Expr) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = expr;
    while let ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } = &at.kind {
        found.push(key(checked, operand));
        at = operand;
    }
    found.reverse();
    found
}

fn record(ty: &Type) -> Option<&RecordType> {
    match ty {
        Type::Record(record) | Type::Singleton(record) => Some(record),
        _ => None,
    }
}

/// Whether a path begins with a variable of a macro, and some macro of the expression goes through what is computed, or gives a name
/// to it.
fn is_foreign(checked: &Checked, expr: &Expr) -> bool {
    let mut begin = expr;
    while let ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. } = &begin.kind {
        begin = operand;
    }
    matches!(checked.reference(begin.id), Some(Reference::Local(_))) && names_computed(checked, &checked.expr)
}

fn names_computed(checked: &Checked, expr: &Expr) -> bool {
    let computes = match &expr.kind {
        ExprKind::Comprehension(comprehension) => !is_data(checked, &comprehension.range),
        ExprKind::Bind { value, .. } => !is_data(checked, value),
        ExprKind::Block { .. } | ExprKind::OptMap { .. } => true,
        _ => false,
    };
    let mut parts = computes;
    expr.for_each_part(&mut |part| parts |= names_computed(checked, part));
    parts
}

/// Whether an expression gives JSON, as far as it can be seen: a path, or elements of one.
fn is_data(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Comprehension(comprehension) => match comprehension.kind {
            ComprehensionKind::Filter | ComprehensionKind::SortBy => is_data(checked, &comprehension.range),
            ComprehensionKind::Map => is_path(checked, &comprehension.body),
            _ => false,
        },
        _ => is_path(checked, expr),
    }
}

/// Whether a path leads to a value for every input.
pub(super) fn is_there(checked: &Checked, path: &Expr) -> bool {
    presence(checked, path) == Presence::Sure
}

fn presence(checked: &Checked, expr: &Expr) -> Presence {
    match &expr.kind {
        ExprKind::Ident { name, .. } => match checked.reference(expr.id) {
            Some(Reference::Variable(_)) if Root::long_name(name) == Root::Event.name() => Presence::MayLack,
            _ => Presence::Sure,
        },
        ExprKind::Select { operand, field, .. } => presence_of_field(checked, operand, &field.text),
        ExprKind::Index { operand, index, .. } => match &index.kind {
            ExprKind::Literal(Literal::String(field)) => presence_of_field(checked, operand, field),
            _ => Presence::MayFail,
        },
        _ => match sized(checked, expr) {
            Some(of) if has_size(checked, of) && presence(checked, of) == Presence::Sure => Presence::Sure,
            _ => Presence::Computed,
        },
    }
}

/// Whether a path leads to nothing that has no size.
fn has_size(checked: &Checked, path: &Expr) -> bool {
    is_path(checked, path)
        && !is_of_result(checked, path)
        && matches!(checked.type_of(path.id), Type::List(_) | Type::Map(_) | Type::String)
        && checked.domain_of(path.id).is_none_or(|domain| !domain.or_null)
}

fn presence_of_field(checked: &Checked, operand: &Expr, field: &str) -> Presence {
    if !is_sure(checked, operand) {
        return Presence::MayFail;
    }
    let declared = record(checked.type_of(operand.id))
        .and_then(|record| record.fields.get_index(record.slot(field)?).map(|(_, field)| field));
    match declared {
        Some(declared) if declared.required => Presence::Sure,
        _ => Presence::MayLack,
    }
}

/// Whether an expression always has a value, and one of its type: the roots, and the structs of the context. A record of JSON may be
/// null, whatever its type says.
fn is_sure(checked: &Checked, expr: &Expr) -> bool {
    let ty = checked.type_of(expr.id);
    match &expr.kind {
        ExprKind::Ident { name, .. } => match checked.reference(expr.id) {
            Some(Reference::Variable(_)) => {
                let known = matches!(ty, Type::Record(_) | Type::Map(_) | Type::Singleton(_));
                let root = Root::long_name(name);
                let tested = matches!(ty, Type::Singleton(_));
                known && (tested || SURE.iter().any(|sure| sure.name() == root))
            }
            Some(Reference::Local(_)) => record(ty).is_some_and(|record| record.storage == Storage::Live),
            _ => false,
        },
        ExprKind::Select { .. } if are_claims(checked, expr) => record(ty).is_some(),
        ExprKind::Select { operand, field, optional: false } => {
            is_sure(checked, operand)
                && record(ty).is_some_and(|record| record.storage == Storage::Live)
                && record(checked.type_of(operand.id)).is_some_and(|of| {
                    of.storage == Storage::Live
                        && of.slot(&field.text).is_some_and(|slot| {
                            of.fields.get_index(slot).is_some_and(|(_, field)| field.required)
                        })
                })
        }
        _ => false,
    }
}

fn is_scalar(checked: &Checked, expr: &Expr) -> bool {
    let numbers = checked.domain_of(expr.id).is_some_and(|domain| domain.numbers.is_some());
    numbers || matches!(checked.type_of(expr.id), Type::Int | Type::Double | Type::UInt | Type::Bool)
}
