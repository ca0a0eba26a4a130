//! `celador limits`: all bounds, read off their rows.

use super::{ExitCode, Failure, Format, Screen, messages};
use celador::limits::{EngineLimits, EvalLimits, LimitRow};
use celador::scenario::Palette;
use clap::Args;
use serde_json::json;

/// What a command changes of the bounds.
#[derive(Args)]
pub(super) struct Changes {
    /// Change a bound, such as `max_cost=100000`; `celador limits` lists them
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
}

impl Changes {
    /// The bounds of the engine with these changes.
    pub(super) fn of_engine(&self) -> Result<EngineLimits, Failure> {
        let mut limits = EngineLimits::default();
        self.apply(|name, value| limits.set(name, value))?;
        Ok(limits)
    }

    /// Gives each change to `set`, which says whether there is a bound of this name.
    pub(super) fn apply(&self, mut set: impl FnMut(&str, u64) -> bool) -> Result<(), Failure> {
        for limit in &self.limits {
            let (name, value) = limit.split_once('=').unwrap_or((limit, ""));
            let value = value.parse().map_err(|_| Failure::Unusable(messages::no_limit(limit)))?;
            if !set(name, value) {
                return Err(Failure::Unusable(messages::no_limit(limit)));
            }
        }
        Ok(())
    }
}

/// List all bounds: name, default, and what each protects
#[derive(Args)]
pub(crate) struct Arguments {
    /// The bounds as a page of Markdown
    #[arg(long)]
    markdown: bool,
}

const INTRODUCTION: &str = "\
# Limits

What Celador bounds, so that no manifest, expression, argument or message costs it more than was agreed on. This page
is written by `celador limits --markdown`. All bounds are on by default; a host changes them in the struct of each part, which
holds those of the parts below it, and `celador serve`, `celador run` and `celador eval` with `--limit NAME=VALUE`. What is over
a bound is refused before work is done for it, with the bound's name and value in the message; a bound that is reached
while an expression runs fails the expression, which no `||` absorbs, so the step fails closed.

The limits of a task (`max_turns`, `max_age`, `max_spend`, …) are those of its manifest and its policies.
";

/// The bounds of one part.
struct Part {
    title: &'static str,
    about: &'static str,
    rows: &'static [LimitRow],
}

const PARTS: &[Part] = &[
    Part {
        title: "Of the language",
        about: "What one expression or one JSON value may cost: `EvalLimits`.",
        rows: EvalLimits::ROWS,
    },
    Part {
        title: "Of the engine",
        about: "What manifests, schemas and tasks may cost: `EngineLimits`.",
        rows: EngineLimits::ROWS,
    },
    #[cfg(feature = "store")]
    Part {
        title: "Of stores",
        about: "What a store keeps, reads and waits for: `StoreLimits`.",
        rows: celador_store::StoreLimits::ROWS,
    },
    #[cfg(feature = "server")]
    Part {
        title: "Of the server",
        about: "What `celador serve` bounds besides: `ServerLimits`.",
        rows: celador_server::ServerLimits::ROWS,
    },
];

/// What is bounded, and why nobody sets it.
#[cfg(feature = "store")]
fn of_conversations() -> String {
    format!(
        "
## Of conversations

The id of a context or of a task in one has at most {} bytes (`conversation::MAX_ID_BYTES`). That is no row above, for there
is nothing to choose: two ids stand in one entry of an index, of which Postgres takes no more than 2,704 bytes. With a higher
bound one database would keep what another refuses; a lower one would lock out ids that are kept already.
",
        grouped(celador_store::conversation::MAX_ID_BYTES as u64)
    )
}
#[cfg(not(feature = "store"))]
fn of_conversations() -> String {
    String::new()
}

/// The bounds as a page.
fn page() -> String {
    let tables = PARTS.iter().map(|Part { title, about, rows }| {
        let rows = rows.iter().map(|LimitRow { name, default, unit, protects }| {
            format!("| `{name}` | {} | {unit} | {} |\n", grouped(*default), protects.trim())
        });
        let head = "| bound | default | unit | what it protects |\n|---|---:|---|---|\n";
        format!("\n## {title}\n\n{about}\n\n{head}{}", rows.collect::<String>())
    });
    format!("{INTRODUCTION}{}{}", tables.collect::<String>(), of_conversations())
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let count = digits.len();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && count.saturating_sub(position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        if self.markdown {
            screen.text(&page())?;
            return Ok(ExitCode::Yes);
        }
        for row in PARTS.iter().flat_map(|part| part.rows) {
            match screen.format() {
                Format::Human => {
                    let Palette { bold, reset, .. } = screen.palette();
                    screen.line(&format!(
                        "{bold}{:25}{reset} {:>10} {:12} {}",
                        row.name,
                        row.default,
                        row.unit,
                        row.protects.trim()
                    ))?;
                }
                Format::Json => {
                    let protects = row.protects.trim();
                    let row = json!({
                        "name": row.name, "default": row.default, "unit": row.unit, "protects": protects,
                    });
                    screen.json("limit", row)?;
                }
            }
        }
        Ok(ExitCode::Yes)
    }
}
