//! Paths of files as POSIX has them, without looking at files.
//!
//! In: a path, whoever wrote it. Out: its plain form, or what was expected instead. Only `.`, empty segments and slashes at the end are
//! taken away: they change nothing anywhere. Everything that may name another file than it seems to is refused:
//!
//! - `..`, wherever it stands: behind a symbolic link the system goes elsewhere than the text says, so `link/../a` need not be `a`. Of
//!   a path without it, whoever makes the links inside of a folder decides alone whether it stays there;
//! - what becomes such a segment for somebody: `%2e%2e`, look-alikes of dots, other percent-escapes of dots and separators;
//! - control characters, characters without width, and backslashes, which separate segments elsewhere;
//! - `~` in front, which a shell replaces, and `C:` in front, which is a drive;
//! - `//` in front, which POSIX leaves to the system.

use super::segments::{decoded, has_dots_alone, has_escape, is_invisible};
use crate::fault::Fault;

const NOT_EMPTY: &str = "a path is not empty";
const SIGNS: &str = "a path has no backslashes, control characters or characters without width";
const FRONT: &str = "a path begins with neither `~` nor `//` nor a drive letter";
const DOTS: &str = "a path has no segment `..`, also not in another form";
const ESCAPES: &str =
    "a path has no percent-escapes that make another path of it, and none of bytes that are not UTF-8";
const PLAIN: &str = "a path in its plain form, as `path.clean` gives it";
const KIN: &str = "path and root are both absolute or both relative";

/// The plain form of a path: segments with one slash between them, one in front if the path is absolute; `.` if there is no
/// segment. Linear in the path.
///
/// # Errors
/// `invalid_argument` with what was expected.
pub(crate) fn clean(path: &str) -> Result<String, Fault> {
    check(path)?;
    let segments: Vec<&str> = path.split('/').filter(|segment| !is_idle(segment)).collect();
    let front = if path.starts_with('/') { "/" } else { "" };
    Ok(match segments.as_slice() {
        [] if front.is_empty() => ".".to_owned(),
        segments => format!("{front}{}", segments.join("/")),
    })
}

/// That a path is in its plain form. Linear in the path.
///
/// # Errors
/// As [`clean`], and for a path that has another plain form.
pub(crate) fn check_clean(path: &str) -> Result<(), Fault> {
    check(path)?;
    let below = path.strip_prefix('/').unwrap_or(path);
    let is_clean = matches!(path, "/" | ".") || !below.split('/').any(is_idle);
    if is_clean { Ok(()) } else { Err(Fault::refused(PLAIN)) }
}

/// Whether a path is a folder or stands somewhere below it. Linear in both.
///
/// # Errors
/// As [`clean`], and where one is absolute and the other is not: that depends on the folder in which a program runs.
pub(crate) fn within(path: &str, root: &str) -> Result<bool, Fault> {
    let (path, root) = (clean(path)?, clean(root)?);
    if path.starts_with('/') != root.starts_with('/') {
        return Err(Fault::refused(KIN));
    }
    // the root of all paths of its kind
    if matches!(root.as_str(), "/" | ".") {
        return Ok(true);
    }
    Ok(path.strip_prefix(&root).is_some_and(|below| below.is_empty() || below.starts_with('/')))
}

/// Whether a segment changes nothing.
fn is_idle(segment: &str) -> bool {
    matches!(segment, "" | ".")
}

fn check(path: &str) -> Result<(), Fault> {
    if path.is_empty() {
        return Err(Fault::refused(NOT_EMPTY));
    }
    if path.contains('\\') || path.chars().any(is_invisible) {
        return Err(Fault::refused(SIGNS));
    }
    let segments = || path.split('/').filter(|segment| !is_idle(segment));
    // `./~` is taken for a name by a shell, but its plain form would not be
    let first = segments().next().filter(|_| !path.starts_with('/')).unwrap_or_default();
    let has_drive = matches!(first.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if first.starts_with('~') || path.starts_with("//") || has_drive {
        return Err(Fault::refused(FRONT));
    }
    if segments().any(has_dots_alone) {
        return Err(Fault::refused(DOTS));
    }
    if segments().all(has_plain_escapes) { Ok(()) } else { Err(Fault::refused(ESCAPES)) }
}

/// Whether nobody who decodes the escapes of a segment finds another path in it. A `%` that begins no escape is a character of
/// a name.
fn has_plain_escapes(segment: &str) -> bool {
    if !has_escape(segment) {
        return true;
    }
    let is_plain = |sign: char| !matches!(sign, '/' | '\\') && !is_invisible(sign);
    // what was written without an escape has been looked at, so what is found now came of one
    decoded(segment)
        .is_some_and(|text| text.chars().all(is_plain) && !has_escape(&text) && !has_dots_alone(&text))
}
