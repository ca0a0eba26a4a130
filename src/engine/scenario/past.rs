//! What a task has behind it, as a case has it under `state`: its inputs, calls, model turns and responses.
//!
//! In: the key `state` of a case, or of a file with `env` and `state` alone. Out: a [`StateEntry`] for each entry, in order,
//! and a finding for each that is not as it must be. Whether a task can have had that past is not asked here.

use super::{messages, values};
use crate::cel::Timestamp;
use crate::context::InvocationStatus;
use crate::manifest::node::Node;
use crate::manifest::reader::{Fields, Path, Reader};
use crate::source::Place;
use crate::task::{Past, PastCall};

/// One entry of `state`.
#[derive(Clone, Debug)]
pub struct StateEntry {
    /// Where it stands.
    pub place: Place,
    /// The time of the processing step, if the entry says so; else that of the entry before.
    pub at: Option<Timestamp>,
    /// The recorded step.
    pub past: Past,
}

/// `state`: what happened so far.
pub(super) fn read_state(fields: &mut Fields<'_>, reader: &mut Reader) -> Vec<StateEntry> {
    values::items(fields, "state", reader, read_past)
}

const EVENTS: [&str; 7] = ["input", "llm", "call", "invoke", "output", "interrupt", "locked"];

fn read_past(node: &Node, path: &Path, reader: &mut Reader) -> Option<StateEntry> {
    let mut fields = reader.fields(node, path)?;
    let at = values::time(&mut fields, "at", reader);
    let Some((key, value)) = values::only_key(node, &["at"]) else {
        reader.report(path, messages::one_key_of(&node.place, "an entry of `state`", &EVENTS));
        return None;
    };
    let path = path.key(&key.text);
    let past = match &*key.text {
        "input" => Past::Input(values::entry(value, &path, reader)?),
        "output" => Past::Output(values::entry(value, &path, reader)?),
        "llm" => Past::ModelTurn(values::usage(value, &path, reader)?),
        "call" => Past::Call(read_past_call(value, &path, reader)?),
        "invoke" => Past::Invoke(read_past_call(value, &path, reader)?),
        "interrupt" => {
            reader.fields(value, &path)?.refuse_others("`interrupt`", reader);
            Past::Interrupt
        }
        "locked" => {
            let mut fields = reader.fields(value, &path)?;
            let reason = values::string(&mut fields, "reason", reader).unwrap_or_default();
            fields.refuse_others("`locked`", reader);
            Past::Locked(reason)
        }
        _ => {
            reader.report(&path, messages::unknown_key(key, "an entry of `state`", &EVENTS));
            return None;
        }
    };
    Some(StateEntry { place: key.place.clone(), at, past })
}

fn read_past_call(node: &Node, path: &Path, reader: &mut Reader) -> Option<PastCall> {
    let mut fields = reader.fields(node, path)?;
    let words = [
        ("successful", InvocationStatus::Successful),
        ("errored", InvocationStatus::Errored),
        ("restricted", InvocationStatus::Restricted),
    ];
    let function = values::required_text(&mut fields, "fn", reader);
    let arguments = values::arguments(&mut fields, reader);
    let status = values::word(&mut fields, "status", &words, reader).unwrap_or(InvocationStatus::Successful);
    let output = values::json(&mut fields, "output");
    let task_id = values::string(&mut fields, "task_id", reader);
    let at = values::time(&mut fields, "at", reader);
    let executed = fields.boolean("executed", status != InvocationStatus::Restricted, reader);
    fields.refuse_others("a call", reader);
    let function = function?.text.to_string();
    Some(PastCall { function, arguments, output, status, executed, task_id, at })
}
