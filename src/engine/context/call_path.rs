//! Of which calls the value at the end of a path tells, and whether of inputs.
//!
//! In: a path that begins at a variable. Out: the functions whose records it leads to. `_meta` and `_history` change with every
//! call. What is not known of a path counts as if it led to every part, so that no record that is read is missed.

use super::schema::{ContextSchema, META};
use super::schema_decl::FunctionId;
use super::scope::Root;
use super::secret::Selector;

impl ContextSchema {
    /// The functions of whose calls the value at the end of a path tells; `None` if of every call.
    #[must_use]
    pub fn calls_on_path(&self, root: &str, path: &[Selector]) -> Option<Vec<FunctionId>> {
        if Root::long_name(root) != Root::Context.name() {
            return Some(Vec::new());
        }
        let (Selector::Name(part), rest) = path.split_first()? else { return None };
        match (&**part, rest.first()) {
            ("capabilities" | "cap", Some(Selector::Name(key))) if key != META => {
                Some(self.functions_in(Some(key)))
            }
            ("agent" | "user" | "llm" | "input" | "output", _) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Whether a path leads to the inputs of the task and to nothing else. One of which nothing is known leads to every call, too.
    #[must_use]
    pub fn is_path_of_inputs(&self, root: &str, path: &[Selector]) -> bool {
        Root::long_name(root) == Root::Context.name()
            && path.first().is_some_and(|part| matches!(part, Selector::Name(part) if part == "input"))
    }
}
