//! What an author probably meant by a key or a name that is not known where it stands: one table.
//!
//! In: whose key it is, and the key. Out: the help that says where such a thing is written here. The words are those that
//! other systems use for it. A row is only for a word that is not a known key at its place, and that is no misspelling.

/// Words at a place, and what is written here instead.
struct Row {
    /// Whose keys they are, as messages call it.
    owner: &'static str,
    words: &'static [&'static str],
    help: &'static str,
}

const STEPS: &str = "steps about the calls of a tool stand in `capabilities.NAME.before` and `capabilities.NAME.after`, steps about \
     messages in `guardrails.before` and `guardrails.after`";
const LIMITS: &str = "bounds of a task stand in `limits`: `max_turns`, `max_tool_calls`, `max_prompt_tokens`, \
     `max_completion_tokens` and `max_age`";
const REVIEW: &str = "a review is asked for in a step: `assert: review('boss')`";
const ALONE: &str =
    "a manifest stands alone and takes nothing from another file: write out what it is to have";

const ROWS: &[Row] = &[
    Row {
        owner: "an agent",
        words: &[
            "guards",
            "guard",
            "rules",
            "rule",
            "policies",
            "policy",
            "checks",
            "asserts",
            "assert",
            "steps",
            "hooks",
            "before",
            "after",
            "before_first",
            "validators",
            "constraints",
        ],
        help: STEPS,
    },
    Row {
        owner: "an agent",
        words: &["middleware", "middlewares", "interceptors", "filters"],
        help: "steps stand below the capability whose calls they are about: `capabilities.NAME.before_first`, \
               `capabilities.NAME.before` and `capabilities.NAME.after`",
    },
    Row {
        owner: "an agent",
        words: &[
            "budget",
            "budgets",
            "quota",
            "quotas",
            "max_turns",
            "max_tool_calls",
            "max_prompt_tokens",
            "max_completion_tokens",
            "max_tokens",
            "max_age",
            "max_steps",
            "timeout",
            "rate_limit",
            "rate_limits",
        ],
        help: LIMITS,
    },
    Row {
        owner: "an agent",
        words: &["tools", "tool", "actions", "functions", "skills", "allow", "permissions", "allowed_tools"],
        help: "what an agent may call stands in `capabilities`, each with the name of its tool: `capabilities: {NAME: \"*\"}`",
    },
    Row {
        owner: "an agent",
        words: &["deny", "forbid", "forbidden", "blocked", "denied_tools", "disallowed_tools"],
        help: "what is not listed in `capabilities` cannot be called; `capabilities.NAME.include` lists some actions of a tool",
    },
    Row {
        owner: "an agent",
        words: &["review", "reviews", "approval", "approvals", "approve", "reviewers"],
        help: REVIEW,
    },
    Row {
        owner: "an agent",
        words: &["extends", "include", "includes", "import", "imports", "inherits", "base", "$ref"],
        help: ALONE,
    },
    Row {
        owner: "a tool",
        words: &["extends", "import", "imports", "inherits", "base", "$ref"],
        help: ALONE,
    },
    Row {
        owner: "an agent",
        words: &["instructions", "instruction", "system", "system_prompt", "persona"],
        help: "what the model is told stands in `prompt`",
    },
    Row {
        owner: "an agent",
        words: &["schedule", "schedules", "trigger", "triggers", "cron"],
        help: "schedules and triggers are documents of their own, which name the agent",
    },
    Row {
        owner: "a tool",
        words: &[
            "guards",
            "rules",
            "policies",
            "before",
            "after",
            "before_first",
            "guardrails",
            "middleware",
            "limits",
        ],
        help: "rules about the calls of a tool stand with the agent: `capabilities.NAME.before` and `capabilities.NAME.after`",
    },
    Row {
        owner: "a capability",
        words: &[
            "guards",
            "guard",
            "guardrails",
            "rules",
            "rule",
            "policies",
            "checks",
            "assert",
            "asserts",
            "steps",
            "middleware",
            "hooks",
        ],
        help: "the steps of a capability stand in `before_first`, `before` and `after`",
    },
    Row {
        owner: "a capability",
        words: &["limits", "budget", "quota", "max_calls", "max_tool_calls", "rate_limit"],
        help: "bounds of a task stand in `limits` of the agent; a step of `before` can count earlier calls of one capability",
    },
    Row {
        owner: "a capability",
        words: &["actions", "functions", "only", "allow", "tools"],
        help: "`include` lists the actions and events that the agent has of a tool",
    },
    Row {
        owner: "a capability",
        words: &["arguments", "args", "with", "params", "parameters", "defaults"],
        help: "`bindings` give parameters a value that the model cannot set",
    },
    Row {
        owner: "a capability",
        words: &["exclude", "except", "deny", "blocked"],
        help: "`include` lists the actions and events that the agent has; what it does not list cannot be called",
    },
    Row { owner: "a capability", words: &["review", "approval", "approve"], help: REVIEW },
    Row {
        owner: "`guardrails`",
        words: &["input", "inputs", "pre", "request", "prompt"],
        help: "steps about messages to the model stand in `before`",
    },
    Row {
        owner: "`guardrails`",
        words: &["output", "outputs", "post", "response"],
        help: "steps about messages of the model stand in `after`",
    },
    Row {
        owner: "a step",
        words: &["if", "when", "unless", "where"],
        help: "`condition` says when a step runs",
    },
    Row {
        owner: "a step",
        words: &["message", "error", "reason"],
        help: "`error_message` is what is said when the assert does not hold",
    },
    Row {
        owner: "a step",
        words: &["check", "guard", "expression", "expr", "cel", "require", "allow", "rule"],
        help: "`assert` holds what has to be true",
    },
    Row {
        owner: "a step",
        words: &["deny", "forbid", "block"],
        help: "`assert` holds what has to be true: write what is denied with `!( … )`",
    },
    Row {
        owner: "a step",
        words: &["action", "function", "tool", "only"],
        help: "`match` names the one action of the tool that a step is about",
    },
    Row {
        owner: "a step",
        words: &["else", "otherwise", "on_error", "on_failure", "effect"],
        help: "`on_fail` says what follows when the step fails",
    },
    Row { owner: "a step", words: &["review", "approval", "approve"], help: REVIEW },
    Row {
        owner: "a step",
        words: &["call", "run"],
        help: "`invoke` calls a tool, with its arguments in `bindings`",
    },
    Row {
        owner: "`limits`",
        words: &["max_tokens", "tokens"],
        help: "tokens are counted apart: `max_prompt_tokens` and `max_completion_tokens`",
    },
    Row {
        owner: "`limits`",
        words: &["max_calls", "tool_calls", "calls"],
        help: "the field is `max_tool_calls`",
    },
    Row {
        owner: "`limits`",
        words: &["max_steps", "max_iterations", "turns", "steps"],
        help: "the field is `max_turns`",
    },
    Row {
        owner: "`limits`",
        words: &["max_turns_per_message", "max_tool_calls_per_message", "max_tool_calls_per_turn"],
        help: "bounds of one message or turn are for policies: they stand in `limits` of a policy document",
    },
    Row {
        owner: "`limits`",
        words: &["max_spend", "max_spend_per_message", "max_cost", "cost", "spend", "budget", "max_budget"],
        help: "`max_spend` and `max_spend_per_message` bound what turns cost: they stand in `limits` of a policy document",
    },
    Row {
        owner: "`limits`",
        words: &["timeout", "max_time", "max_duration", "deadline"],
        help: "the field is `max_age`, such as `1h30m`",
    },
    Row {
        owner: "`webhook`",
        words: &[
            "signing_secret",
            "signing_key",
            "signature",
            "token",
            "password",
            "hmac",
            "key",
            "hmac_secret",
            "webhook_secret",
        ],
        help: "what signs the deliveries stands in `secret`: `secret: \"{settings.hook_secret}\"`",
    },
    Row {
        owner: "a schema",
        words: &[
            "sensitive",
            "confidential",
            "private",
            "hidden",
            "masked",
            "mask",
            "redact",
            "redacted",
            "password",
            "is_secret",
            "x_secret",
        ],
        help: "`secret: true` keeps a value out of views and logs",
    },
];

/// What is written here instead of a key, if that is known.
pub(super) fn meant_by_key(owner: &str, key: &str) -> Option<&'static str> {
    let is_it =
        |row: &&Row| row.owner == owner && row.words.iter().any(|word| word.eq_ignore_ascii_case(key));
    ROWS.iter().find(is_it).map(|row| row.help)
}

/// What is written here instead of the name of a tool or an agent that holds a star.
pub(super) fn meant_by_capability(name: &str) -> Option<&'static str> {
    name.contains('*').then_some(
        "a capability is one tool or agent, and no pattern: write the steps below each, or about all messages in `guardrails`",
    )
}

/// What is written here instead of a `match` that holds a star.
pub(super) fn meant_by_match(name: &str) -> Option<&'static str> {
    let help = match name {
        "*" => "a step without `match` runs for every action: leave `match` out",
        name if name.contains('*') => {
            "`match` is the name of one action, and no pattern: write a step for each, or leave `match` out"
        }
        _ => return None,
    };
    Some(help)
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_has_one_meaning_at_a_place() {
        let mut seen = BTreeSet::new();
        for row in ROWS {
            for word in row.words {
                assert!(seen.insert((row.owner, *word)), "`{word}` of {} stands twice", row.owner);
                assert_eq!(*word, word.to_lowercase());
            }
        }
    }
}
