//! An operation that waits for an answer, and what is known of the review that it waits for.

use super::effect::{Question, QuestionId, Request};
use super::exchange::Exchange;
use super::review::Reviewed;
use super::subject::Subject;
use super::under_way::UnderWay;
use crate::cel::Timestamp;
use crate::context::full_time;
use crate::policy::{Policy, ReviewPanel};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// An operation that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Pending {
    /// Names what it asks; earlier releases knew of one question at a time.
    #[serde(default)]
    pub(in crate::task) id: QuestionId,
    pub(in crate::task) operation: UnderWay,
    pub(in crate::task) request: Request,
    /// The script whose call the operation is.
    #[serde(default)]
    pub(in crate::task) script: Option<Box<UnderWay>>,
    /// What a person is told beside that; nothing where another host is asked, or an earlier release asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) asked: Option<Asked>,
}

/// What is known of a review from the moment when it was asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Asked {
    #[serde(with = "full_time")]
    pub(in crate::task) at: Timestamp,
    /// When nobody's answer counts as a denial.
    #[serde(with = "full_time::optional")]
    pub(in crate::task) expires: Option<Timestamp>,
    /// What is asked, as views show it.
    pub(in crate::task) text: Option<String>,
    /// Who has approved so far, where several people are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::task) approvals: Vec<Reviewed>,
}

/// The operations that wait, as they are stored: earlier releases knew of one or nothing.
pub(in crate::task) fn stored_waiting<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Pending>, D::Error> {
    struct Stored;
    impl<'de> Visitor<'de> for Stored {
        type Value = Vec<Pending>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("operations that wait")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, several: A) -> Result<Vec<Pending>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(several))
        }

        fn visit_map<A: MapAccess<'de>>(self, one: A) -> Result<Vec<Pending>, A::Error> {
            Ok(vec![Pending::deserialize(MapAccessDeserializer::new(one))?])
        }

        fn visit_unit<E>(self) -> Result<Vec<Pending>, E> {
            Ok(Vec::new())
        }
    }
    deserializer.deserialize_any(Stored)
}

impl Pending {
    /// What it asks.
    pub(in crate::task) fn question(&self) -> Question {
        Question { id: self.id, request: self.request.clone() }
    }

    /// Whether somebody is asked for a review.
    pub(in crate::task) fn is_in_review(&self) -> bool {
        self.reviewer().is_some()
    }

    /// Its question, if it is a review of which is known when it was asked: releases of before kept no more than the question.
    pub(in crate::task) fn dated_review(&self) -> Option<QuestionId> {
        self.asked.as_ref().and(self.reviewer()).and(Some(self.id))
    }

    /// Who is asked for a review, if somebody is.
    pub(in crate::task) fn reviewer(&self) -> Option<&str> {
        match &self.request {
            Request::Review { reviewer, .. } => Some(reviewer),
            _ => None,
        }
    }

    /// The people, if several are asked for a review.
    pub(in crate::task) fn panel(&self) -> Option<&ReviewPanel> {
        match &self.request {
            Request::Review { panel, .. } => panel.as_ref(),
            _ => None,
        }
    }

    /// Who has approved so far, if several people are asked.
    pub(in crate::task) fn approvals(&self) -> &[Reviewed] {
        self.asked.as_ref().map_or(&[], |asked| &asked.approvals)
    }

    /// Whether nobody has answered in time.
    pub(in crate::task) fn has_expired(&self, now: Timestamp) -> bool {
        self.asked.as_ref().and_then(|asked| asked.expires).is_some_and(|expires| expires <= now)
    }

    /// Whether it can have come about under a policy.
    pub(in crate::task) fn fits(&self, policy: &Policy) -> bool {
        let of_script = |script: &UnderWay| {
            matches!(script.subject, Subject::Script(_))
                && self.operation.subject.call().is_some()
                && script.fits(policy)
        };
        let asks = self.operation.course.stage.hook().is_none()
            || self.operation.step_under_way(policy).is_some()
            || matches!(self.request, Request::Counters { .. });
        asks && self.operation.fits(policy) && self.script.as_deref().is_none_or(of_script)
    }

    /// Takes back what reviewers have answered to the step that waits, and with it what was answered behind that: an
    /// expression asks in order. Calls that were carried out before the first of them stay what they are.
    pub(in crate::task) fn ask_reviewers_again(&mut self) {
        self.operation.course.approved.clear();
        self.operation.course.editors.clear();
        self.operation.course.notes.clear();
        self.asked.iter_mut().for_each(|asked| asked.approvals.clear());
        let exchanges = &mut self.operation.course.exchanges;
        let is_review = |exchange: &Exchange| matches!(exchange.question, Request::Review { .. });
        if let Some(first) = exchanges.iter().position(is_review)
            && let Some(Exchange { question, .. }) = exchanges.drain(first..).next()
        {
            self.request = question;
        }
    }
}
