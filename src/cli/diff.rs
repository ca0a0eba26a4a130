//! `celador diff`: two states of policies side by side, and whether anything is decided otherwise.
//!
//! In: files, folders, or folders of a git revision (`REV:path`). Out: a line for each operation of each agent: that nothing differs, a task that shows
//! how it differs, or that it is not known.

use super::files::engine_of;
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::diff::{Difference, OperationDifference, Outcome, PolicySet, Summary, Witness, compare};
use celador::limits::EngineLimits;
use celador::manifest::given::{Files, GivenFiles};
use celador::manifest::load::LoadError;
use celador::scenario::visible;
use clap::Args;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;

/// Say for each operation whether two states of policies decide anything otherwise
///
/// OLD and NEW are files or folders, or `REV:path` for those of a git revision; `--old` and `--new` take several. Where the rules of an operation are
/// the same, or say the same in other words, that is proved. Where they differ, tasks are tried that are made of the values that the rules name; one on which
/// the two sides differ is shown for each direction. Where none is found nobody knows, and that is said. Of a trigger, payloads
/// of events are tried, and of a schedule the times of its next runs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador diff policies/support-desk stricter/
  celador diff HEAD:policies/support-desk policies/support-desk
  celador diff --old agents/ policies/ --new agents/ stricter/
  celador diff main:policies HEAD:policies --format json | jq 'select(.difference == \"found\")'

Exit codes: 0 nothing is decided otherwise, 2 something is, 4 it is not known, 3 manifests that are not valid, 1 a path cannot be read.")]
pub(crate) struct Arguments {
    /// The manifests and policies of before, and those of after
    #[arg(
        value_names = ["OLD", "NEW"],
        num_args = 2,
        required_unless_present_all = ["old", "new"],
        conflicts_with_all = ["old", "new"]
    )]
    sides: Vec<String>,

    /// Several paths in the place of OLD, read together
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "new")]
    old: Vec<String>,

    /// Several paths in the place of NEW, read together
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "old")]
    new: Vec<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        let (old, new) = match &*self.sides {
            [old, new] => (slice::from_ref(old), slice::from_ref(new)),
            _ => (&*self.old, &*self.new),
        };
        let (old, new) = (load(old, limits, screen)?, load(new, limits, screen)?);
        let found = compare(&old, &new);
        if found.is_empty() {
            return Err(Failure::Unusable(messages::nothing_to_compare().to_owned()));
        }
        for operation in &found {
            match screen.format() {
                Format::Human => show(operation, screen)?,
                Format::Json => screen.json("operation", operation.to_json())?,
            }
        }
        let summary = Summary::of(&found);
        let Summary { operations, differ, unknown } = summary;
        match screen.format() {
            Format::Human => screen.line(&messages::compared(operations, differ, unknown))?,
            Format::Json => screen.json("summary", serde_json::json!(summary))?,
        }
        Ok(match (differ, unknown) {
            (0, 0) => ExitCode::Yes,
            (0, _) => ExitCode::Undecided,
            _ => ExitCode::No,
        })
    }
}

fn show(operation: &OperationDifference, screen: &mut Screen) -> Result<(), Failure> {
    let OperationDifference { agent, operation: what, function, difference, method, evidence } = operation;
    let what = function.as_ref().map_or_else(|| (*what).to_owned(), |function| format!("{what} {function}"));
    let known = match difference {
        Difference::None => "none",
        Difference::Found { .. } => "decided otherwise",
        Difference::Unknown => "unknown",
        Difference::Added => "new",
        Difference::Removed => "gone",
    };
    let how = method.map(|method| format!(" ({})", messages::found_by(method.as_str(), "task", evidence)));
    screen.line(&format!("{agent} {what}: {known}{}", how.unwrap_or_default()))?;
    if *difference == Difference::Unknown {
        screen.line(&messages::no_difference_shown(evidence))?;
        for rejection in &evidence.rejected {
            screen.line(&messages::refused_before_rule(rejection))?;
        }
    }
    for (direction, Witness { user, tools, counters, state, call, old, new }) in difference.witnesses() {
        screen.line(&format!("  {direction}: {} becomes {}", outcome(old), outcome(new)))?;
        // an address alone needs no more words
        let claims = user.get("claims");
        match user.get("email").and_then(|email| email.as_str()).filter(|_| claims.is_none()) {
            Some(email) => screen.line(&format!("    user:  {}", visible(email)))?,
            None if claims.is_some() => screen.line(&format!("    user:  {}", visible(&user.to_string())))?,
            None => {}
        }
        if !tools.is_empty() {
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            screen.line(&format!("    tools: {}", visible(&names.join(", "))))?;
        }
        if let Some(counters) = counters {
            screen.line(&format!("    counters: {}", visible(&counters.to_string())))?;
        }
        if !state.is_empty() {
            screen.line(&format!("    state: {}", serde_json::Value::from(state.clone())))?;
        }
        screen.line(&format!("    call:  {call}"))?;
    }
    Ok(())
}

fn outcome(outcome: &Outcome) -> String {
    let by = outcome.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let value = outcome.value.as_ref().filter(|_| outcome.by.is_none()).map(|value| format!(" {value}"));
    format!("{}{by}{}", outcome.verdict, value.unwrap_or_default())
}

/// The manifests of some paths, which may be paths in a revision, read together as one namespace.
fn load(paths: &[String], limits: EngineLimits, screen: &mut Screen) -> Result<PolicySet, Failure> {
    let (mut on_disk, mut by_revision) = (Vec::new(), BTreeMap::<&str, Vec<&str>>::new());
    for path in paths {
        match path.split_once(':') {
            Some((revision, within)) if !Path::new(path).exists() => {
                by_revision.entry(revision).or_default().push(within);
            }
            _ => on_disk.push(PathBuf::from(path)),
        }
    }
    let unusable = |error: LoadError| Failure::Unusable(error.to_string());
    let (mut files, mut findings) = Files::System.load(&on_disk, &limits).map_err(unusable)?;
    for (revision, paths) in by_revision {
        let (more, found) = of_revision(revision, &paths)?.load(&paths, &limits).map_err(unusable)?;
        files.extend(more);
        findings.extend(found);
    }
    let (catalog, engine) = engine_of((files, findings), limits, screen)?;
    Ok(PolicySet::new(catalog, engine))
}

/// The YAML files below some paths of a git revision. Nothing is checked out.
fn of_revision(revision: &str, paths: &[&str]) -> Result<Files, Failure> {
    // a revision that begins with a dash would be taken for an option
    if revision.is_empty() || revision.starts_with('-') {
        return Err(Failure::Unusable(messages::no_revision(revision)));
    }
    let within: Vec<String> = paths.iter().map(|path| in_tree(path)).collect::<Result<_, _>>()?;
    let mut listing = vec!["ls-tree", "-r", "-z", "--name-only", "--full-tree", revision, "--"];
    listing.extend(within.iter().map(String::as_str));
    let listed = git(&listing)?;
    // one with capital letters is reported by the loader
    let is_yaml = |name: &&str| {
        let extension = Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default();
        ["yaml", "yml"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    };
    let names = listed.split('\0').filter(is_yaml);
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let prefix = prefix.trim_end();
    let mut files = Vec::new();
    for name in names {
        let text = git(&["show", &format!("{revision}:{name}")])?;
        files.push((name.strip_prefix(prefix).unwrap_or(name).to_owned(), text));
    }
    Ok(Files::Given(GivenFiles::new(files)))
}

/// A path from the top of the working tree.
fn in_tree(path: &str) -> Result<String, Failure> {
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    Ok(format!("{}{path}", prefix.trim_end()))
}

fn git(arguments: &[&str]) -> Result<String, Failure> {
    let output = Command::new("git").args(arguments).output();
    let output = output.map_err(|error| Failure::Unusable(messages::no_git(&error.to_string())))?;
    if !output.status.success() {
        return Err(Failure::Unusable(messages::no_git(String::from_utf8_lossy(&output.stderr).trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::Unusable(messages::no_git("a file is not UTF-8")))
}
