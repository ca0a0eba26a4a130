//! Hooks of agents that people run: an event in, operations on the task of its session, the answer that the agent understands out.
//!
//! | file | what |
//! |---|---|
//! | `events` | table of the events: what each is, and how a settings file asks for it |
//! | `event` | an event of Claude Code, as it comes |
//! | `decode` | bytes of an event; events of other agents, and unknown ones |
//! | `answer` | the answer to one, and what an event is told when nothing can be decided |
//! | `query` | how the address of a hook says it |
//! | `session` | the task of a session: it begins with the first event, and takes steps |
//! | `claude_code` | which operation each event is, and what its decision means to Claude Code |
//! | `batch` | the end of a turn: each call of it has a result that was judged |
//! | `subagent` | calls whose subagent works in the background |
//! | `notification` | what a call in the background reports later |
//! | `result_shape` | the shape of a result, without which Claude Code takes no other result over |
//! | `elicitation` | a server of MCP that asks the user: a call of a tool, and what the user has filled in as its result |
//! | `desk` | events that are answered in the process that reads them |

mod answer;
mod batch;
pub(crate) mod claude_code;
mod decode;
mod desk;
mod elicitation;
mod event;
mod events;
mod messages;
mod notification;
mod query;
mod result_shape;
mod session;
mod subagent;

#[cfg(feature = "schema")]
pub(crate) use answer::HookAnswer;
pub use answer::refusal;
pub use decode::{UnknownEvent, stranger};
pub use desk::HookDesk;
#[cfg(feature = "schema")]
pub(crate) use event::Event;
pub use events::{EVENTS, FORMS, HookEvent, HookRegistration};
#[cfg(feature = "schema")]
pub(crate) use query::HookQuery;
