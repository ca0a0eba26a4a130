//! What compiling an agent finds: each finding with its path, its code and the characters that it underlines.

use crate::task_fixture::manifests;

/// `error|warning path code: underlined` for each finding.
fn findings(agent: &str) -> Vec<String> {
    let (_, findings) = crate::task_fixture::parse("test.yaml", &manifests(agent));
    findings
        .iter()
        .map(|finding| {
            let severity = if finding.is_error() { "error" } else { "warning" };
            let underlined = finding.place.source.slice(finding.place.span);
            format!("{severity} {} {}: {underlined}", finding.path, finding.code)
        })
        .collect()
}

fn step(step: &str) -> String {
    format!("capabilities:\n  ledger:\n    before:\n    - {step}\n")
}

#[test]
fn names_are_errors_in_their_scope_and_fields_are_warnings() {
    let assert = |text: &str| findings(&step(&format!("{{assert: \"{text}\"}}")));
    let before = "capabilities.ledger.before[0].assert";
    let rows: [(&str, Vec<String>); 9] = [
        ("contxt.user.id == ''", vec![format!("error {before} undeclared_name: contxt")]),
        ("output.x == 1", vec![format!("error {before} undeclared_name: output")]),
        ("settings.key == ''", vec![format!("error {before} undeclared_name: settings")]),
        ("mount.read('x') == ''", vec![format!("error {before} undeclared_function: mount.read")]),
        ("1 +", vec![format!("error {before} syntax_error: ")]),
        ("input.acount == ''", vec![format!("warning {before} unknown_field: acount")]),
        // `lookup` has no amount
        ("input.amount > 5", vec![format!("warning {before} read_not_by_all: input.amount")]),
        ("c.cap.ledger.count_successful > 0 && c.cap.ledger_lookup.count_errored == 0", vec![]),
        ("has(event) || event.payload.x == 1", vec![]),
    ];
    for (text, wanted) in rows {
        assert_eq!(assert(text), wanted, "{text}");
    }
}

#[test]
fn a_step_with_match_sees_the_parameters_of_its_action_only() {
    // `lookup` has an account, `post-entry` an amount as well
    let path = "capabilities.ledger.before[0].assert";
    let matched = |action: &str| step(&format!("{{assert: 'input.amount > 5', match: {action}}}"));
    assert_eq!(findings(&matched("post_entry")), Vec::<String>::new());
    assert_eq!(findings(&matched("lookup")), [format!("warning {path} unknown_field: amount")]);
}

#[test]
fn reviews_stand_where_a_task_can_wait() {
    // CEL-36, RV-08
    let refused = [
        ("guardrails:\n  after:\n  - {assert: \"review('a')\"}\n", "guardrails.after[0].assert"),
        (
            "capabilities:\n  ledger: {bindings: {account: \"review('a') ? 'x' : 'y'\"}}\n",
            "capabilities.ledger.bindings.account",
        ),
        ("exposes: {x: \"review('a')\"}\n", "exposes.x"),
        (
            "capabilities:\n  ledger:\n    before:\n    - {assert: context.user.id != '', condition: \"review('a')\"}\n",
            "capabilities.ledger.before[0].condition",
        ),
    ];
    for (agent, path) in refused {
        assert_eq!(findings(agent), [format!("error {path} undeclared_function: review")], "{agent}");
    }
    assert_eq!(
        findings(&step("{invoke: 'audit:append', bindings: {what: \"review('a') ? 'x' : 'y'\"}}")),
        Vec::<String>::new()
    );
}

#[test]
fn messages_are_checked_placeholder_by_placeholder() {
    // INT-15, INT-19, MW-37
    let message = |text: &str| {
        findings(&step(&format!("{{assert: context.user.id != '', error_message: \"{text}\"}}")))
    };
    let path = "capabilities.ledger.before[0].error_message";
    let rows: [(&str, Vec<String>); 7] = [
        ("é {input.account} {context.user.email} {now} {event.payload.x} {runtime.version}", vec![]),
        ("é {output}", vec![format!("error {path} unknown_root: {{output}}")]),
        (
            "é {input..x} {foo}",
            vec![
                format!("error {path} malformed_placeholder: {{input..x}}"),
                format!("error {path} unknown_root: {{foo}}"),
            ],
        ),
        ("{1 + 1}", vec![format!("error {path} malformed_placeholder: {{1 + 1}}")]),
        ("a { b", vec![format!("error {path} malformed_placeholder: {{ b")]),
        ("{context.user.nmae}", vec![format!("warning {path} unknown_field: {{context.user.nmae}}")]),
        ("{input.acount}", vec![format!("warning {path} unknown_field: {{input.acount}}")]),
    ];
    for (text, wanted) in rows {
        assert_eq!(message(text), wanted, "{text}");
    }
}

#[test]
fn a_bare_word_is_text_and_a_typo_is_not() {
    // BND-10 to BND-14
    let binding = |mount: &str, value: &str| {
        findings(&format!("{mount}capabilities:\n  ledger: {{bindings: {{account: \"{value}\"}}}}\n"))
    };
    let path = "capabilities.ledger.bindings.account";
    for word in ["acme", "buoyant-systems", "_x-Y9", "settings", "file"] {
        assert_eq!(binding("", word), [format!("warning {path} bare_word: \"{word}\"")]);
    }
    assert_eq!(binding("", "50"), [format!("warning {path} binding_misfit: \"50\"")]);
    for literal in ["'acme'", "string(50)", "context.user.id", "c.user.id", "now", "runtime.version + '-x'"] {
        assert_eq!(binding("", literal), Vec::<String>::new(), "{literal}");
    }
    for wrong in ["contxt.user.id", "input", "output", "a--b", "v-2", "a.b", "x-", "mount.prefix", "event"] {
        let found = binding("", wrong);
        assert!(!found.is_empty() && found.iter().all(|one| one.starts_with("error")), "{wrong}: {found:?}");
    }
    for template in ["{mount.prefix}", "gs://{mount.bucket}{mount.prefix}out", "mount.prefix + 'x'"] {
        assert_eq!(binding("mount: task\n", template), Vec::<String>::new(), "{template}");
        assert!(binding("", template).iter().any(|one| one.starts_with("error")), "{template}");
    }
    assert!(binding("mount: task\n", "{mount.nope}").iter().any(|one| one.starts_with("error")));
}

/// Covers: INT-06, INT-07, TOOL-14, INT-20, INT-21
#[test]
fn templates_of_backends_are_looked_through() {
    let tool = |execute: &str| {
        format!(
            "capabilities: {{web: '*'}}\n---\nkind: commonagents.info/v1beta2/tool\nnamespace: demo\nname: web\n\
             description: d\nsettings: {{properties: {{base.url: {{type: string}}, key: {{type: string}}}}}}\nactions:\n\
             - name: go\n  description: d\n  parameters: {{properties: {{id: {{type: string}}}}}}\n  execute: {{{execute}}}\n"
        )
    };
    let http = |url: &str| {
        tool(&format!("stateless_http: {{method: POST, url: \"{url}\", headers: {{x: '{{settings.key}}'}}}}"))
    };
    let path = "actions[0].execute.stateless_http.url";
    let rows: [(&str, Vec<String>); 6] = [
        ("{settings.base.url}/{parameters.id}?{auth.hub()}", vec![]),
        ("{settings.kei}", vec![format!("warning {path} undeclared_setting: {{settings.kei}}")]),
        ("{parameters.di}", vec![format!("warning {path} undeclared_parameter: {{parameters.di}}")]),
        ("{session.id}", vec![format!("error {path} no_session: {{session.id}}")]),
        ("{mount.bucket}", vec![format!("warning {path} no_mount: {{mount.bucket}}")]),
        (r"{} {foo.x}", vec![format!("warning {path} literal_braces: {{foo.x}}")]),
    ];
    for (url, wanted) in rows {
        assert_eq!(findings(&http(url)), wanted, "{url}");
    }
    assert_eq!(findings(&tool("mcp: {url: '{session.x}'}")), Vec::<String>::new());
}

#[test]
fn an_agent_with_an_error_anywhere_must_not_run() {
    let broken = step("{assert: 'nope'}");
    let (engine, _) = crate::task_fixture::parse("test.yaml", &manifests(&broken));
    assert!(engine.policy("demo", "clerk").is_err());
    let (engine, _) = crate::task_fixture::parse(
        "test.yaml",
        &manifests("capabilities: {probe: '*'}\nlimits: {max_turn: 1}\n"),
    );
    assert!(engine.policy("demo", "clerk").is_err());
}

#[test]
fn what_is_decided_before_it_runs_is_pointed_out() {
    let path = "capabilities.ledger.before[0]";
    assert_eq!(findings(&step("{assert: '1 < 2'}")), [format!("warning {path}.assert constant: '1 < 2'")]);
    assert_eq!(
        findings(&step("{assert: context.user.id != '', condition: 'size([]) > 0'}")),
        [format!("warning {path}.condition constant: 'size([]) > 0'")]
    );
    assert_eq!(
        findings(&step("{assert: now.matches('(')}")),
        [format!("warning {path}.assert bad_pattern: (")]
    );
}
