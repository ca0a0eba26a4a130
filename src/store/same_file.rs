//! Whether a path still leads to the file that was opened there: what is written to a file that was removed or replaced is
//! seen by nobody.
//!
//! In: a path, and what the system said of the file when it was opened. Out: yes or no, for the price of one look at the
//! path. The crate `same-file` opens the path instead, and a process that closes any handle of a file of SQLite loses the
//! locks of all its handles of that file.

use std::fs::{self, Metadata};
use std::path::Path;

/// Whether `path` leads to the very file that `opened` is about. Where the system keeps open files in their place, as
/// Windows does, a file that is there is the one that was opened.
pub(crate) fn leads_to(path: &Path, opened: &Metadata) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (found.dev(), found.ino()) == (opened.dev(), opened.ino())
    }
    #[cfg(not(unix))]
    {
        found.is_file() && opened.is_file()
    }
}
