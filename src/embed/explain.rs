//! Why cases and recorded tasks were decided as they were.
//!
//! In: the file of cases or of a recorded task, on the disk or among texts. Out: each operation with every step and expression, as JSON; they are those of `celador explain`.

use crate::sources::{Purpose, Source, Sources, one_file};
use crate::{Error, Mode};
use celador::EngineLimits;
use celador::diagnostic::nearest;
use celador::manifest::given::Files;
use celador::scenario::{
    Case, CaseOutcome, Explainable, ExplainedOperation, Replay, Runner, Script, Unanswered, explain_script,
};
use serde_json::{Value, json};
use std::path::Path;

/// What is to be explained of a file.
#[derive(Clone, Debug, Default)]
pub struct ExplainWishes {
    /// The manifests of a recorded task; without any those beside it.
    pub manifests: Vec<Source>,
    /// One case alone of a file of several: its name, with or without that of the file.
    pub case: Option<String>,
    /// One step alone: a number of the operations, or a name such as `before[0]` or the id of a step of a policy.
    pub step: Option<String>,
}

/// What the operations of cases or of a recorded task went through: `operations`, and in `findings` what has kept a case or the task from going on to its end.
///
/// # Errors
/// A file that cannot be read, manifests that are refused, and a step that there is not.
pub fn explain(files: &Files, subject: &Path, wishes: &ExplainWishes) -> Result<Value, Error> {
    let limits = EngineLimits::default();
    let source = one_file(files, subject)?;
    let (mut explained, mut findings) = (Vec::new(), Vec::new());
    match Explainable::read(&source, &limits).map_err(Error::refused)? {
        Explainable::Cases(cases) => {
            let mut runner = Runner::among(files.clone(), limits);
            let is_meant = |name: &&String| cases.iter().any(|case| case.is_called(name));
            if let Some(name) = wishes.case.as_ref().filter(|name| !is_meant(name)) {
                let near = nearest(name, cases.iter().map(Case::own_name));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                return Err(Error::misuse("bad_request", format!("the file has no case of this name{near}")));
            }
            for case in &cases {
                if wishes.case.as_ref().is_none_or(|name| case.is_called(name)) {
                    let report = runner.explain(case);
                    explained.extend(report.explained);
                    if let CaseOutcome::Broken(broken) = report.outcome {
                        findings.extend(broken);
                    }
                }
            }
        }
        Explainable::Script(_) if wishes.case.is_some() => {
            return Err(Error::misuse("bad_request", "the file is a recorded task, which has no cases"));
        }
        Explainable::Script(script) => {
            let folder = subject.parent().filter(|folder| *folder != Path::new(""));
            let beside = match files {
                Files::System => folder.unwrap_or(Path::new(".")),
                Files::Given(_) => folder.unwrap_or(Path::new("")),
            };
            let sources = match &*wishes.manifests {
                [] => Sources::of(files.load(&[beside], &limits)?, Mode::Enforce, Purpose::Verifying, limits)
                    .whole()?,
                manifests => Sources::open(manifests, Mode::Enforce, Purpose::Verifying, limits)?,
            };
            findings.extend(played(&script, &sources, &mut explained));
        }
    }
    if explained.is_empty() && !findings.is_empty() {
        return Err(Error::refused(findings));
    }
    let operations = match &wishes.step {
        None => explained,
        Some(step) => ExplainedOperation::chosen(explained, step)
            .ok_or_else(|| Error::misuse("unknown_step", "there is no step of this number or name"))?,
    };
    let findings: Vec<Value> = findings.iter().map(|found| crate::Flaw::of(found).to_json()).collect();
    Ok(json!({ "operations": operations, "findings": findings }))
}

/// Plays a recorded task to its end, or to the step that cannot have happened.
fn played(
    script: &Script,
    sources: &Sources,
    explained: &mut Vec<ExplainedOperation>,
) -> Option<celador::Diagnostic> {
    let replay = Replay::start(script, &sources.engine, &sources.catalog);
    let played =
        replay.and_then(|replay| explain_script(script, replay.with_unanswered(Unanswered::Open), explained));
    played.err().map(|finding| *finding)
}
