//! Whether a path of an expression or a template meets a secret.
//!
//! In: a path that begins at a variable, and the call that it is about, if it is about one. Out: yes or no, by the places that
//! the schema of the context marks.

use super::call_type::{CALLS, INVOKED, REJECTED};
use super::schema::ContextSchema;
use super::schema_decl::FunctionId;
use super::scope::Root;
use super::secret::Selector;

impl ContextSchema {
    /// Whether the value at the end of a path is a secret, holds one or is a part of one. `function` is that of the call
    /// whose `input` and `output` the roots of these names are; without a call they are an input and a response under test.
    ///
    /// What is not known of the path counts as if it led to every part, so that nothing that is read is missed.
    #[must_use]
    pub fn meets_secret(&self, function: Option<FunctionId>, root: &str, path: &[Selector]) -> bool {
        let secrets = self.secrets();
        if secrets.is_empty() {
            return false;
        }
        match (Root::long_name(root), function) {
            ("input", Some(_)) => secrets.arguments(function).meets(path),
            ("output", Some(_)) => secrets.result(function).meets(path),
            // of which function a step has the result is not known here
            (root, _) if *root == *Root::Invoked.name() => {
                let of_value = path.get(1..).unwrap_or_default();
                let results = self.functions_in(None).into_iter().map(|of| secrets.result(Some(of)));
                results.into_iter().any(|result| result.meets(of_value))
            }
            ("input", None) => self.meets_input(path),
            ("output", None) => self.meets_exposed(path),
            ("context", _) => match path.split_first() {
                Some((Selector::Name(name), rest)) => match &**name {
                    "capabilities" | "cap" => self.meets_record(rest),
                    "input" => self.meets_input(rest),
                    "output" => self.meets_exposed(rest),
                    CALLS | REJECTED | INVOKED => self.meets_call(None, rest),
                    _ => false,
                },
                _ => true,
            },
            _ => false,
        }
    }

    /// A path from the list of inputs: to an entry, or to a field of the last one.
    fn meets_input(&self, path: &[Selector]) -> bool {
        self.secrets().input.view().meets(entry_path(path))
    }

    fn meets_exposed(&self, path: &[Selector]) -> bool {
        let exposes = &self.secrets().exposes;
        match entry_path(path).first() {
            Some(Selector::Name(name)) => exposes.iter().any(|known| **known == **name),
            _ => !exposes.is_empty(),
        }
    }

    /// A path from the records of functions and tools.
    fn meets_record(&self, path: &[Selector]) -> bool {
        let secrets = self.secrets();
        let (key, rest) = match path.split_first() {
            Some((Selector::Name(key), rest)) => (Some(&**key), rest),
            Some((_, rest)) => (None, rest),
            None => (None, path),
        };
        let list = match rest.first() {
            Some(Selector::Name(list)) => Some(&**list),
            _ => None,
        };
        if matches!(list, Some(CALLS | REJECTED | INVOKED)) {
            return self.meets_call(key, rest.get(1..).unwrap_or_default());
        }
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

    /// A path from the calls of a record as objects, or from those of all functions.
    fn meets_call(&self, key: Option<&str>, path: &[Selector]) -> bool {
        let secrets = self.secrets();
        let of_value = path.get(2..).unwrap_or_default();
        let meets = |function: FunctionId| {
            let arguments = || secrets.arguments(Some(function)).meets(of_value);
            let result = || secrets.result(Some(function)).meets(of_value);
            match path.get(1) {
                Some(Selector::Name(field)) => match &**field {
                    "input" => arguments(),
                    "output" => result(),
                    _ => false,
                },
                _ => arguments() || result(),
            }
        };
        self.functions_in(key).into_iter().any(meets)
    }
}

/// The path within an entry: a field may be selected on the list of entries, and means that of the last.
fn entry_path(path: &[Selector]) -> &[Selector] {
    match path.split_first() {
        Some((Selector::Index(_) | Selector::Any | Selector::Each, rest)) => rest,
        _ => path,
    }
}
