//! A recorded task: the shape of the file that `celador run` plays, and how it is read.
//!
//! In: YAML with `agent`, the `env`, `settings` and `mocks` of a case, and `steps`. Out: a [`Script`], or findings with
//! their places. Whether a step is possible shows only when it is played, in [`replay`](super::replay).

use super::arrival::Arrival;
use super::environment::Environment;
use super::one_document::read_one;
use super::{messages, values};
use crate::cel::{Json, Timestamp};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::node::Node;
use crate::manifest::reader::{Fields, Path, Reader};
use crate::source::{Embedded, Place, Source};
use crate::task::{CallResult, Usage};
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

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        read_one(source, limits, "a recorded task", &["agent", "steps"], read_script)
    }
}

fn read_script(fields: &mut Fields<'_>, reader: &mut Reader) -> Option<Script> {
    let agent = values::required_text(fields, "agent", reader);
    let environment = Environment::read(fields, reader);
    let settings = values::by_name(fields, "settings", reader, |node, _, _| Some(node.to_json().into()));
    // tokens are for the tools, which are not run here
    values::strings(fields, "auth", reader);
    let mocks = values::mocks(fields, reader);
    let files = values::strings(fields, "files", reader);
    fields.required("steps", "", reader)?;
    let steps = values::items(fields, "steps", reader, read_step);
    Some(Script { agent: agent?, environment, mocks, settings, files, steps })
}

const ACTIONS: [&str; 7] = ["input", "llm", "call", "result", "review", "event", "output"];

fn read_step(node: &Node, path: &Path, reader: &mut Reader) -> Option<ScriptStep> {
    let mut fields = reader.fields(node, path)?;
    let at = values::time(&mut fields, "at", reader);
    let of_call = node.get("call").is_some();
    let others: &[&str] = if of_call { &["at", "result"] } else { &["at"] };
    let Some((key, value)) = values::only_key(node, others) else {
        reader.report(path, messages::one_key_of(&node.place, "a step", &ACTIONS));
        return None;
    };
    let inside = path.key(&key.text);
    let action = match &*key.text {
        "input" => ScriptAction::Input(values::entry(value, &inside, reader)?),
        "output" => ScriptAction::Output(values::entry(value, &inside, reader)?),
        "llm" => ScriptAction::ModelTurn(values::usage(value, &inside, reader)?),
        "call" => {
            let result = fields.get("result").and_then(|field| {
                let mut result = reader.fields(field.node, &field.path)?;
                let read = values::call_result(&mut result, reader);
                result.refuse_others("a result", reader);
                Some((read, field.key.place.clone()))
            });
            read_call(value, &inside, result, reader)?
        }
        "result" => {
            let mut fields = reader.fields(value, &inside)?;
            let id = values::required_text(&mut fields, "id", reader);
            let result = values::call_result(&mut fields, reader);
            fields.refuse_others("a result", reader);
            ScriptAction::Result { id: id?, result }
        }
        "event" => {
            let mut fields = reader.fields(value, &inside)?;
            let arrival = Arrival::read(key, &mut fields, reader);
            fields.refuse_others("an event", reader);
            ScriptAction::Event(arrival?)
        }
        "review" => read_review(value, &inside, reader)?,
        _ => {
            reader.report(&inside, messages::unknown_key(key, "a step", &ACTIONS));
            return None;
        }
    };
    Some(ScriptStep { place: key.place.clone(), at, action })
}

fn read_call(
    node: &Node,
    path: &Path,
    result: Option<(CallResult, Place)>,
    reader: &mut Reader,
) -> Option<ScriptAction> {
    let mut fields = reader.fields(node, path)?;
    let id = values::required_text(&mut fields, "id", reader);
    let function = values::required_text(&mut fields, "fn", reader);
    let arguments = values::arguments(&mut fields, reader);
    fields.refuse_others("a call", reader);
    Some(ScriptAction::Call { id: id?, function: function?, arguments, result })
}

fn read_review(node: &Node, path: &Path, reader: &mut Reader) -> Option<ScriptAction> {
    let mut fields = reader.fields(node, path)?;
    let reviewer = values::required_text(&mut fields, "reviewer", reader);
    fields.required("verdict", "", reader);
    let verdict = values::word(&mut fields, "verdict", &values::VERDICTS, reader);
    fields.refuse_others("a review", reader);
    Some(ScriptAction::Review { reviewer: reviewer?, approved: verdict? })
}
