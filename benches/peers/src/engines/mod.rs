//! The engines, one file each, behind one trait.
//!
//! An engine is made with the state of a task and then asked for cases. It has none for what it cannot express or does
//! not do; its file says which and why. What a case refers to is kept until the process ends.

mod cedar;
mod cel_core;
mod cel_interpreter;
mod cel_resident;
mod cel_variables;
mod celador;
mod decision;
mod native;
mod regorus;

use crate::kind::Kind;
use crate::measure::Case;
use crate::roots::Roots;

/// An engine that holds the state of a task.
pub trait Engine {
    /// This engine at this question, if it can answer it.
    fn case(&self, kind: Kind, expression: &'static str) -> Option<Case>;
}

/// Makes an engine that holds the state of a task with N invocations, which is also given as JSON.
type Make = fn(usize, &'static Roots) -> Box<dyn Engine>;

/// All engines by their names, Celador first and hand-written Rust second.
pub const ENGINES: [(&str, Make); 8] = [
    (celador::NAME, celador::make),
    (native::NAME, native::make),
    (cel_variables::NAME, cel_variables::make),
    (cel_resident::NAME, cel_resident::make),
    (cel_interpreter::NAME, cel_interpreter::make),
    (cel_core::NAME, cel_core::make),
    (regorus::NAME, regorus::make),
    (cedar::NAME, cedar::make),
];

/// Keeps a value until the process ends: cases borrow states, and the process is nothing but cases.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
