//! Text comparisons that allow more than they name.
//!
//! In: a step. Out: findings. An assert allows what it is true for, and a condition what it is false for, so a comparison counts where a match allows the call. A pattern
//! that denies may be loose. Linear in the step, times the constants of the lists that its macros go through.

use super::argument_names::{COMMAND_LINES, IDENTIFIERS, PATHS, PROSE, STATEMENTS, URLS, is_called};
use super::messages;
use super::path::{function, mentions};
use super::pattern::{
    LooseHost, LoosePrefix, is_extension, is_folder, is_host, is_open_behind, is_reading_statement,
    loose_hosts, loose_pattern, loose_prefix,
};
use super::reach::is_root;
use crate::cel::{Checked, ComprehensionKind, Expr, ExprKind, Literal, Type};
use crate::context::Root;
use crate::diagnostic::Diagnostic;
use crate::policy::{Expression, Step, StepAction};

/// Constants of a rule that considers paths that leave their folder.
const LEAVING: [&str; 2] = ["..", "/."];

/// Constants of a rule that considers several commands in one line. A `|` alone is an alternative in a regular expression.
const SEVERAL_COMMANDS: [&str; 6] = [";", "`", "$(", "\n", "&&", "||"];

/// The signs of a shell that a rule names as a whole text: `!input.command.contains('|')`.
const SIGNS_OF_SHELLS: [&str; 2] = ["|", "&"];

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let assert = match &step.action {
        StepAction::Assert(assert) => Some(assert),
        _ => None,
    };
    let condition = step.condition.as_ref().map(|condition| (condition, false));
    let mut findings = Vec::new();
    let mut named = Vec::new();
    for expression in step.expressions() {
        texts(expression.program().expr(), &mut named);
    }
    let names = |signs: &[&str]| named.iter().any(|text| signs.iter().any(|sign| text.contains(sign)));
    let thinks_of = ThinksOf {
        leaving: names(&LEAVING),
        several_commands: names(&SEVERAL_COMMANDS)
            || named.iter().any(|text| SIGNS_OF_SHELLS.contains(&text.trim())),
    };
    for (expression, lets_by) in condition.into_iter().chain(assert.map(|assert| (assert, true))) {
        let Some(checked) = expression.checked() else { continue };
        let mut look =
            Look { expression, checked: &checked, local: Vec::new(), thinks_of, findings: &mut findings };
        look.part(&checked.expr, lets_by);
    }
    findings
}

/// The mistakes that a step considers, as its constants show.
#[derive(Clone, Copy)]
struct ThinksOf {
    leaving: bool,
    several_commands: bool,
}

/// Collects the constant texts of an expression.
fn texts<'e>(expr: &'e Expr, found: &mut Vec<&'e str>) {
    if let ExprKind::Literal(Literal::String(text)) = &expr.kind {
        found.push(text);
    }
    expr.for_each_part(&mut |part| texts(part, found));
}

struct Look<'e, 'f> {
    expression: &'e Expression,
    checked: &'e Checked,
    /// The variables of the macros around, the innermost last, each with the list that it goes through.
    local: Vec<(&'e str, &'e Expr)>,
    thinks_of: ThinksOf,
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
                let is_one_enough = lets_by == (comprehension.kind == ComprehensionKind::Exists);
                let is_list = self.is_plain_argument(&comprehension.range, self.local.len());
                let is_parsed = function(self.checked, &comprehension.range)
                    .is_some_and(|(name, _)| PARSERS.contains(&name));
                if is_one_enough
                    && (is_list || is_parsed)
                    && self.is_permission(&comprehension.body, (&element.text, is_parsed), lets_by)
                {
                    let place = self.expression.place_of(comprehension.name.span);
                    self.tell(messages::one_is_enough(place));
                }
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
        let is_end = name == "endsWith";
        if matches!(name, "startsWith" | "endsWith") && is_plain && self.is_of_user_at(pattern, is_end) {
            let place = self.expression.place_of(pattern.span);
            self.tell(messages::loose_prefix(place, &LoosePrefix::Value { is_end }));
        }
        for constant in self.constants(pattern) {
            let ExprKind::Literal(Literal::String(text)) = &constant.kind else { continue };
            let hosts = loose_hosts(name, text);
            let hosts = hosts.iter().filter(|host| is_plain || !host.is_of_any_part());
            let ends = (name == "endsWith" && is_plain && is_called(subject, &URLS))
                .then(|| text.trim_start_matches('.'))
                .filter(|host| host.len() < text.len() && is_host(host))
                .map(|_| LooseHost::EndOfUrl(text.clone()));
            let begins = (name == "startsWith" && self.is_host(subject) && is_host(text))
                .then(|| LooseHost::Begin(text.clone()));
            let mut found: Vec<Diagnostic> = hosts
                .chain(&begins)
                .chain(&ends)
                .map(|host| messages::loose_host(self.expression.place_of(constant.span), host))
                .collect();
            if is_plain && found.is_empty() {
                let loose = self.loose_prefix(name, subject, text);
                found
                    .extend(loose.map(|loose| {
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

    /// Why a text is loose that an argument is to begin with, or to contain.
    fn loose_prefix(&self, name: &str, subject: &Expr, text: &str) -> Option<LoosePrefix> {
        let is_command = is_called(subject, &COMMAND_LINES) && !self.thinks_of.several_commands;
        match name {
            "startsWith"
                if is_command
                    && text.starts_with(|first: char| first.is_alphabetic())
                    && !text.contains("://") =>
            {
                Some(LoosePrefix::Command)
            }
            "contains" if is_command && text.starts_with(|first: char| first.is_alphabetic()) => {
                Some(LoosePrefix::Command)
            }
            "matches" if is_command && loose_pattern(text).is_none() && is_open_behind(text) => {
                Some(LoosePrefix::Command)
            }
            "startsWith" => loose_prefix(text).filter(|loose| {
                !matches!(loose, LoosePrefix::Folder(_)) || !self.thinks_of.leaving && !self.is_clean(subject)
            }),
            "contains" if is_folder(text) && !self.is_clean(subject) => {
                Some(LoosePrefix::PartOfPath(text.to_owned()))
            }
            "contains" if is_extension(text) && is_called(subject, &PATHS) => {
                Some(LoosePrefix::Extension(text.to_owned()))
            }
            "contains" if is_called(subject, &STATEMENTS) && is_reading_statement(text) => {
                Some(LoosePrefix::Statement)
            }
            "contains" if is_called(subject, &URLS) && text.contains("://") => {
                Some(LoosePrefix::Scheme(text.to_owned()))
            }
            "contains" if is_called(subject, &IDENTIFIERS) => Some(LoosePrefix::PartOfName(text.to_owned())),
            _ => None,
        }
    }

    /// Whether a path is without `..`: `path.clean(input.path)`.
    fn is_clean(&self, subject: &Expr) -> bool {
        let mut is_clean = function(self.checked, subject).is_some_and(|(name, _)| name == "path.clean");
        subject.for_each_part(&mut |part| is_clean |= self.is_clean(part));
        is_clean
    }

    /// Whether a predicate names what an element may be: its domain, its host, or how it begins or ends; of a part that a parser returns, any part of it. `truth` is the answer for one that
    /// may.
    fn is_permission(&self, expr: &Expr, (element, is_parsed): (&str, bool), truth: bool) -> bool {
        let ExprKind::Call { target, args, .. } = &expr.kind else { return false };
        let name = function(self.checked, expr).map_or("", |(name, _)| name);
        let is_part = |expr: &Expr| {
            let is_known =
                || function(self.checked, expr).is_some_and(|(name, _)| PARTS_OF_ADDRESSES.contains(&name));
            (is_parsed || is_known()) && mentions(expr, element)
        };
        match (name, args.as_slice()) {
            ("!_", [operand]) => self.is_permission(operand, (element, is_parsed), !truth),
            ("_&&_" | "_||_", operands) => {
                operands.iter().any(|operand| self.is_permission(operand, (element, is_parsed), truth))
            }
            ("_==_", [one, other]) => truth && (is_part(one) || is_part(other)),
            ("_!=_", [one, other]) => is_part(one) || is_part(other),
            ("@in", [one, other]) => {
                truth
                    && (is_part(one)
                        || is_parsed && is_part(other)
                        || is_list_of_addresses(one, other, element))
            }
            ("startsWith" | "endsWith" | "matches", [pattern]) => {
                truth
                    && (is_parsed || is_of_address(name, pattern))
                    && target.as_deref().is_some_and(|target| mentions(target, element))
            }
            ("path.within", [path, ..]) => truth && mentions(path, element),
            _ => false,
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

    /// Whether an expression is a part of what is known of the user, or a text that has one on the open side: `'/home/' + context.user.id`.
    fn is_of_user_at(&self, expr: &Expr, is_end: bool) -> bool {
        let ExprKind::Call { target: None, args, .. } = &expr.kind else { return self.is_of_user(expr) };
        let is_sum = function(self.checked, expr).is_some_and(|(name, _)| name == "_+_");
        let open = if is_end { args.first() } else { args.last() };
        open.is_some_and(|open| is_sum && self.is_of_user_at(open, is_end))
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

/// Functions that return the parts of a text, each of which its consumer follows.
const PARSERS: [&str; 6] =
    ["mail.addresses", "shell.commands", "shell.parse", "shell.paths", "sql.parse", "html.urls"];

/// Functions that give a part of an address by which it is known whose it is.
const PARTS_OF_ADDRESSES: [&str; 3] = ["mail.domain", "getHost", "getHostname"];

/// `to in ['ann@example.com', 'bob@example.com']`: several addresses that an element may be. A single one may have to be among the elements.
fn is_list_of_addresses(one: &Expr, list: &Expr, element: &str) -> bool {
    let ExprKind::List(members) = &list.kind else { return false };
    let is_address = |member: &Expr| matches!(&member.kind, ExprKind::Literal(Literal::String(text)) if text.contains('@'));
    mentions(one, element) && members.len() > 1 && members.iter().all(|member| is_address(&member.value))
}

/// Whether a text is a part of an e-mail address, of that of a page, or of a path.
fn is_of_address(name: &str, pattern: &Expr) -> bool {
    let ExprKind::Literal(Literal::String(text)) = &pattern.kind else { return false };
    let host = text.trim_start_matches(['@', '.']);
    match name {
        "endsWith" => text.starts_with('@') || is_host(host),
        "startsWith" => text.contains("://") || is_folder(text),
        _ => text.contains('@') || text.contains("://"),
    }
}

/// Functions that give the text that they are given, or a reading of it.
const READERS: [&str; 4] = ["string", "text", "url", "path.clean"];

fn is_text(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(Literal::String(_)))
}

/// The function that asks the same as a comparison of a position, with its operands, where the answer that lets a call by is that there is one:
/// `input.url.indexOf('a') >= 0`, `input.url.substring(0, 3) == 'abc'`.
fn position<'e>(
    checked: &Checked,
    expr: &'e Expr,
    lets_by: bool,
) -> Option<(&'static str, &'e Expr, &'e Expr)> {
    let ExprKind::Call { target: None, args, .. } = &expr.kind else { return None };
    let [call, bound] = args.as_slice() else { return None };
    if let (Some(("_==_", _)), ExprKind::Call { target: Some(subject), args, .. }) =
        (function(checked, expr).filter(|_| lets_by), &call.kind)
        && let (Some(("substring", _)), [start, _]) = (function(checked, call), args.as_slice())
        && matches!(start.kind, ExprKind::Literal(Literal::Int(0)))
    {
        return Some(("startsWith", &**subject, bound));
    }
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
