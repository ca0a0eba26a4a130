//! Text comparisons that allow more than they name.
//!
//! In: a step. Out: findings. An assert allows what it is true for, and a condition what it is false for, so a comparison counts where a match allows the call. A pattern
//! that denies may be loose. Linear in the step, times the constants of the lists that its macros go through.

use super::messages;
use super::path::function;
use super::pattern::{LooseHost, LoosePrefix, is_host, loose_hosts, loose_pattern, loose_prefix};
use super::reach::is_root;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind, Literal, Type};
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
            ExprKind::Bind { variable, value, body } => {
                self.local.push((&variable.text, value));
                self.part(body, lets_by);
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
                    _ => {
                        if let Some((name, subject, part)) = position(self.checked, expr, lets_by) {
                            self.question(name, subject, part);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn question(&mut self, name: &'static str, subject: &Expr, pattern: &'e Expr) {
        let depth = self.local.len();
        let is_plain = self.is_plain_argument(subject, depth);
        if name == "contains" && is_text(subject) && self.is_plain_argument(pattern, depth) {
            self.tell(messages::list_in_text(self.expression.place_of(subject.span)));
        }
        if is_plain && self.is_list_as_text(subject) {
            self.tell(messages::list_as_text(self.expression.place_of(subject.span)));
        }
        if matches!(name, "startsWith" | "endsWith") && is_plain && self.is_of_user(pattern) {
            let place = self.expression.place_of(pattern.span);
            self.tell(messages::loose_prefix(place, &LoosePrefix::Value { is_end: name == "endsWith" }));
        }
        for constant in self.constants(pattern) {
            let ExprKind::Literal(Literal::String(text)) = &constant.kind else { continue };
            let hosts = loose_hosts(name, text);
            let hosts = hosts.iter().filter(|host| is_plain || !host.is_of_any_part());
            let begins = (name == "startsWith" && self.is_host(subject) && is_host(text))
                .then(|| LooseHost::Begin(text.clone()));
            let mut found: Vec<Diagnostic> = hosts
                .chain(&begins)
                .map(|host| messages::loose_host(self.expression.place_of(constant.span), host))
                .collect();
            if name == "startsWith" && is_plain && found.is_empty() {
                found
                    .extend(loose_prefix(text).map(|loose| {
                        messages::loose_prefix(self.expression.place_of(constant.span), &loose)
                    }));
            }
            if name == "matches" && is_plain && found.is_empty() {
                let loose = loose_pattern(text);
                found
                    .extend(loose.map(|loose| {
                        messages::loose_pattern(self.expression.place_of(constant.span), loose)
                    }));
            }
            found.into_iter().for_each(|finding| self.tell(finding));
        }
    }

    fn tell(&mut self, finding: Diagnostic) {
        self.findings.push(finding.path(self.expression.origin().path));
    }

    /// Whether a text is the host of an address.
    fn is_host(&self, subject: &Expr) -> bool {
        function(self.checked, subject).is_some_and(|(name, _)| ["getHost", "getHostname"].contains(&name))
    }

    /// Whether a text is that of a list.
    fn is_list_as_text(&self, subject: &Expr) -> bool {
        let ExprKind::Call { target, args, .. } = &subject.kind else { return false };
        let is_list = |expr: &Expr| matches!(self.checked.type_of(expr.id), Type::List(_));
        match (function(self.checked, subject), target.as_deref(), args.as_slice()) {
            (Some(("join", _)), Some(target), _) => is_list(target),
            (Some(("text" | "string", _)), None, [only]) => is_list(only),
            _ => false,
        }
    }

    /// Whether an expression is a part of what is known of the user.
    fn is_of_user(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Select { operand, field, .. } => {
                field.text == "user" && is_root(self.checked, operand, Root::Context)
                    || self.is_of_user(operand)
            }
            _ => false,
        }
    }

    /// Constants that a text is compared with: one, or the elements of the constant list of a macro.
    fn constants(&self, pattern: &'e Expr) -> Vec<&'e Expr> {
        let ExprKind::Ident { name, absolute: false } = &pattern.kind else { return vec![pattern] };
        match self.local.iter().rev().find(|(local, _)| local == name) {
            Some((_, Expr { kind: ExprKind::List(elements), .. })) => {
                elements.iter().map(|element| &element.value).collect()
            }
            Some((_, value @ Expr { kind: ExprKind::Literal(_), .. })) => vec![value],
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
            ExprKind::Call { target, args, .. } => match (target.as_deref(), args.as_slice()) {
                // `url(input.url)`, `path.clean(input.path)`
                (_, [only])
                    if function(self.checked, subject).is_some_and(|(name, _)| READERS.contains(&name)) =>
                {
                    self.is_plain_argument(only, depth)
                }
                // `input.url.lowerAscii()`
                (Some(target), _) => self.is_plain_argument(target, depth),
                (None, _) => false,
            },
            _ => false,
        }
    }
}

/// Functions that give the text that they are given, or a reading of it.
const READERS: [&str; 4] = ["string", "text", "url", "path.clean"];

fn is_text(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Literal::String(_)))
}

/// The function that asks the same as a comparison of a position, with its operands, where the answer that lets a call by is that there is one:
/// `input.url.indexOf('a') >= 0`.
fn position<'e>(
    checked: &Checked,
    expr: &'e Expr,
    lets_by: bool,
) -> Option<(&'static str, &'e Expr, &'e Expr)> {
    let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
    let [call, bound] = args.as_slice() else { return None };
    let ExprKind::Literal(Literal::Int(bound)) = &bound.kind else { return None };
    let (is_found, asked) = match (function(checked, expr)?.0, bound) {
        ("_==_", 0) => (true, "startsWith"),
        ("_!=_", 0) => (false, "startsWith"),
        ("_>=_", 0) | ("_>_" | "_!=_", -1) => (true, "contains"),
        ("_<_", 0) | ("_<=_" | "_==_", -1) => (false, "contains"),
        _ => return None,
    };
    match (&call.kind, function(checked, call)?.0) {
        (ExprKind::Call { target: Some(subject), args, .. }, "indexOf" | "lastIndexOf") => {
            args.first().filter(|_| is_found == lets_by).map(|part| (asked, &**subject, part))
        }
        _ => None,
    }
}
