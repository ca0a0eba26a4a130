//! The rim of the server: TLS, bounds of time and number, the end and the next beginning, a store that
//! fails.

use crate::serving::{Serving, agent, desk, new_task};
use celador_server::Tls;
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn tls_speaks_and_plain_text_is_not_answered() {
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let pem = certificate.cert.pem();
    let (chain, key) = (pem.clone(), certificate.signing_key.serialize_pem());
    let serving = Serving::with(&Location::Memory, move |settings, folder| {
        fs::write(folder.join("chain.pem"), chain).unwrap();
        fs::write(folder.join("key.pem"), key).unwrap();
        settings.tls = Some(Tls { certificates: folder.join("chain.pem"), key: folder.join("key.pem") });
    });
    let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap();
    let roots = ureq::tls::RootCerts::Specific(Arc::new(vec![root]));
    let tls = ureq::tls::TlsConfig::builder().root_certs(roots).build();
    let client: ureq::Agent = ureq::Agent::config_builder().tls_config(tls).build().into();
    let port = serving.server.as_ref().unwrap().address().port();
    let mut answer = client.get(format!("https://localhost:{port}/healthz")).call().unwrap();
    assert_eq!(answer.body_mut().read_to_string().unwrap(), r#"{"status":"ok"}"#);
    assert!(agent().get(format!("http://localhost:{port}/healthz")).call().is_err());
    assert!(
        agent().get(format!("https://localhost:{port}/healthz")).call().is_err(),
        "nobody vouches for it"
    );
}

#[test]
fn a_certificate_that_is_none_is_refused_at_the_start() {
    use celador_server::{Parts, Server, Settings, system_clock};
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let start = |certificates: &Path, key: &Path| {
        let mut settings = Settings::new(vec![desk()]);
        settings.address.set_port(0);
        settings.tls = Some(Tls { certificates: certificates.to_owned(), key: key.to_owned() });
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let parts = Parts { clock: system_clock().unwrap(), database, log: None };
        Server::start(settings, parts).map(Server::stop).map_err(|error| error.to_string())
    };
    let pair = |name: &str| {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let chain = file(&format!("{name}.pem"), &made.cert.pem());
        (chain, file(&format!("{name}.key"), &made.signing_key.serialize_pem()))
    };
    let ((chain, key), (_, other), empty) = (pair("a"), pair("b"), file("empty", ""));
    assert_eq!(start(&chain, &key), Ok(()));
    for (chain, key, expected) in [
        (&empty, &key, "holds no certificate as PEM"),
        (&chain, &empty, "holds no private key as PEM"),
        (&chain, &other, "does not go with its key"),
    ] {
        let error = start(chain, key).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_store_that_is_down_takes_nothing_back_and_nothing_on() {
    let serving = Serving::start();
    let task = serving.task();
    let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
    serving.store_down(true);
    let refused = serving.post(&format!("{task}/model-turn"), &turn);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.json()["type"], "urn:celador:problem:store-unavailable");
    assert_eq!(serving.get("/readyz").status, 503);
    assert_eq!(serving.get("/healthz").status, 200);
    assert_eq!(serving.get(&format!("{task}/context")).status, 503);
    assert_eq!(serving.post("/v1/tasks", &new_task()).status, 503);
    let rpc = json!({"jsonrpc": "2.0", "id": 3, "method": "contexts/list"});
    assert_eq!(serving.post("/", &rpc).json()["error"]["code"], -32603);
    assert!(serving.get("/metrics").text().contains("celador_store_errors_total"));
    serving.store_down(false);
    // the turn that was refused was not counted
    assert_eq!(serving.post(&format!("{task}/model-turn"), &turn).json()["version"], 3);
    let context = serving.get(&format!("{task}/context")).json();
    assert_eq!(context["context"]["llm"]["tokens"]["total"], 2);
    assert_eq!(serving.get("/readyz").status, 200);
}

/// A commit is made and its answer is lost: whether the store finds out or the client asks again, the turn counts once.
#[test]
fn a_commit_whose_answer_is_lost_counts_once() {
    use celador_store::FaultPlan;
    let serving = Serving::start();
    let task = serving.task();
    let turn = || {
        let headers = [("content-type", "application/json"), ("idempotency-key", "turn-1")];
        let body = br#"{"prompt_tokens": 5, "completion_tokens": 0}"#;
        serving.send("POST", &format!("{task}/model-turn"), &headers, body)
    };
    for commit in 1..=3 {
        serving.database.faults().plan(FaultPlan::CommitAnswer(commit));
        assert!(matches!(turn().status, 200 | 503));
    }
    serving.store_down(false);
    assert_eq!(turn().json()["version"], 3);
    let context = serving.get(&format!("{task}/context")).json();
    assert_eq!(context["context"]["llm"]["tokens"]["total"], 5);
}

/// Requests to create a task that come at once under one key create one task, and all are told which.
#[test]
fn creations_at_once_under_one_key_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::with(&Location::File(folder.path().join("celador.db")), |_, _| {});
    let body = new_task().to_string();
    for key in ["k-1", "k-2", "k-3", "k-4"] {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        let replies: Vec<(u16, String)> = std::thread::scope(|scope| {
            let create = || serving.send("POST", "/v1/tasks", &headers, body.as_bytes());
            let threads: Vec<_> = (0..30).map(|_| scope.spawn(create)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).map(|it| (it.status, it.text())).collect()
        });
        let first = replies.first().unwrap();
        assert_eq!(first.0, 201, "{}", first.1);
        assert!(replies.iter().all(|reply| reply == first), "{replies:?}");
    }
    assert_eq!(serving.get("/v1/tasks").json()["tasks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_task_goes_on_in_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("celador.db"));
    let first = Serving::with(&location, |_, _| {});
    let task = first.task();
    let fetch = json!({"function": "zendesk_fetch_ticket", "arguments": {}});
    let asked = first.post(&format!("{task}/invoke"), &fetch);
    assert_eq!(asked.json()["asks"]["invoke"]["function"], "zendesk_fetch_ticket");
    drop(first.stop());

    let second = Serving::with(&location, |_, _| {});
    assert_eq!(second.get(&task).json()["asks"], asked.json()["asks"]);
    let waits = second.post(&format!("{task}/input"), &json!({"message": "Hello?"})).json();
    assert_eq!(
        (&waits["decided"]["verdict"], &waits["decided"]["waits_for"]),
        (&json!("wait"), &json!(["1"]))
    );
    let ticket = json!({"id": "T-1041", "status": "open", "subject": "Lamp", "description": "In pieces.", "order_id": "ord-77",
        "order_total": 240, "customer_id": "cus-5", "internal_notes": "Second complaint."});
    let result = json!({"answer": {"result": {"status": "successful", "output": ticket}}});
    let decided = second.post(&format!("{task}/resume"), &result).json();
    assert_eq!(decided["decided"]["verdict"], "allow");
    assert_eq!(decided["decided"]["value"].get("internal_notes"), None);
}

/// Two servers over one store: each decides on what the other did.
#[test]
fn two_servers_take_turns_on_one_task() {
    let folder = tempfile::tempdir().unwrap();
    let database =
        Database::open(&Location::File(folder.path().join("s.db")), &StoreLimits::default()).unwrap();
    let servers = [Serving::over(database.clone(), |_, _| {}), Serving::over(database, |_, _| {})];
    let task = servers[0].task();
    let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
    for version in 3..9 {
        let taken = servers[version % 2].post(&format!("{task}/model-turn"), &turn);
        assert_eq!(taken.json()["version"], version);
    }
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(|| {
                // the agent may take thirty turns
                for _ in 0..10 {
                    let taken = server.post(&format!("{task}/model-turn"), &turn);
                    assert!(matches!(taken.status, 200 | 409), "{}", taken.text());
                }
            });
        }
    });
    let [one, other] = servers.each_ref().map(|server| server.get(&format!("{task}/context")).json());
    assert_eq!(one, other);
    // every turn that was answered is there, and no other
    let counted = one["context"]["llm"]["tokens"]["prompt"].as_u64().unwrap();
    assert_eq!(one["version"], counted + 2);
}

#[test]
fn tasks_that_were_pushed_out_of_memory_are_opened_again() {
    let serving = Serving::with(&Location::Memory, |settings, _| settings.limits.max_live_tasks = 4);
    let tasks: Vec<String> = (0..40).map(|_| serving.task()).collect();
    let turn = json!({"prompt_tokens": 1, "completion_tokens": 1});
    for round in 3..6 {
        for task in &tasks {
            assert_eq!(serving.post(&format!("{task}/model-turn"), &turn).json()["version"], round);
        }
    }
    let metrics = serving.get("/metrics").text();
    let live = metrics.lines().find_map(|line| line.strip_prefix("celador_live_tasks ")).unwrap();
    assert!(live.parse::<usize>().unwrap() <= 8, "{live} tasks are in memory");
}

/// A policy whose expression takes a while: what is begun when the server is told to stop.
fn slow() -> Value {
    let list = (0..90).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let expression = format!("[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= 0)))");
    json!({"scope": "before", "expression": expression})
}

#[test]
fn what_was_begun_is_finished_when_the_server_stops() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.limits.store.engine.eval.max_cost = 100_000_000
    });
    let base = serving.base.clone();
    let begun = Instant::now();
    let client = std::thread::spawn(move || {
        let mut answer = agent()
            .post(format!("{base}/v1/evaluate"))
            .content_type("application/json")
            .send(slow().to_string().as_bytes())
            .unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    });
    while !serving.get("/metrics").text().contains("celador_requests_in_flight 2") {
        assert!(begun.elapsed() < Duration::from_secs(20), "the request does not come in");
    }
    let base = serving.base.clone();
    serving.stop();
    let (status, text) = client.join().unwrap();
    assert_eq!((status, &*text), (200, r#"{"value":true}"#));
    assert!(agent().get(format!("{base}/healthz")).call().is_err(), "it still answers");
}

#[test]
fn who_comes_when_there_is_no_room_is_sent_away() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.limits.max_requests_in_flight = 1;
        // nobody waits until the long evaluation has ended
        settings.limits.max_wait_ms = 1;
        settings.limits.store.engine.eval.max_cost = 100_000_000;
    });
    let base = serving.base.clone();
    let done = Arc::new(AtomicBool::new(false));
    // keeps the one place taken; who looks whether there is room may have taken it first
    let client = std::thread::spawn({
        let done = done.clone();
        move || {
            let mut answered = Vec::new();
            while !(done.load(Ordering::SeqCst) && answered.contains(&200)) {
                let sent = agent().post(format!("{base}/v1/evaluate")).content_type("application/json");
                answered.push(sent.send(slow().to_string().as_bytes()).unwrap().status().as_u16());
            }
            answered
        }
    });
    let begun = Instant::now();
    let refused = loop {
        let reply = serving.get("/v1/tasks");
        if reply.status != 200 {
            break reply;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "there is always room");
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.json()["detail"], "`max_requests_in_flight` 1 reached");
    assert_eq!(serving.get("/healthz").status, 200, "who asks for its health is always answered");
    done.store(true, Ordering::SeqCst);
    let answered = client.join().unwrap();
    assert!(answered.iter().all(|status| [200, 503].contains(status)), "{answered:?}");
}

#[test]
fn time_is_bounded() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.limits.max_request_ms = 100;
        settings.limits.max_header_ms = 200;
        settings.limits.store.engine.eval.max_cost = 100_000_000;
    });
    let late = serving.post("/v1/evaluate", &slow());
    assert_eq!(late.status, 503);
    assert_eq!(late.json()["type"], "urn:celador:problem:timed-out");
    // a body that does not come
    let address = serving.server.as_ref().unwrap().address();
    let read = |sent: &[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(sent).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let head = "POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{";
    assert!(read(head.as_bytes()).starts_with("HTTP/1.1 408"));
    // a header that does not come: the connection ends
    let begun = Instant::now();
    let answer = read(b"GET /healthz HTTP/1.1\r\nhost:");
    assert!(!answer.contains("200 OK") && begun.elapsed() < Duration::from_secs(10), "{answer}");
    // a header without end
    let endless =
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n", "a".repeat(200_000));
    assert!(read(endless.as_bytes()).starts_with("HTTP/1.1 431"), "a header over its bound");
}

#[test]
fn requests_have_ids() {
    let serving = Serving::start();
    let id = |given: &[(&str, &str)]| {
        serving.send("GET", "/healthz", given, b"").header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(id(&[("x-request-id", "r-7.a_b")]), "r-7.a_b");
    assert_ne!(id(&[("x-request-id", "a b\"c")]), "a b\"c");
    assert_ne!(id(&[]), id(&[]));
    let problem = serving.send("GET", "/v1/tasks/nope", &[("x-request-id", "r-8")], b"");
    assert_eq!(problem.json()["instance"], "urn:celador:request:r-8");
}
