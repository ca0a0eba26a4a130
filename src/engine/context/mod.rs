//! The task context: what an expression sees of a running task, as data and as CEL types.
//!
//! A [`ContextSchema`] is made once for each compiled agent; it fixes the functions, the tools and the names that an
//! entry of `context.input` and `context.output` may carry, and so the types that expressions are checked against. A
//! [`TaskContext`] is the live state of one task of that agent. Expressions read it where it lies: nothing is converted,
//! copied or recounted before one runs, and a decision costs the same after 10,000 invocations as after ten.
//!
//! | module | what it holds |
//! |---|---|
//! | `model_usage` | what a call of the model uses, estimated or reported |
//! | `moment` | a point in time as expressions see it: text, to the second |
//! | `schema_decl` | what an agent's context is made from: functions, tools, names |
//! | `schema` | the types of `context`, and which records it has |
//! | `log` | a list that grows without copying what it holds |
//! | `invocation` | one invocation on record |
//! | `history` | the log of invocations, and the records over it |
//! | `dropped` | what is known of values that were not kept |
//! | `times` | whether the times of a list stand in order |
//! | `open_calls` | the calls whose results are awaited |
//! | `call_type` | the type of a call as an object |
//! | `call_kinds` | which list of calls shows an invocation: those of the model, of `invoke` steps, or the rejected ones |
//! | `calls` | each of these lists, with the open calls in it, most recent first |
//! | `task_io` | one entry of `context.input` or `context.output` |
//! | `task_context` | the state of one task, and every change it can go through |
//! | `live` | the view of that state that expressions read |
//! | `surroundings` | `runtime` and `mount`, the records that belong to no task |
//! | `brought_tool` | `tool`, which checks of tools see |
//! | `counters` | what counts across tasks, as a call has read it |
//! | `invoked_results` | what `invoke` steps of an operation gave, by the ids of the steps |
//! | `function_results` | the members of the maps that functions return, and their words |
//! | `function` | `put`, and the functions that a host answers |
//! | `scope` | which expression may name what |
//! | `scope_env` | the types of what it may name, and the activation that carries the values |
//! | `activations` | the values of one operation, shared by the expressions of its scopes |
//! | `watch` | who is told what expressions come to |
//! | `unanswered` | a host for expressions that are tried out where nobody can be asked |
//! | `snapshot` | the context as JSON, and the stored state of a suspended task |
//! | `full_time` | times as stored and shown records have them |
//! | `record_type` | the type of a record that is made of names |
//! | `page` | a part of the context as JSON, for people and programs that look at it |
//! | `secret` | which parts of a value are secret, and the value as views show it |
//! | `task_secrets` | which places of a context are secret |
//! | `call_path`, `values_on_path` | of which calls a path tells, and of which of their values |
//! | `secret_path` | whether a path of an expression meets one of them |
//! | `change` | what became of a context since an earlier moment, for stores |
//!
//! Nothing of `settings`, `auth` or `session` ever enters (`CTX-22`), and nothing here reads a clock.

mod activations;
mod bound_sources;
mod brought_tool;
mod call_at_hand;
mod call_kinds;
mod call_path;
mod call_type;
mod calls;
mod change;
mod claims;
mod copy_index;
mod counters;
mod dropped;
pub(crate) mod full_time;
mod function;
mod function_results;
mod history;
mod invocation;
mod invoked_results;
mod label_functions;
mod labels;
mod live;
mod log;
mod messages;
mod model_usage;
mod moment;
mod open_calls;
mod page;
mod part;
mod provenance;
mod pseudonym_answers;
mod pseudonym_functions;
mod pseudonyms;
mod record_type;
mod schema;
mod schema_decl;
mod scope;
mod scope_env;
mod secret;
mod secret_path;
mod shorten;
mod snapshot;
mod sources;
mod surroundings;
mod task_context;
mod task_io;
mod task_secrets;
mod times;
mod unanswered;
mod values_on_path;
mod watch;

pub use activations::Activations;
pub use brought_tool::tool_text;
pub(crate) use brought_tool::tool_value;
pub use call_at_hand::CallAtHand;
pub use call_path::CallsOnPath;
pub use change::{ContextChange, ContextMark};
pub(crate) use claims::members_of;
pub use copy_index::CopyRules;
pub use counters::{CounterValue, counters_type};
pub use dropped::Dropped;
pub use function::{FILE, HASH, MOUNT, PUT, REVIEW, REVIEW_OF_POLICIES, WITHIN};
pub use history::Counts;
pub use invocation::{Caller, InvocationId, InvocationRecord, InvocationStatus, KeptPart};
pub use invoked_results::{InvokedResult, NamedStep, invoked_type};
pub(crate) use label_functions::WHOLE_SOURCES;
pub use label_functions::{CALL_LABELS, LABELLING, LABELS, SOURCES, TASK_LABELS};
pub use labels::{LabelChange, LabelSet, Labelling, SeenBy, ValueSource};
pub(crate) use log::Log;
pub(crate) use model_usage::ModelUsage;
pub use moment::Moment;
pub use open_calls::OpenInvocation;
pub use page::{ContextPage, PageError, PageRequest};
pub use pseudonym_functions::{HASHING, PII_DETOKENIZE, PII_HASH, PII_TOKENIZE, PSEUDONYMS};
pub use schema::{ContextSchema, SchemaError};
pub use schema_decl::{FunctionDecl, FunctionId, SchemaDecl, ToolDecl};
pub use scope::{Root, Scope};
pub use scope_env::{Bound, ScopeDecl, ScopeEnv, event_type};
pub use secret::{MASK, Masked, SecretRule, SecretView, Secrets, Selector, mask_places};
pub use snapshot::{ContextState, RestoreError};
pub use surroundings::{MountFacts, Runtime};
pub use task_context::{TaskContext, TaskFacts, TurnKind};
pub use task_io::{TaskIo, TaskIoError};
pub use task_secrets::{CallSecrets, TaskSecrets};
pub use unanswered::Unanswered;
pub use values_on_path::{CallValues, ValuesOnPath};
pub use watch::{ExpressionWatch, WatchedExpression, WatchedName};
