//! The types of `context` for one compiled agent: which functions and tools have records, and what entries may carry.
//!
//! In go the functions that the agent can call or invoke, the tools with several actions, the agent's parameters and
//! `exposes` names; out come the record types that expressions are checked against and read by. Made once, shared by
//! all tasks of the agent. It never changes, so a function is a number everywhere after this.
//!
//! The keys of `context.capabilities` are `_meta` and then every function and tool, in the order of their declaration.
//! `_meta` is among them when the map is iterated, because the specification prints it as a member of that map
//! (`KEY-08` reserves it there) and the JSON of the context must have it.

use super::call_type::{call_lists, call_type};
use super::copy_index::CopyRules;
use super::messages;
use super::part::Part;
use super::schema_decl::{FunctionDecl, FunctionId, SchemaDecl, ToolDecl};
use super::task_secrets::TaskSecrets;
use crate::cel::{At, Constant, Domain, Field, Numbers, RecordType, Storage, Type};
use crate::hash_key::HashKey;
use indexmap::IndexMap;
use std::sync::Arc;

/// The key in `context.capabilities` that no function may take (`KEY-08`).
pub(super) const META: &str = "_meta";

/// Why a schema cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// two functions, or a function and a tool, called `github_pr` (`KEY-07`); or one called `_meta` (`KEY-08`)
    #[error("{}", messages::key_is_taken(.0))]
    KeyIsTaken(Arc<str>),
    /// a tool whose members are not among the functions
    #[error("{}", messages::no_such_member(.0))]
    NoSuchMember(Arc<str>),
}

/// So many keys are looked at one by one.
const FEW_KEYS: usize = 16;

/// The context of one agent's tasks, as types.
#[derive(Debug)]
pub struct ContextSchema {
    functions: Box<[Function]>,
    /// The keys of all records: functions, then tools.
    keys: IndexMap<Arc<str>, ()>,
    pub(super) shapes: Shapes,
    /// The values of its tasks that views do not show.
    secrets: TaskSecrets,
    /// How copies of values are looked for in its tasks.
    copies: CopyRules,
    hash_key: Option<HashKey>,
    most_pseudonyms: (usize, usize),
}

#[derive(Debug)]
struct Function {
    delegation: bool,
    /// The records that every invocation enters: its own and its tools'.
    records: Box<[u32]>,
}

/// The record types, one for each part of the context.
#[derive(Debug)]
pub(super) struct Shapes {
    pub(super) context: Arc<RecordType>,
    /// The same as the specification has it, without the claims of the user.
    plain_context: Arc<RecordType>,
    pub(super) agent: Arc<RecordType>,
    pub(super) user: Arc<RecordType>,
    /// The claims that are visible; nothing if there is no such field.
    pub(super) claims: Option<Arc<RecordType>>,
    pub(super) request: Arc<RecordType>,
    pub(super) llm: Arc<RecordType>,
    pub(super) tokens: Arc<RecordType>,
    pub(super) history: Arc<RecordType>,
    pub(super) capabilities: Arc<RecordType>,
    pub(super) meta: Arc<RecordType>,
    /// By record: functions, then tools.
    pub(super) records: Box<[Arc<RecordType>]>,
    /// A call in `calls`: the names of its fields, whatever its function.
    pub(super) call: Arc<RecordType>,
    pub(super) input: Arc<RecordType>,
    pub(super) output: Arc<RecordType>,
}

impl ContextSchema {
    /// A schema. Linear in its functions, tools and names.
    ///
    /// # Errors
    /// Two records with one key, a record called `_meta`, or a tool with a member that is no function here.
    pub fn new(declared: &SchemaDecl) -> Result<Arc<Self>, SchemaError> {
        Self::with_secrets(declared, TaskSecrets::default())
    }

    /// The same where some values are secret.
    ///
    /// # Errors
    /// As [`ContextSchema::new`].
    pub fn with_secrets(declared: &SchemaDecl, secrets: TaskSecrets) -> Result<Arc<Self>, SchemaError> {
        let keys = keys(declared)?;
        let mut records: Vec<Vec<u32>> = (0..).take(declared.functions.len()).map(|own| vec![own]).collect();
        let first_tool = u32::try_from(declared.functions.len()).unwrap_or(u32::MAX);
        for (tool, record) in declared.tools.iter().zip(first_tool..) {
            for member in &tool.members {
                let entered = records.get_mut(member.0 as usize);
                entered.ok_or_else(|| SchemaError::NoSuchMember(tool.key.clone()))?.push(record);
            }
        }
        let functions = declared
            .functions
            .iter()
            .zip(records)
            .map(|(function, records)| Function { delegation: function.delegation, records: records.into() });
        let shapes = Shapes::new(declared, &keys);
        let (functions, copies, hash_key) = (functions.collect(), declared.copies, declared.hash_key.clone());
        let most_pseudonyms = declared.most_pseudonyms;
        Ok(Arc::new(Self { functions, shapes, keys, secrets, copies, hash_key, most_pseudonyms }))
    }

    /// Which places of a task are secret.
    #[must_use]
    pub fn secrets(&self) -> &TaskSecrets {
        &self.secrets
    }

    /// How many values of a task may have a pseudonym, and what they may weigh.
    pub(super) fn most_pseudonyms(&self) -> (usize, usize) {
        self.most_pseudonyms
    }

    /// The key of `pii.hash`.
    pub(super) fn hash_key(&self) -> Option<&HashKey> {
        self.hash_key.as_ref()
    }

    /// How copies of values are looked for in its tasks.
    #[must_use]
    pub fn copies(&self) -> CopyRules {
        self.copies
    }

    /// The functions whose calls the record of a key holds; of no key all of them.
    pub(super) fn functions_in(&self, key: Option<&str>) -> Vec<FunctionId> {
        let record = key.and_then(|key| self.keys.get_index_of(key));
        let record = record.and_then(|record| u32::try_from(record).ok());
        let is_in = |function: &Function| match (key, record) {
            (None, _) => true,
            (Some(_), Some(record)) => function.records.contains(&record),
            (Some(_), None) => false,
        };
        let functions = (0..).map(FunctionId).zip(&self.functions);
        functions.filter(|(_, function)| is_in(function)).map(|(id, _)| id).collect()
    }

    /// A function by its key.
    #[must_use]
    pub fn function(&self, key: &str) -> Option<FunctionId> {
        // most agents have few functions, whose keys are told apart by their lengths sooner than by a hash
        let index = if self.keys.len() <= FEW_KEYS {
            self.keys.keys().position(|known| **known == *key)?
        } else {
            self.keys.get_index_of(key)?
        };
        if index >= self.functions.len() {
            return None;
        }
        u32::try_from(index).ok().map(FunctionId)
    }

    /// The key of a function, or nothing for an id of another schema.
    #[must_use]
    pub fn key(&self, function: FunctionId) -> Option<&Arc<str>> {
        let index = function.0 as usize;
        self.keys.get_index(index).filter(|_| index < self.functions.len()).map(|(key, ())| key)
    }

    /// All functions, in the order of their declaration.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Arc<str>)> {
        (0..).map(FunctionId).zip(self.keys.keys()).take(self.functions.len())
    }

    /// How many functions there are.
    pub(super) fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// Whether a function is a sub-agent.
    #[must_use]
    pub fn is_delegation(&self, function: FunctionId) -> bool {
        self.functions.get(function.0 as usize).is_some_and(|function| function.delegation)
    }

    /// The type of `context`.
    #[must_use]
    pub fn context_type(&self) -> Type {
        Type::Record(self.shapes.context.clone())
    }

    /// The same for an expression of a manifest, to which the claims of the user are not visible.
    pub(super) fn context_type_without_claims(&self) -> Type {
        Type::Record(self.shapes.plain_context.clone())
    }

    /// The claims of the user that are visible to policies; nothing if no policy names one.
    #[must_use]
    pub fn claims(&self) -> Option<&Arc<RecordType>> {
        self.shapes.claims.as_ref()
    }

    /// The type of an entry of `context.input`.
    #[must_use]
    pub fn input_type(&self) -> &Arc<RecordType> {
        &self.shapes.input
    }

    /// The type of an entry of `context.output`.
    #[must_use]
    pub fn output_type(&self) -> &Arc<RecordType> {
        &self.shapes.output
    }

    /// The number of records: functions and tools.
    pub(super) fn record_count(&self) -> usize {
        self.keys.len()
    }

    /// The records that an invocation of a function enters.
    pub(super) fn records_of(&self, function: FunctionId) -> &[u32] {
        self.functions.get(function.0 as usize).map_or(&[], |function| &function.records)
    }

    /// Whether a record is a sub-agent's, which alone has `task_ids` (`REC-15`).
    pub(super) fn has_task_ids(&self, record: u32) -> bool {
        self.is_delegation(FunctionId(record))
    }
}

/// The keys of all records, each once and none reserved.
fn keys(declared: &SchemaDecl) -> Result<IndexMap<Arc<str>, ()>, SchemaError> {
    let functions = declared.functions.iter().map(|function| &function.key);
    let mut keys = IndexMap::new();
    for key in functions.chain(declared.tools.iter().map(|tool| &tool.key)) {
        if **key == *META || keys.insert(key.clone(), ()).is_some() {
            return Err(SchemaError::KeyIsTaken(key.clone()));
        }
    }
    Ok(keys)
}

impl Shapes {
    /// The fields stand in the order in which `live` reads them; a test reads every one under its name.
    fn new(declared: &SchemaDecl, keys: &IndexMap<Arc<str>, ()>) -> Self {
        let agent = RecordType::live(
            "context.agent",
            [
                ("name", Type::String, "the agent that works on the task"),
                ("namespace", Type::String, "its namespace"),
                ("started_at", Type::String, "when the task was created, UTC"),
            ],
        );
        let plain_user = RecordType::live(
            "context.user",
            [
                ("id", Type::String, "the user's identifier"),
                ("email", Type::String, "the user's address; empty if unknown"),
            ],
        );
        let user = user_with(&plain_user, declared.claims.as_ref());
        let doc = "the network address from which the task was begun, as its host knows it; empty if unknown";
        let request = RecordType::live("context.request", [("address", Type::String, doc)]);
        let count = |name: &str, doc: &str| (Arc::from(name), required(Type::Int, doc));
        let tokens = live(
            "context.llm.tokens",
            [
                count("prompt", "prompt tokens of all model turns so far"),
                count("completion", "completion tokens of all model turns so far"),
                count("total", "their sum"),
            ],
        );
        let doc = "what all model turns so far have cost, in the host's unit".to_owned();
        let spend = Field { derived: true, doc, ..Field::required(Type::Double) };
        let doc = "how many answers of the model a step withheld, behind its call or as a response";
        let withheld = Field { derived: true, ..required(Type::Int, doc) };
        let llm = live(
            "context.llm",
            [
                ("model".into(), required(Type::String, "the resolved model")),
                ("tokens".into(), part(&tokens, Part::Tokens.at(0), "what the model has used")),
                // the specification has no such key, so it is none of the JSON
                ("spend".into(), spend),
                ("withheld".into(), withheld),
            ],
        );
        let turns = texts_of(["input", "llm", "capability"].map(Arc::from));
        let history = live(
            "context._history",
            [
                ("turns".into(), turns("`input`, `llm` or `capability` for each turn, oldest first")),
                count("turn_count", "the number of turns"),
            ],
        );
        let invocations = texts_of(declared.functions.iter().map(|function| function.key.clone()));
        let meta = live(
            "context.capabilities._meta",
            [
                ("invocations".into(), invocations("the function of each invocation, oldest first")),
                count("count", "the number of invocations"),
                count("delegation_count", "the invocations of sub-agents among them"),
            ],
        );
        let records = Records::default().all(declared);
        let capabilities = capabilities(&meta, keys, &records);
        let parameter = "a parameter of the agent beside the message";
        let input = task_io(&declared.parameters, &declared.domains, parameter, declared.closed_inputs);
        let output = task_io(&declared.exposes, &[], "a value of `exposes`", declared.closed_outputs);
        let functions: Vec<Arc<str>> =
            declared.functions.iter().map(|function| function.key.clone()).collect();
        let call = call_type(
            shared("input of a call", declared.functions.iter().map(|function| &function.input)),
            common(declared.functions.iter().map(|function| &function.output)),
            Some(&functions),
        );
        let list = |of: &Arc<RecordType>| Type::list(Type::Record(of.clone()));
        let of_request = part(&request, Part::Request.at(0), "the request that began the task");
        let [calls, rejected, invoked] = call_lists(&call, Some(&functions));
        let mut context = RecordType {
            name: "context".to_owned(),
            fields: IndexMap::from([
                ("agent".into(), part(&agent, Part::Agent.at(0), "the agent and the start of the task")),
                ("user".into(), user_field(&user)),
                ("llm".into(), part(&llm, Part::Llm.at(0), "the model and its usage")),
                ("_history".into(), part(&history, Part::History.at(0), "the turns so far")),
                ("input".into(), required(list(&input), "accepted inputs, oldest first")),
                ("output".into(), required(list(&output), "delivered responses, oldest first")),
                (
                    "capabilities".into(),
                    part(&capabilities, Part::Capabilities.at(0), "what has been called, by function"),
                ),
                ("reviews".into(), required(list(&review()), "closed reviews, oldest first")),
                calls,
                rejected,
                ("request".into(), Field { derived: true, ..of_request }),
                ("depth".into(), depth_field()),
                invoked,
            ]),
            aliases: Vec::new(),
            storage: Storage::Live,
        };
        context.aliases.extend(context.slot("capabilities").map(|slot| ("cap".into(), slot)));
        let mut plain_context = context.clone();
        plain_context.fields.insert("user".into(), user_field(&plain_user));
        let (context, plain_context) = (Arc::new(context), Arc::new(plain_context));
        let claims = declared.claims.clone();
        Self {
            context,
            plain_context,
            claims,
            agent,
            user,
            request,
            llm,
            tokens,
            history,
            capabilities,
            meta,
            records,
            call,
            input,
            output,
        }
    }
}

/// How deep the task is in its tree: a key that the specification does not have, so it is none of the JSON.
fn depth_field() -> Field {
    let doc = "how many tasks have delegated, one to the other, to come to this one".to_owned();
    let domain = Domain { numbers: Some(Numbers::Counts), ..Domain::default() }.known();
    Field { derived: true, doc, domain, ..Field::required(Type::Int) }
}

/// The user with their claims behind what the specification has, so that both are read alike.
fn user_with(plain: &Arc<RecordType>, claims: Option<&Arc<RecordType>>) -> Arc<RecordType> {
    let Some(claims) = claims else { return plain.clone() };
    let mut user = RecordType::clone(plain);
    let doc = "what the user's own token says of them, as far as policies name it";
    user.fields.insert("claims".into(), required(Type::Record(claims.clone()), doc));
    Arc::new(user)
}

fn user_field(user: &Arc<RecordType>) -> Field {
    part(user, Part::User.at(0), "the user on whose behalf the task runs")
}

/// The types of records, each combination of field types made once: many functions, few types.
#[derive(Default)]
struct Records {
    made: Vec<([Type; 3], Arc<RecordType>)>,
}

impl Records {
    fn all(mut self, declared: &SchemaDecl) -> Box<[Arc<RecordType>]> {
        let of_function = |function: &FunctionDecl| {
            let task_ids = if function.delegation { Type::list(Type::Dyn) } else { Type::Null };
            [function.input.clone(), function.output.clone(), task_ids]
        };
        let of_tool = |tool: &ToolDecl| {
            let members = tool.members.iter().filter_map(|id| declared.functions.get(id.0 as usize));
            [
                shared(&format!("input of {}", tool.key), members.clone().map(|member| &member.input)),
                common(members.map(|m| &m.output)),
                Type::Null,
            ]
        };
        let types = declared.functions.iter().map(of_function).chain(declared.tools.iter().map(of_tool));
        types.map(|types| self.one(types)).collect()
    }

    fn one(&mut self, types: [Type; 3]) -> Arc<RecordType> {
        if let Some((_, made)) = self.made.iter().find(|(of, _)| *of == types) {
            return made.clone();
        }
        let [input, output, task_ids] = types.clone();
        let call = call_type(input.clone(), output.clone(), None);
        let flags = || Type::list(Type::Bool);
        let fields = [
            ("count_successful", Type::Int, "invocations that succeeded"),
            ("count_errored", Type::Int, "invocations that failed"),
            ("count_restricted", Type::Int, "invocations that middleware stopped"),
            ("timestamps", Type::list(Type::String), "when, UTC, most recent first"),
            ("inputs", Type::list(input), "resolved arguments, most recent first"),
            ("outputs", Type::list(output), "results, most recent first; null if nothing ran"),
            ("successful", flags(), "whether it succeeded, most recent first"),
            ("errored", flags(), "whether it failed, most recent first"),
            ("restricted", flags(), "whether middleware stopped it, most recent first"),
            ("task_ids", task_ids, "the child tasks, most recent first; null for tools"),
        ];
        let fields = fields.into_iter().map(|(name, ty, doc)| (Arc::from(name), required(ty, doc)));
        let record = live("capability record", fields.chain(call_lists(&call, None)));
        self.made.push((types, record.clone()));
        record
    }
}

/// The type that all share, or `dyn`.
fn common<'t>(mut types: impl Iterator<Item = &'t Type>) -> Type {
    let first = types.next().unwrap_or(&Type::Dyn);
    if types.all(|ty| ty == first) { first.clone() } else { Type::Dyn }
}

/// The type of the arguments of calls of several functions: a record of what any of them takes, if it is known of each what that is. So a name that no
/// function has is found in a history of all calls, too.
fn shared<'t>(name: &str, types: impl Iterator<Item = &'t Type> + Clone) -> Type {
    let records = types.clone().map(|ty| match ty {
        Type::Record(record) if matches!(record.storage, Storage::Closed | Storage::Unsaid) => Some(record),
        _ => None,
    });
    let Some(records) = records.collect::<Option<Vec<_>>>() else { return common(types) };
    let [first, others @ ..] = records.as_slice() else { return Type::Dyn };
    if others.iter().all(|record| record == first) {
        return Type::Record((*first).clone());
    }
    let mut fields: IndexMap<Arc<str>, Field> = IndexMap::new();
    for (field_name, field) in records.iter().flat_map(|record| &record.fields) {
        let known =
            fields.entry(field_name.clone()).or_insert_with(|| Field { required: false, ..field.clone() });
        if known.ty != field.ty {
            known.ty = Type::Dyn;
        }
        if known.domain != field.domain {
            known.domain = None;
        }
    }
    let has_others = records.iter().any(|record| record.storage == Storage::Unsaid);
    let storage = if has_others { Storage::Unsaid } else { Storage::Closed };
    Type::Record(Arc::new(RecordType { name: name.to_owned(), fields, aliases: Vec::new(), storage }))
}

fn capabilities(
    meta: &Arc<RecordType>,
    keys: &IndexMap<Arc<str>, ()>,
    records: &[Arc<RecordType>],
) -> Arc<RecordType> {
    let meta = (META.into(), part(meta, Part::Meta.at(0), "all invocations together"));
    let of_key = |((key, record), index): ((&Arc<str>, &Arc<RecordType>), u32)| {
        (key.clone(), part(record, Part::Record.at(index), "its invocations"))
    };
    let records = keys.keys().zip(records).zip(0..).map(of_key);
    live("context.capabilities", std::iter::once(meta).chain(records))
}

/// A record in the context's own structs.
fn live(name: &str, fields: impl IntoIterator<Item = (Arc<str>, Field)>) -> Arc<RecordType> {
    Arc::new(RecordType {
        name: name.to_owned(),
        fields: fields.into_iter().collect(),
        aliases: Vec::new(),
        storage: Storage::Live,
    })
}

/// A TaskIO. A transform may replace the whole entry (`GR-11`), so but for `message` no key is sure to be there, and
/// unless it is closed others may be.
fn task_io(
    extra: &[(Arc<str>, Type)],
    domains: &[(Arc<str>, Arc<Domain>)],
    doc: &str,
    closed: bool,
) -> Arc<RecordType> {
    let part = RecordType {
        name: "content part".to_owned(),
        fields: IndexMap::from([
            ("mimeType".into(), optional(Type::String, "the media type of the part")),
            ("text".into(), optional(Type::String, "its text, if it is some")),
        ]),
        aliases: Vec::new(),
        storage: Storage::Open,
    };
    let message = Type::list(Type::Record(Arc::new(part)));
    let message = ("message".into(), required(message, "the content parts; `size` counts their characters"));
    let extra = extra.iter().map(|(name, ty)| {
        let domain = domains.iter().find(|(of, _)| of == name).map(|(_, domain)| domain.clone());
        (name.clone(), Field { domain, ..optional(ty.clone(), doc) })
    });
    Arc::new(RecordType {
        name: "TaskIO".to_owned(),
        fields: extra.fold(IndexMap::from([message]), |mut fields, (name, field)| {
            fields.entry(name).or_insert(field);
            fields
        }),
        aliases: Vec::new(),
        storage: if closed { Storage::Closed } else { Storage::Open },
    })
}

/// An entry of `context.reviews`.
fn review() -> Arc<RecordType> {
    let text = |name: &str, doc: &str| (Arc::from(name), required(Type::String, doc));
    let maybe = |name: &str, doc: &str| (Arc::from(name), optional(Type::String, doc));
    Arc::new(RecordType {
        name: "review".to_owned(),
        fields: IndexMap::from([
            text("reviewer", "whom the policy asked"),
            text("state", "`approved`, `denied`, `edited`, `responded`, `expired` or `withdrawn`"),
            maybe("function", "the function of the call that it was about"),
            maybe("call", "the id of that call"),
            maybe("by", "who answered: the e-mail address that is known to be theirs, else their id"),
            maybe("at", "when they answered, UTC"),
            maybe("note", "what they added"),
        ]),
        aliases: Vec::new(),
        storage: Storage::Closed,
    })
}

fn required(ty: Type, doc: &str) -> Field {
    // the context has no other ints than counts
    let domain = (ty == Type::Int).then(|| Domain { numbers: Some(Numbers::Counts), ..Domain::default() });
    Field { doc: doc.to_owned(), domain: domain.and_then(Domain::known), ..Field::required(ty) }
}

/// A list of texts, each of them one of these.
fn texts_of(texts: impl IntoIterator<Item = Arc<str>>) -> impl FnOnce(&str) -> Field {
    let texts = texts.into_iter().map(Constant::Text).collect();
    move |doc| {
        let items = Domain { allowed: Some(texts), ..Domain::default() }.known();
        let domain = Domain { items, ..Domain::default() }.known();
        Field { domain, ..required(Type::list(Type::String), doc) }
    }
}

fn optional(ty: Type, doc: &str) -> Field {
    Field { required: false, ..required(ty, doc) }
}

/// A record that is the same part of the context wherever it is reached from.
fn part(record: &Arc<RecordType>, at: At, doc: &str) -> Field {
    Field { part: Some(at), ..required(Type::Record(record.clone()), doc) }
}
