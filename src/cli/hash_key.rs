//! The key of `pii.hash`, as the commands take it that guard an agent, and the one that judges recorded tasks anew.
//!
//! In: a file, or `CELADOR_HASH_KEY`; never an argument, which every user of a machine can see. Out: the key. Commands that only find out what policies do need none: they
//! hash with the key of verification.

use super::files::read_bytes;
use celador::HashKey;
use clap::Args;
use std::path::PathBuf;

/// The longest file with a key. A longer one is no key, and a part of it is another key.
const MAX_KEY_BYTES: usize = 65_536;

/// The name of the variable.
const VARIABLE: &str = "CELADOR_HASH_KEY";

/// Where the key of `pii.hash` comes from.
#[derive(Args, Clone)]
pub(crate) struct HashKeyFile {
    /// A file with the key of `pii.hash`: at least 16 random bytes; `CELADOR_HASH_KEY` if not said
    #[arg(long = "hash-key-file", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
}

impl HashKeyFile {
    /// The key, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read, one that is too large, and a key that is too short.
    pub(crate) fn read(&self) -> Result<Option<HashKey>, String> {
        let (text, from) = match &self.path {
            Some(path) => (read_bytes(path, MAX_KEY_BYTES)?, path.display().to_string()),
            None => match std::env::var_os(VARIABLE) {
                Some(value) if !value.is_empty() => (value.into_encoded_bytes(), VARIABLE.to_owned()),
                _ => return Ok(None),
            },
        };
        let key = HashKey::of_text(&text);
        key.map(Some).map_err(|error| format!("`{from}`: {error}"))
    }
}
