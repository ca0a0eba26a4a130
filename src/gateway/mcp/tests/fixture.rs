//! A session whose client and server are a test.

use crate::mcp::link::{Link, WAITING};
use crate::mcp::message::Message;
use crate::mcp::settings::{Elicit, McpServer, McpSettings};
use crate::mcp::{AGENT, Pins, ToolRules, manifest, session};
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{ReviewReply, ReviewWord};
use celador_server::{InProcess, Parts, Settings, TaskBackend, system_clock};
use celador_service::{ContextQuery, ReviewsQuery, TaskService};
use celador_store::{Database, Location, StoredTasks, TaskFilter};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A result of `sign` is reviewed by somebody else than the user; one of `quote` that is closed is replaced by one that its schema excludes.
/// `pay` is bounded, changed and reviewed; `find` and what is read are redacted; `danger` is refused; questions about cookies are refused.
pub(super) const POLICY: &str = r#"
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
  danger:
    before:
      - {assert: "false", error_message: Never.}
  quote:
    after:
      - {id: hidden, condition: "has(output.status) && output.status == 'closed'", transform: "{'total': 'hidden'}"}
  sign:
    after:
      - {id: boss, assert: "review('boss')", error_message: The boss says no.}
  sampling/createMessage:
    before:
      - {assert: "!has(input.systemPrompt) || !input.systemPrompt.contains('leak')", error_message: No leaks.}
  elicitation/create:
    before:
      - {assert: "!input.message.contains('cookies')", error_message: No cookies.}
  "*":
    after:
      - {id: redacted, transform: secrets.redact(output)}
"#;

/// A key that the policy redacts.
pub(super) const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

pub(super) struct Both {
    client: Sender<Message>,
    to_client: Receiver<Message>,
    server: Sender<Message>,
    to_server: Receiver<Message>,
    running: JoinHandle<()>,
    settings: Arc<McpSettings>,
    desk: Arc<TaskBackend>,
    database: Database,
    /// The tools that the server lists, each time.
    pub(super) tools: Vec<Value>,
}

pub(super) struct Options {
    pub(super) observe: bool,
    /// The id of the task.
    pub(super) task: Option<String>,
    pub(super) pins: Option<Pins>,
    pub(super) rules: ToolRules,
}

impl Default for Options {
    fn default() -> Self {
        Self { observe: false, task: None, pins: None, rules: rules(&[]) }
    }
}

/// Rules about descriptions in the bounds of a server.
pub(super) fn rules(expressions: &[&str]) -> ToolRules {
    let expressions: Vec<String> = expressions.iter().map(|&it| it.to_owned()).collect();
    ToolRules::new(&expressions, true, Settings::new(Vec::new()).limits.store.engine).unwrap()
}

pub(super) fn tool(name: &str) -> Value {
    let properties = json!({ "amount": { "type": "number" }, "note": { "type": "string" } });
    json!({ "name": name, "description": "A tool.", "inputSchema": { "type": "object", "properties": properties } })
}

pub(super) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// `_meta` of a request of 2026-07-28 whose client shows forms and knows tasks.
pub(super) fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {} },
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    })
}

/// The settings of a guard for a server, and the engine that decides for it.
pub(super) fn settings(options: Options, server: McpServer) -> (McpSettings, Arc<TaskBackend>, Database) {
    let Options { observe, task, pins, rules: tool_rules } = options;
    let mut engine = Settings::new(Vec::new());
    engine.observe = observe;
    for (name, text) in [("guard", manifest(false)), ("rules", POLICY.to_owned())] {
        engine.texts.push(File { source: Source::new(name, text), origin: FileOrigin::Named });
    }
    let limits = engine.limits;
    let database = Database::open(&Location::Memory, &limits.store).unwrap();
    let clock = system_clock().unwrap();
    let parts = Parts { clock, database: database.clone(), log: None };
    let desk = InProcess::open(engine, parts).unwrap();
    let settings = McpSettings {
        server,
        agent: (AGENT.0.to_owned(), AGENT.1.to_owned()),
        user: "kim".to_owned(),
        email: None,
        task,
        review_wait: Duration::ZERO,
        elicit: Elicit::User,
        reviews_at: None,
        tool_rules,
        pins,
        forward_meta: vec!["com.example/kept".to_owned()],
        observe,
        limits,
    };
    (settings, Arc::new(TaskBackend::InProcess(desk)), database)
}

impl Both {
    pub(super) fn begin() -> Self {
        Self::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Self {
        let (settings, desk, database) = settings(options, McpServer::Command(Vec::new()));
        Self::over(Arc::new(settings), desk, database)
    }

    /// A session over an engine.
    fn over(settings: Arc<McpSettings>, desk: Arc<TaskBackend>, database: Database) -> Self {
        let ((client, from), (to, to_client)) = (channel(WAITING), channel(WAITING));
        let client_link = Link { to, from };
        let ((server, from), (to, to_server)) = (channel(WAITING), channel(WAITING));
        let server_link = Link { to, from };
        let session = session::run(settings.clone(), desk.clone(), client_link, server_link);
        let running = tokio::spawn(session);
        let tools = ["pay", "find", "danger"].map(tool).to_vec();
        Self { client, to_client, server, to_server, running, settings, desk, database, tools }
    }

    /// The client sends a message.
    pub(super) async fn client(&self, message: Value) {
        self.client.send(Message::of(with_version(message)).unwrap()).await.unwrap();
    }

    /// The server sends a message.
    pub(super) async fn server(&self, message: Value) {
        self.server.send(Message::of(with_version(message)).unwrap()).await.unwrap();
    }

    /// The client sends a request.
    pub(super) async fn request(&self, id: impl Into<Value>, method: &str, params: Value) {
        self.client(json!({ "id": id.into(), "method": method, "params": params })).await;
    }

    pub(super) async fn call(&self, id: impl Into<Value>, name: &str, arguments: Value) {
        self.request(id, "tools/call", json!({ "name": name, "arguments": arguments })).await;
    }

    /// The next message for the server; requests for its tools are answered.
    pub(super) async fn at_server(&mut self) -> Value {
        loop {
            let message = timeout(Duration::from_secs(20), self.to_server.recv()).await;
            let message = message.expect("the server gets nothing").unwrap().into_value();
            if message["method"] != "tools/list" {
                return message;
            }
            self.answer(&message, json!({ "tools": self.tools })).await;
        }
    }

    /// The next message for the server, requests for its tools among them.
    pub(super) async fn raw_at_server(&mut self) -> Value {
        self.to_server.recv().await.unwrap().into_value()
    }

    /// The server answers a request.
    pub(super) async fn answer(&self, request: &Value, result: Value) {
        self.server(json!({ "id": request["id"], "result": result })).await;
    }

    /// The next message for the client. Requests for tools are answered meanwhile.
    pub(super) async fn at_client(&mut self) -> Value {
        loop {
            tokio::select! {
                message = self.to_client.recv() => return message.unwrap().into_value(),
                message = self.to_server.recv() => {
                    let message = message.unwrap().into_value();
                    assert_eq!(message["method"], "tools/list", "{message}");
                    self.answer(&message, json!({ "tools": self.tools })).await;
                }
                () = tokio::time::sleep(Duration::from_secs(20)) => panic!("the client gets nothing"),
            }
        }
    }

    /// Somebody answers the only open review, elsewhere than in the client.
    pub(super) async fn review(&self, approves: bool) {
        let listed = self.desk.reviews(ReviewsQuery::default()).await.unwrap().reviews;
        let answer = if approves { ReviewWord::Approve } else { ReviewWord::Deny };
        self.desk.answer_review(&listed[0].id, ReviewReply::new(answer), None).await.unwrap();
    }

    /// The functions that the only task has on record.
    pub(super) async fn calls_on_record(&self) -> Vec<String> {
        let store = StoredTasks::new(self.database.clone(), &self.settings.limits.store);
        let tasks = store.find(None, None, &TaskFilter::default(), 1).unwrap();
        let query = ContextQuery { paths: Some("capabilities".to_owned()), ..ContextQuery::default() };
        let page = self.desk.context(&tasks[0].task.id, query).await.unwrap();
        let context: Value = serde_json::from_str(page.context.get()).unwrap();
        let records = context["capabilities"].as_object().unwrap_or_else(|| panic!("{context}"));
        let called = |it: &Value| it["count_successful"].as_u64().unwrap_or_default() > 0;
        records.iter().filter(|(_, it)| called(it)).map(|(name, _)| name.clone()).collect()
    }

    /// Calls a tool whose server gives a result, and returns the client's response.
    pub(super) async fn result_of(&mut self, name: &str, result: Value) -> Value {
        self.call("call", name, json!({})).await;
        let request = self.at_server().await;
        self.answer(&request, result).await;
        self.at_client().await
    }

    /// Asserts that nothing is left for the client but what comes now.
    pub(super) async fn nothing_for_client(&mut self) {
        self.server(json!({ "method": "notifications/prompts/list_changed" })).await;
        assert_eq!(self.at_client().await["method"], "notifications/prompts/list_changed");
    }

    /// Asserts that nothing is left for the server but what comes now.
    pub(super) async fn nothing_for_server(&mut self) {
        self.client(json!({ "method": "notifications/roots/list_changed" })).await;
        assert_eq!(self.at_server().await["method"], "notifications/roots/list_changed");
    }

    /// The server is gone.
    pub(super) async fn lose_server(mut self) -> Value {
        drop((self.server, self.to_server));
        let told =
            timeout(Duration::from_secs(20), self.to_client.recv()).await.unwrap().unwrap().into_value();
        timeout(Duration::from_secs(20), self.running).await.unwrap().unwrap();
        told
    }

    /// Ends the session, and begins another one over the same engine.
    pub(super) async fn resume(self) -> Self {
        let (settings, desk, database) = (self.settings.clone(), self.desk.clone(), self.database.clone());
        self.end().await;
        Self::over(settings, desk, database)
    }

    pub(super) async fn end(self) {
        drop((self.client, self.server, self.to_client, self.to_server));
        timeout(Duration::from_secs(20), self.running).await.unwrap().unwrap();
    }
}

fn with_version(mut message: Value) -> Value {
    message.as_object_mut().unwrap().insert("jsonrpc".to_owned(), "2.0".into());
    message
}
