//! The policies that `celador init --policy NAME` writes: the folders of `policies/library`, word for word.
//!
//! Their texts are part of the program, so that a copy needs no network and is that of this version. A test holds the lists
//! below against the folders.

/// A policy with the agent and the cases that show it.
pub(crate) struct ReadyPolicy {
    /// Its name, as on the command line.
    pub(crate) name: &'static str,
    /// Paths in the folder, and texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// One policy: its name, and the names of its cases.
macro_rules! ready_policy {
    ($name:literal, $($case:literal)*) => {
        ReadyPolicy {
            name: $name,
            files: &[
                ("policy.yaml", include_str!(concat!("../../policies/library/", $name, "/policy.yaml"))),
                ("example.yaml", include_str!(concat!("../../policies/library/", $name, "/example.yaml"))),
                $((
                    concat!("cases/", $case, ".yaml"),
                    include_str!(concat!("../../policies/library/", $name, "/cases/", $case, ".yaml")),
                ),)*
            ],
        }
    };
}

/// All of them, by name.
pub(crate) const READY_POLICIES: &[ReadyPolicy] = &[
    ready_policy!(
        "budget",
        "attacks-caps" "attacks-rest" "next-message" "rest-approved" "rest-asks" "to-the-cap"
    ),
    ready_policy!(
        "exfiltration",
        "attacks-copies" "attacks-hosts" "attacks-images" "attacks-private" "attacks-recipients"
        "attacks-secrets" "colleague-after-private" "link" "own-image" "page" "page-after-private-asks"
        "secret-is-taken-out"
    ),
    ready_policy!(
        "loops",
        "attacks-ping-pong" "attacks-same-call" "attacks-same-outcome" "progress" "wrong-arguments"
    ),
    ready_policy!(
        "mail",
        "attacks-crowds" "attacks-links" "attacks-orders" "attacks-outside" "attacks-recipients"
        "attacks-secrets" "colleague" "next-hour" "plain-mail-is-read" "stranger-asks" "stranger-denied"
    ),
    ready_policy!(
        "mcp",
        "again" "attacks-arguments" "attacks-destruction" "attacks-hidden-text" "attacks-loops"
        "attacks-orders" "attacks-tools" "reading" "result" "result-with-an-emoji" "tool-plain"
        "writing-approved" "writing-asks"
    ),
    ready_policy!(
        "models",
        "answer" "attacks-approved" "attacks-orders" "attacks-prompt" "attacks-secrets" "question"
        "short-line"
    ),
    ready_policy!(
        "no-personal-data",
        "attacks-addresses" "attacks-numbers" "attacks-words" "plain" "repository"
    ),
    ready_policy!(
        "no-secrets",
        "attacks-arguments" "attacks-results" "plain-arguments" "plain-result"
    ),
    ready_policy!(
        "owasp-llm",
        "answer" "attacks-agency" "attacks-data" "attacks-injection" "attacks-markup" "attacks-prompt"
        "failed-once" "memory-asks" "question" "result" "search"
    ),
    ready_policy!(
        "shell",
        "attacks-folder" "attacks-git" "attacks-programs" "attacks-words" "building-asks"
        "building-denied" "comparing" "not-a-command-line" "reading" "reading-by-absolute-names"
    ),
    ready_policy!(
        "spending",
        "another-day" "attacks-amounts" "attacks-once" "attacks-sums" "large-approved" "large-asks"
        "no-amount" "small"
    ),
    ready_policy!(
        "sql",
        "attacks-functions" "attacks-kinds" "attacks-rows" "attacks-tables" "attacks-writes"
        "changing-a-table-that-is-only-read" "changing-asks" "changing-denied" "comment"
        "inserting-asks" "reading" "subquery"
    ),
];
