//! Where inputs come from: a terminal, with editing, history and completion, or a pipe, line by line.
//!
//! Out: one input after the other, each whole: as long as a bracket or a `'''` text is open, the next line belongs to
//! it; an empty line ends it all the same. History is kept in the user's state folder, or where that cannot be written,
//! in memory. Nothing is evaluated here but what completion needs.

use super::command::{Action, expression, read};
use super::complete::complete;
use super::session::Session;
use celador::cel::parse;
use celador::limits::EvalLimits;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::cell::RefCell;
use std::io::{self, BufRead, StdinLock};
use std::path::PathBuf;
use std::rc::Rc;

const PROMPT: &str = "cel> ";
/// Inputs that history keeps.
const MAX_HISTORY: usize = 1_000;

/// Where inputs come from.
pub(super) enum Input {
    Terminal(Box<Terminal>),
    Pipe(Box<Pipe>),
}

/// A terminal with somebody at it.
pub(super) struct Terminal {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

/// Lines that somebody has written before.
pub(super) struct Pipe {
    lines: io::Lines<StdinLock<'static>>,
    limits: EvalLimits,
    /// The number of the line that was read last.
    line: usize,
}

/// One input, or why there is none.
pub(super) enum Next {
    /// An input, and the number of its first line if it came through a pipe.
    Text(String, Option<usize>),
    /// The user has thought better of it.
    Again,
    End,
}

impl Input {
    pub(super) fn terminal(session: &Rc<RefCell<Session>>) -> io::Result<Self> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .auto_add_history(true);
        let config = config.max_history_size(MAX_HISTORY).map_err(io::Error::other)?.build();
        let mut editor = Editor::with_config(config).map_err(io::Error::other)?;
        editor.set_helper(Some(Assistant { session: session.clone(), paths: FilenameCompleter::new() }));
        let history = history_file();
        if let Some(path) = &history {
            // none is there at first, and a history that cannot be read is no reason not to work
            let _ = editor.load_history(path);
        }
        Ok(Self::Terminal(Box::new(Terminal { editor, history })))
    }

    pub(super) fn pipe(limits: EvalLimits) -> Self {
        Self::Pipe(Box::new(Pipe { lines: io::stdin().lock().lines(), limits, line: 0 }))
    }

    /// The next input.
    ///
    /// # Errors
    /// A terminal or pipe that cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        match self {
            Self::Terminal(terminal) => terminal.next(),
            Self::Pipe(pipe) => pipe.next(),
        }
    }
}

impl Terminal {
    fn next(&mut self) -> io::Result<Next> {
        match self.editor.readline(PROMPT) {
            Ok(text) => {
                if let Some(path) = &self.history {
                    // as above
                    let _ = self.editor.append_history(path);
                }
                Ok(Next::Text(text, None))
            }
            Err(ReadlineError::Interrupted) => Ok(Next::Again),
            Err(ReadlineError::Eof) => Ok(Next::End),
            Err(ReadlineError::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Pipe {
    fn next(&mut self) -> io::Result<Next> {
        let mut text = String::new();
        let mut first = None;
        for line in self.lines.by_ref() {
            let line = line?;
            self.line = self.line.saturating_add(1);
            first.get_or_insert(self.line);
            text.push_str(&line);
            if !goes_on(&text, &self.limits) {
                return Ok(Next::Text(text, first));
            }
            text.push('\n');
        }
        Ok(if first.is_some() { Next::Text(text, first) } else { Next::End })
    }
}

/// Whether an input is not whole: what it has opened the next line may close. An empty line ends it.
fn goes_on(text: &str, limits: &EvalLimits) -> bool {
    let ended = text.rsplit_once('\n').is_some_and(|(_, last)| last.trim().is_empty());
    let Some(expr) = expression(text).filter(|_| !ended) else { return false };
    let Err(issues) = parse(expr, limits) else { return false };
    issues.iter().any(|issue| {
        let opened = expr.get(issue.span.range()).unwrap_or_default();
        match issue.code {
            "unclosed_bracket" => true,
            "unterminated_string" => opened.ends_with("'''") || opened.ends_with("\"\"\""),
            _ => false,
        }
    })
}

/// Where history is kept: `celador/history` in the state folder of the user, made if it is not there.
fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| folder("HOME").map(|home| home.join(".local").join("state")))?;
    let own = state.join("celador");
    std::fs::create_dir_all(&own).ok()?;
    Some(own.join("history"))
}

/// What the editor asks while somebody types.
struct Assistant {
    session: Rc<RefCell<Session>>,
    paths: FilenameCompleter,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {}

impl Validator for Assistant {
    fn validate(&self, input: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let open = goes_on(input.input(), &self.session.borrow().limits().eval);
        Ok(if open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..at).unwrap_or_default();
        if matches!(read(before), Ok(Action::Load(_))) {
            return self.paths.complete(line, at, context);
        }
        let (start, found) = complete(&self.session.borrow(), before);
        let pairs = found.into_iter().map(|it| Pair { display: it.shown, replacement: it.text });
        Ok((start, pairs.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::goes_on;
    use celador::limits::EvalLimits;

    #[test]
    fn an_open_bracket_or_text_goes_on() {
        let goes_on = |text| goes_on(text, &EvalLimits::default());
        assert!(goes_on("[1,") && goes_on("'''a") && goes_on(":type {'a': (") && goes_on(":set x = ["));
        assert!(
            !goes_on("[1]") && !goes_on("'a") && !goes_on("1 +") && !goes_on(")") && !goes_on(":scope (")
        );
        assert!(!goes_on("[1,\n") && !goes_on("[1,\n  "), "an empty line ends it");
    }
}
