//! Sessions between a client and a server that are lists of messages, with the engine in this process.

use super::link::{Link, WAITING};
use super::message::Message;
use super::settings::{Elicit, McpServer, McpSettings};
use super::{AGENT, ToolRules, manifest, session};
use crate::Desk;
use celador::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador_server::{InProcess, Parts, Settings, system_clock};
use celador_store::{Database, Location};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const POLICY: &str = r#"
kind: celador/v1/policy
namespace: tests
name: rules
applies_to: {agents: ["mcp/*"]}
capabilities:
  pay:
    before:
      - {id: most, assert: "input.amount <= 100.0", error_message: Too much.}
      - {id: whole, set: {note: "'checked'"}}
      - {id: kim, condition: input.amount > 50.0, assert: review(context.user.id)}
  find:
    after:
      - {id: masked, transform: "{'found': '***'}"}
"#;

/// A session whose client and server are this test.
struct Both {
    client: Sender<Message>,
    to_client: Receiver<Message>,
    server: Sender<Message>,
    to_server: Receiver<Message>,
    running: JoinHandle<()>,
}

fn tool(name: &str) -> Value {
    let amount = json!({ "amount": { "type": "number" }, "note": { "type": "string" } });
    json!({ "name": name, "inputSchema": { "type": "object", "properties": amount }, "x": 1 })
}

impl Both {
    fn begin(observe: bool) -> Self {
        let mut engine = Settings::new(Vec::new());
        engine.observe = observe;
        for (name, text) in [("guard", manifest(false)), ("rules", POLICY.to_owned())] {
            engine.texts.push(File { source: Source::new(name, text), origin: FileOrigin::Named });
        }
        let database = Database::open(&Location::Memory, &engine.limits.store).unwrap();
        let clock = system_clock().unwrap();
        let desk = InProcess::open(engine, Parts { clock, database, log: None }).unwrap();
        let settings = McpSettings {
            server: McpServer::Command(Vec::new()),
            agent: (AGENT.0.to_owned(), AGENT.1.to_owned()),
            user: "kim".to_owned(),
            email: None,
            task: None,
            review_wait: Duration::ZERO,
            elicit: Elicit::User,
            reviews_at: None,
            tool_rules: ToolRules::new(&[], true, EngineLimits::default()).unwrap(),
            pins: None,
            observe,
        };
        let ((client, from), (to, to_client)) = (channel(WAITING), channel(WAITING));
        let client_link = Link { to, from };
        let ((server, from), (to, to_server)) = (channel(WAITING), channel(WAITING));
        let server_link = Link { to, from };
        let desk = Arc::new(Desk::Here(desk));
        let running = tokio::spawn(session::run(Arc::new(settings), desk, client_link, server_link));
        Self { client, to_client, server, to_server, running }
    }

    async fn say(&self, message: Value) {
        self.client.send(Message::of(message).unwrap()).await.unwrap();
    }

    async fn call(&self, id: u64, name: &str, arguments: Value) {
        let params = json!({ "name": name, "arguments": arguments });
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    /// What the server is sent next; the session's own question for its tools is answered.
    async fn at_server(&mut self) -> Value {
        loop {
            let message = timeout(Duration::from_secs(20), self.to_server.recv()).await.unwrap().unwrap();
            let is_own = message.id().and_then(Value::as_str).is_some_and(|id| id.starts_with("celador-"));
            if !is_own {
                return message.into_value();
            }
            let tools = json!({ "tools": [tool("pay"), tool("find"), tool("hidden\u{200b}")] });
            self.answer(Message::result(message.id().cloned().unwrap(), tools)).await;
        }
    }

    async fn answer(&self, message: Message) {
        self.server.send(message).await.unwrap();
    }

    async fn at_client(&mut self) -> Value {
        timeout(Duration::from_secs(20), self.to_client.recv()).await.unwrap().unwrap().into_value()
    }

    async fn end(self) {
        drop(self.client);
        timeout(Duration::from_secs(20), self.running).await.unwrap().unwrap();
    }
}

fn text(result: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": result }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_guarded_goes_through_to_the_letter() {
    let mut both = Both::begin(false);
    for odd in [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "capabilities": {}, "later": [1.0] } }),
        json!({ "jsonrpc": "2.0", "id": "7", "method": "of/tomorrow", "extra": null }),
        json!({ "jsonrpc": "2.0", "method": "notifications/of/tomorrow" }),
    ] {
        both.say(odd.clone()).await;
        assert_eq!(both.at_server().await.to_string(), odd.to_string());
    }
    for odd in [
        json!({ "id": 0, "jsonrpc": "2.0", "result": { "b": 1, "a": 2.50 } }),
        json!({ "method": "notifications/message", "params": { "data": "x" } }),
        json!({ "id": "s", "method": "roots/list" }),
        json!({ "id": 9, "error": { "code": -1, "message": "m", "data": [] } }),
    ] {
        both.answer(Message::of(odd.clone()).unwrap()).await;
        assert_eq!(both.at_client().await.to_string(), odd.to_string());
    }
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_decided_on_both_ways() {
    let mut both = Both::begin(false);
    both.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
    assert_eq!(both.at_server().await["method"], "tools/list");
    let page =
        json!({ "tools": [tool("pay"), tool("hidden\u{200b}"), tool("new")], "nextCursor": "c", "y": 2 });
    both.answer(Message::result(1.into(), page)).await;
    // a tool that came since and one with a sign that nobody sees are not there; all else of the page is
    assert_eq!(
        both.at_client().await["result"],
        json!({ "tools": [tool("pay")], "nextCursor": "c", "y": 2 })
    );

    for (id, name, arguments) in
        [(2, "pay", json!({ "amount": 200 })), (3, "hidden\u{200b}", json!({})), (4, "nothing", json!({}))]
    {
        both.call(id, name, arguments).await;
        let refused = both.at_client().await;
        assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(id), &json!(true)), "{name}");
    }
    both.call(5, "pay", json!({ "amount": 20 })).await;
    let at_server = both.at_server().await;
    assert_eq!(at_server["id"], 5);
    assert_eq!(at_server["params"]["arguments"], json!({ "amount": 20, "note": "checked" }));
    both.answer(Message::result(5.into(), text("paid"))).await;
    assert_eq!(both.at_client().await["result"], text("paid"));

    both.call(6, "find", json!({})).await;
    both.at_server().await;
    both.answer(Message::result(6.into(), text("4111"))).await;
    assert_eq!(both.at_client().await["result"], text(r#"{"found":"***"}"#));

    // a result of a kind that nobody knows is judged by nobody
    both.call(7, "find", json!({})).await;
    both.at_server().await;
    both.answer(Message::result(7.into(), json!({ "resultType": "of-tomorrow", "secret": 1 }))).await;
    assert!(!both.at_client().await.to_string().contains("secret"));
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_is_taken_back_and_its_late_result_is_nobodys() {
    let mut both = Both::begin(false);
    both.call(1, "pay", json!({ "amount": 20 })).await;
    both.at_server().await;
    let cancel = json!({ "method": "notifications/cancelled", "params": { "requestId": 1 } });
    both.say(cancel).await;
    assert_eq!(both.at_server().await["params"]["requestId"], 1);
    both.answer(Message::result(1.into(), text("late"))).await;
    // the next answer is that of the next call
    both.call(2, "pay", json!({ "amount": 30 })).await;
    both.at_server().await;
    both.answer(Message::result(2.into(), text("paid"))).await;
    assert_eq!(both.at_client().await["id"], 2);
    both.end().await;
}

/// A client of a protocol without requests of servers is asked in the answer, and says what its user said with the call made again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_in_the_answer_where_servers_send_no_requests() {
    for (decision, runs) in [("approve", true), ("deny", false)] {
        let mut both = Both::begin(false);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        });
        let mut params = json!({ "name": "pay", "arguments": { "amount": 60 }, "_meta": meta });
        both.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
        let own = timeout(Duration::from_secs(20), both.to_server.recv()).await.unwrap().unwrap();
        assert_eq!(own.param("/_meta"), Some(&meta), "each request says the protocol");
        let tools = json!({ "resultType": "complete", "tools": [tool("pay")] });
        both.answer(Message::result(own.id().cloned().unwrap(), tools)).await;
        let asked = both.at_client().await["result"].clone();
        assert_eq!(asked["resultType"], "input_required");
        let form = &asked["inputRequests"]["celador"];
        assert_eq!(form["method"], "elicitation/create");
        assert!(form["params"]["message"].as_str().unwrap().contains("\"amount\": 60"), "{form}");

        let answer = json!({ "action": "accept", "content": { "decision": decision } });
        params["inputResponses"] = json!({ "celador": answer });
        params["requestState"] = asked["requestState"].clone();
        both.say(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })).await;
        if runs {
            let at_server = both.at_server().await;
            assert_eq!(at_server["params"]["arguments"]["note"], "checked");
            assert!(
                at_server["params"].get("requestState").is_none()
                    && at_server["params"].get("inputResponses").is_none()
            );
            both.answer(Message::result(2.into(), json!({ "resultType": "complete", "content": [] }))).await;
            assert_eq!(both.at_client().await["result"], json!({ "resultType": "complete", "content": [] }));
        } else {
            let refused = both.at_client().await;
            assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(2), &json!(true)));
            assert_eq!(refused["result"]["resultType"], "complete");
        }
        both.end().await;
    }
}

/// Nobody is asked where the client cannot; the same call goes on where it was, and nothing else does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_is_told_what_to_do() {
    let mut both = Both::begin(false);
    for id in [1, 2] {
        both.call(id, "pay", json!({ "amount": 60 })).await;
        if id == 1 {
            // answers the session's question for tools on the way
            let own = timeout(Duration::from_secs(20), both.to_server.recv()).await.unwrap().unwrap();
            both.answer(Message::result(own.id().cloned().unwrap(), json!({ "tools": [tool("pay")] }))).await;
        }
        let waits = both.at_client().await;
        let told = waits["result"]["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("waits for the review of `kim`"), "{told}");
    }
    both.call(3, "pay", json!({ "amount": 1 })).await;
    let behind = both.at_client().await;
    assert!(behind["result"]["content"][0]["text"].as_str().unwrap().contains("waits for other calls"));
    both.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observed_everything_goes_on_as_it_came() {
    let mut both = Both::begin(true);
    for (id, name, arguments) in [
        (1, "pay", json!({ "amount": 200 })),
        (2, "pay", json!({ "amount": 60 })),
        (3, "hidden\u{200b}", json!({ "amount": 1 })),
        (4, "find", json!({ "amount": 1 })),
    ] {
        both.call(id, name, arguments.clone()).await;
        assert_eq!(both.at_server().await["params"]["arguments"], arguments, "{name}");
        both.answer(Message::result(id.into(), text("4111"))).await;
        assert_eq!(both.at_client().await["result"], text("4111"), "{name}");
    }
    both.end().await;
}

/// A server that ends leaves no request without an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_ends_the_session() {
    let mut both = Both::begin(false);
    both.call(1, "pay", json!({ "amount": 20 })).await;
    both.at_server().await;
    drop(both.server);
    drop(both.to_server);
    let told = timeout(Duration::from_secs(20), both.to_client.recv()).await.unwrap().unwrap().into_value();
    assert_eq!(told["result"]["isError"], true);
    timeout(Duration::from_secs(20), both.running).await.unwrap().unwrap();
}
