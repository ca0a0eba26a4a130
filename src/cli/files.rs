//! What several commands read and write: a file within a bound, a new file, a file in the place of another, and the engine of some manifests.

use super::{ExitCode, Failure, Screen, messages};
use celador::HashKey;
use celador::diagnostic::Diagnostic;
use celador::engine::Engine;
use celador::limits::EngineLimits;
use celador::manifest::given::plain;
use celador::manifest::load::File as LoadedFile;
use celador::manifest::{Catalog, load};
use celador::source::Source;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::path::{Component, Path, PathBuf};

/// The text of a file, or of standard input for `-`; nothing is kept in memory past `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: usize) -> Result<String, Failure> {
    let bytes = read_bytes(path, limit).map_err(Failure::Unusable)?;
    String::from_utf8(bytes).map_err(|_| Failure::Unusable(messages::not_utf8(path)))
}

/// The bytes of a file, or of standard input for `-`; a larger one than `limit` is an error.
pub(crate) fn read_bytes(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes))
    };
    read.map_err(|error| messages::cannot_read(path, &error))?;
    if bytes.len() > limit { Err(messages::too_large(path, limit)) } else { Ok(bytes) }
}

/// A file as a source under its own name.
pub(crate) fn read_source(path: &Path, limit: usize) -> Result<Source, Failure> {
    Ok(Source::new(path.display().to_string(), read_text(path, limit)?))
}

/// The engine of manifests, which hashes with the key of verification. If they are refused, for an error or for a rule that may be lost, that is told and nothing is
/// run.
pub(crate) fn load_engine(
    paths: &[PathBuf],
    limits: EngineLimits,
    screen: &mut Screen,
) -> Result<(Catalog, Engine), Failure> {
    load_engine_for(paths, Catalog::for_verification, limits, screen)
}

/// The same for documents that are prepared first: with [`hashing`] or [`of_operator`].
pub(crate) fn load_engine_for(
    paths: &[PathBuf],
    prepare: impl FnOnce(Catalog) -> Catalog,
    limits: EngineLimits,
    screen: &mut Screen,
) -> Result<(Catalog, Engine), Failure> {
    let loaded = load(paths, &limits).map_err(|error| Failure::Unusable(error.to_string()))?;
    compiled(loaded, prepare, limits, screen)
}

/// The documents of tasks about which an operator decides: functions of the host are known by what policies declare.
#[cfg(feature = "store")]
pub(crate) fn of_operator(catalog: Catalog, hash_key: Option<&HashKey>) -> Catalog {
    hashing(catalog.with_declared_functions(), hash_key)
}

/// The documents of policies that hash with this key, and may not hash without one.
pub(crate) fn hashing(catalog: Catalog, hash_key: Option<&HashKey>) -> Catalog {
    match hash_key {
        Some(key) => catalog.with_hash_key(key.clone()),
        None => catalog,
    }
}

/// The same of files that were read, with what was found while they were.
pub(crate) fn engine_of(
    loaded: (Vec<LoadedFile>, Vec<Diagnostic>),
    limits: EngineLimits,
    screen: &mut Screen,
) -> Result<(Catalog, Engine), Failure> {
    compiled(loaded, Catalog::for_verification, limits, screen)
}

fn compiled(
    (files, mut findings): (Vec<LoadedFile>, Vec<Diagnostic>),
    prepare: impl FnOnce(Catalog) -> Catalog,
    limits: EngineLimits,
    screen: &mut Screen,
) -> Result<(Catalog, Engine), Failure> {
    let (catalog, read) = Catalog::parse(&files, &limits);
    let catalog = prepare(catalog);
    let (engine, compiled) = Engine::from_catalog(&catalog, limits);
    findings.extend(read);
    findings.extend(compiled);
    findings.retain(Diagnostic::is_refused);
    if findings.is_empty() {
        return Ok((catalog, engine));
    }
    screen.complain(&findings);
    Err(Failure::Told(ExitCode::Invalid))
}

/// Writes a file that must not be there yet, and leaves none that is cut off.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Puts a file in the place of another, or where none was, as a whole. A link goes on leading to it, and its rights stay.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!(".celador-{}", std::process::id()));
    let written = write_beside(&beside, &path, text).and_then(|()| fs::rename(&beside, &path));
    written.inspect_err(|_| {
        // what is left beside is of no use
        let _ = fs::remove_file(&beside);
    })
}

/// Writes what is to stand in the place of a file, with the rights that the file has if it is there.
fn write_beside(beside: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    if path.exists() {
        fs::set_permissions(beside, fs::metadata(path)?.permissions())?;
    }
    Ok(())
}

/// A part of an address (RFC 3986): what is neither a letter nor a digit is percent-encoded.
#[cfg(feature = "server")]
pub(crate) fn encoded(value: &str) -> String {
    let mut written = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' => written.push(char::from(byte)),
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// The way from a folder, whose path begins at the root, to a file.
pub(crate) fn way_from(folder: &Path, to: &Path) -> PathBuf {
    let Ok(absolute) = std::path::absolute(to) else { return to.to_owned() };
    let (from, to) = (plain(folder), plain(&absolute));
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}
