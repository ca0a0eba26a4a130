//! A plan and an activation to a value: metered, without text, names or types.
//!
//! One evaluator walks the plan; tests that only ask about values where they lie are made ready beforehand (`guard`) and
//! left to it where they are not plain. Nothing it does allocates unless the expression itself builds something; an error is
//! a small copied code until somebody outside asks for its place. `&&`, `||` and the loops absorb errors as CEL has
//! it; a question to the host is absorbed by nothing.

mod activation;
mod ask;
mod block;
mod error;
mod evaluator;
mod guard;
mod loops;
mod matches;
mod operators;
mod place;
mod progress;
mod read;
mod recall;
mod recording;
mod remembered;
mod run;
mod select;
mod tally;
mod watch;
mod windows;

pub use activation::{Activation, HostFunctions, Interruption};
pub use error::{EvalError, Stop};
pub(crate) use guard::Guards;
pub use recording::{CameTo, EvaluatedPart, Recording, SeenClause};
pub use remembered::Remembered;
pub(crate) use run::{fold, guarded, holds, recorded, run};
