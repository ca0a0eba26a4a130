//! What the read-evaluate-print loop says by itself: one function a message, by the rules of `diagnostic`.

use celador::cel::ErrorCode;
use std::fmt::Display;

pub(super) fn welcome(version: &str) -> String {
    format!("celador {version}: an expression gives its value, `:help` lists the commands, `:quit` ends")
}

pub(super) fn unknown_command(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no command `{name}`; did you mean `{near}`?"),
        None => format!("there is no command `{name}`; `:help` lists them"),
    }
}

pub(super) fn needs_argument(name: &str, usage: &str) -> String {
    format!("it is written `{name} {usage}`")
}

pub(super) fn unknown_scope(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("there is no scope `{name}`; did you mean `{near}`?"),
        None => format!("there is no scope `{name}`; `:scope` lists them"),
    }
}

pub(super) fn not_a_name(name: &str) -> String {
    format!("`{name}` cannot be the name of a variable")
}

pub(super) fn wrong_type(name: &str, expected: &dyn Display, found: &dyn Display) -> String {
    format!("`{name}` is of type `{expected}` in this scope, and this is `{found}`")
}

pub(super) fn not_an_entry(name: &str, error: &dyn Display) -> String {
    format!("`{name}` is an input or a response in this scope: {error}")
}

pub(super) fn kept_for_other_scopes(name: &str) -> String {
    format!("`{name}` is not known in this scope; it is kept for the scopes that know it")
}

pub(super) fn loaded(agent: Option<&str>) -> String {
    match agent {
        Some(agent) => format!("`context` is a task of agent `{agent}`"),
        None => "`context` is a task without manifests".to_owned(),
    }
}

pub(super) fn estimate(min: u64, max: Option<u64>) -> String {
    match max {
        Some(max) if max == min => format!("estimate: {min}"),
        Some(max) => format!("estimate: {min} to {max}, texts of unknown length taken for 1,000 bytes"),
        None => format!("estimate: {min} or more; a list or map of unknown size is gone through"),
    }
}

pub(super) fn spent(cost: u64, ended: Option<&str>) -> String {
    match ended {
        Some(ended) => format!("this run: {cost}, and it ended in an error: {ended}"),
        None => format!("this run: {cost}"),
    }
}

/// What to do about an error that only a person at the prompt can help.
pub(super) fn help(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Unbound => {
            Some("give it a value with `:set NAME = EXPR`, or a whole context with `:load`")
        }
        _ => None,
    }
}

pub(super) fn asks(question: &str) -> String {
    format!("asks the host: {question}")
}
