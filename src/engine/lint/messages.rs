//! What is said of comments that allow findings, and of builds that find less. One function a message; a reason is never repeated here.

use crate::diagnostic::{Diagnostic, Standing, nearest};
use crate::source::Place;

const FORM: &str = "write `# celador: allow(code) reason` on the line of the finding or on the line above it";

/// An error that the specification does not know: a lenient door never says it, the strict one refuses the whole file.
fn refused(finding: Diagnostic) -> Diagnostic {
    Diagnostic { standing: Standing::Refused, ..finding }
}

pub(super) fn allow_malformed(place: Place) -> Diagnostic {
    let message = "a comment to celador is no `allow(code) reason`";
    refused(Diagnostic::error("allow_malformed", message, place)).help(FORM)
}

pub(super) fn allow_unknown(
    place: Place,
    code: &str,
    known: impl Iterator<Item = &'static str>,
) -> Diagnostic {
    let message = format!("no warning has the code `{code}`");
    let finding = refused(Diagnostic::error("allow_unknown", message, place));
    match nearest(code, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding.help("warnings are allowed, errors are not; `celador explain-code` lists the codes"),
    }
}

pub(super) fn allow_without_reason(place: Place, code: &str) -> Diagnostic {
    let message = format!("`allow({code})` has no reason");
    refused(Diagnostic::error("allow_without_reason", message, place))
        .help("say behind it why the finding is meant, for whoever reads the policy next")
}

pub(super) fn allow_stale(place: Place, code: &str, elsewhere: Option<usize>) -> Diagnostic {
    let message = format!("`allow({code})` allows nothing: there is no such finding here");
    let finding = refused(Diagnostic::error("allow_stale", message, place));
    match elsewhere {
        Some(line) => finding.help(format!("one is on line {line}; each finding needs a comment of its own")),
        None => finding.help("take the comment out"),
    }
}

#[cfg(not(feature = "analysis"))]
pub(crate) fn not_analysed(agent: Place) -> Diagnostic {
    let message =
        "whether the rules of these manifests can decide anything is not known: this build has no analysis";
    Diagnostic::warning("not_analysed", message, agent)
        .help("`celador check` finds rules that never hold or always do; run it before manifests come here")
}
