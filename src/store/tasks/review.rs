//! The open reviews of a task as rows, and the names by which they are found.

use crate::row_digest::digest;
use celador::task::QuestionId;
use std::collections::BTreeMap;

/// The longest name of a reviewer that is kept as it is, in bytes: databases bound what an index holds.
const MAX_NAME_BYTES: usize = 512;

/// The open reviews of a task as they are stored, by question.
pub(super) type OpenReviews = BTreeMap<QuestionId, String>;

/// The name of a reviewer as names are compared: an e-mail address without its case, any other name as it is. A name that is
/// longer than 512 bytes is compared by its digest.
///
/// ```
/// use celador_store::reviewer_name;
///
/// assert_eq!(reviewer_name("Lead@Example.com"), reviewer_name("lead@example.com"));
/// assert_ne!(reviewer_name("Lead"), reviewer_name("lead"));
/// ```
#[must_use]
pub fn reviewer_name(name: &str) -> String {
    // no database stores U+0000
    let name = name.trim().replace('\0', "\u{fffd}");
    let name = if name.contains('@') { name.to_ascii_lowercase() } else { name };
    if name.len() > MAX_NAME_BYTES { format!("sha256:{}", digest(&[&name])) } else { name }
}
