//! Which arguments and results of calls on record the value at the end of a path tells of.
//!
//! In: a path that begins at a variable, as `policy::read_path` finds it. Out: the functions, and of their calls the arguments, the result,
//! both or neither. What is not known of a path counts as if it led to every value: a value that nobody seems to read may be dropped, and
//! one that is read after all is an error for its reader. So a list that is used in its order counts as read whole, unless a
//! field of its items is named, and so does whatever a key leads to that is computed.

use super::call_type::{CALLS, INVOKED, REJECTED};
use super::invocation::KeptPart;
use super::schema::{ContextSchema, META};
use super::schema_decl::FunctionId;
use super::scope::Root;
use super::secret::Selector;

/// Which values of a call are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallValues {
    /// Its arguments.
    pub input: bool,
    /// Its result.
    pub output: bool,
}

/// The values of calls of which a path tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesOnPath {
    /// The functions; `None` for every function.
    pub functions: Option<Vec<FunctionId>>,
    /// The values of each of their calls.
    pub values: CallValues,
}

impl CallValues {
    /// Neither.
    pub const NONE: Self = Self { input: false, output: false };
    /// Both.
    pub const ALL: Self = Self { input: true, output: true };

    /// These and others.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self { input: self.input || other.input, output: self.output || other.output }
    }

    /// Whether a value is among them.
    #[must_use]
    pub const fn has(self, part: KeptPart) -> bool {
        match part {
            KeptPart::Input => self.input,
            KeptPart::Output => self.output,
        }
    }
}

impl ContextSchema {
    /// The arguments and results of calls on record of which the value at the end of a path tells.
    #[must_use]
    pub fn values_on_path(&self, root: &str, path: &[Selector]) -> ValuesOnPath {
        let of_all = |values| ValuesOnPath { functions: None, values };
        if Root::long_name(root) != Root::Context.name() {
            return of_all(CallValues::NONE);
        }
        let Some((Selector::Name(part), rest)) = path.split_first() else { return of_all(CallValues::ALL) };
        match &**part {
            CALLS | REJECTED | INVOKED => of_all(of_calls(rest)),
            "capabilities" | "cap" => match rest.split_first() {
                Some((Selector::Name(key), _)) if key == META => of_all(CallValues::NONE),
                Some((Selector::Name(key), rest)) => {
                    ValuesOnPath { functions: Some(self.functions_in(Some(key))), values: of_record(rest) }
                }
                _ => of_all(CallValues::ALL),
            },
            "agent" | "user" | "request" | "llm" | "depth" | "input" | "output" | "reviews" | "_history" => {
                of_all(CallValues::NONE)
            }
            _ => of_all(CallValues::ALL),
        }
    }
}

/// Of the path behind the record of a function or tool.
fn of_record(path: &[Selector]) -> CallValues {
    let Some((Selector::Name(list), rest)) = path.split_first() else { return CallValues::ALL };
    match &**list {
        "inputs" => CallValues { input: true, output: false },
        "outputs" => CallValues { input: false, output: true },
        "count_successful" | "count_errored" | "count_restricted" | "timestamps" | "successful"
        | "errored" | "restricted" | "task_ids" => CallValues::NONE,
        CALLS | REJECTED | INVOKED => of_calls(rest),
        _ => CallValues::ALL,
    }
}

/// Of the path behind a list of calls.
fn of_calls(path: &[Selector]) -> CallValues {
    match path {
        // what is read of each item is a path of its own
        [Selector::Each] => CallValues::NONE,
        [Selector::Each | Selector::Any | Selector::Index(_), Selector::Name(field), ..] => match &**field {
            "input" => CallValues { input: true, output: false },
            "output" => CallValues { input: false, output: true },
            "seq" | "at" | "fn" | "status" | "open" | "message" | "started_at" | "invoked" => {
                CallValues::NONE
            }
            _ => CallValues::ALL,
        },
        _ => CallValues::ALL,
    }
}
