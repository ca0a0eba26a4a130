//! Whether two expressions answer alike, whatever the input is.
//!
//! In: two expressions over the same scope. Out: whether they are true for the same inputs, false for the same and fail for the same, and read the same. They are if they differ in layout or in
//! the names of the variables of macros alone, or if the solver finds no input for which they answer differently. What is not understood may be anything, but the same question has the same answer
//! on both sides. The budgets of evaluations are not looked at: the same clauses in another order may cost more.

use super::cells::Trial;
use super::node::Node;
use super::path::asks_host;
use super::problem::Problem;
use super::questions::{MAX_CLAUSES, Questions};
use super::spelled_out::{Names, spelled_out};
use super::tried;
use crate::cel::{Checked, Expr, ExprKind};
use crate::policy::Expression;
use std::collections::BTreeSet;

/// Whether it is proved that both answer alike.
///
/// # Cost
/// Bounded as every question of the analysis.
pub(crate) fn answer_alike(old: &Expression, new: &Expression) -> bool {
    let (Some(before), Some(after)) = (canonical(old), canonical(new)) else { return false };
    if before.expr.to_string() == after.expr.to_string() {
        return true;
    }
    let asks = |checked: &Checked| asks_host(checked, &checked.expr);
    if asks(&before) || asks(&after) {
        return false;
    }
    let mut questions = Questions::default();
    let nodes = [&before, &after].map(|checked| questions.read(checked));
    let all: Vec<usize> = (0..questions.clauses.len()).collect();
    let [old_reads, new_reads] = nodes.each_ref().map(|node| reads(node, &questions));
    if all.len() > MAX_CLAUSES || old_reads != new_reads {
        return false;
    }
    let mut problem = Problem::new(&questions, &mut Trial::new(tried(old.limits())));
    // both are asked at one time, so that this holds of what has no subject, too
    problem.answer_once(&questions, |clause| clause.subject == usize::MAX);
    let [one, two] = nodes.each_ref().map(|node| problem.truth(node));
    problem.are_alike(one, two, &all)
}

/// What is asked of an expression: its subjects, and the questions that are not understood.
fn reads(node: &Node, questions: &Questions) -> BTreeSet<(usize, Option<String>)> {
    let mut clauses = Vec::new();
    node.clauses(&mut clauses);
    let clauses = clauses.iter().filter_map(|at| questions.clauses.get(*at));
    clauses.map(|clause| (clause.subject, clause.is_open.then(|| clause.asked.to_string()))).collect()
}

/// The expression with one name for each variable of a macro; written down, it has one layout.
fn canonical(expression: &Expression) -> Option<Checked> {
    let mut checked = spelled_out(expression, Names::OfWhatIsThere)?;
    rename(&mut checked.expr, &mut Vec::new());
    Some(checked)
}

/// Gives the variables of macros names that no author can write, by how deep they stand. `known` are those that are visible, the innermost last.
fn rename(expr: &mut Expr, known: &mut Vec<(String, String)>) {
    match &mut expr.kind {
        ExprKind::Ident { name, absolute: false } => {
            if let Some((_, to)) = known.iter().rev().find(|(from, _)| from == name) {
                name.clone_from(to);
            }
        }
        ExprKind::Comprehension(comprehension) => {
            // the range does not see the variables
            rename(&mut comprehension.range, known);
            let before = known.len();
            for name in
                [Some(&mut comprehension.variable), comprehension.second.as_mut()].into_iter().flatten()
            {
                let to = format!("\u{b7}{}", known.len());
                known.push((std::mem::replace(&mut name.text, to.clone()), to));
            }
            for part in comprehension.filter.iter_mut().chain([&mut comprehension.body]) {
                rename(part, known);
            }
            known.truncate(before);
        }
        _ => expr.for_each_part_mut(&mut |part| rename(part, known)),
    }
}
