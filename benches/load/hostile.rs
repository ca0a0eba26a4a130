//! Others who want the server for themselves: 5,000 connections of each hostile kind beside one honest client, and 300 greedy
//! clients of one caller beside another's one.
//!
//! The crowd, the greedy and the honest share the machine with the server, as in all of this benchmark. What matters is the
//! ratio of an honest client's times with them to its times without, in one run.

use super::client::Client;
use celador_server::{Parts, Server, Settings, Tls, system_clock};
use celador_store::{Database, Location, StoreLimits};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CROWD: usize = 5_000;
const GREEDY: usize = 300;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0abcdefgh";
const NO_WINDOW: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0";
/// `GET /healthz` as the first request of HTTP/2.
const HEALTH: &[u8] = b"\0\0\x17\x01\x05\0\0\0\x01\x82\x86\x04\x08/healthz\x01\x09localhost";

/// What a connection of the crowd sends at first, and what again and again.
struct Kind {
    name: &'static str,
    tls: bool,
    first: Vec<u8>,
    again: &'static [u8],
}

fn kinds() -> Vec<Kind> {
    let kind = |name, tls, first: &[u8], again| Kind { name, tls, first: first.to_vec(), again };
    let body = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 8000000\r\n\r\n{{"
        )
    };
    let document = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(40);
    vec![
        kind("silent", false, b"", b""),
        kind("silent before TLS", true, b"", b""),
        kind("amid a record of TLS", true, b"\x16\x03\x01\x02\x00\x01", b""),
        kind("half a preface of HTTP/2", false, b"PRI * HTTP/2.0\r\n", b""),
        kind("a header line by line", false, b"GET / HTTP/1.1\r\n", b"x-a: b\r\n"),
        kind("idle after an answer", false, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n", b""),
        kind("HTTP/2 with pings only", false, PREFACE, PING),
        kind("HTTP/2, an answer, pings", false, &[PREFACE, HEALTH].concat(), PING),
        kind("HTTP/2 without a window", false, &[NO_WINDOW, HEALTH].concat(), PING),
        kind("unread answers", false, &document, b""),
        kind("slow bodies", false, body("/v1/tasks").as_bytes(), b" "),
        kind("slow bodies of JSON-RPC", false, body("/").as_bytes(), b" "),
    ]
}

/// One row for each kind of crowd.
pub fn crowds(policies: &Path) {
    println!(
        "{:26} {:>6} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "5,000 connections", "asked", "quiet p99", "p50 ms", "p99 ms", "max ms", "failed"
    );
    for kind in kinds() {
        let (server, chain) = start(policies, kind.tls, false);
        let address = server.address();
        let honest = Honest::new(address, chain);
        let quiet = honest.ask(Duration::from_secs(2));
        let stop = Arc::new(AtomicBool::new(false));
        let crowd = {
            let stop = stop.clone();
            thread::spawn(move || crowd(address, &kind, &stop))
        };
        let times = honest.ask(Duration::from_secs(8));
        stop.store(true, Ordering::Relaxed);
        let name = crowd.join().unwrap();
        println!(
            "{name:26} {:>6} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>7}",
            times.all.len(),
            quiet.at(0.99),
            times.at(0.5),
            times.at(0.99),
            times.at(1.0),
            times.failed
        );
        server.stop();
    }
}

/// Opens the crowd, and one anew for each that is ended, until it is told to stop. Gives its name.
fn crowd(address: SocketAddr, kind: &Kind, stop: &AtomicBool) -> &'static str {
    let open = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_nonblocking(true).ok()?;
        // what does not fit into the socket need not be sent
        let _ = stream.write(&kind.first);
        Some(stream)
    };
    let mut streams: Vec<TcpStream> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        while streams.len() < CROWD && !stop.load(Ordering::Relaxed) {
            streams.extend(open());
            if streams.len().is_multiple_of(50) {
                // at most some 5,000 in a second: what the loopback of one machine brings is the client's share too
                thread::sleep(Duration::from_millis(10));
            }
        }
        // who reads nothing sees the end of its connection when it writes
        streams.retain_mut(|stream| {
            let ended = !kind.again.is_empty()
                && stream.write(kind.again).is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
            let mut byte = [0];
            let gone = kind.name != "unread answers"
                && kind.name != "HTTP/2 without a window"
                && matches!(stream.peek(&mut byte), Ok(0));
            !ended && !gone
        });
        thread::sleep(Duration::from_millis(200));
    }
    kind.name
}

/// An honest client: each request over a connection of its own.
struct Honest {
    address: SocketAddr,
    tls: Option<ureq::Agent>,
}

#[derive(Default)]
struct Times {
    all: Vec<f64>,
    failed: usize,
}

impl Times {
    fn at(&self, share: f64) -> f64 {
        let mut all = self.all.clone();
        all.sort_unstable_by(f64::total_cmp);
        all.get((all.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
    }
}

impl Honest {
    fn new(address: SocketAddr, chain: Option<String>) -> Self {
        let tls = chain.map(|chain| {
            let root = ureq::tls::Certificate::from_pem(chain.as_bytes()).unwrap();
            let roots = ureq::tls::RootCerts::Specific(Arc::new(vec![root]));
            let config = ureq::tls::TlsConfig::builder().root_certs(roots).build();
            ureq::Agent::config_builder()
                .tls_config(config)
                .max_idle_connections(0)
                .timeout_global(Some(Duration::from_secs(20)))
                .build()
                .into()
        });
        Self { address, tls }
    }

    fn ask(&self, during: Duration) -> Times {
        let (begun, mut times) = (Instant::now(), Times::default());
        while begun.elapsed() < during {
            let asked = Instant::now();
            let answered = match &self.tls {
                Some(agent) => {
                    let url = format!("https://localhost:{}/healthz", self.address.port());
                    agent.get(url).call().is_ok()
                }
                None => self.plain().is_ok_and(|answer| answer.starts_with("HTTP/1.1 201")),
            };
            if answered {
                times.all.push(asked.elapsed().as_secs_f64() * 1e3);
            } else {
                times.failed += 1;
            }
            thread::sleep(Duration::from_millis(10));
        }
        times
    }

    /// Begins a task.
    fn plain(&self) -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(20))?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let body = r#"{"namespace": "bench", "agent": "clerk", "user": {"id": "u-1"}}"#;
        write!(
            stream,
            "POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

/// The tokens of two callers.
const TOKENS: [(&str, &str); 2] = [("greedy-token", "did:web:greedy"), ("other-token", "did:web:other")];

/// A server over a store in memory, with TLS and its certificate, or with tokens.
fn start(policies: &Path, tls: bool, tokens: bool) -> (Server, Option<String>) {
    start_over(&Location::Memory, policies, tls, tokens)
}

fn start_over(location: &Location, policies: &Path, tls: bool, tokens: bool) -> (Server, Option<String>) {
    let mut settings = Settings::new(vec![policies.join("agent.yaml")]);
    settings.address.set_port(0);
    settings.watch = None;
    let mut chain = None;
    if tls {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let files = Tls { certificates: policies.join("chain.pem"), key: policies.join("key.pem") };
        fs::write(&files.certificates, made.cert.pem()).unwrap();
        fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        (settings.tls, chain) = (Some(files), Some(made.cert.pem()));
    }
    if tokens {
        let rows: Vec<_> = TOKENS
            .iter()
            .map(|(token, identity)| {
                let digest: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
                let scopes = ["tasks:read", "tasks:write"];
                serde_json::json!({"sha256": digest, "identity": identity, "scopes": scopes})
            })
            .collect();
        let file = policies.join("tokens.json");
        fs::write(&file, serde_json::json!({ "tokens": rows }).to_string()).unwrap();
        settings.authentication.tokens = Some(file);
    }
    let database = Database::open(location, &StoreLimits::default()).expect("a store");
    let parts = Parts { clock: system_clock().expect("a clock"), database, log: None };
    (Server::start(settings, parts).expect("a server"), chain)
}

/// What one caller does too much of.
#[derive(Clone, Copy)]
enum Greed {
    Steps,
    Evaluations,
    Bodies,
}

/// One row for each kind of greed: another's steps and short evaluations, without and with 300 greedy clients.
pub fn greedy(policies: &Path) {
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    println!(
        "{:8} {:24} {:22} {:>6} {:>9} {:>9} {:>9} {:>6} {:>7} {:>10}",
        "store",
        "300 greedy clients",
        "the other's",
        "asked",
        "quiet p99",
        "p50 ms",
        "p99 ms",
        "ratio",
        "failed",
        "greedy 2xx"
    );
    for (store, location) in
        [("memory", Location::Memory), ("file", Location::File(policies.join("greedy.db")))]
    {
        for (greed, name) in [
            (Greed::Steps, "steps"),
            (Greed::Evaluations, "evaluations to the bound"),
            (Greed::Bodies, "bodies of 1 MB"),
        ] {
            for evaluates in [false, true] {
                let (server, _) = start_over(&location, policies, false, true);
                let address = server.address();
                let quiet = another(address, evaluates, Duration::from_secs(seconds));
                let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
                let crowd: Vec<_> = (0..GREEDY)
                    .map(|_| {
                        let (stop, done) = (stop.clone(), done.clone());
                        thread::spawn(move || want(address, greed, &stop, &done))
                    })
                    .collect();
                thread::sleep(Duration::from_millis(500));
                let times = another(address, evaluates, Duration::from_secs(seconds));
                stop.store(true, Ordering::Relaxed);
                crowd.into_iter().for_each(|client| client.join().unwrap());
                println!(
                    "{store:8} {name:24} {:22} {:>6} {:>9.2} {:>9.2} {:>9.2} {:>6.1} {:>7} {:>10}",
                    if evaluates { "short evaluations" } else { "steps" },
                    times.all.len(),
                    quiet.at(0.99),
                    times.at(0.5),
                    times.at(0.99),
                    times.at(0.99) / quiet.at(0.99),
                    quiet.failed + times.failed,
                    done.load(Ordering::Relaxed)
                );
                server.stop();
            }
        }
    }
}

/// A greedy client: the next request as soon as the one before has its answer, whatever that is.
fn want(address: SocketAddr, greed: Greed, stop: &AtomicBool, done: &AtomicUsize) {
    let mut client = Client::with_token(address, TOKENS[0].0);
    let list = (0..90).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let long = format!(
        r#"{{"scope": "before", "expression": "[{list}].all(a, [{list}].all(b, [{list}].all(c, a + b + c >= 0)))"}}"#
    );
    let large = format!(r#"{{"message": "{}"}}"#, "x".repeat(1_000_000));
    let task = loop {
        let (status, answer) = client.try_post("/v1/tasks", super::client::NEW_TASK);
        if status == 201 {
            break format!("/v1/tasks/{}", answer.split('"').nth(3).expect("an id"));
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
    };
    while !stop.load(Ordering::Relaxed) {
        let answered = match greed {
            Greed::Steps => client.attempt(&format!("{task}/before"), super::client::BEFORE),
            Greed::Evaluations => client.attempt("/v1/evaluate", &long),
            // a body that is read whole and is none: nothing is kept of it
            Greed::Bodies => client.attempt("/v1/check", &large),
        };
        match answered {
            Ok((status, _)) if (1..500).contains(&status) => drop(done.fetch_add(1, Ordering::Relaxed)),
            Ok((1.., _)) => {}
            // the server had no room for the body, and did not wait for it
            _ => client = Client::with_token(address, TOKENS[0].0),
        }
    }
}

/// Another caller's one client.
fn another(address: SocketAddr, evaluates: bool, during: Duration) -> Times {
    let mut client = Client::with_token(address, TOKENS[1].0);
    let (begun, mut times) = (Instant::now(), Times::default());
    let (mut task, mut calls) = (client.new_task(), 0);
    while begun.elapsed() < during {
        if calls == 500 {
            (task, calls) = (client.new_task(), 0);
        }
        calls += 1;
        let asked = Instant::now();
        let (status, _) = if evaluates {
            client.try_post("/v1/evaluate", r#"{"scope": "before", "expression": "1 + 1 == 2"}"#)
        } else {
            client.try_post(&format!("{task}/before"), super::client::BEFORE)
        };
        if status == 200 {
            times.all.push(asked.elapsed().as_secs_f64() * 1e3);
        } else {
            times.failed += 1;
        }
    }
    times
}
