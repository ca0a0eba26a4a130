//! The bounds of the server: each exactly at its value, one over it, and switched off, with what is answered then.
//!
//! A row of `ServerLimits` that stands in neither list below fails the test: whoever adds a bound says where it is tested.

use crate::conversation_servers::noise;
use crate::openapi;
use crate::servers::PostgresServer;
use crate::serving::{NOON, Serving, agent, desk, new_task};
use celador_server::{InProcess, Parts, Server, ServerLimits, Settings};
use celador_service::{ServiceError, StepTerms, TaskService};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Tested here.
const HERE: [&str; 6] = [
    "max_header_bytes",
    "max_shutdown_ms",
    "max_conflicts",
    "max_page_entries",
    "max_idempotency_key_bytes",
    "max_switch_bytes",
];

/// Tested with the stories of `tests/data/http`, with the rim, with connections, with shares, and with policies of before.
const ELSEWHERE: [&str; 16] = [
    "max_caller_requests",
    "max_requests_waiting",
    "max_wait_ms",
    "max_pending_ms",
    "max_evaluations",
    "max_bodies_bytes",
    "max_body_bytes",
    "max_requests_in_flight",
    "max_request_ms",
    "max_header_ms",
    "max_live_tasks",
    "max_former_manifests",
    "max_client_connections",
    "max_answer_ms",
    "max_review_streams",
    "max_caller_review_streams",
];

fn with(change: impl FnOnce(&mut ServerLimits)) -> Serving {
    Serving::with(&Location::Memory, |settings, _| change(&mut settings.limits))
}

fn address(serving: &Serving) -> SocketAddr {
    serving.server.as_ref().unwrap().address()
}

#[test]
fn every_bound_is_tested_and_has_a_value_by_name() {
    let limits = ServerLimits::default();
    for row in ServerLimits::ROWS {
        assert!([&HERE[..], &ELSEWHERE].concat().contains(&row.name), "{}", row.name);
        assert_eq!(limits.get(row.name), Some(row.default));
    }
}

#[test]
fn a_server_whose_bounds_are_all_off_serves() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        for row in ServerLimits::ROWS {
            assert!(settings.limits.set(row.name, u64::MAX));
        }
        settings.limits.store.max_page = usize::MAX;
    });
    let task = serving.task();
    assert_eq!(serving.get("/v1/tasks").json()["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(serving.get(&format!("{task}/events")).json()["next"], Value::Null);
    let (headers, body) = ([("idempotency-key", &*"k".repeat(10_000))], new_task().to_string());
    let headers = [headers[0], ("content-type", "application/json")];
    let [first, again] = [(); 2].map(|()| serving.send("POST", "/v1/tasks", &headers, body.as_bytes()));
    assert_eq!((first.status, again.json()), (201, first.json()));
    assert!(say(address(&serving), &head(500_000)).starts_with("HTTP/1.1 200"));
    serving.stop();
}

/// A request for the health whose header has so many bytes.
fn head(bytes: usize) -> Vec<u8> {
    let begin = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-long: ";
    let end = "\r\n\r\n";
    format!("{begin}{}{end}", "a".repeat(bytes - begin.len() - end.len())).into_bytes()
}

/// Sends some bytes on a connection of its own; all that comes back.
fn say(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connected(address);
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // what is not read to its end is reset
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The body of an answer.
fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn max_header_bytes() {
    let serving = with(|limits| limits.max_header_bytes = 200);
    assert!(say(address(&serving), &head(200)).starts_with("HTTP/1.1 200"));
    let over = say(address(&serving), &head(201));
    assert!(over.starts_with("HTTP/1.1 431"), "{over}");
    let problem = body(&over);
    assert_eq!(problem["type"], "urn:celador:problem:header-too-large");
    assert_eq!(problem["detail"], "`max_header_bytes` 200 exceeded");
    openapi::check("GET", "/healthz", 431, "application/problem+json", problem.to_string().as_bytes());
    // the address counts, and on the way to a task nobody gets further
    let address_over = format!("GET /v1/tasks?after={} HTTP/1.1\r\nhost: localhost\r\n\r\n", "t".repeat(200));
    assert!(say(address(&serving), address_over.as_bytes()).starts_with("HTTP/1.1 431"));
    let rpc = serving.send("POST", "/", &[("x-long", &"a".repeat(200))], br#"{"jsonrpc": "2.0"}"#);
    assert_eq!((rpc.status, &rpc.json()["error"]["code"]), (431, &json!(-32600)));
    // what is far over is not read to its end
    let far = say(address(&serving), &head(100_000));
    assert!(far.starts_with("HTTP/1.1 431") && far.ends_with("\r\n\r\n"), "{far}");
}

/// A request for the health over HTTP/2 with a field of so many bytes: the fields of the answer as they come, which for
/// a status of 200 is one byte.
fn health_over_http2(address: SocketAddr, long: usize) -> Vec<u8> {
    let field = |name: &[u8], value: &[u8]| {
        // a field that is kept out of the tables, its name and value as they are, at most 126 bytes each
        let text = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()], text].concat();
        [&[0][..], &text(name), &text(value)].concat()
    };
    let fields = [
        field(b":method", b"GET"),
        field(b":scheme", b"http"),
        field(b":authority", b"localhost"),
        field(b":path", b"/healthz"),
        field(b"x-long", &b"a".repeat(long)),
    ];
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const WHOLE: u8 = 5;
    let mut stream = connected(address);
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    stream.write_all(&frame(HEADERS, WHOLE, 1, &fields.concat())).unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).unwrap();
        if head[3] == HEADERS {
            return payload;
        }
    }
}

#[test]
fn max_header_bytes_of_http2() {
    // `GET /healthz HTTP/1.1`, `host: localhost`, `x-long: `, and an empty line
    let rest = 21 + 2 + 15 + 2 + 8 + 2 + 2;
    let serving = with(|limits| limits.max_header_bytes = rest + 100);
    const OK: u8 = 0x88;
    assert_eq!(health_over_http2(address(&serving), 100)[0], OK);
    // `:status` by its number in the table, and `431` in the code of Huffman
    let over = health_over_http2(address(&serving), 101);
    assert_eq!(over[..5], [0x48, 0x83, 0x69, 0x90, 0xff]);
}

/// How long a server takes to stop while a step waits for the store, which is free again so long after; and the status of
/// the step's answer, nothing if its connection was cut off.
fn stopped_amid_a_step(max_shutdown_ms: u64, free_after: Duration) -> (Duration, Option<u16>) {
    let serving = with(|limits| limits.max_shutdown_ms = max_shutdown_ms);
    let url = format!("{}{}/model-turn", serving.base, serving.task());
    let (held, holding) = mpsc::channel();
    let (stopping, stopped) = mpsc::channel();
    let database = serving.database.clone();
    let reader = std::thread::spawn(move || {
        // a store in memory has one connection, which is now taken
        database.read(|_| {
            held.send(()).unwrap();
            stopped.recv().unwrap();
            // until then, or until the server has stopped
            let _ = stopped.recv_timeout(free_after);
            Ok(())
        })
    });
    holding.recv().unwrap();
    let client = std::thread::spawn(move || {
        let sent = agent().post(url).content_type("application/json");
        let answer = sent.send(br#"{"prompt_tokens": 1, "completion_tokens": 1}"#);
        answer.ok().map(|answer| answer.status().as_u16())
    });
    let begun = Instant::now();
    while !serving.get("/metrics").text().contains("celador_requests_in_flight 2") {
        assert!(begun.elapsed() < Duration::from_secs(20), "the request does not come in");
    }
    let begun = Instant::now();
    stopping.send(()).unwrap();
    serving.stop();
    let took = begun.elapsed();
    drop(stopping);
    reader.join().unwrap().unwrap();
    (took, client.join().unwrap())
}

#[test]
fn max_shutdown_ms() {
    let (soon, late) = (Duration::from_millis(300), Duration::from_secs(9));
    let (took, status) = stopped_amid_a_step(30_000, soon);
    assert_eq!(status, Some(200), "what was begun has the time that it takes");
    assert!(took < late, "{took:?}");
    // what takes longer is cut off when the time is over, once and not once more for what is cut off
    let (took, status) = stopped_amid_a_step(3_000, late);
    assert_eq!(status, None);
    assert!((3_000..5_500).contains(&took.as_millis()), "{took:?}");
    let (took, status) = stopped_amid_a_step(0, late);
    assert_eq!(status, None);
    assert!(took < Duration::from_millis(2_500), "{took:?}");
    let (_, status) = stopped_amid_a_step(u64::MAX, soon);
    assert_eq!(status, Some(200));
}

/// The step that all contend for.
fn turn() -> Value {
    json!({"prompt_tokens": 1, "completion_tokens": 1})
}

/// A task in a store, and a clock each of whose looks has another server take a step of it, as often as `others` says.
struct Contended {
    path: String,
    others: Arc<AtomicUsize>,
    settings: Settings,
    parts: Parts,
}

impl Contended {
    fn new(max_conflicts: usize) -> Self {
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let other = Serving::over(database.clone(), |_, _| {});
        let path = format!("{}/model-turn", other.task());
        let others = Arc::new(AtomicUsize::new(0));
        let (counted, step, now) = (others.clone(), path.clone(), NOON.parse().unwrap());
        let clock = move || {
            let left = counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if left.is_ok() {
                assert_eq!(other.post(&step, &turn()).status, 200);
            }
            now
        };
        let mut settings = Settings::new(vec![desk()]);
        settings.address.set_port(0);
        settings.watch = None;
        settings.limits.max_conflicts = max_conflicts;
        Self { path, others, settings, parts: Parts { clock: Arc::new(clock), database, log: None } }
    }
}

/// Steps of a desk that looks at its clock once when the request comes in, and once in each decision. It does nothing beside its requests:
/// a server looks for reviews and for calls that are over too, at moments of its own.
fn contended(max_conflicts: usize) -> impl Fn(usize) -> (u16, Value) {
    let Contended { path, others, settings, parts } = Contended::new(max_conflicts);
    let tasks = InProcess::open(settings, parts).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    move |times| {
        others.store(times, Ordering::Relaxed);
        let task = path.split('/').nth(3).unwrap();
        let operation = serde_json::from_value(json!({ "model_turn": turn() })).unwrap();
        let (status, answer) = match runtime.block_on(tasks.take(task, operation, StepTerms::default())) {
            Ok(answer) => (200, serde_json::to_value(answer).unwrap()),
            Err(ServiceError::Problem(problem)) => (problem.status, serde_json::to_value(problem).unwrap()),
            Err(ServiceError::NoAnswer(error)) => panic!("{error}"),
        };
        let media_type = if status == 200 { "application/json" } else { "application/problem+json" };
        openapi::check("POST", &path, status, media_type, answer.to_string().as_bytes());
        assert_eq!(others.load(Ordering::Relaxed), 0, "looked at its clock less often");
        (status, answer)
    }
}

/// A step of a server, before each of whose decisions there is another, and what it comes to over HTTP.
fn contended_over_http() -> (u16, Value) {
    let Contended { path, others, settings, parts } = Contended::new(2);
    let server = Server::start(settings, parts).unwrap();
    // more than there are looks, those of the server itself included
    others.store(1_000, Ordering::Relaxed);
    let url = format!("http://{}{path}", server.address());
    let sent = agent().post(url).content_type("application/json").send(turn().to_string().as_bytes());
    others.store(0, Ordering::Relaxed);
    let mut answer = sent.unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    let media_type = answer.headers()["content-type"].to_str().unwrap();
    openapi::check("POST", &path, answer.status().as_u16(), media_type, text.as_bytes());
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap())
}

#[test]
fn max_conflicts() {
    // the first decision and so many anew, each too late but the last, after one when the request came in
    let step = contended(3);
    let (status, answer) = step(1 + 3);
    assert_eq!((status, &answer["version"]), (200, &json!(2 + 4 + 1)));
    let (status, problem) = step(1 + 3 + 1);
    assert_eq!((status, &problem["type"]), (409, &json!("urn:celador:problem:contended")));
    // nothing of what was too late has been counted
    let (status, answer) = step(0);
    assert_eq!((status, &answer["version"]), (200, &json!(2 + 4 + 1 + 5 + 1)));
    let never_anew = contended(0);
    assert_eq!(never_anew(0).0, 200);
    assert_eq!(never_anew(1 + 1).0, 409);
    let always_anew = contended(usize::MAX);
    assert_eq!(always_anew(20).0, 200);
    let (status, problem) = contended_over_http();
    assert_eq!((status, &problem["type"]), (409, &json!("urn:celador:problem:contended")));
}

/// The ids of a caller's tasks, page by page.
fn pages(serving: &Serving) -> Vec<usize> {
    let mut pages = Vec::new();
    let mut after = String::new();
    loop {
        let page = serving.get(&format!("/v1/tasks{after}")).json();
        pages.push(page["tasks"].as_array().unwrap().len());
        match page["next"].as_str() {
            Some(next) => after = format!("?after={next}"),
            None => return pages,
        }
        assert!(pages.len() < 20, "the list does not end");
    }
}

#[test]
fn max_page_entries() {
    let start = |entries: usize, rows: usize| {
        Serving::with(&Location::Memory, |settings, _| {
            settings.limits.max_page_entries = entries;
            settings.limits.store.max_page = rows;
        })
    };
    let all = |entries, rows| {
        let serving = start(entries, rows);
        (0..7).for_each(|_| drop(serving.new_task(None)));
        pages(&serving)
    };
    assert_eq!(all(8, 1_000), [7]);
    // a page that is full says where the next one begins, if there is one
    assert_eq!(all(7, 1_000), [7]);
    assert_eq!(all(6, 1_000), [6, 1]);
    assert_eq!(all(3, 1_000), [3, 3, 1]);
    // the store's pages may be shorter, and none is empty
    assert_eq!(all(usize::MAX, 3), [3, 3, 1]);
    assert_eq!(all(0, 1_000), [1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(all(5, 0), [1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(all(usize::MAX, usize::MAX), [7]);
    // the events of a task likewise
    let serving = start(2, 1_000);
    let task = serving.task();
    let page = serving.get(&format!("{task}/events")).json();
    assert_eq!((page["events"].as_array().unwrap().len(), &page["next"]), (2, &json!(2)));
    let end = serving.get(&format!("{task}/events?after=2")).json();
    assert_eq!(end, json!({"events": [], "next": null}));
}

#[test]
fn max_idempotency_key_bytes() {
    let begin = |serving: &Serving, key: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        serving.send("POST", "/v1/tasks", &headers, new_task().to_string().as_bytes())
    };
    let serving = with(|limits| limits.max_idempotency_key_bytes = 10);
    let [first, again] = [(); 2].map(|()| begin(&serving, "ten-bytes!"));
    assert_eq!((first.status, again.json()), (201, first.json()));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let over = begin(&serving, "ten-bytes!!");
    assert_eq!((over.status, &over.json()["type"]), (400, &json!("urn:celador:problem:bad-request")));
    let detail = "`Idempotency-Key` has to be 1 to 10 visible ASCII characters (`max_idempotency_key_bytes`)";
    assert_eq!(over.json()["detail"], detail);
    assert_eq!(pages(&serving), [1], "a key that is refused begins nothing");
    let by_default = Serving::start();
    assert_eq!(begin(&by_default, &"k".repeat(255)).status, 201);
    assert_eq!(begin(&by_default, &"k".repeat(256)).status, 400);
    // a bound that is higher than what an index takes: the store says so
    let database = PostgresServer::shared().database();
    let location = Location::parse(&database);
    let serving = Serving::with(&location, |settings, _| settings.limits.max_idempotency_key_bytes = 9_000);
    assert_eq!(begin(&serving, &noise(2_000)).status, 201);
    let over = begin(&serving, &noise(9_000));
    assert_eq!((over.status, &over.json()["type"]), (400, &json!("urn:celador:problem:bad-request")));
    assert_eq!(pages(&serving), [1]);
    let without_keys = with(|limits| limits.max_idempotency_key_bytes = 0);
    assert_eq!(begin(&without_keys, "k").status, 400);
    assert_eq!(without_keys.post("/v1/tasks", &new_task()).status, 201);
}

#[test]
fn max_switch_bytes() {
    let serving = with(|limits| limits.max_switch_bytes = 12);
    let turn = |name: &str| {
        let switch = json!({"switch": {"kind": "user", "name": name}, "reason": "r"});
        let reply = serving.post("/v1/switches", &switch);
        (reply.status, reply.json()["detail"].clone())
    };
    assert_eq!(turn("kim@acme.org").0, 200);
    let detail = "a switch has names of at most 12 bytes together (`max_switch_bytes`)";
    assert_eq!(turn("kim@acme.orga"), (400, json!(detail)));
}
