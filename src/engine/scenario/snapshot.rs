//! A task context out of its JSON: what [`TaskContext::to_json`] gave, made into a context again.
//!
//! In: the JSON of `context` and, if an agent is at hand, its schema. Out: a [`TaskContext`] that reads the same, so that
//! an expression gives on it what it gave in the task: records newest first, `size` of messages in characters, zeros
//! where nothing was called. Without an agent the schema is made from what the JSON holds. Parts that are missing are
//! empty. The JSON does not say which invocations were middleware's; all are taken for the model's.

use super::environment::Environment;
use crate::cel::{Field, Json, JsonRef, RecordType, Storage, Type, Value};
use crate::context::{
    Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, SchemaDecl,
    SchemaError, TaskContext, TaskFacts, TaskIo, TaskIoError, ToolDecl, TurnKind,
};
use crate::hash_key::HashKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a JSON value is no context.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// `[]`
    #[error("a context is an object")]
    NotAnObject,
    /// `{"input": [{"ticket": 1}]}`
    #[error("an entry of `input` or `output` is no message: {0}")]
    Entry(#[from] TaskIoError),
    /// `{"capabilities": {"_meta": {"invocations": ["f"]}}}`
    #[error("`capabilities._meta` has more invocations of `{0}` than its record")]
    TooFewEntries(String),
    /// `{"capabilities": {"f": {"timestamps": ["noon"], …}}}`
    #[error("a time of `{0}` is not RFC 3339")]
    NotATime(String),
    /// an invocation of a function that the agent does not have
    #[error("the agent has no function `{0}`")]
    UnknownFunction(String),
    /// `{"_history": {"turns": ["talk"]}}`
    #[error("a turn is `input`, `llm` or `capability`")]
    UnknownTurn,
    /// names of records that cannot stand side by side
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// The context of a snapshot, in the schema of an agent or one of its own.
///
/// # Errors
/// [`SnapshotError`] for JSON that is no context, or not one of this agent.
pub fn restore(snapshot: &Json, schema: Option<Arc<ContextSchema>>) -> Result<TaskContext, SnapshotError> {
    let root = snapshot.root();
    if !root.is_object() {
        return Err(SnapshotError::NotAnObject);
    }
    let schema = match schema {
        Some(schema) => schema,
        None => ContextSchema::new(&declare(root))?,
    };
    let mut context = TaskContext::new(schema, facts(root));
    for entry in items(root, &["input"]) {
        context.push_input(TaskIo::from_entry(entry)?);
    }
    for entry in items(root, &["output"]) {
        context.push_output(TaskIo::from_entry(entry)?);
    }
    for turn in items(root, &["_history", "turns"]) {
        let kinds = [TurnKind::Input, TurnKind::Llm, TurnKind::Capability];
        let kind = kinds.into_iter().find(|kind| Some(kind.as_str()) == turn.as_str());
        context.turn(kind.ok_or(SnapshotError::UnknownTurn)?);
    }
    let tokens = |kind| count(at(root, &["llm", "tokens", kind]));
    context.add_tokens(tokens("prompt"), tokens("completion"));
    record(root, &mut context)?;
    Ok(context)
}

/// What the task started with; what the snapshot does not say is as in a case.
fn facts(root: JsonRef<'_>) -> TaskFacts {
    let default = Environment::default();
    let text = |path: &[&str]| at(root, path).and_then(JsonRef::as_str);
    TaskFacts {
        agent: text(&["agent", "name"]).unwrap_or_default().into(),
        namespace: text(&["agent", "namespace"]).unwrap_or_default().into(),
        started_at: text(&["agent", "started_at"])
            .and_then(|time| time.parse().ok())
            .unwrap_or(default.started_at),
        user_id: text(&["user", "id"]).unwrap_or(&default.user.id).into(),
        user_claims: at(root, &["user", "claims"]).filter(|claims| claims.is_object()).map(JsonRef::to_json),
        user_email: text(&["user", "email"]).filter(|email| !email.is_empty()).map(Into::into),
        address: None,
        model: text(&["llm", "model"]).unwrap_or_default().into(),
        depth: 0,
    }
}

/// Puts the invocations on record, in the order that `_meta` has.
fn record(root: JsonRef<'_>, context: &mut TaskContext) -> Result<(), SnapshotError> {
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for name in items(root, &["capabilities", "_meta", "invocations"]).filter_map(JsonRef::as_str) {
        let too_few = || SnapshotError::TooFewEntries(name.to_owned());
        let function = context.schema().function(name);
        let function = function.ok_or_else(|| SnapshotError::UnknownFunction(name.to_owned()))?;
        let record = at(root, &["capabilities", name]).ok_or_else(too_few)?;
        let position = taken.entry(name).or_default();
        *position = position.saturating_add(1);
        let position = *position;
        // the lists of a record are newest first (REC-03)
        let entry = |list: &str| {
            let list = record.get(list)?;
            list.item(list.len().checked_sub(position)?)
        };
        let holds = |list: &str| entry(list).is_some_and(|flag| matches!(flag.value(), Value::Bool(true)));
        let status = match (holds("restricted"), holds("errored")) {
            (true, _) => InvocationStatus::Restricted,
            (false, true) => InvocationStatus::Errored,
            (false, false) => InvocationStatus::Successful,
        };
        let time = entry("timestamps").and_then(JsonRef::as_str).ok_or_else(too_few)?;
        let time: crate::cel::Timestamp =
            time.parse().map_err(|_| SnapshotError::NotATime(name.to_owned()))?;
        let output = entry("outputs").filter(|output| !output.is_null()).map(JsonRef::to_json);
        let executed = output.is_some();
        context.record(InvocationRecord {
            function,
            at: time.into(),
            started_at: time.into(),
            input: entry("inputs").map_or_else(|| Json::object([]), JsonRef::to_json),
            executed,
            output,
            status,
            origin: Caller::Model,
            task_id: entry("task_ids").and_then(JsonRef::as_str).map(Into::into),
            message: 0,
            rejected: status.is_rejection(executed),
        });
    }
    Ok(())
}

/// The schema of what the snapshot holds. A record that has calls of which `_meta` knows nothing sums up the functions
/// whose names begin with its own (KEY-10).
fn declare(root: JsonRef<'_>) -> SchemaDecl {
    let invoked: BTreeSet<&str> =
        items(root, &["capabilities", "_meta", "invocations"]).filter_map(JsonRef::as_str).collect();
    let records = at(root, &["capabilities"]);
    let records = records.iter().flat_map(|records| records.entries()).filter(|(name, _)| *name != "_meta");
    let sums = |name: &str, record: JsonRef<'_>| {
        !invoked.contains(name) && record.get("timestamps").is_some_and(|times| !times.is_empty())
    };
    let (tools, functions): (Vec<_>, Vec<_>) = records.partition(|(name, record)| sums(name, *record));
    let members = |tool: &str| {
        let inside = |name: &str| name.strip_prefix(tool).is_some_and(|rest| rest.starts_with('_'));
        let ids = functions.iter().zip(0_u32..).filter(|((name, _), _)| inside(name));
        ids.map(|(_, id)| FunctionId(id)).collect()
    };
    let further = |list| {
        let keys: BTreeSet<&str> =
            items(root, &[list]).flat_map(|entry| entry.entries().map(|(key, _)| key)).collect();
        keys.into_iter().filter(|key| *key != "message").map(|key| (key.into(), Type::Dyn)).collect()
    };
    SchemaDecl {
        tools: tools
            .iter()
            .map(|(name, _)| ToolDecl { key: (*name).into(), members: members(name) })
            .collect(),
        functions: functions
            .iter()
            .map(|(name, record)| FunctionDecl {
                key: (*name).into(),
                input: Type::Dyn,
                output: Type::Dyn,
                delegation: record.get("task_ids").is_some_and(|ids| !ids.is_null()),
            })
            .collect(),
        claims: claims(root),
        parameters: further("input"),
        exposes: further("output"),
        hash_key: Some(HashKey::for_verification()),
        // nothing of what is tried out is kept, and the budget bounds it
        most_pseudonyms: (usize::MAX, usize::MAX),
        ..SchemaDecl::default()
    }
}

/// The claims that the snapshot shows, of any type.
fn claims(root: JsonRef<'_>) -> Option<Arc<RecordType>> {
    let claims = at(root, &["user", "claims"]).filter(|claims| claims.is_object())?;
    Some(Arc::new(RecordType {
        name: "context.user.claims".to_owned(),
        fields: claims.entries().map(|(name, _)| (name.into(), Field::optional(Type::Dyn))).collect(),
        aliases: Vec::new(),
        storage: Storage::Closed,
    }))
}

fn at<'a>(root: JsonRef<'a>, path: &[&str]) -> Option<JsonRef<'a>> {
    path.iter().try_fold(root, |value, key| value.get(key))
}

fn items<'a>(root: JsonRef<'a>, path: &[&str]) -> impl Iterator<Item = JsonRef<'a>> + use<'a> {
    at(root, path).into_iter().flat_map(JsonRef::items)
}

fn count(value: Option<JsonRef<'_>>) -> u64 {
    match value.map(JsonRef::value) {
        Some(Value::Int(count)) => u64::try_from(count).unwrap_or_default(),
        _ => 0,
    }
}
