//! The values of one operation, as the expressions of several scopes read them.
//!
//! In go the values. Out comes an activation for each program, one of its scope for all programs of that scope: most
//! operations run several expressions of one scope, one after the other, on the same values. A variable gets its value
//! when the first program comes that reads it, as most read one variable or two.

use super::scope_env::{Bound, ScopeEnv};
use crate::cel::{Activation, Fault, Program, Remembered};

/// The values of one operation. Good as long as nothing changes that expressions see.
#[derive(Debug)]
pub struct Activations<'a> {
    bound: Bound<'a>,
    /// Of the first scope that came.
    first: Option<Activation<'a>>,
    /// Of the last other one: a list of steps has a scope for what they do and one for their conditions.
    other: Option<Activation<'a>>,
    /// What variables of policies came to, for the steps that decide.
    remembered: Remembered<'a>,
    /// The same for those that are observed.
    observed: Remembered<'a>,
}

impl<'a> Activations<'a> {
    /// Of these values. Nothing is made before a program comes.
    #[inline]
    #[must_use]
    pub fn new(bound: Bound<'a>) -> Self {
        let (remembered, observed) = (Remembered::default(), Remembered::default());
        Self { bound, first: None, other: None, remembered, observed }
    }

    /// The same where variables of policies have values by now.
    #[inline]
    #[must_use]
    pub fn remembering(self, remembered: Remembered<'a>) -> Self {
        Self { remembered, ..self }
    }

    /// What variables of policies came to, as far as that holds on its own.
    #[inline]
    #[must_use]
    pub fn into_remembered(self) -> Remembered<'static> {
        self.remembered.into_owned()
    }

    /// Runs something in which variables of policies have values of their own: an observed step neither pays for what a step that decides finds in
    /// memory nor finds what such a step has paid for, so no verdict is another one because of it, not even where a budget is at its end.
    pub fn observing<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.remembered, &mut self.observed);
        let result = run(self);
        std::mem::swap(&mut self.remembered, &mut self.observed);
        result
    }

    /// The values.
    #[must_use]
    pub fn bound(&self) -> &Bound<'a> {
        &self.bound
    }

    /// The activation for a program of a scope, with the values that it and the programs before it read, and what their variables came to.
    /// Allocates nothing.
    ///
    /// # Errors
    /// `wrong_scope` for a context of another schema than the scope's: its fields lie elsewhere.
    pub fn of(
        &mut self,
        scope: &ScopeEnv,
        program: &Program,
    ) -> Result<(&Activation<'a>, &mut Remembered<'a>), Fault> {
        let id = scope.env().id();
        let is_free = self.first.as_ref().is_none_or(|made| made.env() == id);
        let place = if is_free { &mut self.first } else { &mut self.other };
        if place.as_ref().is_some_and(|made| made.env() != id) {
            *place = None;
        }
        let activation = match place {
            Some(made) => made,
            None => {
                scope.hold_schema(&self.bound)?;
                place.insert(Activation::new(scope.env()))
            }
        };
        for &slot in program.variables() {
            if activation.get(slot).is_none()
                && let Some(value) = scope.value_in(slot, &self.bound)
            {
                activation.bind(slot, value);
            }
        }
        Ok((activation, &mut self.remembered))
    }
}
