//! Requests of clients against the listener, and requests of the guard against servers, over sockets where it matters.

use super::super::link::Link;
use super::super::message::Message;
use super::listener::Handler;
use super::sessions::Sessions;
use super::{Credentials, Endpoint, HTTP_FORMS, Open};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use celador_server::{ServerLimits, listen_beside, serve_beside};
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;

const MODERN: &str = "2026-07-28";

/// A guard that answers a request with what it was asked, after a notification of progress if a token asks for it.
fn echo() -> Arc<Open> {
    Arc::new(|mut link: Link, _| {
        Box::pin(async move {
            while let Some(message) = link.from.recv().await {
                let body = message.into_value();
                for answer in answers_of_echo(&body) {
                    let _ = link.to.send(Message::of(answer).unwrap()).await;
                }
            }
        })
    })
}

fn answers_of_echo(body: &Value) -> Vec<Value> {
    let Some(id) = body.get("id").filter(|_| body.get("method").is_some()) else { return Vec::new() };
    let mut answers = Vec::new();
    match body["method"].as_str().unwrap() {
        "silent" => {}
        "busy" => {
            let params = json!({ "progressToken": body["params"]["_meta"]["progressToken"], "progress": 1 });
            answers.push(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
        }
        "unknown" => {
            answers.push(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } }))
        }
        "subscriptions/listen" => {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            answers.push(json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": { "_meta": meta } }));
            answers.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "_meta": meta } }));
        }
        _ => {
            if let Some(token) = body.pointer("/params/_meta/progressToken") {
                answers.push(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": 1 } }));
            }
            answers.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "echo": body } }));
            // a second response, and one to a request that nobody made
            answers.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "second": true } }));
            answers.push(json!({ "jsonrpc": "2.0", "id": "other", "result": { "stray": true } }));
        }
    }
    answers
}

fn handler(open: Arc<Open>) -> Handler {
    Handler { sessions: Sessions::new(open), endpoint: None }
}

fn post(body: &Value, headers: &[(&str, &str)]) -> Request {
    request(Method::POST, "/mcp", headers, body.to_string())
}

fn request(method: Method, path: &str, headers: &[(&str, &str)], body: String) -> Request {
    let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1:1");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request.header("content-type", "application/json");
    headers.iter().fold(request, |it, (name, value)| it.header(*name, *value)).body(Body::from(body)).unwrap()
}

/// A request of the revision without sessions, with its headers.
fn modern(id: Value, method: &str, mut params: Value, headers: &[(&str, &str)]) -> Request {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let own = [("mcp-protocol-version", MODERN), ("mcp-method", method)];
    post(&body, &[&own[..], headers].concat())
}

async fn text(response: Response) -> String {
    let body = timeout(Duration::from_secs(20), response.into_body().collect()).await.unwrap().unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// The messages of a response, whether it is JSON or a stream of events.
async fn messages(response: Response) -> Vec<Value> {
    let text = text(response).await;
    match serde_json::from_str(&text) {
        Ok(message) => vec![message],
        Err(_) => text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect(),
    }
}

async fn begin(handler: &Handler) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25" } });
    let response = handler.answer(post(&body, &[])).await;
    assert_eq!(response.status(), 200);
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_has_an_id_and_ends_with_delete() {
    let handler = handler(echo());
    let id = begin(&handler).await;
    let other = begin(&handler).await;
    assert_ne!(id, other);
    let ping = json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" });
    let session = [("mcp-session-id", &*id)];
    let answered = messages(handler.answer(post(&ping, &session)).await).await;
    assert_eq!(answered, [json!({ "jsonrpc": "2.0", "id": "a", "result": { "echo": ping } })]);
    for (headers, status) in [
        (&[("mcp-session-id", "unknown")][..], 404),
        (&[], 400),
        (&[("mcp-session-id", &*id), ("mcp-session-id", &*other)], 400),
        (&[("mcp-session-id", &*id), ("mcp-protocol-version", "2025-06-18")], 200),
        (&[("mcp-session-id", &*id), ("mcp-protocol-version", "2999-01-01")], 400),
    ] {
        assert_eq!(handler.answer(post(&ping, headers)).await.status(), status, "{headers:?}");
    }
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(handler.answer(post(&told, &session)).await.status(), 202);
    let end = || request(Method::DELETE, "/mcp", &session, String::new());
    assert_eq!(handler.answer(end()).await.status(), 204);
    assert_eq!(handler.answer(end()).await.status(), 404);
    assert_eq!(handler.answer(post(&ping, &session)).await.status(), 404);
    assert_eq!(handler.answer(post(&ping, &[("mcp-session-id", &*other)])).await.status(), 200);
}

/// A request that is cancelled has no response; its stream ends at once, and its id is not taken again.
#[tokio::test]
async fn a_cancelled_request_ends_its_stream() {
    let handler = handler(echo());
    let id = begin(&handler).await;
    let session = [("mcp-session-id", &*id)];
    let cancel = async |id: Value| {
        let params = json!({ "requestId": id, "reason": "not needed" });
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        assert_eq!(handler.answer(post(&body, &session)).await.status(), 202);
    };
    for (method, id, others, before) in [
        ("silent", json!(7), [json!("7"), json!(8)], 0),
        ("busy", json!(8), [json!(7), json!(9)], 1),
        ("silent", json!("7"), [json!(7), json!(null)], 0),
    ] {
        let params = json!({ "_meta": { "progressToken": "p" } });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut asked = std::pin::pin!(async { messages(handler.answer(post(&body, &session)).await).await });
        assert!(timeout(Duration::from_millis(50), &mut asked).await.is_err(), "{body}");
        for other in others {
            cancel(other).await;
        }
        assert!(timeout(Duration::from_millis(50), &mut asked).await.is_err(), "{body}");
        cancel(id).await;
        let received = timeout(Duration::from_secs(2), asked).await.expect("the stream ends");
        assert_eq!(received.len(), before, "{received:?}");
        assert_eq!(handler.answer(post(&body, &session)).await.status(), 400, "{body}");
    }
    // a response that comes anyway goes to no other request
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(handler.answer(post(&ping, &session)).await.status(), 200);
}

/// Bodies and headers that are no request, and the status of each.
#[tokio::test]
async fn what_is_no_single_message_is_refused() {
    let handler = handler(echo());
    let id = begin(&handler).await;
    let session = [("mcp-session-id", &*id)];
    for body in [
        "",
        "not json",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud83d"}"#,
        "\"ping\"",
    ] {
        let response = handler.answer(request(Method::POST, "/mcp", &session, body.to_owned())).await;
        assert_eq!(response.status(), 400, "{body}");
        assert!(messages(response).await[0]["error"]["code"].is_i64(), "{body}");
    }
    for (method, path, status) in [
        (Method::PUT, "/mcp", 405),
        (Method::OPTIONS, "/mcp", 405),
        (Method::GET, "/", 404),
        (Method::POST, "/mcp/x", 404),
    ] {
        assert_eq!(
            handler.answer(request(method.clone(), path, &session, String::new())).await.status(),
            status,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn requests_without_sessions_keep_their_ids_apart() {
    let handler = handler(echo());
    let ask = |id: Value, token: Value| {
        let params = json!({ "name": "t", "_meta": { "progressToken": token } });
        handler.answer(modern(id, "tools/call", params, &[("mcp-name", "t")]))
    };
    // two clients with the same id and token at a time
    let (one, two) = tokio::join!(ask(1.into(), "p".into()), ask(1.into(), "p".into()));
    for response in [one, two] {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let messages = messages(response).await;
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(messages[0]["params"]["progressToken"], "p");
        assert_eq!(messages[1]["id"], 1);
        assert_eq!(messages[1]["result"]["echo"]["params"]["name"], "t");
    }
    let listen = modern("s".into(), "subscriptions/listen", json!({}), &[]);
    for message in messages(handler.answer(listen).await).await {
        let meta = message.pointer("/params/_meta").or(message.pointer("/result/_meta")).unwrap();
        assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], "s");
    }
}

#[tokio::test]
async fn a_request_without_session_agrees_with_its_headers() {
    let handler = handler(echo());
    let status = async |request: Request| {
        let response = handler.answer(request).await;
        (
            response.status().as_u16(),
            messages(response).await[0]["error"]["code"].as_i64().unwrap_or_default(),
        )
    };
    assert_eq!(status(modern(1.into(), "ping", json!({}), &[])).await, (200, 0));
    assert_eq!(status(modern(1.into(), "unknown", json!({}), &[])).await, (404, -32601));
    assert_eq!(
        status(modern(1.into(), "tools/call", json!({ "name": "a" }), &[("mcp-name", "b")])).await,
        (400, -32020)
    );
    assert_eq!(status(modern(1.into(), "ping", json!({}), &[("mcp-method", "ping")])).await, (400, -32020));
    assert_eq!(
        status(modern(1.into(), "ping", json!({}), &[("mcp-protocol-version", MODERN)])).await,
        (400, -32020)
    );
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(
        status(post(&bare, &[("mcp-protocol-version", MODERN), ("mcp-method", "ping")])).await,
        (400, -32602)
    );
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" });
    let later = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "_meta": meta } });
    assert_eq!(status(post(&later, &[("mcp-protocol-version", "2027-01-01")])).await, (400, -32022));
    assert_eq!(status(post(&later, &[("mcp-protocol-version", MODERN)])).await, (400, -32020));
    assert_eq!(status(post(&later, &[])).await, (400, -32020));
    let get = request(Method::GET, "/mcp", &[("mcp-protocol-version", MODERN)], String::new());
    assert_eq!(handler.answer(get).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// A client of the revision without sessions cancels by closing its stream; in a session, closing it means nothing.
#[tokio::test]
async fn a_client_that_is_gone_has_cancelled_its_request() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let open: Arc<Open> = Arc::new(move |link: Link, _| {
        let noted = noted.clone();
        Box::pin(async move {
            // both ends stay open
            let Link { mut from, to: _to } = link;
            while let Some(message) = from.recv().await {
                noted.lock().unwrap().push(message.into_value());
            }
        })
    });
    let handler = handler(open);
    let waits =
        timeout(Duration::from_millis(50), handler.answer(modern(7.into(), "silent", json!({}), &[])));
    if let Ok(response) = waits.await {
        panic!("{}: {}", response.status(), text(response).await);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(
        (&seen[1]["method"], &seen[1]["params"]["requestId"]),
        (&json!("notifications/cancelled"), &seen[0]["id"])
    );
}

/// A stream that broke is resumed behind the last event that came, by nobody but its session.
#[tokio::test]
async fn a_stream_is_resumed_within_its_session() {
    let handler = handler(echo());
    let (id, other) = (begin(&handler).await, begin(&handler).await);
    let body =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "m", "params": { "_meta": { "progressToken": 1 } } });
    let events = text(handler.answer(post(&body, &[("mcp-session-id", &*id)])).await).await;
    let first = events.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let resume = |session: &str, from: &str| {
        handler.answer(request(
            Method::GET,
            "/mcp",
            &[("mcp-session-id", session), ("last-event-id", from)],
            String::new(),
        ))
    };
    let rest = messages(resume(&id, &first).await).await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["id"], 5);
    assert_eq!(resume(&other, "9/1").await.status(), 400);
    assert_eq!(resume(&id, "x").await.status(), 400);
}

/// Runs a server on this machine that answers by a function.
pub(in crate::mcp) fn serve(
    answer: impl Fn(Parts, Value) -> Response + Clone + Send + Sync + 'static,
) -> SocketAddr {
    let listener = listen_beside(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let router = move |request: Request| {
        let answer = answer.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            answer(parts, serde_json::from_slice(&body).unwrap_or_default())
        }
    };
    tokio::spawn(serve_beside(listener, ServerLimits::default(), std::future::pending(), router));
    address
}

pub(in crate::mcp) type Parts = http::request::Parts;

pub(in crate::mcp) fn respond(status: u16, content_type: &str, body: String) -> Response {
    Response::builder().status(status).header("content-type", content_type).body(Body::from(body)).unwrap()
}

fn link_to(address: SocketAddr, credentials: Arc<Credentials>) -> Link {
    Endpoint::new(&format!("http://{address}/mcp"), &[]).unwrap().link(credentials)
}

async fn ask(link: &mut Link, body: Value) -> Vec<Value> {
    let id = body["id"].clone();
    link.to.send(Message::of(body).unwrap()).await.unwrap();
    let mut came = Vec::new();
    loop {
        let message = timeout(Duration::from_secs(20), link.from.recv()).await.unwrap().unwrap().into_value();
        let is_answer = message.get("method").is_none();
        came.push(message);
        if is_answer {
            assert_eq!(came.last().unwrap()["id"], id);
            return came;
        }
    }
}

/// Answers of a server to the request with id 7, and what the guard gets: the result, or nothing but an error.
#[tokio::test]
async fn an_answer_of_a_server_is_for_the_request_of_its_post() {
    let good = r#"{"jsonrpc":"2.0","id":7,"result":{"ok":true}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    let events = |events: &[&str]| events.iter().map(|it| format!("data: {it}\n\n")).collect::<String>();
    let other = r#"{"jsonrpc":"2.0","id":8,"result":{"evil":true}}"#;
    let text = r#"{"jsonrpc":"2.0","id":"7","result":{"evil":true}}"#;
    let (sse, json) = ("text/event-stream", "application/json");
    for (status, content_type, body, passes) in [
        (200, json, good.to_owned(), true),
        (200, sse, events(&[note, good]), true),
        (200, sse, events(&[other, text, good, other]), true),
        (200, sse, events(&["not json", "[]", good]), true),
        (200, sse, events(&[other]), false),
        (200, sse, String::new(), false),
        (200, sse, events(&[r#"{"jsonrpc":"2.0","id":7,"result":{"evil":NaN}}"#]), false),
        (200, sse, events(&[r#"{"jsonrpc":"2.0","id":7,"method":5}"#]), false),
        (200, json, other.to_owned(), false),
        (200, json, text.to_owned(), false),
        (200, json, format!("[{good}]"), false),
        (200, json, good.replace("\"ok\":true", "\"evil\":1,\"evil\":2"), false),
        (200, json, note.to_owned(), false),
        (200, "text/html", good.to_owned(), false),
        (200, "", good.to_owned(), false),
        (202, json, String::new(), false),
        (307, json, good.to_owned(), false),
        (500, json, good.to_owned(), false),
        (404, json, good.to_owned(), false),
        (400, json, good.to_owned(), false),
    ] {
        let answer = body.clone();
        let address = serve(move |_, _| respond(status, content_type, answer.clone()));
        let mut link = link_to(address, Arc::default());
        let came = ask(&mut link, json!({ "jsonrpc": "2.0", "id": 7, "method": "m" })).await;
        let whole = format!("{came:?}");
        assert!(!whole.contains("evil"), "{whole}");
        let last = came.last().unwrap();
        assert_eq!(
            last["result"] == json!({ "ok": true }),
            passes,
            "{status} {content_type} {body}: {whole}"
        );
        assert_eq!(last.get("error").is_some(), !passes, "{whole}");
    }
}

#[tokio::test]
async fn an_error_with_a_status_of_its_own_is_the_answer() {
    let body = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no such method"}}"#;
    let address = serve(move |_, _| respond(404, "application/json", body.to_owned()));
    let came =
        ask(&mut link_to(address, Arc::default()), json!({ "jsonrpc": "2.0", "id": 7, "method": "m" })).await;
    assert_eq!(came[0]["error"]["code"], -32601);
}

/// The headers of a request of the revision without sessions follow the arguments that were decided; those of a session follow its response.
#[tokio::test]
async fn a_server_gets_the_headers_of_the_revision() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let address = serve(move |parts: Parts, body: Value| {
        noted.lock().unwrap().push((parts.method.clone(), parts.headers.clone()));
        let schema = json!({ "properties": { "to": { "type": "string", "x-mcp-header": "To" } } });
        let result =
            json!({ "protocolVersion": "2025-06-18", "tools": [{ "name": "pay", "inputSchema": schema }] });
        let answer = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result });
        let mut response =
            respond(if body["id"].is_null() { 202 } else { 200 }, "application/json", answer.to_string());
        response.headers_mut().insert("mcp-session-id", "s-1".parse().unwrap());
        response
    });
    let mut link = link_to(address, Arc::default());
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": MODERN });
    ask(&mut link, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } }))
        .await;
    let call = json!({ "name": "pay", "arguments": { "to": "decided" }, "_meta": meta });
    ask(&mut link, json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call })).await;
    ask(&mut link, json!({ "jsonrpc": "2.0", "id": 3, "method": "initialize" })).await;
    ask(&mut link, json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" })).await;
    drop(link);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let seen = seen.lock().unwrap().clone();
    let header = |at: usize, name: &str| seen[at].1.get(name).map_or("", |it| it.to_str().unwrap());
    assert_eq!(
        (header(1, "mcp-method"), header(1, "mcp-name"), header(1, "mcp-param-to")),
        ("tools/call", "pay", "decided")
    );
    assert_eq!((header(1, "mcp-protocol-version"), header(1, "mcp-session-id")), (MODERN, ""));
    assert_eq!((header(2, "mcp-session-id"), header(2, "mcp-method")), ("", ""));
    assert_eq!((header(3, "mcp-session-id"), header(3, "mcp-protocol-version")), ("s-1", "2025-06-18"));
    assert_eq!((&seen[4].0, header(4, "mcp-session-id")), (&Method::DELETE, "s-1"));
}

/// A challenge of the server reaches the client, the client's token reaches the server, and nothing else of either does.
#[tokio::test]
async fn a_client_answers_the_challenge_of_the_server() {
    let address = serve(|parts: Parts, body: Value| {
        if parts.uri.path() != "/mcp" {
            assert!(parts.headers.get("authorization").is_none());
            let metadata = json!({ "resource": "https://x", "authorization_servers": ["https://as.example"], "evil": 1 });
            return match parts.uri.path() {
                "/.well-known/oauth-protected-resource/mcp" => {
                    respond(200, "application/json", metadata.to_string())
                }
                _ => respond(404, "text/plain", String::new()),
            };
        }
        assert!(parts.headers.get("x-other").is_none());
        if parts.headers.get("authorization").is_some_and(|token| token == "Bearer good") {
            let result = json!({ "jsonrpc": "2.0", "id": body["id"], "result": {} });
            return respond(200, "application/json", result.to_string());
        }
        let mut response = respond(401, "text/plain", "secret".to_owned());
        let challenge = "Bearer resource_metadata=\"https://x/y\", scope=\"read\", evil=\"1\"";
        response.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
        response
    });
    let endpoint = Endpoint::new(&format!("http://{address}/mcp"), &[]).unwrap();
    let server = endpoint.clone();
    // a guard that lets everything through
    let open: Arc<Open> = Arc::new(move |mut client: Link, credentials| {
        let mut server = server.link(credentials);
        Box::pin(async move {
            loop {
                tokio::select! {
                    message = client.from.recv() => match message {
                        Some(message) => server.to.send(message).await.unwrap(),
                        None => return,
                    },
                    Some(message) = server.from.recv() => client.to.send(message).await.unwrap(),
                }
            }
        })
    });
    let handler = Handler { sessions: Sessions::new(open), endpoint: Some(endpoint) };
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" });
    let asked = [post(&hello, &[("x-other", "1")]), modern(1.into(), "ping", json!({}), &[])];
    for request in asked {
        let response = handler.answer(request).await;
        assert_eq!(response.status(), 401);
        assert!(response.headers().get("mcp-session-id").is_none());
        assert_eq!(
            response.headers()["www-authenticate"],
            "Bearer scope=\"read\", resource_metadata=\"http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp\""
        );
        assert!(!text(response).await.contains("secret"));
    }
    let well_known = request(Method::GET, "/.well-known/oauth-protected-resource/mcp", &[], String::new());
    let metadata = messages(handler.answer(well_known).await).await;
    assert_eq!(
        metadata,
        [json!({ "resource": "http://127.0.0.1:1/mcp", "authorization_servers": ["https://as.example"] })]
    );
    let token = ("authorization", "Bearer good");
    assert_eq!(handler.answer(post(&hello, &[token])).await.status(), 200);
    assert_eq!(handler.answer(modern(1.into(), "ping", json!({}), &[token])).await.status(), 200);
}

#[test]
fn each_form_has_one_row() {
    for (at, form) in HTTP_FORMS.iter().enumerate() {
        let later = &HTTP_FORMS[at + 1..];
        assert!(
            later.iter().all(|other| (other.name, other.from) != (form.name, form.from)),
            "{}",
            form.name
        );
        assert!(!form.note.is_empty(), "{}", form.name);
    }
}
