//! What a step of a policy document does ahead of a call besides to judge and to invoke.
//!
//! In: the keys of such a step. Out: a [`DeclaredEffect`], its expressions as text. Specification manifests have none of these keys.

use super::binding::DeclaredBinding;
use super::fields::{Field, Fields};
use super::reader::Reader;
use super::shape::{ByName, Expression, Mapping as _, mapping, names};

/// What a step does to a call that is about to run.
#[derive(Clone, Debug)]
pub enum DeclaredEffect {
    /// `set: {amount: "min([input.amount, 100])"}`: arguments and the expressions of the values that they get.
    Set(Vec<DeclaredBinding>),
}

impl DeclaredEffect {
    /// The key that it stands under.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
        }
    }
}

mapping! {
    /// What a step does ahead of a call, besides to judge and to invoke.
    pub(super) EffectKeys = "a step" {
        /// Arguments that the call gets other values for: a name, and an expression.
        set: ByName<Expression>,
    }
}

/// The keys of effects.
pub(super) fn keys() -> Vec<&'static str> {
    names(EffectKeys::ROWS)
}

/// The keys of effects that a step has.
pub(super) fn written<'a>(fields: &Fields<'a, EffectKeys>) -> Vec<Field<'a>> {
    [fields.set().get()].into_iter().flatten().collect()
}

/// The effect of a step that has one key of them.
pub(super) fn read(fields: &Fields<'_, EffectKeys>, reader: &mut Reader) -> Option<DeclaredEffect> {
    let set = fields.set().get()?;
    let values = DeclaredBinding::read_all(set.node, &set.path, "CEL-01", reader);
    Some(DeclaredEffect::Set(values))
}
