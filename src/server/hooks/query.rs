//! How a server answers the hooks of Claude Code, as the query of the hook's address says it.

use serde::Deserialize;
use std::time::Duration;

/// How a server answers the hooks of Claude Code, as the address of the hook says it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct HookQuery {
    /// The agent whose rules hold: its namespace and its name with a slash between; without it the default agent of `claude-code`.
    pub(super) agent: Option<String>,
    /// The id of the user for whom the session runs.
    pub(super) user: Option<String>,
    /// The session that has started this one: its task is the parent. One that is not known is none.
    pub(super) parent: Option<String>,
    /// Whom reviews are for: `ask` passes them on to whoever sits before Claude Code, `wait` has their reviewers asked.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("enum" = ["ask", "wait"])))]
    reviews: Option<Reviews>,
    /// How long a review is waited for, in milliseconds, under `wait`.
    review_ms: Option<u64>,
    /// `true` for calls that are allowed to be made without Claude Code asking its user.
    grant: Option<bool>,
    /// What happens to an event about which nothing can be decided: `closed`, or `open`, where the answer is a problem.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("enum" = ["closed", "open"])))]
    fail: Option<Fail>,
}

/// Whom reviews are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Reviews {
    /// For whoever sits before Claude Code.
    #[default]
    Ask,
    /// For their reviewers.
    Wait,
}

/// What happens to an event about which nothing can be decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum Fail {
    /// It goes no further.
    #[default]
    Closed,
    /// It goes on.
    Open,
}

impl TryFrom<String> for Reviews {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        match &*word {
            "ask" => Ok(Self::Ask),
            "wait" => Ok(Self::Wait),
            _ => Err("`ask` or `wait`"),
        }
    }
}

impl TryFrom<String> for Fail {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        match &*word {
            "closed" => Ok(Self::Closed),
            "open" => Ok(Self::Open),
            _ => Err("`closed` or `open`"),
        }
    }
}

/// The longest that a review is waited for, unless the hook says otherwise: shorter than Claude Code waits for a hook.
const REVIEW_MS: u64 = 50_000;

impl HookQuery {
    pub(super) fn fails_open(&self) -> bool {
        self.fail == Some(Fail::Open)
    }

    pub(super) fn reviews(&self) -> Reviews {
        self.reviews.unwrap_or_default()
    }

    pub(super) fn grants(&self) -> bool {
        self.grant == Some(true)
    }

    /// How long a review is waited for, in a request that may take so long: most of that, so that it is answered in time.
    pub(super) fn review_time(&self, max_request_ms: u64) -> Duration {
        let most = max_request_ms.saturating_sub(max_request_ms.checked_div(5).unwrap_or_default());
        Duration::from_millis(self.review_ms.unwrap_or(REVIEW_MS).min(most))
    }
}
