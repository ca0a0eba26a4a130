//! What a policy says of its reviews: whether other calls of the task go on beside them, and who reads the notes of reviewers.
//!
//! In: the key `reviews` of a policy, and `note` of one of its steps. Out: [`Siblings`] and [`NoteReader`]s; what is not said has its default in the row
//! of the key. Nothing here decides a review.

use super::fields::{Field, Key};
use super::messages;
use super::reader::Reader;
use super::shape::{OneOf, Vocabulary, mapping, words};

/// Whether calls of a task are let through while a review of another call is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Siblings {
    /// They are not (RV-13): they are held until the review is closed.
    #[default]
    Wait,
    /// They are, unless the rules of one of the two calls read the other one.
    Run,
}

impl Vocabulary for Siblings {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("wait", Self::Wait), ("run", Self::Run)];
}

/// Who reads what a reviewer adds to an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoteReader {
    /// The model, with the decision that the answer leads to.
    #[default]
    Model,
    /// Those who see the review, and rules (`context.reviews`), but not the model.
    Private,
}

impl Vocabulary for NoteReader {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("model", Self::Model), ("private", Self::Private)];
}

/// What a policy says of reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeclaredReviews {
    /// Whether other calls go on meanwhile, if it says so.
    pub siblings: Option<Siblings>,
    /// Who reads the notes of reviewers, but for steps that say so themselves.
    pub note: NoteReader,
}

mapping! {
    /// What holds for reviews.
    pub(super) ReviewKeys = "`reviews`" {
        /// Whether calls of the task are let through while a review of another call is open. `wait` of one policy counts more than `run` of another.
        siblings: OneOf<Siblings> => "wait",
        /// Who reads the notes of reviewers: the model, or nobody but those who see the review.
        note: OneOf<NoteReader> => "model",
    }
}

impl Key<'_, '_, ReviewKeys> {
    /// What the policy says of reviews.
    pub(super) fn reviews(&self, reader: &mut Reader) -> DeclaredReviews {
        let Some(fields) = self.fields(reader) else { return DeclaredReviews::default() };
        let siblings = fields.siblings().siblings(reader);
        let note = fields.note().note(NoteReader::default(), reader);
        fields.refuse_others(reader);
        DeclaredReviews { siblings, note }
    }
}

impl Key<'_, '_, OneOf<Siblings>> {
    /// A word that is none is reported, and calls wait.
    fn siblings(&self, reader: &mut Reader) -> Option<Siblings> {
        let field = self.get()?;
        Some(word::<Siblings>(&field, reader).unwrap_or(Siblings::Wait))
    }
}

impl Key<'_, '_, OneOf<NoteReader>> {
    /// Who reads the notes, or without the key the default. A word that is none is reported, and the model does not.
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
