//! Kinds of manifests (KV): `commonagents.info/<version>/<type>`, and the kinds of our own, `celador/v1/tools` and `celador/v1/policy`.
//!
//! In: the text of `kind`. Out: a [`DocumentKind`], or which part of it is unknown. Three spellings of the version mean one body
//! format (KV-07, KV-08); a pair of version and type that no page prints is accepted with a warning. Other runtimes skip a kind
//! that begins with `celador/` (BUN-06); here one that is unknown is an error, for it is a slip of the pen.

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
    /// `tools`: tools that a host brings along, as MCP lists them. No type of the specification.
    Tools,
    /// `policy`: rules for many agents. No type of the specification.
    Policy,
}

/// The kind of files of invariants, which stand beside manifests and are none: `celador prove` reads them.
pub const INVARIANTS: &str = "celador/v1/invariants";

/// How the kinds of documents begin that are our own.
const OWN_PREFIX: &str = "celador/";
const PREFIX: &str = "commonagents.info/";
const VERSIONS: [(Version, &str); 3] =
    [(Version::V1, "v1"), (Version::V1Beta1, "v1beta1"), (Version::V1Beta2, "v1beta2")];
/// The types, in the order of their numbers.
const FAMILIES: [(Family, &str); 7] = [
    (Family::Agent, "agent"),
    (Family::Tool, "tool"),
    (Family::Trigger, "trigger"),
    (Family::Schedule, "schedule"),
    (Family::BundleDescription, "bundledescription"),
    (Family::Tools, "tools"),
    (Family::Policy, "policy"),
];

impl DocumentKind {
    /// The kind of a text such as `commonagents.info/v1beta2/agent`; none if a part of it is unknown (KV-09).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let own = text.strip_prefix(OWN_PREFIX);
        let (version, family) = own.or_else(|| text.strip_prefix(PREFIX))?.split_once('/')?;
        let (version, _) = *VERSIONS.iter().find(|(_, name)| *name == version)?;
        let (family, _) = *FAMILIES.iter().find(|(_, name)| *name == family)?;
        let is_there = family.is_own() == own.is_some() && (own.is_none() || version == Version::V1);
        is_there.then_some(Self { version, family })
    }

    /// Whether a text is meant as the kind of a manifest, known or not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX) || Self::is_own(text)
    }

    /// Whether a text is meant as one of the kinds that are our own.
    #[must_use]
    pub fn is_own(text: &str) -> bool {
        text.starts_with(OWN_PREFIX)
    }

    /// Whether a text is a version and a type, such as `v1beta2/agent`: a kind without its beginning.
    pub(super) fn is_ending(text: &str) -> bool {
        [PREFIX, OWN_PREFIX].iter().any(|prefix| Self::parse(&format!("{prefix}{text}")).is_some())
    }

    /// Whether a page of the specification prints this pair of version and type (KV-02 to KV-08).
    #[must_use]
    pub fn is_published(self) -> bool {
        match self.family {
            Family::Agent | Family::Tool => self.version != Version::V1Beta1,
            Family::Trigger => self.version == Version::V1Beta2,
            Family::Schedule | Family::BundleDescription | Family::Tools | Family::Policy => {
                self.version == Version::V1
            }
        }
    }

    /// The kind by which a type is published now.
    #[must_use]
    pub fn current(family: Family) -> String {
        let version = match family {
            Family::Agent | Family::Tool | Family::Trigger => "v1beta2",
            Family::Schedule | Family::BundleDescription | Family::Tools | Family::Policy => "v1",
        };
        let prefix = if family.is_own() { OWN_PREFIX } else { PREFIX };
        format!("{prefix}{version}/{}", family.name())
    }

    /// The current kinds of all types.
    #[must_use]
    pub fn all_current() -> Vec<String> {
        FAMILIES.iter().map(|(family, _)| Self::current(*family)).collect()
    }
}

impl Family {
    /// All types.
    pub(super) fn all() -> [Self; 7] {
        FAMILIES.map(|(family, _)| family)
    }

    /// Whether documents of this type are our own, and none of the specification.
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(self, Self::Tools | Self::Policy)
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
        let family = FAMILIES.get(FAMILY);
        if let Some((own, _)) = family.filter(|(family, _)| family.is_own()) {
            return json!({ "const": DocumentKind::current(*own) });
        }
        let family = family.map_or("", |(_, name)| name);
        json!({ "enum": VERSIONS.map(|(_, version)| format!("{PREFIX}{version}/{family}")) })
    }
}
