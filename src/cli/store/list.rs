//! `celador store list`: the tasks of a store, of all callers.

use super::{ExitCode, Failure, Format, Screen, clock, tasks};
use celador::scenario::visible;
use celador::task::TaskState;
use celador_store::StoreLimits;
use celador_store::{Age, FoundTask, Owner, TaskFilter, TaskLabels, TaskSummary};
use clap::Args;
use serde_json::json;

/// List the tasks of a store, of all callers
///
/// One line a task: caller (`-` for nobody), id, agent, state, when it began, when its last event was, how many events it has, and
/// its metadata. Nothing of what was said or done. A server may go on working meanwhile.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador store list celador-data/celador.db
  celador store list --store celador-data/celador.db
  celador store list --agent support/support-desk --metadata order=o-7
  celador store list --state terminated --older-than 30d      what `celador store purge --older-than 30d` would take

Exit codes: 0 listed, 1 the store cannot be read.")]
pub(super) struct List {
    /// The file, or `postgres://…`; `CELADOR_STORE` if not said, so that a password stands in no list of processes
    #[arg(value_name = "STORE")]
    store: Option<String>,

    /// The same as an option, as other commands have it
    #[arg(long = "store", value_name = "STORE", conflicts_with = "store")]
    named: Option<String>,

    /// Tasks of this caller only
    #[arg(long, value_name = "CALLER")]
    owner: Option<String>,

    /// Tasks in this state only
    #[arg(long, value_name = "STATE", value_parser = TaskState::WORDS)]
    state: Option<String>,

    /// Tasks of this agent only: its name, or its namespace and its name with a slash between
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Tasks for the user of this identifier only
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Tasks with this metadata only; all of them where it is said several times
    #[arg(long, value_name = "NAME=TEXT", value_parser = pair)]
    metadata: Vec<(String, String)>,

    /// Tasks whose last event is longer ago than this, such as `30d` or `12h`
    #[arg(long, value_name = "AGE")]
    older_than: Option<Age>,
}

impl List {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = StoreLimits::default();
        let (tasks, now) = (tasks(self.store.or(self.named), &limits)?, clock::now(None)?);
        let (namespace, agent) = match self.agent.as_deref().map(|agent| agent.split_once('/').ok_or(agent)) {
            None => (None, None),
            Some(Err(agent)) => (None, Some(agent.to_owned())),
            Some(Ok((namespace, agent))) => (Some(namespace.to_owned()), Some(agent.to_owned())),
        };
        let filter = TaskFilter {
            namespace,
            agent,
            user: self.user,
            state: self.state,
            metadata: self.metadata,
            ..TaskFilter::default()
        };
        let owner = self.owner.as_deref().map(Owner::caller);
        let mut last: Option<(Owner, String)> = None;
        loop {
            let after = last.as_ref().map(|(owner, id)| (owner, &**id));
            let page = tasks.find(owner.as_ref(), after, &filter, limits.max_page);
            let page = page.map_err(|error| Failure::Unusable(error.to_string()))?;
            let Some(FoundTask { owner, task, .. }) = page.last() else { return Ok(ExitCode::Yes) };
            last = Some((owner.clone(), task.id.clone()));
            for found in &page {
                if self.older_than.is_none_or(|age| age.is_over(&found.task.changed_at, now)) {
                    show(found, screen)?;
                }
            }
        }
    }
}

/// A name and a text with `=` between.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, text) = text.split_once('=').ok_or("expected a name and a text with `=` between")?;
    Ok((name.to_owned(), text.to_owned()))
}

fn show(found: &FoundTask, screen: &mut Screen) -> Result<(), Failure> {
    let FoundTask { owner, task, labels: TaskLabels { user, parent, metadata } } = found;
    let TaskSummary { id, namespace, agent, state, started_at, changed_at, version } = task;
    match screen.format() {
        Format::Human => {
            let owner = if owner.as_str().is_empty() { "-" } else { owner.as_str() };
            let metadata: String =
                metadata.iter().map(|(name, text)| format!(" {name}={}", visible(text))).collect();
            screen.line(&format!(
                "{owner} {id} {namespace}/{agent} {state} {started_at} {changed_at} {version} event(s){metadata}"
            ))?;
        }
        Format::Json => {
            let row = json!({
                "owner": owner.as_str(), "task": id, "namespace": namespace, "agent": agent, "state": state,
                "started_at": started_at, "changed_at": changed_at, "events": version,
                "user": user, "parent": parent, "metadata": metadata,
            });
            screen.json("task", row)?;
        }
    }
    Ok(())
}
