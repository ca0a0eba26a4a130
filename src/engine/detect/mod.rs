//! Personal data and secrets in values: where they are, whether there are any, and the value without them.
//!
//! In: any value, and the names of kinds. Every text inside is looked at, keys and whole numbers too. Out: places, a truth, or the same
//! value with marks such as `[email]`. The kinds are rows of data ([`PII`], [`SECRETS`]): a pattern finds candidates, and code decides
//! what a pattern cannot, such as a check digit. The language knows none of this, because the rows are about what agents must not
//! pass on, and they age: formats of tokens come and go with those who issue them, and what CEL means does not.
//!
//! `invisible` says which characters are not shown; copies of values and descriptions of tools ask it, too. `key_redaction` knows names of keys in the place
//! of kinds.
//!
//! From the bottom up: `reading` says how a text is read, `kind` is a row, `wanted` says which rows are looked for, `signs` which of them
//! have their sign in a text, `table` is rows made ready, `card`, `iban`, `contact`,
//! `identity` and `token` decide about candidates, `pii` and `secrets` are the rows, `search` goes through one text, `walk` through
//! a value, `pseudonym` puts names of values in their place and back, `function` is what expressions call.
//!
//! What cannot be seen stands in `docs/security.md`. No find, no fault and no mark holds any part of what was found.

mod card;
mod contact;
mod function;
mod iban;
mod identity;
mod invisible;
mod key_redaction;
mod kind;
mod pii;
mod pseudonym;
mod reading;
mod search;
mod secrets;
mod signs;
mod table;
mod token;
mod walk;
mod wanted;

pub use function::DETECTION;
pub(crate) use function::{detokenized, pii_kinds, tokenized};
pub use invisible::{has_invisible, is_invisible, without_invisible};
pub use kind::Kind;
pub use pii::PII;
pub use pseudonym::Pseudonym;
pub(crate) use pseudonym::{Book, Pseudonyms};
#[cfg(feature = "parsers")]
pub(crate) use reading::Reading;
pub use secrets::SECRETS;
pub(crate) use walk::Rewriting;
