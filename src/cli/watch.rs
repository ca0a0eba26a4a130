//! `--watch`: a command again and again, each time that files below its paths have changed.
//!
//! In: paths, and what is to be done. Out: what it writes, each round under a line that says when it begins. It goes on until somebody ends the process, so
//! no round's answer is an exit code.

use super::{ExitCode, Failure, Format, Screen, messages};
use clap::Args;
use notify::{EventKind, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Whether a command is repeated.
#[derive(Args)]
pub(crate) struct Watch {
    /// Do it again whenever a file changes, until the command is ended
    #[arg(long)]
    watch: bool,
}

/// An editor writes a file in several steps, and a tool several files: what comes within this time is one change.
const SETTLED: Duration = Duration::from_millis(100);

impl Watch {
    /// Does it once, or again with each change of the files that it names: paths of files and folders.
    pub(crate) fn run(
        &self,
        screen: &mut Screen,
        mut round: impl FnMut(&mut Screen, &mut Vec<PathBuf>) -> Result<ExitCode, Failure>,
    ) -> Result<ExitCode, Failure> {
        if !self.watch {
            return round(screen, &mut Vec::new());
        }
        let (sender, changes) = channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // to read a file is an event, too
            let is_change = event.as_ref().map_or(true, |event| {
                matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_))
            });
            if is_change {
                let _ = sender.send(());
            }
        })
        .map_err(|error| Failure::Unusable(messages::cannot_watch(&error)))?;
        let mut watched = BTreeSet::new();
        loop {
            let mut paths = Vec::new();
            match round(screen, &mut paths) {
                Ok(_) | Err(Failure::Told(_)) => {}
                Err(Failure::Unusable(message)) => screen.error(&message),
                Err(error @ Failure::Output(_)) => return Err(error),
            }
            for folder in paths.iter().filter_map(|path| folder_of(path)) {
                if watched.insert(folder.clone()) {
                    // one that has gone may come back with its parent
                    let _ = watcher.watch(&folder, RecursiveMode::Recursive);
                }
            }
            if watched.is_empty() {
                return Err(Failure::Unusable(messages::nothing_to_watch()));
            }
            if screen.format() == Format::Human {
                screen.line(&messages::watching())?;
            }
            screen.flush()?;
            if !wait(&changes) {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
            }
        }
    }
}

/// The folder whose changes are heard: of a file its parent, as editors put a new file in the place of the old one.
fn folder_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_owned());
    }
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    parent.is_dir().then(|| parent.to_owned())
}

/// Waits for a change and until no more come. False if none will come any more.
fn wait(changes: &Receiver<()>) -> bool {
    if changes.recv().is_err() {
        return false;
    }
    loop {
        match changes.recv_timeout(SETTLED) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}
