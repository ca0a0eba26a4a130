//! `celador prove`: what is to hold of every call and every task, proved, broken or not known.
//!
//! In: manifests, and a file of invariants. Out: a line for each invariant and agent, with the rules that it rests on, or the task that breaks it, which
//! `--save` writes as a case.

use super::files::{engine_of, read_source, way_from, write_new};
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::limits::EngineLimits;
use celador::manifest::load;
use celador::policy::Origin;
use celador::prove::{
    Answer, Bounds, Counterexample, Invariants, Made, Proof, Summary, WithinError, prove, prove_within,
};
use celador::scenario::{Palette, visible};
use clap::Args;
use serde_json::json;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Prove what is to hold of every call, or find a task that breaks it
///
/// INVARIANTS is a file of kind `celador/v1/invariants`. An invariant holds if the steps and limits of the policies let no call by that makes it false. Where that is
/// not proved, tasks are made of the values that policies and invariants name, the shortest first, until one breaks it or a bound is reached; then
/// it is not known.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador prove policies/ invariants.yaml
  celador prove policies/ invariants.yaml --save policies/cases
  celador prove agents/ policies/ --within shop/lead shop/clerk
  celador prove agents/ policies/ invariants.yaml --depth 12 --operations 200000 --seconds 300
  celador prove policies/ invariants.yaml --format json | jq 'select(.answer == \"broken\")'

Exit codes: 0 all of them hold, 2 one is broken, 4 one is not known, 3 manifests or invariants that are not valid, 1 a path cannot be read.")]
pub(crate) struct Arguments {
    /// The manifests and policies, and behind them the file of invariants; with `--within` manifests and policies alone
    #[arg(required = true, num_args = 1.., value_names = ["POLICIES", "INVARIANTS"])]
    paths: Vec<PathBuf>,

    /// Prove that the agent CHILD may make no call that the agent PARENT may not make with the same arguments
    #[arg(long, num_args = 2, value_names = ["PARENT", "CHILD"])]
    within: Option<Vec<String>>,

    /// The calls of the longest task that is tried
    #[arg(long, value_name = "N", default_value_t = Bounds::default().depth)]
    depth: usize,

    /// The calls that are tried, for each agent
    #[arg(long, value_name = "N", default_value_t = Bounds::default().operations)]
    operations: usize,

    /// The seconds that may be searched, for all agents together
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,

    /// Write each task that breaks an invariant into this folder, as a case
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        let (file, policies) = match (&self.within, self.paths.split_last()) {
            (Some(_), _) => (None, &*self.paths),
            (None, Some((file, policies))) if !policies.is_empty() => (Some(file), policies),
            (None, _) => return Err(Failure::Unusable(messages::no_invariants().to_owned())),
        };
        let source = file.map(|file| read_source(file, limits.max_manifest_bytes)).transpose()?;
        let loaded = load(policies, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        let files = loaded.0.clone();
        engine_of(loaded, limits, screen)?;
        let refused = |findings: Vec<_>, screen: &mut Screen| {
            screen.complain(&findings);
            Failure::Told(ExitCode::Invalid)
        };
        let bounds = Bounds { depth: self.depth, operations: self.operations };
        let (begun, most) = (Instant::now(), Duration::from_secs(self.seconds));
        let goes_on = || begun.elapsed() < most;
        let proofs = match (source, self.within.as_deref()) {
            (Some(source), _) => {
                let invariants =
                    Invariants::read(&source, &limits).map_err(|found| refused(found, screen))?;
                prove(&files, &invariants, limits, &bounds, &goes_on)
                    .map_err(|found| refused(found, screen))?
            }
            (None, Some([parent, child])) => {
                prove_within(&files, (parent.as_str(), child.as_str()), limits, &bounds, &goes_on).map_err(
                    |error| match error {
                        WithinError::Refused(findings) => refused(findings, screen),
                        error => Failure::Unusable(error.to_string()),
                    },
                )?
            }
            (None, _) => return Err(Failure::Told(ExitCode::Unusable)),
        };
        if proofs.is_empty() {
            return Err(Failure::Unusable(messages::nothing_to_prove().to_owned()));
        }
        let manifests: Vec<String> = policies.iter().map(|path| path.display().to_string()).collect();
        for proof in &proofs {
            let saved = self.save(proof, policies)?;
            match screen.format() {
                Format::Human => show(proof, saved.as_deref(), screen)?,
                Format::Json => {
                    let mut shown = proof.to_json_with_case(&manifests);
                    if let (Some(path), Some(members)) = (saved, shown.as_object_mut()) {
                        members.insert("saved".to_owned(), path.display().to_string().into());
                    }
                    screen.json("proof", shown)?;
                }
            }
        }
        let summary = Summary::of(&proofs);
        let Summary { hold, broken, unknown } = summary;
        match screen.format() {
            Format::Human => screen.line(&messages::proved(hold, broken, unknown))?,
            Format::Json => screen.json("summary", json!(summary))?,
        }
        Ok(match (broken, unknown) {
            (0, 0) => ExitCode::Yes,
            (0, _) => ExitCode::Undecided,
            _ => ExitCode::No,
        })
    }

    /// Writes the task that breaks an invariant as a case. A file that is there already is left alone, and its name passed over.
    fn save(&self, proof: &Proof, policies: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
        let (Some(folder), Answer::Broken(task)) = (&self.save, &proof.answer) else { return Ok(None) };
        let failed = |error: io::Error| Failure::Unusable(messages::cannot_write_file(folder, &error));
        fs::create_dir_all(folder).map_err(failed)?;
        let home = std::path::absolute(folder).map_err(failed)?;
        let manifests = policies.iter().map(|path| way_from(&home, path).display().to_string());
        let manifests: Vec<String> = manifests.collect();
        let name = proof.case_name();
        for number in 1_usize.. {
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            let path = folder.join(&name).with_extension("yaml");
            match write_new(&path, &task.case(&name, &proof.invariant, &manifests)) {
                Ok(()) => return Ok(Some(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Failure::Unusable(messages::cannot_write_file(&path, &error))),
            }
        }
        Ok(None)
    }
}

fn show(proof: &Proof, saved: Option<&Path>, screen: &mut Screen) -> Result<(), Failure> {
    let Palette { red, green, yellow, dim, reset, .. } = screen.palette();
    let color = match proof.answer {
        Answer::Holds(_) => green,
        Answer::Broken(_) => red,
        Answer::Unknown(_) => yellow,
    };
    let (id, word) = (visible(&proof.invariant.id.text), proof.answer.as_str());
    screen.line(&format!("{color}{word}{reset} {id} ({})", visible(&proof.agent)))?;
    if let Some(text) = &proof.invariant.text {
        screen.line(&format!("  {dim}{}{reset}", visible(&text.text)))?;
    }
    let what = if proof.invariant.call.is_some() { "call" } else { "task" };
    screen.line(&format!("  {}", messages::found_by(proof.answer.method(), what, &proof.evidence)))?;
    match &proof.answer {
        Answer::Holds(grounds) => {
            for function in &grounds.never_called {
                screen.line(&messages::never_called(function))?;
            }
            for Origin { path, file, line, column, policy } in &grounds.rules {
                let rule = policy.as_ref().map_or_else(|| path.clone(), |policy| policy.at(path));
                screen.line(&format!(
                    "  rests on {} at {}:{line}:{column}",
                    visible(&rule),
                    visible(file)
                ))?;
            }
            for limit in &grounds.limits {
                screen.line(&messages::rests_on_limit(limit))?;
            }
            if grounds.unrounded {
                screen.line(messages::unrounded())?;
            }
        }
        Answer::Broken(task) => show_task(task, screen)?,
        Answer::Unknown(reached) => {
            screen.line(&messages::not_broken(reached.depth, reached.operations))?;
            for rejection in &proof.evidence.rejected {
                screen.line(&messages::refused_before_rule(rejection))?;
            }
        }
    }
    if let Some(path) = saved {
        screen.line(&messages::saved(path))?;
    }
    Ok(())
}

fn show_task(task: &Counterexample, screen: &mut Screen) -> Result<(), Failure> {
    if task.made.is_empty() {
        screen.line(messages::broken_at_once())?;
    }
    for (at, Made { function, arguments, reviews, verdict, result, is_late, .. }) in
        task.made.iter().enumerate()
    {
        let asked = reviews.iter().map(|(who, approved)| {
            let says = if *approved { "approves" } else { "denies" };
            format!(", {} {says}", visible(who))
        });
        let asked: String = asked.collect();
        let late = if *is_late { ", behind all calls" } else { "" };
        let gives = result.as_ref().map(|result| format!(", gives {}{late}", visible(&result.to_string())));
        let number = at.saturating_add(1);
        let arguments = visible(&arguments.to_string());
        screen.line(&format!(
            "  {number}. {} {arguments}{asked}: {verdict}{}",
            visible(function),
            gives.unwrap_or_default()
        ))?;
    }
    Ok(())
}
