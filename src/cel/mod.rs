//! The Common Expression Language, for hosts that hold live state and distrust both sides.
//!
//! One straight line: an [`Env`] says which variables, types and functions a scope has; with it a text becomes a
//! [`Program`] (parsed, checked, planned); a program run on an [`Activation`] gives a [`Value`]. The modules stand in
//! that order, and each names only those before it:
//!
//! | module | from | to |
//! |---|---|---|
//! | `types`, `fault`, `meter`, `value` | | what values are, what can go wrong with them, what they may cost |
//! | `function`, `stdlib` | | what can be called: signature, cost, meaning, examples and code in one row |
//! | `syntax` | text | `Expr`, with the span of every part |
//! | `env`, `check` | `Expr` | types, resolved names, diagnostics, static cost |
//! | `plan` | checked `Expr` | `Plan`: slots for names, constants folded, loops fused |
//! | `eval` | `Plan` and `Activation` | `Value`, metered |
//! | `program`, `cache` | | the door, and the store of compiled expressions |
//!
//! Nothing here knows of agents, and nothing here does IO or reads a clock.

mod cache;
mod check;
mod domain;
mod env;
mod eval;
mod fault;
mod function;
mod issue;
mod limits;
mod meter;
mod plan;
mod program;
mod stdlib;
mod syntax;
mod types;
mod value;

pub use cache::{Cache, CacheStats, Compiled};
pub use check::{Assumptions, Checked, CostEstimate, Reference, check};
pub use domain::{Constant, Domain};
pub use env::{Env, EnvBuilder, EnvId, Slot, Variable};
pub use eval::{Activation, EvalError, Host, Interruption, Stop};
pub use fault::{ErrorCode, Fault};
pub use function::{Code, Declaration, Function, Overload, PureCode, TestCode};
pub use issue::Issue;
pub(crate) use limits::bounds;
pub use limits::{EvalLimits, LimitRow};
pub use meter::Meter;
pub use program::Program;
pub(crate) use stdlib::pattern::PatternPrice;
pub use stdlib::{EXTENSIONS, LANGUAGE, LIBRARIES, STANDARD};
pub use syntax::{
    Binding, Comprehension, ComprehensionKind, Element, Entry, Expr, ExprId, ExprKind, Literal, MACROS,
    Macro, Name, RESERVED, StructField, parse,
};
pub use types::{At, Field, Kind, OpaqueType, RecordType, Storage, Type};
pub use value::{
    Blob, Cidr, Duration, Entries, Folds, GrowingEnd, Growth, Json, JsonError, JsonRef, Key, Keys, List,
    LiveList, LiveRecord, Map, Opaque, Part, Repeated, Shortened, Text, Timestamp, TypeName, Value, View,
};
