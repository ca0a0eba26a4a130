//! For hosts that come from the crate `cel` 0.15, once called `cel-interpreter`: its values, and the variables and functions
//! of its [`Context`](cel::Context), in programs of this crate. Feature `cel-interpreter`.
//!
//! Values go both ways within the bounds of [`EvalLimits`](crate::EvalLimits): [`Value::try_from_cel`](crate::Value::try_from_cel),
//! [`Value::try_to_cel`](crate::Value::try_to_cel) and [`Json::try_from_cel`](crate::Json::try_from_cel). A [`SharedContext`] is
//! filled once and serves the programs of both crates, so that a host moves one expression after the other.
//!
//! ```
//! use celador_cel::cel_interpreter::SharedContext;
//! use celador_cel::{Env, EnvBuilder, Program, STANDARD, Value};
//!
//! // what the host has: variables and a function, registered as that crate wants them
//! let mut shared = SharedContext::new(cel::Context::default());
//! shared.context_mut().add_variable("total", 40_i64)?;
//! shared.add_function("fee", |total: i64| total / 10)?;
//!
//! // an expression that has not been moved
//! let old = cel::Env::stdlib().compile("total + fee(total)")?;
//! assert_eq!(old.execute(shared.context())?, cel::Value::Int(44));
//!
//! // the same, moved: checked before it runs, and run within bounds
//! let libraries = STANDARD.iter().copied().fold(Env::builder(), EnvBuilder::library);
//! let env = shared.scope(libraries).build();
//! let program = Program::compile(&env, "total + fee(total)").unwrap();
//! let activation = shared.activation(&env, program.variables())?;
//! let value = program.run(&activation, Some(&mut shared.functions(&env))).unwrap();
//! assert!(matches!(value, Value::Int(44)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod context;
mod values;

pub use context::{ContextFunctions, SharedContext, SharedContextError};
pub use values::{ConversionError, ConversionProblem, ValueStep};
