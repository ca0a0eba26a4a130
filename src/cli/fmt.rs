//! `celador fmt`: manifests, policies, cases and recorded tasks in one layout.
//!
//! In: files. Out: the same files, or with `--check` the names of those that would change.

use super::files::replace;
use super::{ExitCode, Failure, Format, Screen, messages, read_text};
use celador::diagnostic::Diagnostic;
use celador::layout::Layout;
use celador::limits::EngineLimits;
use celador::manifest::{load, yaml};
use celador::source::Source;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Format manifests, policies, cases and recorded tasks
///
/// Expressions get one blank on each side of an operator and none in brackets; keys stand in the order of the reference. Comments
/// stay with their keys. Literals, line breaks and quotes are left as they are written.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador fmt policies/
  celador fmt policies/ --check      # for a commit hook: names what would change, and changes nothing
  celador fmt - < agent.yaml

Exit codes: 0 all is formatted, 2 with --check: something would change, 1 a path cannot be read or written, or a file is no YAML.")]
pub(crate) struct Arguments {
    /// Files, folders to search for them, or `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Change nothing, and name the files that would change
    #[arg(long)]
    check: bool,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        let layout = Layout::default();
        if self.paths == [PathBuf::from("-")] {
            let text = read_text(Path::new("-"), limits.max_manifest_bytes)?;
            let mut findings = Vec::new();
            yaml::parse(&Source::new("-", text.as_str()), &limits, &mut findings);
            findings.retain(Diagnostic::is_error);
            if !findings.is_empty() {
                if !self.check {
                    screen.text(&text)?;
                }
                screen.complain(&findings);
                return Err(Failure::Told(ExitCode::Unusable));
            }
            let formatted = layout.formatted(&text, &limits);
            let is_same = formatted == text;
            if !self.check {
                screen.text(&formatted)?;
            }
            return Ok(if self.check && !is_same { ExitCode::No } else { ExitCode::Yes });
        }
        let (files, unreadable) =
            load(&self.paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
        if !unreadable.is_empty() {
            screen.complain(&unreadable);
            return Err(Failure::Told(ExitCode::Unusable));
        }
        let (mut changed, mut unread) = (0_usize, 0_usize);
        for file in &files {
            let (name, text) = (file.source.name(), file.source.text());
            let mut findings = Vec::new();
            yaml::parse(&file.source, &limits, &mut findings);
            findings.retain(Diagnostic::is_error);
            if !findings.is_empty() {
                // a file that is not read to its end has no layout
                screen.complain(&findings);
                unread = unread.saturating_add(1);
                continue;
            }
            let formatted = layout.formatted(text, &limits);
            if formatted == text {
                continue;
            }
            changed = changed.saturating_add(1);
            if !self.check {
                let path = Path::new(name);
                replace(path, &formatted)
                    .map_err(|error| Failure::Unusable(messages::cannot_write_file(path, &error)))?;
            }
            match screen.format() {
                Format::Human => screen.line(&messages::formatted(name, self.check))?,
                Format::Json => screen.json("file", json!({ "file": name, "written": !self.check }))?,
            }
        }
        let counts = json!({ "files": files.len(), "changed": changed });
        match screen.format() {
            Format::Human => screen.line(&messages::formatted_files(files.len(), changed, self.check))?,
            Format::Json => screen.json("summary", counts)?,
        }
        Ok(match (unread, changed) {
            (0, 1..) if self.check => ExitCode::No,
            (0, _) => ExitCode::Yes,
            _ => ExitCode::Unusable,
        })
    }
}
