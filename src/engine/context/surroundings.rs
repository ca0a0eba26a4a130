//! `runtime` and `mount`: what an expression may read that belongs to no task.

use crate::cel::{At, LiveRecord, RecordType, Type, Value, View};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, LazyLock};

/// The runtime that calls: `runtime` in expressions (`CEL-39`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runtime {
    /// The version of the platform: `runtime.version`.
    pub version: Arc<str>,
    /// The address of its dashboard: `runtime.dashboard_url`.
    pub dashboard_url: Arc<str>,
    /// The address at which its API begins: `runtime.api_root`.
    pub api_root: Arc<str>,
}

/// The mount of an agent whose scope is not `none` (`MNT-04`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountFacts {
    /// `mount.bucket`
    pub bucket: Arc<str>,
    /// `mount.prefix`
    pub prefix: Arc<str>,
    /// `mount.backend`
    pub backend: Arc<str>,
}

static RUNTIME: LazyLock<Arc<RecordType>> = LazyLock::new(|| {
    RecordType::live(
        "runtime",
        [
            ("version", Type::String, "the runtime's version"),
            ("dashboard_url", Type::String, "where its dashboard is"),
            ("api_root", Type::String, "where its API begins"),
        ],
    )
});

static MOUNT: LazyLock<Arc<RecordType>> = LazyLock::new(|| {
    RecordType::live(
        "mount",
        [
            ("bucket", Type::String, "the bucket of the backend"),
            ("prefix", Type::String, "what all paths of this agent begin with"),
            ("backend", Type::String, "the kind of backend"),
        ],
    )
});

impl Runtime {
    /// The type of `runtime`.
    #[must_use]
    pub fn cel_type() -> Type {
        Type::Record(RUNTIME.clone())
    }

    /// `runtime`, as expressions see it.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        Value::record(self, At(0))
    }
}

impl LiveRecord for Runtime {
    fn shape(&self, _at: At) -> &RecordType {
        &RUNTIME
    }

    fn field(&self, _at: At, slot: usize) -> Option<View<'_>> {
        let fields = [&self.version, &self.dashboard_url, &self.api_root];
        fields.get(slot).map(|text| View::Text(text))
    }
}

impl MountFacts {
    /// The type of `mount`.
    #[must_use]
    pub fn cel_type() -> Type {
        Type::Record(MOUNT.clone())
    }

    /// `mount`, as expressions see it.
    #[must_use]
    pub fn value(&self) -> Value<'_> {
        Value::record(self, At(0))
    }
}

impl LiveRecord for MountFacts {
    fn shape(&self, _at: At) -> &RecordType {
        &MOUNT
    }

    fn field(&self, _at: At, slot: usize) -> Option<View<'_>> {
        let fields = [&self.bucket, &self.prefix, &self.backend];
        fields.get(slot).map(|text| View::Text(text))
    }
}
