//! `celador replay`: recorded tasks judged anew under other policies, and what would be decided otherwise.
//!
//! In: recorded tasks, lines of recorded steps, decision logs with content, or a store. Out: a table of the differences by step and function. Everything is read
//! as a stream: one step at a time, and of tasks those that are under way.

use super::files::{hashing, load_engine_for};
use super::hash_key::HashKeyFile;
use super::service_reports::{Results, Wanted};
use super::{ExitCode, Failure, Format, Screen, messages, read_source};
use celador::limits::EngineLimits;
use celador::replay::{FlipRow, Recorded, Replayer, Tally};
use celador::scenario::Script;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Judge recorded tasks anew under other policies: what would be decided otherwise?
///
/// RECORDED is a recorded task (YAML, as `celador run` plays it), a file of recorded steps (JSON, one a line, `-` for
/// standard input), or the folder of a decision log with content (`celador serve --log-content`). Each step is judged on
/// what was recorded before it, and compared with the recorded verdict, or with what --against decides.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador replay decisions/ --policies stricter/
  celador replay policies/support-desk/task.yaml --policies stricter/ --against policies/support-desk
  celador replay --store celador-data/celador.db --policies stricter/ --format json
  zcat recorded.jsonl.gz | celador replay - --policies stricter/

A line of a file of steps is a step of a recorded task with the name of its `task`, and on the first line of a task its `agent`:
  {\"task\": \"t-1\", \"agent\": \"shop/clerk\", \"at\": \"2026-06-01T12:00:00Z\", \"input\": {\"message\": \"Hi\"}, \"verdict\": \"allow\"}
  {\"task\": \"t-1\", \"call\": {\"id\": \"c1\", \"fn\": \"payout\", \"args\": {\"amount\": 40}}, \"verdict\": \"allow\"}

Exit codes: 0 all would be decided alike, 2 something would be decided otherwise, 3 policies that are not valid,
1 something cannot be read, or nothing could be judged.")]
pub(crate) struct Arguments {
    /// Recorded tasks, files of recorded steps, and folders of decision logs
    #[arg(value_name = "RECORDED", required_unless_present = "store")]
    recorded: Vec<PathBuf>,

    /// The policies to judge under: files, and folders to search for them
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    policies: Vec<PathBuf>,

    /// The policies to compare with, in the place of what was recorded
    #[arg(long, value_name = "PATH", num_args = 1..)]
    against: Vec<PathBuf>,

    /// A store of tasks: a file, or `postgres://…`; `CELADOR_STORE` without a value
    #[cfg(feature = "store")]
    #[arg(long, value_name = "STORE", num_args = 0..=1, default_missing_value = "")]
    store: Option<String>,

    /// How many tasks may be under way at once
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    max_tasks: usize,

    #[command(flatten)]
    hash_key: HashKeyFile,

    #[command(flatten)]
    reports: Wanted,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        // digests were recorded under the key of the host: under any other one rules would decide otherwise, and nobody would see why
        let hash_key = self.hash_key.read().map_err(Failure::Unusable)?;
        let with_key = |catalog| hashing(catalog, hash_key.as_ref());
        let (_, policies) = load_engine_for(&self.policies, with_key, limits, screen)?;
        let mut replayer = Replayer::new(Arc::new(policies)).with_max_tasks(self.max_tasks);
        if !self.against.is_empty() {
            let (_, old) = load_engine_for(&self.against, with_key, limits, screen)?;
            replayer = replayer.against(Arc::new(old));
        }
        let mut stream = Stream { replayer, progress: Progress::new(), limits };
        for path in &self.recorded {
            stream.read(path, screen)?;
        }
        #[cfg(feature = "store")]
        if let Some(store) = &self.store {
            stream.read_store(store)?;
        }
        stream.progress.end();
        let tally = stream.replayer.into_tally();
        match screen.format() {
            Format::Human => show(&tally, screen)?,
            Format::Json => {
                for row in tally.rows() {
                    screen.json("flip", serde_json::to_value(row).unwrap_or_default())?;
                }
                screen.json("summary", summary(&tally))?;
            }
        }
        self.reports.write(&Results::of_replay(&tally), screen)?;
        if tally.decisions == 0 {
            return Err(Failure::Unusable(messages::nothing_judged(&tally)));
        }
        Ok(if tally.flips() == 0 { ExitCode::Yes } else { ExitCode::No })
    }
}

/// What is read goes through here, one step at a time.
struct Stream {
    replayer: Replayer,
    progress: Progress,
    limits: EngineLimits,
}

impl Stream {
    fn step(&mut self, recorded: &Recorded) {
        self.replayer.step(recorded);
        self.progress.show(self.replayer.tally());
    }

    fn read(&mut self, path: &Path, screen: &mut Screen) -> Result<(), Failure> {
        let ends = |end: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end));
        if path.is_dir() {
            return self.read_log(path);
        }
        if ends("yaml") || ends("yml") {
            return self.read_script(path, screen);
        }
        let unreadable = |error: io::Error| Failure::Unusable(messages::cannot_read(path, &error));
        if path == Path::new("-") {
            return self.read_lines(path, io::stdin().lock());
        }
        let file = File::open(path).map_err(unreadable)?;
        self.read_lines(path, BufReader::with_capacity(1 << 18, file))
    }

    fn read_script(&mut self, path: &Path, screen: &mut Screen) -> Result<(), Failure> {
        let source = read_source(path, self.limits.max_manifest_bytes)?;
        let script = Script::read(&source, &self.limits).map_err(|findings| {
            screen.complain(&findings);
            Failure::Told(ExitCode::Unusable)
        })?;
        let task = path.display().to_string();
        for recorded in script.recorded(&task) {
            self.step(&recorded);
        }
        self.replayer.end(&task);
        Ok(())
    }

    /// Reads steps, one a line. No line is held in memory that is longer than a document may be.
    fn read_lines(&mut self, path: &Path, mut lines: impl BufRead) -> Result<(), Failure> {
        let most = u64::try_from(self.limits.eval.max_json_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let unreadable = |error: io::Error| Failure::Unusable(messages::cannot_read(path, &error));
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            let read = lines.by_ref().take(most).read_until(b'\n', &mut line).map_err(unreadable)?;
            if read == 0 {
                return Ok(());
            }
            number = number.saturating_add(1);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let recorded = Recorded::parse(&line, &self.limits)
                .map_err(|error| Failure::Unusable(messages::no_recorded_step(path, number, &error)))?;
            self.step(&recorded);
        }
    }

    #[cfg(not(feature = "store"))]
    fn read_log(&mut self, path: &Path) -> Result<(), Failure> {
        Err(Failure::Unusable(messages::no_recording(path)))
    }

    #[cfg(feature = "store")]
    fn read_log(&mut self, folder: &Path) -> Result<(), Failure> {
        use celador_store::decision_log::{LoggedDecision, Recording, read_as};
        let mut recording = Recording::default();
        let mut lines = 0_u64;
        read_as(folder, true, |line: LoggedDecision, _| {
            lines = lines.saturating_add(1);
            for recorded in recording.take(line) {
                self.step(&recorded);
            }
        })
        .map_err(|error| Failure::Unusable(error.to_string()))?;
        match recording.without_content() {
            0 => Ok(()),
            count if count == lines => Err(Failure::Unusable(messages::log_without_content(folder))),
            _ => Ok(()),
        }
    }

    #[cfg(feature = "store")]
    fn read_store(&mut self, said: &str) -> Result<(), Failure> {
        use celador_store::{Database, StoreLimits, StoredTasks};
        let unusable = |error: celador_store::StoreError| Failure::Unusable(error.to_string());
        let limits = StoreLimits::default();
        let said = Some(said.to_owned()).filter(|said| !said.is_empty());
        let database = Database::open(&super::store::location(said)?, &limits).map_err(unusable)?;
        let tasks = StoredTasks::new(database, &limits);
        tasks.recorded(limits.max_page, |recorded| self.step(&recorded)).map_err(unusable)
    }
}

/// How far the work is, on a terminal alone.
struct Progress {
    is_shown: bool,
    begun: Instant,
    shown: Instant,
    /// Steps until the clock is looked at again.
    rest: u32,
}

/// How often a person wants to see another number.
const EVERY: Duration = Duration::from_millis(250);

impl Progress {
    fn new() -> Self {
        let now = Instant::now();
        Self { is_shown: io::stderr().is_terminal(), begun: now, shown: now, rest: 0 }
    }

    fn show(&mut self, tally: &Tally) {
        if !self.is_shown || self.rest > 0 {
            self.rest = self.rest.saturating_sub(1);
            return;
        }
        self.rest = 1_000;
        if self.shown.elapsed() >= EVERY {
            self.shown = Instant::now();
            let text = messages::replayed_so_far(tally, self.begun.elapsed());
            let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
        }
    }

    fn end(&self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn show(tally: &Tally, screen: &mut Screen) -> Result<(), Failure> {
    let rows = tally.rows();
    if !rows.is_empty() {
        let cells: Vec<[String; 5]> = rows.iter().map(cells).collect();
        let head = ["count", "what", "was", "is", "decided by"].map(str::to_owned);
        let rows = || std::iter::once(&head).chain(&cells);
        let width = |column: fn(&[String; 5]) -> &String| {
            rows().map(|row| column(row).chars().count()).max().unwrap_or_default()
        };
        let (a, b) = (width(|[count, ..]| count), width(|[_, what, ..]| what));
        let (c, d) = (width(|[_, _, was, ..]| was), width(|[_, _, _, is, _]| is));
        for [count, what, was, is, by] in rows() {
            screen.line(&format!("{count:>a$}  {what:<b$}  {was:<c$}  {is:<d$}  {by}"))?;
        }
        screen.line("")?;
    }
    if tally.left_out > 0 {
        screen.line(&messages::rows_left_out(tally.left_out))?;
    }
    for (why, count) in &tally.not_judged {
        screen.line(&messages::not_judged(*count, *why))?;
    }
    Ok(screen.line(&messages::replayed(tally))?)
}

fn cells(row: &FlipRow) -> [String; 5] {
    let kind = &row.kind;
    let what = match &kind.function {
        Some(function) => format!("{} {function}", kind.operation),
        None => kind.operation.clone(),
    };
    // what stops is what a reader looks for: the new rule, or else the one that has gone
    let by = kind.is_by.as_ref().or(kind.was_by.as_ref());
    let is = if kind.other_value { format!("{} (other value)", kind.is) } else { kind.is.to_string() };
    let first = format!("first: {} step {}", row.task, row.step);
    let by = by.map_or_else(|| first.clone(), |by| format!("{by}, {first}"));
    [row.count.to_string(), what, kind.was.to_string(), is, by]
}

fn summary(tally: &Tally) -> serde_json::Value {
    let mut summary = tally.to_json();
    if let Some(members) = summary.as_object_mut() {
        members.remove("rows");
    }
    summary
}
