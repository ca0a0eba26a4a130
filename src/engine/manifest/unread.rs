//! Parameters and variables of a policy document that nothing in the document reads.
//!
//! In: the document, and the names that it declares. Out: findings. A name is read where some text of the document has it behind its root: `variables.paid`. A text that asks for a
//! name in brackets may ask for any. Linear in the texts, times the names.

use super::node::{Data, Node};
use super::reader::{Path, Reader};
use crate::diagnostic::Diagnostic;
use crate::source::Embedded;

/// Reports the names under a root that nothing reads. A name comes with its path.
pub(super) fn check_unread<'d>(
    document: &Node,
    root: &str,
    names: impl IntoIterator<Item = (&'d Embedded, &'d str)>,
    told: fn(&Embedded) -> Diagnostic,
    reader: &mut Reader,
) {
    for (name, path) in names {
        if !is_read(document, root, &name.text) {
            reader.report(&Path::document(path), told(name));
        }
    }
}

/// Whether a text in a node reads what stands under this root by this name.
fn is_read(node: &Node, root: &str, name: &str) -> bool {
    match &node.data {
        Data::String(text) => names(&text.text, root, name),
        Data::Sequence(items) => items.iter().any(|item| is_read(item, root, name)),
        Data::Mapping(entries) => entries.iter().any(|entry| is_read(&entry.value, root, name)),
        _ => false,
    }
}

/// Whether a text has `root.name` in it, or `root[`.
fn names(text: &str, root: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(root).any(|(at, _)| {
        let rest = text.get(at.saturating_add(root.len())..).unwrap_or_default().trim_start();
        let field = rest.strip_prefix('.').or_else(|| rest.strip_prefix("?.")).map(str::trim_start);
        rest.starts_with('[')
            || field
                .map(|field| field.strip_prefix('?').unwrap_or(field))
                .and_then(|field| field.strip_prefix(name))
                .is_some_and(|behind| !behind.starts_with(is_of_name))
    })
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_name_is_read_where_it_stands_behind_its_root() {
        for text in [
            "variables.paid",
            "!variables.paid && x",
            "{variables.paid.amount}",
            "variables .paid",
            "variables['paid']",
            "variables.?paid.orValue(1)",
        ] {
            assert!(names(text, "variables", "paid"), "{text}");
        }
        for text in ["paid", "variables.paid_back", "parameters.paid", "variables", "variables.all.paid"] {
            assert!(!names(text, "variables", "paid"), "{text}");
        }
    }
}
