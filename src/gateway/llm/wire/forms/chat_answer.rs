//! Answers of OpenAI's chat completions, whole; those in events are put together into the same.

use super::super::shape::{Kinds, Members, Shape, judged, passed};
use super::{NUMBERS, RAW};

pub(in super::super) const ANSWER: Members = &[
    ("id", Shape::Word),
    ("object", Shape::Word),
    ("created", Shape::Number),
    ("model", Shape::Word),
    ("choices", Shape::List(&Shape::Object(CHOICE))),
    ("usage", Shape::Map(&NUMBERS)),
    ("system_fingerprint", Shape::Word),
    ("service_tier", Shape::Word),
];

const CHOICE: Members = &[
    ("index", Shape::Count),
    ("message", Shape::Object(MESSAGE)),
    ("finish_reason", Shape::Word),
    ("logprobs", Shape::Object(&[("content", LOGPROBS), ("refusal", LOGPROBS)])),
];

/// The tokens of what is said, which are said only with it.
const LOGPROBS: Shape = Shape::List(&RAW);

const MESSAGE: Members = &[
    ("role", Shape::Word),
    ("content", Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&PARTS))])),
    ("refusal", Shape::Text),
    ("annotations", Shape::List(&Shape::Object(ANNOTATION))),
    (
        "audio",
        Shape::Object(&[
            ("id", Shape::Word),
            ("data", Shape::Own),
            ("expires_at", Shape::Number),
            ("transcript", Shape::Text),
        ]),
    ),
    ("tool_calls", Shape::List(&Shape::Kinds(&CALLS))),
    ("reasoning_content", Shape::Own),
    ("reasoning", Shape::Own),
];

pub(in super::super) const ANNOTATION: Members = &[
    ("type", Shape::Word),
    (
        "url_citation",
        Shape::Object(&[
            ("end_index", Shape::Number),
            ("start_index", Shape::Number),
            ("title", Shape::Text),
            ("url", Shape::Text),
        ]),
    ),
];

/// Parts of an answer, as other makers than OpenAI have them.
pub(in super::super) static PARTS: Kinds = Kinds {
    what: "a part",
    tag: "type",
    absent: None,
    rows: &[
        judged("text", &[("text", Shape::Text)]),
        judged("output_text", &[("text", Shape::Text)]),
        judged("refusal", &[("refusal", Shape::Text)]),
        passed("thinking", "reasoning", &[("thinking", Shape::Raw)]),
    ],
};

/// Calls of an answer, as a request sends them back.
pub(in super::super) static CALLS: Kinds = Kinds {
    what: "a call",
    tag: "type",
    absent: Some("function"),
    rows: &[
        judged(
            "function",
            &[
                ("id", Shape::Word),
                ("index", Shape::Number),
                (
                    "function",
                    Shape::Object(&[
                        ("name", Shape::Word),
                        ("arguments", Shape::Either(&[Shape::Own, Shape::Map(&RAW)])),
                    ]),
                ),
            ],
        ),
        judged(
            "custom",
            &[
                ("id", Shape::Word),
                ("index", Shape::Number),
                ("custom", Shape::Object(&[("name", Shape::Word), ("input", Shape::Own)])),
            ],
        ),
    ],
};

/// A piece of an answer.
pub(in super::super) const CHUNK: Shape = Shape::Object(&[
    ("id", Shape::Word),
    ("object", Shape::Word),
    ("created", Shape::Number),
    ("model", Shape::Word),
    (
        "choices",
        Shape::List(&Shape::Object(&[
            ("index", Shape::Count),
            ("delta", Shape::Object(DELTA)),
            ("finish_reason", Shape::Word),
            ("logprobs", Shape::Object(&[("content", LOGPROBS), ("refusal", LOGPROBS)])),
        ])),
    ),
    ("usage", Shape::Map(&NUMBERS)),
    ("system_fingerprint", Shape::Word),
    ("service_tier", Shape::Word),
]);

const DELTA: Members = &[
    ("role", Shape::Word),
    ("content", Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&PARTS))])),
    ("refusal", Shape::Text),
    ("annotations", Shape::List(&Shape::Object(ANNOTATION))),
    (
        "audio",
        Shape::Object(&[
            ("id", Shape::Word),
            ("data", Shape::Own),
            ("expires_at", Shape::Number),
            ("transcript", Shape::Text),
        ]),
    ),
    (
        "tool_calls",
        Shape::List(&Shape::Object(&[
            ("index", Shape::Count),
            ("id", Shape::Word),
            ("type", Shape::Word),
            (
                "function",
                Shape::Object(&[
                    ("name", Shape::Word),
                    ("arguments", Shape::Either(&[Shape::Own, Shape::Map(&RAW)])),
                ]),
            ),
            ("custom", Shape::Object(&[("name", Shape::Word), ("input", Shape::Own)])),
        ])),
    ),
    ("reasoning_content", Shape::Own),
    ("reasoning", Shape::Own),
];
