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
        "attack-host-as-a-user" "attack-host-in-front" "attack-image" "attack-image-after-raw-text"
        "attack-image-below-another-base" "attack-image-by-a-folded-reference" "attack-image-by-a-refresh"
        "attack-image-by-a-short-reference" "attack-image-by-reference" "attack-image-in-a-comment"
        "attack-image-in-a-link" "attack-image-in-a-page-in-a-page" "attack-image-in-a-set"
        "attack-image-in-a-style" "attack-image-in-a-style-sheet" "attack-image-in-a-table"
        "attack-image-in-an-escaped-style" "attack-image-in-angle-brackets" "attack-image-in-html"
        "attack-image-in-two-parts" "attack-image-of-a-preloaded-page" "attack-image-of-a-video"
        "attack-image-of-another-scheme" "attack-image-of-svg" "attack-image-with-a-backslash"
        "attack-image-with-a-line-end" "attack-image-with-a-user" "attack-image-with-an-escape"
        "attack-image-with-an-escaped-slash" "attack-image-without-a-scheme" "attack-image-without-quotes"
        "attack-long-query" "attack-mail-after-private" "attack-mail-to-a-look-alike" "attack-other-host"
        "attack-plain-http" "attack-recipient-ahead-of-ours" "attack-recipient-behind-a-blank"
        "attack-recipient-behind-a-semicolon" "attack-recipient-below-our-domain" "attack-recipient-by-a-bang"
        "attack-recipient-by-a-number" "attack-recipient-by-a-route" "attack-recipient-by-an-encoded-word"
        "attack-recipient-in-a-comment" "attack-recipient-in-a-group" "attack-recipient-in-a-quoted-name"
        "attack-recipient-in-brackets" "attack-recipient-on-a-second-line"
        "attack-recipient-with-a-dot-behind" "attack-recipient-with-a-look-alike-letter"
        "attack-recipient-with-a-quoted-part" "attack-recipient-with-a-tab"
        "attack-recipient-with-an-invisible-letter" "attack-recipient-with-two-signs" "attack-secret"
        "attack-secret-for-a-search" "colleague-after-private" "link" "own-image" "page"
        "page-after-private-asks" "secret-is-taken-out"
    ),
    ready_policy!(
        "mail",
        "attack-card" "attack-copy" "attack-crowd" "attack-crowd-in-one-text" "attack-domain-at-the-end"
        "attack-domain-in-front" "attack-flood" "attack-hidden-copy" "attack-line-break" "attack-link"
        "attack-link-by-a-backslash" "attack-link-by-a-handler" "attack-link-by-a-look-alike"
        "attack-link-by-a-number" "attack-link-by-a-path-alone" "attack-link-by-a-reference"
        "attack-link-by-a-script" "attack-link-by-a-set" "attack-link-by-a-style" "attack-link-by-an-entity"
        "attack-link-by-another-scheme" "attack-link-by-capitals" "attack-link-by-markdown"
        "attack-link-by-www" "attack-link-like-ours" "attack-link-with-a-user" "attack-link-without-a-scheme"
        "attack-name-in-front" "attack-nobody" "attack-order" "attack-order-in-the-subject"
        "attack-order-to-forward" "attack-order-with-hidden-signs" "attack-recipient-by-bang"
        "attack-recipient-by-blank" "attack-recipient-by-comment" "attack-recipient-by-dot"
        "attack-recipient-by-encoded-word" "attack-recipient-by-group" "attack-recipient-by-line-end"
        "attack-recipient-by-look-alike" "attack-recipient-by-quoted-part" "attack-recipient-by-route"
        "attack-recipient-by-semicolon" "attack-secret" "attack-secret-in-the-subject" "attack-two-addresses"
        "colleague" "next-hour" "plain-mail-is-read" "stranger-asks" "stranger-denied"
    ),
    ready_policy!(
        "mcp",
        "again" "attack-argument-with-a-arabic-number-sign" "attack-argument-with-a-blank-braille"
        "attack-argument-with-a-grapheme-joiner" "attack-argument-with-a-hangul-filler"
        "attack-argument-with-a-hangul-jamo-filler" "attack-argument-with-a-joiner"
        "attack-argument-with-a-late-variation-selector" "attack-argument-with-a-non-joiner"
        "attack-argument-with-a-soft-hyphen" "attack-argument-with-a-variation-selector" "attack-comment"
        "attack-flood-of-text" "attack-hidden-argument" "attack-loop" "attack-many-calls" "attack-order"
        "attack-order-about-tools" "attack-order-in-a-key" "attack-order-in-a-mark"
        "attack-order-to-keep-quiet" "attack-result-with-a-arabic-number-sign"
        "attack-result-with-a-blank-braille" "attack-result-with-a-end-of-ayah" "attack-result-with-a-escape"
        "attack-result-with-a-grapheme-joiner" "attack-result-with-a-half-width-filler"
        "attack-result-with-a-hangul-filler" "attack-result-with-a-hangul-jamo-filler"
        "attack-result-with-a-interlinear-anchor" "attack-result-with-a-joiner"
        "attack-result-with-a-khmer-vowel" "attack-result-with-a-late-variation-selector"
        "attack-result-with-a-line-separator" "attack-result-with-a-mongolian-separator"
        "attack-result-with-a-musical-sign" "attack-result-with-a-non-joiner"
        "attack-result-with-a-object-replacement" "attack-result-with-a-soft-hyphen"
        "attack-result-with-a-variation-selector" "attack-reversed-text" "attack-secret"
        "attack-tag-characters" "attack-tool-comment" "attack-tool-order" "attack-tool-order-in-schema"
        "attack-tool-tag-characters" "attack-tool-with-a-arabic-number-sign"
        "attack-tool-with-a-blank-braille" "attack-tool-with-a-end-of-ayah"
        "attack-tool-with-a-grapheme-joiner" "attack-tool-with-a-hangul-filler"
        "attack-tool-with-a-hangul-jamo-filler" "attack-tool-with-a-joiner" "attack-tool-with-a-khmer-vowel"
        "attack-tool-with-a-late-variation-selector" "attack-tool-with-a-non-joiner"
        "attack-tool-with-a-soft-hyphen" "attack-tool-with-a-variation-selector" "attack-writing"
        "attack-zero-width" "reading" "result" "result-with-an-emoji" "tool-plain" "writing-approved"
        "writing-asks"
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
        "attack-address-in-a-link" "attack-address-in-a-sentence" "attack-address-in-brackets"
        "attack-address-in-capitals" "attack-address-in-full-width" "attack-address-in-quotes"
        "attack-address-with-a-soft-hyphen" "attack-address-with-a-tag" "attack-address-with-an-escape"
        "attack-address-with-an-invisible-sign" "attack-mail-address" "attack-number-in-capitals"
        "attack-number-in-full-width" "attack-number-in-second-part" "attack-number-in-small-letters"
        "attack-number-in-two-parts" "attack-number-of-another-script" "attack-number-with-blanks"
        "attack-number-with-dots" "attack-number-with-invisible-signs" "attack-number-with-long-dashes"
        "attack-number-without-signs" "attack-words-in-capitals" "attack-words-on-two-lines"
        "attack-words-together" "attack-words-with-dots" "plain"
    ),
    ready_policy!(
        "no-secrets",
        "attack-argument-as-a-password-of-an-address" "attack-argument-as-a-private-key"
        "attack-argument-as-a-token-of-github" "attack-argument-behind-an-equals-sign"
        "attack-argument-in-a-link" "attack-argument-in-a-sentence" "attack-argument-in-full-width"
        "attack-argument-in-json" "attack-argument-in-quotes" "attack-argument-with-escapes"
        "attack-argument-with-invisible-signs" "attack-result-as-a-name"
        "attack-result-as-a-password-of-an-address" "attack-result-as-a-private-key"
        "attack-result-as-a-token-of-github" "attack-result-behind-an-equals-sign" "attack-result-in-a-link"
        "attack-result-in-a-sentence" "attack-result-in-full-width" "attack-result-in-json"
        "attack-result-in-quotes" "attack-result-with-escapes" "attack-result-with-invisible-signs"
        "attack-secret-in-arguments" "attack-secret-in-result" "plain-arguments" "plain-result"
    ),
    ready_policy!(
        "owasp-llm",
        "answer" "attack-card-in" "attack-card-out" "attack-destruction" "attack-failing" "attack-handler"
        "attack-image" "attack-injection" "attack-injection-in-a-result" "attack-injection-with-hidden-signs"
        "attack-markup-a-base" "attack-markup-a-broken-tag" "attack-markup-a-button"
        "attack-markup-a-data-link" "attack-markup-a-form" "attack-markup-a-frame"
        "attack-markup-a-handler-behind-a-line-end" "attack-markup-a-handler-behind-a-slash"
        "attack-markup-a-handler-in-capitals" "attack-markup-a-script-link"
        "attack-markup-a-script-link-with-a-tab" "attack-markup-a-script-link-with-entities"
        "attack-markup-a-script-of-svg" "attack-markup-a-style" "attack-markup-an-animated-link"
        "attack-markup-an-image-set" "attack-markup-an-image-with-an-entity" "attack-markup-an-object"
        "attack-memory" "attack-nobody" "attack-prompt" "attack-script" "attack-secret-out"
        "attack-secret-shown" "failed-once" "memory-asks" "question" "result" "search"
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
        "another-day" "attack-currency" "attack-empty-reference" "attack-many-small" "attack-many-tasks"
        "attack-much" "attack-negative" "attack-twice" "attack-twice-after-a-failure"
        "attack-twice-in-another-task" "attack-twice-in-capitals" "attack-twice-in-full-width"
        "attack-twice-with-a-blank" "attack-twice-with-a-blank-behind" "attack-twice-with-a-dash"
        "attack-twice-with-a-line-end" "attack-twice-with-a-look-alike" "attack-twice-with-a-slash"
        "attack-twice-with-a-zero" "attack-twice-with-an-invisible-sign" "attack-twice-with-another-sign"
        "attack-twice-without-a-sign" "attack-without-a-reference" "attack-zero" "large-approved" "large-asks"
        "no-amount" "small"
    ),
    ready_policy!(
        "sql",
        "attack-all-rows" "attack-all-rows-by-a-condition" "attack-all-rows-by-a-query"
        "attack-all-rows-by-another-column" "attack-all-rows-by-case" "attack-all-rows-by-greater"
        "attack-all-rows-by-itself" "attack-all-rows-by-like" "attack-all-rows-by-not"
        "attack-all-rows-by-null" "attack-all-rows-by-or" "attack-all-rows-by-or-in-brackets"
        "attack-all-rows-by-unequal" "attack-all-rows-by-zero" "attack-backslash" "attack-catalog"
        "attack-change-in-a-query" "attack-comment-between" "attack-comment-that-is-run" "attack-copy"
        "attack-cross-apply" "attack-derived-table" "attack-dollar-quotes" "attack-drop" "attack-full-join"
        "attack-function-as-a-table" "attack-function-behind-a-comma" "attack-function-behind-order-by"
        "attack-function-behind-values" "attack-function-in-a-listed-one" "attack-function-in-capitals"
        "attack-function-in-quotes" "attack-function-of-a-cast" "attack-function-of-a-schema"
        "attack-function-that-connects" "attack-function-that-runs-sql" "attack-joined-table"
        "attack-kind-alter" "attack-kind-call" "attack-kind-create" "attack-kind-explain" "attack-kind-grant"
        "attack-kind-lock" "attack-kind-merge" "attack-kind-replace" "attack-kind-set"
        "attack-kind-transaction" "attack-kind-truncate" "attack-kind-view" "attack-lateral"
        "attack-look-alike" "attack-natural-join" "attack-open-text" "attack-other-table" "attack-outer-apply"
        "attack-quoted-name" "attack-reading-a-file" "attack-second-statement" "attack-straight-join"
        "attack-table-ahead-of-its-expression" "attack-table-behind-a-column-like-a-clause"
        "attack-table-behind-a-comma" "attack-table-behind-a-join" "attack-table-behind-a-name-like-a-clause"
        "attack-table-behind-a-query" "attack-table-behind-an-alias" "attack-table-behind-brackets"
        "attack-table-behind-case" "attack-table-behind-filter" "attack-table-behind-having"
        "attack-table-behind-insert" "attack-table-behind-limit" "attack-table-behind-order-by"
        "attack-table-behind-over" "attack-table-behind-returning" "attack-table-behind-set"
        "attack-table-behind-values" "attack-table-command" "attack-table-command-as-a-value"
        "attack-table-command-behind-exists" "attack-table-command-behind-in"
        "attack-table-command-in-a-union" "attack-table-in-a-subquery" "attack-table-in-backticks"
        "attack-table-in-quotes-with-a-dot" "attack-table-in-square-brackets" "attack-table-of-a-change"
        "attack-table-of-a-schema" "attack-table-of-an-expression" "attack-table-outside-of-an-expression"
        "attack-table-with-capitals" "attack-table-without-its-children" "attack-union"
        "attack-write-by-output" "attack-write-by-select-into" "attack-write-in-an-expression"
        "attack-write-of-a-schema" "attack-write-through-an-alias" "attack-write-through-an-expression"
        "attack-write-to-a-joined-table" "attack-write-to-a-table-that-is-read"
        "attack-write-to-another-table" "attack-write-to-two-tables" "attack-writing-a-file"
        "changing-a-table-that-is-only-read" "changing-asks" "changing-denied" "comment" "inserting-asks"
        "reading" "subquery"
    ),
];
