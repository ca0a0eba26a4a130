//! The functions, one file a library. Each function is one row: see [`Function`].

mod conversions;
mod operators;
mod strings;
mod times;

use super::fault::Fault;
use super::function::Function;
use super::value::Value;

/// The libraries of standard CEL.
pub const STANDARD: &[&[Function]] =
    &[operators::OPERATORS, conversions::CONVERSIONS, strings::STRINGS, times::TIMES];

/// No overload takes these arguments.
fn no_overload<T>(args: &[Value<'_>]) -> Result<T, Fault> {
    Err(Fault::no_overload(args.iter().map(Value::kind)))
}
