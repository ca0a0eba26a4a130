//! Answers of Anthropic's messages, whole; those in events are put together into the same.

use super::super::shape::{Kinds, Members, Shape, judged, passed};
use super::{NUMBERS, RAW};

pub(in super::super) const ANSWER: Members = &[
    ("id", Shape::Word),
    ("type", Shape::Word),
    ("role", Shape::Word),
    ("model", Shape::Word),
    ("content", Shape::List(&Shape::Kinds(&BLOCKS))),
    ("stop_reason", Shape::Word),
    ("stop_sequence", Shape::Own),
    ("stop_details", STOP_DETAILS),
    ("usage", USAGE),
    ("context_management", EDITS),
    ("container", Shape::Map(&NUMBERS)),
];

const STOP_DETAILS: Shape = Shape::Object(&[
    ("type", Shape::Word),
    ("category", Shape::Word),
    ("explanation", Shape::Text),
    ("recommended_model", Shape::Word),
]);

const EDITS: Shape = Shape::Object(&[("applied_edits", Shape::List(&Shape::Map(&OPTION)))]);

static OPTION: Shape = Shape::Either(&[Shape::Number, Shape::Word]);

pub(in super::super) const USAGE: Shape = Shape::Object(&[
    ("input_tokens", Shape::Count),
    ("output_tokens", Shape::Count),
    ("cache_creation_input_tokens", Shape::Count),
    ("cache_read_input_tokens", Shape::Count),
    ("cache_creation", Shape::Map(&NUMBERS)),
    ("output_tokens_details", Shape::Map(&NUMBERS)),
    ("server_tool_use", Shape::Map(&NUMBERS)),
    ("inference_geo", Shape::Word),
    ("service_tier", Shape::Word),
    ("speed", Shape::Word),
    ("iterations", Shape::List(&NUMBERS)),
]);

pub(in super::super) static BLOCKS: Kinds = Kinds {
    what: "a block",
    tag: "type",
    absent: None,
    rows: &[
        judged("text", &[("text", Shape::Text), ("citations", CITATIONS)]),
        judged(
            "tool_use",
            &[
                ("id", Shape::Word),
                ("name", Shape::Word),
                ("input", Shape::Either(&[Shape::Map(&RAW), Shape::Own])),
                ("caller", CALLER),
                ("toolset_name", Shape::Word),
            ],
        ),
        passed(
            "thinking",
            "it streams, and is kept as it is",
            &[("thinking", Shape::Own), ("signature", Shape::Own)],
        ),
        passed("redacted_thinking", "encrypted by the vendor", &[("data", Shape::Own)]),
    ],
};

/// Who asks for a call; a program of the vendor's own is judged as the model is.
pub(in super::super) const CALLER: Shape = Shape::Object(&[("type", Shape::Word), ("tool_id", Shape::Word)]);

pub(in super::super) const CITATIONS: Shape = Shape::List(&Shape::Object(CITATION));

const CITATION: Members = &[
    ("type", Shape::Word),
    ("cited_text", Shape::Text),
    ("document_title", Shape::Text),
    ("title", Shape::Text),
    ("source", Shape::Text),
    ("url", Shape::Text),
    ("encrypted_index", Shape::Own),
    ("file_id", Shape::Word),
    ("document_index", Shape::Count),
    ("search_result_index", Shape::Count),
    ("start_char_index", Shape::Count),
    ("end_char_index", Shape::Count),
    ("start_page_number", Shape::Count),
    ("end_page_number", Shape::Count),
    ("start_block_index", Shape::Count),
    ("end_block_index", Shape::Count),
];

/// Events of an answer.
pub(in super::super) static EVENTS: Kinds = Kinds {
    what: "an event",
    tag: "type",
    absent: None,
    rows: &[
        judged("message_start", &[("message", Shape::Object(ANSWER))]),
        judged("content_block_start", &[("index", Shape::Count), ("content_block", Shape::Kinds(&BLOCKS))]),
        judged("content_block_delta", &[("index", Shape::Count), ("delta", Shape::Object(DELTA))]),
        judged("content_block_stop", &[("index", Shape::Count)]),
        judged(
            "message_delta",
            &[
                (
                    "delta",
                    Shape::Object(&[
                        ("stop_reason", Shape::Word),
                        ("stop_sequence", Shape::Own),
                        ("stop_details", STOP_DETAILS),
                    ]),
                ),
                ("usage", USAGE),
                ("context_management", EDITS),
            ],
        ),
        judged("message_stop", &[]),
        passed("ping", "made anew", &[]),
        judged("error", &[("error", Shape::Object(&[("type", Shape::Word), ("message", Shape::Own)]))]),
    ],
};

const DELTA: Members = &[
    ("type", Shape::Word),
    ("text", Shape::Text),
    ("thinking", Shape::Own),
    ("signature", Shape::Own),
    ("partial_json", Shape::Own),
    ("citation", Shape::Object(CITATION)),
];
