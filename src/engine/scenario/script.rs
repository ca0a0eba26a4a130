//! A recorded task: the shape of the file that `celador run` plays, and how it is read.
//!
//! In: YAML with `agent`, the `env`, `settings` and `mocks` of a case, and `steps`. Out: a [`Script`], or findings with
//! their places. Whether a step is possible shows only when it is played, in [`replay`](super::replay).

use super::arrival::{Arrival, ArrivalKeys};
use super::environment::{Environment, EnvironmentKeys};
use super::one_document::read_one;
use super::values::{Entry, Mocks, ResultKeys, Time, UsageKeys, Verdict};
use super::{messages, values};
use crate::cel::{Json, Timestamp};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::fields::{Field, Fields};
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{
    Anything, ByName, List, Mapping, Object, OneOf, Part, Required, Shape, Text, document, mapping, names,
    shape,
};
use crate::source::{Embedded, Place, Source};
use crate::task::{CallResult, Usage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A recorded task.
#[derive(Clone, Debug)]
pub struct Script {
    /// The agent's name.
    pub agent: Embedded,
    /// The data that the task starts with.
    pub environment: Environment,
    /// The results of the executions of invoke steps in turn, by function key; the last one repeats.
    pub mocks: BTreeMap<String, Vec<CallResult>>,
    /// Namespace settings, for the secrets of webhooks; flat keys.
    pub settings: BTreeMap<String, Json>,
    /// The files below the mount prefix.
    pub files: BTreeMap<String, String>,
    /// The steps, in order.
    pub steps: Vec<ScriptStep>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// Where it stands.
    pub place: Place,
    /// When it happens; when the step before did, if it does not say.
    pub at: Option<Timestamp>,
    /// The step.
    pub action: ScriptAction,
}

/// A step of a script.
#[derive(Clone, Debug)]
pub enum ScriptAction {
    /// Somebody says something: an object with `message`.
    Input(Json),
    /// The model has answered.
    ModelTurn(Usage),
    /// The model calls a function.
    Call {
        /// The name by which later steps know the call.
        id: Embedded,
        /// The function.
        function: Embedded,
        /// The arguments as the model wrote them: an object.
        arguments: Json,
        /// Its result, if it is let through at once, and the place in the script.
        result: Option<(CallResult, Place)>,
    },
    /// A function that was let through has run.
    Result {
        /// The call.
        id: Embedded,
        /// Its result.
        result: CallResult,
    },
    /// A reviewer decides.
    Review {
        /// Who.
        reviewer: Embedded,
        /// Whether it approves.
        approved: bool,
    },
    /// Something happens outside.
    Event(Arrival),
    /// The model has a response: an object with `message`.
    Output(Json),
}

mapping! {
    /// A task for `celador run`, step by step.
    ScriptKeys as "script" = "a recorded task" {
        /// The name of the agent.
        agent: Required<Text>,
        /// Who runs the task, where and when.
        env: EnvironmentKeys,
        /// Settings of the namespace, by their whole keys.
        settings: ByName<Anything>,
        /// Tokens by provider.
        auth: ByName<Text>,
        /// By function, what executions give in turn; the last repeats.
        mocks: Mocks,
        /// Files below the mount prefix, by path.
        files: ByName<Text>,
        /// The steps, in order.
        steps: Required<List<StepKeys>>,
    }

    /// Something that happens, and when.
    StepKeys as "step" = "a step" {
        /// When it happens, RFC 3339; as the step before without it.
        at: Time,
        /// Somebody says something.
        input: Entry,
        /// The model has answered.
        llm: UsageKeys,
        /// The model calls a function.
        call: NamedCallKeys,
        /// A function that was let through has run; beside `call`, that call at once.
        result: StepResult,
        /// A reviewer decides.
        review: ReviewKeys,
        /// Something happens outside.
        event: ArrivalKeys,
        /// The model has a response.
        output: Entry,
    }

    NamedCallKeys = "a call" {
        /// The name by which later steps know the call.
        id: Required<Text>,
        /// The function.
        function = "fn": Required<Text>,
        /// The arguments.
        args: Object,
    }

    NamedResultKeys = "a result" {
        /// The call.
        id: Required<Text>,
        result: Part<ResultKeys>,
    }

    ReviewKeys = "a review" {
        /// Who decides.
        reviewer: Required<Text>,
        /// What they decide.
        verdict: Required<OneOf<Verdict>>,
    }
}

shape! {
    /// The result of a call that an earlier step names, or of the call beside it.
    StepResult = |definitions| {
        json!({ "anyOf": [NamedResultKeys::schema(definitions), ResultKeys::schema(definitions)] })
    };
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        read_one(source, limits, &["agent", "steps"], read_script)
    }

    /// The JSON Schema of such a file.
    #[must_use]
    pub fn json_schema() -> Value {
        document(ScriptKeys::schema)
    }
}

fn read_script(fields: &Fields<'_, ScriptKeys>, reader: &mut Reader) -> Option<Script> {
    let agent = fields.agent().required_text(reader);
    let environment = Environment::read(&fields.env(), reader);
    let settings = fields.settings().values(reader);
    // tokens are for the tools, which are not run here
    fields.auth().strings(reader);
    let mocks = fields.mocks().mocks(reader);
    let files = fields.files().strings(reader);
    let steps = fields.steps().required("", reader)?.items(reader, read_step);
    Some(Script { agent: agent?, environment, mocks, settings, files, steps })
}

fn read_step(node: &Node, path: &Path, reader: &mut Reader) -> Option<ScriptStep> {
    let fields = reader.fields::<StepKeys>(node, path)?;
    let at = fields.at().time(reader);
    let call = fields.call().written();
    let beside = [fields.at().name(), fields.result().name()];
    let (at_alone, _) = beside.split_at(1);
    let mut actions = names(StepKeys::ROWS);
    actions.retain(|name| !at_alone.contains(name));
    let Some((key, _)) = values::only_key(node, if call.is_some() { &beside } else { at_alone }) else {
        reader.report(path, messages::one_key_of(&node.place, StepKeys::OWNER, &actions));
        return None;
    };
    let action = if let Some(field) = call {
        let result = fields.result().get().and_then(|field| {
            let result = reader.fields(field.node, &field.path)?;
            let read = values::call_result(&result, reader);
            result.refuse_others(reader);
            Some((read, field.key.place.clone()))
        });
        read_call(&field, result, reader)?
    } else if let Some(field) = fields.input().written() {
        ScriptAction::Input(values::entry(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.output().written() {
        ScriptAction::Output(values::entry(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.llm().written() {
        ScriptAction::ModelTurn(values::usage(field.node, &field.path, reader)?)
    } else if let Some(field) = fields.result().written() {
        let fields = reader.fields::<NamedResultKeys>(field.node, &field.path)?;
        let id = fields.id().required_text(reader);
        let result = values::call_result(&fields.result().part(), reader);
        fields.refuse_others(reader);
        ScriptAction::Result { id: id?, result }
    } else if let Some(field) = fields.event().written() {
        let fields = reader.fields(field.node, &field.path)?;
        let arrival = Arrival::read(field.key, &fields, reader);
        fields.refuse_others(reader);
        ScriptAction::Event(arrival?)
    } else if let Some(field) = fields.review().written() {
        read_review(&field, reader)?
    } else {
        reader.report(&path.key(&key.text), messages::unknown_key(key, StepKeys::OWNER, &actions));
        return None;
    };
    Some(ScriptStep { place: key.place.clone(), at, action })
}

fn read_call(
    field: &Field<'_>,
    result: Option<(CallResult, Place)>,
    reader: &mut Reader,
) -> Option<ScriptAction> {
    let fields = reader.fields::<NamedCallKeys>(field.node, &field.path)?;
    let id = fields.id().required_text(reader);
    let function = fields.function().required_text(reader);
    let arguments = fields.args().object_or_empty(reader);
    fields.refuse_others(reader);
    Some(ScriptAction::Call { id: id?, function: function?, arguments, result })
}

fn read_review(field: &Field<'_>, reader: &mut Reader) -> Option<ScriptAction> {
    let fields = reader.fields::<ReviewKeys>(field.node, &field.path)?;
    let reviewer = fields.reviewer().required_text(reader);
    let verdict = fields.verdict().required("", reader);
    let verdict = verdict.and_then(|key| key.word(reader));
    fields.refuse_others(reader);
    Some(ScriptAction::Review { reviewer: reviewer?, approved: verdict? })
}
