//! The server over real HTTP: the stories of `tests/data/http`, row by row, and what no row can say.
//!
//! A story is a list of requests to one server, each with the status and a part of the answer. `{name}` in a path or body is
//! what an earlier row kept; a story may name its `policies`; a row's `answer` has to be found in the answer, whatever else is there.

use crate::openapi;
use crate::serving::{SCOPES, Serving, desk, new_task};
use celador_store::{Location, StoreLimits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/http")
}

/// Whether all of `part` is in `whole`. What is to be null may be absent.
fn holds(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| holds(whole.get(key).unwrap_or(&Value::Null), part))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| holds(whole, part))
        }
        _ => whole == part,
    }
}

fn filled(text: &str, kept: &BTreeMap<String, String>) -> String {
    kept.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Runs a story; says what differs.
fn run(story: &Value) -> Result<usize, String> {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        if let Some(policies) = story["policies"].as_str() {
            settings.policies = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(policies)];
        }
        settings.allow_unlock = story["allow_unlock"] == json!(true);
        for (namespace, agent) in story["default_agents"].as_object().into_iter().flatten() {
            settings.default_agents.insert(namespace.clone(), agent.as_str().unwrap().to_owned());
        }
        for (name, value) in story["limits"].as_object().into_iter().flatten() {
            let value = value.as_u64().unwrap();
            assert!(
                settings.limits.set(name, value) || settings.limits.store.engine.set(name, value),
                "{name}"
            );
        }
    });
    let mut kept = BTreeMap::new();
    let rows = story["rows"].as_array().unwrap();
    for (number, row) in rows.iter().enumerate() {
        if let Some(now) = row["now"].as_str() {
            serving.set_now(now);
        }
        let request = filled(row["request"].as_str().unwrap(), &kept);
        let (method, path) = request.split_once(' ').unwrap();
        let body = match (&row["body"], row["raw"].as_str()) {
            (Value::Null, None) => String::new(),
            (Value::Null, Some(raw)) => raw.to_owned(),
            (body, _) => filled(&body.to_string(), &kept),
        };
        let mut headers: Vec<(&str, &str)> = Vec::new();
        if !body.is_empty() && row["headers"]["content-type"].is_null() {
            headers.push(("content-type", "application/json"));
        }
        let given = row["headers"].as_object().into_iter().flatten();
        headers.extend(given.map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
        let described = row["undescribed"].is_null();
        let reply = if described {
            serving.send(method, path, &headers, body.as_bytes())
        } else {
            serving.send_anything(method, path, &headers, body.as_bytes())
        };
        let about =
            |what: &str| format!("row {number}, {request}: {what}\n{} {}", reply.status, reply.text());
        if Some(u64::from(reply.status)) != row["status"].as_u64() {
            return Err(about("another status"));
        }
        let takes_json = described && reply.status < 300 && !row["body"].is_null();
        if takes_json && !openapi::fits_request(method, path, &serde_json::from_str(&body).unwrap()) {
            return Err(about("taken, although the document does not describe the body"));
        }
        if !row["answer"].is_null() {
            let answer: Value = serde_json::from_str(&filled(&row["answer"].to_string(), &kept)).unwrap();
            if !holds(&reply.json(), &answer) {
                return Err(about(&format!("does not hold {answer}")));
            }
        }
        for (name, value) in row["answer_headers"].as_object().into_iter().flatten() {
            if reply.header(name) != value.as_str() {
                return Err(about(&format!("header {name} is {:?}", reply.header(name))));
            }
        }
        for (name, pointer) in row["keep"].as_object().into_iter().flatten() {
            let json = reply.json();
            let value = json.pointer(pointer.as_str().unwrap()).ok_or_else(|| about("nothing to keep"))?;
            kept.insert(name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    Ok(rows.len())
}

#[test]
fn stories_go_as_they_are_told() {
    let (mut rows, mut wrong) = (0, Vec::new());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    for path in paths {
        let stories: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for story in stories.as_array().unwrap() {
            match run(story) {
                Ok(ran) => rows += ran,
                Err(what) => wrong.push(format!("{}: {}: {what}", path.display(), story["title"])),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(rows > 60, "only {rows} rows");
}

/// The first requests of the page, sent as they stand there under the manifest that stands above them, in one story.
#[test]
fn the_page_shows_what_is_answered() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/http.md")).unwrap();
    let policies = "tests/data/http/manifests/desk.yaml";
    let manifest = fs::read_to_string(root.join(policies)).unwrap();
    assert!(
        page.contains(&format!("```yaml\n{manifest}```")),
        "the page shows another manifest than {policies}"
    );
    let json = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let blocks = page.split("```http\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let rows = blocks.map(|block| {
        let (request, answer) = block.split_once("\n\n").unwrap();
        let (request, body) = request.split_once('\n').unwrap_or((request, "null"));
        let (status, answer) = answer.split_once('\n').unwrap();
        let status: u16 = status.parse().unwrap();
        // an id that the server makes up stands in braces
        let keep = if request == "GET /v1/reviews" { json!({"review": "/reviews/0/id"}) } else { json!({}) };
        json!({"request": request, "body": json(body), "status": status, "answer": json(answer), "keep": keep})
    });
    let rows: Vec<Value> = rows.collect();
    assert!(rows.len() > 10, "only {} requests were found", rows.len());
    run(&json!({"policies": policies, "rows": rows})).unwrap_or_else(|differs| panic!("{differs}"));
}

#[test]
fn one_caller_never_learns_of_anothers_tasks() {
    let serving = Serving::with_tokens();
    let (ann, bob) = (serving.token("did:web:ann", &SCOPES), serving.token("did:web:bob", &SCOPES));
    let hers = serving.new_task(Some(&ann));
    let input = json!({"message": "Please see to this.", "ticket_id": "T-1041"});
    assert_eq!(serving.post_as(&ann, &format!("{hers}/input"), &input).status, 200);
    let nowhere = "/v1/tasks/00000000-0000-4000-8000-000000000000";
    let posts = [
        ("input", input.clone()),
        ("before", json!({"function": "payments_refund", "arguments": {}})),
        ("resume", json!({"answer": {"review": true}})),
        ("evaluate", json!({"scope": "before", "expression": "context.user.id"})),
        ("check", json!({"scope": "before", "expression": "context.user.id"})),
        ("render", json!({"kind": "prompt"})),
        ("interrupt", json!({})),
    ];
    // what is said of the request differs; nothing else may
    let told = |reply: &crate::serving::Reply| {
        let mut json = reply.json();
        json.as_object_mut().unwrap().remove("instance");
        (reply.status, json)
    };
    for (step, body) in &posts {
        let (of_hers, of_none) = (format!("{hers}/{step}"), format!("{nowhere}/{step}"));
        let (hidden, absent) = (serving.post_as(&bob, &of_hers, body), serving.post_as(&bob, &of_none, body));
        assert_eq!(hidden.status, 404, "{step}");
        assert_eq!(told(&hidden), told(&absent), "{step}");
    }
    for part in ["", "/context", "/offers", "/events"] {
        let (of_hers, of_none) = (format!("{hers}{part}"), format!("{nowhere}{part}"));
        let (hidden, absent) = (serving.get_as(&bob, &of_hers), serving.get_as(&bob, &of_none));
        assert_eq!(hidden.status, 404, "{part}");
        assert_eq!(told(&hidden), told(&absent), "{part}");
    }
    assert_eq!(serving.get_as(&bob, "/v1/tasks").json()["tasks"], json!([]));
    let listed = serving.get_as(&ann, "/v1/tasks").json();
    assert_eq!(format!("/v1/tasks/{}", listed["tasks"][0]["task"].as_str().unwrap()), hers);
    assert_eq!(serving.get_as(&ann, &hers).json()["version"], 2);
}

#[test]
fn keys_are_each_callers_own() {
    let serving = Serving::with_tokens();
    let (ann, bob) = (serving.token("did:web:ann", &SCOPES), serving.token("did:web:bob", &SCOPES));
    let create = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers =
            [("content-type", "application/json"), ("authorization", &*bearer), ("idempotency-key", "k-1")];
        serving.send("POST", "/v1/tasks", &headers, new_task().to_string().as_bytes())
    };
    let (first, again, other) = (create(&ann), create(&ann), create(&bob));
    assert_eq!(first.json(), again.json());
    assert_eq!(
        (first.header("idempotency-replayed"), again.header("idempotency-replayed")),
        (None, Some("true"))
    );
    assert_eq!((other.status, other.header("idempotency-replayed")), (201, None));
    assert_ne!(first.json()["task"], other.json()["task"]);
}

/// Every route, without a token, with a wrong one, and with every scope but its own.
#[test]
fn every_route_asks_who_and_for_which_scope() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        settings.allow_unlock = true;
    });
    let public = ["/healthz", "/readyz", "/openapi.json", "/.well-known/agent-card.json"];
    for row in openapi::rows() {
        let [method, path, operation]: [&str; 3] = row.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let path = path.replace("{task}", "t-1");
        let send = |authorization: Option<&str>| {
            let mut headers = vec![("content-type", "application/json")];
            headers.extend(authorization.map(|value| ("authorization", value)));
            let body: &[u8] = match (method, operation) {
                (_, "jsonRpc") => br#"{"jsonrpc": "2.0", "id": 7, "method": "contexts/list"}"#,
                ("POST", "reloadManifests") | ("GET" | "DELETE", _) => b"",
                _ => b"{}",
            };
            serving.send(method, &path, &headers, body)
        };
        if public.contains(&&*path) {
            assert_eq!(send(None).status, 200, "{row}");
            continue;
        }
        let strangers = [None, Some("Bearer nobody"), Some("Basic bm9ib2R5OnB3"), Some("Bearer"), Some("")];
        for stranger in strangers {
            let reply = send(stranger);
            assert_eq!(reply.status, 401, "{row} {stranger:?}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"), "{row}");
            if operation == "jsonRpc" {
                assert_eq!(reply.json()["error"]["code"], -32009);
                assert_eq!(reply.json()["id"], 7);
            }
        }
        let allowed: Vec<&str> = SCOPES
            .into_iter()
            .filter(|scope| {
                let token = serving.token("did:web:ann", &[scope]);
                let authorization = format!("bearer {token}");
                let status = match operation {
                    "streamReviews" => serving.status_of_stream(&path, &authorization),
                    _ => send(Some(&authorization)).status,
                };
                status != 403
            })
            .collect();
        assert_eq!(allowed.len(), 1, "{row} is allowed by {allowed:?}");
        // `readCall` hands over the arguments of a call that runs, secrets among them, as `before` does
        let writes = ["turnSwitchOff", "writeAgentContext", "deleteAgentContext", "readCall"]
            .contains(&operation)
            || method == "POST"
                && !["check", "evaluate", "render", "explain"].iter().any(|end| path.ends_with(end));
        let writes = writes && !["jsonRpc", "unlockTask"].contains(&operation);
        assert_eq!(allowed[0].ends_with(":write"), writes, "{row}: {allowed:?}");
    }
}

#[test]
fn clearing_contexts_needs_its_own_scope() {
    let serving = Serving::with_tokens();
    let token = serving.token("did:web:ann", &["agent:read"]);
    let clear = json!({"jsonrpc": "2.0", "id": 8, "method": "contexts/clear", "params": {"contextId": "c"}});
    let refused = serving.post_as(&token, "/", &clear);
    assert_eq!(refused.status, 403);
    assert_eq!((&refused.json()["error"]["code"], &refused.json()["id"]), (&json!(-32013), &json!(8)));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "contexts/list"});
    assert_eq!(serving.post_as(&token, "/", &list).json()["result"]["total"], 0);
}

#[test]
fn a_bad_manifest_leaves_the_old_one_in_force_and_is_told() {
    let policies = tempfile::tempdir().unwrap();
    let file = policies.path().join("agent.yaml");
    let manifest = |prompt: &str| {
        format!(
            "kind: commonagents.info/v1beta2/agent\nnamespace: n\nname: a\ndescription: d\nprompt: {prompt}\n"
        )
    };
    fs::write(&file, manifest("First.")).unwrap();
    let serving =
        Serving::with(&Location::Memory, |settings, _| settings.policies = vec![policies.path().to_owned()]);
    let start = json!({"namespace": "n", "agent": "a", "user": {"id": "u"}});
    let prompt = || {
        let task = serving.post("/v1/tasks", &start).json()["task"].as_str().unwrap().to_owned();
        let rendered = serving.post(&format!("/v1/tasks/{task}/render"), &json!({"kind": "prompt"}));
        assert_eq!(rendered.status, 200, "{}", rendered.text());
        rendered.json()["text"].clone()
    };
    let refresh = || serving.server.as_ref().unwrap().refresh();
    assert_eq!(prompt(), "First.");
    let before = serving.get("/v1/manifests").json();
    assert_eq!(before["problem"], Value::Null);

    fs::write(&file, manifest("Second.") + "limits: {max_turn: 1}\n").unwrap();
    refresh();
    assert_eq!(prompt(), "First.");
    let status = serving.get("/v1/manifests").json();
    assert_eq!(status["serving"], before["serving"]);
    assert_eq!(status["problem"]["findings"][0]["code"], "unknown_key");
    assert_eq!(serving.get("/readyz").json()["stale"], true);
    let reload = serving.send("POST", "/v1/manifests/reload", &[], b"");
    assert_eq!((reload.status, reload.json()["findings"][0]["code"].clone()), (422, json!("unknown_key")));
    let metrics = serving.get("/metrics").text();
    assert!(metrics.contains("celador_reloads_total{outcome=\"refused\"} 2"), "{metrics}");

    fs::write(&file, manifest("The third one.")).unwrap();
    refresh();
    assert_eq!(prompt(), "The third one.");
    let status = serving.get("/v1/manifests").json();
    assert_eq!(status["problem"], Value::Null);
    assert_ne!(status["serving"]["digest"], before["serving"]["digest"]);
    assert_eq!(serving.get("/readyz").json()["stale"], false);

    fs::remove_file(&file).unwrap();
    refresh();
    assert_eq!(prompt(), "The third one.");
    assert!(serving.get("/v1/manifests").json()["problem"]["message"].is_string());
}

#[test]
fn figures_say_what_happened() {
    let serving = Serving::start();
    let task = serving.task();
    let refund = json!({"function": "payments_refund", "arguments": {"amount": 180, "reason": "Broken."}});
    assert_eq!(serving.post(&format!("{task}/before"), &refund).json()["decided"]["verdict"], "block");
    assert_eq!(serving.get("/v1/tasks/nope").status, 404);
    let metrics = serving.get("/metrics").text();
    for line in [
        "celador_decisions_total{operation=\"input\",verdict=\"allow\"} 1",
        "celador_decisions_total{operation=\"before\",verdict=\"block\"} 1",
        "celador_requests_total{operation=\"readTask\",status=\"404\"} 1",
        "celador_request_duration_seconds_count{operation=\"before\"} 1",
        "celador_live_tasks 1",
        "celador_requests_in_flight 1",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert!(!metrics.contains("payments") && !metrics.contains("T-1041"), "{metrics}");
}

#[test]
fn nothing_of_a_task_stands_in_a_problem() {
    let serving = Serving::start();
    let task = serving.task();
    let secret = "s3cr3t-9471";
    let json_type = [("content-type", "application/json")];
    for (path, body) in [
        ("before", json!({"function": secret, "arguments": secret}).to_string()),
        ("before", json!({"function": {"x": secret}, "arguments": {}}).to_string()),
        ("after", json!({"call": secret, "result": {"status": secret, "output": secret}}).to_string()),
        ("limits", json!({"next": secret}).to_string()),
        ("resume", json!({"answer": {secret: true}}).to_string()),
        ("resume", json!({"answer": {"text": secret}}).to_string()),
        ("evaluate", json!({"scope": secret, "expression": "1"}).to_string()),
        ("input", format!("{{\"message\": \"{secret}")),
    ] {
        let reply = serving.send("POST", &format!("{task}/{path}"), &json_type, body.as_bytes());
        let said = reply.text();
        assert!(!said.contains(secret) || reply.status == 200, "{path}: {said}");
    }
}

#[test]
fn beyond_loopback_somebody_has_to_ask_unless_it_is_allowed() {
    use celador_server::{Parts, ServeError, Server, Settings, system_clock};
    use celador_store::Database;
    let start = |allowed: bool, tokens: Option<PathBuf>| {
        let mut settings = Settings::new(vec![desk()]);
        settings.address = "0.0.0.0:0".parse().unwrap();
        settings.allow_unauthenticated = allowed;
        settings.authentication.tokens = tokens;
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        Server::start(settings, Parts { clock: system_clock().unwrap(), database, log: None })
    };
    assert!(matches!(start(false, None), Err(ServeError::OpenToAll(_))));
    start(true, None).unwrap_or_else(|error| panic!("{error}")).stop();
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.json");
    fs::write(&tokens, r#"{"tokens": []}"#).unwrap();
    start(false, Some(tokens)).unwrap_or_else(|error| panic!("{error}")).stop();
}
