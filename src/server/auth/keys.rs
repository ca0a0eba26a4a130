//! The keys of a JWK set (RFC 7517), and what one of them has signed.
//!
//! In: the text of a JWKS file; a signature and the bytes that it is over. Out: the keys that may verify, each bound to one
//! algorithm; whether one of them made the signature. `ring`, over which TLS speaks too, does the arithmetic. Keys of other
//! types, for other uses or for other operations are left alone, as the format wants it.

use crate::messages;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

/// The algorithms whose signatures count (RFC 7518, 3.1; RFC 8037, 3.1). `none` and those of shared secrets are no values
/// of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    /// The algorithm of an `alg`, whose case counts (RFC 7515, 4.1.1).
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key that may verify.
pub(super) struct Key {
    pub(super) id: Option<String>,
    material: Material,
}

enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    P256(UnparsedPublicKey<Vec<u8>>),
    Ed25519(UnparsedPublicKey<Vec<u8>>),
}

/// The keys of a JWK set that may verify.
///
/// # Errors
/// A text that is no JWK set, or one without such a key.
pub(super) fn read(text: &str) -> Result<Vec<Key>, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| messages::not_json_file(&error))?;
    let listed = file.get("keys").and_then(Value::as_array).ok_or_else(messages::no_keys)?;
    let keys: Vec<Key> = listed.iter().filter_map(|key| Key::read(key.as_object()?)).collect();
    if keys.is_empty() { Err(messages::no_keys()) } else { Ok(keys) }
}

impl Key {
    /// A key, if it is one of those that may verify.
    fn read(jwk: &Map<String, Value>) -> Option<Self> {
        if !may_verify(jwk) {
            return None;
        }
        let bytes = |name| URL_SAFE_NO_PAD.decode(jwk.get(name)?.as_str()?).ok();
        let curve = || jwk.get("crv").and_then(Value::as_str);
        let material = match jwk.get("kty")?.as_str()? {
            "RSA" => Material::Rsa(rsa(bytes("n")?, bytes("e")?)?),
            "EC" if curve() == Some("P-256") => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                // an uncompressed point (SEC 1, 2.3.3): its coordinates have their full length (RFC 7518, 6.2.1.2)
                let point = (x.len() == 32 && y.len() == 32).then(|| [&[4], &*x, &*y].concat())?;
                Material::P256(UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point))
            }
            "OKP" if curve() == Some("Ed25519") => {
                let point = bytes("x").filter(|point| point.len() == 32)?;
                Material::Ed25519(UnparsedPublicKey::new(&ED25519, point))
            }
            // a shared secret in a file of public keys would let everybody sign who may verify
            _ => return None,
        };
        let id = match jwk.get("kid") {
            None => None,
            Some(id) => Some(id.as_str()?.to_owned()),
        };
        let key = Self { id, material };
        match jwk.get("alg") {
            None => Some(key),
            Some(said) => (Algorithm::named(said.as_str()?)? == key.algorithm()).then_some(key),
        }
    }

    /// The one algorithm that the key is for.
    pub(super) fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa(_) => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether the key's owner has signed these bytes.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::Rsa(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            Material::P256(key) | Material::Ed25519(key) => key.verify(message, signature),
        };
        verified.is_ok()
    }
}

/// Whether a key is meant for what it is asked here (RFC 7517, 4.2 and 4.3). Members that are not what they should be speak
/// against it.
fn may_verify(jwk: &Map<String, Value>) -> bool {
    let is_for_signatures = jwk.get("use").is_none_or(|used| used == "sig");
    let verifies = |operations: &Value| {
        operations.as_array().is_some_and(|operations| operations.iter().any(|one| one == "verify"))
    };
    is_for_signatures && jwk.get("key_ops").is_none_or(verifies)
}

/// An RSA key of 2,048 to 8,192 bits, without the zeros that some write in front.
fn rsa(n: Vec<u8>, e: Vec<u8>) -> Option<RsaPublicKeyComponents<Vec<u8>>> {
    let minimal = |number: Vec<u8>| -> Vec<u8> { number.into_iter().skip_while(|byte| *byte == 0).collect() };
    let (n, e) = (minimal(n), minimal(e));
    let bits = n.len().saturating_mul(8).saturating_sub(n.first()?.leading_zeros() as usize);
    (2_048..=8_192).contains(&bits).then_some(RsaPublicKeyComponents { n, e })
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, read};
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    /// A key and what it signed, of the standards' own examples: RFC 7515, A.2 and A.3; RFC 8037, A.4.
    const PUBLISHED: [(Algorithm, &str, &str); 3] = [
        (
            Algorithm::Rs256,
            r#"{"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#,
            "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
        (
            Algorithm::Es256,
            r#"{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            Algorithm::EdDsa,
            r#"{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ];

    #[test]
    fn the_examples_of_the_standards_verify() {
        for (algorithm, key, token) in PUBLISHED {
            let keys = read(&format!(r#"{{"keys": [{key}]}}"#)).unwrap();
            let [key] = &*keys else { panic!("one key") };
            assert_eq!(key.algorithm(), algorithm);
            let (message, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            assert!(key.verifies(message.as_bytes(), &signature), "{algorithm:?}");
            assert!(!key.verifies(b"another message", &signature), "{algorithm:?}");
            for at in 0..signature.len() {
                let mut changed = signature.clone();
                changed[at] ^= 1;
                assert!(!key.verifies(message.as_bytes(), &changed), "{algorithm:?} with byte {at} changed");
            }
        }
    }

    #[test]
    fn keys_for_other_things_are_left_alone() {
        let [_, (_, ec, _), _] = PUBLISHED;
        let with = |more: &str| read(&format!(r#"{{"keys": [{}, {more}}}]}}"#, ec.trim_end_matches('}')));
        for fitting in [
            r#""use": "sig""#,
            r#""key_ops": ["verify"]"#,
            r#""key_ops": ["sign", "verify"], "use": "sig""#,
            r#""alg": "ES256", "kid": "a", "x5t": "more""#,
        ] {
            assert_eq!(with(fitting).map(|keys| keys.len()), Ok(1), "{fitting}");
        }
        for other in [
            r#""use": "enc""#,
            r#""use": "SIG""#,
            r#""use": null"#,
            r#""use": ["sig"]"#,
            r#""key_ops": []"#,
            r#""key_ops": ["sign"]"#,
            r#""key_ops": "verify""#,
            r#""key_ops": ["verify"], "use": "enc""#,
            r#""use": "sig", "key_ops": ["encrypt", "wrapKey"]"#,
            r#""alg": "ES384""#,
            r#""alg": "RS256""#,
            r#""alg": "EdDSA""#,
            r#""alg": "none""#,
            r#""alg": 7"#,
            r#""kid": 7"#,
        ] {
            assert!(with(other).is_err(), "{other}");
        }
    }

    #[test]
    fn what_is_no_key_of_its_type_is_left_alone() {
        let short =
            format!(r#"{{"kty": "RSA", "e": "AQAB", "n": "{}"}}"#, URL_SAFE_NO_PAD.encode([255; 255]));
        for other in [
            short.as_str(),
            r#"{"kty": "RSA", "e": "AQAB"}"#,
            r#"{"kty": "oct", "k": "c2VjcmV0"}"#,
            r#"{"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}"#,
            r#"{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}"#,
            r#"{"kty": "OKP", "crv": "X25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            r#"{"kty": "OKP", "crv": "Ed25519", "x": "AA"}"#,
            r#"{"kty": "Ed25519"}"#,
            "{}",
            "7",
        ] {
            assert!(read(&format!(r#"{{"keys": [{other}]}}"#)).is_err(), "{other}");
        }
        for text in ["", "[]", "{}", r#"{"keys": {}}"#, r#"{"keys": []}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
