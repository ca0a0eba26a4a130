//! Guards that stand between programs which were not written for Celador.
//!
//! In: what two programs say to each other in a protocol of their own, and a way to ask for decisions. Out: the same, less what a
//! policy refuses.
//!
//! | module | what |
//! |---|---|
//! | `delay` | how long a call is held back |
//! | `llm` | between an agent and the API of its model: what users say, calls of tools, their results, answers |
//! | `unjudged` | what was forwarded although no rule saw it |
//! | `mcp` | between an MCP client and its server: lists of tools, calls, resources, prompts, reviews |

mod delay;
pub mod llm;
pub mod mcp;
mod unjudged;
