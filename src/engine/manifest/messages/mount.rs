//! What is said of the mounts of a workspace.
//!
//! In: places, and the backends that a mount names. Nothing of a backend's own settings is repeated.

use super::quoted;
use crate::diagnostic::Diagnostic;
use crate::source::Place;

pub(in crate::manifest) fn mount_backends(place: &Place, found: &[&str]) -> Diagnostic {
    let found = if found.is_empty() { "none".to_owned() } else { quoted(found) };
    let message = format!("a mount has one of `gcs` and `s3`, found {found}");
    Diagnostic::error("mount_backends", message, place.clone()).rule("MNT-01")
}

pub(in crate::manifest) fn several_mounts(place: &Place, first: Place) -> Diagnostic {
    Diagnostic::error("several_mounts", "a workspace has one mount", place.clone())
        .label("another one here")
        .related(first, "the first one")
}

pub(in crate::manifest) fn mount_not_loaded(place: &Place) -> Diagnostic {
    Diagnostic::warning("mount_not_loaded", "the agent works in a mount, and none is loaded", place.clone())
        .rule("MNT-04")
}
