//! Traffic that is forwarded unjudged: it is counted in the decision log, by its form, and `celador report` shows it.

use crate::serving::Serving;
use celador_store::decision_log::{DecisionLog, LogSettings};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// The rows of a report about a decision log.
fn report(log: &Path, more: &[&str]) -> Vec<Value> {
    report_of(&[&[log.to_str().unwrap()], more].concat())
}

/// The rows of a report.
fn report_of(arguments: &[&str]) -> Vec<Value> {
    let run = Command::new(env!("CARGO_BIN_EXE_celador"))
        .args(["report", "--format", "json"])
        .args(arguments)
        .output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Forms and counts of the rows about unjudged traffic.
fn unjudged(rows: &[Value]) -> Vec<(&str, u64)> {
    let rows = rows.iter().filter(|row| row["form"].is_string());
    rows.map(|row| (row["form"].as_str().unwrap(), row["count"].as_u64().unwrap())).collect()
}

#[test]
fn what_a_guard_forwards_unjudged_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("none.yaml");
    let rules = json!({
        "kind": "celador/v1/policy", "namespace": "home", "name": "none", "applies_to": { "agents": ["mcp/*"] },
        "capabilities": { "*": { "before": [{ "assert": "!has(input.path) || !input.path.contains('/.')" }] } },
    });
    std::fs::write(&policy, rules.to_string()).unwrap();
    for (observes, expected) in [
        (
            true,
            &[("mcp: member ping.x", 2), ("mcp: method notifications/x", 1), ("mcp: method x/unknown", 2)][..],
        ),
        (false, &[]),
    ] {
        let log = folder.path().join(format!("decisions-{observes}"));
        let mut guard = Command::new(env!("CARGO_BIN_EXE_celador"));
        guard
            .arg("mcp")
            .arg("--decision-log")
            .arg(&log)
            .arg("--policies")
            .arg(&policy)
            .args(observes.then_some("--observe"));
        guard
            .args(["--", "sh", "-c", "cat > /dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut running = guard.spawn().unwrap();
        let mut client = running.stdin.take().unwrap();
        for message in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "x/unknown" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "x/unknown", "params": { "secret": "AKIA" } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/x" }),
            json!({ "jsonrpc": "2.0", "id": 3, "method": "ping", "params": { "x": "secret" } }),
            json!({ "jsonrpc": "2.0", "id": 4, "method": "ping", "params": { "x": "secret" } }),
        ] {
            writeln!(client, "{message}").unwrap();
        }
        drop(client);
        running.wait().unwrap();
        let rows = report(&log, &[]);
        let mut counted = unjudged(&rows);
        counted.sort_by_key(|(form, _)| *form);
        assert_eq!(counted, expected, "{rows:?}");
        assert!(!format!("{rows:?}").contains("secret"), "{rows:?}");
        // it is no decision
        assert_eq!(rows.last().unwrap()["decisions"], 0, "{rows:?}");
    }
}

/// Posts to a proxy; its upstream is not there, so every answer is an error.
fn post(address: &str, path: &str, body: &str) {
    let client: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request = client.post(format!("{address}{path}")).header("content-type", "application/json");
    assert!(!request.send(body).unwrap().status().is_success());
}

#[test]
fn what_a_proxy_forwards_unjudged_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proxy/rules.yaml");
    let known = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hello." }] });
    let mut unknown = known.clone();
    unknown["x_secret"] = "AKIA".into();
    for (options, expected) in [
        (&["--observe"][..], &[("proxy: the member `x_secret`", 2)][..]),
        (&["--allow-other"], &[("proxy: address /v1/x/1", 1), ("proxy: the member `x_secret`", 2)]),
        (&[], &[]),
    ] {
        let log = folder.path().join(format!("decisions{}", options.concat()));
        let mut proxy = Command::new(env!("CARGO_BIN_EXE_celador"))
            .args(["proxy", "openai", "--agent", "shop/desk", "--policies", rules, "--listen", "127.0.0.1:0"])
            .args(["--upstream", "http://127.0.0.1:1/v1", "--decision-log"])
            .arg(&log)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().last().unwrap();
        for (path, body) in [
            ("/v1/chat/completions", &known),
            ("/v1/chat/completions", &unknown),
            ("/v1/chat/completions", &unknown),
            ("/v1/x/1", &known),
        ] {
            post(address, path, &body.to_string());
        }
        proxy.kill().unwrap();
        proxy.wait().unwrap();
        let rows = report(&log, &[]);
        let mut counted = unjudged(&rows);
        counted.sort_by_key(|(form, _)| *form);
        assert_eq!(counted, expected, "{options:?} {rows:?}");
        assert!(!format!("{rows:?}").contains("AKIA"), "{rows:?}");
    }
}

/// Unknown events of hooks, and the forms under which they are counted.
fn unknown_events() -> [(Value, &'static str); 3] {
    [
        (
            json!({ "session_id": "s", "hook_event_name": "PreThought", "secret": "AKIA" }),
            "hook: event PreThought",
        ),
        (json!({ "session_id": "s", "hook_event_name": "PreThought\u{202e}\n" }), "hook: event PreThought"),
        (
            json!({ "session_id": "s", "hook_event_name": "PreToolUse", "turn_id": "1" }),
            "hook: event of Codex",
        ),
    ]
}

#[test]
fn what_a_hook_lets_by_unjudged_is_counted_beside_its_store() {
    for (observes, expected) in
        [(true, &[("hook: event PreThought", 2), ("hook: event of Codex", 1)][..]), (false, &[])]
    {
        let folder = tempfile::tempdir().unwrap();
        let hook = || {
            let mut hook = Command::new(env!("CARGO_BIN_EXE_celador"));
            hook.args(["hook", "claude-code", "examples/claude-code", "--user", "kim", "--data"])
                .arg(folder.path())
                .args(observes.then_some("--observe"))
                .env_remove("CELADOR_STORE")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            hook.spawn().unwrap()
        };
        let known = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": "startup" });
        let events: Vec<Value> =
            unknown_events().map(|(event, _)| event).into_iter().chain([known]).collect();
        // side by side, as the hooks of one session may run
        let running: Vec<_> = events
            .iter()
            .map(|event| {
                let mut hook = hook();
                write!(hook.stdin.take().unwrap(), "{event}").unwrap();
                hook
            })
            .collect();
        for mut hook in running {
            hook.wait().unwrap();
        }
        let store = folder.path().join("celador.db");
        let rows = report_of(&["--store", store.to_str().unwrap()]);
        let mut counted = unjudged(&rows);
        counted.sort_by_key(|(form, _)| *form);
        assert_eq!(counted, expected, "{rows:?}");
        assert!(!format!("{rows:?}").contains("AKIA"), "{rows:?}");
    }
}

#[test]
fn a_server_counts_events_of_hooks_that_it_lets_by() {
    for observes in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let log = DecisionLog::open(LogSettings::new(folder.path()), "2026-06-01T12:00:00Z".parse().unwrap())
            .unwrap();
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let serving = Serving::over_log(database, log, |settings, _| {
            settings.policies = vec!["examples/claude-code".into()];
            settings.observe = observes;
        });
        for (event, _) in unknown_events() {
            let answer = serving.post("/hooks/claude-code", &event);
            assert_eq!((answer.status, answer.json() == json!({})), (200, observes), "{event}");
        }
        serving.stop();
        let rows = report(folder.path(), &[]);
        let counted = unjudged(&rows).into_iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(counted, if observes { 3 } else { 0 }, "{rows:?}");
    }
}

#[test]
fn a_server_notes_what_gateways_forward() {
    let folder = tempfile::tempdir().unwrap();
    let database = || Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let log =
        DecisionLog::open(LogSettings::new(folder.path()), "2026-06-01T12:00:00Z".parse().unwrap()).unwrap();
    let serving = Serving::over_log(database(), log, |_, _| {});
    let note = |serving: &Serving, body: Value| serving.post("/v1/unjudged", &body);
    for count in [2, 3] {
        let noted = note(&serving, json!({ "form": "proxy: block image_url", "count": count }));
        assert_eq!((noted.status, noted.json()), (200, json!({ "noted": true })));
    }
    for refused in [
        json!({ "form": "", "count": 1 }),
        json!({ "form": " ", "count": 1 }),
        json!({ "form": "a".repeat(1_000_000), "count": 1 }),
        json!({ "form": "a", "count": 0 }),
        json!({ "form": "a", "count": -1 }),
        json!({ "form": "a", "count": 1, "content": "x" }),
        json!({ "form": "a" }),
    ] {
        let shown: String = refused.to_string().chars().take(40).collect();
        assert_eq!(note(&serving, refused).status, 400, "{shown}");
    }
    serving.stop();
    let rows = report(folder.path(), &[]);
    assert_eq!(unjudged(&rows), [("proxy: block image_url", 5)], "{rows:?}");
    assert_eq!(unjudged(&report(folder.path(), &["--since", "9999-01-01T00:00:00Z"])), []);
    let without = Serving::over(database(), |_, _| {});
    assert_eq!(note(&without, json!({ "form": "a", "count": 1 })).json(), json!({ "noted": false }));
}
