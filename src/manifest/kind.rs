//! Kinds of manifests (KV): `commonagents.info/<version>/<type>`.
//!
//! In: the text of `kind`. Out: a [`Kind`], or which part of it is unknown. Three spellings of the version mean one body
//! format; a pair of version and type that no page prints is accepted with a warning.

/// The kind of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
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
