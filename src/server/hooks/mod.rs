//! Hooks of agents that people run: an event in, operations on the task of its session, the answer that the agent understands out.
//!
//! | file | what |
//! |---|---|
//! | `event` | an event of Claude Code, as it comes |
//! | `answer` | the answer to one, and what an event is told when nothing can be decided |
//! | `query` | how the address of a hook says it |
//! | `session` | the task of a session: it begins with the first event, and takes steps |
//! | `claude_code` | which operation each event is, and what its decision means to Claude Code |
//! | `elicitation` | a server of MCP that asks the user: a call of a tool, and what the user has filled in as its result |
//! | `desk` | events that are answered in the process that reads them |

mod answer;
pub(crate) mod claude_code;
mod desk;
mod elicitation;
mod event;
mod messages;
mod query;
mod session;

#[cfg(feature = "schema")]
pub(crate) use answer::HookAnswer;
pub use answer::refusal;
pub use desk::HookDesk;
#[cfg(feature = "schema")]
pub(crate) use event::Event;
#[cfg(feature = "schema")]
pub(crate) use query::HookQuery;
