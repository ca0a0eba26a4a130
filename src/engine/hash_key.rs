//! The key of `pii.hash`: a secret of the host, by which texts become digests that only who has the key can make.
//!
//! In: bytes that nobody else knows. Out: for a text the first half of its HMAC-SHA-256 (RFC 2104), and an id by which two keys are told
//! apart. Expressions, records, logs and errors never see the key: nothing here gives it back, and `Debug` shows the id.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// The key of `pii.hash`.
///
/// A host gives it with the manifests, to the [catalog](crate::manifest::Catalog::with_hash_key) that it makes an engine of. Without one, manifests that call
/// `pii.hash` are refused.
///
/// ```
/// use celador::manifest::Catalog;
/// use celador::manifest::load::{File, FileOrigin};
/// use celador::source::Source;
/// use celador::{Call, Engine, EngineLimits, HashKey, StartTask, User};
///
/// let manifests = r#"
/// kind: celador/v1/tools
/// namespace: shop
/// name: desk
/// tools: [{name: note, inputSchema: {type: object, properties: {customer: {type: string}}, required: [customer]}}]
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: Answer.
/// capabilities: {desk: "*"}
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: privacy
/// capabilities:
///   note: {before: [{id: no-address, set: {customer: pii.hash(input.customer)}}]}
/// "#;
/// let limits = EngineLimits::default();
/// let file = File { source: Source::new("shop.yaml", manifests), origin: FileOrigin::Named };
/// let (catalog, _) = Catalog::parse(&[file], &limits);
/// let (engine, findings) = Engine::from_catalog(&catalog, limits);
/// assert!(!engine.is_whole() && findings.iter().any(|finding| finding.code == "no_hash_key"));
///
/// let key = HashKey::new(b"32 bytes of /dev/urandom, say...")?;
/// let customer = key.digest("ann@example.com");
/// let (engine, _) = Engine::from_catalog(&catalog.with_hash_key(key), limits);
/// let now = std::time::SystemTime::now();
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let call = Call::new("note", serde_json::json!({"customer": "ann@example.com"}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// assert_eq!(decision.verdict.into_value(), Some(serde_json::json!({"customer": customer}).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct HashKey(Hmac<Sha256>);

/// A key that is too short to be a secret.
///
/// ```
/// use celador::{HashKey, HashKeyTooShort};
///
/// assert_eq!(HashKey::new(b"password").err(), Some(HashKeyTooShort));
/// assert!(HashKeyTooShort.to_string().starts_with("a key of at least 16 bytes is expected"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key of at least {} bytes is expected, such as 32 bytes of a random generator", HashKey::MIN_BYTES)]
pub struct HashKeyTooShort;

/// The text whose digest is the id of a key.
const ID: &[u8] = b"celador: id of the key of pii.hash";

impl HashKey {
    /// The length of the shortest key.
    pub const MIN_BYTES: usize = 16;

    /// The digits of a digest: 128 bits. A collision among a billion texts is as good as impossible.
    pub const DIGITS: usize = 32;

    /// The public key of cases, checks, proofs and comparisons of policies, which need no secret and can expect a digest. An engine that guards an agent must not have it.
    const FOR_VERIFICATION: &[u8] = b"celador-verification-key";

    /// The key that consists of these bytes.
    ///
    /// # Errors
    /// Fewer than [`HashKey::MIN_BYTES`] bytes.
    pub fn new(secret: &[u8]) -> Result<Self, HashKeyTooShort> {
        match Hmac::new_from_slice(secret) {
            Ok(keyed) if secret.len() >= Self::MIN_BYTES => Ok(Self(keyed)),
            _ => Err(HashKeyTooShort),
        }
    }

    /// The key of a file or of an environment variable: the bytes of the text without the line break at its end.
    ///
    /// # Errors
    /// As [`HashKey::new`].
    pub fn of_text(text: &[u8]) -> Result<Self, HashKeyTooShort> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        Self::new(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The public key that cases, checks, proofs and comparisons hash with: the 24 bytes `celador-verification-key`.
    #[must_use]
    pub fn for_verification() -> Self {
        // a key that is shorter than a block is filled up with zeros (RFC 2104, 2)
        let mut block = [0; 64];
        block.iter_mut().zip(Self::FOR_VERIFICATION).for_each(|(to, from)| *to = *from);
        Self(Hmac::new(&block.into()))
    }

    /// The digest of a text: the first 128 bits of its HMAC-SHA-256 under the key, as hexadecimal digits in lower case. The text is taken as it is:
    /// `Ann@Example.com` has another digest than `ann@example.com`. Linear.
    #[must_use]
    pub fn digest(&self, text: &str) -> String {
        self.first_digits(text.as_bytes(), Self::DIGITS)
    }

    /// Tells this key from others and nothing else about it: 16 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> String {
        self.first_digits(ID, 16)
    }

    fn first_digits(&self, bytes: &[u8], digits: usize) -> String {
        let mac = self.0.clone().chain_update(bytes).finalize().into_bytes();
        mac.iter().take(digits.div_ceil(2)).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for HashKey {
    /// The id: never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HashKey({})", self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::{HashKey, HashKeyTooShort};

    fn hex(text: &str) -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    /// RFC 4231, 4.2, 4.7 and 4.8: those whose keys are long enough and whose data is text, cut to 128 bits.
    #[test]
    fn digests_are_those_of_other_implementations() {
        let of_131 = "aa".repeat(131);
        for (key, text, digest) in [
            ("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "Hi There", "b0344c61d8db38535ca8afceaf0bf12b"),
            (
                &of_131,
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f",
            ),
            (
                &of_131,
                "This is a test using a larger than block-size key and a larger than block-size data. \
                 The key needs to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944",
            ),
        ] {
            assert_eq!(HashKey::new(&hex(key)).unwrap().digest(text), digest, "{text}");
        }
    }

    /// What `hmac` of Python's standard library gives: `hmac.new(b'celador-verification-key', text.encode(), 'sha256').hexdigest()[:32]`.
    #[test]
    fn digests_under_the_key_of_verification_are_those_of_python() {
        for (text, digest) in [
            ("", "bf73aaafabd4842eeb1cf6881e909e73"),
            ("ann@example.com", "e2babc5f0d063181968c301505343cd2"),
            ("Ann@Example.com", "9c64f057db39e019d7a965ad20d93872"),
            ("\u{e9}", "3a3b1eceba841073f36e74f9496a7af9"),
            ("e\u{301}", "1a194bb66ff5c2dce3e8576bca180344"),
            ("\0", "d670b55105af104a104736d2c6af4186"),
            ("日本語", "57b108e60be830ca7336a725d4d6a7b3"),
            ("x\n", "8d64c15a73f5c080e9f6d66a4f4ce6f0"),
            (&"a".repeat(1_000), "0366454368c1a71607a34f4cf46cdc42"),
        ] {
            assert_eq!(HashKey::for_verification().digest(text), digest, "{text:?}");
        }
    }

    #[test]
    fn a_key_is_long_and_shows_only_its_id() {
        assert_eq!(HashKey::new(&[7; 15]).err(), Some(HashKeyTooShort));
        let key = HashKey::new(b"a secret of a host").unwrap();
        assert_eq!(format!("{key:?}"), format!("HashKey({})", key.id()));
        assert_eq!(key.id().len(), 16);
        assert_ne!(key.id(), HashKey::for_verification().id());
    }

    #[test]
    fn the_line_break_of_a_file_is_not_part_of_the_key() {
        let key = HashKey::new(b"a secret of a host").unwrap();
        for text in ["a secret of a host", "a secret of a host\n", "a secret of a host\r\n"] {
            assert_eq!(HashKey::of_text(text.as_bytes()).unwrap().id(), key.id());
        }
        let other = HashKey::of_text(b" a secret of a host\n").unwrap();
        assert_ne!(other.id(), key.id(), "blanks are part of the key");
    }
}
