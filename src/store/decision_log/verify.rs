//! Reading a whole log again: is each line the one that was written, and does each follow the one before?
//!
//! In: the folder, and perhaps a digest that was noted once. Out: what there is, or the first line that is not as it was
//! written, with its place. Line by line, so a log of any size takes the memory of its longest line. Nothing is repaired.

use super::broken::VerifyError;
use super::read::read;
use celador::digest::Digest;
use std::path::Path;

/// The contents of an intact log, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intact {
    /// How many files.
    pub files: usize,
    /// The number of the first line: more than 1 if files were removed by age.
    pub first: u64,
    /// Whether a line of the log says that the files before its first line were removed by a rule.
    pub said: bool,
    /// The number of the last line.
    pub last: u64,
    /// The digest of the last line.
    pub head: Digest,
}

/// Reads the log of a folder. With a digest that was noted, some line must have it.
///
/// # Errors
/// [`VerifyError::Broken`] with the first line that is not as it was written, [`VerifyError::Missing`] if no line has the
/// digest, [`VerifyError::Empty`] and [`VerifyError::Unreadable`].
///
/// # Cost
/// Linear in the log.
pub fn verify(folder: &Path, noted: Option<Digest>) -> Result<Intact, VerifyError> {
    let mut missing = noted;
    let mut begins = 0;
    let read = read(folder, false, |line, digest| {
        missing = missing.filter(|noted| *noted != digest);
        begins = line.begins.unwrap_or_default().max(begins);
    })?;
    if let Some(digest) = missing {
        return Err(VerifyError::Missing(digest));
    }
    match read.last {
        Some((last, head)) => {
            let (files, first) = (read.files, read.first);
            // the line is there before the files go, so some of them may still be
            Ok(Intact { files, first, said: begins >= first, last, head })
        }
        None => Err(VerifyError::Empty(folder.to_owned())),
    }
}
