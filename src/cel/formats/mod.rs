//! Texts with a grammar of their own that rules ask about: what is read of each, and which of them are refused.
//!
//! Each reader takes a text whose parts every usual reader finds alike, and refuses the others with words that say what is
//! expected: a rule that judges one reading of a text while the tool behind it follows another can be dodged. Nothing is
//! repaired. All are linear in the text.

mod glob;
mod path;
mod quantity;
mod segments;
mod semver;
mod url;

pub(crate) use glob::to_regex as glob_to_regex;
pub(crate) use path::{check_clean, clean, within};
pub use quantity::Quantity;
pub use semver::Semver;
pub use url::Url;
