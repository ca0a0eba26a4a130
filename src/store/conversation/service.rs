//! Conversations that are kept: each operation of the rules, whole or not at all.
//!
//! In: who asks, what for, the time, and bits for new ids. Out: what the rules answer, from a [`Database`]. Each change is one transaction
//! that first takes the context's row, so that servers over one database take turns per context: no message is lost and no
//! context made twice, and a refused operation leaves nothing behind (L4). Blocks while the database works.

use super::bad_params;
use super::context::{Changes, Context};
use super::history::{Artifact, Conversation, Message, TaskRecord, conversation};
use super::id::is_storable;
use super::lifecycle::{A2aTaskState, ContextStatus, owns, sees};
use super::list::{ListQuery, Page};
use super::refusal::{ContextRefusal, ConversationError};
use super::settings::HistoryOrder;
use super::tables;
use super::uuid;
use super::window::Window;
use crate::{Database, Sql, StoreError};
use celador::cel::Timestamp;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// The service of conversation contexts: contexts, their tasks, messages and artifacts, in a database.
///
/// # Cost
/// A change costs what it changes, whatever the length of the history. A list costs a look at the columns of the contexts
/// that the caller may see, and reading its page; with a role, tags or an order by name, reading all that the other filters
/// leave. A conversation costs its window.
///
/// ```
/// use celador_store::conversation::{Conversations, Incoming, ListQuery, Message, Page, Sent, SortBy};
/// use celador_store::{Database, Location, StoreLimits};
/// use serde_json::value::RawValue;
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
///
/// let database = Database::open(&Location::Memory, &StoreLimits::default())?;
/// let conversations = Conversations::new(database, || uuid::Uuid::new_v4().as_u128());
/// let text = r#"{"messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "Hello"}]}"#;
/// let message = Message::read(&RawValue::from_string(text.to_owned())?)?;
/// let sent: Sent = conversations.send(Some("kim"), &Incoming { message: Some(&message), ..Incoming::default() }, now)?;
///
/// let query = ListQuery { sort_by: SortBy::Name, ..ListQuery::default() };
/// let page: Page<_> = conversations.list(Some("kim"), &query)?;
/// assert_eq!((page.total, &page.items[0].0.id), (1, &sent.context_id));
///
/// // nobody else may read it, and nobody else learns that it is there
/// assert!(conversations.send(Some("max"), &Incoming { context_id: Some(&sent.context_id), ..Incoming::default() }, now).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Conversations {
    database: Database,
    chance: Arc<dyn Fn() -> u128 + Send + Sync>,
}

/// A message on its way in: `message/send` cut down to its effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incoming<'i> {
    /// Its context; one that is unknown is made. Without it the task says which, or a new context is made (L4).
    pub context_id: Option<&'i str>,
    /// Its task; one that is unknown is made. Without it a new one is made.
    pub task_id: Option<&'i str>,
    /// The message.
    pub message: Option<&'i Message>,
}

/// Where a message went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The context.
    pub context_id: String,
    /// The task.
    pub task_id: String,
    /// Whether the context is new.
    pub new_context: bool,
    /// Whether the task is new.
    pub new_task: bool,
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations").field("database", &self.database).finish_non_exhaustive()
    }
}

impl Conversations {
    /// Over a database that is open. Ids of contexts and tasks that nobody has named are made of the bits that `chance` gives:
    /// different ones each time, also from those of other servers over the database, and none that a stranger can guess.
    #[must_use]
    pub fn new(database: Database, chance: impl Fn() -> u128 + Send + Sync + 'static) -> Self {
        Self { database, chance: Arc::new(chance) }
    }

    fn new_id(&self) -> String {
        uuid::of_bits((self.chance)())
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Takes a message in (L2 to L4): makes its context and its task if they are not there.
    ///
    /// # Errors
    /// −32001 for a context of somebody else (K3), −32008 for a finished task, −32004 for a status that takes none, and
    /// −32602 for ids that cannot be and for a task of another context; those of the store.
    pub fn send(
        &self,
        caller: Option<&str>,
        incoming: &Incoming<'_>,
        now: Timestamp,
    ) -> Result<Sent, ConversationError> {
        let given = |name: &str, id: Option<&str>| match id.filter(|id| !id.is_empty()) {
            Some(id) if !is_storable(id) => Err(bad_params::bad_id(name)),
            id => Ok(id.map(str::to_owned)),
        };
        let context_id = given("contextId", incoming.context_id)?;
        let known_task = given("taskId", incoming.task_id)?;
        let task_id = known_task.clone().unwrap_or_else(|| self.new_id());
        let new_context_id = self.new_id();
        self.change(|sql| {
            let elsewhere = match &known_task {
                Some(task) => tables::context_of_own_task(sql, caller, task, context_id.as_deref())?,
                None => None,
            };
            let id = context_id.as_ref().or(elsewhere.as_ref()).unwrap_or(&new_context_id);
            let (mut context, new_context) = tables::take_or_make(sql, &Context::implicit(id, caller, now))?;
            if !owns(context.owner.as_deref(), caller) {
                return Err(ContextRefusal::ContextNotFound.into());
            }
            let task = tables::task(sql, id, &task_id)?;
            context.status.message(task.as_ref().map(|task| task.state))?;
            if task.is_none() && elsewhere.as_ref().is_some_and(|elsewhere| elsewhere != id) {
                return Err(bad_params::other_context().into());
            }
            let new_task = task.is_none();
            let number = match task {
                Some(task) => task.number,
                None => tables::new_task(sql, id, &task_id, A2aTaskState::Submitted)?,
            };
            tables::append(sql, tables::Part::Message, number, incoming.message.map(Message::json))?;
            context.updated_at = now;
            tables::put(sql, &context)?;
            Ok(Sent { context_id: id.clone(), task_id: task_id.clone(), new_context, new_task })
        })
    }

    /// Changes the status by its name (L1). Setting the present one changes nothing, not even when it changed last.
    ///
    /// # Errors
    /// −32602 for an unknown name, −32001 for a context that is not the caller's, −32004 for a transition that there is
    /// not; those of the store.
    pub fn set_status(
        &self,
        caller: Option<&str>,
        context_id: &str,
        status: &str,
        now: Timestamp,
    ) -> Result<(), ConversationError> {
        let status = ContextStatus::from_name(status).ok_or_else(bad_params::unknown_status)?;
        self.change(|sql| {
            let mut context = own(sql, caller, context_id)?;
            let finished = tables::states(sql, context_id)?.into_iter().all(A2aTaskState::is_terminal);
            if context.status.change(status, finished)? {
                context.status = status;
                context.updated_at = now;
                tables::put(sql, &context)?;
            }
            Ok(())
        })
    }

    /// Changes the details of a context (L2, L5). If no value differs, `updatedAt` stays.
    ///
    /// # Errors
    /// −32001 for a context that is not the caller's, −32004 for one that is archived, −32602 for a parent that cannot be;
    /// those of the store.
    pub fn update(
        &self,
        caller: Option<&str>,
        context_id: &str,
        changes: &Changes,
        now: Timestamp,
    ) -> Result<(), ConversationError> {
        self.change(|sql| {
            let mut context = own(sql, caller, context_id)?;
            context.status.description()?;
            if let Some(Some(parent)) = &changes.parent {
                may_be_parent(sql, &context, parent)?;
            }
            if changes.clone().apply(&mut context) {
                context.updated_at = now;
                tables::put(sql, &context)?;
            }
            Ok(())
        })
    }

    /// Says how far a task is, by the name of A2A 1.0, and replaces the message in its status. What runs a task knows its
    /// state, so any may follow any, in every status of its context; no time moves.
    ///
    /// # Errors
    /// −32602 for an unknown name, −32001 for a task that is not the caller's; without an identity every task can be
    /// named, and −32602 answers an id that several owners use. Those of the store.
    pub fn set_task_state(
        &self,
        caller: Option<&str>,
        task_id: &str,
        state: &str,
        message: Option<&Message>,
    ) -> Result<(), ConversationError> {
        let state = A2aTaskState::from_name(state).ok_or_else(bad_params::unknown_state)?;
        self.change(|sql| {
            let (_, task) = seen_task(sql, caller, task_id)?;
            Ok(tables::put_state(sql, task.number, state, message.map(Message::json))?)
        })
    }

    /// Adds messages and artifacts of an agent to an unfinished task, under the rules of messages (L2).
    ///
    /// # Errors
    /// −32001 for a task that is not the caller's, −32008 for one that is finished, −32004 for a context that takes
    /// nothing; those of the store.
    pub fn add(
        &self,
        caller: Option<&str>,
        task_id: &str,
        said: &[Message],
        made: &[Artifact],
        now: Timestamp,
    ) -> Result<(), ConversationError> {
        self.change(|sql| {
            let (mut context, task) = seen_task(sql, caller, task_id)?;
            context.status.message(Some(task.state))?;
            tables::append(sql, tables::Part::Message, task.number, said.iter().map(Message::json))?;
            tables::append(sql, tables::Part::Artifact, task.number, made.iter().map(Artifact::json))?;
            if !said.is_empty() {
                context.updated_at = now;
                tables::put(sql, &context)?;
            }
            Ok(())
        })
    }

    /// The contexts that the caller may see, with the ids of their tasks, oldest first (B3 to B9).
    ///
    /// # Errors
    /// Those of the store.
    pub fn list(
        &self,
        caller: Option<&str>,
        query: &ListQuery,
    ) -> Result<Page<(Context, Vec<String>)>, ConversationError> {
        Ok(self.database.read(|sql| {
            let Page { items, total, page, page_size } = if query.is_of_columns() {
                tables::page(sql, caller, query)?
            } else {
                query.page(tables::contexts(sql, caller, query)?)
            };
            let ids: Vec<&str> = items.iter().map(|context| context.id.as_str()).collect();
            let mut tasks = tables::task_ids(sql, &ids)?;
            let items = items.into_iter().map(|context| {
                let tasks = tasks.remove(&context.id).unwrap_or_default();
                (context, tasks)
            });
            Ok(Page { items: items.collect(), total, page, page_size })
        })?)
    }

    /// Removes a context with its tasks, whatever their states (K1 to K6); answers its id in normal form.
    ///
    /// # Errors
    /// −32001 for a context that is unknown or not the caller's, −32602 for an id that is neither a UUID nor the caller's, −32021
    /// for an archived context; those of the store.
    pub fn clear(&self, caller: Option<&str>, context_id: &str) -> Result<String, ConversationError> {
        let normal = uuid::normal_form(context_id);
        let unknown = || match &normal {
            Some(normal) => ContextRefusal::Unknown(normal.clone()),
            None => bad_params::not_a_uuid(),
        };
        let id = normal.as_deref().unwrap_or(context_id);
        if !is_storable(id) {
            return Err(unknown().into());
        }
        self.change(|sql| {
            let context = tables::take(sql, id)?;
            let context =
                context.filter(|context| owns(context.owner.as_deref(), caller)).ok_or_else(unknown)?;
            context.status.clear()?;
            tables::remove(sql, id)?;
            Ok(id.to_owned())
        })
    }

    /// The messages in the window of a context's tasks (A1 to A13). An unknown context gives an empty conversation.
    ///
    /// # Errors
    /// Those of the store.
    pub fn get_context(
        &self,
        caller: Option<&str>,
        context_id: &str,
        window: Window,
        order: HistoryOrder,
    ) -> Result<Conversation, ConversationError> {
        if context_id.contains('\0') {
            return Ok(conversation(Vec::new(), order));
        }
        let tasks = self.database.read(|sql| {
            let context = tables::context(sql, context_id)?;
            match context.filter(|context| sees(context.owner.as_deref(), caller)) {
                Some(_) => tables::window(sql, context_id, window),
                None => Ok(Vec::new()),
            }
        })?;
        Ok(conversation(tasks, order))
    }

    /// The ids of the contexts that the caller may see and that have tasks, the one with the newest task first (G1, G2).
    ///
    /// # Errors
    /// Those of the store.
    pub fn get_contexts(
        &self,
        caller: Option<&str>,
        window: Window,
    ) -> Result<Vec<String>, ConversationError> {
        Ok(self.database.read(|sql| tables::recent(sql, caller, window))?)
    }

    /// Brings contexts and tasks in as they are, such as from another server; tasks in the order in which they were
    /// created, each with the id of its context. All or nothing.
    ///
    /// # Errors
    /// −32602 if an id is there already, cannot be, or names no context; those of the store.
    pub fn import(
        &self,
        contexts: &[Context],
        tasks: &[(String, TaskRecord)],
    ) -> Result<(), ConversationError> {
        let ids = contexts.iter().map(|context| &context.id).chain(tasks.iter().map(|(_, task)| &task.id));
        if !ids.into_iter().all(|id| is_storable(id)) {
            return Err(bad_params::not_importable().into());
        }
        self.change(|sql| {
            for context in contexts {
                if !tables::make(sql, context)? {
                    return Err(bad_params::not_importable().into());
                }
            }
            for (context, task) in tasks {
                if tables::take(sql, context)?.is_none() || tables::task(sql, context, &task.id)?.is_some() {
                    return Err(bad_params::not_importable().into());
                }
                let number = tables::new_task(sql, context, &task.id, task.state)?;
                let message = task.status_message.as_ref().map(Message::json);
                tables::put_state(sql, number, task.state, message)?;
                tables::append(sql, tables::Part::Message, number, task.history.iter().map(Message::json))?;
                tables::append(
                    sql,
                    tables::Part::Artifact,
                    number,
                    task.artifacts.iter().map(Artifact::json),
                )?;
            }
            Ok(())
        })
    }

    /// One transaction. A refusal ends it with nothing written.
    fn change<T>(
        &self,
        mut work: impl FnMut(&mut Sql<'_>) -> Result<T, ConversationError>,
    ) -> Result<T, ConversationError> {
        let mut refused = None;
        let done = self.database.write_rows(|sql| {
            refused = None;
            work(sql).map_err(|error| match error {
                ConversationError::Store(error) => error,
                ConversationError::Refused(refusal) => {
                    refused = Some(refusal);
                    StoreError::NotFound
                }
            })
        });
        match (done, refused) {
            (Err(StoreError::NotFound), Some(refusal)) => Err(refusal.into()),
            (done, _) => Ok(done?),
        }
    }
}

/// The caller's context, taken for a change.
fn own(sql: &mut Sql<'_>, caller: Option<&str>, id: &str) -> Result<Context, ConversationError> {
    let context = if id.contains('\0') { None } else { tables::take(sql, id)? };
    let context = context.filter(|context| owns(context.owner.as_deref(), caller));
    context.ok_or_else(|| ContextRefusal::ContextNotFound.into())
}

/// A task that the caller may see, with its context taken for a change.
fn seen_task(
    sql: &mut Sql<'_>,
    caller: Option<&str>,
    task_id: &str,
) -> Result<(Context, tables::Task), ConversationError> {
    let contexts =
        if task_id.contains('\0') { Vec::new() } else { tables::contexts_of_task(sql, caller, task_id)? };
    let id = match contexts.as_slice() {
        [] => return Err(ContextRefusal::TaskNotFound.into()),
        [id] => id,
        _ => return Err(bad_params::ambiguous_task().into()),
    };
    let context = tables::take(sql, id)?.ok_or(ContextRefusal::TaskNotFound)?;
    let task = tables::task(sql, id, task_id)?.ok_or(ContextRefusal::TaskNotFound)?;
    Ok((context, task))
}

/// Whether `parent` is another context of the same owner that did not come out of this one (L5).
fn may_be_parent(sql: &mut Sql<'_>, context: &Context, parent: &str) -> Result<(), ConversationError> {
    let mut passed = HashSet::from([context.id.clone()]);
    let mut next = Some(parent.to_owned());
    while let Some(id) = next {
        if id == context.id || id.contains('\0') {
            return Err(bad_params::bad_parent().into());
        }
        let ancestor = tables::take(sql, &id)?;
        if id == parent && ancestor.as_ref().is_none_or(|ancestor| ancestor.owner != context.owner) {
            return Err(bad_params::bad_parent().into());
        }
        // what was brought in may go round in a circle
        let new = passed.insert(id);
        next = ancestor.filter(|_| new).and_then(|ancestor| ancestor.parent);
    }
    Ok(())
}
