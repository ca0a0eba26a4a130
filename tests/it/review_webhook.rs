//! Webhooks of reviews: what is sent, how it is signed, and that nothing is lost when the receiver or the server goes away.

use crate::review_fixture::{self, REVIEWER, policies};
use crate::serving::Serving;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use celador_server::{Parts, ReviewWebhook, ServeError, Server, Settings, system_clock};
use celador_store::{Database, Location, StoreLimits};
use ring::hmac;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

const SECRETS: [&[u8]; 2] = [b"the secret that signs a webhook", b"the secret that comes after it."];

/// A request that came.
struct Came {
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Came {
    fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    fn review(&self) -> Value {
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(body["event"], "review");
        body["review"].clone()
    }

    fn state(&self) -> String {
        self.review()["state"].as_str().unwrap().to_owned()
    }
}

/// Who is told of reviews: answers each request with the next status, and with 204 behind the last. Status 0 gives no answer.
struct Listener {
    url: String,
    came: Receiver<Came>,
}

impl Listener {
    fn answering(statuses: &[u16]) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/told?by=celador", socket.local_addr().unwrap());
        let (send, came) = channel();
        let mut statuses: VecDeque<u16> = statuses.iter().copied().collect();
        thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in socket.incoming() {
                let stream = stream.unwrap();
                match statuses.pop_front().unwrap_or(204) {
                    0 => silent.push(stream),
                    status => {
                        if take(stream, status, &send).is_none() {
                            return;
                        }
                    }
                }
            }
        });
        Self { url, came }
    }

    fn next(&self) -> Came {
        self.came.recv_timeout(Duration::from_secs(30)).expect("a webhook")
    }

    fn nothing(&self) {
        let came = self.came.recv_timeout(Duration::from_millis(1500));
        assert!(came.is_err(), "{}", came.ok().unwrap().review());
    }
}

/// Takes one request; nothing once nobody looks any more.
fn take(mut stream: TcpStream, status: u16, send: &Sender<Came>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    assert!(line.starts_with("POST "), "{line}");
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    send.send(Came { path, headers, body }).ok()
}

fn told(settings: &mut Settings, folder: &Path, url: &str) {
    policies(settings, folder);
    let secret = folder.join("webhook.secret");
    let lines = SECRETS.map(|secret| format!("whsec_{}\n", STANDARD.encode(secret)));
    fs::write(&secret, lines.concat()).unwrap();
    settings.review_webhook = Some(ReviewWebhook { url: url.to_owned(), secret });
}

fn serve(database: Database, url: &str) -> Serving {
    Serving::over(database, |settings, folder| told(settings, folder, url))
}

fn memory() -> Database {
    Database::open(&Location::Memory, &StoreLimits::default()).unwrap()
}

/// A task that asks for a payment; the path of its review.
fn asks(serving: &Serving) -> String {
    let call = ("card", r#"{"amount": 20.5, "card": "4111-1111"}"#);
    review_fixture::asks_to(serving, None, "u-7", call)
}

#[test]
fn a_review_is_sent_signed_when_it_is_asked_and_when_it_is_answered() {
    let listener = Listener::answering(&[]);
    let serving = serve(memory(), &listener.url);
    let review = asks(&serving);
    let asked = listener.next();
    assert_eq!(serving.post(&review, &json!({"answer": "approve", "note": "fine"})).status, 200);
    let answered = listener.next();
    listener.nothing();
    assert_eq!((&*asked.state(), &*answered.state()), ("open", "approved"));
    assert_ne!(asked.id(), answered.id());
    // what is sent is what the server shows, secrets hidden
    assert_eq!(answered.review(), serving.get(&review).json());
    assert_eq!(asked.review()["arguments"], json!({"amount": 20.5, "card": "***"}));
    for came in [asked, answered] {
        assert_eq!(came.path, "/told?by=celador");
        assert_eq!(came.headers["content-type"], "application/json");
        assert!(came.id().starts_with("rv_"), "{}", came.id());
        // the server's clock stands at noon
        assert_eq!(came.headers["webhook-timestamp"], "1780315200");
        let signed = [format!("{}.1780315200.", came.id()).as_bytes(), &came.body].concat();
        let signatures: Vec<&str> = came.headers["webhook-signature"].split(' ').collect();
        assert_eq!(signatures.len(), SECRETS.len());
        for (signature, secret) in signatures.iter().zip(SECRETS) {
            let tag = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
            assert!(hmac::verify(&key, &signed, &tag).is_ok(), "{signature}");
        }
    }
}

#[test]
fn each_approval_of_a_panel_is_sent_signed() {
    let listener = Listener::answering(&[]);
    let serving = Serving::over(memory(), |settings, folder| {
        told(settings, folder, &listener.url);
        settings.authentication.tokens = Some(folder.join("tokens.json"));
    });
    let runtime = serving.token("desk", &["tasks:read", "tasks:write", "reviews:read"]);
    let (_, review) = review_fixture::asks_board(&serving, Some(&runtime), "u-7");
    assert_eq!(listener.next().state(), "open");
    let mut ids = Vec::new();
    for (name, groups, state, approved) in [("ann", "payments", "open", 1), ("kim", "leads", "approved", 2)] {
        let token = serving.token_of(name, &REVIEWER, &json!({"groups": [groups]}));
        // a second answer of the same person changes nothing, so nothing is sent
        for _ in 0..2 {
            assert_eq!(serving.post_as(&token, &review, &json!({"answer": "approve"})).status, 200);
        }
        let came = listener.next();
        let progress = json!({"approved": approved, "needed": 2});
        assert_eq!((&*came.state(), &came.review()["progress"]), (state, &progress));
        let signed = [format!("{}.1780315200.", came.id()).as_bytes(), &came.body].concat();
        let signature = came.headers["webhook-signature"].split(' ').next().unwrap();
        let tag = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
        assert!(hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, SECRETS[0]), &signed, &tag).is_ok());
        ids.push(came.id().to_owned());
    }
    assert_ne!(ids[0], ids[1]);
    listener.nothing();
}

#[test]
fn what_was_not_taken_is_sent_again_by_the_process_that_comes_after() {
    let listener = Listener::answering(&[500]);
    let first = serve(memory(), &listener.url);
    let review = asks(&first);
    let refused = listener.next();
    assert_eq!(refused.state(), "open");
    let database = first.stop();
    let second = serve(database, &listener.url);
    let again = listener.next();
    // the receiver knows it by its id
    assert_eq!((again.id(), &again.body), (refused.id(), &refused.body));
    assert_eq!(second.post(&review, &json!({"answer": "deny"})).status, 200);
    // a process that stops amid an answer leaves open whether it was one
    let mut other = listener.next();
    while other.id() == refused.id() {
        other = listener.next();
    }
    assert_eq!(other.state(), "denied");
    let third = serve(second.stop(), &listener.url);
    listener.nothing();
    drop(third);
}

#[test]
fn a_change_that_is_refused_is_passed_over_and_one_that_may_be_taken_later_is_not() {
    let listener = Listener::answering(&[400, 429, 503]);
    let serving = serve(memory(), &listener.url);
    asks(&serving);
    let refused = listener.next();
    asks(&serving);
    let later: Vec<Came> = (0..3).map(|_| listener.next()).collect();
    assert!(later.iter().all(|came| came.id() == later[0].id() && came.id() != refused.id()));
    listener.nothing();
}

#[test]
fn of_several_servers_over_one_store_one_sends() {
    let listener = Listener::answering(&[]);
    let database = memory();
    let servers = [serve(database.clone(), &listener.url), serve(database, &listener.url)];
    for serving in &servers {
        asks(serving);
    }
    assert_ne!(listener.next().id(), listener.next().id());
    listener.nothing();
    // the other takes over once the one that sends is gone, whichever that is
    let [first, second] = servers;
    first.stop();
    asks(&second);
    listener.next();
    listener.nothing();
}

#[test]
fn who_is_told_for_the_first_time_is_told_what_waits() {
    let nobody = Listener::answering(&[]);
    let serving = Serving::over(memory(), |settings, folder| {
        told(settings, folder, &nobody.url);
        settings.review_webhook = None;
    });
    let review = asks(&serving);
    assert_eq!(serving.post(&review, &json!({"answer": "deny"})).status, 200);
    let waits = asks(&serving);
    let listener = Listener::answering(&[]);
    let serving = serve(serving.stop(), &listener.url);
    assert_eq!(listener.next().review(), serving.get(&waits).json());
    listener.nothing();
    nobody.nothing();
}

#[test]
fn no_decision_waits_for_a_receiver_that_is_silent() {
    let listener = Listener::answering(&[0; 64]);
    let serving = serve(memory(), &listener.url);
    let begun = Instant::now();
    for _ in 0..20 {
        let review = asks(&serving);
        assert_eq!(serving.post(&review, &json!({"answer": "approve"})).status, 200);
    }
    serving.stop();
    // a receiver has fifteen seconds for one change
    assert!(begun.elapsed() < Duration::from_secs(14), "{:?}", begun.elapsed());
}

#[test]
fn an_address_without_tls_and_a_file_without_a_secret_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let start = |url: &str, secrets: &str| {
        let mut settings = Settings::new(Vec::new());
        told(&mut settings, folder.path(), url);
        settings.address.set_port(0);
        fs::write(folder.path().join("webhook.secret"), secrets).unwrap();
        let parts = Parts { clock: system_clock().unwrap(), database: memory(), log: None };
        Server::start(settings, parts).map(Server::stop).map_err(|error| match error {
            ServeError::Setting { name, .. } => name.to_owned(),
            ServeError::File { what, .. } => what,
            other => panic!("{other}"),
        })
    };
    let good = format!("whsec_{}", STANDARD.encode(SECRETS[0]));
    assert_eq!(start("https://chat.example/hook", &good), Ok(()));
    for url in ["http://chat.example/hook", "chat.example", "https://a:b@chat.example/"] {
        assert_eq!(start(url, &good), Err("review_webhook".to_owned()), "{url}");
    }
    for secrets in ["", "\n", "secret", "whsec_c2hvcnQ=", &format!("{good}\nsecret")] {
        let what = start("https://chat.example/hook", secrets).unwrap_err();
        assert!(what.starts_with("a line `whsec_…` is expected"), "{secrets}: {what}");
    }
}
