//! Denials that the same in other letters passes: `!input.query.contains('DROP TABLE')`.
//!
//! In: a step. Out: findings. Only texts whose consumers take no notice of capitals count: statements of SQL, methods of HTTP, hosts, e-mail addresses, and the ends of names of programs. A rule that has the word in both forms, or
//! asks for it in one form of all letters, means what it says. Linear in the step, times the constants of lists.

use super::argument_names::{ADDRESSES, CaselessText, PATHS, STATEMENTS, URLS, is_called};
use super::messages;
use super::path::{function, is_path};
use super::pattern::is_host;
use super::step_questions::{LocalName, constants, for_each_question, resolved};
use crate::cel::{Checked, Expr, ExprKind};
use crate::diagnostic::Diagnostic;
use crate::policy::{Step, StepAction};
use std::collections::{HashMap, HashSet};

/// Words of SQL by which rules know a statement.
const WORDS_OF_SQL: [&str; 12] = [
    "alter", "attach", "copy", "create", "delete", "drop", "grant", "insert", "into", "truncate", "union",
    "update",
];

/// Methods of HTTP.
const METHODS: [&str; 6] = ["delete", "get", "patch", "post", "put", "trace"];

/// Names of arguments that hold a method.
const METHOD_NAMES: [&str; 3] = ["method", "http_method", "verb"];

/// Ends of the names of programs that Windows runs, whatever their letters.
const PROGRAMS: [&str; 12] =
    [".bat", ".cmd", ".com", ".dll", ".docm", ".exe", ".hta", ".msi", ".ps1", ".scr", ".vbs", ".xlsm"];

/// Findings about a step.
pub(super) fn of_step(step: &Step) -> Vec<Diagnostic> {
    let assert = match &step.action {
        StepAction::Assert(assert) => Some((assert, true)),
        _ => None,
    };
    let condition = step.condition.as_ref().map(|condition| (condition, false));
    let mut findings = Vec::new();
    for (expression, lets_by) in condition.into_iter().chain(assert) {
        let Some(checked) = expression.checked() else { continue };
        let mut known = Vec::new();
        let mut wrong = Vec::new();
        for_each_question(&checked, &checked.expr, lets_by, &mut |expr, local, lets_by| {
            let is_unequal = function(&checked, expr).is_some_and(|(name, _)| name == "_!=_");
            for (constant, text, kind) in compared(&checked, expr, local) {
                known.push(text);
                if lets_by == is_unequal {
                    wrong.push((constant, text, kind));
                }
            }
        });
        let mut forms: HashMap<String, HashSet<&str>> = HashMap::new();
        for text in known {
            forms.entry(text.to_ascii_lowercase()).or_default().insert(text);
        }
        let is_in_both =
            |text: &str| forms.get(&text.to_ascii_lowercase()).is_some_and(|forms| forms.len() > 1);
        let mut told = Vec::new();
        for (constant, text, kind) in wrong.into_iter().filter(|(_, text, _)| !is_in_both(text)) {
            if told.contains(&kind) {
                continue;
            }
            told.push(kind);
            let place = expression.place_of(constant.span);
            findings.push(messages::other_case_passes(place, text, kind).path(expression.origin().path));
        }
    }
    findings
}

/// The constants with which a question compares a text whose letters may be small or capitals.
fn compared<'e>(
    checked: &Checked,
    expr: &'e Expr,
    local: &[LocalName<'e>],
) -> Vec<(&'e Expr, &'e str, CaselessText)> {
    let ExprKind::Call { target, args, .. } = &expr.kind else { return Vec::new() };
    let name = function(checked, expr).map_or("", |(name, _)| name);
    let (subject, constant) = match (name, target.as_deref(), args.as_slice()) {
        ("contains" | "startsWith" | "endsWith" | "matches", Some(subject), [constant]) => {
            (subject, constant)
        }
        ("_==_" | "_!=_" | "@in", None, [subject, constant]) => (subject, constant),
        _ => return Vec::new(),
    };
    let is_domain = checked.domain_of(subject.id).is_some_and(|domain| domain.allowed.is_some());
    let subject = resolved(subject, local);
    if is_domain || !is_path(checked, subject) {
        return Vec::new();
    }
    let all = constants(constant, local).into_iter();
    all.filter_map(|(constant, text)| Some((constant, text, kind(name, subject, text)?))).collect()
}

fn kind(question: &str, subject: &Expr, text: &str) -> Option<CaselessText> {
    let has_letters = |text: &str| text.contains(|letter: char| letter.is_ascii_alphabetic());
    if !has_letters(text) || question == "matches" && is_of_any_case(text) {
        return None;
    }
    let small = text.to_ascii_lowercase();
    let is_end = |end: &str| question == "endsWith" && small == end;
    if is_called(subject, &STATEMENTS) {
        let mut words = small.split(|letter: char| !letter.is_ascii_alphabetic());
        return words.any(|word| WORDS_OF_SQL.contains(&word)).then_some(CaselessText::Sql);
    }
    // of a regular expression the name of a host alone is known: `^https://evil[.]example[.]com/`
    let named = match question {
        "matches" => small.trim_matches(['^', '$']).replace("[.]", ".").replace("\\.", "."),
        _ => small.clone(),
    };
    match () {
        () if is_called(subject, &METHOD_NAMES) => {
            (question != "matches" && METHODS.contains(&text)).then_some(CaselessText::Method)
        }
        () if is_called(subject, &URLS) => {
            let (scheme, rest) = named.split_once("://").unwrap_or(("", &named));
            let host = rest.split('/').next().unwrap_or_default();
            (is_host(host.trim_start_matches('.')) && (scheme.is_empty() || scheme.starts_with("http")))
                .then_some(CaselessText::Host)
        }
        () if is_called(subject, &ADDRESSES) => {
            let host = named.rsplit('@').next().unwrap_or_default();
            is_host(host).then_some(CaselessText::Address)
        }
        () if is_called(subject, &PATHS) => {
            PROGRAMS.iter().any(|end| is_end(end)).then_some(CaselessText::Program)
        }
        () => None,
    }
}

/// Whether a regular expression finds small letters and capitals: `(?i)drop`, `[Dd]rop`.
fn is_of_any_case(pattern: &str) -> bool {
    let mut flags = pattern.split("(?").skip(1).filter_map(|rest| rest.split([')', ':']).next());
    flags.any(|flags| flags.contains('i')) || pattern.replace("[.]", "").contains('[')
}
