//! `celador report`: what would have been stopped, what was, and which tools no rule speaks of.
//!
//! In: decision logs, or a store of tasks, and the manifests if they are at hand. Out: a line for each step, verdict and function, with how
//! often and when. It reads line by line and event by event, and keeps a bounded number of rows.
//!
//! | file | what |
//! |---|---|
//! | `seen` | one decision as a log or a store has it |
//! | `tally` | the rows, counted |
//! | `unruled` | the tools that no step is for |

mod seen;
mod tally;
mod unruled;

use super::files::load_engine;
use super::store::{location, unjudged_folder};
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::limits::EngineLimits;
use celador::manifest::policy_step::Severity;
use celador::scenario::visible;
use celador_store::decision_log::{VerifyError, read_as};
use celador_store::{Database, FoundTask, Owner, StoreLimits, StoredTasks, TaskFilter};
use clap::Args;
use seen::Line;
use serde_json::json;
use std::path::PathBuf;
use tally::{Row, SumBy, Tally, Wanted};

/// Say what would have been stopped, and what was
///
/// Reads decision logs or a store of tasks. With the manifests it also says which tools no rule speaks of.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador report decisions
  celador report --store celador-data/celador.db --manifests policies
  celador report decisions --since 2026-06-01T00:00:00Z --format json

Exit codes: 0 reported, 1 something cannot be read, 2 a log is not as it was written.")]
pub(crate) struct Arguments {
    /// Folders of decision logs
    #[arg(value_name = "FOLDER", required_unless_present = "store")]
    folders: Vec<PathBuf>,

    /// A store of tasks: a file, or `postgres://…`; `CELADOR_STORE` without a value
    #[arg(long, value_name = "STORE", num_args = 0..=1, default_missing_value = "")]
    store: Option<String>,

    /// The manifests that the decisions were made under
    #[arg(long, value_name = "PATH", num_args = 1..)]
    manifests: Vec<PathBuf>,

    /// Decisions at this time or later only: RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Steps of this severity or a graver one only
    #[arg(long, value_name = "SEVERITY", value_parser = severity)]
    severity: Option<Severity>,

    /// Steps with this label only; several for steps that have all of them
    #[arg(long, value_name = "NAME=TEXT", value_parser = label)]
    label: Vec<(String, String)>,

    /// Also sum up by `severity`, or by the label of this name
    #[arg(long, value_name = "NAME")]
    by: Vec<String>,
}

/// A severity by its word.
fn severity(word: &str) -> Result<Severity, String> {
    Severity::ALL
        .into_iter()
        .find(|known| known.as_str() == word)
        .ok_or_else(|| messages::one_of(&Severity::ALL.map(Severity::as_str)))
}

/// A label with its text.
fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.map(|(name, text)| (name.to_owned(), text.to_owned())).ok_or_else(messages::name_and_text)
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let wanted = Wanted { severity: self.severity, labels: self.label.clone() };
        let mut tally = Tally::since(self.since.clone(), wanted);
        let by = self.by.iter().map(|name| match &**name {
            "severity" => SumBy::Severity,
            _ => SumBy::Label(name.clone()),
        });
        let by: Vec<SumBy> = by.collect();
        let limits = StoreLimits::default();
        let store = self.store.clone().map(|said| location(Some(said).filter(|store| !store.is_empty())));
        let store = store.transpose()?;
        // the hooks over a store count what they let go on beside it
        let beside = store.as_ref().and_then(unjudged_folder).filter(|folder| folder.is_dir());
        for folder in self.folders.iter().chain(&beside) {
            let each = |line: Line, _| match line.unjudged() {
                Some((form, at, count)) => tally.count_unjudged(form, at, count),
                None => line.seen().for_each(|seen| tally.count(&seen)),
            };
            match read_as(folder, true, each) {
                Ok(_) => {}
                Err(error @ VerifyError::Broken(_)) => {
                    screen.error(&error.to_string());
                    return Ok(ExitCode::No);
                }
                Err(error) => return Err(Failure::Unusable(error.to_string())),
            }
        }
        if let Some(store) = &store {
            let database = Database::open(store, &limits).map_err(unusable)?;
            count_store(&StoredTasks::new(database, &limits), limits.max_page, &mut tally)?;
        }
        let unruled = match self.manifests.is_empty() {
            true => None,
            false => {
                let (catalog, engine) = load_engine(&self.manifests, EngineLimits::default(), screen)?;
                Some(unruled::find(&catalog, &engine, &tally))
            }
        };
        match screen.format() {
            Format::Human => show(&tally, &by, unruled.as_ref(), screen)?,
            Format::Json => tell(&tally, &by, unruled.as_ref(), screen)?,
        }
        Ok(ExitCode::Yes)
    }
}

fn unusable(error: impl ToString) -> Failure {
    Failure::Unusable(error.to_string())
}

/// Counts the events of all tasks of a store, a page at a time.
fn count_store(tasks: &StoredTasks, page: usize, tally: &mut Tally) -> Result<(), Failure> {
    let mut last: Option<(Owner, String)> = None;
    loop {
        let after = last.as_ref().map(|(owner, id)| (owner, &**id));
        let found = tasks.find(None, after, &TaskFilter::default(), page).map_err(unusable)?;
        let Some(FoundTask { owner, task, .. }) = found.last() else { return Ok(()) };
        last = Some((owner.clone(), task.id.clone()));
        for FoundTask { owner, task, .. } in &found {
            let mut version = 0;
            loop {
                // a task that is purged meanwhile has no events any more
                let events = tasks.events(owner, &task.id, version, page).map_err(unusable)?;
                let Some(newest) = events.last() else { break };
                version = newest.version;
                for event in &events {
                    Line::of_event(event)
                        .into_iter()
                        .flat_map(Line::seen)
                        .for_each(|seen| tally.count(&seen));
                }
            }
        }
    }
}

fn show(
    tally: &Tally,
    by: &[SumBy],
    unruled: Option<&unruled::Unruled>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    screen.line(&messages::decisions_read(tally.decisions()))?;
    let sections = [
        (messages::would_have_stopped(), true, true),
        (messages::would_have_changed(), true, false),
        (messages::was_stopped(), false, true),
    ];
    for (title, observed, stops) in sections {
        let rows: Vec<&Row> =
            tally.rows().filter(|row| row.observed == observed && row.stops() == stops).collect();
        if rows.is_empty() {
            continue;
        }
        screen.line(&format!("\n{title}"))?;
        for row in rows {
            let Row { verdict, step, function, count, first, last, .. } = row;
            let function = if function.is_empty() { "-".to_owned() } else { visible(function) };
            let step = visible(step);
            screen.line(&format!("  {count:>6}  {verdict:<13} {function}  {step}  {first} to {last}"))?;
        }
    }
    for by in by {
        for (title, observed) in [(messages::would_have_stopped(), true), (messages::was_stopped(), false)] {
            let sums = tally.sums(by, observed);
            if sums.is_empty() {
                continue;
            }
            screen.line(&format!("\n{}", messages::summed_by(title, &visible(by.word()))))?;
            for (word, count) in sums {
                screen.line(&format!("  {count:>6}  {}", visible(&word)))?;
            }
        }
    }
    if tally.passed().next().is_some() {
        screen.line(&format!("\n{}", messages::passed_by_exceptions()))?;
        for tally::Passed { rule, exception, count, first, last } in tally.passed() {
            let seen::Excepted { path, until, reason, .. } = exception;
            let said = visible(&format!("{rule}  {path}, until {until}: {reason}"));
            screen.line(&format!("  {count:>6}  {said}  {first} to {last}"))?;
        }
    }
    if tally.unjudged().next().is_some() {
        screen.line(&format!("\n{}", messages::forwarded_unjudged()))?;
        for (form, tally::Unjudged { count, first, last }) in tally.unjudged() {
            // the name of a form comes from the other side
            screen.line(&format!("  {count:>6}  {}  {first} to {last}", visible(form)))?;
        }
    }
    if tally.left_out() > 0 {
        screen.line(&messages::rows_left_out(tally.left_out()))?;
    }
    let Some(unruled) = unruled else { return Ok(()) };
    if !unruled.without_steps.is_empty() {
        screen.line(&format!("\n{}", messages::no_rule_speaks_of()))?;
        for tool in &unruled.without_steps {
            screen.line(&format!("  {:>6}  {}  {}", tool.calls, tool.function, tool.agent))?;
        }
    }
    if !unruled.undeclared.is_empty() {
        screen.line(&format!("\n{}", messages::no_manifest_names()))?;
        for (function, calls) in &unruled.undeclared {
            screen.line(&format!("  {calls:>6}  {function}"))?;
        }
    }
    Ok(())
}

fn tell(
    tally: &Tally,
    by: &[SumBy],
    unruled: Option<&unruled::Unruled>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    for row in tally.rows() {
        let Row { observed, verdict, step, severity, labels, function, count, first, last } = row;
        screen.json(
            "stopped",
            json!({
                "observed": observed, "verdict": verdict, "step": step, "severity": severity, "labels": labels,
                "function": function, "count": count,
                "first": first, "last": last,
            }),
        )?;
    }
    for by in by {
        for observed in [true, false] {
            for (word, count) in tally.sums(by, observed) {
                let sum = json!({"by": by.word(), "observed": observed, "text": word, "count": count});
                screen.json("sum", sum)?;
            }
        }
    }
    for tally::Passed { rule, exception, count, first, last } in tally.passed() {
        let seen::Excepted { path, until, reason, .. } = exception;
        let row = json!({
            "rule": rule, "path": path, "until": until, "reason": reason, "count": count, "first": first, "last": last,
        });
        screen.json("exception", row)?;
    }
    for (form, tally::Unjudged { count, first, last }) in tally.unjudged() {
        screen.json("unjudged", json!({"form": form, "count": count, "first": first, "last": last}))?;
    }
    for tool in unruled.into_iter().flat_map(|unruled| &unruled.without_steps) {
        let unruled::Tool { agent, function, calls } = tool;
        screen.json("unruled", json!({"agent": agent, "function": function, "calls": calls}))?;
    }
    for (function, calls) in unruled.into_iter().flat_map(|unruled| &unruled.undeclared) {
        screen.json("undeclared", json!({"function": function, "calls": calls}))?;
    }
    screen.json("report", json!({"decisions": tally.decisions(), "left_out": tally.left_out()}))?;
    Ok(())
}
