//! What is known of values beyond their types: what the schemas of arguments say, and what no text has that a function gives.
//!
//! In: an expression of a checked tree. Out: [`Facts`], which make the cells of its subject fewer. Only what holds of every call of which a step is asked is one: a bound
//! that the runtime does not hold values to would make a wrong accusation.

use super::path::{function, is_of_result};
use super::range::{Range, sizes};
use super::reach::is_root;
use super::sample::{Sample, constant};
use super::text::{MAX_COUNTED, Question};
use crate::cel::{Checked, Domain, Expr, ExprKind, Type};
use crate::context::Root;

/// What a schema says of values beyond their type and their constants.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Where numbers lie; of two numbers, where the difference of the first and the second one does.
    pub(super) numbers: Range,
    /// The least and the greatest size.
    pub(super) sizes: [Option<u64>; 2],
    /// Questions about a text, the answer to each of which is yes.
    pub(super) texts: Vec<Question>,
    /// Whether it is an element of a list that never has as many.
    pub(super) is_beyond: bool,
}

/// Functions of texts whatever else they are given, and a regular expression that finds nothing in any text that the function gives.
const LACKING: [(&str, &str); 14] = [
    ("lowerAscii", "[A-Z]"),
    ("upperAscii", "[a-z]"),
    ("trim", r"^[ \t\r\n]|[ \t\r\n]$"),
    ("getHost", "[A-Z]"),
    ("getHost", "/"),
    ("getHostname", "[A-Z]"),
    ("getHostname", "/"),
    // a port; an IPv6 address has its dots behind its colons
    ("getHostname", "[.].*:"),
    ("getScheme", "[A-Z]"),
    ("getScheme", "[/:]"),
    ("getPort", "[^0-9]"),
    ("mail.domain", "[A-Z@]"),
    ("mail.domain", "^$"),
    ("path.clean", ".[/]$"),
];

/// A day, as `date` writes it.
const DAY: &str = "^-?[0-9]{4,5}-[0-9]{2}-[0-9]{2}$";

/// A number as `string` writes it: no zero at its end behind the point, no sign of thousands.
const NUMBER: &str = r"^(NaN|[+-]Inf|-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?(e[+-][0-9]+)?)$";

impl Facts {
    /// Nothing.
    pub(super) const NOTHING: Self =
        Self { numbers: Range::ALL, sizes: [None; 2], texts: Vec::new(), is_beyond: false };

    /// What the schema of an argument says: no call of which a step is asked has others, though calls on record that were refused for it may.
    pub(super) fn of_argument(domain: &Domain) -> Self {
        let sizes = sizes(domain);
        let counted = match sizes {
            [least, Some(most)] if most <= MAX_COUNTED => {
                Some(Question::Sized(least.unwrap_or(0), Some(most)))
            }
            [Some(least), _] if least <= MAX_COUNTED => Some(Question::Sized(least, None)),
            _ => None,
        };
        let pattern = domain.pattern.as_ref().map(|pattern| Question::Matches(pattern.to_string()));
        Self {
            numbers: Range::of_argument(domain),
            sizes,
            texts: pattern.into_iter().chain(counted).collect(),
            is_beyond: false,
        }
    }

    /// The same of a path.
    pub(super) fn of_path(checked: &Checked, path: &Expr) -> Self {
        let own = checked.domain_of(path.id).map_or(Self::NOTHING, Self::of_argument);
        Self { is_beyond: is_beyond(checked, path), ..own }
    }

    /// What follows for numbers that are computed of arguments.
    pub(super) fn of_numbers(numbers: Range) -> Self {
        Self { numbers, ..Self::NOTHING }
    }
}

/// Whether some index on the way of a path is none of a list that its schema allows.
fn is_beyond(checked: &Checked, path: &Expr) -> bool {
    let (ExprKind::Select { operand, .. } | ExprKind::Index { operand, .. }) = &path.kind else {
        return false;
    };
    let is_own = match &path.kind {
        ExprKind::Index { index, .. } => match (constant(index), checked.domain_of(operand.id).map(sizes)) {
            (Some(Sample::Int(index)), Some([_, Some(most)])) => {
                u64::try_from(index).is_ok_and(|at| at >= most)
            }
            _ => false,
        },
        _ => false,
    };
    is_own || is_beyond(checked, operand)
}

/// A point in time, as `now` writes it. No clock tells a time before 1900.
const MOMENT: &str =
    "^(19|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?Z$";

/// Questions about every text that an expression gives, each with its answer.
pub(super) fn answers(checked: &Checked, expr: &Expr) -> Vec<(Question, bool)> {
    if is_root(checked, expr, Root::Now) {
        return vec![(Question::Matches(MOMENT.to_owned()), true)];
    }
    if let ExprKind::Index { operand, optional: false, .. } = &expr.kind {
        return of_part(checked, operand).into_iter().collect();
    }
    let (Some((name, _)), ExprKind::Call { args, .. }) = (function(checked, expr), &expr.kind) else {
        return Vec::new();
    };
    let constants: Vec<Option<Sample>> = args.iter().map(constant).collect();
    let above = |size: u64| vec![(Question::Sized(size.saturating_add(1), None), false)];
    match (name, constants.as_slice()) {
        ("_+_", [Some(Sample::Text(begin)), None]) => vec![(Question::Starts(vec![begin.to_string()]), true)],
        ("_+_", [None, Some(Sample::Text(end))]) => vec![(Question::Ends(vec![end.to_string()]), true)],
        // a call that failed gives what it likes
        ("string", [None]) if args.iter().all(|it| is_number(checked, it) && !is_of_result(checked, it)) => {
            vec![(Question::Matches(NUMBER.to_owned()), true)]
        }
        ("date", _) => vec![(Question::Matches(DAY.to_owned()), true)],
        ("hash.sha256", _) => vec![(Question::Matches("^[0-9a-f]{64}$".to_owned()), true)],
        ("charAt", _) => above(1),
        ("substring", [Some(Sample::Int(0)), Some(Sample::Int(10))]) if is_of_now(checked, expr) => {
            vec![(Question::Matches(DAY.to_owned()), true)]
        }
        ("substring", [Some(Sample::Int(start)), Some(Sample::Int(end))]) => {
            match end.checked_sub(*start).and_then(|size| u64::try_from(size).ok()) {
                // a text that has fewer fails
                Some(size) if size < MAX_COUNTED => vec![(Question::Sized(size, Some(size)), true)],
                _ => Vec::new(),
            }
        }
        // one sign that is taken out; two might meet again where one between them is
        ("replace", [Some(Sample::Text(out)), Some(Sample::Text(by))])
            if out.chars().count() == 1 && !by.contains(&**out) =>
        {
            vec![(Question::Contains(vec![out.to_string()]), false)]
        }
        _ => {
            let own = LACKING.iter().filter(|(known, _)| *known == name);
            own.map(|(_, pattern)| (Question::Matches((*pattern).to_owned()), false)).collect()
        }
    }
}

/// Whether a function is called on `now`.
fn is_of_now(checked: &Checked, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call { target: Some(target), .. } => is_root(checked, target, Root::Now),
        _ => false,
    }
}

/// What no part of a text has that is split: what it is split by.
fn of_part(checked: &Checked, split: &Expr) -> Option<(Question, bool)> {
    let ("split", ExprKind::Call { target: Some(_), args, .. }) = (function(checked, split)?.0, &split.kind)
    else {
        return None;
    };
    match args.as_slice() {
        [by] => match constant(by)? {
            Sample::Text(by) if !by.is_empty() => Some((Question::Contains(vec![by.to_string()]), false)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression is a number wherever it has a value.
pub(super) fn is_number(checked: &Checked, expr: &Expr) -> bool {
    let of_domain = checked.domain_of(expr.id).is_some_and(|domain| domain.numbers.is_some());
    of_domain || matches!(checked.type_of(expr.id), Type::Int | Type::Double | Type::UInt)
}
