//! Tools in requests of Anthropic's messages: those that the client carries out, and those that Anthropic runs.

use super::super::shape::{Kinds, Members, Row, Shape, judged, refused};
use super::{CACHE, RAW, WORDS};

/// Why a tool is refused that the vendor carries out.
const HOSTED: &str = "Anthropic runs it";
const BROWSER: &str = "browser_toolset_20260801";
const COMPUTER: &str = "computer_toolset_20260801";

/// Sets of tools that the client carries out: the type, the name by which calls say the set, and its tools.
pub(in super::super) const TOOLSETS: [(&str, &str, &[&str]); 2] = [
    (
        BROWSER,
        "browser",
        &[
            "close_tab",
            "double_click",
            "file_upload",
            "find",
            "form_input",
            "get_page_text",
            "hold_key",
            "hover",
            "javascript_exec",
            "key",
            "left_click",
            "left_click_drag",
            "left_mouse_down",
            "left_mouse_up",
            "list_tabs",
            "middle_click",
            "mouse_move",
            "navigate",
            "new_tab",
            "read_console",
            "read_network",
            "read_page",
            "right_click",
            "screenshot",
            "scroll",
            "scroll_to",
            "switch_tab",
            "triple_click",
            "type",
            "wait",
            "zoom",
        ],
    ),
    (
        COMPUTER,
        "computer",
        &[
            "cursor_position",
            "double_click",
            "hold_key",
            "key",
            "left_click",
            "left_click_drag",
            "left_mouse_down",
            "left_mouse_up",
            "middle_click",
            "mouse_move",
            "right_click",
            "screenshot",
            "scroll",
            "triple_click",
            "type",
            "wait",
            "zoom",
        ],
    ),
];

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
        judged(BROWSER, TOOLSET),
        judged(COMPUTER, TOOLSET),
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

/// What a request says of a set of tools.
const TOOLSET: Members = &[("configs", Shape::Map(&CONFIG)), ("cache_control", CACHE)];

static CONFIG: Shape = Shape::Object(&[("enabled", Shape::Bool), ("defer_loading", Shape::Bool)]);

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
