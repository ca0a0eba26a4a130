//! The files of a log: `decisions-000000000001.jsonl`, each named by the number of its first line.
//!
//! In: a folder. Out: its files in the order of their lines. No file is ever renamed, so a path that somebody noted keeps
//! its meaning. Other files in the folder are left alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const STEM: &str = "decisions-";
const END: &str = ".jsonl";

/// A file of a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogFile {
    /// The number of its first line.
    pub(super) first: u64,
    pub(super) path: PathBuf,
}

/// The path of the file that begins with a line.
pub(super) fn path_of(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{STEM}{first:012}{END}"))
}

/// The files, oldest first.
pub(super) fn files(folder: &Path) -> io::Result<Vec<LogFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(STEM)?.strip_suffix(END)?.parse().ok());
        if let Some(first) = number {
            files.push(LogFile { first, path });
        }
    }
    files.sort();
    Ok(files)
}
