//! Authentication: the `Authorization` header in, a caller out.
//!
//! Two kinds of bearer tokens, each from a file that is read again when it changes: opaque ones, of which the file has the
//! digests, and JWTs, for which it has the keys. A token that is not valid is never taken for nobody: it is refused, and
//! why is told to nobody but the log, in a word. Nothing here keeps or prints a token.

mod jwt;
mod kept;
mod keys;
mod tokens;

use crate::error::ServeError;
use crate::identity::Caller;
use crate::settings::Authentication;
use celador::cel::{Json, Timestamp};
use jwt::Keys;
use kept::Kept;
pub(super) use kept::Standing;
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
    /// A JWT with an algorithm that is not allowed; `none` is never allowed.
    Algorithm,
    /// A JWT that says that something must be understood which is not.
    Critical,
    /// A signed token that says it is something else than a JWT.
    Type,
    /// A JWT whose key is not among the known keys.
    UnknownKey,
    /// A JWT whose signature, issuer or audience is wrong, or that cannot be read.
    Invalid,
    /// A JWT that has expired or is not valid yet.
    Time,
    /// A JWT that names nobody.
    NoIdentity,
    /// The JWT of a user that names another one.
    OtherUser,
    /// No token is accepted, as the file that would know it cannot be read.
    Closed,
}

impl Refused {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::NotBearer => "not_bearer",
            Self::UnknownToken => "unknown_token",
            Self::Algorithm => "algorithm",
            Self::Critical => "critical",
            Self::Type => "type",
            Self::UnknownKey => "unknown_key",
            Self::Invalid => "invalid",
            Self::Time => "time",
            Self::NoIdentity => "no_identity",
            Self::OtherUser => "other_user",
            Self::Closed => "closed",
        }
    }
}

/// Who may ask.
pub(super) struct Authority {
    tokens: Option<Kept<Tokens>>,
    keys: Option<Kept<Keys>>,
    user_audience: Option<String>,
}

impl Authority {
    /// The authority that the settings describe.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub(super) fn open(settings: &Authentication) -> Result<Self, ServeError> {
        let unreadable = settings.unreadable;
        let is_alone = settings.jwt.is_none();
        let tokens = settings.tokens.clone();
        let tokens =
            tokens.map(|path| Kept::open(path, unreadable, move |text| Tokens::read(text, is_alone)));
        let keys = settings.jwt.clone().map(|jwt| {
            let path = jwt.jwks.clone();
            Kept::open(path, unreadable, move |text| Keys::read(text, jwt.clone()))
        });
        Ok(Self {
            tokens: tokens.transpose()?,
            keys: keys.transpose()?,
            user_audience: settings.user_audience.clone(),
        })
    }

    /// Whether callers have to authenticate.
    pub(super) fn is_required(&self) -> bool {
        self.tokens.is_some() || self.keys.is_some()
    }

    /// The caller behind an `Authorization` header.
    ///
    /// # Errors
    /// [`Refused`].
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
        let tokens = self.tokens.as_ref().map(Kept::now);
        if let Some(caller) = tokens.iter().flatten().find_map(|tokens| tokens.caller(token)) {
            return Ok(caller);
        }
        match self.keys.as_ref().map(Kept::now) {
            Some(Some(keys)) => keys.caller(token, now),
            Some(None) => Err(Refused::Closed),
            None if matches!(tokens, Some(None)) => Err(Refused::Closed),
            None => Err(Refused::UnknownToken),
        }
    }

    /// What the token of a user says of them: an object. Only signed tokens say something.
    ///
    /// # Errors
    /// [`Refused`]: also if no keys are known, and for the token of somebody else.
    pub(super) fn claims(&self, token: &str, user: &str, now: Timestamp) -> Result<Json, Refused> {
        match self.keys.as_ref().map(Kept::now) {
            Some(Some(keys)) => keys.claims_of(user, token, self.user_audience.as_deref(), now),
            Some(None) => Err(Refused::Closed),
            None => Err(Refused::UnknownKey),
        }
    }

    /// Reads the files again if they have changed, and tells the log what came of it.
    pub(super) fn refresh(&self) {
        self.tokens.iter().for_each(Kept::refresh);
        self.keys.iter().for_each(Kept::refresh);
    }

    /// How the files stand: as the one of them that stands worst.
    pub(super) fn standing(&self) -> Standing {
        let files = [self.tokens.as_ref().map(Kept::standing), self.keys.as_ref().map(Kept::standing)];
        files.into_iter().flatten().max().unwrap_or(Standing::NotRequired)
    }
}
