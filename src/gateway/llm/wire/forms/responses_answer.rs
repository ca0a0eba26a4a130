//! Answers of OpenAI's responses, whole; those in events are put together into the same.

use super::super::shape::{Kinds, Members, Row, Shape, judged, passed};
use super::responses_tools::TOOLS;
use super::{NUMBERS, OWN, RAW};
use celador_server::traffic::Treatment;

pub(in super::super) const ANSWER: Members = &[
    ("id", Shape::Word),
    ("object", Shape::Word),
    ("created_at", Shape::Number),
    ("completed_at", Shape::Number),
    ("status", Shape::Word),
    ("background", Shape::Bool),
    (
        "error",
        Shape::Object(&[
            ("code", Shape::Word),
            ("message", Shape::Text),
            ("param", Shape::Own),
            ("type", Shape::Word),
        ]),
    ),
    ("incomplete_details", Shape::Object(&[("reason", Shape::Word)])),
    // what the request said, as the vendor has it
    ("instructions", Shape::Raw),
    ("metadata", Shape::Map(&OWN)),
    ("model", Shape::Word),
    ("output", Shape::List(&Shape::Kinds(&ITEMS))),
    ("parallel_tool_calls", Shape::Bool),
    ("temperature", Shape::Number),
    ("tool_choice", Shape::Raw),
    ("tools", Shape::Raw),
    ("top_p", Shape::Number),
    ("top_logprobs", Shape::Count),
    ("max_output_tokens", Shape::Count),
    ("max_tool_calls", Shape::Count),
    ("previous_response_id", Shape::Word),
    ("conversation", Shape::Object(&[("id", Shape::Word)])),
    ("prompt_cache_key", Shape::Own),
    ("prompt_cache_retention", Shape::Word),
    ("reasoning", Shape::Map(&NUMBERS)),
    ("safety_identifier", Shape::Own),
    ("service_tier", Shape::Word),
    ("store", Shape::Bool),
    ("text", Shape::Raw),
    ("truncation", Shape::Word),
    ("usage", Shape::Map(&NUMBERS)),
    ("user", Shape::Own),
];

pub(in super::super) static ITEMS: Kinds = Kinds {
    what: "an item",
    tag: "type",
    absent: None,
    rows: &[
        judged(
            "message",
            &[
                ("id", Shape::Word),
                ("role", Shape::Word),
                ("content", Shape::List(&Shape::Kinds(&PARTS))),
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
        judged("tool_search_call", SEARCH_CALL),
        passed("tool_search_output", "tools of the request, among which OpenAI searches", SEARCH_OUTPUT),
        passed("reasoning", "it streams, and is kept as it is", REASONING),
        passed(
            "compaction",
            "encrypted by the vendor",
            &[("id", Shape::Word), ("encrypted_content", Shape::Own)],
        ),
    ],
};

/// A search for tools, which OpenAI or the client carries out.
pub(in super::super) const SEARCH_CALL: Members = &[
    ("id", Shape::Word),
    ("call_id", Shape::Word),
    ("execution", Shape::Word),
    ("arguments", Shape::Either(&[Shape::Map(&RAW), Shape::Own])),
    ("status", Shape::Word),
    ("created_by", Shape::Word),
];

/// The tools that a search has found.
pub(in super::super) const SEARCH_OUTPUT: Members = &[
    ("id", Shape::Word),
    ("call_id", Shape::Word),
    ("execution", Shape::Word),
    ("tools", Shape::List(&Shape::Kinds(&TOOLS))),
    ("status", Shape::Word),
    ("created_by", Shape::Word),
];

/// Who asks for a call; a program of the vendor's own is judged as the model is.
pub(in super::super) const CALLER: Shape =
    Shape::Object(&[("type", Shape::Word), ("caller_id", Shape::Word)]);

pub(in super::super) const REASONING: Members = &[
    ("id", Shape::Word),
    ("summary", THOUGHTS),
    ("content", THOUGHTS),
    ("encrypted_content", Shape::Own),
    ("status", Shape::Word),
];

const THOUGHTS: Shape = Shape::List(&Shape::Object(&[("type", Shape::Word), ("text", Shape::Own)]));

pub(in super::super) static PARTS: Kinds = Kinds {
    what: "a part",
    tag: "type",
    absent: None,
    rows: &[
        judged("output_text", OUTPUT_TEXT),
        judged("text", &[("text", Shape::Text)]),
        judged("refusal", &[("refusal", Shape::Text)]),
    ],
};

const OUTPUT_TEXT: Members =
    &[("text", Shape::Text), ("annotations", ANNOTATIONS), ("logprobs", Shape::List(&RAW))];

pub(in super::super) const ANNOTATIONS: Shape = Shape::List(&Shape::Object(ANNOTATION));

const ANNOTATION: Members = &[
    ("type", Shape::Word),
    ("file_id", Shape::Word),
    ("container_id", Shape::Word),
    ("filename", Shape::Text),
    ("index", Shape::Number),
    ("start_index", Shape::Number),
    ("end_index", Shape::Number),
    ("title", Shape::Text),
    ("url", Shape::Text),
];

/// Events of an answer. Those that say anew what other events or the end of the answer say are not needed.
pub(in super::super) static EVENTS: Kinds = Kinds {
    what: "an event",
    tag: "type",
    absent: None,
    rows: &[
        whole("response.created"),
        whole("response.in_progress"),
        whole("response.queued"),
        whole("response.completed"),
        whole("response.incomplete"),
        whole("response.failed"),
        judged("response.output_item.added", ITEM),
        judged("response.output_item.done", ITEM),
        judged("response.content_part.added", PART),
        judged("response.content_part.done", PART),
        judged("response.output_text.delta", PIECE),
        judged("response.output_text.annotation.added", PIECE),
        judged("response.refusal.delta", PIECE),
        judged("response.reasoning_text.delta", PIECE),
        judged("response.reasoning_summary_part.added", PIECE),
        judged("response.reasoning_summary_text.delta", PIECE),
        judged("response.function_call_arguments.delta", PIECE),
        judged("response.custom_tool_call_input.delta", PIECE),
        again("response.output_text.done"),
        again("response.refusal.done"),
        again("response.reasoning_text.done"),
        again("response.reasoning_summary_part.done"),
        again("response.reasoning_summary_text.done"),
        again("response.function_call_arguments.done"),
        again("response.custom_tool_call_input.done"),
        judged(
            "error",
            &[
                ("code", Shape::Word),
                ("message", Shape::Own),
                ("param", Shape::Own),
                ("sequence_number", Shape::Number),
                ("error", Shape::Raw),
            ],
        ),
    ],
};

const fn whole(name: &'static str) -> Row {
    judged(name, &[("response", Shape::Object(ANSWER)), ("sequence_number", Shape::Number)])
}

/// An event that repeats what others have said.
const fn again(name: &'static str) -> Row {
    Row {
        name,
        treatment: Treatment::Dropped,
        note: "made anew",
        members: &[
            ("item_id", Shape::Word),
            ("output_index", Shape::Count),
            ("content_index", Shape::Count),
            ("summary_index", Shape::Count),
            ("sequence_number", Shape::Number),
            ("text", Shape::Text),
            ("refusal", Shape::Text),
            ("part", Shape::Raw),
            ("name", Shape::Word),
            ("arguments", Shape::Own),
            ("input", Shape::Own),
            ("logprobs", Shape::Raw),
            ("status", Shape::Word),
        ],
    }
}

const ITEM: Members =
    &[("item", Shape::Kinds(&ITEMS)), ("output_index", Shape::Count), ("sequence_number", Shape::Number)];

const PART: Members = &[
    ("part", Shape::Kinds(&ANY_PARTS)),
    ("item_id", Shape::Word),
    ("output_index", Shape::Count),
    ("content_index", Shape::Count),
    ("sequence_number", Shape::Number),
];

/// Parts of a message and of what the model has thought.
static ANY_PARTS: Kinds = Kinds {
    what: "a part",
    tag: "type",
    absent: None,
    rows: &[
        judged("output_text", OUTPUT_TEXT),
        judged("text", &[("text", Shape::Text)]),
        judged("refusal", &[("refusal", Shape::Text)]),
        passed("reasoning_text", "it streams, and is kept as it is", &[("text", Shape::Own)]),
    ],
};

const PIECE: Members = &[
    ("item_id", Shape::Word),
    ("output_index", Shape::Count),
    ("content_index", Shape::Count),
    ("summary_index", Shape::Count),
    ("annotation_index", Shape::Count),
    ("sequence_number", Shape::Number),
    ("delta", Shape::Text),
    ("annotation", Shape::Object(ANNOTATION)),
    ("part", Shape::Object(&[("type", Shape::Word), ("text", Shape::Own)])),
    ("logprobs", Shape::List(&RAW)),
    ("obfuscation", Shape::Own),
];
