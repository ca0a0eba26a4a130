//! Requests of Anthropic's messages.

use super::super::shape::{Kinds, Members, Shape, judged, passed, refused};
use super::messages_answer::CITATIONS;
use super::messages_tools::TOOLS;
use super::{CACHE, OWN, RAW, WORD};

pub(in super::super) const REQUEST: Members = &[
    ("model", Shape::Word),
    ("messages", Shape::List(&Shape::Kinds(&MESSAGES))),
    ("max_tokens", Shape::Count),
    ("system", Shape::Of(&PROSE)),
    ("billing_policy", Shape::Map(&OWN)),
    ("cache_control", CACHE),
    ("compaction", Shape::Object(&[("type", Shape::Word), ("instructions", Shape::Own)])),
    ("context_management", Shape::Object(&[("edits", Shape::List(&Shape::Map(&OPTIONS)))])),
    ("diagnostics", Shape::Map(&OWN)),
    ("fallback_credit_token", Shape::Either(&[Shape::Word, Shape::Map(&WORD)])),
    ("fallbacks", Shape::Either(&[Shape::Word, Shape::List(&Shape::Map(&OPTIONS))])),
    ("inference_geo", Shape::Word),
    ("metadata", Shape::Object(&[("user_id", Shape::Own)])),
    (
        "output_config",
        Shape::Object(&[
            ("effort", Shape::Word),
            ("format", Shape::Object(&[("type", Shape::Word), ("schema", Shape::Raw)])),
            (
                "task_budget",
                Shape::Object(&[("type", Shape::Word), ("total", Shape::Count), ("remaining", Shape::Count)]),
            ),
        ]),
    ),
    ("output_format", Shape::Object(&[("type", Shape::Word), ("schema", Shape::Raw)])),
    ("service_tier", Shape::Word),
    ("speed", Shape::Word),
    ("stop_sequences", Shape::List(&OWN)),
    ("stream", Shape::Bool),
    ("temperature", Shape::Number),
    (
        "thinking",
        Shape::Object(&[
            ("type", Shape::Word),
            ("budget_tokens", Shape::Count),
            ("block_binding", Shape::Map(&WORD)),
            ("display", Shape::Word),
        ]),
    ),
    ("thread", Shape::Kinds(&THREADS)),
    (
        "tool_choice",
        Shape::Object(&[
            ("type", Shape::Word),
            ("name", Shape::Word),
            ("disable_parallel_tool_use", Shape::Bool),
        ]),
    ),
    ("tools", Shape::List(&Shape::Kinds(&TOOLS))),
    ("top_k", Shape::Count),
    ("top_p", Shape::Number),
    ("user_profile_id", Shape::Own),
    ("workspace_id", Shape::Word),
];

/// Words, numbers and members of them.
static OPTIONS: Shape =
    Shape::Either(&[Shape::Word, Shape::Bool, Shape::Number, Shape::Map(&OPTIONS), Shape::List(&OPTIONS)]);

/// Conversations that Anthropic keeps.
static THREADS: Kinds = Kinds {
    what: "a thread",
    tag: "type",
    absent: None,
    rows: &[
        passed("create", "the conversation is kept", &[]),
        judged("continue", &[("previous_message_id", Shape::Word)]),
    ],
};

/// A text, or blocks.
pub(in super::super) static PROSE: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&BLOCKS))]);

pub(in super::super) static MESSAGES: Kinds = Kinds {
    what: "a message",
    tag: "role",
    absent: None,
    rows: &[
        judged("user", &[("content", Shape::Of(&PROSE))]),
        judged("assistant", &[("content", Shape::Of(&PROSE))]),
        judged(
            "system",
            &[
                ("content", Shape::Of(&PROSE)),
                ("clear_at", Shape::Word),
                ("output_config", Shape::Object(&[("effort", Shape::Word)])),
            ],
        ),
    ],
};

/// Why a block is refused that comes of what the vendor carries out.
const HOSTED: &str = "Anthropic runs it";

pub(in super::super) static BLOCKS: Kinds = Kinds {
    what: "a block",
    tag: "type",
    absent: None,
    rows: &[
        judged("text", &[("text", Shape::Text), ("cache_control", CACHE), ("citations", CITATIONS)]),
        judged(
            "tool_use",
            &[
                ("id", Shape::Word),
                ("name", Shape::Word),
                ("input", Shape::Map(&RAW)),
                ("cache_control", CACHE),
                ("caller", super::messages_answer::CALLER),
                ("toolset_name", Shape::Word),
            ],
        ),
        judged(
            "tool_result",
            &[
                ("tool_use_id", Shape::Word),
                ("content", Shape::Of(&PROSE)),
                ("is_error", Shape::Bool),
                ("cache_control", CACHE),
            ],
        ),
        judged(
            "document",
            &[
                ("source", Shape::Kinds(&SOURCES)),
                ("title", Shape::Text),
                ("context", Shape::Text),
                ("citations", Shape::Object(&[("enabled", Shape::Bool)])),
                ("cache_control", CACHE),
            ],
        ),
        judged(
            "search_result",
            &[
                ("content", Shape::List(&Shape::Kinds(&BLOCKS))),
                ("source", Shape::Text),
                ("title", Shape::Text),
                ("citations", Shape::Object(&[("enabled", Shape::Bool)])),
                ("cache_control", CACHE),
            ],
        ),
        judged(
            "browser_state",
            &[
                ("tabs", Shape::List(&Shape::Object(TAB))),
                ("state_changes", Shape::List(&Shape::Object(TAB_CHANGE))),
                ("cache_control", CACHE),
            ],
        ),
        judged("tool_addition", &[("tool", Shape::Kinds(&ADDED)), ("cache_control", CACHE)]),
        passed(
            "tool_removal",
            "fewer tools",
            &[
                (
                    "tool",
                    Shape::Object(&[
                        ("type", Shape::Word),
                        ("name", Shape::Word),
                        ("server_name", Shape::Word),
                    ]),
                ),
                ("cache_control", CACHE),
            ],
        ),
        passed(
            "tool_reference",
            "a tool of `tools`",
            &[("tool_name", Shape::Word), ("cache_control", CACHE)],
        ),
        passed(
            "image",
            "an image",
            &[
                ("source", Shape::Kinds(&IMAGES)),
                ("transformations", Shape::Map(&WORD)),
                ("cache_control", CACHE),
            ],
        ),
        passed(
            "thinking",
            "the model's own, which it is given back",
            &[("thinking", Shape::Own), ("signature", Shape::Own)],
        ),
        passed("redacted_thinking", "encrypted by the vendor", &[("data", Shape::Own)]),
        refused("compaction", "a summary that no rule has read"),
        refused("container_upload", "a file for what Anthropic runs"),
        refused("server_tool_use", HOSTED),
        refused("mcp_tool_use", HOSTED),
        refused("mcp_tool_result", HOSTED),
        refused("mcp_tool_listing", HOSTED),
        refused("web_search_tool_result", HOSTED),
        refused("web_fetch_tool_result", HOSTED),
        refused("advisor_tool_result", HOSTED),
        refused("code_execution_tool_result", HOSTED),
        refused("bash_code_execution_tool_result", HOSTED),
        refused("text_editor_code_execution_tool_result", HOSTED),
        refused("tool_search_tool_result", HOSTED),
        refused("fallback", "another model that no rule was asked about"),
    ],
};

/// A tab of a browser.
const TAB: Members =
    &[("tab_id", Shape::Word), ("title", Shape::Text), ("url", Shape::Text), ("active", Shape::Bool)];

/// What a call has opened or loaded in a browser.
const TAB_CHANGE: Members = &[
    ("type", Shape::Word),
    ("tab_id", Shape::Word),
    ("download_id", Shape::Word),
    ("url", Shape::Text),
    ("path", Shape::Text),
    ("error", Shape::Text),
    ("size_bytes", Shape::Count),
];

/// Where the content of a document is.
pub(in super::super) static SOURCES: Kinds = Kinds {
    what: "a source",
    tag: "type",
    absent: None,
    rows: &[
        judged("text", &[("media_type", Shape::Own), ("data", Shape::Text)]),
        judged("content", &[("content", Shape::Of(&PROSE))]),
        judged("base64", &[("media_type", Shape::Own), ("data", Shape::Data)]),
        passed("url", "Anthropic reads it", &[("url", Shape::Own)]),
        passed("file", "Anthropic has it", &[("file_id", Shape::Word)]),
    ],
};

static IMAGES: Kinds = Kinds {
    what: "a source",
    tag: "type",
    absent: None,
    rows: &[
        passed("base64", "", &[("media_type", Shape::Own), ("data", Shape::Own)]),
        passed("url", "", &[("url", Shape::Own)]),
        passed("file", "", &[("file_id", Shape::Word)]),
    ],
};

/// A tool that comes in the midst of a conversation.
static ADDED: Kinds = Kinds {
    what: "an added tool",
    tag: "type",
    absent: None,
    rows: &[
        judged("tool_reference", &[("name", Shape::Word)]),
        judged("tool_definition", &[("definition", Shape::Kinds(&TOOLS))]),
        refused("mcp_tool_reference", HOSTED),
        refused("mcp_toolset_reference", HOSTED),
    ],
};
