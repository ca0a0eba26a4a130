//! `celador store list`: the tasks of a store, of all callers.

use super::{ExitCode, Failure, Format, Screen, clock, tasks};
use celador::task::TaskState;
use celador_store::StoreLimits;
use celador_store::{Age, Owner, TaskSummary};
use clap::Args;
use serde_json::json;

/// List the tasks of a store, of all callers
///
/// One line a task: caller (`-` for nobody), id, agent, state, when it began, when its last event was, and how many events it
/// has. Nothing of what was said or done. A server may go on working meanwhile.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador store list celador-data/celador.db
  celador store list --state terminated --older-than 30d      what `celador store purge --older-than 30d` would take

Exit codes: 0 listed, 1 the store cannot be read.")]
pub(super) struct List {
    /// The file, or `postgres://…`; `CELADOR_STORE` if not said, so that a password stands in no list of processes
    #[arg(value_name = "STORE")]
    store: Option<String>,

    /// Tasks of this caller only
    #[arg(long, value_name = "CALLER")]
    owner: Option<String>,

    /// Tasks in this state only
    #[arg(long, value_name = "STATE", value_parser = TaskState::WORDS)]
    state: Option<String>,

    /// Tasks whose last event is longer ago than this, such as `30d` or `12h`
    #[arg(long, value_name = "AGE")]
    older_than: Option<Age>,
}

impl List {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits::default();
        let (tasks, now) = (tasks(self.store, &limits)?, clock::now(None)?);
        let mut last: Option<(Owner, String)> = None;
        loop {
            let after = last.as_ref().map(|(owner, id)| (owner, &**id));
            let page = tasks.all(after, limits.max_page);
            let page = page.map_err(|error| Failure::Unusable(error.to_string()))?;
            let Some((owner, task)) = page.last() else { return Ok(ExitCode::Yes) };
            last = Some((owner.clone(), task.id.clone()));
            for (owner, task) in &page {
                let wanted = self.owner.as_deref().is_none_or(|wanted| owner.as_str() == wanted)
                    && self.state.as_deref().is_none_or(|wanted| task.state == wanted)
                    && self.older_than.is_none_or(|age| age.is_over(&task.changed_at, now));
                if wanted {
                    show(owner, task, screen)?;
                }
            }
        }
    }
}

fn show(owner: &Owner, task: &TaskSummary, screen: &mut Screen) -> Result<(), Failure> {
    let TaskSummary { id, namespace, agent, state, started_at, changed_at, version } = task;
    match screen.format() {
        Format::Human => {
            let owner = if owner.as_str().is_empty() { "-" } else { owner.as_str() };
            screen.line(&format!(
                "{owner} {id} {namespace}/{agent} {state} {started_at} {changed_at} {version} event(s)"
            ))?;
        }
        Format::Json => {
            let row = json!({
                "owner": owner.as_str(), "task": id, "namespace": namespace, "agent": agent, "state": state,
                "started_at": started_at, "changed_at": changed_at, "events": version
            });
            screen.json("task", row)?;
        }
    }
    Ok(())
}
