//! JSON Web Tokens: signed by a key of a JWKS file, by one of three algorithms, for this server, by the issuer, in time.
//!
//! In: a token and the time. Out: the caller whom the token names. The algorithm is looked at before anything else, the key
//! decides which one it may be, and `exp`, `iss` and `aud` have to be there; `nbf` counts if it is. The clock is the
//! server's, with a leeway for the issuer's.

use super::Refused;
use crate::cel::Timestamp;
use crate::server::identity::{Caller, Scope};
use crate::server::messages;
use crate::server::settings::Jwt;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How far the clocks of issuer and server may be apart.
const LEEWAY_SECONDS: i128 = 30;

/// The keys of a JWKS, with what tokens must say.
pub(super) struct Keys {
    keys: Vec<Key>,
    settings: Jwt,
}

struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

#[derive(Deserialize)]
struct Claims {
    exp: serde_json::Number,
    nbf: Option<serde_json::Number>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Keys {
    /// The keys of a JWKS file that can verify; others are left alone, as the format wants it.
    pub(super) fn read(text: &str, settings: Jwt) -> Result<Self, String> {
        let file: Value = serde_json::from_str(text).map_err(|error| messages::not_json_file(&error))?;
        let listed = file.get("keys").and_then(Value::as_array).ok_or_else(messages::no_keys)?;
        let known = listed.iter().filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
        let set = JwkSet { keys: known.collect() };
        let keys = set.keys.iter().filter_map(|jwk| {
            let algorithm = algorithm_of(jwk)?;
            let key = DecodingKey::from_jwk(jwk).ok()?;
            Some(Key { id: jwk.common.key_id.clone(), algorithm, key })
        });
        let keys: Vec<Key> = keys.collect();
        if keys.is_empty() {
            return Err(messages::no_keys());
        }
        Ok(Self { keys, settings })
    }

    /// The caller whom a token names.
    pub(super) fn caller(&self, token: &str, now: Timestamp) -> Result<Caller, Refused> {
        // `none` is no algorithm of this list, and a header that names it cannot be read
        let header = decode_header(token).map_err(|_| Refused::Algorithm)?;
        let fitting =
            |key: &&Key| key.algorithm == header.alg && (header.kid.is_none() || key.id == header.kid);
        if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256 | Algorithm::EdDSA) {
            return Err(Refused::Algorithm);
        }
        let mut fitting = self.keys.iter().filter(fitting);
        // without an id only one key may be meant
        let (Some(key), None) = (fitting.next(), fitting.next()) else { return Err(Refused::UnknownKey) };
        let mut validation = Validation::new(key.algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        // by the server's clock, below
        validation.validate_exp = false;
        let claims = decode::<Claims>(token, &key.key, &validation).map_err(|_| Refused::Invalid)?.claims;
        claims.in_time(now)?;
        let identity = claims.others.get(&self.settings.identity_claim).and_then(Value::as_str);
        let identity = identity.filter(|identity| !identity.is_empty()).ok_or(Refused::NoIdentity)?;
        Ok(Caller::new(identity.to_owned(), claims.scopes()))
    }
}

impl Claims {
    fn in_time(&self, now: Timestamp) -> Result<(), Refused> {
        let now = now.nanos().div_euclid(1_000_000_000);
        let seconds = |number: &serde_json::Number| {
            number.as_i64().map(i128::from).or_else(|| number.as_f64().map(floor)).ok_or(Refused::Time)
        };
        let over = seconds(&self.exp)?.saturating_add(LEEWAY_SECONDS) <= now;
        let early = match &self.nbf {
            Some(nbf) => seconds(nbf)?.saturating_sub(LEEWAY_SECONDS) > now,
            None => false,
        };
        if over || early { Err(Refused::Time) } else { Ok(()) }
    }

    /// `scope` is a text with spaces (RFC 9068); `scp` is what some issuers write, a list.
    fn scopes(&self) -> Vec<Scope> {
        let texts = ["scope", "scp"].into_iter().filter_map(|claim| self.others.get(claim));
        let words = texts.flat_map(|value| match value {
            Value::String(text) => text.split(' ').map(str::to_owned).collect(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        });
        words.filter_map(|word| Scope::read(&word)).collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast from float saturates, and no clock comes near its ends"
)]
fn floor(seconds: f64) -> i128 {
    seconds.floor() as i128
}

/// The one algorithm that a key is for.
fn algorithm_of(jwk: &Jwk) -> Option<Algorithm> {
    use jsonwebtoken::jwk::{EllipticCurve, KeyAlgorithm};
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        // a shared secret in a file of public keys would let everybody sign who may verify
        _ => return None,
    };
    let said = match jwk.common.key_algorithm {
        None => return Some(algorithm),
        Some(KeyAlgorithm::RS256) => Algorithm::RS256,
        Some(KeyAlgorithm::ES256) => Algorithm::ES256,
        Some(KeyAlgorithm::EdDSA) => Algorithm::EdDSA,
        Some(_) => return None,
    };
    (said == algorithm).then_some(algorithm)
}
