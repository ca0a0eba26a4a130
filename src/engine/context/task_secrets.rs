//! Which places of a task context are secret: arguments and results of functions, parameters of inputs, exposed values.
//!
//! In: what the schemas of an agent and its tools mark. Out: what is secret of the value at a place, and whether a path of an
//! expression or a template meets a secret. A function that is not known has nothing but secrets once anything is one: a
//! view of what nobody can judge shows nothing.

use super::schema::{ContextSchema, FunctionId};
use super::secret::{SecretStep, SecretView, Secrets};
use std::sync::Arc;

/// What is secret of the calls of one function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSecrets {
    /// Of its arguments, an object.
    pub arguments: Secrets,
    /// Of what it returns.
    pub result: Secrets,
}

/// What is secret of the tasks of one agent.
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

    /// Of the arguments of a function; none is one that is not known.
    #[must_use]
    pub fn arguments(&self, function: Option<FunctionId>) -> SecretView<'_> {
        self.of_call(function, |call| &call.arguments)
    }

    /// Of what a function returns; none is one that is not known.
    #[must_use]
    pub fn result(&self, function: Option<FunctionId>) -> SecretView<'_> {
        self.of_call(function, |call| &call.result)
    }

    /// Of what came of a call. The schema of a result is about calls that succeeded: an error of a function whose results
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

impl ContextSchema {
    /// Whether the value at the end of a path is a secret, holds one or is a part of one. `function` is that of the call
    /// whose `input` and `output` the roots of these names are; without a call they are an input and a response under test.
    ///
    /// What is not known of the path counts as if it led to every part, so that nothing that is read is missed.
    #[must_use]
    pub fn meets_secret(&self, function: Option<FunctionId>, root: &str, path: &[SecretStep]) -> bool {
        let secrets = self.secrets();
        if secrets.is_empty() {
            return false;
        }
        match (root, function) {
            ("input", Some(_)) => secrets.arguments(function).meets(path),
            ("output", Some(_)) => secrets.result(function).meets(path),
            ("input", None) => self.meets_input(path),
            ("output", None) => self.meets_exposed(path),
            ("context", _) => match path.split_first() {
                Some((SecretStep::Name(name), rest)) => match &**name {
                    "capabilities" | "cap" => self.meets_record(rest),
                    "input" => self.meets_input(rest),
                    "output" => self.meets_exposed(rest),
                    _ => false,
                },
                _ => true,
            },
            _ => false,
        }
    }

    /// A path from the list of inputs: to an entry, or to a field of the last one.
    fn meets_input(&self, path: &[SecretStep]) -> bool {
        self.secrets().input.view().meets(entry_path(path))
    }

    fn meets_exposed(&self, path: &[SecretStep]) -> bool {
        let exposes = &self.secrets().exposes;
        match entry_path(path).first() {
            Some(SecretStep::Name(name)) => exposes.iter().any(|known| **known == **name),
            _ => !exposes.is_empty(),
        }
    }

    /// A path from the records of functions and tools.
    fn meets_record(&self, path: &[SecretStep]) -> bool {
        let secrets = self.secrets();
        let (key, rest) = match path.split_first() {
            Some((SecretStep::Name(key), rest)) => (Some(&**key), rest),
            Some((_, rest)) => (None, rest),
            None => (None, path),
        };
        let list = match rest.first() {
            Some(SecretStep::Name(list)) => Some(&**list),
            _ => None,
        };
        let of_value = rest.get(2..).unwrap_or_default();
        let meets = |function: FunctionId| {
            let arguments = || secrets.arguments(Some(function)).meets(of_value);
            let result = || secrets.result(Some(function)).meets(of_value);
            match list {
                Some("inputs") => arguments(),
                Some("outputs") => result(),
                Some(_) => false,
                None => arguments() || result(),
            }
        };
        self.functions_in(key).into_iter().any(meets)
    }
}

/// The path within an entry: a field may be selected on the list of entries, and means that of the last.
fn entry_path(path: &[SecretStep]) -> &[SecretStep] {
    match path.split_first() {
        Some((SecretStep::Index(_) | SecretStep::Any, rest)) => rest,
        _ => path,
    }
}
