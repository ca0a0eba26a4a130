//! Text comparisons that allow more than they name.
//!
//! In: a step. Out: findings. An assert allows what it is true for, and a condition what it is false for, so a comparison counts where a match allows the call. A pattern
//! that denies may be loose. Linear in the step, times the constants of the lists that its macros go through.

use super::messages;
use super::path::function;
use super::pattern::{loose_hosts, loose_pattern};
use super::reach::is_root;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind, Literal};
use crate::context::Root;
use crate::diagnostic::Diagnostic;
use crate::policy::{Expression, Step, StepAction};

/// Names of arguments that hold prose. A rule asks whether prose mentions something, so its patterns have no anchors.
const PROSE: [&str; 19] = [
    "answer",
    "body",
    "comment",
    "content",
    "description",
    "justification",
    "message",
    "note",
    "notes",
    "prompt",
    "question",
    "reason",
    "rationale",
    "response",
    "subject",
    "summary",
    "text",
    "thought",
    "title",
];

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let assert = match &step.action {
        StepAction::Assert(assert) => Some(assert),
        _ => None,
    };
    let condition = step.condition.as_ref().map(|condition| (condition, false));
    let mut findings = Vec::new();
    for (expression, lets_by) in condition.into_iter().chain(assert.map(|assert| (assert, true))) {
        let Some(checked) = expression.checked() else { continue };
        let mut look = Look { expression, checked: &checked, local: Vec::new(), findings: &mut findings };
        look.part(&checked.expr, lets_by);
    }
    findings
}

struct Look<'e, 'f> {
    expression: &'e Expression,
    checked: &'e Checked,
    /// The variables of the macros around, the innermost last, each with the list that it goes through.
    local: Vec<(&'e str, &'e Expr)>,
    findings: &'f mut Vec<Diagnostic>,
}

impl<'e> Look<'e, '_> {
    /// Looks at a part. `lets_by` says whether the step allows a call where the part is true.
    fn part(&mut self, expr: &'e Expr, lets_by: bool) {
        match &expr.kind {
            ExprKind::Comprehension(comprehension)
                if matches!(comprehension.kind, ComprehensionKind::All | ComprehensionKind::Exists) =>
            {
                let element = comprehension.second.as_ref().unwrap_or(&comprehension.variable);
                self.local.push((&element.text, &comprehension.range));
                self.part(&comprehension.body, lets_by);
                self.local.pop();
            }
            ExprKind::Call { target, args, .. } => {
                let name = function(self.checked, expr).map_or("", |(name, _)| name);
                match (name, args.as_slice()) {
                    ("!_", [operand]) => self.part(operand, !lets_by),
                    ("_&&_" | "_||_", operands) => {
                        operands.iter().for_each(|operand| self.part(operand, lets_by));
                    }
                    ("_?_:_", [_, yes, no]) => [yes, no].into_iter().for_each(|it| self.part(it, lets_by)),
                    ("startsWith" | "endsWith" | "contains" | "matches", [.., pattern]) if lets_by => {
                        if let Some(subject) = target.as_deref().or_else(|| args.first()) {
                            self.question(name, subject, pattern);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn question(&mut self, name: &'static str, subject: &Expr, pattern: &'e Expr) {
        let is_plain = self.is_plain_argument(subject, self.local.len());
        for constant in self.constants(pattern) {
            let ExprKind::Literal(Literal::String(text)) = &constant.kind else { continue };
            let hosts = loose_hosts(name, text);
            let hosts = hosts.iter().filter(|host| is_plain || !host.is_of_any_part());
            let mut found: Vec<Diagnostic> = hosts
                .map(|host| messages::loose_host(self.expression.place_of(constant.span), host))
                .collect();
            if name == "matches" && is_plain && found.is_empty() {
                let loose = loose_pattern(text);
                found
                    .extend(loose.map(|loose| {
                        messages::loose_pattern(self.expression.place_of(constant.span), loose)
                    }));
            }
            let path = self.expression.origin().path;
            self.findings.extend(found.into_iter().map(|finding| finding.path(path.clone())));
        }
    }

    /// Constants that a text is compared with: one, or the elements of the constant list of a macro.
    fn constants(&self, pattern: &'e Expr) -> Vec<&'e Expr> {
        let ExprKind::Ident { name, absolute: false } = &pattern.kind else { return vec![pattern] };
        match self.local.iter().rev().find(|(local, _)| local == name) {
            Some((_, Expr { kind: ExprKind::List(elements), .. })) => {
                elements.iter().map(|element| &element.value).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a text is an argument of the call or a field of the user, and not prose. `depth` is the number of macro variables visible to it.
    fn is_plain_argument(&self, subject: &Expr, depth: usize) -> bool {
        match &subject.kind {
            ExprKind::Ident { name, absolute: false } => {
                let visible = self.local.get(..depth).unwrap_or_default();
                match visible.iter().rposition(|(local, _)| local == name) {
                    Some(at) => visible.get(at).is_some_and(|(_, range)| self.is_plain_argument(range, at)),
                    None => is_root(self.checked, subject, Root::Input),
                }
            }
            ExprKind::Select { operand, field, .. } => {
                let is_user = field.text == "user" && is_root(self.checked, operand, Root::Context);
                is_user || (!PROSE.contains(&&*field.text) && self.is_plain_argument(operand, depth))
            }
            ExprKind::Index { operand, .. } => self.is_plain_argument(operand, depth),
            // `input.url.lowerAscii()`
            ExprKind::Call { target: Some(target), .. } => self.is_plain_argument(target, depth),
            _ => false,
        }
    }
}
