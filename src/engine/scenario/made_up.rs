//! People who answer reviews where a case or a recorded task names nobody.
//!
//! In: the review, and how many have approved of it. Out: the answer of one more person. Where several people are asked, each answer is
//! by somebody else whom all names of the review are for, so that what is written down without names says what it seems to say.

use crate::policy::ReviewPanel;
use crate::task::{Identity, ReviewAnswer};

/// An answer by the person whose number this is, if several are asked and the answer does not say whose it is.
pub(crate) fn by_somebody(answer: ReviewAnswer, panel: Option<&ReviewPanel>, number: usize) -> ReviewAnswer {
    match panel {
        Some(panel) if answer.by.is_none() => ReviewAnswer {
            by: Some(Identity { issuer: None, subject: format!("somebody {number}"), email: None }),
            addressed_as: panel.names().cloned().collect(),
            ..answer
        },
        _ => answer,
    }
}
