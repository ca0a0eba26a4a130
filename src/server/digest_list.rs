//! A file of digests that a publisher writes last, as `sha256sum` writes it: which files belong to a set, and what is in them.
//!
//! In: the file, and the manifests as they were read. Out: nothing, or why they are not the set that was published: a
//! manifest that is not in the list, one that is another, one that is missing. Names are below the folder of the file.

use super::messages;
use celador::digest::Digest;
use celador::manifest::load::File;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether the manifests are exactly those of the list. What was read is what is compared, so nothing is written in between.
///
/// # Errors
/// What is wrong, as a sentence without its subject.
pub(super) fn check(list: &Path, files: &[File]) -> Result<(), String> {
    let text = fs::read_to_string(list).map_err(|error| error.to_string())?;
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut listed: HashMap<PathBuf, (&str, Digest)> = HashMap::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        let (name, digest) = entry(line).ok_or_else(|| messages::no_digest_line(number))?;
        let path = folder.join(name);
        let path = path.canonicalize().map_err(|_| messages::listed_file_missing(name))?;
        listed.insert(path, (name, digest));
    }
    for file in files {
        let name = file.source.name();
        let path = Path::new(name).canonicalize().map_err(|error| error.to_string())?;
        match listed.remove(&path) {
            None => return Err(messages::file_not_listed(name)),
            Some((_, digest)) if digest != Digest::of(file.source.text().as_bytes()) => {
                return Err(messages::file_differs(name));
            }
            Some(_) => {}
        }
    }
    let is_manifest = |path: &Path| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let left = listed.iter().find(|(path, _)| is_manifest(path));
    left.map_or(Ok(()), |(_, (name, _))| Err(messages::listed_file_missing(name)))
}

/// A line: 64 hexadecimal digits, a space, a space or a star, the name.
fn entry(line: &str) -> Option<(&str, Digest)> {
    let (digest, name) = line.split_at_checked(64)?;
    let name = name.strip_prefix("  ").or_else(|| name.strip_prefix(" *"))?;
    Some((name, digest.to_ascii_lowercase().parse().ok()?)).filter(|(name, _)| !name.is_empty())
}
