//! The module `celador._celador`: the engine for Python, thin over `celador-embed`.
//!
//! In: Python's objects. Out: frozen values and plain dictionaries. Steps of tasks in memory take microseconds and keep the interpreter; whatever
//! may take longer (manifests, stores, servers, waiting) lets go of it. No panic becomes an exception that programs do not expect, and no
//! denial is an exception at all.
//!
//! | module | what |
//! |---|---|
//! | `taking`, `giving` | Python's values as documents of the engine, and back |
//! | `raising` | errors as exceptions; panics too |
//! | `parts`, `decision`, `review` | what a decision consists of, decisions, reviews |
//! | `host` | functions of the program that policies call |
//! | `wishes` | the arguments of functions: sources, places, people, tools |
//! | `task`, `policies` | the classes `Task`, `Agent`, `Policies` |
//! | `functions` | `load`, `agent_for`, `check`, `test`, `evaluate`, and the command |
//! | `authoring` | `analysis`, `diff`, `prove`, `explain`, `fmt`, `replay` |

mod authoring;
mod decision;
mod functions;
mod giving;
mod host;
mod parts;
mod policies;
mod raising;
mod review;
mod taking;
mod task;
mod wishes;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _celador(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<policies::Policies>()?;
    module.add_class::<policies::Agent>()?;
    module.add_class::<task::Task>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<decision::Turn>()?;
    module.add_class::<decision::Results>()?;
    module.add_class::<review::Review>()?;
    module.add_class::<parts::Origin>()?;
    module.add_class::<parts::Step>()?;
    module.add_class::<parts::ObservedStep>()?;
    module.add_class::<parts::Obligation>()?;
    module.add_class::<parts::Credential>()?;
    module.add_class::<parts::Limit>()?;
    module.add_class::<parts::Finding>()?;
    module.add_class::<parts::Diagnostic>()?;
    module.add_class::<functions::CaseResult>()?;
    module.add_class::<functions::TestReport>()?;
    authoring::add(module)?;
    functions::add(module)
}
