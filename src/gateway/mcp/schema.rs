//! The types of MCP as shapes, of all revisions from 2024-11-05 to 2026-07-28 and of the tasks extension.
//!
//! The names are those of the protocol's own schema. A type has the members of all revisions.

use super::shape::Shape::{
    Any, Bool, First, Id, List, Map, Meta, Nullable, Number, Record, Tagged, Text, Token, Word,
};
use super::shape::{Member, Shape, may, must};

const NOTHING: Shape = Record(&[]);
const ROLE: Shape = Word(&["user", "assistant"]);
const LEVEL: Shape = Word(&["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

const ICONS: Shape = List(&Record(&[
    must("src", Text),
    may("mimeType", Text),
    may("sizes", First(&[List(&Text), Text])),
    may("theme", Word(&["light", "dark"])),
]));
pub(super) const IMPLEMENTATION: Shape = Record(&[
    must("name", Text),
    must("version", Text),
    may("title", Text),
    may("description", Text),
    may("websiteUrl", Text),
    may("icons", ICONS),
]);
const LIST_CHANGED: Shape = Record(&[may("listChanged", Bool)]);
/// Extensions that the guard judges. A capability that is dropped is not used by the other side.
const EXTENSIONS: Shape = Record(&[may("io.modelcontextprotocol/tasks", NOTHING)]);
/// The capability `tasks` of a client is missing: the guard judges no tasks that run in a client.
const CLIENT_CAPABILITIES: Shape = Record(&[
    may("roots", LIST_CHANGED),
    may("sampling", Record(&[may("context", NOTHING), may("tools", NOTHING)])),
    may("elicitation", Record(&[may("form", NOTHING), may("url", NOTHING)])),
    may("extensions", EXTENSIONS),
]);
const SERVER_CAPABILITIES: Shape = Record(&[
    may("logging", NOTHING),
    may("completions", NOTHING),
    may("prompts", LIST_CHANGED),
    may("resources", Record(&[may("subscribe", Bool), may("listChanged", Bool)])),
    may("tools", LIST_CHANGED),
    may(
        "tasks",
        Record(&[
            may("list", NOTHING),
            may("cancel", NOTHING),
            may("requests", Record(&[may("tools", Record(&[may("call", NOTHING)]))])),
        ]),
    ),
    may("extensions", EXTENSIONS),
]);

const TASK_REFERENCE: Shape = Record(&[must("taskId", Text)]);
const REQUEST_META: Member = may(
    "_meta",
    Meta(&[
        may("progressToken", Id),
        may("io.modelcontextprotocol/protocolVersion", Token),
        may("io.modelcontextprotocol/clientInfo", IMPLEMENTATION),
        may("io.modelcontextprotocol/clientCapabilities", CLIENT_CAPABILITIES),
        may("io.modelcontextprotocol/logLevel", LEVEL),
        may("io.modelcontextprotocol/related-task", TASK_REFERENCE),
    ]),
);
const NOTIFICATION_META: Member = may(
    "_meta",
    Meta(&[
        may("io.modelcontextprotocol/subscriptionId", Id),
        may("io.modelcontextprotocol/related-task", TASK_REFERENCE),
    ]),
);
/// The member of `_meta` in which a server says its name and description, in the revision without sessions.
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const RESULT_META: Member = may(
    "_meta",
    Meta(&[
        may(SERVER_INFO, IMPLEMENTATION),
        may("io.modelcontextprotocol/subscriptionId", Id),
        may("io.modelcontextprotocol/related-task", TASK_REFERENCE),
    ]),
);
const RESULT_TYPE: Member = may("resultType", Text);
/// How long a result may be cached, and by whom. The guard writes both anew.
const TTL: Member = may("ttlMs", Number);
const CACHE_SCOPE: Member = may("cacheScope", Word(&["public", "private"]));

/// Parameters and results without members of their own.
pub(super) const NO_PARAMS: Shape = Record(&[REQUEST_META]);
pub(super) const NO_NEWS: Shape = Record(&[NOTIFICATION_META]);
pub(super) const EMPTY_RESULT: Shape = Record(&[RESULT_META, RESULT_TYPE]);

// The beginning of a session.
pub(super) const INITIALIZE: Shape = Record(&[
    REQUEST_META,
    must("protocolVersion", Token),
    must("capabilities", CLIENT_CAPABILITIES),
    must("clientInfo", IMPLEMENTATION),
]);
pub(super) const INITIALIZE_RESULT: Shape = Record(&[
    RESULT_META,
    must("protocolVersion", Token),
    must("capabilities", SERVER_CAPABILITIES),
    must("serverInfo", IMPLEMENTATION),
    may("instructions", Text),
]);
pub(super) const DISCOVER_RESULT: Shape = Record(&[
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
    must("supportedVersions", List(&Token)),
    must("capabilities", SERVER_CAPABILITIES),
    may("instructions", Text),
    // an early revision had it here
    may("serverInfo", IMPLEMENTATION),
]);

// Content.
const ANNOTATIONS: Member = may(
    "annotations",
    Record(&[may("audience", List(&ROLE)), may("priority", Number), may("lastModified", Token)]),
);
const RESOURCE_MEMBERS: &[Member] = &[
    must("uri", Text),
    must("name", Text),
    may("title", Text),
    may("description", Text),
    may("mimeType", Text),
    may("size", Number),
    may("icons", ICONS),
    ANNOTATIONS,
];
const RESOURCE_CONTENTS: Shape = First(&[
    Record(&[must("uri", Text), may("mimeType", Text), must("text", Text)]),
    Record(&[must("uri", Text), may("mimeType", Text), must("blob", Text)]),
]);
const TEXT_CONTENT: &[Member] = &[must("text", Text), ANNOTATIONS];
const MEDIA_CONTENT: &[Member] = &[must("data", Text), must("mimeType", Text), ANNOTATIONS];
/// The types of content blocks, by which [`super::methods::FORMS`] lists them too.
pub(super) const CONTENT_BLOCKS: &[(&str, &[Member])] = &[
    ("text", TEXT_CONTENT),
    ("image", MEDIA_CONTENT),
    ("audio", MEDIA_CONTENT),
    ("resource_link", RESOURCE_MEMBERS),
    ("resource", &[must("resource", RESOURCE_CONTENTS), ANNOTATIONS]),
];
const CONTENT_BLOCK: Shape = Tagged("type", CONTENT_BLOCKS);
pub(super) const CONTENT: Shape = List(&CONTENT_BLOCK);

// Tools, resources and prompts.
pub(super) const CURSOR: Shape = Record(&[REQUEST_META, may("cursor", Text)]);
pub(super) const TOOL: Shape = Record(&[
    must("name", Text),
    may("title", Text),
    may("description", Text),
    must("inputSchema", Map(&Any)),
    may("outputSchema", Map(&Any)),
    may(
        "annotations",
        Record(&[
            may("title", Text),
            may("readOnlyHint", Bool),
            may("destructiveHint", Bool),
            may("idempotentHint", Bool),
            may("openWorldHint", Bool),
        ]),
    ),
    may("execution", Record(&[may("taskSupport", Word(&["forbidden", "optional", "required"]))])),
    may("icons", ICONS),
]);
const NEXT: Member = may("nextCursor", Text);
/// Entries are decoded one by one, so that one that is none hides nothing but itself.
pub(super) const TOOLS: Shape =
    Record(&[RESULT_META, RESULT_TYPE, TTL, CACHE_SCOPE, NEXT, must("tools", List(&Any))]);
pub(super) const RESOURCES: Shape = Record(&[
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
    NEXT,
    must("resources", List(&Record(RESOURCE_MEMBERS))),
]);
pub(super) const RESOURCE_TEMPLATES: Shape = Record(&[
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
    NEXT,
    must(
        "resourceTemplates",
        List(&Record(&[
            must("uriTemplate", Text),
            must("name", Text),
            may("title", Text),
            may("description", Text),
            may("mimeType", Text),
            may("icons", ICONS),
            ANNOTATIONS,
        ])),
    ),
]);
pub(super) const PROMPTS: Shape = Record(&[
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
    NEXT,
    must(
        "prompts",
        List(&Record(&[
            must("name", Text),
            may("title", Text),
            may("description", Text),
            may(
                "arguments",
                List(&Record(&[
                    must("name", Text),
                    may("title", Text),
                    may("description", Text),
                    may("required", Bool),
                ])),
            ),
            may("icons", ICONS),
        ])),
    ),
]);

// Calls. Answers to questions of a server are decoded by the questions.
const INPUT_RESPONSES: Member = may("inputResponses", Map(&Any));
const REQUEST_STATE: Member = may("requestState", Text);
pub(super) const CALL_TOOL: Shape = Record(&[
    REQUEST_META,
    must("name", Text),
    may("arguments", Map(&Any)),
    may("task", Record(&[may("ttl", Number)])),
    INPUT_RESPONSES,
    REQUEST_STATE,
]);
pub(super) const CALL_TOOL_RESULT: Shape = Record(&[
    may("content", CONTENT),
    may("structuredContent", Any),
    may("isError", Bool),
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
]);
pub(super) const READ_RESOURCE: Shape =
    Record(&[REQUEST_META, must("uri", Text), INPUT_RESPONSES, REQUEST_STATE]);
pub(super) const READ_RESOURCE_RESULT: Shape =
    Record(&[must("contents", List(&RESOURCE_CONTENTS)), RESULT_META, RESULT_TYPE, TTL, CACHE_SCOPE]);
pub(super) const GET_PROMPT: Shape =
    Record(&[REQUEST_META, must("name", Text), may("arguments", Map(&Any)), INPUT_RESPONSES, REQUEST_STATE]);
pub(super) const GET_PROMPT_RESULT: Shape = Record(&[
    may("description", Text),
    must("messages", List(&Record(&[must("role", ROLE), must("content", CONTENT_BLOCK)]))),
    RESULT_META,
    RESULT_TYPE,
    TTL,
    CACHE_SCOPE,
]);
/// A result that asks for more. The questions are decoded by their methods.
pub(super) const INPUT_REQUIRED: Shape = Record(&[
    must("resultType", Word(&["input_required"])),
    may("inputRequests", Map(&Record(&[must("method", Text), may("params", Map(&Any))]))),
    REQUEST_STATE,
    RESULT_META,
]);

// The other requests of a client.
pub(super) const COMPLETE: Shape = Record(&[
    REQUEST_META,
    must(
        "ref",
        Tagged(
            "type",
            &[
                ("ref/prompt", &[must("name", Text), may("title", Text)]),
                ("ref/resource", &[must("uri", Text)]),
            ],
        ),
    ),
    must("argument", Record(&[must("name", Text), must("value", Text)])),
    may("context", Record(&[may("arguments", Map(&Text))])),
]);
pub(super) const COMPLETE_RESULT: Shape = Record(&[
    RESULT_META,
    RESULT_TYPE,
    must("completion", Record(&[must("values", List(&Text)), may("total", Number), may("hasMore", Bool)])),
]);
pub(super) const SET_LEVEL: Shape = Record(&[REQUEST_META, must("level", LEVEL)]);
pub(super) const SUBSCRIBE: Shape = Record(&[REQUEST_META, must("uri", Text)]);
const SUBSCRIPTIONS: Member = must(
    "notifications",
    Record(&[
        may("toolsListChanged", Bool),
        may("promptsListChanged", Bool),
        may("resourcesListChanged", Bool),
        may("resourceSubscriptions", List(&Text)),
        may("taskIds", List(&Text)),
    ]),
);
pub(super) const LISTEN: Shape = Record(&[REQUEST_META, SUBSCRIPTIONS]);
pub(super) const ACKNOWLEDGED: Shape = Record(&[NOTIFICATION_META, SUBSCRIPTIONS]);

// Tasks. `statusMessage` is missing: no rule sees it before the result.
const TASK_STATUS: Shape = Word(&["working", "input_required", "completed", "failed", "cancelled"]);
/// A task of 2025-11-25.
pub(super) const TASK: Shape = Record(&[
    must("taskId", Text),
    must("status", TASK_STATUS),
    may("createdAt", Token),
    may("lastUpdatedAt", Token),
    may("ttl", Nullable(&Number)),
    may("pollInterval", Number),
]);
pub(super) const CREATE_TASK_RESULT: Shape = Record(&[must("task", TASK)]);
pub(super) const TASK_LIST: Shape = Record(&[NEXT, must("tasks", List(&TASK))]);
/// A task of the extension, with what it has come to. Both are decoded by the call that created it.
pub(super) const DETAILED_TASK: Shape = Record(&[
    may("resultType", Word(&["task", "complete"])),
    must("taskId", Text),
    must("status", TASK_STATUS),
    may("createdAt", Token),
    may("lastUpdatedAt", Token),
    may("ttlMs", Nullable(&Number)),
    may("pollIntervalMs", Number),
    may("result", Map(&Any)),
    may("error", Map(&Any)),
    may("inputRequests", Map(&Record(&[must("method", Text), may("params", Map(&Any))]))),
    // the same in the words of 2025-11-25
    may("ttl", Nullable(&Number)),
    may("pollInterval", Number),
    may("_meta", Meta(&[may("io.modelcontextprotocol/subscriptionId", Id)])),
]);
pub(super) const TASK_ID: Shape = Record(&[REQUEST_META, must("taskId", Text)]);
pub(super) const UPDATE_TASK: Shape =
    Record(&[REQUEST_META, must("taskId", Text), must("inputResponses", Map(&Any))]);
pub(super) const TASK_STATUS_NEWS: Shape = Record(&[
    NOTIFICATION_META,
    must("taskId", Text),
    must("status", TASK_STATUS),
    may("createdAt", Token),
    may("lastUpdatedAt", Token),
    may("ttl", Nullable(&Number)),
    may("pollInterval", Number),
]);

// Requests of a server. `task` is missing: see the capabilities of a client.
const TOOL_RESULT_CONTENT: &[Member] =
    &[must("toolUseId", Text), must("content", CONTENT), may("structuredContent", Any), may("isError", Bool)];
const TOOL_USE_CONTENT: &[Member] = &[must("id", Text), must("name", Text), must("input", Map(&Any))];
const SAMPLING_BLOCK: Shape = Tagged(
    "type",
    &[
        ("text", TEXT_CONTENT),
        ("image", MEDIA_CONTENT),
        ("audio", MEDIA_CONTENT),
        ("tool_use", TOOL_USE_CONTENT),
        ("tool_result", TOOL_RESULT_CONTENT),
    ],
);
const SAMPLING_CONTENT: Shape = First(&[SAMPLING_BLOCK, List(&SAMPLING_BLOCK)]);
pub(super) const CREATE_MESSAGE: Shape = Record(&[
    REQUEST_META,
    must("messages", List(&Record(&[must("role", ROLE), must("content", SAMPLING_CONTENT)]))),
    may(
        "modelPreferences",
        Record(&[
            may("hints", List(&Record(&[may("name", Text)]))),
            may("costPriority", Number),
            may("speedPriority", Number),
            may("intelligencePriority", Number),
        ]),
    ),
    may("systemPrompt", Text),
    may("includeContext", Word(&["none", "thisServer", "allServers"])),
    may("temperature", Number),
    must("maxTokens", Number),
    may("stopSequences", List(&Text)),
    may("metadata", Map(&Any)),
    may("tools", List(&TOOL)),
    may("toolChoice", Record(&[may("mode", Word(&["auto", "required", "none"]))])),
]);
pub(super) const CREATE_MESSAGE_RESULT: Shape = Record(&[
    RESULT_META,
    must("role", ROLE),
    must("content", SAMPLING_CONTENT),
    must("model", Text),
    may("stopReason", Text),
]);
const CHOICES: Shape = List(&Record(&[must("const", Text), must("title", Text)]));
const FORM_FIELD: Shape = Record(&[
    must("type", Word(&["string", "number", "integer", "boolean", "array"])),
    may("title", Text),
    may("description", Text),
    may("minLength", Number),
    may("maxLength", Number),
    may("pattern", Text),
    may("format", Token),
    may("minimum", Number),
    may("maximum", Number),
    may("minItems", Number),
    may("maxItems", Number),
    may("enum", List(&Text)),
    may("enumNames", List(&Text)),
    may("oneOf", CHOICES),
    may("items", Record(&[may("type", Word(&["string"])), may("enum", List(&Text)), may("anyOf", CHOICES)])),
    may("default", Any),
]);
pub(super) const ELICIT: Shape = First(&[
    Record(&[
        REQUEST_META,
        must("mode", Word(&["url"])),
        must("message", Text),
        must("url", Text),
        may("elicitationId", Text),
    ]),
    Record(&[
        REQUEST_META,
        may("mode", Word(&["form"])),
        must("message", Text),
        must(
            "requestedSchema",
            Record(&[
                may("$schema", Text),
                must("type", Word(&["object"])),
                must("properties", Map(&FORM_FIELD)),
                may("required", List(&Text)),
            ]),
        ),
    ]),
]);
pub(super) const ELICIT_RESULT: Shape = Record(&[
    RESULT_META,
    must("action", Word(&["accept", "decline", "cancel"])),
    may("content", Map(&First(&[Text, Number, Bool, List(&Text)]))),
]);
pub(super) const ROOTS: Shape =
    Record(&[RESULT_META, must("roots", List(&Record(&[must("uri", Text), may("name", Text)])))]);

// Notifications.
pub(super) const CANCELLED: Shape = Record(&[NOTIFICATION_META, may("requestId", Id), may("reason", Text)]);
pub(super) const PROGRESS: Shape = Record(&[
    NOTIFICATION_META,
    must("progressToken", Id),
    must("progress", Number),
    may("total", Number),
    may("message", Text),
]);
pub(super) const LOG_MESSAGE: Shape =
    Record(&[NOTIFICATION_META, must("level", LEVEL), may("logger", Text), must("data", Any)]);
pub(super) const RESOURCE_UPDATED: Shape =
    Record(&[NOTIFICATION_META, must("uri", Text), may("title", Text)]);
pub(super) const ELICITATION_COMPLETE: Shape = Record(&[NOTIFICATION_META, must("elicitationId", Text)]);

/// The data of the errors that the protocol defines. That of others is dropped.
pub(super) const ERROR_DATA: &[(i64, Shape)] = &[
    (-32_021, Record(&[must("requiredCapabilities", CLIENT_CAPABILITIES)])),
    (-32_022, Record(&[must("supported", List(&Token)), may("requested", Token)])),
    // the code of a mismatch of versions before 2026-07-28
    (-32_602, Record(&[must("supported", List(&Token)), may("requested", Token)])),
];
