//! Words that `expect` may have where the outcome is one of a fixed set: decisions, stages, limits, and states of a task.
//!
//! A word outside the set can never be found, so it is an error of the case and not a check that fails.

use super::case::Aspect;
use super::messages;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{Vocabulary, words};
use crate::manifest::task_limit::TaskLimit;
use crate::source::Embedded;
use crate::task::{EventStage, TaskState, VerdictKind};

/// The outcome of an operation: a verdict, or the answer of an operation that has no verdict.
pub(super) enum DecisionWord {}

/// The verdict that enforcement would have had.
pub(super) enum VerdictWord {}

/// The stage of an event that decided.
pub(super) enum StageWord {}

/// The state of a task.
pub(super) enum TaskWord {}

/// A table of words without further meaning.
macro_rules! vocabulary {
    ($($name:ident: $($word:expr),*;)*) => {
        $(impl Vocabulary for $name {
            type Meaning = ();
            const WORDS: &'static [(&'static str, ())] = &[$(($word, ())),*];
        })*
    };
}

vocabulary! {
    DecisionWord:
        VerdictKind::Allow.as_str(), VerdictKind::Block.as_str(), VerdictKind::LockTask.as_str(), VerdictKind::Suspend.as_str(),
        VerdictKind::Wait.as_str(), VerdictKind::Respond.as_str(), VerdictKind::Terminate.as_str(), VerdictKind::Rejected.as_str(),
        VerdictKind::InvalidInput.as_str(), VerdictKind::Error.as_str(), VerdictKind::Route.as_str(), VerdictKind::Discard.as_str(),
        "valid", "invalid", "value", "reject", "ok", "create", "none";
    VerdictWord:
        VerdictKind::Allow.as_str(), VerdictKind::Block.as_str(), VerdictKind::LockTask.as_str(), VerdictKind::Suspend.as_str(),
        VerdictKind::Wait.as_str(), VerdictKind::Respond.as_str(), VerdictKind::Terminate.as_str(), VerdictKind::Rejected.as_str(),
        VerdictKind::InvalidInput.as_str(), VerdictKind::Error.as_str(), VerdictKind::Route.as_str(), VerdictKind::Discard.as_str();
    StageWord:
        EventStage::Inactive.as_str(), EventStage::Signature.as_str(), EventStage::Payload.as_str(),
        EventStage::Filter.as_str(), EventStage::Before.as_str(), EventStage::After.as_str(),
        EventStage::Guardrails.as_str();
    TaskWord: TaskState::WORDS[0], TaskState::WORDS[1], TaskState::WORDS[2], TaskState::WORDS[3];
}

/// Words that other tools use for an outcome, with the word of a case.
const SYNONYMS: &[(&str, &str)] = &[
    ("approve", "allow"),
    ("approved", "allow"),
    ("pass", "allow"),
    ("passed", "allow"),
    ("permit", "allow"),
    ("deny", "block"),
    ("denied", "block"),
    ("forbid", "block"),
    ("refuse", "block"),
    ("refused", "block"),
    ("ask", "suspend"),
    ("pending", "suspend"),
    ("review", "suspend"),
    ("lock", "lock_task"),
    ("end", "terminate"),
    ("end", "terminated"),
    ("ended", "terminate"),
    ("ended", "terminated"),
    ("closed", "terminated"),
    ("done", "terminated"),
    ("finished", "terminated"),
    ("stopped", "terminated"),
    ("running", "active"),
    ("open", "active"),
    ("waiting", "suspended"),
    ("paused", "suspended"),
    ("pending", "suspended"),
];

impl Aspect {
    /// The words that can be found, where the aspect is not free text.
    fn vocabulary(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Decision => Some(words(DecisionWord::WORDS)),
            Self::Enforced => Some(words(VerdictWord::WORDS)),
            Self::Stage => Some(words(StageWord::WORDS)),
            Self::Limit => Some(words(TaskLimit::WORDS)),
            Self::Task => Some(words(TaskWord::WORDS)),
            Self::Message
            | Self::UserMessage
            | Self::Reason
            | Self::Reviewer
            | Self::Question
            | Self::EnforcedMessage => None,
        }
    }

    /// Reports a word that is never found.
    pub(super) fn check_word(self, text: &Embedded, path: &Path, reader: &mut Reader) {
        let Some(known) = self.vocabulary() else { return };
        if known.contains(&&*text.text) {
            return;
        }
        let written = text.text.to_ascii_lowercase();
        let meant = SYNONYMS.iter().find(|(word, meant)| *word == written && known.contains(meant));
        let finding = messages::unknown_word(text, &known);
        reader.report(
            path,
            match meant {
                Some((_, meant)) => finding.help(format!("did you mean `{meant}`?")),
                None => finding,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Aspect, SYNONYMS};

    #[test]
    fn each_synonym_leads_to_a_word_and_is_none() {
        let known: Vec<&str> =
            Aspect::ALL.iter().filter_map(|aspect| aspect.vocabulary()).flatten().collect();
        for (word, meant) in SYNONYMS {
            assert!(known.contains(meant) && !known.contains(word), "{word} {meant}");
        }
    }
}
