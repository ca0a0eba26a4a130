//! Tools in requests of Anthropic's messages: those that the client carries out, and those that Anthropic runs.

use super::super::shape::{Kinds, Members, Row, Shape, judged, refused};
use super::{CACHE, RAW, WORDS};

/// Why a tool is refused that the vendor carries out.
const HOSTED: &str = "Anthropic runs it";
/// Why a set of tools is refused.
const TOOLSET: &str = "its tools have no names that rules are for";

pub(in super::super) static TOOLS: Kinds = Kinds {
    what: "a tool",
    tag: "type",
    absent: Some("custom"),
    rows: &[
        judged("custom", CUSTOM),
        // Anthropic defines these, and the client carries them out
        client("bash_20241022"),
        client("bash_20250124"),
        client("text_editor_20241022"),
        client("text_editor_20250124"),
        client("text_editor_20250429"),
        client("text_editor_20250728"),
        client("computer_20241022"),
        client("computer_20250124"),
        client("computer_20251124"),
        client("memory_20250818"),
        refused("browser_toolset_20260801", TOOLSET),
        refused("computer_toolset_20260801", TOOLSET),
        refused("code_execution_20250522", HOSTED),
        refused("code_execution_20250825", HOSTED),
        refused("code_execution_20260120", HOSTED),
        refused("code_execution_20260521", HOSTED),
        refused("web_search_20250305", HOSTED),
        refused("web_search_20260209", HOSTED),
        refused("web_search_20260318", HOSTED),
        refused("web_fetch_20250910", HOSTED),
        refused("web_fetch_20260209", HOSTED),
        refused("web_fetch_20260309", HOSTED),
        refused("web_fetch_20260318", HOSTED),
        refused("advisor_20260301", HOSTED),
        refused("tool_search_tool_bm25", HOSTED),
        refused("tool_search_tool_bm25_20251119", HOSTED),
        refused("tool_search_tool_regex", HOSTED),
        refused("tool_search_tool_regex_20251119", HOSTED),
        refused("mcp_toolset", HOSTED),
    ],
};

const CUSTOM: Members = &[
    ("name", Shape::Word),
    ("description", Shape::Own),
    ("input_schema", Shape::Raw),
    ("allowed_callers", WORDS),
    ("cache_control", CACHE),
    ("defer_loading", Shape::Bool),
    ("eager_input_streaming", Shape::Bool),
    ("input_examples", Shape::List(&RAW)),
    ("strict", Shape::Bool),
];

/// A tool that Anthropic defines and the client carries out: a call like any other, with arguments that the client knows.
const fn client(name: &'static str) -> Row {
    judged(name, DEFINED)
}

const DEFINED: Members = &[
    ("name", Shape::Word),
    ("allowed_callers", WORDS),
    ("cache_control", CACHE),
    ("defer_loading", Shape::Bool),
    ("input_examples", Shape::List(&RAW)),
    ("strict", Shape::Bool),
    ("max_characters", Shape::Count),
    ("display_height_px", Shape::Count),
    ("display_width_px", Shape::Count),
    ("display_number", Shape::Count),
    ("enable_zoom", Shape::Bool),
];
