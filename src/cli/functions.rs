//! `celador functions`: what an expression can call, read off the rows of the library.

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::cel::{Env, Function, LANGUAGE, LIBRARIES, MACROS, Macro, STANDARD};
use celador::context::{FILE, HASH, HASHING, LABELLING, MOUNT, PSEUDONYMS, PUT, REVIEW_OF_POLICIES, WITHIN};
use celador::detect::{DETECTION, Kind, PII, SECRETS};
use celador::diagnostic::nearest;
use celador::parsers::PARSERS;
use celador::scenario::Palette;
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;

/// List the functions and macros of the language, or explain one
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador functions                    all, one a line
  celador functions matches            signatures, cost and examples
  celador functions exists
  celador functions --markdown         the whole reference, as a page")]
pub(crate) struct Arguments {
    /// The function or macro to explain; an operator by its name, such as `_+_`
    name: Option<String>,

    /// The whole reference as Markdown
    #[arg(long, conflicts_with = "name")]
    markdown: bool,
}

/// A function or a macro.
#[derive(Clone, Copy)]
enum Row<'r> {
    Function(&'r Function),
    Macro(&'r Macro),
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        if self.markdown {
            screen.text(&page())?;
            return Ok(ExitCode::Yes);
        }
        let known = LANGUAGE.iter().chain([
            &PUT,
            &HASH,
            &WITHIN,
            &REVIEW_OF_POLICIES,
            &MOUNT,
            &FILE,
            &DETECTION,
            &HASHING,
            &PSEUDONYMS,
            &PARSERS,
            &LABELLING,
        ]);
        let rows = macros().chain(known.copied().flatten().map(Row::Function));
        write(&rows.collect::<Vec<_>>(), self.name.as_deref(), screen)?;
        Ok(ExitCode::Yes)
    }
}

/// The same of the functions that one scope knows, in alphabetical order.
pub(super) fn of_scope(env: &Env, name: Option<&str>, screen: &mut Screen) -> Result<(), Failure> {
    let known = env.functions().map(|declaration| Row::Function(&declaration.function));
    let mut rows: Vec<Row<'_>> = macros().chain(known).collect();
    rows.sort_by_key(Row::name);
    write(&rows, name, screen)
}

fn macros<'r>() -> impl Iterator<Item = Row<'r>> {
    MACROS.iter().map(Row::Macro)
}

/// Lists the rows, or explains one of them.
fn write(rows: &[Row<'_>], name: Option<&str>, screen: &mut Screen) -> Result<(), Failure> {
    let Some(name) = name else {
        for row in rows {
            match screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = screen.palette();
                    screen.line(&format!("{bold}{:28}{reset} {}", row.name(), row.doc()))?;
                }
                Format::Json => screen.json("function", row.to_json())?,
            }
        }
        return Ok(());
    };
    let Some(row) = rows.iter().find(|row| row.name() == name) else {
        let near = nearest(name, rows.iter().map(Row::name));
        return Err(Failure::Unusable(messages::unknown_function(name, near)));
    };
    match screen.format() {
        Format::Human => explain(row, screen)?,
        Format::Json => screen.json("function", row.to_json())?,
    }
    Ok(())
}

fn explain(row: &Row<'_>, screen: &mut Screen) -> Result<(), Failure> {
    let Palette { bold, dim, reset, .. } = screen.palette();
    screen.line(&format!("{bold}{}{reset}  {}", row.name(), row.doc()))?;
    for usage in row.usage() {
        screen.line(&format!("  {usage}"))?;
    }
    screen.line(&format!("  {dim}cost:{reset} {}", row.cost()))?;
    for (expr, gives) in row.examples() {
        screen.line(&format!("  {expr} {dim}→{reset} {gives}"))?;
    }
    Ok(())
}

impl<'r> Row<'r> {
    fn name(&self) -> &'static str {
        match self {
            Self::Function(function) => function.name,
            Self::Macro(row) => row.name,
        }
    }

    fn doc(&self) -> &'static str {
        match self {
            Self::Function(function) => function.doc,
            Self::Macro(row) => row.doc,
        }
    }

    fn cost(&self) -> &'static str {
        match self {
            Self::Function(function) => function.cost,
            Self::Macro(row) => row.cost,
        }
    }

    fn examples(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Function(function) => function.examples,
            Self::Macro(row) => row.examples,
        }
    }

    /// The signatures of a function, the forms of a macro.
    fn usage(&self) -> Vec<&'static str> {
        match self {
            Self::Function(function) => function.overloads.iter().map(|(_, signature)| *signature).collect(),
            Self::Macro(row) => row.forms.to_vec(),
        }
    }

    fn to_json(self) -> serde_json::Value {
        let examples: Vec<_> =
            self.examples().iter().map(|(expr, gives)| json!({ "expr": expr, "gives": gives })).collect();
        let mut row =
            json!({ "name": self.name(), "doc": self.doc(), "cost": self.cost(), "examples": examples });
        let (key, usage) = match self {
            Self::Function(function) => {
                let overloads = function.overloads.iter();
                let overloads = overloads.map(|(id, signature)| json!({ "id": id, "signature": signature }));
                ("overloads", overloads.collect::<Vec<_>>())
            }
            Self::Macro(row) => ("forms", row.forms.iter().map(|form| json!(form)).collect()),
        };
        if let Some(row) = row.as_object_mut() {
            row.insert(key.to_owned(), usage.into());
        }
        row
    }
}

const INTRODUCTION: &str = "\
# Functions and macros

What an expression can call. This page is written by `celador functions --markdown`; every example on it is run by the
tests.

A signature is read as CEL is: `string.startsWith(string) -> bool` is called on a string, `size(list(A)) -> int` is not;
capitals stand for any type, and dots after the last parameter say that it may be repeated. Costs are in cost units, of
which one evaluation has as many as the bound `max_cost` says (`celador limits`).

Extensions go beyond standard CEL as cel-go, OPA and Kubernetes know them: every expression of a policy may call them,
whatever its scope, and use optionals (`input.?to.orValue('')`). A model's capability script may call none of the
functions on this page but `file`.
";

/// The reference as a page.
fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    section(&mut page, "Macros", macros());
    // the libraries of the standard come first
    for (heading, library) in LIBRARIES.iter().take(STANDARD.len()) {
        section(&mut page, heading, library.iter().map(Row::Function));
    }
    let own = [PUT, HASH, WITHIN, REVIEW_OF_POLICIES, MOUNT, FILE].into_iter().flatten();
    section(&mut page, "Policies", own.map(Row::Function));
    section(&mut page, "Where values came from", LABELLING.iter().map(Row::Function));
    section(
        &mut page,
        "Personal data and secrets",
        DETECTION.iter().chain(HASHING).chain(PSEUDONYMS).map(Row::Function),
    );
    kinds(&mut page, "pii", "personal data", PII);
    kinds(&mut page, "secrets", "secrets", SECRETS);
    section(&mut page, "SQL, e-mail addresses and links", PARSERS.iter().map(Row::Function));
    for (heading, library) in LIBRARIES.iter().skip(STANDARD.len()) {
        section(&mut page, &format!("Extension: {heading}"), library.iter().map(Row::Function));
    }
    page
}

fn section<'r>(page: &mut String, heading: &str, rows: impl Iterator<Item = Row<'r>>) {
    let _ = write!(page, "\n## {heading}\n");
    for row in rows {
        let _ = write!(
            page,
            "\n### `{}`\n\n{}.\n\nCost: {}.\n\n```text\n",
            row.name(),
            sentence(row.doc()),
            row.cost()
        );
        for usage in row.usage() {
            let _ = writeln!(page, "{usage}");
        }
        let _ = writeln!(page, "```");
        if !row.examples().is_empty() {
            let _ = writeln!(page, "\n```text");
            for (expr, gives) in row.examples() {
                let _ = writeln!(page, "{expr}  →  {gives}");
            }
            let _ = writeln!(page, "```");
        }
    }
}

/// The kinds that a family of functions knows, as a table.
fn kinds(page: &mut String, family: &str, of: &str, kinds: &[Kind]) {
    let _ = write!(
        page,
        "\n### Kinds of {of}\n\nThe names that the functions of `{family}` take. Those marked \"by name\" are looked for only where an \
         expression names them; what all of them can and cannot see stands in [Security](security.md).\n\n\
         | kind | what counts | published in | |\n|---|---|---|---|\n"
    );
    for kind in kinds {
        let usual = if kind.on_request { "by name" } else { "" };
        let _ = writeln!(page, "| `{}` | {} | {} | {usual} |", kind.name, kind.about, kind.source);
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect()
}
