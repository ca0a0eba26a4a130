//! The values of one operation, as the expressions of several scopes read them.
//!
//! In go the values. Out comes an activation for each program, one of its scope for all programs of that scope: most
//! operations run several expressions of one scope, one after the other, on the same values. A variable gets its value
//! when the first program comes that reads it, as most read one variable or two.

use super::scope::{Bound, ScopeEnv};
use crate::cel::{Activation, ErrorCode, Fault, Program};
use smallvec::SmallVec;

/// The values of one operation. Good as long as nothing changes that expressions see.
#[derive(Debug)]
pub struct Activations<'a> {
    bound: Bound<'a>,
    /// Those of the scopes so far; most operations have two, of conditions and of what they guard.
    made: SmallVec<[Activation<'a>; 2]>,
}

impl<'a> Activations<'a> {
    /// Of these values. Nothing is made before a program comes.
    #[inline]
    #[must_use]
    pub fn new(bound: Bound<'a>) -> Self {
        Self { bound, made: SmallVec::new() }
    }

    /// The values.
    #[must_use]
    pub fn bound(&self) -> &Bound<'a> {
        &self.bound
    }

    /// What a program of a scope runs on: no more than it and those before it read. Allocates nothing for the first two
    /// scopes.
    ///
    /// # Errors
    /// `wrong_scope` for a context of another schema than the scope's: its fields lie elsewhere.
    pub fn of(&mut self, scope: &ScopeEnv, program: &Program) -> Result<&Activation<'a>, Fault> {
        scope.hold_schema(&self.bound)?;
        let Self { bound, made } = self;
        let known = made.iter().position(|activation| activation.env() == scope.env().id());
        let place = known.unwrap_or(made.len());
        if known.is_none() {
            made.push(Activation::new(scope.env()));
        }
        let activation = made.get_mut(place).ok_or(ErrorCode::WrongScope)?;
        scope.fill(activation, program, bound);
        Ok(activation)
    }
}
