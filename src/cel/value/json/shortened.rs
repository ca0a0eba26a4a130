//! What is kept of a value in the place of the value: its digest, its length and its kind.
//!
//! In: what a host says of a document that is too large to be kept. Out: a document that is none of JSON's values. No text can be parsed into
//! one and no value written as one, so nothing that a tool gives can pass for it, nor it for anything that a tool gave.
//! Whoever reads it gets the fault `value_shortened`; it never turns into a shorter text, an empty list or null. The same is true of a
//! value that was dropped, of which nothing is kept at all.

use super::build::Builder;
use super::word::Tag;
use super::{Json, JsonRef};
use crate::types::Kind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A value that was not kept whole: its kind, its length and its digest.
///
/// ```
/// use celador_cel::{Activation, Env, EnvBuilder, ErrorCode, Json, Program, STANDARD, Shortened, Stop, Type};
///
/// // a host keeps of a report of 40 MB what it needs to know it again
/// let sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned();
/// let report = Shortened { sha256, bytes: 40_000_000, kind: "map".to_owned(), lacks_room: false };
/// let kept: Json = report.to_json();
/// assert_eq!(kept.shortened(), Some(report));
///
/// // an expression that reads it fails, and does not take it for an empty one
/// let scope = Env::builder().variable("report", Type::Dyn);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "report.findings.size() == 0").unwrap();
/// let activation = Activation::new(&env).with(&env, "report", kept.value());
/// let Err(Stop::Failed(error)) = program.holds(&activation, None) else { panic!("it cannot be read") };
/// assert_eq!(error.code, ErrorCode::ValueShortened);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shortened {
    /// The SHA-256 of its JSON text, compact and with its keys in their order: 64 hexadecimal digits.
    pub sha256: String,
    /// The bytes of that text.
    pub bytes: u64,
    /// Its kind before it was shortened, as CEL's `type()` names it: `map`, `list`, `string`.
    pub kind: String,
    /// Whether it was shortened because there was no room for it, not because it is too large by itself.
    #[serde(default)]
    pub lacks_room: bool,
}

impl Shortened {
    /// The document that stands in the value's place.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut builder = Builder::default();
        let root =
            builder.shortened(&format!("{} {} {} {}", self.sha256, self.bytes, self.kind, self.lacks_room));
        builder.finish(root)
    }

    fn read(text: &str) -> Option<Self> {
        let (sha256, rest) = text.split_once(' ')?;
        let (bytes, rest) = rest.split_once(' ')?;
        let (kind, lacks_room) = rest.split_once(' ')?;
        let (sha256, kind) = (sha256.to_owned(), kind.to_owned());
        Some(Self { sha256, bytes: bytes.parse().ok()?, kind, lacks_room: lacks_room == "true" })
    }
}

impl fmt::Display for Shortened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes that was shortened, sha256 {}", self.kind, self.bytes, self.sha256)
    }
}

impl Json {
    /// What stands in the place of a value of which its host kept nothing, because nobody was to read it. It is read as a value that
    /// was shortened is: with a fault.
    ///
    /// ```
    /// use celador_cel::Json;
    ///
    /// let dropped = Json::dropped();
    /// assert!(dropped.is_dropped() && dropped.is_shortened());
    /// // there is no digest, no length and no kind to tell
    /// assert_eq!(dropped.shortened(), None);
    /// assert_ne!(dropped, Json::null());
    /// ```
    #[must_use]
    pub fn dropped() -> Self {
        let mut builder = Builder::default();
        let root = builder.shortened("");
        builder.finish(root)
    }

    /// Whether nothing of the value was kept.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.root().is_dropped()
    }

    /// What is known of the value, if it was shortened.
    #[must_use]
    pub fn shortened(&self) -> Option<Shortened> {
        self.root().shortened()
    }

    /// Whether the value was shortened, or dropped.
    #[must_use]
    pub fn is_shortened(&self) -> bool {
        self.root().kind() == Kind::Shortened
    }
}

impl JsonRef<'_> {
    /// Whether nothing of the value was kept.
    #[must_use]
    pub fn is_dropped(self) -> bool {
        self.word.tag() == Tag::Shortened && self.word.length() == 0
    }

    /// What is known of the value, if it was shortened.
    #[must_use]
    pub fn shortened(self) -> Option<Shortened> {
        (self.word.tag() == Tag::Shortened).then(|| Shortened::read(self.text_of(self.word))).flatten()
    }
}
