//! `celador hook install` and `uninstall`: the hooks of Celador in a file of settings of Claude Code.
//!
//! In: the file, and what the hooks are to call. Out: the file with the hooks, or without them. It is written beside and put in its place as
//! a whole, so that nobody ever reads half of it; a file that is no JSON object is left alone.

use super::super::files::replace;
use super::super::hash_key::HashKeyFile;
use super::super::{ExitCode, Failure, Screen, Started};
use super::how::How;
use super::messages;
use super::settings;
use super::version::{FIRST_FAIL_CLOSED, TRIED, Version};
use celador_server::strict_json;
use clap::Args;
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Write the hooks into a file of settings of Claude Code
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador hook install policies                              for this project: .claude/settings.json
  celador hook install policies --observe --dry-run          what it would write
  celador hook install --server http://127.0.0.1:8717        events go to a server, by way of the command
  celador hook install --http http://127.0.0.1:8717          Claude Code itself sends them")]
pub(crate) struct Install {
    /// Manifest files, and folders to search for them
    #[arg(value_name = "MANIFESTS", default_value = "policies")]
    manifests: Vec<PathBuf>,

    /// The folder of the store
    #[arg(long, value_name = "FOLDER", default_value = "celador-data")]
    data: PathBuf,

    /// Ask this server in the place of manifests and a store
    #[arg(long, value_name = "URL", conflicts_with = "http")]
    server: Option<String>,

    /// Have Claude Code send events to this server itself
    #[arg(long, value_name = "URL")]
    http: Option<String>,

    /// Stop nothing: let each event by, and tell in the store what would have come of it
    #[arg(long, conflicts_with_all = ["server", "http"])]
    observe: bool,

    /// The program of Claude Code, whose version is checked
    #[arg(long, value_name = "PROGRAM", default_value = "claude")]
    claude: String,

    #[command(flatten)]
    hash_key: HashKeyFile,

    #[command(flatten)]
    how: How,

    #[command(flatten)]
    file: SettingsFile,
}

/// Take the hooks out of a file of settings of Claude Code
#[derive(Args)]
pub(crate) struct Uninstall {
    #[command(flatten)]
    file: SettingsFile,
}

/// The file of settings.
#[derive(Args)]
struct SettingsFile {
    /// The file
    #[arg(long, value_name = "FILE", default_value = ".claude/settings.json")]
    settings: PathBuf,

    /// Show what the file would be, and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl Install {
    pub(super) fn run(self, started: &Started, screen: &mut Screen) -> Result<ExitCode, Failure> {
        self.check_version(screen)?;
        let hook = self.hook(started)?;
        self.file.change(screen, |settings| settings::install(settings, &hook))
    }

    /// Refuses a version in which a hook that fails lets the event go on, unless that is what is asked for.
    fn check_version(&self, screen: &mut Screen) -> Result<(), Failure> {
        match Version::of(&self.claude) {
            None => screen.note(&messages::unknown_claude(&self.claude, &FIRST_FAIL_CLOSED)),
            Some(found) if found < FIRST_FAIL_CLOSED => {
                let why = messages::old_claude(&self.claude, &found, &FIRST_FAIL_CLOSED);
                if self.how.fail != "open" && !self.observe {
                    return Err(Failure::Unusable(why));
                }
                screen.note(&why);
            }
            Some(found) if found > TRIED => screen.note(&messages::new_claude(&self.claude, &found, &TRIED)),
            Some(_) => {}
        }
        Ok(())
    }

    /// What stands in the settings for each event.
    fn hook(&self, started: &Started) -> Result<Value, Failure> {
        if let Some(address) = &self.http {
            let url = format!("{}{}", address.trim_end_matches('/'), self.how.path(None));
            return Ok(settings::address(&url, &self.how));
        }
        let mut words: Vec<String> = vec!["hook".into(), "claude-code".into()];
        match &self.server {
            Some(server) => words.extend(["--server".to_owned(), server.clone()]),
            None => {
                for path in &self.manifests {
                    words.push(absolute(path)?);
                }
                words.extend(["--data".to_owned(), absolute(&self.data)?]);
                if let Some(path) = &self.hash_key.path {
                    words.extend(["--hash-key-file".to_owned(), absolute(path)?]);
                }
            }
        }
        let said = [("--agent", &self.how.agent), ("--user", &self.how.user)];
        for (name, value) in said {
            words.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
        }
        words.extend(["--reviews".to_owned(), self.how.reviews.clone()]);
        words.extend(["--review-wait".to_owned(), self.how.review_wait.to_string()]);
        words.extend(["--fail".to_owned(), self.how.fail.clone()]);
        let flags = [("--grant", self.how.grant), ("--observe", self.observe)];
        words.extend(flags.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (*name).to_owned()));
        let call = started.with(words).ok_or_else(|| Failure::Unusable(messages::NO_PROGRAM.to_owned()))?;
        Ok(settings::command(call, &self.how))
    }
}

impl Uninstall {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        self.file.change(screen, settings::uninstall)
    }
}

/// A path that means the same wherever the hook is called.
fn absolute(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path);
    let path = path.map_err(|error| Failure::Unusable(error.to_string()))?;
    path.to_str().map(str::to_owned).ok_or_else(|| Failure::Unusable(messages::not_utf8(&path)))
}

impl SettingsFile {
    fn change(
        &self,
        screen: &mut Screen,
        change: impl FnOnce(&mut Value) -> Result<(), &'static str>,
    ) -> Result<ExitCode, Failure> {
        let path = &self.settings;
        let before = match fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::Unusable(messages::cannot_read(path, &error))),
        };
        let text = before.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}");
        let mut settings: Value = strict_json::from_str(text)
            .map_err(|error| Failure::Unusable(messages::no_agent_settings(path, text, &error)))?;
        change(&mut settings)
            .map_err(|member| Failure::Unusable(messages::not_as_settings_are(path, member)))?;
        let after = written(&settings, indent_of(text))?;
        let is_same = serde_json::from_str::<Value>(text).is_ok_and(|before| before == settings);
        if self.dry_run {
            screen.text(&after)?;
        } else if is_same {
            screen.line(&messages::settings_as_they_are(path))?;
        } else {
            replace(path, &after)
                .map_err(|error| Failure::Unusable(messages::cannot_create(path, &error)))?;
            screen.line(&messages::settings_written(path))?;
        }
        for name in settings::without_hooks(&settings) {
            screen.note(&messages::no_hooks_are_called(path, name));
        }
        Ok(ExitCode::Yes)
    }
}

/// What the lines of a file are moved in by: two blanks, unless it has another way.
fn indent_of(text: &str) -> &str {
    let blanks = text.lines().filter_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        line.strip_suffix(rest).filter(|indent| !indent.is_empty() && !rest.is_empty())
    });
    blanks.min_by_key(|indent| indent.len()).unwrap_or("  ")
}

fn written(settings: &Value, indent: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let written = settings.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    written.map_err(|error| Failure::Unusable(error.to_string()))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| Failure::Unusable(error.to_string()))
}
