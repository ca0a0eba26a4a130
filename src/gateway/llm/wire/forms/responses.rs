//! Requests of OpenAI's responses.

use super::super::shape::{Kinds, Members, Shape, judged, passed, refused};
use super::responses_answer::{ANNOTATIONS, CALLER, REASONING, SEARCH_CALL, SEARCH_OUTPUT};
use super::responses_tools::TOOLS;
use super::{CACHE, OWN, RAW, WORD, WORDS};

pub(in super::super) const REQUEST: Members = &[
    ("model", Shape::Word),
    ("input", Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&ITEMS))])),
    ("instructions", Shape::Text),
    ("access_programs", Shape::Map(&OWN)),
    ("background", Shape::Bool),
    (
        "context_management",
        Shape::List(&Shape::Object(&[("type", Shape::Word), ("compact_threshold", Shape::Count)])),
    ),
    ("conversation", Shape::Either(&[Shape::Word, Shape::Object(&[("id", Shape::Word)])])),
    ("image", Shape::Map(&WORD)),
    ("include", WORDS),
    ("max_output_tokens", Shape::Count),
    ("max_tool_calls", Shape::Count),
    ("metadata", Shape::Map(&OWN)),
    ("parallel_tool_calls", Shape::Bool),
    ("previous_response_id", Shape::Word),
    ("prompt_cache_key", Shape::Own),
    ("prompt_cache_options", Shape::Map(&RAW)),
    ("prompt_cache_retention", Shape::Word),
    (
        "reasoning",
        Shape::Object(&[
            ("context", Shape::Word),
            ("effort", Shape::Word),
            ("generate_summary", Shape::Word),
            ("mode", Shape::Word),
            ("summary", Shape::Word),
        ]),
    ),
    ("safety_identifier", Shape::Own),
    ("service_tier", Shape::Word),
    ("store", Shape::Bool),
    ("stream", Shape::Bool),
    ("stream_options", Shape::Object(&[("include_obfuscation", Shape::Bool)])),
    ("temperature", Shape::Number),
    (
        "text",
        Shape::Object(&[
            (
                "format",
                Shape::Object(&[
                    ("type", Shape::Word),
                    ("name", Shape::Word),
                    ("description", Shape::Own),
                    ("schema", Shape::Raw),
                    ("strict", Shape::Bool),
                ]),
            ),
            ("verbosity", Shape::Word),
        ]),
    ),
    ("tool_choice", Shape::Either(&[Shape::Word, Shape::Object(TOOL_CHOICE)])),
    ("tools", Shape::List(&Shape::Kinds(&TOOLS))),
    ("top_logprobs", Shape::Count),
    ("top_p", Shape::Number),
    ("truncation", Shape::Word),
    ("user", Shape::Own),
    // what Codex says of itself
    ("client_metadata", Shape::Map(&OWN)),
];

pub(in super::super) const TOOL_CHOICE: Members = &[
    ("type", Shape::Word),
    ("name", Shape::Word),
    ("namespace", Shape::Word),
    ("mode", Shape::Word),
    ("server_label", Shape::Word),
    (
        "tools",
        Shape::List(&Shape::Object(&[
            ("type", Shape::Word),
            ("name", Shape::Word),
            ("namespace", Shape::Word),
            ("server_label", Shape::Word),
        ])),
    ),
];

/// A text, or parts.
pub(in super::super) const CONTENT: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&PARTS))]);

pub(in super::super) static ITEMS: Kinds = Kinds {
    what: "an item",
    tag: "type",
    absent: Some("message"),
    rows: &[
        judged(
            "message",
            &[
                ("id", Shape::Word),
                ("role", Shape::Word),
                ("content", CONTENT),
                ("status", Shape::Word),
                ("phase", Shape::Word),
            ],
        ),
        judged(
            "function_call",
            &[
                ("id", Shape::Word),
                ("call_id", Shape::Word),
                ("name", Shape::Word),
                ("namespace", Shape::Word),
                ("arguments", Shape::Either(&[Shape::Own, Shape::Map(&RAW)])),
                ("status", Shape::Word),
                ("async", Shape::Bool),
                ("caller", CALLER),
            ],
        ),
        judged(
            "function_call_output",
            &[
                ("id", Shape::Word),
                ("call_id", Shape::Word),
                ("name", Shape::Word),
                ("namespace", Shape::Word),
                ("output", CONTENT),
                ("status", Shape::Word),
                ("caller", CALLER),
            ],
        ),
        judged(
            "custom_tool_call",
            &[
                ("id", Shape::Word),
                ("call_id", Shape::Word),
                ("name", Shape::Word),
                ("namespace", Shape::Word),
                ("input", Shape::Own),
                ("status", Shape::Word),
                ("async", Shape::Bool),
                ("caller", CALLER),
            ],
        ),
        judged(
            "custom_tool_call_output",
            &[
                ("id", Shape::Word),
                ("call_id", Shape::Word),
                ("name", Shape::Word),
                ("output", CONTENT),
                ("status", Shape::Word),
                ("caller", CALLER),
            ],
        ),
        judged(
            "additional_tools",
            &[("id", Shape::Word), ("role", Shape::Word), ("tools", Shape::List(&Shape::Kinds(&TOOLS)))],
        ),
        judged("tool_search_call", SEARCH_CALL),
        judged("tool_search_output", SEARCH_OUTPUT),
        passed("reasoning", "the model's own, which it is given back", REASONING),
        passed(
            "compaction",
            "encrypted by the vendor",
            &[("id", Shape::Word), ("encrypted_content", Shape::Own)],
        ),
        passed("compaction_trigger", "an option", &[("id", Shape::Word)]),
        passed(
            "configuration_update",
            "an option",
            &[("id", Shape::Word), ("reasoning", Shape::Map(&WORD)), ("text", Shape::Map(&RAW))],
        ),
        refused("item_reference", "what it stands for is not in the request"),
        refused("web_search_call", "OpenAI runs it"),
        refused("file_search_call", "OpenAI runs it"),
        refused("code_interpreter_call", "OpenAI runs it"),
        refused("image_generation_call", "OpenAI runs it"),
        refused("mcp_call", "OpenAI runs it"),
        refused("mcp_list_tools", "OpenAI runs it"),
        refused("mcp_approval_request", "OpenAI runs it"),
        refused("mcp_approval_response", "OpenAI runs what it allows"),
        refused("program", "OpenAI runs it"),
        refused("program_output", "OpenAI runs it"),
        refused("computer_call", "its actions have no name and no schema"),
        refused("computer_call_output", "its actions have no name and no schema"),
        refused("local_shell_call", "it has no name that a rule is for"),
        refused("local_shell_call_output", "it has no name that a rule is for"),
        refused("shell_call", "it has no name that a rule is for"),
        refused("shell_call_output", "it has no name that a rule is for"),
        refused("apply_patch_call", "it has no name that a rule is for"),
        refused("apply_patch_call_output", "it has no name that a rule is for"),
    ],
};

pub(in super::super) static PARTS: Kinds = Kinds {
    what: "a part",
    tag: "type",
    absent: None,
    rows: &[
        judged("input_text", &[("text", Shape::Text), ("prompt_cache_breakpoint", CACHE)]),
        judged(
            "output_text",
            &[("text", Shape::Text), ("annotations", ANNOTATIONS), ("logprobs", Shape::Raw)],
        ),
        judged("text", &[("text", Shape::Text)]),
        judged("refusal", &[("refusal", Shape::Text)]),
        judged(
            "input_file",
            &[
                ("file_data", Shape::Data),
                ("file_id", Shape::Word),
                ("file_url", Shape::Own),
                ("filename", Shape::Text),
                ("detail", Shape::Word),
                ("prompt_cache_breakpoint", CACHE),
            ],
        ),
        passed(
            "input_image",
            "an image",
            &[
                ("image_url", Shape::Own),
                ("file_id", Shape::Word),
                ("detail", Shape::Word),
                ("prompt_cache_breakpoint", CACHE),
            ],
        ),
        passed("encrypted_content", "encrypted by the vendor", &[("encrypted_content", Shape::Own)]),
    ],
};
