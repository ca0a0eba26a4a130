//! A recorded task: the shape of the file that `celador run` plays, and how it is read.
//!
//! In: YAML with `agent`, the `env`, `settings` and `mocks` of a case, and `steps`. Out: a [`Script`], or findings with
//! their places. Whether a step is possible shows only when it is played, in [`replay`](super::replay).

use super::counted::{Counted, CountedAmount};
use super::environment::{Environment, EnvironmentKeys};
use super::one_document::read_one;
use super::step::{ScriptStep, StepKeys, read_step};
use super::values::Mocks;
use crate::cel::Json;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::fields::Fields;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Anything, ByName, List, Required, Shape, Text, document, mapping};
use crate::source::{Embedded, Source};
use crate::task::CallResult;
use serde_json::Value;
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
    /// What counters hold at the beginning.
    pub counters: Vec<CountedAmount>,
    /// The steps, in order.
    pub steps: Vec<ScriptStep>,
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
        /// What counters hold at the beginning, by name: a number, or numbers by key.
        counters: ByName<Counted>,
        /// The steps, in order.
        steps: Required<List<StepKeys>>,
    }
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
    let counters = fields.counters().counted(reader);
    let steps = fields.steps().required("", reader)?.items(reader, |node, path, reader| {
        let step = reader.fields(node, path)?;
        read_step(node, &step, &[], reader)
    });
    Some(Script { agent: agent?, environment, mocks, settings, files, counters, steps })
}
