//! What is wrong with a file of invariants. One function a message.

use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::kind::INVARIANTS;
use crate::source::{Embedded, Place};

pub(super) fn other_kind(found: &Embedded) -> Diagnostic {
    let message = format!("expected the kind `{INVARIANTS}`, found `{}`", found.text);
    let finding = Diagnostic::error("unknown_kind", message, found.place.clone());
    match nearest(&found.text, [INVARIANTS]) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}

pub(super) fn twice(found: &Embedded, first: Place) -> Diagnostic {
    let message = format!("two invariants are called `{}`", found.text);
    Diagnostic::error("duplicate_invariant", message, found.place.clone()).related(first, "the first")
}

pub(super) fn nothing_to_prove(place: &Place) -> Diagnostic {
    Diagnostic::error("no_invariants", "the file has no invariant", place.clone())
}

pub(super) fn no_such_agent(place: &Place) -> Diagnostic {
    Diagnostic::error("no_such_agent", "the invariant is about no agent that is loaded", place.clone())
        .help("`agents` has patterns of `namespace/name`, such as `shop/*`")
}

pub(super) fn no_such_call(call: &Embedded) -> Diagnostic {
    let message = format!("no agent has a function that `{}` selects", call.text);
    Diagnostic::error("unmatched_key", message, call.place.clone())
}

pub(super) fn reads_output(always: &Embedded) -> Diagnostic {
    let message = "an invariant about tasks reads `context`, and there is no `output`";
    Diagnostic::error("unknown_name", message, always.place.clone())
}
