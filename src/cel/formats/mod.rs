//! Texts with a grammar of their own that rules ask about: what is read of each, and which of them are refused.
//!
//! Each reader takes a text whose parts every usual reader finds alike, and refuses the others with words that say what is
//! expected: a rule that judges one reading of a text while the tool behind it follows another can be dodged. Nothing is
//! repaired. All are linear in the text.

mod segments;
mod url;

pub use url::Url;
