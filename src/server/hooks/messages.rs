//! Every sentence that hooks say by themselves: for a model, or for the person before it.

/// Why nothing could be decided.
pub(super) fn undecided(why: &str) -> String {
    format!("Celador could not decide about this: {why}.")
}

/// A call that waits for others, which no hook has the time for.
pub(super) fn call_again(open: &[String]) -> String {
    match open {
        [] => {
            "This has to wait for a review of another call. Call it again once that is answered.".to_owned()
        }
        open => format!(
            "This depends on calls that are still running ({}). Call it again once they are done.",
            open.join(", ")
        ),
    }
}

/// A message that came while a review is open.
pub(super) fn said_too_early() -> String {
    "A review of this session is open. Say this again once it is answered.".to_owned()
}

/// What a rule wants of the host and a hook cannot do.
pub(super) fn beyond_a_hook() -> String {
    "A rule about this calls a tool or reads a file of its own, which a hook cannot do.".to_owned()
}

/// Several people are asked, for whom the person at the prompt cannot answer.
pub(super) fn asks_several(reviewer: &str) -> String {
    format!("This needs the approval of {reviewer}, which this session cannot give.")
}

/// Nobody has answered in time.
pub(super) fn unanswered(reviewer: &str) -> String {
    format!("{reviewer} has not answered yet. Call this again later.")
}

/// What the person is asked, where the rule says nothing.
pub(super) fn asks(reviewer: &str) -> String {
    format!("A rule wants the approval of {reviewer}.")
}

/// Arguments were changed, and the person is asked.
pub(super) fn changed() -> String {
    "Rules have changed the arguments of this call.".to_owned()
}

/// The question for a call that was put to the prompt already.
pub(super) fn asks_again() -> String {
    "The same call has asked before. May it run?".to_owned()
}

/// The note with which a question is passed on.
pub(super) fn passed_on() -> &'static str {
    "passed on to the prompt of Claude Code: the call is made only if its user agrees"
}

/// A guardrail has changed what was said.
pub(super) fn cannot_rewrite() -> String {
    "A rule takes something out of this message, which cannot be done here. Leave it out yourself.".to_owned()
}

/// A question of a server came while calls or reviews are open that its rules depend on.
pub(super) fn asked_too_early() -> String {
    "This depends on calls or reviews that are still open, so it is declined.".to_owned()
}

/// A rule has changed the question of a server, or has answered it with what is no form.
pub(super) fn cannot_rewrite_question() -> String {
    "A rule changes or answers this question in a way that cannot be done here, so it is declined.".to_owned()
}

/// A call that the task does not know by its tool.
pub(super) fn undeclared(tool: &str) -> String {
    format!(
        "No rule admits the tool `{tool}`. A document of kind `celador/v1/tools` declares it, or admits all others as `any_tool`."
    )
}

/// A member that an event has to have.
pub(super) fn missing(event: &str, member: &str) -> String {
    format!("the member `{member}` of the event `{event}` is missing")
}

/// An event without a row in the table of events.
pub(super) fn unknown_event(event: &str) -> String {
    format!(
        "this version of Celador does not know the event `{event}`; `celador hook install` registers the events that it judges"
    )
}

/// An event for which no hook of this kind can answer.
pub(super) fn unsupported_event(event: &str) -> String {
    format!(
        "a hook for the event `{event}` has to do the work itself, which Celador does not; take it out of the settings"
    )
}

/// An event of another agent that uses the same names.
pub(super) fn foreign_event(agent: &str, mark: &str) -> String {
    format!("this is an event of {agent} ({mark}), and `celador hook claude-code` answers Claude Code only")
}

/// A result that a rule has changed in a way that Claude Code does not take over.
pub(super) fn changed_shape() -> &'static str {
    "A rule has changed the members of this result or their types. Claude Code would show the result as it was, so it is withheld."
}

/// A turn with a call whose result no hook has judged.
pub(super) fn unjudged_result(tool: &str, call: &str) -> String {
    format!(
        "The result of the call {call} of `{tool}` was not judged, as its hook gave no answer. The turn ends before the model reads it."
    )
}

/// What a user has answered to a server, in a word that is none of the protocol's.
pub(super) const UNKNOWN_ACTION: &str = "the member `action` is none of `accept`, `decline` and `cancel`";

/// The report of a call in the background, of which a rule takes something out.
pub(super) fn cannot_rewrite_notification() -> &'static str {
    "A rule takes something out of the result of a call in the background, which cannot be done here. It is withheld."
}

/// The note with which the approval of a call is carried over to what it reports later.
pub(super) fn carried_over() -> &'static str {
    "the call whose later result this is was allowed"
}

/// A command line of a skill that a rule has changed or wants to be reviewed.
pub(super) fn no_review_of_skills(texts: &str) -> String {
    format!("A command line of a skill is refused where a rule asks somebody or changes it. {texts}")
        .trim_end()
        .to_owned()
}

/// A change of settings that reaches a server.
pub(super) const SETTINGS_CHANGED: &str = "A session keeps the settings that it began with: a server cannot compare them. Start a new session to use the change.";
