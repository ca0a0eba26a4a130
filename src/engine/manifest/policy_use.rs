//! Policies as libraries: the parameters that a policy has, and the policies that it uses, with values.
//!
//! In: the keys `version`, `parameters` and `uses` of a policy document. Out: [`PolicyParameter`]s and [`DeclaredUse`]s as they
//! were written. `uses` puts them together, and whether a value fits its schema is said where the policy is compiled. Linear.

use super::fields::{Fields, Key};
use super::messages;
use super::node::{Entry, Node};
use super::policy_step::PolicyStep;
use super::reader::{Path, Reader};
use super::schema::{Alone, Schema, read_alone};
use super::shape::{ByName, List, Name, Object, Required, Text, mapping};
use super::version::RequiredVersion;
use crate::cel::Semver;
use crate::source::{Embedded, Place};
use std::sync::Arc;

/// A value that is the same for all of a policy.
#[derive(Clone, Debug)]
pub struct PolicyParameter {
    /// The name, which expressions read as `parameters.NAME`.
    pub name: Embedded,
    /// The manifest path, such as `parameters.cap`.
    pub path: String,
    /// The schema of its values.
    pub schema: Arc<Schema>,
    /// The value: the default, or that of the policy which uses this one. Nothing if there is neither.
    pub value: Option<GivenValue>,
}

/// A value of a parameter, where it is written.
#[derive(Clone, Debug)]
pub struct GivenValue {
    /// The value.
    pub node: Node,
    /// The manifest path, such as `uses[0].with.cap` or `parameters.cap.default`.
    pub path: String,
    /// Where a policy passes it on that was given it, `with: {cap: parameters.cap}`; of several such places the last.
    pub passed: Option<Place>,
}

/// A policy that another one uses.
#[derive(Clone, Debug)]
pub struct DeclaredUse {
    /// Where the entry stands.
    pub place: Place,
    /// The manifest path, such as `uses[0]`.
    pub path: String,
    /// Namespace and name of the policy: `acme/pii`.
    pub policy: Embedded,
    /// A name for this use, where the policy is used several times.
    pub called: Option<Embedded>,
    /// The versions that will do, with the text; any if absent.
    pub version: Option<(Embedded, RequiredVersion)>,
    /// Values by the names of the parameters.
    pub with: Vec<(Embedded, GivenValue)>,
}

/// How a policy comes to apply that another one uses.
#[derive(Clone, Debug)]
pub struct UsedBy {
    /// The name of the policy whose agents it is for, and its labels.
    pub user: PolicyStep,
    /// The uses that lead from there to it, the last of which is its own: `acme/pii as cards`.
    pub uses: Vec<Arc<str>>,
}

impl GivenValue {
    /// The text `parameters.cap` and the name in it, where a use passes on a parameter of its own policy. No other text is read so: a value that
    /// were put together of several could double with each use.
    pub(super) fn passes_on(&self) -> Option<(&Embedded, &str)> {
        let text = self.node.as_string()?;
        let name = text.text.strip_prefix("parameters.")?;
        (!name.is_empty()).then_some((text, name))
    }
}

impl DeclaredUse {
    /// The name by which the using policy calls named expressions of the used one: that of the use, or of the policy without its namespace.
    #[must_use]
    pub fn alias(&self) -> &str {
        match &self.called {
            Some(called) => &called.text,
            None => self.policy.text.rsplit('/').next().unwrap_or_default(),
        }
    }

    /// How decisions call the use: `acme/pii`, or `acme/pii as cards`.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match &self.called {
            Some(called) => format!("{} as {}", self.policy.text, called.text).into(),
            None => self.policy.text.clone(),
        }
    }
}

mapping! {
    /// What makes a library of a policy, and what it takes from libraries.
    pub(super) LibraryKeys = "a policy" {
        /// The version of the policy, as in semver.org.
        version: Text,
        /// Values by name, each with the schema of what it may be; one without `default` has to be given.
        parameters: ByName<Alone>,
        /// Policies that hold wherever this one does, with values for their parameters.
        uses: List<UseKeys>,
    }

    UseKeys = "a use" {
        /// The policy, as `namespace/name`.
        policy: Required<Name>,
        /// A name for this use, where the policy is used several times.
        called = "as": Name,
        /// The version that is needed: `1.2.0`, or `^1.2` for that or a later one which is compatible.
        version: Text,
        /// Values by the names of the parameters; `parameters.NAME` is the value of one of the policy's own.
        with: Object,
    }
}

/// What makes a library of a policy.
#[derive(Default)]
pub(super) struct Library {
    pub(super) version: Option<Semver>,
    pub(super) parameters: Vec<PolicyParameter>,
    pub(super) uses: Vec<DeclaredUse>,
}

impl Library {
    pub(super) fn read(fields: &Fields<'_, LibraryKeys>, reader: &mut Reader) -> Self {
        let version = fields.version().text(reader).and_then(|text| {
            let version = text.text.parse().ok();
            if version.is_none() {
                reader.report(&fields.version().path(), messages::bad_version(&text));
            }
            version
        });
        let uses = fields.uses();
        let items = uses.get().map(|field| (reader.list(field.node, &field.path), field.path));
        let (items, path) = items.map_or_else(|| (None, uses.path()), |(items, path)| (items, path));
        let items = items.unwrap_or_default().iter().enumerate();
        let read = |(at, item)| read_use(item, &path.item(at), reader);
        let uses = items.filter_map(read).collect();
        Self { version, parameters: read_parameters(&fields.parameters(), reader), uses }
    }
}

fn read_parameters(key: &Key<'_, '_, ByName<Alone>>, reader: &mut Reader) -> Vec<PolicyParameter> {
    let Some(field) = key.get() else { return Vec::new() };
    let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
    let read = |entry: &Entry| {
        let path = field.path.key(&entry.key.text);
        let schema = read_alone(&entry.value, &path, reader)?;
        if !schema.secrets.is_empty() {
            reader.report(&path, messages::secret_of_a_policy(&entry.key.place));
        }
        let value = entry.value.get("default").map(|default| given(default, path.key("default")));
        Some(PolicyParameter { name: entry.key.clone(), path: path.to_string(), schema, value })
    };
    entries.iter().filter_map(read).collect()
}

fn read_use(node: &Node, path: &Path, reader: &mut Reader) -> Option<DeclaredUse> {
    let fields = reader.fields::<UseKeys>(node, path)?;
    let policy = fields.policy().text_or_empty("AG-01", reader);
    let called = fields.called().get().and_then(|field| reader.text(field.node, &field.path));
    let version = fields.version().text(reader).and_then(|text| {
        let required = RequiredVersion::parse(&text.text);
        if required.is_none() {
            reader.report(&fields.version().path(), messages::bad_required_version(&text));
        }
        Some((text, required?))
    });
    let with = fields.with().get().map(|field| {
        let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
        let value = |entry: &Entry| (entry.key.clone(), given(&entry.value, field.path.key(&entry.key.text)));
        entries.iter().map(value).collect::<Vec<_>>()
    });
    fields.refuse_others(reader);
    let place = fields.place.clone();
    Some(DeclaredUse {
        place,
        path: path.to_string(),
        policy,
        called,
        version,
        with: with.unwrap_or_default(),
    })
}

fn given(node: &Node, path: Path) -> GivenValue {
    GivenValue { node: node.clone(), path: path.to_string(), passed: None }
}
