//! Browsers: hosts that a server answers for, pages that may change something, media types, CORS, the agent card.

use crate::openapi;
use crate::serving::{SCOPES, Serving, desk, new_task};
use celador_server::{Parts, Server, Settings, system_clock};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// What came back: status, the fields of the header in lower case, the body.
struct Raw {
    status: u16,
    head: String,
    body: String,
}

impl Raw {
    fn kind(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["type"].as_str().unwrap_or_default().replace("urn:celador:problem:", "")
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends a request with exactly these lines.
fn raw(serving: &Serving, line: &str, fields: &[&str], body: &str) -> Raw {
    let mut stream = TcpStream::connect(serving.server.as_ref().unwrap().address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let length = body.len();
    let text = format!("{line}\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_ascii_lowercase();
    Raw { status: head[9..12].parse().unwrap(), head, body: body.to_owned() }
}

fn port(serving: &Serving) -> u16 {
    serving.server.as_ref().unwrap().address().port()
}

const JSON: &str = "content-type: application/json";

#[test]
fn a_server_without_tokens_answers_under_names_of_its_own_only() {
    let serving = Serving::start();
    let port = port(&serving);
    let status = |host: &str, path: &str| raw(&serving, &format!("GET {path} HTTP/1.1"), &[host], "").status;
    let own = ["localhost", "LocalHost:1", "127.0.0.1", "127.0.0.9:80", "[::1]", "[::1]:8717"];
    for host in own.map(|host| format!("host: {host}")) {
        assert_eq!(status(&host, "/v1/tasks"), 200, "{host}");
    }
    let foreign = [
        "evil.example",
        "evil.example:8717",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "evil.localhost",
        "0.0.0.0",
        "localhost.",
        "localhost@evil.example",
        "",
    ];
    for host in foreign.map(|host| format!("host: {host}")) {
        for path in ["/v1/tasks", "/healthz", "/openapi.json", "/.well-known/agent-card.json", "/nowhere"] {
            // what is no host at all, HTTP refuses before
            assert!(matches!(status(&host, path), 421 | 400), "{host} {path}");
        }
    }
    // all that is said of the host has to be right
    let evil_address = raw(&serving, "GET http://evil.example/v1/tasks HTTP/1.1", &["host: localhost"], "");
    assert_eq!(evil_address.status, 421);
    let two = raw(&serving, "GET /v1/tasks HTTP/1.1", &["host: localhost", "host: evil.example"], "");
    assert!(matches!(two.status, 421 | 400), "{}", two.status);
    let none = raw(&serving, "GET /v1/tasks HTTP/1.0", &[], "");
    assert_eq!((none.status, &*none.kind()), (421, "foreign-host"));
    // a page whose name was pointed at this machine is its own origin
    let evil = format!("evil.example:{port}");
    let fields = [format!("host: {evil}"), format!("origin: http://{evil}"), JSON.to_owned()];
    let fields = fields.each_ref().map(String::as_str);
    let created = raw(&serving, "POST /v1/tasks HTTP/1.1", &fields, &new_task().to_string());
    assert_eq!((created.status, &*created.kind()), (421, "foreign-host"));
    let media_type = created.field("content-type").unwrap();
    openapi::check("POST", "/v1/tasks", 421, media_type, created.body.as_bytes());
    let rpc = r#"{"jsonrpc": "2.0", "id": 1, "method": "contexts/list"}"#;
    let rpc = raw(&serving, "POST / HTTP/1.1", &fields, rpc);
    openapi::check("POST", "/", rpc.status, rpc.field("content-type").unwrap(), rpc.body.as_bytes());
    assert_eq!(rpc.status, 421);
    assert_eq!(serving.get("/v1/tasks").json()["tasks"], json!([]));
}

#[test]
fn configured_hosts_are_answered_and_tokens_do_without() {
    let serving = Serving::with(&Location::Memory, |settings, _| {
        settings.allowed_hosts = vec!["Celador.internal".into(), "10.1.2.3".into(), "::2".into()];
        settings.public_url = Some("https://public.example/celador".into());
    });
    let status = |host: &str| raw(&serving, "GET /healthz HTTP/1.1", &[&format!("host: {host}")], "").status;
    for host in ["celador.internal:9", "10.1.2.3", "[::2]:1", "public.example", "localhost"] {
        assert_eq!(status(host), 200, "{host}");
    }
    assert_eq!(status("evil.example"), 421);
    let known = Serving::with_tokens();
    let bearer = format!("authorization: Bearer {}", known.token("did:web:ann", &SCOPES));
    let listed = raw(&known, "GET /v1/tasks HTTP/1.1", &["host: any.example", &bearer], "");
    assert_eq!(listed.status, 200);
}

/// Every route that is not a `GET`, from pages of other sites and from those of its own.
#[test]
fn pages_of_other_sites_change_nothing() {
    let serving = Serving::start();
    let task = serving.task();
    let port = port(&serving);
    let host = format!("host: 127.0.0.1:{port}");
    let changing = openapi::rows();
    let changing = changing.iter().filter(|row| !row.starts_with("GET ")).map(|row| {
        let [method, path, _]: [&str; 3] = row.split(' ').collect::<Vec<_>>().try_into().unwrap();
        (method.to_owned(), path.replace("/v1/tasks/{task}", &task))
    });
    let changing: Vec<_> = changing.collect();
    assert!(changing.len() > 15);
    let foreign = [
        vec!["origin: https://evil.example".to_owned()],
        vec!["origin: null".to_owned()],
        vec!["origin: ".to_owned()],
        // another port is another origin, and so is another scheme
        vec![format!("origin: http://127.0.0.1:{}", port - 1)],
        vec![format!("origin: https://127.0.0.1:{port}")],
        vec![format!("origin: http://127.0.0.1:{port}.evil.example")],
        vec![format!("origin: http://127.0.0.1:{port}"), "origin: https://evil.example".to_owned()],
        vec!["sec-fetch-site: cross-site".to_owned()],
        vec!["sec-fetch-site: same-site".to_owned()],
    ];
    for (method, path) in &changing {
        for fields in &foreign {
            let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            fields.extend([&*host, JSON]);
            let refused = raw(&serving, &format!("{method} {path} HTTP/1.1"), &fields, "");
            assert_eq!(refused.status, 403, "{method} {path} {fields:?} {}", refused.body);
            let media_type = refused.field("content-type").unwrap();
            openapi::check(method, path, 403, media_type, refused.body.as_bytes());
            assert!(!refused.head.contains("access-control"), "{}", refused.head);
        }
    }
    let own = [
        vec![format!("origin: http://127.0.0.1:{port}")],
        vec![format!("origin: http://127.0.0.1:{port}"), "sec-fetch-site: same-origin".to_owned()],
        vec!["sec-fetch-site: none".to_owned()],
        vec![],
    ];
    for fields in own {
        let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        fields.extend([&*host, JSON]);
        let created = raw(&serving, "POST /v1/tasks HTTP/1.1", &fields, &new_task().to_string());
        assert_eq!(created.status, 201, "{fields:?} {}", created.body);
    }
    // tokens or not: a page of another site may change nothing
    let known = Serving::with_tokens();
    let bearer = format!("authorization: Bearer {}", known.token("did:web:ann", &SCOPES));
    let fields = ["host: localhost", JSON, &bearer, "origin: https://evil.example"];
    assert_eq!(raw(&known, "POST /v1/tasks HTTP/1.1", &fields, &new_task().to_string()).status, 403);
}

#[test]
fn json_is_taken_as_json_only() {
    let serving = Serving::start();
    let rpc = r#"{"jsonrpc": "2.0", "id": 1, "method": "contexts/list"}"#;
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let headers: &[(&str, &str)] = &[("content-type", media_type)];
        let headers = if media_type.is_empty() { &[] } else { headers };
        let reply = serving.send("POST", "/", headers, rpc.as_bytes());
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (415, &json!(-32600)), "{media_type}");
        let task = serving.send("POST", "/v1/tasks", headers, new_task().to_string().as_bytes());
        assert_eq!(task.status, 415, "{media_type}");
    }
    let charset = [("content-type", "application/json; charset=utf-8")];
    assert_eq!(serving.send("POST", "/", &charset, rpc.as_bytes()).status, 200);
}

#[test]
fn cors_is_off_unless_origins_are_listed() {
    let page = "origin: https://console.example";
    let ask = ["host: localhost", page, "access-control-request-method: POST"];
    let off = Serving::start();
    let refused = raw(&off, "OPTIONS /v1/tasks HTTP/1.1", &ask, "");
    assert!(refused.status >= 400 && !refused.head.contains("access-control"), "{}", refused.head);
    let read = raw(&off, "GET /healthz HTTP/1.1", &["host: localhost", page], "");
    assert!(read.status == 200 && !read.head.contains("access-control"), "{}", read.head);

    let on = Serving::with(&Location::Memory, |settings, _| {
        settings.allowed_origins = vec!["https://console.example".into()];
    });
    let preflight = raw(&on, "OPTIONS /v1/tasks HTTP/1.1", &ask, "");
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.field("access-control-allow-origin"), Some("https://console.example"));
    assert!(preflight.field("access-control-allow-headers").unwrap().contains("authorization"));
    assert!(preflight.field("access-control-allow-methods").unwrap().contains("post"));
    assert_eq!(preflight.field("access-control-allow-credentials"), None);
    let fields = ["host: localhost", page, JSON, "sec-fetch-site: cross-site"];
    let created = raw(&on, "POST /v1/tasks HTTP/1.1", &fields, &new_task().to_string());
    assert_eq!(created.status, 201);
    assert_eq!(created.field("access-control-allow-origin"), Some("https://console.example"));
    assert_eq!(created.field("vary"), Some("origin"));
    let other = ["host: localhost", "origin: https://evil.example", "access-control-request-method: POST"];
    let refused = raw(&on, "OPTIONS /v1/tasks HTTP/1.1", &other, "");
    assert!(refused.status >= 400 && !refused.head.contains("access-control"), "{}", refused.head);
    let evil = ["host: evil.example", page, "access-control-request-method: POST"];
    assert_ne!(raw(&on, "OPTIONS /nowhere HTTP/1.1", &["host: localhost"], "").status, 204);
    assert_eq!(raw(&off, "OPTIONS /v1/tasks HTTP/1.1", &evil, "").status, 421);
}

#[test]
fn the_agent_card_has_the_configured_address() {
    let url = |serving: &Serving, host: &str| {
        let card = raw(serving, "GET /.well-known/agent-card.json HTTP/1.1", &[host], "");
        let card: Value = serde_json::from_str(&card.body).unwrap();
        card["url"].as_str().unwrap().to_owned()
    };
    let plain = Serving::with_tokens();
    assert_eq!(url(&plain, "host: evil.example"), format!("http://127.0.0.1:{}/", port(&plain)));
    let public = Serving::with(&Location::Memory, |settings, _| {
        settings.public_url = Some("https://public.example/celador".into());
    });
    assert_eq!(url(&public, "host: localhost"), "https://public.example/celador");
}

#[test]
fn hosts_and_origins_that_are_none_are_refused_at_the_start() {
    let start = |change: &dyn Fn(&mut Settings)| {
        let mut settings = Settings::new(vec![desk()]);
        settings.address.set_port(0);
        change(&mut settings);
        let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
        let parts = Parts { clock: system_clock().unwrap(), database, log: None };
        Server::start(settings, parts).map(Server::stop).map_err(|error| error.to_string()).unwrap_err()
    };
    let wildcard = start(&|settings| settings.allowed_origins = vec!["*".into()]);
    let expected = "`allowed_origins`: expected an origin such as `https://console.example:8443`, found `*`";
    assert_eq!(wildcard, expected);
    let slash = start(&|settings| settings.allowed_origins = vec!["https://a.example/".into()]);
    assert!(slash.contains("found `https://a.example/`"), "{slash}");
    let with_port = start(&|settings| settings.allowed_hosts = vec!["a.example:80".into()]);
    assert!(with_port.starts_with("`allowed_hosts`: expected a name or an IP address without a port"));
    assert!(start(&|settings| settings.public_url = Some("here".into())).starts_with("`public_url`"));
    let proxy = start(&|settings| settings.trusted_proxies = vec!["10.0.0.0/33".into()]);
    assert!(proxy.starts_with("`trusted_proxies`: expected an address or a network"), "{proxy}");
}

/// Says from which address the task was begun.
const TELLS_ADDRESS: &str = r#"
kind: celador/v1/policy
namespace: support
name: addresses
guardrails:
  before:
    - {assert: "false", on_fail: block, error_message: "from {context.request.address}."}
"#;

/// The address of a task is that of the connection, and what a header says counts from trusted proxies alone.
#[test]
fn the_address_of_a_task_is_not_what_its_caller_says() {
    let told = |proxies: &[&str], forwarded: &[&str]| {
        let serving = Serving::with(&Location::Memory, |settings, folder| {
            let file = folder.join("addresses.yaml");
            std::fs::write(&file, TELLS_ADDRESS).unwrap();
            settings.policies.push(file);
            settings.trusted_proxies = proxies.iter().map(|proxy| (*proxy).to_owned()).collect();
        });
        let forwarded = forwarded.iter().map(|value| format!("x-forwarded-for: {value}"));
        let headers: Vec<String> =
            ["host: localhost".to_owned(), JSON.to_owned()].into_iter().chain(forwarded).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let created = raw(&serving, "POST /v1/tasks HTTP/1.1", &headers, &new_task().to_string());
        assert_eq!(created.status, 201, "{}", created.body);
        let task: Value = serde_json::from_str(&created.body).unwrap();
        let path = format!("/v1/tasks/{}/input", task["task"].as_str().unwrap());
        let input = json!({"message": "Where am I?", "ticket_id": "T-1041"});
        // the request of a step says nothing about the task
        let answer = serving.send(
            "POST",
            &path,
            &[("x-forwarded-for", "192.0.2.9"), ("content-type", "application/json")],
            input.to_string().as_bytes(),
        );
        answer.json()["decided"]["message"].as_str().unwrap_or_default().to_owned()
    };
    for (proxies, forwarded, expected) in [
        (&[][..], &[][..], "from 127.0.0.1."),
        (&[], &["203.0.113.9"], "from 127.0.0.1."),
        (&["10.0.0.0/8"], &["203.0.113.9"], "from 127.0.0.1."),
        (&["127.0.0.1"], &["203.0.113.9"], "from 203.0.113.9."),
        (&["127.0.0.0/8"], &["10.0.0.1, 203.0.113.9"], "from 203.0.113.9."),
        (&["127.0.0.0/8"], &["10.0.0.1", "2001:db8::7"], "from 2001:db8::7."),
        (&["127.0.0.0/8"], &["unknown"], "from ."),
        (&["127.0.0.0/8"], &[], "from 127.0.0.1."),
    ] {
        assert_eq!(told(proxies, forwarded), expected, "{proxies:?} {forwarded:?}");
    }
}
