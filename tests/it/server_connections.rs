//! Hostile connections: each kind is ended in its time, and many of each leave room for those who ask.

use crate::serving::{SCOPES, Serving};
use celador_server::ServerLimits;
use celador_server::Tls;
use celador_store::Location;
use serde_json::json;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: [u8; 17] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
/// Windows of streams have no bytes.
const NO_WINDOW: [u8; 15] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0];
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
const DOCUMENT: &[u8] = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// How long a test waits for what has to happen at some time.
const LONG: Duration = Duration::from_secs(30);

fn serving(tls: bool, change: impl FnOnce(&mut ServerLimits)) -> Serving {
    Serving::with(&Location::Memory, |settings, folder| {
        change(&mut settings.limits);
        if tls {
            let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
            let files = Tls { certificates: folder.join("chain.pem"), key: folder.join("key.pem") };
            fs::write(&files.certificates, made.cert.pem()).unwrap();
            fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
            settings.tls = Some(files);
        }
    })
}

fn connect(serving: &Serving) -> TcpStream {
    let stream = TcpStream::connect(serving.server.as_ref().unwrap().address()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// A request of HTTP/2 for the health.
fn health_over_http2() -> Vec<u8> {
    // GET and http by their numbers in the table, then path and authority as they are
    let fields = [&[0x82, 0x86, 0x04, 8][..], b"/healthz", &[0x01, 9], b"localhost"].concat();
    let head = [0, 0, u8::try_from(fields.len()).unwrap(), 1, 5, 0, 0, 0, 1];
    [&head[..], &fields].concat()
}

/// How reading ends, whatever came before: nothing if the server has closed the connection.
fn end(stream: &mut TcpStream) -> Option<ErrorKind> {
    let mut bytes = [0; 4_096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(error.kind()),
        }
    }
}

/// Whether the server has ended a connection: whatever it said before is read over.
fn ended(stream: &mut TcpStream) -> bool {
    !matches!(end(stream), Some(ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

/// Sends the same bytes again and again until the connection ends. Panics if it does not.
fn keeps_sending(mut stream: TcpStream, bytes: &[u8]) {
    let begun = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while begun.elapsed() < LONG {
        if stream.write_all(bytes).is_err() || ended(&mut stream) {
            return;
        }
    }
    panic!("it is not ended");
}

/// Sends pings and answers those of the server, as each library of HTTP/2 does, until the connection ends. Panics if it does
/// not.
fn keeps_pinging(mut stream: TcpStream) {
    let begun = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut bytes = [0; 4_096];
    while begun.elapsed() < LONG {
        let read = match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 0,
            Err(_) => return,
        };
        let mut sent = PING.to_vec();
        for ping in bytes[..read].windows(PING.len()).filter(|frame| frame[..9] == PING[..9]) {
            sent.extend_from_slice(ping);
            let flags = sent.len() - PING.len() + 4;
            sent[flags] = 1;
        }
        if stream.write_all(&sent).is_err() {
            return;
        }
    }
    panic!("it is not ended");
}

/// How many connections the server has ended for a reason.
fn cut(serving: &Serving, reason: &str) -> u64 {
    let line = format!("celador_connections_cut_total{{reason=\"{reason}\"}} ");
    let metrics = serving.get("/metrics").text();
    metrics.lines().find_map(|text| text.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

#[test]
fn max_header_ms_counts_from_acceptance_whatever_is_sent() {
    let serving = serving(false, |limits| limits.max_header_ms = 300);
    let half = &PREFACE[..16];
    let preface = [PREFACE, &SETTINGS].concat();
    for sent in
        [&b""[..], b"G", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", half, &preface, b"\r\n\r\n\r\n"]
    {
        let mut stream = connect(&serving);
        stream.write_all(sent).unwrap();
        assert!(ended(&mut stream), "{:?}", String::from_utf8_lossy(sent));
    }
    // what trickles in gains no time: lines of a header, and pings
    let mut slow = connect(&serving);
    slow.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    keeps_sending(slow, b"x-a: b\r\n");
    let mut pings = connect(&serving);
    pings.write_all(&preface).unwrap();
    keeps_sending(pings, &PING);
    // a client that has had its answer: over HTTP/1.1 silent, or slow with the next header; over HTTP/2 with its pings
    let mut kept = connect(&serving);
    kept.write_all(HEALTH).unwrap();
    assert!(ended(&mut kept));
    let mut slow = connect(&serving);
    slow.write_all(&[HEALTH, b"GET /healthz HTTP/1.1\r\n"].concat()).unwrap();
    keeps_sending(slow, b"x-a: b\r\n");
    let mut pings = connect(&serving);
    pings.write_all(&[&preface[..], &health_over_http2()].concat()).unwrap();
    keeps_pinging(pings);
    assert!(cut(&serving, "silent") >= 9, "{}", cut(&serving, "silent"));
}

#[test]
fn max_header_ms_counts_the_handshake_of_tls() {
    let serving = serving(true, |limits| limits.max_header_ms = 300);
    // nothing; the beginning of a record; a record that is announced and does not come
    for sent in [&b""[..], b"\x16\x03", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"] {
        let mut stream = connect(&serving);
        stream.write_all(sent).unwrap();
        assert!(ended(&mut stream), "{sent:?}");
    }
}

#[test]
fn a_connection_that_asks_in_time_may_stay() {
    let serving = serving(false, |limits| limits.max_header_ms = u64::MAX);
    let mut stream = connect(&serving);
    stream.write_all(&HEALTH[..20]).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(!ended(&mut stream), "the bound is off");
    stream.write_all(&HEALTH[20..]).unwrap();
    let mut answer = [0; 15];
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

/// Asks for answers until none is sent any more, and reads none.
fn reads_nothing(stream: &mut TcpStream) {
    stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    while stream.write_all(&DOCUMENT.repeat(50)).is_ok() {}
}

#[test]
fn max_answer_ms() {
    let until_cut = |serving: &Serving, count: u64| {
        let begun = Instant::now();
        while cut(serving, "unread") < count {
            assert!(begun.elapsed() < LONG, "it is not ended");
        }
    };
    let short = serving(false, |limits| limits.max_answer_ms = 300);
    // what the system holds for it is thrown away: it would be offered for minutes
    let mut few = connect(&short);
    few.write_all(&DOCUMENT.repeat(50)).unwrap();
    until_cut(&short, 1);
    assert_eq!(end(&mut few), Some(ErrorKind::ConnectionReset));
    let mut unread = connect(&short);
    reads_nothing(&mut unread);
    until_cut(&short, 2);
    // an answer for which the client has no window, and pings beside it
    let mut no_window = connect(&short);
    no_window.write_all(&[PREFACE, &NO_WINDOW, &health_over_http2()].concat()).unwrap();
    keeps_sending(no_window, &PING);
    until_cut(&short, 3);
    // who reads has the time that it takes
    assert_eq!(short.get("/openapi.json").status, 200);
    let off = serving(false, |limits| limits.max_answer_ms = u64::MAX);
    let mut unread = connect(&off);
    reads_nothing(&mut unread);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(cut(&off, "unread"), 0);
}

#[test]
fn max_client_connections() {
    let serving = serving(false, |limits| {
        limits.max_client_connections = 2;
        limits.max_header_ms = u64::MAX;
    });
    let asked = || {
        let mut stream = connect(&serving);
        ask(&mut stream);
        stream
    };
    let mut here = vec![asked(), asked()];
    // both may stay; for a third one of them goes
    here.iter_mut().for_each(ask);
    here.push(asked());
    leaves(&mut here);
    here.iter_mut().for_each(ask);
    // who says nothing gets in likewise, and is the first to go although others are here longer, once it had time to ask
    let mut silent = connect(&serving);
    leaves(&mut here);
    std::thread::sleep(Duration::from_millis(300));
    here.push(asked());
    assert!(ended(&mut silent));
    here.iter_mut().for_each(ask);
}

/// Waits until one of the connections is ended, and takes it out.
fn leaves(here: &mut Vec<TcpStream>) {
    let begun = Instant::now();
    let before = here.len();
    while here.len() == before {
        assert!(begun.elapsed() < LONG, "all of them stay");
        for at in 0..before {
            here[at].set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            if ended(&mut here[at]) {
                here.remove(at);
                break;
            }
        }
    }
    here.iter_mut().for_each(|stream| stream.set_read_timeout(Some(LONG)).unwrap());
}

/// A request for the health and its whole answer.
fn ask(stream: &mut TcpStream) {
    stream.write_all(HEALTH).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(br#"{"status":"ok"}"#) {
        let mut bytes = [0; 512];
        let read = stream.read(&mut bytes).unwrap();
        assert!(read > 0, "ended amid {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&bytes[..read]);
    }
}

/// Some hundred connections of a kind against a bound of thirty-two, and no bound of time: only who makes room helps.
fn crowded(tls: bool, hostile: impl Fn(&mut TcpStream)) {
    let serving = serving(tls, |limits| {
        limits.max_client_connections = 32;
        limits.max_header_ms = u64::MAX;
        limits.max_answer_ms = u64::MAX;
        limits.max_request_ms = u64::MAX;
        limits.max_wait_ms = u64::MAX;
    });
    let mut crowd = Vec::new();
    for number in 0..300 {
        let mut stream = connect(&serving);
        hostile(&mut stream);
        crowd.push(stream);
        if !tls && number % 30 == 29 {
            // each over a connection of its own, which has to get in
            ask(&mut connect(&serving));
        }
    }
    if tls {
        let certificates = fs::read(serving.folder.path().join("chain.pem")).unwrap();
        let root = ureq::tls::Certificate::from_pem(&certificates).unwrap();
        let roots = ureq::tls::RootCerts::Specific(std::sync::Arc::new(vec![root]));
        let config = ureq::tls::TlsConfig::builder().root_certs(roots).build();
        let client: ureq::Agent = ureq::Agent::config_builder().tls_config(config).build().into();
        let port = serving.server.as_ref().unwrap().address().port();
        assert_eq!(client.get(format!("https://localhost:{port}/healthz")).call().unwrap().status(), 200);
    } else {
        assert!(cut(&serving, "displaced") > 200, "{}", cut(&serving, "displaced"));
        assert_eq!(serving.post("/v1/tasks", &crate::serving::new_task()).status, 201);
    }
}

#[test]
fn crowds_of_silent_connections_leave_room() {
    crowded(false, |_| {});
    crowded(false, |stream| stream.write_all(&PREFACE[..16]).unwrap());
    crowded(false, |stream| stream.write_all(b"GET / HTTP/1.1\r\nhost:").unwrap());
    crowded(true, |_| {});
    crowded(true, |stream| stream.write_all(b"\x16\x03\x01").unwrap());
}

#[test]
fn crowds_that_asked_once_leave_room() {
    crowded(false, |stream| stream.write_all(HEALTH).unwrap());
    let preface = [PREFACE, &SETTINGS, &health_over_http2(), &PING].concat();
    crowded(false, move |stream| stream.write_all(&preface).unwrap());
}

#[test]
fn crowds_with_unread_answers_leave_room() {
    crowded(false, |stream| stream.write_all(&DOCUMENT.repeat(100)).unwrap());
    let no_window = [PREFACE, &NO_WINDOW, &health_over_http2()].concat();
    crowded(false, move |stream| stream.write_all(&no_window).unwrap());
}

#[test]
fn crowds_with_slow_bodies_leave_room() {
    for path in ["/v1/tasks", "/", "/v1/evaluate"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 8000000\r\n\r\n{{"
        );
        crowded(false, move |stream| stream.write_all(head.as_bytes()).unwrap());
    }
}

/// Who is unknown is told so whatever body is said to come, with the id of JSON-RPC if it has come.
#[test]
fn nobody_is_told_before_a_body_is_there() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        settings.limits.max_request_ms = u64::MAX;
        settings.limits.max_requests_in_flight = 1;
    });
    let begins = |path: &str, length: usize, body: &str| {
        let mut stream = connect(&serving);
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: any\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let told = |mut stream: TcpStream| {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    };
    let slow: Vec<_> = (0..20).map(|_| begins("/", 5_000_000, r#"{"jsonrpc":"2.0","id":7,"#)).collect();
    // none of them has the one place
    let token = serving.token("did:web:ann", &SCOPES);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "contexts/list"});
    assert_eq!(serving.post_as(&token, "/", &list).json()["result"]["total"], 0);
    for stream in slow {
        let answer = told(stream);
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("-32009"), "{answer}");
    }
    let task = told(begins("/v1/tasks", 5_000_000, "{"));
    assert!(
        task.starts_with("HTTP/1.1 401") && task.contains("urn:celador:problem:unauthenticated"),
        "{task}"
    );
}

/// Who expects to be told to send a body, and is refused, is not told so.
#[test]
fn nobody_is_asked_for_a_body_that_is_not_read() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let answer = |head: &str| {
        let mut stream = connect(&serving);
        let rest = "expect: 100-continue\r\ncontent-length: 500\r\n\r\n";
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let json = "host: any\r\ncontent-type: application/json\r\n";
    for path in ["/v1/tasks", "/"] {
        let told = answer(&format!("POST {path} HTTP/1.1\r\n{json}"));
        assert!(told.starts_with("HTTP/1.1 401"), "{told}");
    }
    let token = serving.token("did:web:ann", &SCOPES);
    let told = answer(&format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: any\r\ncontent-type: text/plain\r\nauthorization: Bearer {token}\r\n"
    ));
    assert!(told.starts_with("HTTP/1.1 415"), "{told}");
}

/// A path that is no text is one that there is not, and is answered as such.
#[test]
fn a_path_that_is_no_text_is_unknown() {
    let serving = serving(false, |_| {});
    for path in ["/v1/tasks/%ff", "/v1/tasks/%c3%28/context"] {
        let reply = serving.get(path);
        assert_eq!(
            (reply.status, &*reply.json()["type"].to_string()),
            (404, "\"urn:celador:problem:unknown-path\"")
        );
    }
}
