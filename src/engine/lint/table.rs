//! Every warning about manifests, one row each: its code, its class, and what is lost or not.
//!
//! `docs/findings.md` is made of this table, and a test holds the two together. The question that decides a class: could
//! the author believe that a check is in force, while it is not? A part that fails whenever it runs loses no rule, because
//! a guard that fails blocks; but what fails inside `||`, in a condition or under `on_fail: continue` does.

use Class::{Advice, MayLoseARule};

/// The consequence of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A rule may be lost: manifests with such a warning are not used, unless a comment allows it.
    MayLoseARule,
    /// Worth a look; no rule is lost.
    Advice,
}

impl Class {
    /// The word for it: `may_lose_a_rule` or `advice`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            MayLoseARule => "may_lose_a_rule",
            Advice => "advice",
        }
    }
}

/// What finds a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// Reading and compiling.
    ByLoading,
    /// The [analysis](crate::analysis) of what they permit, where they are opened to be used.
    ByAnalysis,
    /// `celador check`, which knows what time it is.
    ByClock,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Warning {
    /// The code of its findings.
    pub code: &'static str,
    /// The consequence of the warning.
    pub class: Class,
    /// What finds it.
    pub found: Found,
    /// One sentence: what was found, and why it has this class.
    pub about: &'static str,
}

const fn row(code: &'static str, class: Class, about: &'static str) -> Warning {
    Warning { code, class, found: Found::ByLoading, about }
}

/// A row of what analysis finds.
const fn decided(code: &'static str, class: Class, about: &'static str) -> Warning {
    Warning { code, class, found: Found::ByAnalysis, about }
}

/// Every warning about manifests, by code.
pub const WARNINGS: &[Warning] = &[
    decided(
        "always_fails",
        MayLoseARule,
        "A part of an expression fails whatever the input is, which `||`, a condition or `on_fail: continue` hides.",
    ),
    row(
        "always_false",
        MayLoseARule,
        "A part of an expression is never true, so what it asks for never holds.",
    ),
    decided(
        "always_given",
        MayLoseARule,
        "`has` is asked of an argument that every call has, so it checks nothing.",
    ),
    row("always_true", MayLoseARule, "A part of an expression is never false, so it checks nothing."),
    row("ambiguous_invoke", MayLoseARule, "A step invokes one of several tools, so it calls none of them."),
    row(
        "bad_pattern",
        MayLoseARule,
        "A regular expression is not of RE2's syntax, or too large, so its call fails.",
    ),
    row(
        "bare_schema",
        MayLoseARule,
        "A parameter stands beside `properties`, so it is not declared and not checked.",
    ),
    row("bare_word", Advice, "A word without quotes is bound as text, which is mostly meant."),
    row(
        "binding_misfit",
        Advice,
        "A binding gives a parameter a value that its schema refuses, so each call fails.",
    ),
    decided(
        "chosen_reviewer",
        Advice,
        "The reviewer is an argument of the call, so the model chooses who approves it.",
    ),
    row("constant", MayLoseARule, "An assert or a condition has the same value whatever the task does."),
    row("constant_key", Advice, "The key of a counter is a constant, so one counter counts for all."),
    decided(
        "contrary_claims",
        MayLoseARule,
        "Two policies say of one claim that it is of different types, so no task begins for a user who has it.",
    ),
    decided(
        "contrary_condition",
        Advice,
        "The assert of a step is false wherever its condition holds, so the step stops every such call.",
    ),
    decided(
        "cut_expression",
        MayLoseARule,
        "An expression ends where YAML sees a comment that goes on with an operator.",
    ),
    row(
        "cut_text",
        Advice,
        "A text for people ends where YAML sees a comment, such as the ` #5` of a number.",
    ),
    decided(
        "dead_step",
        MayLoseARule,
        "Steps ahead of a step stop every call that its condition is about, so it never runs.",
    ),
    decided(
        "default_misfit",
        MayLoseARule,
        "A default is not what its own schema allows, so steps see a value that no call can give.",
    ),
    row(
        "doubtful_case",
        Advice,
        "A document looks like cases or a recorded task, and a key is misspelt or missing, so no command runs it.",
    ),
    decided(
        "doubtful_negation",
        Advice,
        "An assert demands a label, a truth or a text that stands for something bad, so a `!` may be missing before it.",
    ),
    decided(
        "early_review",
        Advice,
        "A person is asked ahead of a question or a step that could decide the call alone, so they are asked for nothing.",
    ),
    decided(
        "eaten_backslash",
        MayLoseARule,
        "A regular expression has lost a backslash to YAML or CEL, so it asks for a control character.",
    ),
    row(
        "empty_file",
        MayLoseARule,
        "A file of a folder holds no document, so the rules that it had are not read.",
    ),
    row(
        "empty_keyword",
        MayLoseARule,
        "A key that may hold a rule, or a word of a schema, has no value that says something, so it checks nothing.",
    ),
    row(
        "empty_policy",
        MayLoseARule,
        "A policy has no steps, limits or settings for reviews, so it checks nothing.",
    ),
    row("empty_policy_key", MayLoseARule, "A key of a policy has no steps, so it checks nothing."),
    row(
        "excluded_match",
        Advice,
        "`match` names an action or event that `include` leaves out, so the step never runs, and nothing needs it.",
    ),
    Warning {
        code: "expired_exception",
        class: Advice,
        found: Found::ByClock,
        about: "The time of an exception is over, so its rule holds again for what it let pass.",
    },
    decided(
        "first_call_only",
        MayLoseARule,
        "An assert in `before_first` reads arguments, counters, the time or calls of its function, and later calls are not held to it.",
    ),
    row(
        "foreign_keyword",
        MayLoseARule,
        "A word of a schema is about values of another type, so it checks nothing.",
    ),
    decided(
        "held_by_parameter",
        Advice,
        "The value of a parameter leaves a part of an expression one answer, so it stops nothing, or everything.",
    ),
    decided(
        "held_by_schema",
        Advice,
        "A part of an expression has one answer for all that the schema of the arguments lets by, so it stops nothing more.",
    ),
    decided("hidden_limit", Advice, "A limit is never reached, as another one is reached first."),
    row("hidden_parameter", Advice, "Nobody can set a required parameter, so each call fails."),
    row("ignored_key", MayLoseARule, "A key is not known here, so what stands under it is not read."),
    decided(
        "impossible_schema",
        Advice,
        "The least value or size that a schema allows is above the greatest, or it allows none of its constants, so no value fits and each call fails.",
    ),
    row("invoke_incomplete", MayLoseARule, "A step lacks a required argument, so its call never happens."),
    row(
        "invoke_misfit",
        MayLoseARule,
        "A step gives an argument a value that its schema refuses, so its call never happens.",
    ),
    row("invoked_agent", MayLoseARule, "A step invokes an agent, so its call never happens."),
    decided(
        "late_assert",
        Advice,
        "An assert in `after` reads nothing of the result, or asks a person about the call, which has run by then.",
    ),
    decided(
        "list_in_text",
        Advice,
        "What lets something by is asked whether it is a part of a text, so single letters and the empty text fit, too.",
    ),
    row(
        "literal_braces",
        MayLoseARule,
        "Braces in a field of a tool name nothing that there is, so they are sent as they are written, without a value.",
    ),
    row(
        "literal_placeholder",
        Advice,
        "Braces in a prompt or in the message of an event name a root that is not known there, have blanks in them or no end, or stand in a text of an expression, so they stay as they are written.",
    ),
    row(
        "literal_secret",
        MayLoseARule,
        "The secret of a webhook is empty, or looks like the name of a setting and is that very text.",
    ),
    decided(
        "looks_like_pattern",
        MayLoseARule,
        "A text that looks like a regular expression is looked for as it is, so it is hardly ever found.",
    ),
    decided(
        "loose_anchors",
        Advice,
        "`^` and `$` hold for one alternative each, so a regular expression finds texts that have more on the other side.",
    ),
    decided(
        "loose_host",
        Advice,
        "What lets something by asks for the name of a host in a way in which names of others fit, too.",
    ),
    decided(
        "loose_pattern",
        Advice,
        "What lets something by is asked for by a regular expression that is open at its start or end, so other texts fit, too.",
    ),
    decided(
        "loose_prefix",
        Advice,
        "What lets something by is asked for by its beginning, with which others begin, too.",
    ),
    row("message_in_inputs", Advice, "Of two messages of a schedule or trigger the first is taken."),
    row(
        "message_is_expression",
        Advice,
        "A message as a whole is an expression that puts texts together, and is shown as it is written.",
    ),
    row(
        "message_transform_misfit",
        MayLoseARule,
        "A transform of a guardrail makes no message, so it rewrites nothing, and the step fails.",
    ),
    row("message_twice", Advice, "A default of the message stands twice, and that of `parameters` is taken."),
    decided(
        "missing_negation",
        MayLoseARule,
        "An assert demands that a detector finds something, as if a `!` were missing, so it allows what it should stop.",
    ),
    decided(
        "mixed_numbers",
        MayLoseARule,
        "An operation fails for some numbers, as a number is an int or a double and it does not mix them.",
    ),
    row(
        "model_transform_misfit",
        MayLoseARule,
        "A transform around calls of the model makes neither a request nor an answer, so it rewrites nothing.",
    ),
    decided(
        "moot_part",
        Advice,
        "A part of an expression decides nothing: the parts beside it answer the same without it.",
    ),
    decided(
        "moot_step",
        Advice,
        "A step stops nothing that the steps ahead of it in its document let by, or nothing for which its condition holds.",
    ),
    row(
        "mount_not_loaded",
        Advice,
        "The agent works with files, and no mount is loaded, so access to them fails.",
    ),
    row(
        "near_field",
        Advice,
        "A field is named that a schema does not list, though it lets others by, and its name is nearly that of a field that the schema lists.",
    ),
    row("needless_condition", Advice, "A condition always holds, so the step runs as it would without."),
    decided(
        "negated_review",
        MayLoseARule,
        "A step fails where a person approves, and passes where they deny.",
    ),
    row(
        "never_equal",
        MayLoseARule,
        "A comparison has the same answer for every value, so it checks nothing.",
    ),
    decided(
        "never_false",
        MayLoseARule,
        "A part of an expression is true for every input, so it checks nothing.",
    ),
    decided(
        "never_member",
        MayLoseARule,
        "A constant of a list is equal to nothing that is looked for in the list.",
    ),
    decided(
        "never_passes",
        MayLoseARule,
        "Two steps of one list let no call by together, so every call is stopped.",
    ),
    decided(
        "never_true",
        MayLoseARule,
        "A part of an expression is true for no input, so what it asks for never holds.",
    ),
    decided(
        "never_true_here",
        MayLoseARule,
        "A part of an expression is true for no input for which the parts around it let it decide.",
    ),
    row(
        "no_agent_in_scope",
        MayLoseARule,
        "A policy is for agents of which no one is loaded, so none of its steps runs.",
    ),
    decided(
        "no_calls",
        Advice,
        "A limit of an agent with capabilities is zero calls, so none of them is ever called.",
    ),
    row(
        "no_matching_overload",
        MayLoseARule,
        "An operation does not take these types, so the expression fails there.",
    ),
    row("no_mount", Advice, "A template of a tool names a mount that the agent lacks, so each call fails."),
    decided("no_reviewer", MayLoseARule, "A review is addressed to nobody, so it fails each time."),
    row("no_tools_listed", Advice, "A document of tools lists none, so no agent gets a tool of it."),
    decided(
        "no_turns",
        Advice,
        "A limit is zero turns or tokens of the model, so no turn is let by, or none after the first.",
    ),
    row("not_a_manifest", Advice, "A file of a folder is of another program; nothing runs from it."),
    row(
        "not_analysed",
        Advice,
        "A build without analysis has loaded the manifests, so whether their rules can decide anything is not known here.",
    ),
    row("not_enforced", MayLoseARule, "A word of a schema looks like a check, and no value is held to it."),
    row(
        "not_iterable",
        MayLoseARule,
        "A macro goes through something that is no list and no map, so it fails.",
    ),
    row(
        "not_selectable",
        MayLoseARule,
        "A field is selected from something that has none, so the expression fails there.",
    ),
    row(
        "nothing_brought",
        Advice,
        "A key of a policy selects nothing that a task brings, as it selects nothing that an agent has.",
    ),
    row(
        "null_include",
        MayLoseARule,
        "An empty `include` grants every action, where its author may have meant none.",
    ),
    decided(
        "one_is_enough",
        Advice,
        "What lets something by asks whether one element of a list, or one of several detectors, fits, so the others can be anything.",
    ),
    decided(
        "opened_by_after",
        Advice,
        "Under `default: deny` a step behind the call alone mentions a function, so its calls are let by unchecked.",
    ),
    decided(
        "other_case_passes",
        Advice,
        "What stops something compares letter by letter, so the same with capitals or small letters is allowed.",
    ),
    decided(
        "parsed_by_hand",
        Advice,
        "An expression takes an address, a path or a command line apart by itself, and other programs take it apart otherwise.",
    ),
    row(
        "question_never_asked",
        Advice,
        "A step has a question for a reviewer, and no part of it asks for a review.",
    ),
    row(
        "read_not_by_all",
        Advice,
        "An assert reads an argument that some of the selected functions lack, so each of their calls fails there.",
    ),
    decided(
        "read_without_has",
        Advice,
        "A step reads an argument, a claim or a part of a result that may be missing and does not ask for it, so it fails where that is missing.",
    ),
    row(
        "refused_constant",
        MayLoseARule,
        "A function refuses a constant that it is given, such as a time zone that there is not, so the call always fails.",
    ),
    row(
        "required_list",
        Advice,
        "A list of required parameters is not read: those without a default are required.",
    ),
    row(
        "respond_misfit",
        MayLoseARule,
        "A step of a policy answers with a value that the result's schema refuses, so the step fails.",
    ),
    row(
        "result_never_there",
        MayLoseARule,
        "A step reads the result of an `invoke` step that never runs for it, so the result is never there.",
    ),
    decided(
        "same_again",
        MayLoseARule,
        "A step puts in the place of a value the same value again, so it changes nothing.",
    ),
    row(
        "schedule_message",
        Advice,
        "The message of a schedule stands where an older version has it, and is taken.",
    ),
    row(
        "set_misfit",
        MayLoseARule,
        "A step of a policy sets an argument to a value that its schema refuses, so the step fails.",
    ),
    row(
        "set_not_by_all",
        Advice,
        "A step of a policy sets an argument that some of the selected functions lack, so their calls fail there.",
    ),
    row(
        "set_undeclared",
        MayLoseARule,
        "A step of a policy sets an argument that no selected function has, so the step fails.",
    ),
    row(
        "shown_secret",
        Advice,
        "A binding or a policy gives a secret to a parameter that is not marked as one, so views and logs show it.",
    ),
    row(
        "skipped_document",
        MayLoseARule,
        "A document of a bundle, or one that looks like a manifest, has an unknown kind, so none of it is read.",
    ),
    row("text_missing", Advice, "A text for people or for the model is missing."),
    decided("text_order", Advice, "Numbers, versions or dates are put in order as texts, sign by sign."),
    row(
        "too_many_findings",
        MayLoseARule,
        "Findings past `max_diagnostics` are not shown, and what may lose a rule is among them.",
    ),
    row(
        "tool_output_misfit",
        Advice,
        "The expression of a tool gives what its `output` does not allow, so each call fails.",
    ),
    row("tool_without_actions", Advice, "A tool has nothing that can be called."),
    row(
        "transform_misfit",
        Advice,
        "A transform makes of a result what the `output` of its action does not allow; the model gets it all the same.",
    ),
    decided(
        "truth_of_unknown",
        Advice,
        "An assert or a condition is a value of no declared type, which is true unless it is false, null, 0 or empty: the text `false` is true.",
    ),
    decided(
        "truth_of_value",
        MayLoseARule,
        "An assert or a condition is a text, a list, a map or a number, which is true unless it is empty or 0.",
    ),
    row("unbound_child_parameter", Advice, "Nothing binds what a sub-agent requires, so each call fails."),
    row(
        "undeclared_input",
        MayLoseARule,
        "An input of a schedule or trigger is not declared by the agent, so it is dropped.",
    ),
    row(
        "undeclared_parameter",
        MayLoseARule,
        "A template of a tool names a parameter that there is not, so each call fails.",
    ),
    row(
        "undeclared_setting",
        MayLoseARule,
        "A template of a tool names a setting that there is not, such as a secret.",
    ),
    decided(
        "undone_label",
        MayLoseARule,
        "A step takes away a label whenever an earlier step of its policy gives it, so rules about the label never hold.",
    ),
    row(
        "unenforced_word",
        Advice,
        "A word, a format or a pattern in the schema of a listed tool is not enforced: its server may do so.",
    ),
    decided(
        "unheeded_assert",
        Advice,
        "An assert under `on_fail: continue` stops nothing, and nothing else follows from it.",
    ),
    decided(
        "unheeded_review",
        MayLoseARule,
        "A person is asked under `on_fail: continue`, so a denial changes nothing.",
    ),
    decided(
        "unheeded_transform",
        Advice,
        "A transform fails without consequence, so the value goes on as it is.",
    ),
    row(
        "unknown_field",
        MayLoseARule,
        "A field is named that no value has: a clause on it never holds, a message is cut, a mask hides nothing.",
    ),
    row(
        "unknown_include",
        MayLoseARule,
        "A name in `include` is no action and no event, so rules meant for it never run.",
    ),
    row(
        "unknown_invoke",
        MayLoseARule,
        "A step invokes an action that the tool lacks, so its call never happens.",
    ),
    decided("unknown_label", Advice, "A label is asked for that no step of a loaded agent gives."),
    row(
        "unknown_match",
        MayLoseARule,
        "`match` names no action and no event that runs its list, so the step never runs.",
    ),
    row(
        "unmatched_agents",
        Advice,
        "A pattern of a policy is like no agent that is loaded; the policy guards the agents that its other patterns are like.",
    ),
    row(
        "unpublished_kind",
        Advice,
        "The kind is spelt as the specification does not print it; it is read all the same.",
    ),
    row(
        "unread_counter",
        MayLoseARule,
        "No step of a policy reads a counter of it, so the counter counts nothing and bounds nothing.",
    ),
    row(
        "unread_parameter",
        Advice,
        "Nothing in a policy reads a parameter of it, so its value changes nothing.",
    ),
    row(
        "unread_variable",
        Advice,
        "Nothing in a policy reads a variable of it, so what it asks is asked nowhere.",
    ),
    row(
        "unresolved_capability",
        MayLoseARule,
        "A capability names nothing that is loaded, so its steps never run.",
    ),
    row(
        "unresolved_invoke",
        MayLoseARule,
        "A step invokes a tool that is not loaded, so its call never happens.",
    ),
    row(
        "unused_library",
        MayLoseARule,
        "A policy with a parameter that has no value is used by no policy, so none of its steps runs.",
    ),
    decided(
        "unused_variable",
        MayLoseARule,
        "A predicate does not mention the element that it is asked of, or nothing mentions a name of `cel.bind`, so the value decides nothing.",
    ),
    decided(
        "wide_range",
        MayLoseARule,
        "A range of a regular expression goes from one alphabet into the other, so it takes signs that are no letters.",
    ),
    row("without_effect", Advice, "A key of an older version is read and has no effect on any rule."),
];

/// The row of a code.
#[must_use]
pub fn warning(code: &str) -> Option<&'static Warning> {
    WARNINGS.iter().find(|warning| warning.code == code)
}

/// The class of a code. A code without a row has the strict class: an unknown warning may lose a rule.
#[must_use]
pub fn class(code: &str) -> Class {
    warning(code).map_or(MayLoseARule, |warning| warning.class)
}
