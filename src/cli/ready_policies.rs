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
        "attack-burst" "attack-dear-message" "attack-dear-turn" "attack-loop" "attack-many-calls"
        "attack-many-messages" "attack-rest" "next-message" "rest-approved" "rest-asks" "to-the-cap"
    ),
    ready_policy!(
        "exfiltration",
        "attack-backslash" "attack-card-in-a-mail" "attack-copy-in-a-mail" "attack-copy-in-a-query"
        "attack-encoded" "attack-encoded-mail" "attack-failed-reading" "attack-fetch-after-private"
        "attack-host-as-a-user" "attack-host-in-front" "attack-image" "attack-image-by-reference"
        "attack-image-in-html" "attack-image-without-a-scheme" "attack-long-query"
        "attack-mail-after-private" "attack-mail-to-a-look-alike" "attack-other-host" "attack-plain-http"
        "attack-secret" "attack-secret-for-a-search" "colleague-after-private" "link" "own-image" "page"
        "page-after-private-asks" "secret-is-taken-out"
    ),
    ready_policy!(
        "mail",
        "attack-card" "attack-copy" "attack-crowd" "attack-domain-at-the-end" "attack-domain-in-front"
        "attack-flood" "attack-hidden-copy" "attack-line-break" "attack-link" "attack-link-like-ours"
        "attack-link-with-a-user" "attack-link-without-a-scheme" "attack-name-in-front" "attack-nobody"
        "attack-order" "attack-order-in-the-subject" "attack-order-to-forward"
        "attack-order-with-hidden-signs" "attack-secret" "attack-secret-in-the-subject"
        "attack-two-addresses" "colleague" "next-hour" "plain-mail-is-read" "stranger-asks"
        "stranger-denied"
    ),
    ready_policy!(
        "mcp",
        "again" "attack-comment" "attack-flood-of-text" "attack-hidden-argument" "attack-loop"
        "attack-many-calls" "attack-order" "attack-order-about-tools" "attack-order-in-a-key"
        "attack-order-in-a-mark" "attack-order-to-keep-quiet" "attack-reversed-text" "attack-secret"
        "attack-tag-characters" "attack-tool-comment" "attack-tool-order" "attack-tool-order-in-schema"
        "attack-tool-tag-characters" "attack-writing" "attack-zero-width" "reading" "result" "tool-plain"
        "writing-approved" "writing-asks"
    ),
    ready_policy!(
        "models",
        "answer" "attack-call-that-nobody-offered" "attack-long" "attack-look-alike"
        "attack-order-in-a-result" "attack-order-with-hidden-signs" "attack-other-model" "attack-prompt"
        "attack-prompt-in-a-call" "attack-prompt-in-capitals" "attack-secret-back" "attack-secret-sent"
        "question" "short-line"
    ),
    ready_policy!(
        "no-personal-data",
        "attack-mail-address" "attack-number-in-second-part" "plain"
    ),
    ready_policy!(
        "no-secrets",
        "attack-secret-in-arguments" "attack-secret-in-result" "plain-arguments" "plain-result"
    ),
    ready_policy!(
        "owasp-llm",
        "answer" "attack-card-in" "attack-card-out" "attack-destruction" "attack-failing" "attack-handler"
        "attack-image" "attack-injection" "attack-injection-in-a-result"
        "attack-injection-with-hidden-signs" "attack-memory" "attack-nobody" "attack-prompt" "attack-script"
        "attack-secret-out" "attack-secret-shown" "failed-once" "memory-asks" "question" "result" "search"
    ),
    ready_policy!(
        "shell",
        "attack-absolute-name" "attack-backquotes" "attack-empty-line" "attack-eval" "attack-external-diff"
        "attack-home" "attack-name-in-a-long-option" "attack-name-in-an-option" "attack-name-in-quotes"
        "attack-output-of-git" "attack-pager" "attack-parent-folder" "attack-parent-in-the-middle"
        "attack-parent-of-an-absolute-name" "attack-pipe-into-a-shell" "attack-program-by-its-path"
        "attack-push" "attack-redirection" "attack-removal" "attack-search-path" "attack-second-command"
        "attack-second-line" "attack-split-name" "attack-substitution" "attack-variable" "building-asks"
        "building-denied" "comparing" "not-a-command-line" "reading" "reading-by-absolute-names"
    ),
    ready_policy!(
        "spending",
        "another-day" "attack-currency" "attack-many-small" "attack-many-tasks" "attack-much"
        "attack-negative" "attack-twice" "attack-twice-after-a-failure" "attack-zero" "large-approved"
        "large-asks" "no-amount" "small"
    ),
    ready_policy!(
        "sql",
        "attack-all-rows" "attack-all-rows-by-a-condition" "attack-all-rows-by-or" "attack-backslash"
        "attack-change-in-a-query" "attack-comment" "attack-comment-between" "attack-copy"
        "attack-derived-table" "attack-dollar-quotes" "attack-drop" "attack-joined-table"
        "attack-look-alike" "attack-open-text" "attack-other-table" "attack-quoted-name"
        "attack-reading-a-file" "attack-second-statement" "attack-table-behind-a-column-like-a-clause"
        "attack-table-behind-a-comma" "attack-table-behind-a-join"
        "attack-table-behind-a-name-like-a-clause" "attack-table-behind-a-query"
        "attack-table-behind-an-alias" "attack-table-behind-brackets" "attack-table-in-a-subquery"
        "attack-table-of-a-change" "attack-union" "attack-writing-a-file"
        "changing-a-table-that-is-only-read" "changing-asks" "changing-denied" "inserting-asks" "reading"
        "subquery"
    ),
];
