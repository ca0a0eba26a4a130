//! Shape of a tool's result: Claude Code takes another result over only where it fits the tool's output schema, and shows the first one otherwise.
//!
//! In: the result of a tool. Out: the same without its texts, or whether another value has its shape.

use serde_json::Value;

/// Values by which the output schemas of Claude Code 2.1.332 tell kinds of results apart. They stay in a result that is withheld; a result with another one is refused by the schema.
const KINDS: &[&str] = &[
    "added",
    "amended",
    "async_launched",
    "cherry-picked",
    "code",
    "committed",
    "completed",
    "connected",
    "content",
    "count",
    "create",
    "error",
    "failed",
    "files_with_matches",
    "image",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "in_progress",
    "keep",
    "local_workflow",
    "markdown",
    "merged",
    "modified",
    "no_attempt_yet",
    "not_connected",
    "not_now",
    "notebook",
    "parts",
    "pdf",
    "pending",
    "rebased",
    "refreshed",
    "remote_agent",
    "remote_launched",
    "remove",
    "resource",
    "running",
    "text",
    "tool_reference",
    "update",
];

/// Whether a string is the name of a kind, which says nothing of what a tool has found.
fn is_kind(text: &str) -> bool {
    KINDS.binary_search(&text).is_ok()
}

/// The same result with a sentence in the place of each text.
pub(super) fn withheld(mut result: Value, why: &str) -> Value {
    let mut has_text = false;
    replace_texts(&mut result, why, &mut has_text);
    if has_text { result } else { Value::String(why.to_owned()) }
}

fn replace_texts(value: &mut Value, why: &str, has_text: &mut bool) {
    match value {
        Value::String(text) if is_kind(text) => {}
        Value::String(text) => {
            why.clone_into(text);
            *has_text = true;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_texts(item, why, has_text)),
        Value::Object(members) => {
            members.values_mut().for_each(|value| replace_texts(value, why, has_text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a result has the members and the types of another one: each element of a list has the shape of an element that was there.
pub(super) fn is_alike(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(after)) => before == after || !is_kind(before),
        (Value::Array(before), Value::Array(after)) => {
            after.iter().all(|item| before.iter().any(|former| is_alike(former, item)))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before.iter().all(|(name, former)| after.get(name).is_some_and(|it| is_alike(former, it)))
        }
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, is_alike, withheld};
    use serde_json::json;

    #[test]
    fn a_withheld_result_keeps_its_kinds_and_says_why_everywhere() {
        assert!(KINDS.is_sorted());
        let result = json!({"status": "completed", "n": 1, "content": [{"type": "text", "text": "a"}], "key": {"completed": "b"}});
        let expected = json!({"status": "completed", "n": 1, "content": [{"type": "text", "text": "No."}], "key": {"completed": "No."}});
        assert_eq!(withheld(result, "No."), expected);
        assert_eq!(withheld(json!({"n": 1}), "No."), json!("No."));
        assert_eq!(withheld(json!({"type": "text"}), "No."), json!("No."));
        assert_eq!(withheld(json!(null), "No."), json!("No."));
    }

    #[test]
    fn another_result_has_the_members_and_the_types_of_the_first() {
        let result = json!({"type": "text", "lines": ["a"], "file": {"n": 1, "done": true}, "none": null});
        for (path, value, expected) in [
            ("/lines", json!(["b", "c"]), true),
            ("/lines", json!([]), true),
            ("/lines", json!([1]), false),
            ("/lines", json!("b"), false),
            ("/file/n", json!(2), true),
            ("/file/n", json!("2"), false),
            ("/file/done", json!(null), false),
            ("/file", json!({"n": 1}), false),
            ("/file", json!({"n": 1, "done": true, "more": 1}), false),
            ("/type", json!("image"), false),
            ("/none", json!(""), false),
        ] {
            let mut other = result.clone();
            *other.pointer_mut(path).expect("the path") = value.clone();
            assert_eq!(is_alike(&result, &other), expected, "{path} {value}");
        }
        assert!(!is_alike(&json!({"a": 1}), &json!("a")));
        assert!(!is_alike(&json!([]), &json!(["a"])));
    }
}
