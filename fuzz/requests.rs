//! Requests to a server of the project, over HTTP.
//!
//! An input is a story: a line `METHOD PATH`, a line with the body, and so on. `{task}` in a path is the task that the story
//! began last. Every request gets an answer of the server's own, and none of them is an error of the server.

use super::DESK;
use celador_server::{Parts, Server, Settings};
use celador_store::{Database, Location, StoreLimits};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Method, Request, Uri};

/// How many stories one server hears: its store is in memory, and grows.
const STORIES: u32 = 2_000;

/// How many requests of a story are sent.
const REQUESTS: usize = 12;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// A server under way, and how many stories it has heard.
struct Serving {
    server: Option<Server>,
    stories: u32,
}

static SERVING: Mutex<Serving> = Mutex::new(Serving { server: None, stories: 0 });

static CLIENT: LazyLock<Agent> = LazyLock::new(|| {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        // a server may close a connection whose body it refused to read, while the client sends the next request over it
        .max_idle_connections(0)
        .timeout_global(Some(PATIENCE));
    config.build().into()
});

/// The project's agents, served over a store in memory with a clock that stands.
fn serve() -> Server {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("policies"));
    let policies: PathBuf = above.find(|folder| folder.is_dir()).expect("the project's folder");
    let database = Database::open(&Location::Memory, &StoreLimits::default()).expect("a store opens");
    let mut settings = Settings::new(vec![policies]);
    settings.address.set_port(0);
    settings.watch = None;
    settings.limits.max_body_bytes = 1 << 16;
    // a machine that is busy with other inputs is no error of the server
    let patience = PATIENCE.as_secs() * 1_000;
    let limits = &mut settings.limits;
    (limits.max_request_ms, limits.max_header_ms, limits.max_answer_ms) = (patience, patience, patience);
    let now = DESK.task.context().started_at();
    let parts = Parts { clock: Arc::new(move || now), database, log: None };
    Server::start(settings, parts).unwrap_or_else(|error| panic!("{error}"))
}

/// Sends the bytes as a story.
pub fn requests(data: &[u8]) {
    let mut serving = SERVING.lock().unwrap_or_else(PoisonError::into_inner);
    if serving.stories >= STORIES
        && let Some(server) = serving.server.take()
    {
        server.stop();
        serving.stories = 0;
    }
    serving.stories += 1;
    let base = format!("http://{}", serving.server.get_or_insert_with(serve).address());
    let lines: Vec<&[u8]> = data.split(|&byte| byte == b'\n').take(2 * REQUESTS).collect();
    let mut task = String::from("none");
    for request in lines.chunks(2) {
        let [line, rest @ ..] = request else { return };
        let Some((method, path)) = std::str::from_utf8(line).ok().and_then(|line| line.split_once(' '))
        else {
            return;
        };
        let address = format!("{base}{}", path.replace("{task}", &task));
        let (Ok(method), Ok(uri)) = (Method::from_bytes(method.as_bytes()), Uri::try_from(address)) else {
            return;
        };
        // a client of HTTP sends neither
        if !path.starts_with('/') || method == Method::CONNECT {
            return;
        }
        let body = rest.first().copied().unwrap_or_default();
        task = send(&base, method, uri, body).unwrap_or(task);
    }
}

/// Sends a request; the task that it began, if it began one.
fn send(base: &str, method: Method, uri: Uri, body: &[u8]) -> Option<String> {
    let about = format!("{method} {uri}");
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    let mut reply = CLIENT
        .run(request.body(body).ok()?)
        .unwrap_or_else(|error| panic!("{about} at {base}: no answer: {error}"));
    let status = reply.status().as_u16();
    assert!(status < 500, "{about}: {status}");
    let is_json = reply
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.to_str().unwrap_or_default().contains("json"));
    let text = reply.body_mut().read_to_string().unwrap_or_else(|error| panic!("{about}: {error}"));
    if text.is_empty() || !is_json {
        return None;
    }
    let answer: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{about}: {error}"));
    let says_why = answer["title"].is_string() || answer["error"]["message"].is_string();
    assert!(status < 400 || says_why, "{about}: {answer}");
    (status == 201).then(|| answer["task"].as_str().map(str::to_owned)).flatten()
}
