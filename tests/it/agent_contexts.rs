//! The context store of Aletheia agents over HTTP. The protocol vectors run over it, too.

use crate::serving::{Reply, Serving};
use celador_server::{Parts, Server, Settings, system_clock};
use celador_store::conversation::aletheia::{ContextPlace, ContextStoreError, RedisOptions};
use celador_store::conversation::{ContextStore, StoredContext};
use celador_store::{Database, Location, StoreLimits};
use serde_json::json;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

const JSON: (&str, &str) = ("content-type", "application/json");

/// A store behind a server, as an agent without a driver for it sees it.
pub struct OverHttp(Serving);

impl OverHttp {
    pub fn new(database: Database, store: &str, redis: RedisOptions) -> Self {
        let place = ContextPlace { store: store.to_owned(), redis };
        Self(Serving::over(database, |settings, _| settings.agent_contexts = Some(place)))
    }

    pub fn memory(store: &str, redis: RedisOptions) -> Self {
        Self::new(Database::open(&Location::Memory, &StoreLimits::default()).unwrap(), store, redis)
    }

    fn send(&self, method: &str, key: &str, body: &[u8]) -> Result<Reply, ContextStoreError> {
        let headers: &[_] = if body.is_empty() { &[] } else { &[JSON] };
        let reply = self.0.send(method, &address(key), headers, body);
        match reply.status {
            200 | 404 => Ok(reply),
            503 => Err(ContextStoreError::Unavailable(reply.text())),
            _ => Err(ContextStoreError::Refused(reply.text())),
        }
    }
}

impl ContextStore for OverHttp {
    fn get(&self, key: &str) -> Result<Option<StoredContext>, ContextStoreError> {
        let reply = self.send("GET", key, b"")?;
        Ok((reply.status == 200).then(|| StoredContext::from_json(&reply.text()).unwrap()))
    }

    fn set(&self, key: &str, data: &StoredContext) -> Result<(), ContextStoreError> {
        assert_eq!(self.send("PUT", key, data.to_json().as_bytes())?.text(), data.to_json());
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<(), ContextStoreError> {
        assert_eq!(self.send("DELETE", key, b"")?.text(), "{}");
        Ok(())
    }
}

fn address(key: &str) -> String {
    let escaped = key.bytes().fold(String::new(), |mut text, byte| {
        write!(text, "%{byte:02X}").unwrap();
        text
    });
    format!("/v1/agent-contexts?key={escaped}")
}

fn kind(reply: &Reply) -> String {
    reply.json()["type"].as_str().unwrap().trim_start_matches("urn:celador:problem:").to_owned()
}

#[test]
fn nothing_is_there_unless_a_store_is_named() {
    let serving = Serving::start();
    for (method, body) in [("GET", ""), ("PUT", "{}"), ("DELETE", "")] {
        let headers: &[_] = if body.is_empty() { &[] } else { &[JSON] };
        let reply = serving.send(method, &address("k"), headers, body.as_bytes());
        assert_eq!((reply.status, &*kind(&reply)), (404, "unknown-path"), "{method}");
    }
}

#[test]
fn keys_and_values_are_any_text_and_others_are_refused() {
    let http = OverHttp::memory("embedded", RedisOptions::default());
    let whole = StoredContext { context_id: Some("c".into()), task_id: Some("t ü\n\"".into()) };
    for key in ["", "a", "A", "did:web:ann", "a/b?c=d&e#f%20+", "ключ 🔑", " "] {
        assert_eq!(http.get(key), Ok(None), "{key}");
        http.set(key, &whole).unwrap();
        assert_eq!(http.get(key), Ok(Some(whole.clone())), "{key}");
        // the whole value takes the place of what was there
        http.set(key, &StoredContext::default()).unwrap();
        assert_eq!(http.get(key), Ok(Some(StoredContext::default())), "{key}");
        http.delete(key).unwrap();
        http.delete(key).unwrap();
        assert_eq!(http.get(key), Ok(None), "{key}");
    }
    let serving = http.0;
    let missing = serving.get(&address("k"));
    assert_eq!((missing.status, &*kind(&missing)), (404, "unknown-context"));
    for path in ["", "?", "?k=1", "?key=a&key=b", "?key=a%00", "?key=%ff", "?key=a&x=1"] {
        let reply = serving.send("GET", &format!("/v1/agent-contexts{path}"), &[], b"");
        assert_eq!((reply.status, &*kind(&reply)), (400, "bad-request"), "{path}");
    }
    for body in [
        json!("c"),
        json!({"contextId": 7}),
        json!({"context_id": "c"}),
        json!({"contextId": "c", "v": 2}),
        json!({"taskId": "a\u{0}"}),
    ] {
        let reply = serving.send("PUT", &address("k"), &[JSON], body.to_string().as_bytes());
        assert_eq!((reply.status, &*kind(&reply)), (400, "bad-request"), "{body}");
    }
    let null = serving.send("PUT", &address("k"), &[JSON], br#"{"contextId": null, "taskId": "t"}"#);
    assert_eq!(null.text(), r#"{"taskId":"t"}"#);
}

/// Keys belong to no caller, as in the store itself; who may read need not be allowed to write.
#[test]
fn a_scope_is_for_all_keys() {
    let serving = Serving::with(&Location::Memory, |settings, folder| {
        settings.authentication.tokens = Some(folder.join("tokens.json"));
        settings.agent_contexts =
            Some(ContextPlace { store: "embedded".to_owned(), redis: RedisOptions::default() });
    });
    let writer = format!("Bearer {}", serving.token("ann", &["agent-contexts:write"]));
    let reader = format!("Bearer {}", serving.token("ben", &["agent-contexts:read"]));
    let send = |method, token: &str, body: &[u8]| {
        serving.send(method, &address("k"), &[JSON, ("authorization", token)], body).status
    };
    assert_eq!(send("PUT", &writer, br#"{"contextId": "c"}"#), 200);
    assert_eq!(send("GET", &reader, b""), 200);
    assert_eq!(send("GET", &writer, b""), 403);
    assert_eq!(send("PUT", &reader, b"{}"), 403);
    assert_eq!(send("DELETE", &reader, b""), 403);
    assert_eq!(send("DELETE", &writer, b""), 200);
    assert_eq!(send("GET", &reader, b""), 404);
}

/// A store that does not answer keeps few requests waiting, and no step of a task.
#[test]
fn a_store_that_hangs_is_in_nobodys_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            thread::sleep(Duration::from_millis(200));
            drop(connection);
        }
    });
    let http = OverHttp::memory(&store, RedisOptions::default());
    let kinds: Vec<String> = thread::scope(|scope| {
        let asked = [(); 24].map(|()| scope.spawn(|| http.0.get(&address("k"))));
        let step = http.0.post("/v1/check", &json!({"scope": "start_if", "expression": "true"}));
        assert!(step.status < 500, "{}", step.text());
        asked.into_iter().map(|asked| kind(&asked.join().unwrap())).collect()
    });
    let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
    assert!(count("store-unavailable") > 0 && count("overloaded") > 0, "{kinds:?}");
    assert_eq!(count("store-unavailable") + count("overloaded"), kinds.len(), "{kinds:?}");
}

#[test]
fn what_names_no_store_is_refused_without_being_quoted() {
    for store in
        ["", "mysql://u:secret@h/d", "/secret", "redis://u:secret@h:port/0", "postgres://u:secret@h:port/d"]
    {
        let mut settings = Settings::new(vec![crate::serving::desk()]);
        settings.address.set_port(0);
        let redis = RedisOptions::default();
        settings.agent_contexts = Some(ContextPlace { store: store.to_owned(), redis });
        assert!(!format!("{settings:?}").contains("secret"), "{store}");
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let parts = Parts { clock: system_clock().unwrap(), database, log: None };
        let refused = Server::start(settings, parts).err().unwrap_or_else(|| panic!("{store}")).to_string();
        assert!(refused.contains("aletheia-store") && !refused.contains("secret"), "{refused}");
    }
}
