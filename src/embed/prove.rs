//! What is to hold of every call and every task: proved, broken by a task, or not known.
//!
//! In: policies, a file of invariants, bounds. Out: a proof for each invariant and agent, and the counts, as JSON; the rows are those of `celador prove`.

use crate::sources::{Purpose, Sources, one_text};
use crate::{Clock, Error, Mode, Source};
use celador::EngineLimits;
use celador::prove::{Bounds, Invariants, Summary, prove as proofs_of};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How far a task is searched for that breaks an invariant. What is not named is as it is for the command.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default)]
pub struct ProveWishes {
    /// The calls of the longest task.
    pub depth: usize,
    /// The calls that are tried, for each agent.
    pub operations: usize,
    /// The seconds that may be searched, for all agents together.
    pub seconds: u64,
}

impl Default for ProveWishes {
    fn default() -> Self {
        let Bounds { depth, operations } = Bounds::default();
        Self { depth, operations, seconds: 60 }
    }
}

/// For each invariant and agent whether it holds, with what that rests on, is broken, by a task that is written as a case too, or is not known: `proofs`, `hold`, `broken`,
/// `unknown`.
///
/// # Errors
/// Policies and invariants that are refused, and paths that cannot be read.
pub fn prove(
    policies: &[Source],
    invariants: &Source,
    wishes: &ProveWishes,
    clock: &Clock,
) -> Result<Value, Error> {
    let limits = EngineLimits::default();
    let invariants = Invariants::read(&one_text(invariants)?, &limits).map_err(Error::refused)?;
    let files = Sources::open(policies, Mode::Enforce, Purpose::Verifying, limits)?.files;
    let ProveWishes { depth, operations, seconds } = *wishes;
    let begun = clock().nanos();
    let most = i128::try_from(Duration::from_secs(seconds).as_nanos()).unwrap_or(i128::MAX);
    let goes_on = || clock().nanos().saturating_sub(begun) < most;
    let proofs = proofs_of(&files, &invariants, limits, &Bounds { depth, operations }, &goes_on);
    let proofs = proofs.map_err(Error::refused)?;
    let Summary { hold, broken, unknown } = Summary::of(&proofs);
    let manifests: Vec<String> = policies.iter().map(Source::name).collect();
    let proofs: Vec<Value> = proofs.iter().map(|proof| proof.to_json_with_case(&manifests)).collect();
    Ok(json!({ "proofs": proofs, "hold": hold, "broken": broken, "unknown": unknown }))
}
