//! Which places of a task context are secret: arguments and results of functions, parameters of inputs, exposed values.
//!
//! In: what the schemas of an agent and its tools mark. Out: what is secret of the value at a place. A function that is not
//! known has nothing but secrets once anything is one: a view of what nobody can judge shows nothing.

use super::schema_decl::FunctionId;
use super::secret::{SecretView, Secrets};
use std::sync::Arc;

/// The secret places in calls of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSecrets {
    /// Of its arguments, an object.
    pub arguments: Secrets,
    /// In its results.
    pub result: Secrets,
}

/// The secret places in tasks of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSecrets {
    /// By function, in the order of the schema.
    pub functions: Vec<CallSecrets>,
    /// Of an input: an object of its message and its parameters.
    pub input: Secrets,
    /// The names of `exposes` whose values are made of secrets.
    pub exposes: Vec<Arc<str>>,
}

impl TaskSecrets {
    /// Whether nothing is secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_open = |call: &CallSecrets| call.arguments.is_empty() && call.result.is_empty();
        self.functions.iter().all(is_open) && self.input.is_empty() && self.exposes.is_empty()
    }

    /// In the arguments of a function. Without a function they are those of one that is not known.
    #[must_use]
    pub fn arguments(&self, function: Option<FunctionId>) -> SecretView<'_> {
        self.of_call(function, |call| &call.arguments)
    }

    /// In the results of a function. Without a function they are those of one that is not known.
    #[must_use]
    pub fn result(&self, function: Option<FunctionId>) -> SecretView<'_> {
        self.of_call(function, |call| &call.result)
    }

    /// In the outcome of a call. The schema of a result is about calls that succeeded: an error of a function whose results
    /// hold secrets may hold them anywhere.
    #[must_use]
    pub fn outcome(&self, function: Option<FunctionId>, is_success: bool) -> SecretView<'_> {
        let result = self.result(function);
        if is_success || result.is_empty() { result } else { SecretView::whole() }
    }

    fn of_call<'s>(
        &'s self,
        function: Option<FunctionId>,
        part: impl Fn(&'s CallSecrets) -> &'s Secrets,
    ) -> SecretView<'s> {
        match function.and_then(|function| self.functions.get(function.0 as usize)) {
            Some(call) => part(call).view(),
            None if self.is_empty() => SecretView::nothing(),
            None => SecretView::whole(),
        }
    }

    /// Of an exposed value.
    #[must_use]
    pub fn exposed(&self, name: &str) -> SecretView<'_> {
        if self.exposes.iter().any(|known| **known == *name) {
            SecretView::whole()
        } else {
            SecretView::nothing()
        }
    }
}
