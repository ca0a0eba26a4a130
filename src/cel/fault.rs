//! What can go wrong when a value is computed: a stable code and the kinds of value that were found.
//!
//! A fault never holds a value: task data must not reach a log or a model through an error. It is `Copy` and
//! small, so that an error which `||` absorbs costs nothing. The evaluator adds the place.

use super::types::Kind;
use std::fmt;

/// The error, for programs to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// `{'a': 1}.b`, `{'a': 1}['b']`
    NoSuchKey,
    /// `'text'.field`
    NoSuchField,
    /// `1 + 'a'`
    NoMatchingOverload,
    /// `[1][3]`
    IndexOutOfBounds,
    /// `1 / 0`
    DivideByZero,
    /// `1 % 0`
    ModulusByZero,
    /// `9223372036854775807 + 1`
    Overflow,
    /// `timestamp('yesterday')`
    InvalidArgument,
    /// `{'a': 1, 'a': 2}`
    DuplicateKey,
    /// `event.payload` where no event is being handled
    Unbound,
    /// `type(1)` as the result of a transform
    NotJson,
    /// `list.map(x, list.map(y, …))` over long lists
    BudgetExceeded,
    /// `mount.read('absent')`: the host could not do what it was asked for
    HostFailed,
    /// an activation of another scope than the program's
    WrongScope,
    /// `context.capabilities.export.outputs[0]` of a result that was too large to be kept: its digest is there, it is not
    ValueShortened,
}

impl ErrorCode {
    /// The code as text, for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSuchKey => "no_such_key",
            Self::NoSuchField => "no_such_field",
            Self::NoMatchingOverload => "no_matching_overload",
            Self::IndexOutOfBounds => "index_out_of_bounds",
            Self::DivideByZero => "divide_by_zero",
            Self::ModulusByZero => "modulus_by_zero",
            Self::Overflow => "overflow",
            Self::InvalidArgument => "invalid_argument",
            Self::DuplicateKey => "duplicate_key",
            Self::Unbound => "unbound",
            Self::NotJson => "not_json",
            Self::BudgetExceeded => "budget_exceeded",
            Self::HostFailed => "host_failed",
            Self::WrongScope => "wrong_scope",
            Self::ValueShortened => "value_shortened",
        }
    }

    /// The code in words, without the place and the kinds.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::NoSuchKey => "no such key",
            Self::NoSuchField => "no such field",
            Self::NoMatchingOverload => "no matching overload",
            Self::IndexOutOfBounds => "index out of bounds",
            Self::DivideByZero => "divide by zero",
            Self::ModulusByZero => "modulus by zero",
            Self::Overflow => "result out of range",
            Self::InvalidArgument => "invalid argument",
            Self::DuplicateKey => "duplicate key in a map",
            Self::Unbound => "variable has no value here",
            Self::NotJson => "result cannot be written as JSON",
            Self::BudgetExceeded => "evaluation budget exceeded",
            Self::HostFailed => "the host could not answer",
            Self::WrongScope => "activation belongs to another scope",
            Self::ValueShortened => "the value was shortened or dropped and cannot be read",
        }
    }

    /// The words ahead of what is said about an error: an argument that was refused is told by what was expected.
    pub(super) const fn before_detail(self) -> &'static str {
        match self {
            Self::InvalidArgument => "expected ",
            _ => "",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed computation: its code, the kinds found, and for a spent budget which bound it was. Never a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The error.
    pub code: ErrorCode,
    /// The kinds of the first operands, where they explain the fault.
    pub found: [Option<Kind>; 3],
    /// The name of the bound that was exceeded, for [`ErrorCode::BudgetExceeded`]; for [`ErrorCode::InvalidArgument`] what
    /// was expected, in words, where that is more than a kind; for [`ErrorCode::HostFailed`] why, in words.
    pub bound: Option<&'static str>,
}

impl From<ErrorCode> for Fault {
    fn from(code: ErrorCode) -> Self {
        Self { code, found: [None; 3], bound: None }
    }
}

impl Fault {
    /// No overload takes operands of these kinds. If one of them was shortened, that is why.
    #[must_use]
    pub fn no_overload(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let mut found = [None; 3];
        for (slot, kind) in found.iter_mut().zip(kinds) {
            if kind == Kind::Shortened {
                return ErrorCode::ValueShortened.into();
            }
            *slot = Some(kind);
        }
        Self { found, ..ErrorCode::NoMatchingOverload.into() }
    }

    /// A bound of the engine was exceeded.
    #[must_use]
    pub fn budget(bound: &'static str) -> Self {
        Self { bound: Some(bound), ..ErrorCode::BudgetExceeded.into() }
    }

    /// An argument of the right kind was refused; `expected` says in words which arguments are accepted.
    #[must_use]
    pub fn refused(expected: &'static str) -> Self {
        Self { bound: Some(expected), ..ErrorCode::InvalidArgument.into() }
    }

    /// The host gave no value; `why` says the reason in words.
    #[must_use]
    pub fn unanswered(why: &'static str) -> Self {
        Self { bound: Some(why), ..ErrorCode::HostFailed.into() }
    }

    /// The arguments that are accepted, if one was refused, or why the host gave no value; in words.
    #[must_use]
    pub fn detail(&self) -> Option<&'static str> {
        self.bound.filter(|_| matches!(self.code, ErrorCode::InvalidArgument | ErrorCode::HostFailed))
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code.describe())?;
        let mut kinds = self.found.iter().flatten();
        if let Some(first) = kinds.next() {
            write!(f, " for ({first}")?;
            kinds.try_for_each(|kind| write!(f, ", {kind}"))?;
            f.write_str(")")?;
        }
        match (self.bound, self.detail()) {
            (_, Some(detail)) => write!(f, ": {}{detail}", self.code.before_detail()),
            (Some(bound), None) => write!(f, ": `{bound}`"),
            (None, None) => Ok(()),
        }
    }
}
