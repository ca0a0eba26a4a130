//! The operators by which expressions are mutated, as a table: what each replaces, and by what.
//!
//! In: a parsed expression with its text. Out: replacements of characters, those of a part before those of its operands. Linear in the expression, times the rows of
//! [`OPERATORS`].

use crate::cel::{ComprehensionKind, Expr, ExprKind, Literal};
use crate::source::Span;

/// Other characters in the place of some.
pub(super) struct Replacement {
    pub(super) span: Span,
    pub(super) instead: String,
    /// The kind of mutant, as a word for programs.
    pub(super) kind: &'static str,
}

/// A part of an expression that may be mutated.
struct Site<'s> {
    part: &'s Expr,
    /// Whether something asks for its truth.
    is_judged: bool,
    /// The text of the whole expression.
    text: &'s str,
}

/// A mutation operator.
struct Operator {
    /// The kind of its mutants, as a word for programs.
    kind: &'static str,
    /// The replacements that it makes of a part.
    replace: fn(&Site<'_>) -> Vec<(Span, String)>,
}

/// All operators, in the order in which their mutants of one part stand.
const OPERATORS: &[Operator] = &[
    Operator { kind: "operator_swapped", replace: swap_operator },
    Operator { kind: "comparison_moved", replace: move_comparison },
    Operator { kind: "clause_negated", replace: negate_clause },
    Operator { kind: "quantifier_swapped", replace: swap_quantifier },
    Operator { kind: "anchor_dropped", replace: drop_anchor },
    Operator { kind: "member_removed", replace: remove_member },
    Operator { kind: "constant_moved", replace: move_constant },
];

/// Operators and those that take their place.
const SWAPPED: [(&str, &str, &str); 2] = [("_&&_", "&&", "||"), ("_||_", "||", "&&")];

/// Comparisons and those that differ from them by as little as there is.
const MOVED: [(&str, &str, &str); 4] =
    [("_<_", "<", "<="), ("_<=_", "<=", "<"), ("_>_", ">", ">="), ("_>=_", ">=", ">")];

/// The comparisons, of which each is a clause wherever it stands.
const COMPARISONS: [&str; 7] = ["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in"];

/// The most members of a list that are left out, each by itself: the first and the last.
const MOST_MEMBERS: usize = 8;

/// The replacements of an expression and of its parts. `is_judged` says whether its result is taken as a truth.
pub(super) fn replacements(expression: &Expr, is_judged: bool, text: &str) -> Vec<Replacement> {
    let mut found = Vec::new();
    visit(&Site { part: expression, is_judged, text }, &mut found);
    found
}

fn visit(site: &Site<'_>, found: &mut Vec<Replacement>) {
    for Operator { kind, replace } in OPERATORS {
        let made = replace(site).into_iter();
        found.extend(made.map(|(span, instead)| Replacement { span, instead, kind }));
    }
    let Site { part, is_judged, text } = site;
    let mut operand = |part: &Expr, is_judged: bool| visit(&Site { part, is_judged, text }, found);
    match &part.kind {
        ExprKind::Call { function, target: None, args } => {
            let name = function.text.as_str();
            for (position, arg) in args.iter().enumerate() {
                let is_conditional = name == "_?_:_";
                let passes =
                    matches!(name, "_&&_" | "_||_") || is_conditional && (position == 0 || *is_judged);
                operand(arg, passes);
            }
        }
        ExprKind::Comprehension(comprehension) => {
            operand(&comprehension.range, false);
            comprehension.filter.iter().for_each(|filter| operand(filter, true));
            let is_predicate = matches!(
                comprehension.kind,
                ComprehensionKind::All
                    | ComprehensionKind::Exists
                    | ComprehensionKind::ExistsOne
                    | ComprehensionKind::Filter
            );
            operand(&comprehension.body, is_predicate);
        }
        _ => part.for_each_part(&mut |part| operand(part, false)),
    }
}

impl Site<'_> {
    /// The name and the operands of a function without a receiver, such as an operator.
    fn call(&self) -> Option<(&str, &[Expr])> {
        match &self.part.kind {
            ExprKind::Call { function, target: None, args } => Some((&function.text, args)),
            _ => None,
        }
    }

    fn text_of(&self, part: &Expr) -> &str {
        self.text.get(part.span.range()).unwrap_or_default()
    }

    /// The sign of an operator with two operands in the place of another.
    fn other_sign(&self, table: &[(&str, &str, &str)]) -> Vec<(Span, String)> {
        let Some((name, [left, right])) = self.call() else { return Vec::new() };
        let Some((_, sign, other)) = table.iter().find(|(known, ..)| *known == name) else {
            return Vec::new();
        };
        let between = self.text.get(left.span.end as usize..right.span.start as usize);
        let Some(at) = between.and_then(|between| between.find(sign)) else { return Vec::new() };
        let start = (left.span.end as usize).saturating_add(at);
        vec![(Span::new(start, start.saturating_add(sign.len())), (*other).to_owned())]
    }
}

fn swap_operator(site: &Site<'_>) -> Vec<(Span, String)> {
    site.other_sign(&SWAPPED)
}

fn move_comparison(site: &Site<'_>) -> Vec<(Span, String)> {
    site.other_sign(&MOVED)
}

/// A clause is what is true or false and not made of others.
fn negate_clause(site: &Site<'_>) -> Vec<(Span, String)> {
    let (own, span) = (site.text_of(site.part), site.part.span);
    let negated = || vec![(span, format!("!({own})"))];
    match site.call() {
        Some(("!_", [operand])) if site.is_judged => vec![(span, format!("({})", site.text_of(operand)))],
        Some(("_&&_" | "_||_" | "_?_:_", _)) => Vec::new(),
        Some((name, _)) if COMPARISONS.contains(&name) => negated(),
        _ if site.is_judged && !matches!(site.part.kind, ExprKind::Literal(_)) => negated(),
        _ => Vec::new(),
    }
}

/// `all` in the place of `exists`, and the other way round.
fn swap_quantifier(site: &Site<'_>) -> Vec<(Span, String)> {
    let ExprKind::Comprehension(comprehension) = &site.part.kind else { return Vec::new() };
    let other = match comprehension.kind {
        ComprehensionKind::All => "exists",
        ComprehensionKind::Exists => "all",
        _ => return Vec::new(),
    };
    vec![(comprehension.name.span, other.to_owned())]
}

/// A pattern of `matches` without its `^`, and without its `$`.
fn drop_anchor(site: &Site<'_>) -> Vec<(Span, String)> {
    let ExprKind::Call { function, args, .. } = &site.part.kind else { return Vec::new() };
    let Some(pattern) = args.last().filter(|_| function.text == "matches") else { return Vec::new() };
    let ExprKind::Literal(Literal::String(text)) = &pattern.kind else { return Vec::new() };
    let flags = text.strip_prefix("(?").and_then(|rest| rest.split_once(')')).map_or(0, |(flags, _)| {
        let is_flags = flags.chars().all(|sign| sign.is_ascii_alphabetic() || sign == '-');
        if is_flags { flags.len().saturating_add(3) } else { 0 }
    });
    let (flags, rest) = text.split_at_checked(flags).unwrap_or(("", text));
    let begin = rest.strip_prefix('^').map(|rest| format!("{flags}{rest}"));
    // a dollar behind an odd number of backslashes is a character
    let end = text.strip_suffix('$').filter(|rest| {
        let backslashes = rest.chars().rev().take_while(|sign| *sign == '\\').count();
        backslashes.is_multiple_of(2)
    });
    let literal = |text: String| {
        let instead = Expr { kind: ExprKind::Literal(Literal::String(text)), ..pattern.clone() };
        (pattern.span, instead.to_string())
    };
    begin.into_iter().chain(end.map(str::to_owned)).map(literal).collect()
}

/// A list without one of its members.
fn remove_member(site: &Site<'_>) -> Vec<(Span, String)> {
    let ExprKind::List(items) = &site.part.kind else { return Vec::new() };
    let from_end = items.len().saturating_sub(MOST_MEMBERS / 2);
    let positions = (0..items.len()).filter(|at| *at < MOST_MEMBERS / 2 || *at >= from_end);
    let without = |removed: usize| {
        let rest = items.iter().enumerate().filter(|(at, _)| *at != removed);
        let rest = rest.map(|(_, item)| {
            format!("{}{}", if item.optional { "?" } else { "" }, site.text_of(&item.value))
        });
        (site.part.span, format!("[{}]", rest.collect::<Vec<_>>().join(", ")))
    };
    positions.map(without).collect()
}

/// A constant near to one.
fn move_constant(site: &Site<'_>) -> Vec<(Span, String)> {
    let ExprKind::Literal(literal) = &site.part.kind else { return Vec::new() };
    let others: Vec<Literal> = match literal {
        Literal::Int(number) => {
            [number.checked_add(1), number.checked_sub(1)].into_iter().flatten().map(Literal::Int).collect()
        }
        Literal::UInt(number) => {
            [number.checked_add(1), number.checked_sub(1)].into_iter().flatten().map(Literal::UInt).collect()
        }
        Literal::Double(number) => vec![Literal::Double(number + 1.0)],
        Literal::String(text) => vec![Literal::String(format!("{text}~"))],
        Literal::Null | Literal::Bool(_) | Literal::Bytes(_) => Vec::new(),
    };
    let moved = |literal| Expr { kind: ExprKind::Literal(literal), ..site.part.clone() }.to_string();
    others.into_iter().map(|literal| (site.part.span, moved(literal))).collect()
}
