//! Of which calls the value at the end of a path tells, whether it is known while they are open, and whether of inputs.
//!
//! In: a path that begins at a variable. Out: the functions whose records it leads to. `_meta` and `_history` change with every
//! call. What is not known of a path counts as if it led to every part, so that no record that is read is missed.

use super::call_type::{CALLS, INVOKED, KNOWN_WHILE_OPEN, REJECTED};
use super::schema::{ContextSchema, META};
use super::schema_decl::FunctionId;
use super::scope::Root;
use super::secret::Selector;

/// The calls of which a path tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsOnPath {
    /// Their functions; `None` for those of every function.
    pub functions: Option<Vec<FunctionId>>,
    /// Whether it tells nothing of a call that is not known while it is open: that it was made, its function and its
    /// arguments, in whatever order the calls stand.
    pub known_while_open: bool,
}

impl ContextSchema {
    /// The calls of which the value at the end of a path tells.
    #[must_use]
    pub fn calls_on_path(&self, root: &str, path: &[Selector]) -> CallsOnPath {
        let of = |functions| CallsOnPath { functions, known_while_open: false };
        if Root::long_name(root) != Root::Context.name() {
            return of(Some(Vec::new()));
        }
        let Some((Selector::Name(part), rest)) = path.split_first() else { return of(None) };
        match (&**part, rest.split_first()) {
            (CALLS, _) => CallsOnPath { functions: None, known_while_open: is_known_while_open(rest) },
            // which calls open operations will yet have steps invoke is not known
            (INVOKED, _) => of(None),
            // a call that was let through was not rejected
            (REJECTED, _) => CallsOnPath { functions: None, known_while_open: true },
            ("capabilities" | "cap", Some((Selector::Name(key), rest))) if key != META => CallsOnPath {
                functions: Some(self.functions_in(Some(key))),
                known_while_open: match rest.split_first() {
                    Some((Selector::Name(list), rest)) => match &**list {
                        CALLS => is_known_while_open(rest),
                        list => list == REJECTED,
                    },
                    _ => false,
                },
            },
            ("agent" | "user" | "request" | "llm" | "depth" | "input" | "output", _) => of(Some(Vec::new())),
            _ => of(None),
        }
    }

    /// Whether a path leads to the inputs of the task and to nothing else. One of which nothing is known leads to every call, too.
    #[must_use]
    pub fn is_path_of_inputs(&self, root: &str, path: &[Selector]) -> bool {
        Root::long_name(root) == Root::Context.name()
            && path.first().is_some_and(|part| matches!(part, Selector::Name(part) if part == "input"))
    }
}

/// Whether a path from a list of calls tells only what is known of the open ones: open calls stand ahead of the others until
/// they are reported, so the order of calls is not among that.
fn is_known_while_open(path: &[Selector]) -> bool {
    match path {
        [Selector::Each] => true,
        [Selector::Each, Selector::Name(field), ..] => KNOWN_WHILE_OPEN.contains(&&**field),
        _ => false,
    }
}
