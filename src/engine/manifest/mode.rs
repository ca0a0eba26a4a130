//! Whether a step decides, or is only tried out beside what decides.
//!
//! In: the key `mode` of a policy, of one of its steps, or of a case. Out: a [`Mode`]; a step without one has that of its policy.

use super::fields::Key;
use super::messages;
use super::reader::Reader;
use super::shape::{OneOf, Vocabulary, words};

/// Whether a step decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It does.
    #[default]
    Enforce,
    /// It is evaluated, and what it would have done is told beside what was done.
    Observe,
}

impl Vocabulary for Mode {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("enforce", Self::Enforce), ("observe", Self::Observe)];
}

impl Key<'_, '_, OneOf<Mode>> {
    /// The mode, or without one the default. A word that is no mode is reported, and the step decides.
    pub(crate) fn mode(&self, default: Mode, reader: &mut Reader) -> Mode {
        let Some(field) = self.get() else { return default };
        let Some(word) = reader.text(field.node, &field.path) else { return Mode::Enforce };
        let known = Mode::WORDS.iter().find(|(known, _)| **known == *word.text);
        if known.is_none() {
            reader.report(&field.path, messages::unknown_mode(&word, &words(Mode::WORDS)));
        }
        known.map_or(Mode::Enforce, |(_, mode)| *mode)
    }
}
