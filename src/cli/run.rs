//! `celador run`: a recorded task, step by step, with each decision and what decided it.

use super::limits::Changes;
use super::timeline;
use super::{ExitCode, Failure, Format, Screen, load_engine, read_source};
use celador::diagnostic::Diagnostic;
use celador::scenario::{NO_ANSWER, Replay, Script, Unanswered};
use celador::task::VerdictKind;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Play a recorded task through its policies, step by step
///
/// The script is YAML: `agent`, `env`, `mocks` and `files` as in cases, then `steps`. A step has a
/// time `at`, if it is not that of the step before, and one of
///
///   input: {message: …}                          somebody says something
///   llm: {prompt_tokens: 900, completion_tokens: 60, calls: [{id: c1, fn: f, args: {…}}, …]}
///                                                the model has answered, with calls of one turn
///   call: {id: c1, fn: f, args: {…}}             the model calls a function, and with it
///   result: {status: successful, output: {…}}    its result, if it is let through at once
///   result: {id: c1, status: …, output: …}       the result of a call, later
///   results: [{id: c1, output: …}, …]            the results of several calls, together
///   withdraw: {id: c1, ran: false}               a call is taken back; or ran: unknown
///   review: {call: c1, verdict: approved}        or reviewer: …, or both; denied, edited with
///                                                args: {…}, responded with output: …
///   event: {capability: c, event: e, payload: {…}}   or raw_body: text, headers: {…}
///   output: {message: …}                         the model has a response
///
/// A review that no step answers stays open, and the steps that follow find it so, unless --reviews
/// says otherwise.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  celador run policies/support-desk policies/support-desk/task.yaml
  celador run agent.yaml tools/ task.yaml --format json | jq .decision.verdict
  celador run stricter/ task.yaml --reviews approve   # asks more than it was recorded with

Exit codes, by how the task ends; a call that was blocked on the way is part of a good story:
  0  the last step went on
  2  it did not: blocked, locked, terminated, rejected, or an error to the model
  4  a review is pending, a call waits for others, or a review has no answer under --reviews by-case
  1  a step cannot have happened, such as the result of a call that was blocked
  3  the agent's manifests are not valid"
)]
pub(crate) struct Arguments {
    /// Manifest files, and folders to search for them
    #[arg(required = true, value_name = "MANIFESTS")]
    manifests: Vec<PathBuf>,

    /// The recorded task
    #[arg(required = true, value_name = "SCRIPT")]
    script: PathBuf,

    /// Answers to the reviews that the recorded task leaves open
    #[arg(long, value_name = "ANSWERS")]
    reviews: Option<Reviews>,

    #[command(flatten)]
    changes: Changes,
}

#[derive(Clone, Copy, ValueEnum)]
enum Reviews {
    /// Each of them is approved
    Approve,
    /// Each of them is denied
    Deny,
    /// The task is played up to the first of them
    ByCase,
}

impl From<Reviews> for Unanswered {
    fn from(reviews: Reviews) -> Self {
        match reviews {
            Reviews::Approve => Self::Approve,
            Reviews::Deny => Self::Deny,
            Reviews::ByCase => Self::Stop,
        }
    }
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = self.changes.of_engine()?;
        let source = read_source(&self.script, limits.max_manifest_bytes)?;
        let script = Script::read(&source, &limits).map_err(|findings| {
            screen.complain(&findings);
            Failure::Told(ExitCode::Unusable)
        })?;
        let (catalog, engine) = load_engine(&self.manifests, limits, screen)?;
        let unusable = |finding: Box<Diagnostic>, screen: &mut Screen| {
            let code = if finding.code == NO_ANSWER { ExitCode::Undecided } else { ExitCode::Unusable };
            screen.complain(&[*finding]);
            Failure::Told(code)
        };
        let replay =
            Replay::start(&script, &engine, &catalog).map_err(|finding| unusable(finding, screen))?;
        let mut replay = replay.with_unanswered(self.reviews.map(Unanswered::from).unwrap_or_default());
        let (mut steps, mut refused, mut last) = (0_usize, 0_usize, VerdictKind::Allow);
        let mut ahead = &*script.steps;
        while let Some((step, behind)) = ahead.split_first() {
            ahead = behind;
            let mut events = Vec::new();
            let taken = replay.step(step, ahead, &mut events);
            for event in events {
                steps = steps.saturating_add(1);
                last = event.decision.verdict.kind();
                let event = event.masked(replay.task().policy());
                let goes_on = matches!(
                    last,
                    VerdictKind::Allow | VerdictKind::Route | VerdictKind::Suspend | VerdictKind::Wait
                );
                refused = refused.saturating_add(usize::from(!goes_on));
                match screen.format() {
                    Format::Human => screen.text(&timeline::render(&event, &screen.palette()))?,
                    Format::Json => screen.json("step", timeline::to_json(&event))?,
                }
            }
            taken.map_err(|finding| unusable(finding, screen))?;
        }
        let state = replay.task().state();
        let (book, policy, now) = (replay.counters(), replay.task().policy(), replay.now());
        match screen.format() {
            Format::Human => {
                screen.text(&timeline::render_counters(book, policy, now))?;
                screen.line(&timeline::render_end(steps, refused, &state))?;
            }
            Format::Json => {
                let mut end = serde_json::json!({ "decisions": steps, "refused": refused, "task": state });
                let counters = timeline::counters_json(book, policy, now);
                if let Some(members) = end.as_object_mut().filter(|_| !counters.is_empty()) {
                    members.insert("counters".to_owned(), counters.into());
                }
                screen.json("summary", end)?;
            }
        }
        Ok(match last {
            VerdictKind::Allow | VerdictKind::Route => ExitCode::Yes,
            VerdictKind::Suspend | VerdictKind::Wait => ExitCode::Undecided,
            _ => ExitCode::No,
        })
    }
}
