//! What a step of a policy document does ahead of a call besides to judge and to invoke, compiled.
//!
//! In: a declared effect and the scope of its step. Out: an [`Effect`] ready to run. Its expressions see what an assert in its place
//! would see.

use super::expression::{Expression, Texts};
use crate::context::ScopeEnv;
use crate::manifest::binding::DeclaredBinding;
use crate::manifest::step_effect::{DeclaredCredential, DeclaredEffect, DeclaredObligation, DeclaredSet};
use std::sync::Arc;

/// What a step does to a call that is about to run.
#[derive(Debug)]
pub enum Effect {
    /// Arguments get other values.
    Set(SetArguments),
    /// The model receives a value in the place of a result.
    Respond(Expression),
    /// The host waits so many milliseconds.
    Delay(u64),
    /// The host does something beside.
    Oblige(Vec<Duty>),
    /// The host gets a credential.
    Credential(CredentialFor),
}

/// Other values for arguments of a call.
#[derive(Debug)]
pub enum SetArguments {
    /// Some arguments get these values.
    Each(Vec<ComputedValue>),
    /// The value is a map of all arguments.
    Whole(Expression),
}

/// A name and the expression of its value.
#[derive(Debug)]
pub struct ComputedValue {
    /// The name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expression,
}

/// An obligation, with what is computed for it.
#[derive(Debug)]
pub struct Duty {
    /// The name by which the host knows it.
    pub id: Arc<str>,
    /// Its values.
    pub values: Vec<ComputedValue>,
}

/// Whom a credential is for, and what it lets its bearer do.
#[derive(Debug)]
pub struct CredentialFor {
    /// Whom it is for.
    pub audience: Expression,
    /// What it is for.
    pub scopes: Vec<Expression>,
}

impl Effect {
    /// Compiles an effect; what is wrong with it is reported. `path` is that of its key.
    pub(super) fn compile(
        scope: &Arc<ScopeEnv>,
        written: &DeclaredEffect,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        match written {
            DeclaredEffect::Set(DeclaredSet::Each(values)) => {
                let compiled = texts.replacing(|texts| ComputedValue::compile_all(scope, values, texts));
                compiled.map(SetArguments::Each).map(Self::Set)
            }
            DeclaredEffect::Set(DeclaredSet::Whole(text)) => {
                let compiled = texts.replacing(|texts| Expression::compile(scope, text, path, texts));
                compiled.map(SetArguments::Whole).map(Self::Set)
            }
            DeclaredEffect::Respond(text) => Expression::compile(scope, text, path, texts).map(Self::Respond),
            DeclaredEffect::Delay(delay) => Some(Self::Delay(delay.milliseconds)),
            DeclaredEffect::Oblige(obligations) => {
                let compile = |written: &DeclaredObligation| {
                    let values = ComputedValue::compile_all(scope, &written.values, texts)?;
                    Some(Duty { id: written.id.text.clone(), values })
                };
                let compiled: Vec<_> = obligations.iter().map(compile).collect();
                compiled.into_iter().collect::<Option<_>>().map(Self::Oblige)
            }
            DeclaredEffect::Credential(written) => {
                CredentialFor::compile(scope, written, texts).map(Self::Credential)
            }
        }
    }

    /// The expressions that it evaluates, in order.
    pub fn expressions(&self) -> Box<dyn Iterator<Item = &Expression> + '_> {
        match self {
            Self::Set(set) => Box::new(set.expressions()),
            Self::Respond(expression) => Box::new(std::iter::once(expression)),
            Self::Delay(_) => Box::new(std::iter::empty()),
            Self::Oblige(duties) => {
                Box::new(duties.iter().flat_map(|duty| duty.values.iter().map(|computed| &computed.value)))
            }
            Self::Credential(asked) => Box::new(asked.expressions()),
        }
    }
}

impl SetArguments {
    /// The expressions of the values, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let (each, whole) = match self {
            Self::Each(values) => (values.as_slice(), None),
            Self::Whole(value) => (&[][..], Some(value)),
        };
        each.iter().map(|computed| &computed.value).chain(whole)
    }

    /// The names of the arguments; `*` for all of them.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        match self {
            Self::Each(values) => values.iter().map(|computed| computed.name.clone()).collect(),
            Self::Whole(_) => vec!["*".into()],
        }
    }
}

impl CredentialFor {
    fn compile(scope: &Arc<ScopeEnv>, written: &DeclaredCredential, texts: &mut Texts<'_>) -> Option<Self> {
        let path = format!("{}.audience", written.path);
        let audience = Expression::compile(scope, &written.audience, &path, texts);
        let scopes = written.scopes.iter().enumerate().map(|(at, text)| {
            let path = format!("{}.scopes[{at}]", written.path);
            Expression::compile(scope, text, &path, texts)
        });
        let scopes: Vec<_> = scopes.collect();
        Some(Self { audience: audience?, scopes: scopes.into_iter().collect::<Option<_>>()? })
    }

    /// The audience, then the scopes.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        std::iter::once(&self.audience).chain(&self.scopes)
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
