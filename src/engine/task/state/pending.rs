//! An operation that waits for an answer, and what is known of the review that it waits for.

use super::effect::{Question, QuestionId, Request};
use super::review::Reviewed;
use super::subject::Subject;
use super::under_way::UnderWay;
use crate::cel::Timestamp;
use crate::context::full_time;
use crate::policy::{Policy, ReviewPanel};
use serde::{Deserialize, Serialize};

/// An operation that waits for an answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::task) struct Pending {
    /// Names what it asks.
    pub(in crate::task) id: QuestionId,
    pub(in crate::task) operation: UnderWay,
    pub(in crate::task) request: Request,
    /// The script whose call the operation is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::task) script: Option<Box<UnderWay>>,
    /// What a person is told beside that; nothing where another host is asked.
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
}
