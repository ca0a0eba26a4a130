//! The format of the vectors, as they lie in their files: worlds, steps of requests and of stores.
//!
//! What a runner must act on is read strictly: an unknown operation, setting, tier or kind of step is a failure and not
//! something that is passed over. What is there for people is ignored.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A vector, or why it cannot be run.
pub struct Vector {
    pub id: String,
    pub body: Result<Body, String>,
}

pub enum Body {
    Rpc(Rpc),
    Redis(Stored<BTreeMap<String, RedisValue>>),
    Postgres(Stored<Vec<PostgresRow>>),
}

/// A vector of the RPC groups.
pub struct Rpc {
    pub world: World,
    pub config: Config,
    pub steps: Vec<RpcStep>,
}

#[derive(Clone, Deserialize)]
pub struct World {
    pub now: Option<String>,
    #[serde(default)]
    pub contexts: Vec<WorldContext>,
    #[serde(default)]
    pub tasks: Vec<WorldTask>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldContext {
    pub context_id: String,
    #[serde(default)]
    pub owner: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub status: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    #[serde(default)]
    pub parent_context_id: Option<String>,
    #[serde(default)]
    pub reference_context_ids: Option<Vec<String>>,
    #[serde(default)]
    pub extensions: Option<Box<RawValue>>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldTask {
    pub id: String,
    pub context_id: String,
    pub state: String,
    #[serde(default)]
    pub history: Vec<Box<RawValue>>,
    #[serde(default)]
    pub status_message: Option<Box<RawValue>>,
    #[serde(default)]
    pub artifacts: Vec<Box<RawValue>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub bindu_list_shape: celador_store::conversation::ListShape,
    pub aion_history_order: celador_store::conversation::HistoryOrder,
}

/// A step of a request, or of an operation.
pub struct RpcStep {
    pub caller: Option<String>,
    pub store_down: bool,
    pub action: Action,
}

pub enum Action {
    Post { body: Vec<u8>, response: Value },
    Operate { op: Operation, outcome: Option<i64> },
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    #[serde(rename_all = "camelCase")]
    Send {
        #[serde(default)]
        context_id: Option<String>,
        #[serde(default)]
        task_id: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    SetStatus { context_id: String, status: String },
    #[serde(rename_all = "camelCase")]
    Update { context_id: String, changes: Value },
    #[serde(rename_all = "camelCase")]
    SetTaskState { task_id: String, state: String },
}

/// A vector of the Aletheia groups, with what is seeded and finally there.
pub struct Stored<S> {
    pub options: Options,
    pub seed: S,
    pub steps: Vec<StoreStep>,
    pub last: Option<S>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Options {
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RedisValue {
    pub value: String,
    pub ttl: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct PostgresRow {
    pub key: String,
    #[serde(default)]
    pub context_id: Option<String>,
    #[serde(default)]
    pub task_id: Option<String>,
}

#[derive(Deserialize)]
pub struct StoreStep {
    pub store: StoreOperation,
    pub key: String,
    #[serde(default)]
    pub data: Option<Value>,
    /// The inner nothing is a `null` that is written: there is no value.
    #[serde(default, deserialize_with = "written")]
    pub returns: Option<Option<Value>>,
    #[serde(default)]
    pub redis: Option<Vec<Vec<String>>>,
    #[serde(default)]
    pub options: Option<Options>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreOperation {
    Get,
    Set,
    Delete,
}

fn written<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Value>>, D::Error> {
    Option::<Value>::deserialize(deserializer).map(Some)
}

/// A file of vectors. The steps stay text until it is known whose they are.
#[derive(Deserialize)]
struct File {
    format: u32,
    fixture: String,
    vectors: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Fixture {
    format: u32,
    worlds: BTreeMap<String, World>,
}

#[derive(Deserialize)]
struct Head {
    id: String,
    tier: String,
    #[serde(default)]
    backend: Option<String>,
    #[serde(default)]
    world: Option<String>,
    #[serde(default)]
    config: Option<Config>,
    #[serde(default)]
    options: Option<Options>,
    #[serde(default)]
    seed: Option<Value>,
    #[serde(default, rename = "final")]
    last: Option<Value>,
    steps: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct StepHead {
    #[serde(default)]
    caller: Option<String>,
    #[serde(default)]
    store_down: bool,
    #[serde(default)]
    request: Option<Box<RawValue>>,
    #[serde(default)]
    raw_body: Option<String>,
    #[serde(default)]
    response: Option<Value>,
    #[serde(default)]
    op: Option<String>,
    #[serde(default)]
    outcome: Option<Value>,
}

/// Every vector of a folder, by file name and in the order of each file.
pub fn read(folder: &Path) -> Vec<Vector> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let mut worlds: BTreeMap<String, Arc<BTreeMap<String, World>>> = BTreeMap::new();
    let mut vectors = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let shape: BTreeMap<String, &RawValue> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !shape.contains_key("vectors") {
            assert!(shape.contains_key("worlds"), "{} holds neither vectors nor worlds", path.display());
            continue;
        }
        let file: File =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(file.format, 1, "{}: another format", path.display());
        let fixture = worlds.entry(file.fixture.clone()).or_insert_with(|| {
            let path = folder.join(&file.fixture);
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let fixture: Fixture =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(fixture.format, 1, "{}: another format", path.display());
            Arc::new(fixture.worlds)
        });
        vectors.extend(file.vectors.iter().map(|raw| vector(raw, fixture)));
    }
    vectors
}

fn vector(raw: &RawValue, worlds: &BTreeMap<String, World>) -> Vector {
    match serde_json::from_str::<Head>(raw.get()) {
        Ok(head) => Vector { id: head.id.clone(), body: body(head, worlds) },
        Err(error) => {
            let id = serde_json::from_str::<Value>(raw.get())
                .ok()
                .and_then(|value| Some(value["id"].as_str()?.to_owned()));
            Vector {
                id: id.unwrap_or_else(|| "a vector without id".to_owned()),
                body: Err(error.to_string()),
            }
        }
    }
}

fn body(head: Head, worlds: &BTreeMap<String, World>) -> Result<Body, String> {
    if !["core", "needs-fault-injection"].contains(&head.tier.as_str()) {
        return Err(format!("unknown tier `{}`", head.tier));
    }
    match head.backend.as_deref() {
        None => {
            let name = head.world.ok_or("no world")?;
            let world = worlds.get(&name).ok_or_else(|| format!("unknown world `{name}`"))?.clone();
            let steps = head.steps.iter().map(|step| rpc_step(step)).collect::<Result<_, _>>()?;
            Ok(Body::Rpc(Rpc { world, config: head.config.unwrap_or_default(), steps }))
        }
        Some("redis") => Ok(Body::Redis(stored(head)?)),
        Some("postgres") => Ok(Body::Postgres(stored(head)?)),
        Some(other) => Err(format!("unknown backend `{other}`")),
    }
}

fn stored<S: Default + for<'de> Deserialize<'de>>(head: Head) -> Result<Stored<S>, String> {
    let contents = |value: Value| serde_json::from_value::<S>(value).map_err(|error| error.to_string());
    let steps =
        head.steps.iter().map(|step| serde_json::from_str(step.get()).map_err(|error| error.to_string()));
    Ok(Stored {
        options: head.options.unwrap_or_default(),
        seed: head.seed.map(contents).transpose()?.unwrap_or_default(),
        steps: steps.collect::<Result<_, _>>()?,
        last: head.last.map(contents).transpose()?,
    })
}

fn rpc_step(raw: &RawValue) -> Result<RpcStep, String> {
    let step: StepHead = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let body = match (step.request, step.raw_body) {
        (Some(request), None) => Some(request.get().as_bytes().to_vec()),
        (None, Some(body)) => Some(body.into_bytes()),
        (None, None) => None,
        (Some(_), Some(_)) => return Err("a step with two bodies".to_owned()),
    };
    let action = match (body, step.response, step.op, step.outcome) {
        (Some(body), Some(response), None, None) => Action::Post { body, response },
        (None, None, Some(_), Some(outcome)) => {
            let op = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
            let outcome = match (outcome.as_str(), outcome["error_code"].as_i64()) {
                (Some("ok"), _) => None,
                (None, Some(code)) => Some(code),
                _ => return Err(format!("unknown outcome {outcome}")),
            };
            Action::Operate { op, outcome }
        }
        _ => return Err("a step that is neither a request nor an operation".to_owned()),
    };
    Ok(RpcStep { caller: step.caller, store_down: step.store_down, action })
}
