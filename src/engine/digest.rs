//! SHA-256 digests: of lines, rows, files, requests and tokens.
//!
//! In: bytes, or a digest as it is written. Out: 32 bytes, written as 64 hexadecimal digits in lower case. What is digested,
//! and in which order, is for those who call to say.

use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of nothing that there is: where a chain begins.
    pub const ZERO: Self = Self([0; 32]);

    /// How long a digest is as text, in bytes.
    pub const HEX: usize = 64;

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Its digits, lower case. Digests of values that are not kept are chained by them, so they are written without a formatter.
    #[must_use]
    pub(crate) fn hex(&self) -> [u8; Self::HEX] {
        const fn digit(four_bits: u8) -> u8 {
            if four_bits < 10 { b'0' | four_bits } else { b'a'.wrapping_add(four_bits).wrapping_sub(10) }
        }
        let mut digits = [0; Self::HEX];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0xf)]);
        }
        digits
    }

    /// The digest of bytes. Linear.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of what was written to a digester.
    pub(crate) fn finished(digester: Sha256) -> Self {
        Self(digester.finalize().into())
    }

    /// The digest of some texts, in their order. Each counts with its length, so that no two lists of texts come to the
    /// same. Linear.
    #[must_use]
    pub fn of_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let state = parts.into_iter().fold(Sha256::new(), |state, part| {
            let part = part.as_ref();
            state.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
        });
        Self::finished(state)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.hex();
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = &'static str;

    /// 64 hexadecimal digits, lower case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NO_DIGEST: &str = "a digest is 64 hexadecimal digits in lower case";
        let digit = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::HEX || !text.as_bytes().iter().all(digit) {
            return Err(NO_DIGEST);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NO_DIGEST)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NO_DIGEST)?;
        }
        Ok(Self(bytes))
    }
}
