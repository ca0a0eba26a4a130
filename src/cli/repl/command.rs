//! A line of input to what it asks for: an expression, or a command that begins with a colon.
//!
//! In: the text of one input, which may have several lines. Out: an [`Action`] that borrows from it, or why there is
//! none. The commands are rows, from which help and completion are made. Nothing is compiled or read here.

use super::messages;
use celador::diagnostic::nearest;

/// What an input asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action<'l> {
    /// Blank or a comment.
    Nothing,
    /// Evaluate an expression.
    Evaluate(&'l str),
    /// Say its type.
    Type(&'l str),
    /// Say what it costs.
    Cost(&'l str),
    /// Show the value of each part.
    Explain(&'l str),
    /// Read manifests, or a context.
    Load(Vec<&'l str>),
    /// Bind a variable.
    Set(&'l str, &'l str),
    /// List what is bound.
    Bound,
    /// Go to another scope, or list them.
    Scope(Option<&'l str>),
    /// List the functions of the scope, or explain one.
    Functions(Option<&'l str>),
    /// List the commands.
    Help,
    /// End.
    Quit,
}

/// A command as help and completion show it.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) about: &'static str,
}

const fn row(name: &'static str, arguments: &'static str, about: &'static str) -> Row {
    Row { name, arguments, about }
}

pub(super) const COMMANDS: [Row; 9] = [
    row(":type", "EXPR", "the type of an expression; nothing is evaluated"),
    row(":cost", "EXPR", "what it costs: estimated before it runs, and what a run spent"),
    row(":explain", "EXPR", "the value of each of its parts, in the order of evaluation"),
    row(
        ":set",
        "NAME = EXPR",
        "bind `input`, `output`, … or a variable of your own; without arguments, list them",
    ),
    row(":scope", "[NAME]", "go to another scope, or list the scopes and their variables"),
    row(
        ":load",
        "[PATH…] [--agent NAME]",
        "manifests, or the state of a task; without a path, all of it again",
    ),
    row(":functions", "[NAME]", "the functions and macros that the scope knows, or one of them"),
    row(":help", "", "this list"),
    row(":quit", "", "end; so does the end of the input"),
];

/// What an input asks for.
///
/// # Errors
/// Why it asks for nothing: an unknown command, or one without what it needs.
pub(super) fn read(text: &str) -> Result<Action<'_>, String> {
    let text = text.trim();
    if is_comment(text) {
        return Ok(Action::Nothing);
    }
    if !text.starts_with(':') {
        return Ok(Action::Evaluate(text));
    }
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let required =
        || if rest.is_empty() { Err(messages::needs_argument(name, usage(name))) } else { Ok(rest) };
    let optional = (!rest.is_empty()).then_some(rest);
    Ok(match name {
        ":type" => Action::Type(required()?),
        ":cost" => Action::Cost(required()?),
        ":explain" => Action::Explain(required()?),
        ":load" => Action::Load(rest.split_whitespace().collect()),
        ":set" if rest.is_empty() => Action::Bound,
        ":set" => {
            let (variable, value) =
                rest.split_once('=').ok_or_else(|| messages::needs_argument(name, usage(name)))?;
            Action::Set(variable.trim(), value.trim())
        }
        ":scope" => Action::Scope(optional),
        ":functions" => Action::Functions(optional),
        ":help" => Action::Help,
        ":quit" => Action::Quit,
        _ => {
            let near = nearest(name, COMMANDS.iter().map(|row| row.name));
            return Err(messages::unknown_command(name, near));
        }
    })
}

/// The expression in an input, if there is one: what may go on in the next line.
pub(super) fn expression(text: &str) -> Option<&str> {
    match read(text).ok()? {
        Action::Evaluate(expr) | Action::Type(expr) | Action::Cost(expr) | Action::Explain(expr) => {
            Some(expr)
        }
        Action::Set(_, expr) => Some(expr),
        _ => None,
    }
}

fn is_comment(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with("//"))
}

fn usage(name: &str) -> &'static str {
    COMMANDS.iter().find(|row| row.name == name).map_or("", |row| row.arguments)
}

#[cfg(test)]
mod tests {
    use super::{Action, COMMANDS, read};

    #[test]
    fn inputs_are_what_they_say() {
        assert_eq!(read("  1 + 1 "), Ok(Action::Evaluate("1 + 1")));
        assert_eq!(read("// about\n\n"), Ok(Action::Nothing));
        assert_eq!(read(":set input = {'a': 'b=c'}"), Ok(Action::Set("input", "{'a': 'b=c'}")));
        assert_eq!(read(":load a b"), Ok(Action::Load(vec!["a", "b"])));
        assert_eq!(read(":scope"), Ok(Action::Scope(None)));
        assert!(read(":tyype 1").unwrap_err().contains("`:type`"));
        assert!(read(":type").unwrap_err().contains("EXPR"));
        assert!(
            COMMANDS
                .iter()
                .all(|row| !read(&format!("{} x = 1", row.name)).is_ok_and(|it| it == Action::Nothing))
        );
    }
}
