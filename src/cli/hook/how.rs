//! How events of Claude Code are answered: options of the hook, and of what installs it.

use super::super::files::encoded;
use clap::Args;
use std::fmt::Write as _;

/// How events are answered: what stands in the address of the request.
#[derive(Args)]
pub(super) struct How {
    /// The agent whose rules hold; the default agent of the namespace `claude-code` if not said
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(super) agent: Option<String>,

    /// The user for whom sessions run; the user of the system if not said
    #[arg(long, value_name = "ID")]
    pub(super) user: Option<String>,

    /// Whom reviews are for: `ask` passes them on to whoever sits before Claude Code, `wait` waits until their reviewers have answered
    #[arg(long, value_name = "WHOM", value_parser = ["ask", "wait"], default_value = "ask")]
    pub(super) reviews: String,

    /// How long a review is waited for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 50)]
    pub(super) review_wait: u64,

    /// Let calls that are allowed run without Claude Code asking its user; without it, its own rules of permission go on
    #[arg(long)]
    pub(super) grant: bool,

    /// What happens to an event about which nothing can be decided: it goes no further, or it goes on
    #[arg(long, value_name = "HOW", value_parser = ["closed", "open"], default_value = "closed")]
    pub(super) fail: String,
}

impl How {
    /// The path of the request to a server, for a session that another one has started.
    pub(super) fn path(&self, parent: Option<&str>) -> String {
        format!("/hooks/claude-code?{}", self.query(parent))
    }

    /// The query of that path.
    pub(super) fn query(&self, parent: Option<&str>) -> String {
        let mut query = format!(
            "reviews={}&review_ms={}&grant={}&fail={}",
            self.reviews,
            self.review_wait.saturating_mul(1_000),
            self.grant,
            self.fail
        );
        let own = || ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        for (name, value) in [
            ("agent", self.agent.clone()),
            ("user", self.user.clone().or_else(own)),
            ("parent", parent.map(str::to_owned)),
        ] {
            if let Some(value) = value {
                // writing to a text cannot fail
                let _ = write!(query, "&{name}={}", encoded(&value));
            }
        }
        query
    }
}
