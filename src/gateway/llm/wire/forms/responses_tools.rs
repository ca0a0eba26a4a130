//! Tools in requests of OpenAI's responses: those that the client carries out, and those that OpenAI runs.

use super::super::shape::{Kinds, Members, Shape, judged, refused};
use super::WORDS;

/// Why a tool is refused that the vendor carries out.
const HOSTED: &str = "OpenAI runs it";

pub(in super::super) static TOOLS: Kinds = Kinds {
    what: "a tool",
    tag: "type",
    absent: None,
    rows: &[
        judged("function", FUNCTION),
        judged("custom", CUSTOM),
        judged(
            "namespace",
            &[
                ("name", Shape::Word),
                ("description", Shape::Own),
                ("tools", Shape::List(&Shape::Kinds(&MEMBERS))),
            ],
        ),
        // OpenAI searches among the tools of the request; what the client searches is a call like any other
        judged(
            "tool_search",
            &[("execution", Shape::Word), ("description", Shape::Own), ("parameters", Shape::Raw)],
        ),
        refused("web_search", HOSTED),
        refused("web_search_2025_08_26", HOSTED),
        refused("web_search_preview", HOSTED),
        refused("web_search_preview_2025_03_11", HOSTED),
        refused("file_search", HOSTED),
        refused("mcp", HOSTED),
        refused("code_interpreter", HOSTED),
        refused("image_generation", HOSTED),
        refused("programmatic_tool_calling", HOSTED),
        refused("shell", "its calls have no name that a rule is for"),
        refused("local_shell", "its calls have no name that a rule is for"),
        refused("apply_patch", "its calls have no name that a rule is for"),
        refused("computer", "its calls have no name that a rule is for"),
        refused("computer_use_preview", "its calls have no name that a rule is for"),
    ],
};

/// The tools of a namespace.
static MEMBERS: Kinds = Kinds {
    what: "a tool of a namespace",
    tag: "type",
    absent: None,
    rows: &[judged("function", FUNCTION), judged("custom", CUSTOM)],
};

const FUNCTION: Members = &[
    ("name", Shape::Word),
    ("description", Shape::Own),
    ("parameters", Shape::Raw),
    ("output_schema", Shape::Raw),
    ("strict", Shape::Bool),
    ("async", Shape::Bool),
    ("allowed_callers", WORDS),
    ("defer_loading", Shape::Bool),
];

/// A tool that takes a text, of any form or of a grammar's.
const CUSTOM: Members = &[
    ("name", Shape::Word),
    ("description", Shape::Own),
    ("format", Shape::Raw),
    ("async", Shape::Bool),
    ("allowed_callers", WORDS),
    ("defer_loading", Shape::Bool),
];
