//! The Common Expression Language, for hosts that hold live state and distrust both sides.
//!
//! One straight line: an [`Env`] says which variables, types and functions a scope has; with it a text becomes a
//! [`Program`] (parsed, checked, planned); a program run on an [`Activation`] gives a [`Value`]. The modules stand in
//! that order, and each names only those before it:
//!
//! | module | from | to |
//! |---|---|---|
//! | `types`, `fault`, `meter`, `value` | | what values are, what can go wrong with them, what they may cost |
//! | `re2` | the text of a pattern | its syntax tree, in RE2's syntax |
//! | `function`, `stdlib` | | what can be called: signature, cost, meaning, examples and code in one row |
//! | `syntax` | text | `Expr`, with the span of every part |
//! | `env`, `check` | `Expr` | types, resolved names, diagnostics, static cost |
//! | `plan` | checked `Expr` | `Plan`: slots for names, constants folded, loops fused |
//! | `eval` | `Plan` and `Activation` | `Value`, metered |
//! | `program`, `cache` | | the door, and the store of compiled expressions |
//! | `cel_interpreter` | values, variables and functions of the crate `cel` | the same for programs of this one; a feature of its own |
//!
//! Nothing here knows of agents, and nothing here does IO or reads a clock.
//!
//! Programs that use the crate `cel` (once `cel-interpreter`) can be moved one expression after the other with the feature
//! `cel-interpreter`; the page `docs/from-cel-interpreter.md` of the repository shows how, and what becomes stricter.
//!
//! ```
//! use celador_cel::{Activation, Env, EnvBuilder, EvalLimits, Json, Program, STANDARD, Type, Value};
//!
//! // a scope: two variables, CEL's own functions, and bounds for all that is compiled and run in it
//! let limits = EvalLimits { max_cost: 10_000, ..EvalLimits::default() };
//! let scope = Env::builder().variable("order", Type::Dyn).variable("most", Type::Int).limits(limits);
//! let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
//!
//! // what is wrong with a text is told when it is compiled, each with its place
//! let issues = Program::compile(&env, "order.total <= moost").unwrap_err();
//! assert_eq!(issues[0].message, "no variable `moost` is declared here");
//!
//! // a program runs any number of times, on values that are only borrowed
//! let program = Program::compile(&env, "order.lines.all(l, l.price > 0) && order.total <= most").unwrap();
//! let order = Json::parse(r#"{"total": 42, "lines": [{"price": 20}, {"price": 22}]}"#, &limits)?;
//! let activation = Activation::new(&env).with(&env, "order", order.value()).with(&env, "most", Value::Int(50));
//! assert!(program.holds(&activation, None).unwrap());
//! # Ok::<(), celador_cel::JsonError>(())
//! ```

#![forbid(unsafe_code)]

mod cache;
#[cfg(feature = "cel-interpreter")]
pub mod cel_interpreter;
mod check;
pub mod diagnostic;
mod domain;
mod env;
mod eval;
mod fault;
mod formats;
mod function;
mod host_function;
mod issue;
mod limits;
mod meter;
mod plan;
mod program;
pub mod re2;
mod shown;
mod signature;
pub mod source;
mod stdlib;
mod syntax;
mod types;
mod value;

pub use cache::{Cache, CacheStats, Compiled};
pub use check::{Assumptions, Checked, CostEstimate, Reference, check};
pub use domain::{Constant, Domain, Numbers};
pub use env::{Env, EnvBuilder, EnvId, Slot, Variable};
pub use eval::{
    Activation, CameTo, EvalError, EvaluatedPart, HostFunctions, Interruption, Recording, Remembered,
    SeenClause, Stop,
};
pub use fault::{ErrorCode, Fault};
pub use formats::{Quantity, Semver, Url};
pub use function::{Code, Declaration, Function, NamesCode, Overload, PureCode, TestCode};
pub use host_function::{HostError, HostFunctionSet, HostRefusal};
pub use issue::Issue;
pub use limits::{EvalLimits, LimitRow};
pub use meter::Meter;
pub use program::Program;
pub use signature::{CallCost, Signature};
pub use stdlib::pattern::PatternPrice;
pub use stdlib::{EXTENSIONS, LANGUAGE, LIBRARIES, STANDARD};
pub use syntax::{
    BlockBinding, Comprehension, ComprehensionKind, Element, Expr, ExprId, ExprKind, Literal, MACROS, Macro,
    MapEntry, Name, NameId, RESERVED, StructField, closing_brace, parse,
};
pub use types::{At, Field, Kind, OpaqueType, RecordType, Storage, Type};
pub use value::{
    Blob, Cidr, Duration, DurationError, Entries, Folds, GrowingEnd, Growth, Json, JsonError, JsonRef, Key,
    Keys, List, LiveList, LiveRecord, Map, Opaque, Part, Repeated, Shortened, Text, TimeOrder, Timestamp,
    TypeName, Value, View,
};
