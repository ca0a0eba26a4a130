//! What is said of the counters of policy documents.
//!
//! In: the place and the words of a counter. Out: why it cannot be read, or selects nothing.

use crate::counter::WindowError;
use crate::diagnostic::{Diagnostic, nearest};
use crate::source::{Embedded, Place};

pub(in crate::manifest) fn bad_counter_name(name: &Embedded) -> Diagnostic {
    let message = format!("no expression can read a counter called `{}`", name.text);
    Diagnostic::error("bad_counter_name", message, name.place.clone())
        .help("a name has letters, digits and `_`, and does not begin with a digit: `counters.spend_today`")
}

pub(in crate::manifest) fn counter_without(place: &Place, key: &str) -> Diagnostic {
    let help = match key {
        "on" => {
            "`on` says which calls add to it: `payments_refund`, `payments_*`, `tag:money`, or several; `model` how much a call of the model adds"
        }
        _ => "`window` says which amounts count: `24h`, `day`, `ever`",
    };
    Diagnostic::error("counter_incomplete", format!("a counter has no `{key}`"), place.clone()).help(help)
}

pub(in crate::manifest) fn bad_window(text: &Embedded, why: WindowError) -> Diagnostic {
    let message = match why {
        WindowError::NotAWindow => format!("`{}` is no window", text.text),
        WindowError::OutOfRange => format!("the window `{}` is too short, too long or too fine", text.text),
    };
    Diagnostic::error("bad_window", message, text.place.clone()).help(why.to_string())
}

pub(in crate::manifest) fn unknown_decrease(word: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("`{}` is no word for how far calls can lower a counter", word.text);
    Diagnostic::error("unknown_decrease", message, word.place.clone())
        .help(format!("it is {}", known.join(", ")))
}

pub(in crate::manifest) fn unknown_counter_scope(word: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!("`{}` is no scope of a counter", word.text);
    Diagnostic::error("unknown_counter_scope", message, word.place.clone())
        .help(format!("it is {}", known.join(", ")))
}

pub(in crate::manifest) fn unmatched_counter(key: &Embedded, known: &[&str]) -> Diagnostic {
    let message = format!(
        "`{}` selects no function of any agent that the policy is for, so the counter counts no call",
        key.text
    );
    let finding = Diagnostic::error("unmatched_counter", message, key.place.clone());
    match nearest(&key.text, known.iter().copied()) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None => finding,
    }
}
