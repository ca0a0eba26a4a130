//! Kinds of manifests (KV): `commonagents.info/<version>/<type>`.
//!
//! In: the text of `kind`. Out: a [`DocumentKind`], or which part of it is unknown. Three spellings of the version mean one body
//! format (KV-07, KV-08); a pair of version and type that no page prints is accepted with a warning.

use super::shape::{Definitions, Shape};
use serde_json::{Value, json};

/// The kind of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentKind {
    /// The version.
    pub version: Version,
    /// The type.
    pub family: Family,
}

/// The versions whose manifests are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `v1`: the first format, whose own fields are still read (KV-10).
    V1,
    /// `v1beta1`: another spelling of `v1beta2` (KV-08).
    V1Beta1,
    /// `v1beta2`: the current one.
    V1Beta2,
}

/// The types of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `agent`
    Agent,
    /// `tool`
    Tool,
    /// `trigger`
    Trigger,
    /// `schedule`
    Schedule,
    /// `bundledescription`
    BundleDescription,
}

const PREFIX: &str = "commonagents.info/";
const VERSIONS: [(Version, &str); 3] =
    [(Version::V1, "v1"), (Version::V1Beta1, "v1beta1"), (Version::V1Beta2, "v1beta2")];
/// The types, in the order of their numbers.
const FAMILIES: [(Family, &str); 5] = [
    (Family::Agent, "agent"),
    (Family::Tool, "tool"),
    (Family::Trigger, "trigger"),
    (Family::Schedule, "schedule"),
    (Family::BundleDescription, "bundledescription"),
];

impl DocumentKind {
    /// The kind of a text such as `commonagents.info/v1beta2/agent`; none if a part of it is unknown (KV-09).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (version, family) = text.strip_prefix(PREFIX)?.split_once('/')?;
        let (version, _) = *VERSIONS.iter().find(|(_, name)| *name == version)?;
        let (family, _) = *FAMILIES.iter().find(|(_, name)| *name == family)?;
        Some(Self { version, family })
    }

    /// Whether a text is meant as the kind of a Common Agent manifest, known or not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Whether a text is a version and a type, such as `v1beta2/agent`: a kind without its beginning.
    pub(super) fn is_ending(text: &str) -> bool {
        Self::parse(&format!("{PREFIX}{text}")).is_some()
    }

    /// Whether a page of the specification prints this pair of version and type (KV-02 to KV-08).
    #[must_use]
    pub fn is_published(self) -> bool {
        match self.family {
            Family::Agent | Family::Tool => self.version != Version::V1Beta1,
            Family::Trigger => self.version == Version::V1Beta2,
            Family::Schedule | Family::BundleDescription => self.version == Version::V1,
        }
    }

    /// The kind by which a type is published now.
    #[must_use]
    pub fn current(family: Family) -> String {
        let version = match family {
            Family::Agent | Family::Tool | Family::Trigger => "v1beta2",
            Family::Schedule | Family::BundleDescription => "v1",
        };
        format!("{PREFIX}{version}/{}", family.name())
    }

    /// The current kinds of all types.
    #[must_use]
    pub fn all_current() -> Vec<String> {
        FAMILIES.iter().map(|(family, _)| Self::current(*family)).collect()
    }
}

impl Family {
    /// All types.
    pub(super) fn all() -> [Self; 5] {
        FAMILIES.map(|(family, _)| family)
    }

    /// The word in the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        FAMILIES.iter().find(|(family, _)| *family == self).map_or("", |(_, name)| name)
    }
}

/// The kind of documents of one type, by its place in the table of types, in any version.
pub(super) enum KindOf<const FAMILY: usize> {}

impl<const FAMILY: usize> Shape for KindOf<FAMILY> {
    fn schema(_: &mut Definitions) -> Value {
        let family = FAMILIES.get(FAMILY).map_or("", |(_, name)| name);
        let versions = VERSIONS.map(|(_, name)| name).join("|");
        let prefix = PREFIX.replace('.', r"\.");
        json!({ "type": "string", "pattern": format!("^{prefix}({versions})/{family}$") })
    }
}
