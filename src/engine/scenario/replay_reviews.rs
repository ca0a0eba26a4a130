//! The reviews of a task that is played: answered by its steps, or in the place of steps that lack.
//!
//! In: the open reviews, and the steps ahead. Out: an event for each answer. A step names the review by the call that it is about, by its
//! reviewer, or by both.

use super::known_call::Stage;
use super::made_up::by_somebody;
use super::messages;
use super::replay::{Impossible, Replay, Unanswered};
use super::replayed::{Happened, ReplayedEvent};
use super::step::{ScriptAction, ScriptReview, ScriptStep};
use super::world::drive;
use crate::diagnostic::Diagnostic;
use crate::source::Place;
use crate::task::{Answer, Identity, Operation, QuestionId, Review, ReviewAnswer, ReviewState};
use std::collections::HashSet;

impl ScriptReview {
    /// Whether it is an answer to this review.
    fn answers(&self, review: &Review) -> bool {
        let call = review.call.as_ref().map(|call| call.as_str());
        self.reviewer.as_ref().is_none_or(|reviewer| *reviewer.text == *review.reviewer)
            && self.call.as_ref().is_none_or(|named| call == Some(&*named.text))
    }

    /// Who answers, if it says so.
    fn by(&self) -> Option<Identity> {
        let by = self.by.as_ref()?;
        let email = Some(by.text.to_string()).filter(|name| name.contains('@'));
        Some(Identity { issuer: None, subject: by.text.to_string(), email })
    }

    /// The place of the words that name the review.
    fn place<'a>(&'a self, step: &'a Place) -> &'a Place {
        self.reviewer.as_ref().or(self.call.as_ref()).map_or(step, |named| &named.place)
    }
}

impl Replay {
    /// Answers the review that a step means.
    pub(super) fn review(
        &mut self,
        place: &Place,
        written: &ScriptReview,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        let reviews: Vec<Review> = self.open_reviews().collect();
        let Some(review) = reviews.iter().find(|review| written.answers(review)) else {
            return Err(self.no_such_review(place, written, &reviews).into());
        };
        let choice = written.choice.clone();
        let answer = ReviewAnswer {
            choice,
            by: written.by(),
            note: written.note.as_ref().map(|note| note.text.to_string()),
            addressed_as: written.addressed_as.clone(),
        };
        let names: Vec<String> = match &review.panel {
            Some(panel) => panel.names().cloned().collect(),
            None => vec![review.reviewer.clone()],
        };
        if answer.names_among(&names).is_empty() {
            return Err(
                messages::not_addressed(written.by.as_ref().map_or(place, |by| &by.place), &names).into()
            );
        }
        self.answer(place, review, answer, true, events)
    }

    fn no_such_review(&self, place: &Place, written: &ScriptReview, reviews: &[Review]) -> Diagnostic {
        let of_call = |review: &&Review| {
            let call = review.call.as_ref().map(|call| call.as_str());
            written.call.as_ref().is_some_and(|named| call == Some(&*named.text))
        };
        let about_call = reviews.iter().find(of_call);
        match (&written.reviewer, &written.call) {
            (_, Some(call)) if about_call.is_none() => messages::no_review_of(call),
            (Some(reviewer), _) => match about_call.or(reviews.first()) {
                Some(asked) => messages::other_reviewer(reviewer, &asked.reviewer),
                None => messages::no_review(reviewer),
            },
            _ => messages::whose_review(written.place(place)),
        }
    }

    fn answer(
        &mut self,
        place: &Place,
        review: &Review,
        answer: ReviewAnswer,
        recorded: bool,
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        let question = review.question;
        let answer = by_somebody(answer, review.panel.as_ref(), review.approvals.len().saturating_add(1));
        let verdict = ReviewState::after(&answer);
        let impossible = |error| messages::impossible_call(place, &error);
        let progress = self.task.answer(question, Answer::Review(answer), self.world.now);
        let progress = progress.map_err(impossible)?.into_progress();
        let decision = drive(&mut self.task, progress, &mut self.world).map_err(impossible)?;
        let call = review.call.as_ref().map(ToString::to_string);
        if let Some(name) = &call {
            let known = self.calls.get(name).map(|known| known.stage);
            if matches!(known, Some(Stage::Asks(asked)) if asked == question) {
                let is_result = verdict == ReviewState::Responded;
                self.enter_stage(name, if is_result { Stage::Done } else { Stage::after(&decision) });
            }
        }
        let happened = Happened::Review { reviewer: review.reviewer.clone(), call, verdict, recorded };
        self.tell(place, happened, decision, events);
        Ok(())
    }

    /// Tells of what a step has brought about, and answers the reviews that the recording does not answer in `ahead`.
    pub(super) fn settle(
        &mut self,
        step: &ScriptStep,
        ahead: &[ScriptStep],
        events: &mut Vec<ReplayedEvent>,
    ) -> Result<(), Impossible> {
        loop {
            self.follow(&step.place, events)?;
            let approved = match self.unanswered {
                Unanswered::Open => return Ok(()),
                Unanswered::Approve => true,
                Unanswered::Deny | Unanswered::Stop => false,
            };
            let Some(review) = self.without_answer(ahead) else { return Ok(()) };
            if self.unanswered == Unanswered::Stop {
                let call = review.call.as_ref().map(|call| call.as_str());
                return Err(messages::no_answer(&step.place, &review.reviewer, call).into());
            }
            self.answer(&step.place, &review, approved.into(), false, events)?;
        }
    }

    /// The first open review that no step ahead answers. A step answers one review, and only one that stands before the result of the
    /// call that waits for it.
    fn without_answer(&self, ahead: &[ScriptStep]) -> Option<Review> {
        let mut taken: HashSet<usize> = HashSet::new();
        self.open_reviews().find(|review| {
            let waiting = review.call.as_ref().filter(|call| {
                let known = self.calls.get(call.as_str());
                known.is_some_and(|known| known.stage.waits())
            });
            let is_its_result = |step: &ScriptStep| match (&step.action, waiting) {
                (ScriptAction::Operation { operation: Operation::Results { results }, .. }, Some(call)) => {
                    results.iter().any(|reported| reported.call == *call)
                }
                _ => false,
            };
            let until_result = ahead.iter().enumerate().take_while(|(_, step)| !is_its_result(step));
            let answer = until_result.filter(|(at, _)| !taken.contains(at)).find(
                |(_, step)| matches!(&step.action, ScriptAction::Review(written) if written.answers(review)),
            );
            match answer {
                Some((at, _)) => !taken.insert(at),
                None => true,
            }
        })
    }

    fn open_reviews(&self) -> impl Iterator<Item = Review> {
        self.task.reviews().filter(|review| review.state == ReviewState::Open)
    }

    /// Whether a question waits for its answer.
    pub(super) fn is_open(&self, question: QuestionId) -> bool {
        self.task.questions().any(|open| open.id == question)
    }
}
