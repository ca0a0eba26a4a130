//! Names of arguments that say what kind of text an argument holds.
//!
//! In: an expression. Out: whether the argument that it reads has one of the names. A schema says `string` of an address, a command line and prose alike, and rules about them differ.

use crate::cel::{Expr, ExprKind};

/// A kind of text for which the language has a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextFormat {
    /// `mail.domain`
    Address,
    /// `url`
    Url,
    /// `path.within`
    Path,
    /// `shell.commands`
    Command,
}

/// A kind of text in which capitals make no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaselessText {
    Sql,
    Method,
    Host,
    Address,
    Program,
}

/// Prose. A rule asks whether prose mentions something, so its patterns have no anchors.
pub(super) const PROSE: [&str; 19] = [
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

/// Addresses of pages.
pub(super) const URLS: [&str; 8] =
    ["url", "uri", "link", "href", "endpoint", "webhook", "callback_url", "webhook_url"];

/// Command lines.
pub(super) const COMMAND_LINES: [&str; 6] =
    ["command", "cmd", "command_line", "commandline", "shell_command", "script"];

/// Paths of files.
pub(super) const PATHS: [&str; 6] = ["path", "file", "file_path", "filepath", "filename", "file_name"];

/// Names of things, which mean another one if they are longer.
pub(super) const IDENTIFIERS: [&str; 20] = [
    "account",
    "branch",
    "bucket",
    "channel",
    "cluster",
    "database",
    "dataset",
    "db",
    "environment",
    "host",
    "hostname",
    "namespace",
    "project",
    "queue",
    "region",
    "repo",
    "repository",
    "role",
    "service",
    "table",
];

/// Statements of SQL.
pub(super) const STATEMENTS: [&str; 5] = ["query", "sql", "statement", "stmt", "sql_query"];

/// E-mail addresses.
pub(super) const ADDRESSES: [&str; 10] =
    ["to", "from", "cc", "bcc", "email", "recipient", "recipients", "sender", "address", "reply_to"];

/// Whether a text is an argument, or a field of one, of one of these names.
pub(super) fn is_called(subject: &Expr, names: &[&str]) -> bool {
    match &subject.kind {
        ExprKind::Select { field, .. } => names.contains(&field.text.to_ascii_lowercase().as_str()),
        // `input.url.lowerAscii()`
        ExprKind::Call { target: Some(target), args, .. } if args.is_empty() => is_called(target, names),
        _ => false,
    }
}
