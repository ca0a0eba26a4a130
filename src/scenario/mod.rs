//! Cases and recorded tasks: what should happen written down, run through the engine, and compared.
//!
//! In: YAML files. A *case* (REQUIREMENTS section 1) brings manifests, a past, one operation and what must come of it; a
//! *script* brings the steps of a whole task. Out: reports for people and for programs. Everything runs through the
//! public operations of [`Engine`](crate::engine::Engine) and [`Task`](crate::task::Task), as a host would call them,
//! with a [`World`] of mocks in place of tools, reviewers and files. Nothing here reads a clock, prints, or opens a file
//! other than through [`manifest::load`](crate::manifest::load).
//!
//! | module | what it holds |
//! |---|---|
//! | `case` | the shape of a case |
//! | `read` | YAML to cases |
//! | `environment` | what a task starts with, shared by cases and scripts |
//! | `world` | the host: mocks, reviews, files |
//! | `run` | a case through the engine |
//! | `expect` | what was expected against what was found |
//! | `report` | the outcome of cases, expected and found side by side |
//! | `script`, `replay` | a recorded task, and its run step by step |
//! | `messages` | what is wrong with a case or a script |

mod case;
mod environment;
mod expect;
mod load;
mod messages;
mod read;
mod replay;
mod report;
mod run;
mod script;
mod table;
mod terminal;
mod values;
mod world;

pub use case::{Aspect, Case};
pub use expect::{Found, Mismatch};
pub use load::{Loaded, load_cases};
pub use read::read;
pub use replay::{Event, Happened, Replay};
pub use report::{Outcome, Report, Summary};
pub use run::Runner;
pub use script::{Script, ScriptAction, ScriptStep};
pub use terminal::{Palette, visible};
