//! JSON Web Tokens (RFC 7519): signed by a key of a JWKS file, by one of three algorithms, for this server, by the issuer,
//! in time.
//!
//! In: a token and the time. Out: the caller whom the token names, told apart from every other issuer's. The header is
//! judged before the signature: what it says must be understood is not (`crit`), another type of token is not taken for a
//! JWT (`typ`), and the key decides which algorithm it may be. `exp`, `iss` and `aud` have to be there; `nbf` counts if it
//! is. The clock is the server's, with a leeway for the issuer's.

use super::Refused;
use super::keys::{self, Algorithm, Key};
use crate::identity::{Caller, Person, Scope, of_issuer};
use crate::settings::Jwt;
use crate::strict_json::Plain;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use celador::cel::{Json, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// How far the clocks of issuer and server may be apart.
const LEEWAY_SECONDS: i128 = 30;

/// The keys of a JWKS, with what tokens must say.
pub(super) struct Keys {
    keys: Vec<Key>,
    settings: Jwt,
}

/// What the header of a token says of its signature.
struct Header {
    algorithm: Algorithm,
    key: Option<String>,
}

/// A JSON object in which no name stands twice: what of two is meant would be anybody's guess (RFC 7515, 4; RFC 7519, 4).
struct Members(Map<String, Value>);

struct Claims(Members);

impl Keys {
    /// The keys of a JWKS file that can verify; others are left alone.
    pub(super) fn read(text: &str, settings: Jwt) -> Result<Self, String> {
        Ok(Self { keys: keys::read(text)?, settings })
    }

    /// The caller whom a token names. Linear in the token.
    pub(super) fn caller(&self, token: &str, now: Timestamp) -> Result<Caller, Refused> {
        let claims = self.verified(token, &self.settings.audience, now)?;
        let name = claims.text(&self.settings.identity_claim).filter(|name| !name.is_empty());
        let name = name.ok_or(Refused::NoIdentity)?;
        let identity = of_issuer(&self.settings.issuer, name);
        Ok(Caller::new(identity, claims.person(name, &self.settings), claims.scopes()))
    }

    /// What the token of a user says, whose subject has to be this user. Linear in the token.
    pub(super) fn claims_of(
        &self,
        user: &str,
        token: &str,
        audience: Option<&str>,
        now: Timestamp,
    ) -> Result<Json, Refused> {
        let claims = self.verified(token, audience.unwrap_or(&self.settings.audience), now)?;
        if claims.text("sub") != Some(user) {
            return Err(Refused::OtherUser);
        }
        Ok(Value::Object(claims.0.0).into())
    }

    /// The claims of a token that is signed, in time, by the issuer and for this audience.
    fn verified(&self, token: &str, audience: &str, now: Timestamp) -> Result<Claims, Refused> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Invalid)?;
        let (header, claims) = signed.split_once('.').ok_or(Refused::Invalid)?;
        let header = Header::read(&Members::decode(header).ok_or(Refused::Invalid)?)?;
        let fitting = |key: &&Key| {
            key.algorithm() == header.algorithm && (header.key.is_none() || key.id == header.key)
        };
        let mut fitting = self.keys.iter().filter(fitting);
        // without an id only one key may be meant
        let (Some(key), None) = (fitting.next(), fitting.next()) else { return Err(Refused::UnknownKey) };
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refused::Invalid)?;
        if !key.verifies(signed.as_bytes(), &signature) {
            return Err(Refused::Invalid);
        }
        let claims = Claims(Members::decode(claims).ok_or(Refused::Invalid)?);
        claims.in_time(now)?;
        claims.between(&self.settings.issuer, audience)?;
        Ok(claims)
    }
}

impl Header {
    fn read(members: &Members) -> Result<Self, Refused> {
        let text = |name: &str| members.0.get(name).map(Value::as_str);
        let algorithm = text("alg").flatten().and_then(Algorithm::named).ok_or(Refused::Algorithm)?;
        // no extension is understood here, so a token that wants one understood is not (RFC 7515, 4.1.11)
        if members.0.contains_key("crit") {
            return Err(Refused::Critical);
        }
        match text("typ") {
            None => {}
            Some(Some(media_type)) if is_jwt(media_type) => {}
            Some(_) => return Err(Refused::Type),
        }
        let key = match text("kid") {
            None => None,
            Some(Some(id)) => Some(id.to_owned()),
            Some(None) => return Err(Refused::UnknownKey),
        };
        Ok(Self { algorithm, key })
    }
}

/// Whether a `typ` is that of a JWT (RFC 7519, 5.1) or of an access token (RFC 9068, 2.1). Types of media have no case, and
/// `application/` may be left out (RFC 7515, 4.1.9). An ID token, a logout token or a proof of possession says otherwise.
fn is_jwt(media_type: &str) -> bool {
    let media_type = media_type.to_ascii_lowercase();
    let media_type = media_type.strip_prefix("application/").unwrap_or(&media_type);
    matches!(media_type, "jwt" | "at+jwt")
}

impl Claims {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.0.get(name)?.as_str()
    }

    /// Whether the token is by the issuer, which is one text, and for an audience, which may be one of several.
    fn between(&self, issuer: &str, wanted: &str) -> Result<(), Refused> {
        let is_audience = match self.0.0.get("aud") {
            Some(Value::String(audience)) => *audience == *wanted,
            Some(Value::Array(audiences)) => {
                audiences.iter().all(Value::is_string)
                    && audiences.iter().any(|audience| *audience == *wanted)
            }
            _ => false,
        };
        let is_issuer = self.text("iss") == Some(issuer);
        if is_audience && is_issuer { Ok(()) } else { Err(Refused::Invalid) }
    }

    fn in_time(&self, now: Timestamp) -> Result<(), Refused> {
        let now = now.nanos().div_euclid(1_000_000_000);
        let seconds = |value: &Value| {
            value.as_i64().map(i128::from).or_else(|| value.as_f64().map(floor)).ok_or(Refused::Time)
        };
        let over = seconds(self.0.0.get("exp").ok_or(Refused::Time)?)?.saturating_add(LEEWAY_SECONDS) <= now;
        let early = match self.0.0.get("nbf") {
            Some(nbf) => seconds(nbf)?.saturating_sub(LEEWAY_SECONDS) > now,
            None => false,
        };
        if over || early { Err(Refused::Time) } else { Ok(()) }
    }

    /// The person whom the token names. An e-mail address counts as verified only if the issuer says so with a `true`.
    fn person(&self, name: &str, settings: &Jwt) -> Person {
        let email = self.text("email").filter(|email| !email.is_empty()).map(str::to_owned);
        let is_verified = self.0.0.get("email_verified") == Some(&Value::Bool(true));
        let (email, unverified_email) = if is_verified { (email, None) } else { (None, email) };
        let groups = match self.0.0.get(&settings.groups_claim) {
            Some(Value::String(group)) => vec![group.clone()],
            Some(Value::Array(groups)) => {
                groups.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        Person {
            issuer: Some(settings.issuer.clone()),
            subject: name.to_owned(),
            is_named: true,
            email,
            unverified_email,
            groups: groups.into_iter().filter(|group| !group.is_empty()).collect(),
        }
    }

    /// `scope` is a text with spaces (RFC 9068); `scp` is what some issuers write, a list.
    fn scopes(&self) -> Vec<Scope> {
        let texts = ["scope", "scp"].into_iter().filter_map(|claim| self.0.0.get(claim));
        let words = texts.flat_map(|value| match value {
            Value::String(text) => text.split(' ').map(str::to_owned).collect(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        });
        words.filter_map(|word| Scope::read(&word)).collect()
    }
}

impl Members {
    /// The object of a part of a token: base64url without padding, then JSON.
    fn decode(part: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Plain::deserialize(deserializer)?.0 {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(D::Error::custom("not an object")),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from float saturates, and no clock comes near its ends"
)]
fn floor(seconds: f64) -> i128 {
    seconds.floor() as i128
}
