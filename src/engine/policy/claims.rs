//! The claims of a task's user: which of them the policies of an agent make visible, of which types, and whether they fit.
//!
//! In: the `claims` of the policies that are for an agent. Out: [`Claims`]. What the user's token says besides is never looked at: each schema
//! is asked about the claims that it names and no others, so a token may carry what it likes. Linear in the schemas and the
//! claims. No error holds a value.

use super::messages;
use super::misfit::Misfit;
use super::shape::Shape;
use crate::cel::{Field, Json, Part, RecordType, Storage, Type};
use crate::context::members_of;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::node::{Entry, Node};
use crate::manifest::policy::DeclaredPolicy;
use crate::source::Place;
use indexmap::IndexMap;
use std::sync::Arc;

/// A claim as one policy declares it.
#[derive(Clone, Debug)]
pub(crate) struct ClaimOf {
    pub(crate) name: String,
    pub(crate) policy: String,
    pub(crate) place: Place,
    shape: Shape,
}

/// Pairs of declarations of one claim, of different policies of an agent, of whose types no value is both.
pub(crate) fn contrary_claims(resolved: &ResolvedAgent) -> Vec<[ClaimOf; 2]> {
    let of_policy = |policy: &DeclaredPolicy| -> Vec<ClaimOf> {
        let schema = policy.claims.as_deref().and_then(|claims| claims.node.get("properties"));
        let claims = schema.and_then(Node::as_mapping).into_iter().flatten();
        let claim = |entry: &Entry| ClaimOf {
            name: entry.key.text.to_string(),
            policy: policy.full_name(),
            place: entry.value.place.clone(),
            shape: Shape::of_node(&entry.value),
        };
        claims.map(claim).collect()
    };
    let all: Vec<ClaimOf> = resolved.policies.iter().flat_map(|applied| of_policy(&applied.policy)).collect();
    let mut pairs = Vec::new();
    for (at, other) in all.iter().enumerate() {
        let contrary = |one: &&ClaimOf| one.name == other.name && one.shape.is_contrary(&other.shape);
        pairs.extend(all.iter().take(at).find(contrary).map(|one| [one.clone(), other.clone()]));
    }
    pairs
}

/// What the policies of an agent say of the claims of its users.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// By policy, in the order of their names.
    schemas: Vec<(Arc<str>, Shape)>,
}

impl Claims {
    /// Those of the policies that are for an agent.
    pub(super) fn of(resolved: &ResolvedAgent) -> Self {
        let of_policy =
            |policy: &DeclaredPolicy| Some((policy.full_name().into(), Shape::of(policy.claims.as_deref()?)));
        let policies = resolved.policies.iter();
        Self { schemas: policies.filter_map(|applied| of_policy(&applied.policy)).collect() }
    }

    /// The type of `context.user.claims`; nothing if no policy names a claim. Where two policies name the same claim, it fits
    /// both schemas. No claim is sure to be there: a task may have begun under other policies.
    pub(super) fn ty(&self) -> Option<Arc<RecordType>> {
        if self.schemas.is_empty() {
            return None;
        }
        let mut fields: IndexMap<Arc<str>, Field> = IndexMap::new();
        for (name, field) in self.schemas.iter().flat_map(|(_, shape)| shape.members("context.user.claims")) {
            let field = Field { required: false, doc: "a claim of the user".to_owned(), ..field };
            match fields.get_mut(&name) {
                None => drop(fields.insert(name, field)),
                Some(known) if known.ty == field.ty && known.domain == field.domain => {}
                Some(known) => *known = Field { ty: Type::Dyn, domain: None, ..field },
            }
        }
        Some(Arc::new(RecordType {
            name: "context.user.claims".to_owned(),
            fields,
            aliases: Vec::new(),
            storage: Storage::Closed,
        }))
    }

    /// By policy, the schemas of the claims.
    pub(super) fn schemas(&self) -> &[(Arc<str>, Shape)] {
        &self.schemas
    }

    /// Whether the user of a task may lack the claim at a path: a policy declares it, and no policy requires it.
    pub(crate) fn may_lack(&self, path: &[Option<String>]) -> bool {
        let required = self.schemas.iter().filter_map(|(_, shape)| shape.requires(path));
        required.reduce(|one, other| one || other) == Some(false)
    }

    /// The names of the claims that are visible, some of them more than once.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.schemas.iter().flat_map(|(_, shape)| shape.names())
    }

    /// Whether claims fit every schema.
    ///
    /// # Errors
    /// The name of the first policy whose schema they do not fit, and a sentence that names the claim and no value of it.
    ///
    /// # Cost
    /// Linear in the claims for schemas of types and constants; for any other at most `max_cost`.
    pub fn check(&self, claims: &Json) -> Result<(), (Arc<str>, String)> {
        for (policy, shape) in &self.schemas {
            let named = members_of(claims.root(), |claim| shape.names().any(|name| **name == *claim));
            let checked: Result<(), Misfit> = shape.check_part(Part::Json(named.root()));
            checked.map_err(|misfit| (policy.clone(), messages::claim_misfit(&misfit)))?;
        }
        Ok(())
    }
}
