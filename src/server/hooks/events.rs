//! Table of the events of Claude Code 2.1.332: what each one is to the task of its session, and how a settings file asks for it.
//!
//! In: the name of an event. Out: its row. An event without a row is unknown and is refused by name, so that an event of a newer version never passes unjudged.

use crate::traffic::{Form, Treatment};

/// What an event means to the task of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A message reaches the model: an input, or the result of a call that ran in the background.
    Prompt,
    /// A tool is about to be called.
    Before,
    /// A skill or a slash command is about to run a command line of its text.
    SkillCommand,
    /// A call was refused by Claude Code.
    Denied,
    /// A call has a result.
    After,
    /// A call has failed.
    Failed,
    /// All calls of a turn have ended.
    Batch,
    /// The model has answered.
    Stop,
    /// A session begins.
    Start,
    /// A session ends.
    End,
    /// A subagent has answered.
    SubagentStop,
    /// An MCP server asks the user.
    Elicitation,
    /// The user has answered an MCP server.
    ElicitationResult,
    /// Settings have changed, which a server cannot compare.
    Settings,
    /// The event decides nothing; its row says why.
    Passed,
    /// A hook that answers by decision cannot serve the event.
    Unsupported,
    /// The table has no row for the event.
    Unknown,
}

/// An event of Claude Code.
///
/// ```
/// use celador_server::traffic::Treatment;
/// use celador_server::{HOOK_EVENTS, HookEvent, HookRegistration};
///
/// let named = |name: &str| -> Option<&HookEvent> { HOOK_EVENTS.iter().find(|event| event.form.name == name) };
/// let before = named("PreToolUse").ok_or("no row")?;
/// assert_eq!((before.form.treatment, before.registration), (Treatment::Judged, HookRegistration::Tools));
/// assert!(named("PreTulUse").is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HookEvent {
    /// Name, reader and treatment, as the documentation lists them.
    pub form: Form,
    /// Meaning for the task.
    pub(crate) kind: Kind,
    /// How `celador hook install` writes the event.
    pub registration: HookRegistration,
}

/// How a settings file registers a hook for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookRegistration {
    /// A hook with a matcher for all tools.
    Tools,
    /// A hook without a matcher.
    Plain,
    /// No hook: the event decides nothing.
    None,
}

const fn event(
    name: &'static str,
    kind: Kind,
    registration: HookRegistration,
    treatment: Treatment,
    note: &'static str,
) -> HookEvent {
    HookEvent { form: Form { name, from: "Claude Code", treatment, note }, kind, registration }
}

const fn judged(
    name: &'static str,
    kind: Kind,
    registration: HookRegistration,
    note: &'static str,
) -> HookEvent {
    event(name, kind, registration, Treatment::Judged, note)
}

const fn passed(name: &'static str, note: &'static str) -> HookEvent {
    event(name, Kind::Passed, HookRegistration::None, Treatment::Passed, note)
}

/// Every event of Claude Code 2.1.332.
pub const EVENTS: &[HookEvent] = &[
    judged(
        "SessionStart",
        Kind::Start,
        HookRegistration::Plain,
        "begins the task; of a nested session, as a child task",
    ),
    judged(
        "UserPromptSubmit",
        Kind::Prompt,
        HookRegistration::Plain,
        "an input; a notification of a call in the background is the result of that call",
    ),
    judged("UserPromptExpansion", Kind::Prompt, HookRegistration::Plain, "an input"),
    judged("PreToolUse", Kind::Before, HookRegistration::Tools, "`before` of a call"),
    judged("PostToolUse", Kind::After, HookRegistration::Tools, "the result of a call"),
    judged(
        "PostToolUseFailure",
        Kind::Failed,
        HookRegistration::Tools,
        "the error of a call; the model has it already",
    ),
    judged(
        "PostToolBatch",
        Kind::Batch,
        HookRegistration::Plain,
        "the end of a turn; a call whose result no hook has judged stops it",
    ),
    judged(
        "PreSkillShellCommand",
        Kind::SkillCommand,
        HookRegistration::Plain,
        "`before` of a call of the shell tool; the output is part of the skill's text and has no event",
    ),
    judged("PermissionDenied", Kind::Denied, HookRegistration::Tools, "withdraws the call"),
    judged("Stop", Kind::Stop, HookRegistration::Plain, "a response"),
    judged(
        "SubagentStop",
        Kind::SubagentStop,
        HookRegistration::Plain,
        "withdraws the open calls of the subagent",
    ),
    judged("SessionEnd", Kind::End, HookRegistration::Plain, "withdraws the open calls"),
    judged("Elicitation", Kind::Elicitation, HookRegistration::Plain, "`before` of a call of `Elicitation`"),
    judged("ElicitationResult", Kind::ElicitationResult, HookRegistration::Plain, "the result of that call"),
    judged(
        "ConfigChange",
        Kind::Settings,
        HookRegistration::Plain,
        "`celador hook claude-code` compares the settings with those at the start; a server, which has no files to compare, refuses every change of settings",
    ),
    event(
        "PermissionRequest",
        Kind::Passed,
        HookRegistration::Tools,
        Treatment::Passed,
        "`PreToolUse` has judged the call; the user answers",
    ),
    passed("Notification", "shown to the user"),
    passed("MessageDisplay", "changes the screen, not the message"),
    passed("StopFailure", "an API error ended the turn"),
    passed("SubagentStart", "`PreToolUse` of `Agent` has judged the start"),
    passed("PreCompact", "the history is shortened"),
    passed("PostCompact", "the history was shortened"),
    passed("PreModelSwitch", "the user chooses a model"),
    passed("PostModelSwitch", "the user has chosen a model"),
    passed("Setup", "the operator runs `--init` or `--maintenance`"),
    passed("TeammateIdle", "no call"),
    passed("TaskCreated", "`PreToolUse` of the task tools has judged the call"),
    passed("TaskCompleted", "`PreToolUse` of the task tools has judged the call"),
    passed("WorktreeRemove", "cannot be refused"),
    passed("InstructionsLoaded", "names a file and cannot be refused; `Write` and `Edit` are judged"),
    passed("CwdChanged", "cannot be refused"),
    passed("FileChanged", "cannot be refused"),
    passed("DirectoryAdded", "the user adds a directory; cannot be refused"),
    event(
        "WorktreeCreate",
        Kind::Unsupported,
        HookRegistration::None,
        Treatment::Refused,
        "a hook for it has to create the worktree",
    ),
];

/// The table of the documentation.
pub const FORMS: &[Form] = &forms();

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "evaluated by the compiler")]
const fn forms() -> [Form; EVENTS.len()] {
    let mut forms = [EVENTS[0].form; EVENTS.len()];
    let mut at = 0;
    while at < EVENTS.len() {
        forms[at] = EVENTS[at].form;
        at += 1;
    }
    forms
}

/// The row of an event.
pub(crate) fn kind_of(name: &str) -> Kind {
    EVENTS.iter().find(|event| event.form.name == name).map_or(Kind::Unknown, |event| event.kind)
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, FORMS};
    use std::collections::BTreeSet;

    #[test]
    fn each_event_has_one_row() {
        let names: BTreeSet<&str> = FORMS.iter().map(|form| form.name).collect();
        // `HOOK_EVENTS` of @anthropic-ai/claude-agent-sdk 0.3.332
        assert_eq!((names.len(), EVENTS.len()), (34, 34));
    }
}
