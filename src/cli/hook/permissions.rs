//! Rules of permission in the settings of Claude Code: whether a change of them lets a session do more.

use serde_json::{Map, Value};

/// Why `after` is not taken over from `before`; nothing if it lets a session do no more.
pub(super) fn widened(before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let none = Value::Object(Map::new());
    let (Some(before), Some(after)) =
        (before.unwrap_or(&none).as_object(), after.unwrap_or(&none).as_object())
    else {
        return (before != after).then(|| "`permissions` is not an object".to_owned());
    };
    let names = before.keys().chain(after.keys());
    names.map(|name| (name, before.get(name), after.get(name))).find_map(|(name, before, after)| {
        if before == after {
            return None;
        }
        let is_taken = match &**name {
            "allow" => rules(after)
                .is_some_and(|after| rules(before).is_some_and(|before| is_within(&after, &before))),
            "ask" | "deny" => rules(after).is_some_and(|after| {
                rules(before).is_some_and(|before| is_within(&before, &after))
                    && after.iter().all(|rule| is_rule(rule))
            }),
            _ => false,
        };
        (!is_taken).then(|| format!("`permissions.{name}` would let the session do more, or cannot be read"))
    })
}

/// The rules of a list; nothing if it is no list of texts.
fn rules(list: Option<&Value>) -> Option<Vec<&str>> {
    let Some(list) = list else { return Some(Vec::new()) };
    list.as_array()?.iter().map(Value::as_str).collect()
}

fn is_within(rules: &[&str], of: &[&str]) -> bool {
    rules.iter().all(|rule| of.contains(rule))
}

/// Whether Claude Code reads a text as a rule for sure: a tool, and what its calls are about in parentheses.
fn is_rule(rule: &str) -> bool {
    let (tool, about) = rule.split_once('(').unwrap_or((rule, "x)"));
    let is_tool = tool.starts_with(|c: char| c.is_ascii_alphabetic())
        && tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_plain = |c: char| !c.is_control() && !"()\\".contains(c);
    is_tool
        && about
            .strip_suffix(')')
            .is_some_and(|about| !about.trim().is_empty() && about.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::widened;
    use serde_json::json;

    #[test]
    fn rules_may_become_stricter_only() {
        let before =
            json!({"allow": ["Read", "Bash(ls:*)"], "deny": ["Bash(rm:*)"], "defaultMode": "default"});
        let cases = [
            (json!({"allow": ["Read"], "deny": ["Bash(rm:*)"], "defaultMode": "default"}), true),
            (
                json!({"deny": ["Bash(rm:*)", "Read(./.env)", "WebFetch"], "ask": ["Bash(git push:*)"], "defaultMode": "default"}),
                true,
            ),
            (
                json!({"allow": ["Read", "Bash(ls:*)", "Bash(*)"], "deny": ["Bash(rm:*)"], "defaultMode": "default"}),
                false,
            ),
            (json!({"allow": ["Read"], "deny": [], "defaultMode": "default"}), false),
            (json!({"allow": ["Read"], "defaultMode": "default"}), false),
            (json!({"deny": ["Bash(rm:*)"], "defaultMode": "bypassPermissions"}), false),
            (json!({"deny": ["Bash(rm:*)"]}), false),
            (json!({"deny": ["Bash(rm:*)", 5], "defaultMode": "default"}), false),
            (json!({"deny": ["Bash(rm:*)", "Bash("], "defaultMode": "default"}), false),
            (json!({"deny": ["Bash(rm:*)", ""], "defaultMode": "default"}), false),
            (json!({"deny": "Bash(rm:*)", "defaultMode": "default"}), false),
            (
                json!({"deny": ["Bash(rm:*)"], "defaultMode": "default", "additionalDirectories": ["/"]}),
                false,
            ),
            (json!(5), false),
            (json!(null), false),
        ];
        for (after, is_taken) in cases {
            assert_eq!(widened(Some(&before), Some(&after)).is_none(), is_taken, "{after}");
        }
        assert_eq!(widened(None, Some(&json!({"deny": ["Bash"]}))), None);
        assert!(widened(None, Some(&json!({"allow": ["Bash"]}))).is_some());
        assert!(widened(Some(&before), None).is_some());
        assert_eq!(widened(Some(&json!(5)), Some(&json!(5))), None);
    }
}
