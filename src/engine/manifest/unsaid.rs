//! Keys that are written and given no value: what their author wanted to say is not in force.
//!
//! In: whose key it is, the key and its value. Out: what follows if the key may hold a rule and says nothing. Null is the
//! same as absent, and who writes `null` says so; who writes nothing behind the colon has most likely not finished, or has
//! turned the lines below into comments. An empty list says that there are no steps. An empty `limits` or `guardrails`
//! says nothing.

use super::node::{Entry, Node};

/// What follows from this entry of `owner` if it says nothing where it may hold a rule.
pub(super) fn follows(owner: &str, entry: &Entry) -> Option<&'static str> {
    let key = &*entry.key.text;
    let is_block = owner == "an agent" && matches!(key, "limits" | "guardrails");
    let is_empty = is_block && entry.value.as_mapping().is_some_and(<[_]>::is_empty);
    (is_left_out(&entry.value) || is_empty).then(|| consequence(owner, key)).flatten()
}

/// Whether nothing is written where the value should stand.
pub(super) fn is_left_out(value: &Node) -> bool {
    value.is_null() && value.place.span.start == value.place.span.end
}

/// What follows where a key has no value. Keys that hold no rule stand in no row.
fn consequence(owner: &str, key: &str) -> Option<&'static str> {
    Some(match (owner, key) {
        ("an agent", "limits") => "no task is bounded",
        ("an agent" | "a tool" | "an action" | "an event", "parameters") => "no parameter is declared",
        ("an agent", "guardrails") | ("`guardrails`", _) => "no message is checked",
        ("a policy", "model") | ("`model`", _) => "no call of the model is checked",
        ("a policy", "default") => "calls of functions that no rule mentions are allowed",
        ("`limits`", _) => "it bounds nothing",
        ("an action", "output") => "no result is held to it",
        ("an event" | "`source`", "payload") => "no event is held to it",
        ("an event", "timeout" | "max_timeout") | ("a capability", "event_timeout") => {
            "no subscription ends by it"
        }
        ("a capability", "bindings") => "the policy supplies no parameter",
        ("a capability", "before_first" | "before" | "after") | ("`source`", "before") => "no step runs",
        ("a step", "condition") => "the step always runs",
        ("a step", "match") => "the step runs for every action",
        ("a step", "on_fail") => "a failure has the usual effect",
        ("a step", "assert") => "the step checks nothing",
        ("a step", "transform") => "the step rewrites nothing",
        ("a step", "invoke") => "the step calls nothing",
        ("a step", "bindings") => "the call has no arguments",
        ("`webhook`" | "`subscription`" | "`poll`", "filter") => "every event counts",
        ("`webhook`", "secret") => "no signature is checked",
        _ => return None,
    })
}
