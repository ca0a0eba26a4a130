//! What `pii.hash`, `pii.tokenize` and `pii.detokenize` answer, and how a step adds pseudonyms.
//!
//! To evaluate an expression changes nothing. While a step replaces a value, new pseudonyms go into a draft, so that each part of the step has the same ones; the task has them when the step has
//! done so, and not if it fails or asks. Everything else that evaluates an expression, such as an explanation, has a draft for each question that is gone with the answer: it gets the
//! text that the step would write, and the task is as it was.

use super::task_context::TaskContext;
use crate::cel::{ErrorCode, Fault, Meter, Value};
use crate::detect::{self, Book, Pseudonyms};
use crate::hash_key::HashKey;

impl TaskContext {
    /// A step begins that may add pseudonyms.
    pub(crate) fn open_pseudonyms(&mut self) {
        self.pseudonyms.open();
    }

    /// The step is over; `is_kept` says whether it has replaced a value.
    pub(crate) fn close_pseudonyms(&mut self, is_kept: bool) {
        self.pseudonyms.close(is_kept);
    }

    /// The digest of a text under the key of the policy.
    pub(super) fn answer_hash(
        &self,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        let Value::String(text) = about else { return Err(Fault::no_overload([about.kind()])) };
        // a policy without a key is refused; one that is compiled all the same fails here
        let key = self.schema.hash_key().ok_or(ErrorCode::Unbound)?;
        meter.charge(text.len() as u64)?;
        meter.charge_built(HashKey::DIGITS)?;
        Ok(Value::owned_text(key.digest(text)))
    }

    /// Answers with a text in which pseudonyms stand for personal data; null if the text is that already. The question is a list of the text and the kinds.
    pub(super) fn answer_tokenized(
        &self,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        self.with_book(about, |text, kinds, book| detect::tokenized(meter, kinds, text, book))
    }

    /// The same with what they stand for in their place.
    pub(super) fn answer_detokenized(
        &self,
        about: &Value<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        self.with_book(about, |text, kinds, book| detect::detokenized(meter, kinds, text, book))
    }

    fn with_book(
        &self,
        about: &Value<'_>,
        write: impl FnOnce(&str, u64, &mut Book<'_>) -> Result<Option<String>, Fault>,
    ) -> Result<Value<'static>, Fault> {
        let Value::List(question) = about else { return Err(Fault::no_overload([about.kind()])) };
        let (Some(Value::String(text)), Some(Value::UInt(kinds))) = (question.get(0), question.get(1)) else {
            return Err(Fault::no_overload([about.kind()]));
        };
        let mut alone = Pseudonyms::default();
        let mut draft = self.pseudonyms.draft();
        let (most, most_bytes) = self.schema.most_pseudonyms();
        let added = draft.as_deref_mut().unwrap_or(&mut alone);
        let written =
            write(&text, kinds, &mut Book { known: self.pseudonyms.known(), added, most, most_bytes })?;
        Ok(written.map_or(Value::Null, Value::owned_text))
    }
}
