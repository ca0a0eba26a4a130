//! Descriptions for readers of the document, made of doc comments for readers of the code.

/// The first paragraph of a doc comment, on one line; what follows is for readers of the code. A link to a member or a variant
/// becomes its name on the wire, another link its words; numbers of rules in parentheses are left out.
pub(super) fn plain(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    without_rules(&without_links(&paragraph.trim().replace('\n', " ")))
}

/// The text with `` `name` `` in the place of ``[`Type::name`](path)``.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((link, rest)) = part.split_once("`]") else {
            plain.push_str("[`");
            plain.push_str(part);
            continue;
        };
        let behind = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = behind.map_or(rest, |(_, rest)| rest);
        // a link alone in parentheses leads to more about it in the code
        if let (Some(before), Some(rest)) = (plain.strip_suffix(" ("), rest.strip_prefix(')')) {
            plain = before.to_owned() + rest;
            continue;
        }
        plain.push('`');
        plain.push_str(&name_of(link));
        plain.push('`');
        plain.push_str(rest);
    }
    plain
}

/// The name on the wire of what a path leads to, where it is a part of a type; the path itself otherwise.
fn name_of(path: &str) -> String {
    let Some((_, name)) = path.rsplit_once("::") else { return path.to_owned() };
    let mut written = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            written.push('_');
        }
        written.push(letter.to_ascii_lowercase());
    }
    written
}

/// The text without the numbers of rules that stand in parentheses.
fn without_rules(text: &str) -> String {
    let mut parts = text.split(" (");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((inside, rest)) if is_rules(inside) => plain.push_str(rest),
            _ => {
                plain.push_str(" (");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// Whether a text is a list of rules: `MW-31`, `CTX-18, CTX-20`, `KEY-01 to KEY-04`.
fn is_rules(text: &str) -> bool {
    text.split([',', ' ']).filter(|word| !word.is_empty() && *word != "to").all(|word| {
        let parts = word.trim_matches('`').split_once('-');
        parts.is_some_and(|(area, number)| {
            area.chars().all(|letter| letter.is_ascii_uppercase())
                && number.chars().all(|digit| digit.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn doc_comments_become_descriptions() {
        for (text, expected) in [
            ("Go on with [`Decision::value`].", "Go on with `value`."),
            (
                "As [`VerdictKind::LockTask`](crate::VerdictKind::LockTask) says (MW-31).",
                "As `lock_task` says.",
            ),
            ("A link to a [`Diagnostic`](x).", "A link to a `Diagnostic`."),
            ("Decided because of it ([`Task::standing`](crate::Task::standing)).", "Decided because of it."),
            ("It counts (`LIM-09`), and more (CTX-18, CTX-20) (KEY-01 to KEY-04).", "It counts, and more."),
            ("One line\nand another (of two).\n\nAn example.", "One line and another (of two)."),
        ] {
            assert_eq!(plain(text), expected);
        }
    }
}
