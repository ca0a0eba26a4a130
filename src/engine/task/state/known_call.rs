//! One call that a task knows by its id: digests of what it was and came to, and what is told of it once it is closed.

use super::call_id::CallId;
use super::decision::Decision;
use super::hidden::Hidden;
use super::mark::Mark;
use super::verdict::{Allowed, Verdict};
use crate::context::InvocationId;
use crate::policy::Origin;
use serde::{Deserialize, Serialize};

/// One call that a task knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::task) struct KnownCall {
    /// How many calls the task had known when it was made.
    pub(super) number: u64,
    pub(super) id: CallId,
    /// Of its function and its arguments, as the model gave them; absent for an id that the task made up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made: Option<Mark>,
    /// Of the result that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Mark>,
    /// Its entry on record, once it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) record: Option<InvocationId>,
    /// What it came to, once it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<Told>,
}

/// What is kept of the decision of a call that is closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "WholeTold", into = "WholeTold")]
pub(super) enum Told {
    /// It goes on, and nothing else is told: of most calls.
    Allowed { is_on_record: bool },
    /// The decision of a call that somebody has to be told more about.
    Whole(Box<WholeTold>),
}

/// The same as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WholeTold {
    /// Without a value.
    #[serde(flatten)]
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Box<Hidden>>,
    /// Whether its value is the result of the call, which is on record or was reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_on_record: bool,
}

/// What a task knows of a call that is closed.
pub(in crate::task) enum Closed {
    /// It came to this decision, which has no value.
    Told(Decision),
    /// It came to this decision, whose value is the output of this entry, as far as that is kept.
    OnRecord(Decision, InvocationId),
    /// What it came to is not kept.
    NotKept,
}

impl KnownCall {
    /// Whether a call is this one, made once more.
    pub(in crate::task) fn is_made_so(&self, made: Mark) -> bool {
        self.made == Some(made)
    }

    /// The digest of its result, if it was reported.
    pub(in crate::task) fn result(&self) -> Option<Mark> {
        self.result
    }

    /// Whether it was let through and is closed, and nobody has ever seen it run.
    pub(in crate::task) fn was_let_by_unseen(&self) -> bool {
        let is_allowed = self.told.as_ref().is_some_and(|told| told.is_allowed());
        is_allowed && self.record.is_none() && self.result.is_none()
    }

    /// Its entry on record, if it has run.
    pub(in crate::task) fn on_record(&self) -> Option<InvocationId> {
        self.record
    }

    /// What it came to.
    pub(in crate::task) fn closed(&self) -> Closed {
        match (&self.told, self.record) {
            (None, _) => Closed::NotKept,
            (Some(told), Some(record)) if told.is_on_record() => Closed::OnRecord(told.decision(), record),
            // a value that is not on record was for the model, once
            (Some(told), _) if told.is_allowed() => Closed::NotKept,
            (Some(told), _) => Closed::Told(told.decision()),
        }
    }

    /// What it takes.
    pub(super) fn bytes(&self) -> u64 {
        let told = match &self.told {
            None | Some(Told::Allowed { .. }) => 0,
            Some(Told::Whole(told)) => {
                let texts = [told.verdict.message(), told.verdict.reason()].into_iter().flatten();
                texts.fold(size_of::<WholeTold>(), |sum, text| sum.saturating_add(text.len()))
            }
        };
        size_of::<Self>().saturating_add(self.id.as_str().len()).saturating_add(told) as u64
    }
}

impl Told {
    pub(super) fn of(decision: &Decision, is_on_record: bool) -> Self {
        Self::from(WholeTold {
            verdict: decision.verdict.clone().without_value(),
            decided_by: decision.decided_by.clone(),
            secret: decision.secret.clone(),
            is_on_record,
        })
    }

    fn is_allowed(&self) -> bool {
        match self {
            Self::Allowed { .. } => true,
            Self::Whole(told) => matches!(told.verdict, Verdict::Allow(_)),
        }
    }

    fn is_on_record(&self) -> bool {
        match self {
            Self::Allowed { is_on_record } => *is_on_record,
            Self::Whole(told) => told.is_on_record,
        }
    }

    fn decision(&self) -> Decision {
        let WholeTold { verdict, decided_by, secret, is_on_record: _ } = self.clone().into();
        Decision { decided_by, secret, ..Decision::new(verdict) }
    }
}

impl From<WholeTold> for Told {
    fn from(told: WholeTold) -> Self {
        match told {
            WholeTold { verdict: Verdict::Allow(passed), decided_by: None, secret: None, is_on_record }
                if passed == Allowed::default() =>
            {
                Self::Allowed { is_on_record }
            }
            told => Self::Whole(Box::new(told)),
        }
    }
}

impl From<Told> for WholeTold {
    fn from(told: Told) -> Self {
        match told {
            Told::Allowed { is_on_record } => {
                Self { verdict: Verdict::allow(None), decided_by: None, secret: None, is_on_record }
            }
            Told::Whole(told) => *told,
        }
    }
}
