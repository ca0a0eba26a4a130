//! `celador explain`: why an operation was decided as it was, step by step, with the values of every part.

#[cfg(feature = "store")]
use super::explain_stored;
use super::limits::Changes;
use super::{ExitCode, Failure, Format, Screen, load_engine, messages, read_source};
use celador::limits::EngineLimits;
use celador::scenario::{
    Case, CaseOutcome, Detail, Explainable, ExplainedOperation, Replay, Runner, Script, Unanswered,
    explain_script,
};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Explain why a case, a recorded task or a stored one was decided as it was
///
/// Shows every step of each operation with its end, skipped ones with the reason, and the expressions that decided as trees, each
/// part with its value. A mark stands at the parts of which the result came.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador explain policies/support-desk/cases/refund-needs-ticket.yaml
  celador explain policies/support-desk/cases/refund-needs-ticket.yaml --step before[0]
  celador explain policies/support-desk/task.yaml --step 3
  celador explain policies/support-desk/task.yaml --format json | jq .steps
  celador explain 5c1f… --store celador-data/celador.db --step 7

The manifests of a recorded task are those beside it, and those of a stored task are the ones that the store keeps for it, unless
--manifests names others. Of a stored task calls and inputs are explained; --step takes the number of an event. With --format json
an event has the members that `POST /v1/tasks/{task}/explain` answers.

Exit codes: 0 it was explained, 1 there is no such case, step, file or task, or a case is broken, 3 the manifests
are not valid.")]
pub(crate) struct Arguments {
    /// The file of a case or of a recorded task; with --store the id of a task
    #[arg(value_name = "CASE|TASK")]
    subject: PathBuf,

    /// One case alone of a file of several: its name, with or without that of the file
    #[arg(long, value_name = "NAME")]
    case: Option<String>,

    /// One step alone: a number of the listing, or a name such as `before[0]` or the id of a step of a policy
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    /// The manifests of a recorded or a stored task
    #[arg(long, value_name = "PATH", num_args = 1..)]
    manifests: Vec<PathBuf>,

    #[cfg(feature = "store")]
    #[command(flatten)]
    stored: explain_stored::Stored,

    #[command(flatten)]
    changes: Changes,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = self.changes.of_engine()?;
        #[cfg(feature = "store")]
        if self.stored.is_meant() {
            let id = self.subject.display().to_string();
            return self.stored.run(&id, self.step.as_deref(), (&self.manifests, limits), screen);
        }
        let source = read_source(&self.subject, limits.max_manifest_bytes)?;
        let explained = match Explainable::read(&source, &limits) {
            Ok(Explainable::Cases(cases)) => self.of_cases(&cases, limits, screen)?,
            Ok(Explainable::Script(_)) if self.case.is_some() => {
                return Err(Failure::Unusable(messages::not_a_file_of_cases(&self.subject)));
            }
            Ok(Explainable::Script(script)) => self.of_script(&script, limits, screen)?,
            Err(findings) => {
                screen.complain(&findings);
                return Err(Failure::Told(ExitCode::Unusable));
            }
        };
        let Explained { operations, is_whole } = explained;
        let (chosen, detail) = match &self.step {
            Some(step) => {
                (ExplainedOperation::chosen(operations, step).ok_or_else(|| no_step(step))?, Detail::OfAll)
            }
            None => (operations, Detail::OfOthers),
        };
        if chosen.is_empty() && is_whole {
            return Err(Failure::Unusable(messages::nothing_to_explain()));
        }
        for operation in &chosen {
            match screen.format() {
                Format::Human => screen.text(&operation.render(detail, &screen.palette()))?,
                Format::Json => screen.json("explanation", json!(operation))?,
            }
        }
        Ok(if is_whole { ExitCode::Yes } else { ExitCode::Unusable })
    }

    fn of_cases(
        &self,
        cases: &[Case],
        limits: EngineLimits,
        screen: &mut Screen,
    ) -> Result<Explained, Failure> {
        let is_meant = |case: &&Case| self.case.as_ref().is_none_or(|name| case.is_called(name));
        let mut runner = Runner::new(limits);
        let mut explained = Explained { operations: Vec::new(), is_whole: true };
        let mut found = 0_usize;
        for case in cases.iter().filter(is_meant) {
            found = found.saturating_add(1);
            let report = runner.explain(case);
            if let CaseOutcome::Broken(findings) = &report.outcome {
                screen.complain(findings);
                explained.is_whole = false;
            }
            explained.operations.extend(report.explained);
        }
        match &self.case {
            Some(name) if found == 0 => {
                let known: Vec<&str> = cases.iter().map(Case::own_name).collect();
                Err(Failure::Unusable(messages::no_such_case(name, &known)))
            }
            _ => Ok(explained),
        }
    }

    fn of_script(
        &self,
        script: &Script,
        limits: EngineLimits,
        screen: &mut Screen,
    ) -> Result<Explained, Failure> {
        let beside =
            self.subject.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let manifests =
            if self.manifests.is_empty() { vec![beside.to_owned()] } else { self.manifests.clone() };
        let (catalog, engine) = load_engine(&manifests, limits, screen)?;
        let mut operations = Vec::new();
        let played = Replay::start(script, &engine, &catalog).and_then(|replay| {
            explain_script(script, replay.with_unanswered(Unanswered::Open), &mut operations)
        });
        let is_whole = played.is_ok();
        if let Err(finding) = played {
            screen.complain(&[*finding]);
        }
        Ok(Explained { operations, is_whole })
    }
}

/// The operations of a subject.
struct Explained {
    operations: Vec<ExplainedOperation>,
    /// Whether all of them could be carried out. Where not, the reason is on the screen.
    is_whole: bool,
}

fn no_step(step: &str) -> Failure {
    Failure::Unusable(messages::no_explained_step(step))
}
