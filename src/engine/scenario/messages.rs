//! Every message about a case or a script, one function each.
//!
//! In: places and the words of the author. Out: a [`Diagnostic`]. The wording follows `diagnostic`'s rules; the data of
//! a case is its author's own, but no value of it is repeated here: reports show values, messages do not.

use crate::amount::AmountError;
use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::load::LoadError;
use crate::manifest::node::Node;
use crate::source::{Embedded, Place};
use crate::task::{Task, TaskError, VerdictKind};
use std::sync::Arc;

// Reading.

pub(super) fn no_address(place: &Place) -> Diagnostic {
    Diagnostic::error("no_address", "an address is one of IPv4 or IPv6, such as `10.0.0.7`", place.clone())
}

pub(super) fn no_tool(place: &Place) -> Diagnostic {
    Diagnostic::error(
        "no_tool",
        "a tool that a task brings has `name` and `inputSchema`, as MCP has them",
        place.clone(),
    )
}

pub(super) fn not_a_time(found: &Embedded) -> Diagnostic {
    let message = format!("`{}` is no point in time", found.text);
    Diagnostic::error("not_a_time", message, found.place.clone())
        .help("write it as RFC 3339 has it, such as `2026-06-01T12:00:00Z`")
}

pub(super) fn not_a_count(node: &Node) -> Diagnostic {
    let message = format!("expected a whole number that is not negative, found {}", node.kind_name());
    Diagnostic::error("not_a_count", message, node.place.clone())
}

pub(super) fn bad_label(found: &Embedded, most: usize) -> Diagnostic {
    let message = format!("a label is a text of 1 to {most} bytes");
    Diagnostic::error("bad_label", message, found.place.clone())
}

pub(super) fn nothing_to_label(node: &Node) -> Diagnostic {
    let message = "`labels` stands beside `input`, `call` or `invoke`: nothing else has labels";
    Diagnostic::error("nothing_to_label", message, node.place.clone())
}

pub(super) fn unknown_word(found: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("expected {}, found `{}`", alternatives(known), found.text);
    let finding = Diagnostic::error("unknown_word", message, found.place.clone());
    match nearest(&found.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn one_key_of(place: &Place, what: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{what} has exactly one of {}", alternatives(known));
    Diagnostic::error("one_key", message, place.clone())
}

pub(super) fn unknown_key(found: &Embedded, what: &str, known: &[&str]) -> Diagnostic {
    let message = format!("{what} has no key `{}`", found.text);
    let finding = Diagnostic::error("unknown_key", message, found.place.clone());
    match nearest(&found.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help(format!("there are {}", alternatives(known))),
    }
}

pub(super) fn documents(place: Place, found: usize) -> Diagnostic {
    let message = format!("expected one document in the file, found {found}");
    Diagnostic::error("documents", message, place)
        .help("several cases stand in one document, by their names under `cases`")
}

pub(super) fn something_else(place: &Place, what: &str, marks: &[&str]) -> Diagnostic {
    let message =
        format!("expected {what}, found neither {}", alternatives(marks).replace("` or `", "` nor `"));
    Diagnostic::error("something_else", message, place.clone())
}

pub(super) fn other_name(name: &Embedded, file: &str) -> Diagnostic {
    let message = format!("the case is called `{}` and its file `{file}`", name.text);
    Diagnostic::error("other_name", message, name.place.clone()).help("a case has the name of its file")
}

pub(super) fn no_manifest(place: &Place, operation: &str) -> Diagnostic {
    Diagnostic::error("no_manifest", format!("`{operation}` needs a `manifest`"), place.clone())
}

pub(super) fn one_verdict(place: &Place) -> Diagnostic {
    let message = "expected one reviewer and the verdict";
    Diagnostic::error("one_verdict", message, place.clone())
        .help("write it as `- someone@example.com: approved`")
}

pub(super) fn nothing_expected(place: &Place) -> Diagnostic {
    Diagnostic::error("nothing_expected", "`expect` has no keys: the case would always pass", place.clone())
}

pub(super) fn only_true(node: &Node) -> Diagnostic {
    let message = format!("expected `true`, found {}", node.kind_name());
    Diagnostic::error("only_true", message, node.place.clone()).help("leave the key out to allow warnings")
}

pub(super) fn not_a_step(place: &Place) -> Diagnostic {
    let message = "expected a step and its outcome";
    Diagnostic::error("not_a_step", message, place.clone()).help(r#"write it as `- ["before[0]", pass]`"#)
}

pub(super) fn not_whether_it_ran(node: &Node) -> Diagnostic {
    let message = format!("expected `false` or `unknown`, found {}", node.kind_name());
    Diagnostic::error("not_whether_it_ran", message, node.place.clone())
        .help("`false` says that the call has not run, `unknown` that nobody knows")
}

pub(super) fn whose_review(place: &Place) -> Diagnostic {
    let message = "a review is named by its `call`, its `reviewer`, or both";
    Diagnostic::error("whose_review", message, place.clone())
}

pub(super) fn other_verdict(place: &Place) -> Diagnostic {
    let message = "`args` goes with `edited`, `output` with `responded`, and neither with another verdict";
    Diagnostic::error("other_verdict", message, place.clone())
}

pub(super) fn resume_of_steps(place: &Place) -> Diagnostic {
    let message = "`resume` goes with `call`; among `steps` a step `review` answers";
    Diagnostic::error("resume_of_steps", message, place.clone())
}

pub(super) fn no_steps(key: &Embedded) -> Diagnostic {
    Diagnostic::error("no_steps", format!("`{}` has no step", key.text), key.place.clone())
}

pub(super) fn no_expect(case: &Place) -> Diagnostic {
    Diagnostic::error("missing_key", "`expect` is missing", case.clone())
}

pub(super) fn state_of_story(state: &Place) -> Diagnostic {
    Diagnostic::error("state_of_story", "a `story` has no `state`", state.clone()).help(
        "what happened before is told by the first steps of the story; `state` goes with `call` and `steps`",
    )
}

// Several cases in a file.

pub(super) fn folder_without_cases(place: Place) -> Diagnostic {
    Diagnostic::error("folder_without_cases", "the folder has no case", place)
        .help("a case has `name`, `manifest`, `call` and `expect`; a file of several has `cases`")
}

pub(super) fn no_cases(place: &Place) -> Diagnostic {
    Diagnostic::error("no_cases", "`cases` has no case", place.clone())
}

pub(super) fn no_rows(place: &Place) -> Diagnostic {
    Diagnostic::error("no_rows", "`each` has no row", place.clone())
}

pub(super) fn no_column(name: &Embedded) -> Diagnostic {
    let message = format!("`{}` cannot be the name of a value of a row", name.text);
    Diagnostic::error("no_column", message, name.place.clone())
        .help("a name begins with a letter or `_`, and has letters, digits and `_`")
}

pub(super) fn unused_column(name: &Embedded) -> Diagnostic {
    let message = format!("nothing in the case uses `${}`", name.text);
    Diagnostic::error("unused_column", message, name.place.clone())
}

pub(super) fn unknown_column(text: &Embedded, name: &str, known: &[&str]) -> Diagnostic {
    let message = format!("the row has no value `{name}`");
    let finding = Diagnostic::error("unknown_column", message, text.place.clone());
    match nearest(name, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `${near}`?")),
        None => finding.help("`$$` is a dollar sign"),
    }
}

pub(super) fn no_text(text: &Embedded, name: &str) -> Diagnostic {
    let message = format!("the value `{name}` is no text, so it cannot stand within one");
    Diagnostic::error("no_text", message, text.place.clone())
        .help(format!("a text that is `${name}` alone becomes the value, whatever it is"))
}

pub(super) fn same_key(key: &Embedded) -> Diagnostic {
    let message = "with this row two keys of the mapping are the same";
    Diagnostic::error("same_key", message, key.place.clone())
}

pub(super) fn too_many_nodes(place: &Place, bound: usize) -> Diagnostic {
    let message = format!("the cases of the file have more than {bound} nodes (`max_yaml_nodes`)");
    Diagnostic::error("too_many_nodes", message, place.clone())
        .help("what cases share, and a case that has a table, count for each case anew; divide the file")
}

pub(super) fn payload(place: &Place) -> Diagnostic {
    let message = "an event has exactly one of `payload` and `raw_body`";
    Diagnostic::error("payload", message, place.clone())
}

// Running.

pub(super) fn unreadable_manifests(place: &Place, error: &LoadError) -> Diagnostic {
    Diagnostic::error("unreadable_manifests", error.to_string(), place.clone())
}

pub(super) fn not_an_agent(kind: &Place, found: &str) -> Diagnostic {
    let message = format!("expected an agent here, found `{found}`");
    Diagnostic::error("not_an_agent", message, kind.clone())
        .path("kind")
        .help("tools stand in the list `tools`, further agents in `agents`")
}

pub(super) fn no_agent(place: &Place) -> Diagnostic {
    let message = "none of the manifests is the agent under test";
    Diagnostic::error("no_agent", message, place.clone())
}

/// The agent has no trigger, or none of the name that the case gives.
pub(super) fn no_trigger(place: &Place, known: &[&str]) -> Diagnostic {
    if known.is_empty() {
        let message = "none of the manifests is a trigger of the agent under test";
        return Diagnostic::error("no_trigger", message, place.clone());
    }
    Diagnostic::error("no_trigger", "the agent under test has no trigger of this name", place.clone())
        .help(format!("its triggers are {}", listed(known)))
}

pub(super) fn no_event(event: &Embedded, capability: &Embedded) -> Diagnostic {
    let message = format!("the agent has no event `{}` of `{}`", event.text, capability.text);
    Diagnostic::error("no_event", message, event.place.clone())
}

pub(super) fn no_capability(capability: &Embedded) -> Diagnostic {
    let message = format!("the agent has no capability `{}`", capability.text);
    Diagnostic::error("no_capability", message, capability.place.clone())
}

pub(super) fn cannot_start(place: &Place, error: &TaskError) -> Diagnostic {
    Diagnostic::error("cannot_start", error.to_string(), place.clone())
}

pub(super) fn impossible_past(place: &Place, error: &TaskError) -> Diagnostic {
    past_misfit(place, &error.to_string())
}

pub(super) fn past_misfit(place: &Place, why: &str) -> Diagnostic {
    let message = format!("this cannot have happened: {why}");
    Diagnostic::error("impossible_past", message, place.clone())
}

/// A label of the past that no step gives there.
pub(super) fn unreachable_label(place: &Place, label: &str, of: &str, known: &[&str]) -> Diagnostic {
    let finding = past_misfit(place, &format!("no step gives the label `{label}` to {of}"));
    match nearest(label, known.iter().copied()) {
        _ if known.is_empty() => finding.help("a step of a policy gives it: `after: [{label: [...]}]`"),
        Some(near) => finding.help(format!("did you mean `{near}`? steps give {}", listed(known))),
        None => finding.help(format!("steps give {}", listed(known))),
    }
}

pub(super) fn never_invoked(function: &str) -> String {
    format!("no step invokes `{function}`")
}

pub(super) fn never_locked() -> String {
    "no step has `on_fail: lock_task`".to_owned()
}

pub(super) fn unknown_mock(case: &Place, function: &str) -> Diagnostic {
    let message = format!("`mocks` has results for `{function}`, and the agent has no such function");
    Diagnostic::error("unknown_mock", message, case.clone())
}

pub(super) fn impossible_call(place: &Place, error: &TaskError) -> Diagnostic {
    let message = format!("the operation is not possible: {error}");
    Diagnostic::error("impossible_call", message, place.clone())
}

pub(super) fn no_schema(place: &Place, error: &TaskError) -> Diagnostic {
    Diagnostic::error("no_schema", error.to_string(), place.clone())
}

/// Adds which functions the agent has, where it does not have the one that was named.
pub(super) fn beside_functions(finding: Diagnostic, error: &TaskError, task: &Task) -> Diagnostic {
    let TaskError::UnknownFunction(name) = error else { return finding };
    let known: Vec<&str> = task.policy().functions().iter().map(|function| &*function.key).collect();
    let there = format!("the agent has {}", listed(&known));
    match nearest(name, known.iter().copied()) {
        _ if known.is_empty() => finding,
        Some(near) => finding.help(format!("did you mean `{near}`? {there}")),
        None => finding.help(there),
    }
}

pub(super) fn other_reviewer(reviewer: &Embedded, asked: &str) -> Diagnostic {
    let message = format!("`{}` decides, but `{asked}` is asked", reviewer.text);
    Diagnostic::error("other_reviewer", message, reviewer.place.clone())
}

// Playing.

pub(super) fn unknown_agent(agent: &Embedded) -> Diagnostic {
    let message = format!("no agent `{}` is loaded", agent.text);
    Diagnostic::error("unknown_agent", message, agent.place.clone())
}

pub(super) fn ambiguous_agent(agent: &Embedded, names: &[String]) -> Diagnostic {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("`{}` may be {}", agent.text, alternatives(&names));
    Diagnostic::error("ambiguous_agent", message, agent.place.clone()).help("write the namespace as well")
}

pub(super) fn back_in_time(place: &Place) -> Diagnostic {
    let message = "this step happens before the one ahead of it";
    Diagnostic::error("back_in_time", message, place.clone())
}

pub(super) fn call_twice(id: &Embedded) -> Diagnostic {
    let message = format!("a call `{}` was made already", id.text);
    Diagnostic::error("call_twice", message, id.place.clone())
}

pub(super) fn unknown_call(id: &Embedded) -> Diagnostic {
    let message = format!("no call `{}` was made, so it has no result", id.text);
    Diagnostic::error("unknown_call", message, id.place.clone())
}

pub(super) fn result_of_refused(place: &Place, id: &str, verdict: VerdictKind) -> Diagnostic {
    let message = format!("the call `{id}` ended in `{verdict}`, so it has no result");
    Diagnostic::error("result_of_refused", message, place.clone())
}

pub(super) fn result_while_waiting(place: &Place, id: &str) -> Diagnostic {
    let message = format!("the call `{id}` waits for a review or for other calls, so it has no result yet");
    Diagnostic::error("result_while_waiting", message, place.clone())
        .help("write the review, or the results of the other calls, as steps, and this result behind them")
}

pub(super) fn result_twice(place: &Place, id: &str) -> Diagnostic {
    Diagnostic::error("result_twice", format!("the call `{id}` has its result already"), place.clone())
}

pub(super) fn result_of_evaluated(place: &Place, id: &str) -> Diagnostic {
    let message = format!("the call `{id}` is evaluated by its tool's expression, so it has no other result");
    Diagnostic::error("result_of_evaluated", message, place.clone())
}

pub(super) fn no_review(reviewer: &Embedded) -> Diagnostic {
    let message = format!("`{}` decides, but nobody is asked", reviewer.text);
    Diagnostic::error("no_review", message, reviewer.place.clone())
}

/// The code of an answer to a review by a person whom the review is not addressed to.
pub(super) const NOT_ADDRESSED: &str = "not_addressed";

pub(super) fn not_addressed(place: &Place, names: &[String]) -> Diagnostic {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("the answer is rejected: the review is addressed to {}", alternatives(&names));
    Diagnostic::error(NOT_ADDRESSED, message, place.clone())
        .help("a case expects this with `expect: {decision: rejected}` at the step")
}

pub(super) fn no_review_of(call: &Embedded) -> Diagnostic {
    let message = format!("no review of the call `{}` is open", call.text);
    Diagnostic::error("no_review", message, call.place.clone())
}

/// The code of a review that a recording does not answer.
pub const NO_ANSWER: &str = "no_answer";

pub(super) fn no_answer(step: &Place, reviewer: &str, call: Option<&str>) -> Diagnostic {
    let whose = call.map(|call| format!(" of the call `{call}`")).unwrap_or_default();
    let message = format!("no step answers the review{whose} that `{reviewer}` is asked for here");
    Diagnostic::error(NO_ANSWER, message, step.clone())
        .help("write the answer as a step behind this one: `review: {reviewer: …, verdict: approved}`")
}

/// A counter that begins below zero and cannot be there.
pub(super) fn counter_below_zero(name: &Embedded) -> Diagnostic {
    let message = format!("the counter `{}` cannot hold less than nothing", name.text);
    Diagnostic::error("counter_below_zero", message, name.place.clone())
        .help("a counter that calls lower below zero has `decrease: below_zero`")
}

/// A counter that the agent does not have, or one of several of its name; `known` has those of the agent, with their policies.
pub(super) fn no_counter(name: &Embedded, known: &[String]) -> Diagnostic {
    let own =
        |known: &'_ String| known.rsplit_once('#').map_or_else(|| known.clone(), |(_, name)| name.to_owned());
    let several: Vec<&str> =
        known.iter().filter(|known| own(known) == *name.text).map(String::as_str).collect();
    if !several.is_empty() {
        let message = format!("the agent has several counters `{}`", name.text);
        return Diagnostic::error("no_counter", message, name.place.clone())
            .help(format!("name the policy, too: {}", alternatives(&several)));
    }
    let message = format!("no step of the agent's policies reads or adds to a counter `{}`", name.text);
    let finding = Diagnostic::error("no_counter", message, name.place.clone());
    let short: Vec<String> = known.iter().map(own).collect();
    let candidates = short.iter().chain(known).map(String::as_str);
    let all: Vec<&str> = known.iter().map(String::as_str).collect();
    match nearest(&name.text, candidates) {
        _ if known.is_empty() => finding.help("the agent has no counters"),
        Some(near) => finding.help(format!("did you mean `{near}`? there are {}", listed(&all))),
        None => finding.help(format!("there are {}", listed(&all))),
    }
}

pub(super) fn no_cost(place: &Place, why: AmountError) -> Diagnostic {
    Diagnostic::error("no_cost", why.to_string(), place.clone())
        .help("what a turn cost is a number such as `0.0023`, or the same as text")
}

pub(super) fn no_amount(place: &Place, why: AmountError) -> Diagnostic {
    Diagnostic::error("no_amount", why.to_string(), place.clone())
        .help("a counter holds a number of at most 10^18")
}

/// Words in backticks, divided by commas, as many as a person reads.
fn listed(words: &[&str]) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> = words.iter().take(MOST).map(|word| format!("`{word}`")).collect();
    let more = words.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Words in backticks, divided by commas and a last `or`.
pub(super) fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

pub(super) fn no_such_step(operation: &Place, number: usize) -> Diagnostic {
    Diagnostic::error("no_such_step", format!("the case has no step {number}"), operation.clone())
}

/// A function under `functions` that no policy of the agent declares.
pub(super) fn undeclared_function(place: &Place, name: &str, known: &[Arc<str>]) -> Diagnostic {
    let message = format!("`functions` has answers of `{name}`, and no policy of the agent declares it");
    let finding = Diagnostic::error("unknown_host_function", message, place.clone());
    match nearest(name, known.iter().map(|known| &**known)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("a policy declares functions of the host under `functions`"),
    }
}

/// A call of a function of the host that the case does not answer.
pub(super) fn unanswered_function(place: &Place, name: &str, arguments: &str) -> Diagnostic {
    let message = format!("the case has no answer of `{name}` for the arguments `{arguments}`");
    Diagnostic::error("unanswered_function", message, place.clone())
        .help(format!("write it under `functions`: `{name}: [{{args: {arguments}, result: …}}]`"))
}
