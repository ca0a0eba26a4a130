//! The proxy for the APIs of models, as data: what a client sends, what the model's API answers, what each of them sees of it.
//!
//! A file of `tests/data/proxy` has parts, each under a line `== name`: `agent`, `path`, `request`, then for each call of the model `upstream`, its
//! answer, and `sent`, what it was sent; and `client`, what the client got. `sent` and `client` are written by `UPDATE_EXPECT=1`.

use celador_gateway::llm::{LlmProxy, LlmSettings, Maker};
use celador_server::{InProcess, Parts, ServerLimits, Settings, TaskBackend, system_clock};
use celador_store::{Database, Location};
use regex::Regex;
use serde_json::Value;
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use ureq::Agent;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proxy/rules.yaml");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/proxy");

/// The parts of a file, in order.
fn parts(text: &str) -> Vec<(String, String)> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("== ") {
            Some(name) => parts.push((name.trim().to_owned(), String::new())),
            None => parts.last_mut().expect("a file begins with a part").1.push_str(line),
        }
    }
    parts
}

/// The API of a model, which gives these answers one after the other and keeps what it was sent.
struct Upstream {
    address: String,
    sent: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let (kept, mut answers) = (sent.clone(), VecDeque::from(answers));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let Some(answer) = answers.pop_front() else { return };
                kept.lock().unwrap().push(one(&mut socket.unwrap(), &answer));
            }
        });
        Self { address, sent }
    }
}

/// Reads one request and answers it.
fn one(socket: &mut TcpStream, answer: &str) -> String {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let status = if answer.starts_with("{\"error\"") { "429 Too Many Requests" } else { "200 OK" };
    let kind = if answer.starts_with('{') { "application/json" } else { "text/event-stream" };
    write!(
        socket,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\nretry-after: 7\r\n\r\n{answer}"
    )
    .unwrap();
    String::from_utf8(body).unwrap()
}

fn database() -> Database {
    Database::open(&Location::Memory, &ServerLimits::default().store).unwrap()
}

fn desk(database: Database) -> TaskBackend {
    let settings = Settings::new(vec![RULES.into()]);
    let parts = Parts { clock: system_clock().unwrap(), database, log: None };
    TaskBackend::InProcess(InProcess::open(settings, parts).unwrap())
}

/// What the client gets: status, headers of the proxy, and the body to the letter, less ids and times that nobody can know.
fn ask(address: &str, path: &str, body: &str) -> String {
    let client: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let request = client.post(format!("http://{address}{path}")).header("content-type", "application/json");
    let mut reply = request.header("x-celador-task", "t-1").send(body).unwrap();
    let mut told = format!("{}\n", reply.status());
    for name in ["content-type", "x-celador-task", "x-celador-verdict", "retry-after"] {
        if let Some(value) = reply.headers().get(name) {
            told += &format!("{name}: {}\n", value.to_str().unwrap());
        }
    }
    told += "\n";
    told += &reply.body_mut().read_to_string().unwrap();
    let unknown = Regex::new("celador[0-9a-f]{32}|\"created(_at)?\":1[0-9]{9}").unwrap();
    unknown.replace_all(&told, "<made>").into_owned()
}

/// A task has the tools of the request that began it. A request with other tools goes on with it, also after the proxy has started anew, if it
/// is of the same agent and user; and nobody else's does.
#[test]
fn a_task_goes_on_after_a_restart_for_whom_it_began() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let database = database();
    let status = |user: &str, tool: &str| {
        let said = r#"{"id":"c-1","object":"chat.completion","created":7,"model":"small-1","choices":[{"index":0,
            "message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
        let upstream = Upstream::start(vec![said.to_owned()]);
        let mut settings =
            LlmSettings::new(Maker::OpenAi, ("shop".into(), "desk".into()), ServerLimits::default());
        settings.upstream = upstream.address.clone();
        settings.listen.set_port(0);
        let proxy = {
            let _inside = runtime.enter();
            LlmProxy::bind(desk(database.clone()), settings).unwrap()
        };
        let url = format!("http://{}/v1/chat/completions", proxy.address());
        let serving = runtime.spawn(proxy.serve(std::future::pending()));
        let body = format!(
            r#"{{"model": "small-1", "messages": [{{"role": "user", "content": "Hello."}}],
                "tools": [{{"type": "function", "function": {{"name": "{tool}", "parameters": {{"type": "object"}}}}}}]}}"#
        );
        let client: Agent = Agent::config_builder().http_status_as_error(false).build().into();
        let request = client.post(url).header("content-type", "application/json");
        let request = request.header("x-celador-task", "t-1").header("x-celador-user", user);
        let mut reply = request.send(body).unwrap();
        serving.abort();
        (reply.status().as_u16(), reply.body_mut().read_to_string().unwrap())
    };
    for (user, tool, expected) in
        [("kim", "get_weather", 200), ("kim", "get_time", 200), ("lee", "get_time", 409)]
    {
        let (found, body) = status(user, tool);
        assert_eq!(found, expected, "{user} {tool}: {body}");
    }
}

fn pretty(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    format!("{:#}\n", value)
}

#[test]
fn each_sees_of_an_exchange_what_the_rules_leave() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut files: Vec<_> = fs::read_dir(FOLDER).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let parts = parts(&text);
        let all =
            |name: &str| parts.iter().filter(|it| it.0 == name).map(|it| it.1.clone()).collect::<Vec<_>>();
        let one = |name: &str| all(name).first().map(|it| it.trim().to_owned()).unwrap_or_default();
        let upstream = Upstream::start(all("upstream"));
        let path = one("path");
        let maker = if path.ends_with("/messages") { Maker::Anthropic } else { Maker::OpenAi };
        let agent = one("agent");
        let (namespace, name) = agent.split_once('/').unwrap();
        let mut settings =
            LlmSettings::new(maker, (namespace.to_owned(), name.to_owned()), ServerLimits::default());
        settings.upstream = upstream.address.clone();
        settings.listen.set_port(0);
        let proxy = {
            let _inside = runtime.enter();
            LlmProxy::bind(desk(database()), settings).unwrap()
        };
        let address = proxy.address().to_string();
        let serving = runtime.spawn(proxy.serve(std::future::pending()));
        let client = ask(&address, &path, &one("request"));
        serving.abort();

        let mut seen: Vec<(String, String)> =
            parts.iter().filter(|it| !["sent", "client"].contains(&&*it.0)).cloned().collect();
        seen.extend(upstream.sent.lock().unwrap().iter().map(|body| ("sent".to_owned(), pretty(body))));
        seen.push(("client".to_owned(), client));
        let seen: String = seen.iter().map(|(name, text)| format!("== {name}\n{text}")).collect();
        if update {
            fs::write(&file, &seen).unwrap();
        } else {
            assert_eq!(seen, text, "{}; run with UPDATE_EXPECT=1 and look at it", file.display());
        }
    }
}
