//! What the checker finds in a macro over all calls that asks for those of one function: `c.calls.exists(t, t.fn == 'orders_find' && t.output.status == 'payed')`.
//!
//! In: a program. Out: issues that it does not have itself, since a call in `calls` has the type of calls of any function. It is checked once more with the calls of the function
//! in the place of all calls, whose results have the type that the function's schema gives them. Nothing runs this. One more check for a program with such a macro.

use crate::cel::{
    Comprehension, ComprehensionKind, Env, Expr, ExprKind, Issue, Literal, Name, Program, check,
};
use crate::source::Span;

/// The issues of a program whose macros over all calls ask for those of one function, beyond those that it has.
pub(super) fn issues_of_named_calls(program: &Program, env: &Env) -> Vec<Issue> {
    if !names_calls(program.expr()) {
        return Vec::new();
    }
    let mut expr = program.expr().clone();
    let mut ranges = Vec::new();
    name_calls(&mut expr, &mut ranges);
    expr.number();
    let (_, mut issues) = check(expr, env);
    // the function is none of the agent, which the program itself is told of
    if issues.iter().any(|issue| ranges.contains(&issue.span)) {
        return Vec::new();
    }
    let known = program.issues();
    issues.retain(|issue| {
        known.iter().all(|known| issue.span.end <= known.span.start || known.span.end <= issue.span.start)
    });
    issues
}

/// Whether some macro over all calls asks for those of one function.
fn names_calls(expr: &Expr) -> bool {
    let mut found =
        matches!(&expr.kind, ExprKind::Comprehension(comprehension) if function_of(comprehension).is_some());
    expr.for_each_part(&mut |part| found |= names_calls(part));
    found
}

/// Puts the calls of a function in the place of all calls where a macro asks for those, and notes where.
fn name_calls(expr: &mut Expr, ranges: &mut Vec<Span>) {
    expr.for_each_part_mut(&mut |part| name_calls(part, ranges));
    if let ExprKind::Comprehension(comprehension) = &mut expr.kind
        && let Some(function) = function_of(comprehension)
        && let range = &mut comprehension.range
        && let ExprKind::Select { operand: context, .. } = &range.kind
    {
        let of = |operand: Expr, field: &str| Expr {
            kind: ExprKind::Select {
                operand: Box::new(operand),
                field: Name { text: field.to_owned(), span: range.span },
                optional: false,
            },
            ..range.clone()
        };
        ranges.push(range.span);
        let capabilities = of((**context).clone(), "capabilities");
        *range = of(of(capabilities, &function), "calls");
    }
}

/// The function whose calls alone a macro over all calls asks for.
fn function_of(comprehension: &Comprehension) -> Option<String> {
    let Comprehension { kind, range, variable, second: None, body, .. } = comprehension else { return None };
    let ExprKind::Select { operand, field, .. } = &range.kind else { return None };
    let is_context =
        matches!(&operand.kind, ExprKind::Ident { name, .. } if name == "c" || name == "context");
    if !is_context || field.text != "calls" {
        return None;
    }
    let one = || named(body, &variable.text, ("_&&_", "_==_"));
    let all_but_others = || named(body, &variable.text, ("_||_", "_!=_"));
    match kind {
        ComprehensionKind::Exists | ComprehensionKind::ExistsOne | ComprehensionKind::All => {
            one().or_else(all_but_others)
        }
        // of a chain of `||` calls of others remain
        ComprehensionKind::Filter => one(),
        _ => None,
    }
}

/// The function of `t.fn == 'f'` in a chain of `&&`, or of `t.fn != 'f'` in one of `||`.
fn named(expr: &Expr, variable: &str, (chain, equation): (&str, &str)) -> Option<String> {
    let ExprKind::Call { function, target: None, args } = &expr.kind else { return None };
    if function.text == chain {
        return args.iter().find_map(|operand| named(operand, variable, (chain, equation)));
    }
    let is_fn = |expr: &Expr| {
        matches!(&expr.kind, ExprKind::Select { operand, field, .. } if field.text == "fn"
            && matches!(&operand.kind, ExprKind::Ident { name, .. } if name == variable))
    };
    match args.as_slice() {
        [one, other] if function.text == equation => {
            let word = if is_fn(one) { other } else { one };
            match &word.kind {
                ExprKind::Literal(Literal::String(word)) if is_fn(one) || is_fn(other) => {
                    Some(word.to_string())
                }
                _ => None,
            }
        }
        _ => None,
    }
}
