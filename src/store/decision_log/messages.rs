//! What the decision log says when it cannot be written or is not intact, one function each.

use std::path::Path;

pub(super) fn cut_off() -> String {
    "the line is cut off: the file ends without a line break".to_owned()
}

pub(super) fn no_entry() -> String {
    "no line of a decision log: expected a JSON object that ends in its digest".to_owned()
}

pub(super) fn changed() -> String {
    "the line was changed: its digest is not that of its bytes".to_owned()
}

pub(super) fn unchained(expected: u64, found: u64) -> String {
    if expected == found {
        return format!("line {found} does not follow the line before it: its `previous` is another digest");
    }
    format!("expected line {expected} to follow, found line {found}")
}

pub(super) fn misnamed(first: u64) -> String {
    format!("the name of the file says that it begins with line {first}, and it does not")
}

pub(super) fn cannot(what: &str, path: &Path) -> String {
    format!("cannot {what} `{}`", path.display())
}

pub(super) fn in_use(folder: &Path) -> String {
    format!("the decision log in `{}` is written by another process", folder.display())
}

pub(super) fn broken(path: &Path, line: u64) -> String {
    format!("`{}`, line {line}", path.display())
}

pub(super) fn not_there(head: &str) -> String {
    format!("no line has the digest {head}: what followed it may have been cut off, and so may it")
}

pub(super) fn empty(folder: &Path) -> String {
    format!("there is no decision log in `{}`", folder.display())
}

pub(super) fn gone(path: &Path) -> String {
    format!("`{}` was removed, replaced or cut while it was written", path.display())
}

pub(super) fn lost() -> String {
    "the disk did not take what others wrote at the same time".to_owned()
}
