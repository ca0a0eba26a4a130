//! What is said of a file's text: of its bytes, its YAML, and how large both are.
//!
//! In: a place and at most a name or a tag of the author's. Said while the text is read, before any document has a kind;
//! a key's value is never repeated.

use crate::diagnostic::Diagnostic;
use crate::manifest::yaml_cause::Cause;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn manifest_too_large(place: Place, name: &str, limit: usize) -> Diagnostic {
    Diagnostic::error("manifest_too_large", format!("`{name}` {limit} exceeded"), place)
        .help("split the documents over several files")
}

pub(in crate::manifest) fn not_utf8(place: Place, offset: usize) -> Diagnostic {
    let line = place.position().line;
    let message = format!("the file is not UTF-8: byte {offset}, on line {line}, begins no character");
    Diagnostic::error("not_utf8", message, place).help("save the file as UTF-8")
}

pub(in crate::manifest) fn yaml_syntax(place: Place, problem: &str, cause: Option<Cause>) -> Diagnostic {
    let finding = Diagnostic::error("yaml_syntax", format!("this is not YAML: {problem}"), place);
    match cause {
        Some(cause) => finding.help(repair(cause)),
        None if problem.contains("tab") => finding.help("YAML indents with spaces"),
        None => finding,
    }
}

/// How to write a text so that YAML leaves its signs alone.
fn repair(cause: Cause) -> &'static str {
    match cause {
        Cause::Colon => {
            "YAML takes `: ` for the end of a key: put the whole text in quotes, or on a line of its own below `>-`"
        }
        Cause::Bracket => {
            "YAML takes `{` for a mapping and `[` for a list: put the whole expression in quotes, or on a line of its own below \
             `>-`"
        }
        Cause::Tag => {
            "YAML takes `!` for a tag: put the whole expression in quotes, or on a line of its own below `>-`"
        }
        Cause::Quote => {
            "YAML takes these quotes for the whole text: put the whole expression in other quotes, or on a line of its own below `>-`"
        }
        Cause::Escape => {
            "YAML takes `\\` in double quotes for an escape: put the whole text on a line of its own below `>-`, or write \
             `\\\\`"
        }
    }
}

pub(in crate::manifest) fn yaml_character(place: Place, character: char) -> Diagnostic {
    let message =
        format!("this is not YAML: the character U+{:04X} may not stand here", u32::from(character));
    let finding = Diagnostic::error("yaml_character", message, place);
    let sign = match character {
        '@' => "`@`",
        '%' => "`%`",
        '`' => "a backquote",
        _ => return finding,
    };
    finding.help(format!(
        "no text of YAML begins with {sign}: put the whole text in quotes, or on a line of its own below `>-`"
    ))
}

pub(in crate::manifest) fn yaml_too_deep(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("yaml_too_deep", format!("`max_yaml_depth` {limit} exceeded"), place)
        .label("nested too deeply here")
}

pub(in crate::manifest) fn yaml_too_large(place: Place, limit: usize) -> Diagnostic {
    Diagnostic::error("yaml_too_large", format!("`max_yaml_nodes` {limit} exceeded"), place)
        .label("the file grows past it here")
        .help("an alias counts as often as it is used")
}

pub(in crate::manifest) fn duplicate_key(key: &Embedded, first: Place) -> Diagnostic {
    Diagnostic::error("duplicate_key", format!("the key `{}` stands twice", key.text), key.place.clone())
        .label("again here")
        .related(first, "first here")
}

/// A text for people whose end YAML took for a comment.
pub(in crate::manifest) fn cut_text(rest: Place) -> Diagnostic {
    let message = "the text ends before this, which YAML takes for a comment";
    Diagnostic::warning("cut_text", message, rest)
        .help("put the whole text in quotes; a comment has a space behind its `#`")
}

pub(in crate::manifest) fn unknown_alias(place: Place, name: &str) -> Diagnostic {
    Diagnostic::error("unknown_alias", format!("no anchor `&{name}` stands before its alias"), place)
        .help("YAML takes `*` for an alias: put a text that begins with it in quotes")
}

pub(in crate::manifest) fn recursive_alias(place: Place) -> Diagnostic {
    Diagnostic::error("recursive_alias", "an alias stands inside its own anchor", place)
}

pub(in crate::manifest) fn key_not_scalar(place: Place) -> Diagnostic {
    Diagnostic::error("key_not_scalar", "expected a name as key, found a collection", place)
}

pub(in crate::manifest) fn merge_key(place: Place) -> Diagnostic {
    Diagnostic::error("merge_key", "there is no merge key `<<` in YAML 1.2", place).help("write the keys out")
}

pub(in crate::manifest) fn unknown_tag(place: Place, tag: &str) -> Diagnostic {
    let finding = Diagnostic::error("unknown_tag", format!("unknown tag `{tag}`"), place);
    if tag.contains(['.', '(']) && !tag.starts_with("!!") {
        return finding.help(repair(Cause::Tag));
    }
    finding.help("the tags are `!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq` and `!!map`")
}

pub(in crate::manifest) fn wrong_tag(place: Place, tag: &str) -> Diagnostic {
    Diagnostic::error("wrong_tag", format!("the value is not of its tag `{tag}`"), place)
}

pub(in crate::manifest) fn too_many_findings(place: Place, hidden: usize, error: bool) -> Diagnostic {
    let message = format!("{hidden} more findings in this file are not shown");
    let code = "too_many_findings";
    if error { Diagnostic::error(code, message, place) } else { Diagnostic::warning(code, message, place) }
}
