//! How long a subscription to an event lives without activity (SUB-01 to SUB-05).

use super::agent::Capability;
use super::event::EventDecl;

/// The effective timeout in nanoseconds: what the agent asks for, else what the tool says, and never more than the tool
/// allows. Without any of them the subscription never times out.
#[must_use]
pub fn effective_timeout(capability: Option<&Capability>, event: &EventDecl) -> Option<i64> {
    let wished = capability.and_then(|capability| capability.event_timeout).or(event.timeout);
    match (wished, event.max_timeout) {
        (Some(wished), Some(most)) => Some(wished.min(most)),
        (wished, most) => wished.or(most),
    }
}
