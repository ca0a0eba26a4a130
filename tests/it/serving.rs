//! A server in the test's own process, on a port of its own, with a clock, tokens and a store that the test turns.
//!
//! Every answer that comes through it is compared with the OpenAPI document: path, status, media type, body.

use crate::openapi;
use celador::Timestamp;
use celador_server::{Parts, Server, Settings};
use celador_store::decision_log::DecisionLog;
use celador_store::{Database, FaultPlan, Location, StoreLimits};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// When the clock stands if nobody turned it.
pub const NOON: &str = "2026-06-01T12:00:00Z";

/// All scopes that a token may have.
pub const SCOPES: [&str; 18] = [
    "tasks:read",
    "tasks:write",
    "tasks:purge",
    "tasks:admin",
    "reviews:read",
    "reviews:write",
    "policies:write",
    "manifests:read",
    "manifests:write",
    "agent:read",
    "agent:write",
    "agent-contexts:read",
    "agent-contexts:write",
    "metrics:read",
    "switches:read",
    "switches:write",
    "counters:read",
    "counters:write",
];

/// A server and what turns it.
pub struct Serving {
    pub server: Option<Server>,
    pub database: Database,
    pub folder: TempDir,
    pub base: String,
    agent: Agent,
    clock: Arc<Mutex<Timestamp>>,
    tokens: Mutex<BTreeMap<String, Value>>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// The folder of policies that most tests are served.
pub fn desk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/support-desk")
}

/// An agent of HTTP that takes every status for an answer.
pub fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_global(Some(Duration::from_secs(60)));
    config.build().into()
}

impl Serving {
    /// A server over a store in memory, for anybody.
    pub fn start() -> Self {
        Self::with(&Location::Memory, |_, _| {})
    }

    /// A server for callers with tokens only; [`Serving::token`] makes some.
    pub fn with_tokens() -> Self {
        Self::with(&Location::Memory, |settings, folder| {
            settings.authentication.tokens = Some(folder.join("tokens.json"))
        })
    }

    /// A server with other settings; the folder is the test's, and goes with it.
    pub fn with(location: &Location, change: impl FnOnce(&mut Settings, &Path)) -> Self {
        let database = Database::open(location, &StoreLimits::default()).unwrap();
        Self::over(database, change)
    }

    /// A server over a store that is open: two may share one.
    pub fn over(database: Database, change: impl FnOnce(&mut Settings, &Path)) -> Self {
        Self::made(database, None, change)
    }

    /// The same with a decision log.
    pub fn over_log(database: Database, log: DecisionLog, change: impl FnOnce(&mut Settings, &Path)) -> Self {
        Self::made(database, Some(log), change)
    }

    fn made(database: Database, log: Option<DecisionLog>, change: impl FnOnce(&mut Settings, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tokens.json"), r#"{"tokens": []}"#).unwrap();
        let clock = Arc::new(Mutex::new(NOON.parse().unwrap()));
        let mut settings = Settings::new(vec![desk()]);
        settings.address.set_port(0);
        settings.watch = None;
        change(&mut settings, folder.path());
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let time = clock.clone();
        let parts = Parts { clock: Arc::new(move || *time.lock().unwrap()), database: database.clone(), log };
        let server = Server::start(settings, parts).unwrap_or_else(|error| panic!("{error}"));
        let base = format!("{scheme}://{}", server.address());
        let tokens = Mutex::default();
        Self { server: Some(server), database, folder, base, agent: agent(), clock, tokens }
    }

    /// Turns the clock.
    pub fn set_now(&self, now: &str) {
        *self.clock.lock().unwrap() = now.parse().unwrap();
    }

    /// Every access of the store fails from now on, or no more.
    pub fn store_down(&self, down: bool) {
        self.database.faults().plan(if down { FaultPlan::Everything } else { FaultPlan::Nothing });
    }

    /// A token of an identity with these scopes; the server knows it at once.
    pub fn token(&self, identity: &str, scopes: &[&str]) -> String {
        self.token_of(identity, scopes, &json!({}))
    }

    /// The same with more about the identity: an e-mail address, groups.
    pub fn token_of(&self, identity: &str, scopes: &[&str], more: &Value) -> String {
        let token = format!("token of {identity} for {}", scopes.join(" ")).replace(' ', "-");
        let mut tokens = self.tokens.lock().unwrap();
        let digest: String = Sha256::digest(&token).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut row = json!({"sha256": digest, "identity": identity, "scopes": scopes});
        for (name, value) in more.as_object().unwrap() {
            row[name] = value.clone();
        }
        if tokens.insert(token.clone(), row).is_none() {
            let rows: Vec<&Value> = tokens.values().collect();
            fs::write(self.folder.path().join("tokens.json"), json!({ "tokens": rows }).to_string()).unwrap();
            self.server.as_ref().unwrap().refresh();
        }
        token
    }

    /// Takes the tokens of an identity away; the server forgets them at once.
    pub fn withdraw_tokens(&self, identity: &str) {
        let mut tokens = self.tokens.lock().unwrap();
        tokens.retain(|_, row| row["identity"] != identity);
        let rows: Vec<&Value> = tokens.values().collect();
        fs::write(self.folder.path().join("tokens.json"), json!({ "tokens": rows }).to_string()).unwrap();
        self.server.as_ref().unwrap().refresh();
    }

    /// Sends a request. The answer has to be one of the OpenAPI document.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let reply = self.send_anything(method, path, headers, body);
        let media_type = reply.header("content-type").unwrap_or_default().to_owned();
        openapi::check(method, path, reply.status, &media_type, &reply.body);
        reply
    }

    /// The same for paths and methods that no document knows.
    pub fn send_anything(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = if body.is_empty() && method != "POST" {
            self.agent.run(request.body(()).unwrap()).unwrap()
        } else {
            self.agent.run(request.body(body).unwrap()).unwrap()
        };
        let body = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        Reply { status: response.status().as_u16(), headers: response.headers().clone(), body }
    }

    /// The status of an answer that has no end.
    pub fn status_of_stream(&self, path: &str, authorization: &str) -> u16 {
        let request = self.agent.get(format!("{}{path}", self.base)).header("authorization", authorization);
        request.call().unwrap().status().as_u16()
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().as_bytes())
    }

    /// The same as somebody.
    pub fn post_as(&self, token: &str, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", &*bearer)];
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    pub fn get_as(&self, token: &str, path: &str) -> Reply {
        self.send("GET", path, &[("authorization", &format!("Bearer {token}"))], b"")
    }

    /// A task of the support desk that has had an input; its path.
    pub fn task(&self) -> String {
        let path = self.new_task(None);
        let input = json!({"message": "Please see to this.", "ticket_id": "T-1041"});
        assert_eq!(self.post(&format!("{path}/input"), &input).json()["decided"]["verdict"], "allow");
        path
    }

    /// A task of the support desk, of somebody; its path.
    pub fn new_task(&self, token: Option<&str>) -> String {
        let task = new_task();
        let reply = match token {
            Some(token) => self.post_as(token, "/v1/tasks", &task),
            None => self.post("/v1/tasks", &task),
        };
        assert_eq!(reply.status, 201, "{}", reply.text());
        format!("/v1/tasks/{}", reply.json()["task"].as_str().unwrap())
    }

    /// Stops the server, and gives what it stood on.
    pub fn stop(mut self) -> Database {
        self.server.take().unwrap().stop();
        self.database.clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

/// A task of the support desk that is to be created.
pub fn new_task() -> Value {
    json!({"namespace": "support", "agent": "support-desk", "user": {"id": "u-7", "email": "kim@example.com"}})
}
