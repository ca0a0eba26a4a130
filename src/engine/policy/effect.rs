//! What a step of a policy document does ahead of a call besides to judge and to invoke, compiled.
//!
//! In: a declared effect and the scope of its step. Out: an [`Effect`] ready to run. Its expressions see what an assert in its place
//! would see.

use super::expression::{Expression, Texts};
use crate::context::ScopeEnv;
use crate::manifest::binding::DeclaredBinding;
use crate::manifest::step_effect::DeclaredEffect;
use std::sync::Arc;

/// What a step does to a call that is about to run.
#[derive(Debug)]
pub enum Effect {
    /// Arguments get other values.
    Set(Vec<ComputedValue>),
}

/// A name and the expression of its value.
#[derive(Debug)]
pub struct ComputedValue {
    /// The name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expression,
}

impl Effect {
    /// Compiles an effect; what is wrong with it is reported.
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        written: &DeclaredEffect,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        match written {
            DeclaredEffect::Set(values) => ComputedValue::compile_all(scope, values, texts).map(Self::Set),
        }
    }

    /// The expressions that it evaluates, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let Self::Set(values) = self;
        values.iter().map(|computed| &computed.value)
    }
}

impl ComputedValue {
    /// Compiles values by name, all of them, so that each problem is told.
    fn compile_all(
        scope: &Arc<ScopeEnv>,
        written: &[DeclaredBinding],
        texts: &mut Texts<'_>,
    ) -> Option<Vec<Self>> {
        let compile = |written: &DeclaredBinding| {
            let value = Expression::compile(scope, &written.value, &written.path, texts)?;
            Some(Self { name: written.name.text.clone(), value })
        };
        let compiled: Vec<_> = written.iter().map(compile).collect();
        compiled.into_iter().collect()
    }
}
