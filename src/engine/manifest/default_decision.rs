//! The default decision of a policy: whether functions that no rule mentions may be called.
//!
//! In: the key `default` of a policy. Out: for `default: deny` a step that denies. So the denial is a step like any other: decisions, traces,
//! logs, proofs and coverage name its policy and the rule id `default`. `mentions` says for which functions the step is.

use super::fields::Key;
use super::messages;
use super::policy_step::{OfPolicy, PolicyStep};
use super::reader::{Path, Reader};
use super::review::NoteReader;
use super::shape::{OneOf, Vocabulary, words};
use super::step::{DeclaredAction, DeclaredStep, OnFail};
use crate::source::Embedded;
use std::sync::Arc;

/// The id of the rule that denies what no other rule mentions.
const DEFAULT_RULE: &str = "default";

/// The message of a denial by default, for the model.
const DENIED: &str = "{call.fn} is not allowed: no rule mentions it, and the default decision is to deny.";

/// The decision about functions that no rule mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultDecision {
    /// Their calls are allowed, as where no policy says anything.
    Allow,
    /// Their calls are denied.
    Deny,
}

impl Vocabulary for DefaultDecision {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("allow", Self::Allow), ("deny", Self::Deny)];
}

impl Key<'_, '_, OneOf<DefaultDecision>> {
    /// The step that denies, if the policy has one. A word that is no decision is reported, and denies.
    pub(super) fn denial(&self, policy: &OfPolicy, reader: &mut Reader) -> Option<DeclaredStep> {
        let field = self.get()?;
        let word = reader.text(field.node, &field.path)?;
        let known = DefaultDecision::WORDS.iter().find(|(known, _)| **known == *word.text);
        if known.is_none() {
            reader.report(&field.path, messages::unknown_default(&word, &words(DefaultDecision::WORDS)));
        }
        if matches!(known, Some((_, DefaultDecision::Allow))) {
            return None;
        }
        Some(denial(&word, &field.path, policy))
    }
}

/// The step that denies; `written` is the word of the policy.
fn denial(written: &Embedded, path: &Path, policy: &OfPolicy) -> DeclaredStep {
    let text = |text: &str| Embedded::new(text, written.place.clone(), []);
    DeclaredStep {
        place: written.place.clone(),
        path: path.to_string(),
        index: 0,
        name: Some(Arc::new(PolicyStep { id: Some(DEFAULT_RULE.into()), ..policy.name.clone() })),
        action: DeclaredAction::Deny(text("false")),
        condition: None,
        match_name: None,
        on_fail: OnFail::Block,
        error_message: Some(text(DENIED)),
        mode: policy.mode,
        user_message: None,
        question: None,
        note: NoteReader::Model,
        excepted: None,
    }
}
