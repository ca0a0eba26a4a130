//! The workload: the state of a task with N recorded invocations, and the expressions that a policy asks of it.
//!
//! The state exists twice, from the same generator: as plain Rust structs, which say what the questions cost at best,
//! and as Celador's task context. Every answer is asserted before anything is timed.

/// An expression of the workload by its name.
pub const EXPRESSIONS: &[(&str, &str)] = &[
    ("E1", "context.llm.tokens.total > 5000 && context._history.turn_count > 8"),
    ("E2", r#"context.user.email.endsWith("@example.com") && context.agent.namespace.startsWith("prod-")"#),
    ("E3", "context.capabilities.github_file_read_chunk.count_successful > 0"),
    ("E4", "output.status_code >= 200 && output.status_code < 300"),
    ("E5", "size(input.message) < 50000"),
    ("E6", r#"context.capabilities.zendesk_fetch_ticket.outputs[0].status == "open""#),
    ("E7", r#"context.capabilities._meta.invocations.filter(f, f == "delete_repo").size() < 3"#),
    ("E8", r#"input.path.matches("^/srv/[a-z0-9_/-]+\\.md$")"#),
    ("E9", "{'id': output.id, 'status': output.status, '_note': 'Credentials redacted.'}"),
    ("E10", r#"c.capabilities.exists(k, k.startsWith("delete_"))"#),
    ("E11", "context.input.all(t, t.message.all(p, size(p.text) < 50000))"),
    (
        "E12",
        concat!(
            "context.llm.tokens.total > 5000 && context._history.turn_count > 8",
            r#" && context.user.email.endsWith("@example.com") && context.agent.namespace.startsWith("prod-")"#,
            " && context.capabilities.github_file_read_chunk.count_successful > 0",
            r#" && (output.status_code >= 200 && output.status_code < 300 || output.status == "ok")"#,
            " && size(input.message) < 50000",
            r#" && (context.capabilities.zendesk_fetch_ticket.outputs[0].status == "open" || context.user.id == "u-admin")"#,
            r#" && !c.capabilities.exists(k, k.startsWith("delete_"))"#,
            r#" && input.path.matches("^/srv/[a-z0-9_/-]+\\.md$")"#,
        ),
    ),
    (
        "E12n",
        concat!(
            "context.llm.tokens.total > 5000 && context._history.turn_count > 8",
            r#" && context.user.email.endsWith("@example.com") && context.agent.namespace.startsWith("prod-")"#,
            " && context.capabilities.github_file_read_chunk.count_successful > 0",
            r#" && (output.status_code >= 200 && output.status_code < 300 || output.status == "ok")"#,
            " && size(input.message) < 50000",
            r#" && (context.capabilities.zendesk_fetch_ticket.outputs[0].status == "open" || context.user.id == "u-admin")"#,
            r#" && !c.capabilities.exists(k, k.startsWith("delete_"))"#,
            " && context.capabilities._meta.count < 1000000",
        ),
    ),
    ("E13", "context.capabilities.db_query.outputs.all(o, o.bytes < 1000000)"),
];

/// The functions that were called, in turn.
pub const FUNCTIONS: [&str; 5] =
    ["github_file_read_chunk", "zendesk_fetch_ticket", "db_query", "slack_post", "calendar_list"];

/// What each expression but E9 answers.
pub fn expected(name: &str) -> bool {
    name != "E10"
}

/// The text of one expression.
pub fn expression(name: &str) -> &'static str {
    EXPRESSIONS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
}

/// One recorded invocation: input and output of about 200 bytes each, as JSON.
pub fn invocation(n: usize) -> (serde_json::Value, serde_json::Value) {
    let input = serde_json::json!({
        "path": format!("/srv/docs/chapter-{n}.md"),
        "offset": n * 4096,
        "reason": "The user asked for the second section, which this chunk is expected to hold together with its notes.",
        "branch": "main",
    });
    let output = serde_json::json!({
        "status_code": 200,
        "status": "open",
        "id": format!("ticket-{n}"),
        "bytes": 4096 + n % 100,
        "body": "Section two. The quick brown fox jumps over the lazy dog while the guard looks on, unmoved by it all.",
    });
    (input, output)
}

/// The arguments of the call under test.
pub fn input() -> serde_json::Value {
    serde_json::json!({"path": "/srv/docs/guide/intro_2.md", "message": "m".repeat(2000), "ticket_id": "T-1"})
}

/// The result of the call under test.
pub fn output() -> serde_json::Value {
    serde_json::json!({"status_code": 200, "status": "ok", "id": "R-77", "body": "b".repeat(120)})
}
