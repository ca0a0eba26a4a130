//! Authentication: the `Authorization` header in, a caller out.
//!
//! Two kinds of bearer tokens, each from a file that is read again when it changes: opaque ones, of which the file has the
//! digests, and JWTs, for which it has the keys. A token that is not valid is never taken for nobody: it is refused, and
//! why is told to nobody but the log, in a word. Nothing here keeps or prints a token.

mod jwt;
mod tokens;

use super::error::ServeError;
use super::identity::Caller;
use super::settings::Authentication;
use crate::cel::Timestamp;
use jwt::Keys;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use tokens::Tokens;

/// Why a request is nobody's; a word for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// No `Authorization` header.
    NoToken,
    /// Another scheme than `Bearer`, or no text.
    NotBearer,
    /// A token that no file knows.
    UnknownToken,
    /// A JWT with an algorithm that is not allowed; `none` is none.
    Algorithm,
    /// A JWT whose key is not there.
    UnknownKey,
    /// A JWT whose signature, issuer or audience is wrong, or that cannot be read.
    Invalid,
    /// A JWT whose time is over, or has not come.
    Time,
    /// A JWT that names nobody.
    NoIdentity,
}

impl Refused {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::NotBearer => "not_bearer",
            Self::UnknownToken => "unknown_token",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Invalid => "invalid",
            Self::Time => "time",
            Self::NoIdentity => "no_identity",
        }
    }
}

/// Who may ask.
pub(super) struct Authority {
    tokens: Option<Kept<Tokens>>,
    keys: Option<Kept<Keys>>,
}

impl Authority {
    /// The authority that the settings describe.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub(super) fn open(settings: &Authentication) -> Result<Self, ServeError> {
        let tokens = settings.tokens.clone().map(|path| Kept::open(path, Tokens::read)).transpose()?;
        let keys = settings.jwt.clone().map(|jwt| {
            let path = jwt.jwks.clone();
            Kept::open(path, move |text| Keys::read(text, jwt.clone()))
        });
        Ok(Self { tokens, keys: keys.transpose()? })
    }

    /// Whether anybody has to say who he is.
    pub(super) fn is_required(&self) -> bool {
        self.tokens.is_some() || self.keys.is_some()
    }

    /// The caller behind an `Authorization` header.
    ///
    /// # Errors
    /// [`Refused`]; never for want of a file that was read before.
    pub(super) fn caller(&self, header: Option<&[u8]>, now: Timestamp) -> Result<Caller, Refused> {
        if !self.is_required() {
            return Ok(Caller::anybody());
        }
        let header = std::str::from_utf8(header.ok_or(Refused::NoToken)?).map_err(|_| Refused::NotBearer)?;
        let (scheme, token) = header.split_once(' ').ok_or(Refused::NotBearer)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refused::NotBearer);
        }
        let token = token.trim();
        if let Some(caller) = self.tokens.as_ref().and_then(|tokens| tokens.now().caller(token)) {
            return Ok(caller);
        }
        match &self.keys {
            Some(keys) => keys.now().caller(token, now),
            None => Err(Refused::UnknownToken),
        }
    }

    /// Reads the files again if they have changed. What cannot be read leaves what was read before in force.
    pub(super) fn refresh(&self) -> Vec<Result<PathBuf, ServeError>> {
        let tokens = self.tokens.as_ref().and_then(Kept::refresh);
        let keys = self.keys.as_ref().and_then(Kept::refresh);
        tokens.into_iter().chain(keys).collect()
    }
}

type Read<T> = Box<dyn Fn(&str) -> Result<T, String> + Send + Sync>;

/// What a file said when it was last readable.
struct Kept<T> {
    path: PathBuf,
    read: Read<T>,
    held: RwLock<(Arc<T>, Vec<u8>)>,
}

impl<T> Kept<T> {
    fn open(
        path: PathBuf,
        read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let bytes = std::fs::read(&path).map_err(|error| ServeError::unreadable(&path, &error))?;
        let value = parsed(&read, &bytes).map_err(|what| ServeError::file(&path, what))?;
        Ok(Self { path, read: Box::new(read), held: RwLock::new((Arc::new(value), bytes)) })
    }

    fn now(&self) -> Arc<T> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Nothing if nothing changed. The files are small: they are compared, not their times.
    fn refresh(&self) -> Option<Result<PathBuf, ServeError>> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) => return Some(Err(ServeError::unreadable(&self.path, &error))),
        };
        if self.held.read().unwrap_or_else(PoisonError::into_inner).1 == bytes {
            return None;
        }
        let value = match parsed(&self.read, &bytes) {
            Ok(value) => value,
            Err(what) => return Some(Err(ServeError::file(&self.path, what))),
        };
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = (Arc::new(value), bytes);
        Some(Ok(self.path.clone()))
    }
}

fn parsed<T>(read: &dyn Fn(&str) -> Result<T, String>, bytes: &[u8]) -> Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| super::messages::not_utf8())?;
    read(text)
}
