//! What is said of whole documents: their kinds, and how they stand together in files and bundles.
//!
//! In: the place or the `kind` of a document, and the kinds that are known. What a document holds is never looked at.

use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::doubt::Doubt;
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn missing_kind(place: &Place) -> Diagnostic {
    Diagnostic::error("missing_kind", "the document has no `kind`", place.clone())
        .help("an agent's is `commonagents.info/v1beta2/agent`, a tool's `commonagents.info/v1beta2/tool`")
        .rule("KV-01")
}

pub(in crate::manifest) fn unknown_kind(kind: &Embedded, known: &[String]) -> Diagnostic {
    let message = format!("`{}` is no kind of manifest", kind.text);
    let finding = Diagnostic::error("unknown_kind", message, kind.place.clone()).rule("KV-09");
    match nearest(&kind.text, known.iter().map(String::as_str)) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("a kind is `commonagents.info/<version>/<type>`"),
    }
}

pub(in crate::manifest) fn unpublished_kind(kind: &Embedded, usual: &str) -> Diagnostic {
    let message = format!("`{}` is read, but is not how the specification spells it", kind.text);
    Diagnostic::warning("unpublished_kind", message, kind.place.clone())
        .help(format!("write `{usual}`"))
        .rule("KV-08")
}

pub(in crate::manifest) fn not_a_manifest(place: &Place) -> Diagnostic {
    Diagnostic::warning("not_a_manifest", "the document is no manifest and is skipped", place.clone())
        .help("a manifest has a `kind` such as `commonagents.info/v1beta2/agent`")
}

pub(in crate::manifest) fn extension_case(place: Place) -> Diagnostic {
    let message = "the extension has capital letters, so the file is not read";
    Diagnostic::error("extension_case", message, place)
        .help("rename the file: the extension is `.yaml` or `.yml`; a file that is no manifest may have another one")
}

pub(in crate::manifest) fn no_documents(place: Place) -> Diagnostic {
    Diagnostic::error("no_documents", "the file holds no document", place)
}

pub(in crate::manifest) fn no_manifests(place: Place) -> Diagnostic {
    Diagnostic::error("no_manifests", "none of the files holds a manifest", place)
        .help("a manifest has a `kind` such as `commonagents.info/v1beta2/agent`")
}

pub(in crate::manifest) fn duplicate_manifest(name: &Embedded, family: &str, first: Place) -> Diagnostic {
    let message = format!("the {family} `{}` stands twice in its namespace", name.text);
    Diagnostic::error("duplicate_manifest", message, name.place.clone())
        .label("again here")
        .related(first, "first here")
        .rule("AG-01")
}

pub(in crate::manifest) fn too_many_documents(place: &Place, limit: usize) -> Diagnostic {
    let message = format!("`max_bundle_documents` {limit} exceeded");
    Diagnostic::error("too_many_documents", message, place.clone()).label("one too many").rule("BUN-10")
}

pub(in crate::manifest) fn document_too_large(place: &Place, limit: usize) -> Diagnostic {
    let message = format!("`max_document_bytes` {limit} exceeded");
    Diagnostic::error("document_too_large", message, place.clone())
        .label("by the document that begins here")
        .rule("BUN-10")
}

pub(in crate::manifest) fn misplaced_descriptor(place: &Place, first: Place) -> Diagnostic {
    let message = "a bundle has one descriptor, and it stands first";
    Diagnostic::error("misplaced_descriptor", message, place.clone())
        .related(first, "the first document")
        .rule("BUN-02")
}

/// A file of a folder that is empty, or of comments alone.
pub(in crate::manifest) fn empty_file(place: Place) -> Diagnostic {
    Diagnostic::warning("empty_file", "the file holds no document", place)
        .help("write the rules that it should hold, or remove the file")
}

/// A document of a folder that is nearly one of cases.
pub(in crate::manifest) fn doubtful_case(key: &Embedded, near: &str) -> Diagnostic {
    let message = "the document looks like cases or a recorded task and is neither, so no command runs it";
    let finding = Diagnostic::warning("doubtful_case", message, key.place.clone());
    if *key.text == *near {
        finding.help("a case has `call`, `steps` or `story`, and `expect`; a file of several has `cases`")
    } else {
        finding.help(format!("did you mean `{near}` with `{}`?", key.text))
    }
}

/// A document that is not read, though it is one of a bundle or looks like a manifest.
pub(in crate::manifest) fn skipped_document(doubt: &Doubt<'_>, known: &[String]) -> Diagnostic {
    let (place, why, help) = match doubt {
        Doubt::Kind(kind) => {
            let near = nearest(&kind.text, known.iter().map(String::as_str));
            let help = near.map(|near| format!("did you mean `{near}`?"));
            (&kind.place, format!("`{}` is no kind that is known", kind.text), help)
        }
        Doubt::Key(key) => (
            &key.place,
            format!("`{}` is not the key of its kind", key.text),
            Some("the key is `kind`".into()),
        ),
        Doubt::Case { key, near } => return doubtful_case(key, near),
        Doubt::NoMapping(node) => {
            (&node.place, format!("expected keys and values, found {}", node.kind_name()), None)
        }
        Doubt::Shape(place) => (*place, "it looks like a manifest and has no kind of one".to_owned(), None),
    };
    let help = help.unwrap_or_else(|| "a kind is `commonagents.info/<version>/<type>`".to_owned());
    Diagnostic::warning("skipped_document", format!("the document is skipped: {why}"), place.clone())
        .rule("KV-01")
        .help(help)
}
