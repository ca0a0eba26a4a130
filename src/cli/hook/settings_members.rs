//! Members of the settings of Claude Code 2.1.332 that may change while a session runs.
//!
//! In: the name of a member, and its value. Out: whether it changes nothing but what the user sees and which model answers. Every other member, unknown ones too, stays as it was when the session began: `env`, hooks, programs
//! (`apiKeyHelper`, `statusLine`), plugins, MCP servers, the sandbox.

use serde_json::Value;

/// Values that the schema of Claude Code has for a member.
enum Shape {
    Flag,
    Text,
    OneOf(&'static [&'static str]),
}

/// Members with their values, from the `Settings` of @anthropic-ai/claude-agent-sdk 0.3.332. One that is left out may not change.
const FREE: &[(&str, Shape)] = &[
    ("$schema", Shape::OneOf(&["https://json.schemastore.org/claude-code-settings.json"])),
    ("agentPushNotifEnabled", Shape::Flag),
    ("alwaysThinkingEnabled", Shape::Flag),
    ("autoCompactEnabled", Shape::Flag),
    ("autoScrollEnabled", Shape::Flag),
    ("bashEditDiffEnabled", Shape::Flag),
    ("defaultView", Shape::OneOf(&["chat", "transcript"])),
    ("editorMode", Shape::OneOf(&["normal", "vim"])),
    ("effortLevel", Shape::OneOf(&["high", "low", "medium", "xhigh"])),
    ("emojiCompletionEnabled", Shape::Flag),
    ("fastMode", Shape::Flag),
    ("fileCheckpointingEnabled", Shape::Flag),
    ("includeCoAuthoredBy", Shape::Flag),
    ("includeGitInstructions", Shape::Flag),
    ("inputNeededNotifEnabled", Shape::Flag),
    ("keybindingFlavor", Shape::OneOf(&["classic", "readline"])),
    ("language", Shape::Text),
    ("model", Shape::Text),
    ("outputStyle", Shape::Text),
    ("prefersReducedMotion", Shape::Flag),
    ("promptSuggestionEnabled", Shape::Flag),
    ("respectGitignore", Shape::Flag),
    ("showMessageTimestamps", Shape::Flag),
    ("showThinkingSummaries", Shape::Flag),
    ("showTurnDuration", Shape::Flag),
    ("spinnerTipsEnabled", Shape::Flag),
    ("syntaxHighlightingDisabled", Shape::Flag),
    ("terminalProgressBarEnabled", Shape::Flag),
    ("terminalTitleFromRename", Shape::Flag),
    ("theme", Shape::Text),
    ("todoFeatureEnabled", Shape::Flag),
    ("tui", Shape::OneOf(&["default", "fullscreen"])),
    ("verbose", Shape::Flag),
    ("viewMode", Shape::OneOf(&["default", "focus", "verbose"])),
];

fn shape(name: &str) -> Option<&'static Shape> {
    FREE.iter().find(|(free, _)| *free == name).map(|(_, shape)| shape)
}

/// Whether a member may change.
pub(super) fn is_free(name: &str) -> bool {
    shape(name).is_some()
}

/// Whether it may change to this value: one with another value makes the whole file invalid.
pub(super) fn is_free_as(name: &str, value: &Value) -> bool {
    match shape(name) {
        Some(Shape::Flag) => value.is_boolean(),
        Some(Shape::Text) => value.is_string(),
        Some(Shape::OneOf(words)) => value.as_str().is_some_and(|word| words.contains(&word)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_free, is_free_as};
    use serde_json::json;

    #[test]
    fn what_decides_something_may_not_change() {
        for name in [
            "env",
            "hooks",
            "disableAllHooks",
            "allowManagedHooksOnly",
            "apiKeyHelper",
            "statusLine",
            "permissions",
            "processWrapper",
            "sandbox",
            "enabledPlugins",
            "otelHeadersHelper",
            "fileSuggestion",
            "agent",
            "Env",
            "x",
        ] {
            assert!(!is_free(name), "{name}");
        }
        for (name, value, expected) in [
            ("verbose", json!(true), true),
            ("verbose", json!("true"), false),
            ("model", json!("opus"), true),
            ("model", json!(null), false),
            ("tui", json!("fullscreen"), true),
            ("tui", json!("full"), false),
            ("env", json!({}), false),
        ] {
            assert_eq!(is_free_as(name, &value), expected, "{name} {value}");
        }
    }
}
