//! Reviews by several people: each answers for themselves, until enough have approved or one has denied.
//!
//! In: an open review of several, and the answer of one person. Out: whether the review goes on waiting, with the approval on record, or
//! is closed by this answer. One denial denies: whoever is asked may stop what they are asked about, or asking them would be for show. An
//! edit closes it as well, for the others have approved of something else. Somebody of whom nothing is known is one person, however
//! often they answer.

use crate::cel::Timestamp;
use crate::task::state::{
    Identity, Pending, QuestionId, Request, ReviewAnswer, ReviewChoice, Reviewed, Task, TaskError,
};

impl Task {
    /// Takes the approval of one of several people, if it is not enough yet; whether it is not. The answer then has the names on record
    /// by which it counts.
    pub(in crate::task) fn is_one_of_several(
        &mut self,
        question: QuestionId,
        answer: &mut ReviewAnswer,
        now: Timestamp,
    ) -> Result<bool, TaskError> {
        let pending = self.waiting.iter_mut().find(|pending| pending.id == question);
        let Some(Pending { request: Request::Review { panel: Some(panel), .. }, asked: Some(asked), .. }) =
            pending
        else {
            return Ok(false);
        };
        let names = answer.names_among(panel.names());
        if names.is_empty() {
            return Err(TaskError::NotAddressed(question.0));
        }
        answer.addressed_as = names;
        if answer.choice != ReviewChoice::Approve {
            return Ok(false);
        }
        let mut known = asked.approvals.iter();
        if !known.any(|known| is_same(known.answer.by.as_ref(), answer.by.as_ref())) {
            asked.approvals.push(Reviewed { answer: answer.clone(), at: now });
        }
        let people: Vec<&[String]> =
            asked.approvals.iter().map(|known| &*known.answer.addressed_as).collect();
        Ok(!panel.is_full(&people))
    }
}

impl ReviewAnswer {
    /// The names of a review by which the answer counts. An answer without a person, and without names, counts by all of them:
    /// its host vouches for one person.
    pub(crate) fn names_among<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
        let is_theirs = |name: &&String| match (&*self.addressed_as, &self.by) {
            ([], None) => true,
            ([], Some(by)) => {
                let email = by.email.as_ref().is_some_and(|email| email.eq_ignore_ascii_case(name));
                email || (by.subject == **name && !name.contains('@'))
            }
            (own, _) => own.contains(name),
        };
        names.into_iter().filter(is_theirs).cloned().collect()
    }
}

fn is_same(one: Option<&Identity>, other: Option<&Identity>) -> bool {
    let person = |of: Option<&Identity>| of.map(|by| (by.issuer.clone(), by.subject.clone()));
    person(one) == person(other)
}
