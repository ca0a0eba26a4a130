//! Requests of OpenAI's chat completions.

use super::super::shape::{Kinds, Members, Shape, judged, passed, refused};
use super::chat_answer::{ANNOTATION, CALLS};
use super::{CACHE, NUMBER, OWN, WORDS};

pub(in super::super) const REQUEST: Members = &[
    ("messages", Shape::List(&Shape::Kinds(&MESSAGES))),
    ("model", Shape::Word),
    (
        "audio",
        Shape::Object(&[
            ("format", Shape::Word),
            ("voice", Shape::Either(&[Shape::Word, Shape::Object(&[("id", Shape::Word)])])),
        ]),
    ),
    ("frequency_penalty", Shape::Number),
    ("logit_bias", Shape::Map(&NUMBER)),
    ("logprobs", Shape::Bool),
    ("max_completion_tokens", Shape::Count),
    ("max_tokens", Shape::Count),
    ("metadata", Shape::Map(&OWN)),
    ("modalities", WORDS),
    ("n", Shape::Count),
    ("parallel_tool_calls", Shape::Bool),
    ("presence_penalty", Shape::Number),
    ("prompt_cache_key", Shape::Own),
    ("prompt_cache_options", CACHE),
    ("prompt_cache_retention", Shape::Word),
    ("reasoning_effort", Shape::Word),
    ("response_format", RESPONSE_FORMAT),
    ("safety_identifier", Shape::Own),
    ("seed", Shape::Number),
    ("service_tier", Shape::Word),
    ("stop", Shape::Either(&[Shape::Own, Shape::List(&OWN)])),
    ("store", Shape::Bool),
    ("stream", Shape::Bool),
    (
        "stream_options",
        Shape::Object(&[("include_obfuscation", Shape::Bool), ("include_usage", Shape::Bool)]),
    ),
    ("temperature", Shape::Number),
    ("tool_choice", Shape::Either(&[Shape::Word, Shape::Object(TOOL_CHOICE)])),
    ("tools", Shape::List(&Shape::Kinds(&TOOLS))),
    ("top_logprobs", Shape::Count),
    ("top_p", Shape::Number),
    ("user", Shape::Own),
    ("verbosity", Shape::Word),
    // of other makers: how a token is chosen, and whether a model that can reason does
    ("top_k", Shape::Number),
    ("min_p", Shape::Number),
    ("repetition_penalty", Shape::Number),
    ("enable_thinking", Shape::Bool),
    ("chat_template_kwargs", Shape::Map(&Shape::Either(&[Shape::Bool, Shape::Number, Shape::Word]))),
    ("thinking", Shape::Object(&[("type", Shape::Word), ("budget_tokens", Shape::Count)])),
    (
        "reasoning",
        Shape::Object(&[
            ("effort", Shape::Word),
            ("max_tokens", Shape::Count),
            ("exclude", Shape::Bool),
            ("enabled", Shape::Bool),
        ]),
    ),
];

const RESPONSE_FORMAT: Shape = Shape::Object(&[
    ("type", Shape::Word),
    (
        "json_schema",
        Shape::Object(&[
            ("name", Shape::Word),
            ("description", Shape::Own),
            ("schema", Shape::Raw),
            ("strict", Shape::Bool),
        ]),
    ),
]);

const NAMED: Shape = Shape::Object(&[("name", Shape::Word)]);
pub(in super::super) const TOOL_CHOICE: Members = &[
    ("type", Shape::Word),
    ("function", NAMED),
    ("custom", NAMED),
    (
        "allowed_tools",
        Shape::Object(&[
            ("mode", Shape::Word),
            (
                "tools",
                Shape::List(&Shape::Object(&[("type", Shape::Word), ("function", NAMED), ("custom", NAMED)])),
            ),
        ]),
    ),
];

/// A text, or parts that are texts.
const PROSE: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&PARTS))]);

pub(in super::super) static MESSAGES: Kinds = Kinds {
    what: "a message",
    tag: "role",
    absent: None,
    rows: &[
        judged("system", &[("content", PROSE), ("name", Shape::Word)]),
        judged("developer", &[("content", PROSE), ("name", Shape::Word)]),
        judged("user", &[("content", PROSE), ("name", Shape::Word)]),
        judged(
            "assistant",
            &[
                ("content", PROSE),
                ("name", Shape::Word),
                ("refusal", Shape::Text),
                (
                    "audio",
                    Shape::Object(&[
                        ("id", Shape::Word),
                        ("transcript", Shape::Text),
                        ("data", Shape::Own),
                        ("expires_at", Shape::Number),
                    ]),
                ),
                ("annotations", Shape::List(&Shape::Object(ANNOTATION))),
                ("tool_calls", Shape::List(&Shape::Kinds(&CALLS))),
                // clients that send an answer back as they have it
                ("reasoning_content", Shape::Own),
                ("reasoning", Shape::Own),
                ("thinking", Shape::Own),
            ],
        ),
        judged("tool", &[("content", PROSE), ("tool_call_id", Shape::Word), ("name", Shape::Word)]),
        refused("function", "the old form of calls, which has no ids"),
    ],
};

pub(in super::super) static PARTS: Kinds = Kinds {
    what: "a part",
    tag: "type",
    absent: None,
    rows: &[
        judged(
            "text",
            &[("text", Shape::Text), ("prompt_cache_breakpoint", CACHE), ("cache_control", CACHE)],
        ),
        judged("refusal", &[("refusal", Shape::Text)]),
        judged(
            "file",
            &[
                (
                    "file",
                    Shape::Object(&[
                        ("file_data", Shape::Data),
                        ("file_id", Shape::Word),
                        ("filename", Shape::Text),
                    ]),
                ),
                ("prompt_cache_breakpoint", CACHE),
            ],
        ),
        passed(
            "image_url",
            "an image",
            &[
                (
                    "image_url",
                    Shape::Either(&[
                        Shape::Word,
                        Shape::Object(&[("url", Shape::Own), ("detail", Shape::Word)]),
                    ]),
                ),
                ("prompt_cache_breakpoint", CACHE),
            ],
        ),
        passed(
            "input_audio",
            "sound",
            &[
                ("input_audio", Shape::Object(&[("data", Shape::Own), ("format", Shape::Word)])),
                ("prompt_cache_breakpoint", CACHE),
            ],
        ),
    ],
};

pub(in super::super) static TOOLS: Kinds = Kinds {
    what: "a tool",
    tag: "type",
    absent: None,
    rows: &[
        judged(
            "function",
            &[(
                "function",
                Shape::Object(&[
                    ("name", Shape::Word),
                    ("description", Shape::Own),
                    ("parameters", Shape::Raw),
                    ("strict", Shape::Bool),
                ]),
            )],
        ),
        judged(
            "custom",
            &[(
                "custom",
                Shape::Object(&[("name", Shape::Word), ("description", Shape::Own), ("format", Shape::Raw)]),
            )],
        ),
    ],
};
