//! What bindings of other languages share: an agent's policies in this process, and its tasks in memory, in a store or on a server.
//!
//! In: manifests and policies, and what an agent does. Out: decisions. A program says once where tasks are kept, and nothing else of it
//! changes when it goes from memory to a file, to Postgres or to a server: the operations are the same, and so is the shape of what they come to. In memory
//! the engine decides on the task where it lies; stores and servers are asked by the requests of the HTTP API.
//!
//! ```
//! use celador_embed::{Mode, Place, Policies, Source, TaskWish, system_clock};
//! use celador::{Call, User};
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
//!
//! let policies = Policies::load(&["examples/first-policy".into()], Mode::Enforce, Place::Memory, system_clock())?;
//! let agent = policies.agent(Some("shop/clerk"), Vec::new())?;
//! let user = User { id: "u-7".into(), ..User::default() };
//! let task = agent.task(TaskWish { id: Some("thread-7".into()), user, ..TaskWish::default() })?;
//!
//! let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
//! let decided = task.before(call, None)?;
//! assert!(!decided.is_allowed());
//! assert_eq!(decided.decision.verdict.message(), Some("2000 is outside what a clerk may pay."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | `error`, `flaw` | whose mistake something is; what is wrong with a text, place by place |
//! | `host` | what the program gives to policies: a key, functions |
//! | `sources`, `loaded`, `tools` | manifests and policies as a program has them, what is made of them, an agent of tools alone |
//! | `step`, `decided`, `review` | the operations of a task as data, what they come to, what people are asked |
//! | `expression`, `cases` | expressions that are tried out, cases that are run |
//! | `patience` | how long somebody still waits |
//! | `memory`, `remote`, `wire` | the places: this process; stores and servers (feature `stores`), and what is said to them |
//! | `task`, `policies` | the door: tasks, agents, policies |
//! | `diff`, `prove`, `explain`, `replay` | what authors ask (feature `authoring`): two sets of policies side by side, what is to hold, why a case was decided so, recorded steps judged anew |
//! | `texts` | the same door for texts: requests and answers as JSON |

#![forbid(unsafe_code)]

mod cases;
mod decided;
#[cfg(feature = "authoring")]
mod diff;
mod error;
#[cfg(feature = "authoring")]
mod explain;
mod expression;
mod flaw;
mod host;
mod loaded;
mod memory;
mod patience;
mod policies;
#[cfg(feature = "authoring")]
mod prove;
#[cfg(feature = "stores")]
mod remote;
#[cfg(feature = "authoring")]
mod replay;
mod review;
mod sources;
mod task;
mod texts;
mod to_explain;
mod tools;
#[cfg(feature = "stores")]
mod wire;

pub use cases::{CaseResult, CaseWishes, Tested, run_cases, run_cases_among};
pub use celador::task::{ReviewRecord as Review, ReviewReply};
pub use decided::{Decided, Several, Stepped};
#[cfg(feature = "authoring")]
pub use diff::diff;
pub use error::{Error, ErrorKind};
#[cfg(feature = "authoring")]
pub use explain::{ExplainWishes, explain};
pub use expression::{Tryout, evaluate, evaluate_on_case};
pub use flaw::Flaw;
pub use host::{Host, refuse_within_function};
pub use policies::{Agent, Place, Policies, TaskWish};
#[cfg(feature = "authoring")]
pub use prove::{ProveWishes, prove};
#[cfg(feature = "authoring")]
pub use replay::{Replaying, add_tallies};
pub use review::{Person, ReviewFilter};
#[cfg(feature = "authoring")]
pub use sources::analysis;
pub use sources::{Source, check};
pub use task::Task;
pub use texts::{HostAnswer, Texts};
pub use to_explain::ToExplain;

/// Whether rules stop what they are against, or only say that they would.
pub use celador::manifest::mode::Mode;

use celador::Timestamp;
use std::sync::Arc;

/// A text of manifests, policies, cases or a recorded task in the layout of `celador fmt`. One that cannot be read is what it was.
#[cfg(feature = "authoring")]
#[must_use]
pub fn fmt(text: &str) -> String {
    celador::layout::Layout::default().formatted(text, &celador::EngineLimits::default())
}

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of this machine. Where a machine has none, such as WebAssembly without a host's help, give one of your own.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(|| std::time::SystemTime::now().into())
}
