//! UUIDs as clients write them (K4), and new ones.
//!
//! In: bits for a new one, which whoever opens the conversations brings along; or a text. Out: its normal form, lower case with hyphens, if it is a UUID in a usual form: any case, with or without
//! hyphens, in braces, after `urn:uuid:`. Nothing else is cut away: a text with spaces around it is none.

use uuid::{Builder, Uuid};

/// The normal form of a UUID, or nothing.
pub(super) fn normal_form(text: &str) -> Option<String> {
    const URN: &str = "urn:uuid:";
    let text = match text.get(..URN.len()) {
        Some(start) if start.eq_ignore_ascii_case(URN) => text.get(URN.len()..)?,
        _ => text,
    };
    let text = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    // 32 digits, or those with the hyphens in their places; the crate knows longer forms, which were taken off above
    let digits = matches!(text.len(), 32 | 36);
    digits.then(|| Uuid::try_parse(text).ok()).flatten().map(|uuid| uuid.as_hyphenated().to_string())
}

/// A new id (L4), of version 4, out of bits that nobody can guess.
pub(super) fn of_bits(bits: u128) -> String {
    Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().as_hyphenated().to_string()
}
