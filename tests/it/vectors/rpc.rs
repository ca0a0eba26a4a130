//! Vectors of requests: each on every store, over every transport.

use super::format::{Action, Config, Operation, Rpc, Vector, World};
use super::{Failures, wrong};
use crate::conversation::counted;
use crate::servers::PostgresServer;
use crate::serving::{SCOPES, Serving};
use celador::Timestamp;
use celador_store::conversation::{
    A2aTaskState, Artifact, Changes, Context, ContextStatus, ConversationError, ConversationSettings,
    Conversations, Details, Incoming, Message, TaskRecord, answer,
};
use celador_store::{Database, FaultPlan, Location, StoreLimits};
use serde_json::Value;
use serde_json::value::RawValue;

/// The stores that vectors run on, each emptied before a vector, and the servers over them by their settings.
#[derive(Default)]
pub struct Runner {
    stores: Vec<(&'static str, Database)>,
    servers: Vec<Http>,
}

/// How a body gets to the methods: the caller and the bytes in, the bytes of the answer out.
pub trait Transport {
    fn post(&self, caller: Option<&str>, body: &[u8]) -> Vec<u8>;
}

/// Without a transport: the entry that servers mount.
struct Entry<'s> {
    conversations: &'s Conversations,
    settings: ConversationSettings,
    now: Timestamp,
}

impl Transport for Entry<'_> {
    fn post(&self, caller: Option<&str>, body: &[u8]) -> Vec<u8> {
        answer(self.conversations, &self.settings, caller, body, self.now)
    }
}

/// Over real HTTP: two servers on one store. One knows callers by their tokens, the other lets anybody in without an
/// identity; no server does both.
struct Http {
    store: &'static str,
    settings: ConversationSettings,
    anybody: Serving,
    callers: Serving,
}

impl Http {
    fn start(store: &'static str, database: &Database, settings: ConversationSettings) -> Self {
        let anybody = Serving::over(database.clone(), |served, _| served.conversation = settings);
        let callers = Serving::over(database.clone(), |served, folder| {
            served.conversation = settings;
            served.authentication.tokens = Some(folder.join("tokens.json"));
        });
        Self { store, settings, anybody, callers }
    }

    fn set_now(&self, now: Timestamp) {
        for server in [&self.anybody, &self.callers] {
            server.set_now(&now.to_string());
        }
    }
}

impl Transport for Http {
    fn post(&self, caller: Option<&str>, body: &[u8]) -> Vec<u8> {
        let json = ("content-type", "application/json");
        let reply = match caller {
            None => self.anybody.send_anything("POST", "/", &[json], body),
            Some(caller) => {
                let bearer = format!("Bearer {}", self.callers.token(caller, &SCOPES));
                self.callers.send_anything("POST", "/", &[json, ("authorization", &bearer)], body)
            }
        };
        reply.body
    }
}

impl Runner {
    pub fn run(&mut self, vector: &Vector, rpc: &Rpc) -> Failures {
        if self.stores.is_empty() {
            let open = |location| Database::open(&location, &StoreLimits::default()).unwrap();
            let postgres = Location::Postgres(PostgresServer::shared().database());
            self.stores = vec![("the embedded store", open(Location::Memory)), ("Postgres", open(postgres))];
        }
        let settings = settings(&rpc.config);
        let now: Timestamp = rpc.world.now.as_deref().unwrap_or("2026-01-01T00:00:00Z").parse().unwrap();
        let mut failures = Failures::new();
        for (store, database) in &self.stores {
            let conversations = Conversations::new(database.clone(), counted(0));
            let run = |place: &str, transport: &dyn Transport| {
                empty(database);
                let done = match load(&conversations, &rpc.world) {
                    Ok(()) => steps(vector, rpc, place, transport, &conversations, now, database),
                    Err(error) => {
                        vec![format!("{} on {place}: the world cannot be loaded: {error}", vector.id)]
                    }
                };
                database.faults().plan(FaultPlan::Nothing);
                done
            };
            failures.extend(run(store, &Entry { conversations: &conversations, settings, now }));
            let known =
                self.servers.iter().position(|http| (http.store, http.settings) == (*store, settings));
            let known = known.unwrap_or_else(|| {
                self.servers.push(Http::start(store, database, settings));
                self.servers.len() - 1
            });
            let http = &self.servers[known];
            http.set_now(now);
            failures.extend(run(&format!("{store} over HTTP"), http));
        }
        failures
    }
}

/// The server's settings of a vector.
fn settings(config: &Config) -> ConversationSettings {
    ConversationSettings {
        bindu_list_shape: config.bindu_list_shape,
        aion_history_order: config.aion_history_order,
    }
}

/// A fresh store.
fn empty(database: &Database) {
    database
        .write(|sql| {
            sql.execute("DELETE FROM context", &[])?;
            sql.execute("DELETE FROM context_count", &[])
        })
        .unwrap();
}

fn load(conversations: &Conversations, world: &World) -> Result<(), String> {
    let contexts = world.contexts.iter().map(|context| {
        let details = Details {
            role: context.role.clone(),
            name: context.name.clone(),
            description: context.description.clone(),
            tags: context.tags.clone(),
            metadata: context.metadata.clone(),
            reference_context_ids: context.reference_context_ids.clone(),
            extensions: context.extensions.clone(),
        };
        let time = |text: &str| text.parse::<Timestamp>().map_err(|error| error.to_string());
        let status =
            context.status.as_deref().map(|name| ContextStatus::from_name(name).ok_or("unknown status"));
        Ok(Context {
            id: context.context_id.clone(),
            owner: context.owner.clone(),
            created_at: time(&context.created_at)?,
            updated_at: time(&context.updated_at)?,
            status: status.transpose()?.unwrap_or_default(),
            parent: context.parent_context_id.clone(),
            details,
        })
    });
    let message = |raw: &RawValue| Message::read(raw).map_err(|error| error.to_string());
    let artifact = |raw: &RawValue| Artifact::read(raw).map_err(|error| error.to_string());
    let tasks = world.tasks.iter().map(|task| {
        let record = TaskRecord {
            id: task.id.clone(),
            state: A2aTaskState::from_name(&task.state).ok_or("unknown state")?,
            history: task.history.iter().map(|raw| message(raw)).collect::<Result<_, _>>()?,
            status_message: task.status_message.as_deref().map(message).transpose()?,
            artifacts: task.artifacts.iter().map(|raw| artifact(raw)).collect::<Result<_, _>>()?,
        };
        Ok((task.context_id.clone(), record))
    });
    let contexts = contexts.collect::<Result<Vec<_>, String>>()?;
    let tasks = tasks.collect::<Result<Vec<_>, String>>()?;
    conversations.import(&contexts, &tasks).map_err(|error| error.to_string())
}

fn steps(
    vector: &Vector,
    rpc: &Rpc,
    place: &str,
    transport: &dyn Transport,
    conversations: &Conversations,
    now: Timestamp,
    database: &Database,
) -> Failures {
    let mut failures = Failures::new();
    for (number, step) in rpc.steps.iter().enumerate() {
        if step.store_down {
            database.faults().plan(FaultPlan::Everything);
        }
        let caller = step.caller.as_deref();
        match &step.action {
            Action::Post { body, response } => {
                let found = transport.post(caller, body);
                match serde_json::from_slice::<Value>(&found) {
                    Ok(found) if is_answer(response, &found) => {}
                    Ok(found) => failures.push(wrong(vector, place, number, response, &found)),
                    Err(_) => {
                        failures.push(wrong(
                            vector,
                            place,
                            number,
                            response,
                            &String::from_utf8_lossy(&found),
                        ));
                    }
                }
            }
            Action::Operate { op, outcome } => {
                let found = match operate(conversations, caller, op, now) {
                    Ok(()) => Ok(None),
                    Err(ConversationError::Refused(refusal)) => Ok(Some(i64::from(refusal.code()))),
                    Err(ConversationError::Store(error)) => Err(error.to_string()),
                };
                if found.as_ref() != Ok(outcome) {
                    failures.push(wrong(
                        vector,
                        place,
                        number,
                        &format!("{outcome:?}"),
                        &format!("{found:?}"),
                    ));
                }
            }
        }
    }
    failures
}

fn operate(
    conversations: &Conversations,
    caller: Option<&str>,
    op: &Operation,
    now: Timestamp,
) -> Result<(), ConversationError> {
    match op {
        Operation::Send { context_id, task_id } => {
            let incoming = Incoming {
                context_id: context_id.as_deref(),
                task_id: task_id.as_deref(),
                ..Incoming::default()
            };
            conversations.send(caller, &incoming, now).map(drop)
        }
        Operation::SetStatus { context_id, status } => {
            conversations.set_status(caller, context_id, status, now)
        }
        Operation::Update { context_id, changes } => {
            let changes = Changes::read(&RawValue::from_string(changes.to_string()).unwrap())?;
            conversations.update(caller, context_id, &changes, now)
        }
        Operation::SetTaskState { task_id, state } => {
            conversations.set_task_state(caller, task_id, state, None)
        }
    }
}

/// Whether an answer is the expected one: of an error only what the vector has besides the code.
fn is_answer(expected: &Value, found: &Value) -> bool {
    let member = |name: &str| match (expected.get(name), found.get(name)) {
        (Some(expected), Some(found)) => same(expected, found),
        (expected, found) => expected.is_none() && found.is_none(),
    };
    let error = match (expected.get("error"), found.get("error")) {
        (Some(expected), Some(found)) => {
            let named = ["message", "data"].into_iter().filter_map(|name| Some((name, expected.get(name)?)));
            let text = found.get("message").is_some_and(Value::is_string);
            expected.get("code") == found.get("code")
                && text
                && named
                    .into_iter()
                    .all(|(name, value)| found.get(name).is_some_and(|found| same(value, found)))
        }
        (expected, found) => expected.is_none() && found.is_none(),
    };
    member("jsonrpc") && member("id") && member("result") && error
}

/// Equality of JSON: the order of members is free, numbers compare by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}
