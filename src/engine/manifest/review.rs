//! Settings of a policy for reviews: whether other calls of the task proceed while one is open, and whether the model reads the reviewers' notes.
//!
//! In: the key `reviews` of a policy, and `note` of one of its steps. Out: [`Siblings`] and [`NoteReader`]s.

use super::fields::{Field, Key};
use super::messages;
use super::reader::Reader;
use super::shape::{OneOf, Vocabulary, mapping, words};

/// Whether a call proceeds while a review of another call is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Siblings {
    /// It is held until the review is closed (RV-13).
    #[default]
    Wait,
    /// It proceeds, unless the rules of one of the two calls read the other call.
    Run,
}

impl Vocabulary for Siblings {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("wait", Self::Wait), ("run", Self::Run)];
}

/// The reader of a reviewer's note.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteReader {
    /// The model reads it with the decision.
    #[default]
    Model,
    /// Only people who see the review read it, and rules (`context.reviews`).
    Private,
}

impl Vocabulary for NoteReader {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("model", Self::Model), ("private", Self::Private)];
}

/// Settings of a policy for reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredReviews {
    /// Whether other calls proceed meanwhile; nothing where the policy has no such key.
    pub siblings: Option<Siblings>,
    /// The default reader of notes. A step may name another.
    pub note: NoteReader,
}

mapping! {
    /// Settings for reviews.
    pub(super) ReviewKeys = "`reviews`" {
        /// Whether other calls of the task proceed while a review is open. `wait` in one policy overrides `run` in another; they wait
        /// where no policy has this key.
        siblings: OneOf<Siblings>,
        /// Whether the model reads the reviewers' notes. `private` shows a note only to people who see the review, and to rules.
        note: OneOf<NoteReader> => "model",
    }
}

impl Key<'_, '_, ReviewKeys> {
    /// The settings of the policy.
    pub(super) fn reviews(&self, reader: &mut Reader) -> DeclaredReviews {
        let Some(fields) = self.fields(reader) else { return DeclaredReviews::default() };
        let siblings = fields.siblings().siblings(reader);
        let note = fields.note().note(NoteReader::default(), reader);
        fields.refuse_others(reader);
        DeclaredReviews { siblings, note }
    }
}

impl Key<'_, '_, OneOf<Siblings>> {
    /// An unknown word is an error, and calls wait.
    fn siblings(&self, reader: &mut Reader) -> Option<Siblings> {
        let field = self.get()?;
        Some(word::<Siblings>(&field, reader).unwrap_or(Siblings::Wait))
    }
}

impl Key<'_, '_, OneOf<NoteReader>> {
    /// The reader of notes; the default where the key is absent. An unknown word is an error, and the note stays private.
    pub(super) fn note(&self, default: NoteReader, reader: &mut Reader) -> NoteReader {
        let Some(field) = self.get() else { return default };
        word::<NoteReader>(&field, reader).unwrap_or(NoteReader::Private)
    }
}

fn word<V: Vocabulary<Meaning: Copy>>(field: &Field<'_>, reader: &mut Reader) -> Option<V::Meaning> {
    let word = reader.text(field.node, &field.path)?;
    let known = V::WORDS.iter().find(|(known, _)| **known == *word.text);
    if known.is_none() {
        let finding = messages::unknown_review_word(&field.key.text, &word, &words(V::WORDS));
        reader.report(&field.path, finding);
    }
    known.map(|(_, meaning)| *meaning)
}
