//! JSON written as YAML that people like to read: keys one below the other, quotes where they are needed.
//!
//! In: a value. Out: text from which a reader of YAML 1.2 makes the same value again. Linear in the value.

use serde_json::Value;

/// Words that a plain scalar cannot be: a reader of some YAML takes them for no text.
const TAKEN: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// A value as a block of YAML that ends with a line break.
pub(super) fn block(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.trim_start_matches('\n').to_owned()
}

/// Writes a value behind a key or a dash: on the same line, or on the lines below, indented so far.
fn write(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, value) in members {
                begin_line(indent, out);
                out.push_str(&scalar(key));
                out.push(':');
                behind(value, indent.saturating_add(2), out);
            }
        }
        Value::Array(items) if !items.is_empty() && !items.iter().all(is_short) => {
            for item in items {
                begin_line(indent, out);
                out.push('-');
                behind(item, indent.saturating_add(2), out);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            out.push_str(&format!("[{}]", items.join(", ")));
        }
        other => out.push_str(&flow(other)),
    }
}

fn behind(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            // the first key of an item stands beside its dash
            if out.ends_with('-') {
                out.push(' ');
            }
            write(value, indent, out);
        }
        Value::Array(items) if !items.is_empty() && !items.iter().all(is_short) => {
            write(value, indent, out);
        }
        Value::String(text) if is_literal(text) => {
            out.push_str(" |-");
            for line in text.split('\n') {
                out.push('\n');
                if !line.is_empty() {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str(line);
            }
        }
        _ => {
            out.push(' ');
            write(value, indent, out);
        }
    }
}

/// Begins a line, unless a dash has begun it.
fn begin_line(indent: usize, out: &mut String) {
    if !out.ends_with("- ") {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::String(text) => !text.contains('\n'),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// A value without lines of its own.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Whether a text of several lines may stand as it is, each line on its own.
fn is_literal(text: &str) -> bool {
    let plain = |c: char| c == '\n' || !(c.is_control() || is_odd(c));
    let mut lines = text.split('\n');
    let first = lines.clone().next().unwrap_or_default();
    text.contains('\n')
        && !text.ends_with('\n')
        && !first.is_empty()
        && !first.starts_with(' ')
        && text.chars().all(plain)
        && lines.all(|line| !line.ends_with(' '))
}

/// Whether some reader takes a character for a break or for nothing.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A text as it is if nobody can take it for anything else, otherwise in quotes.
fn scalar(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ' | '$');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let is_plain = begins
        && !text.ends_with(' ')
        && text.len() <= 200
        && text.chars().all(is_word)
        && !TAKEN.contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    let quoted = Value::from(text).to_string();
    let mut escaped = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        if is_odd(c) { escaped.push_str(&format!("\\u{:04x}", u32::from(c))) } else { escaped.push(c) }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::block;
    use celador::limits::EngineLimits;
    use celador::manifest::yaml;
    use celador::source::Source;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn read(text: &str) -> Value {
        let mut findings = Vec::new();
        let trees = yaml::parse(&Source::new("a", text), &EngineLimits::default(), &mut findings);
        assert!(findings.is_empty(), "{text}\n{findings:?}");
        trees.into_iter().next().map_or(Value::Null, |tree| tree.node.to_json())
    }

    #[test]
    fn a_tool_is_written_as_people_write_it() {
        let tool = json!({"tools": [{
            "name": "read-file", "description": "Reads.\n\nAll of it: slowly.",
            "inputSchema": {"type": "object", "properties": {"at": {"enum": ["a", "no", 1, "-x"]}, "of": {}}, "required": []},
            "list": [[1, 2], {"deep": [{"er": null}]}],
        }]});
        let expected = "tools:\n  - name: read-file\n    description: |-\n      Reads.\n\n      All of it: slowly.\n    inputSchema:\n      type: object\n      properties:\n        at:\n          enum: [a, \"no\", 1, \"-x\"]\n        of: {}\n      required: []\n    list:\n      - [1, 2]\n      - deep:\n          - er: null\n";
        assert_eq!(block(&tool), expected);
        assert_eq!(read(expected), tool);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\\n\\t\u{85}\u{7f}\u{2028}\u{feff}é😀:#'\"\\\\-]{0,12}",
            "(true|No|null|~|1|0x1f|1e3|\\.inf|- a|a: b|a #b|\\||>|&a|\\*a|!t|%|@|`|\\?| x|x )",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[ -~\\n]{0,8}", inner), 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        /// What is written is read as what it was.
        #[test]
        fn what_is_written_is_read_again(value in any_value()) {
            let value = json!({ "value": value });
            let text = block(&value);
            prop_assert_eq!(read(&text), value, "{}", text);
        }
    }
}
