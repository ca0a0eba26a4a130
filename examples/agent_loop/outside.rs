//! What a runtime stands between: a model, tools, people and a clock. Here all of them are played from a file.
//!
//! In: `outside.yaml`. Out: what the model wants at each turn, what tools give, and a time that goes on by a second whenever
//! somebody looks. The model has no memory but the number of its turns, so it goes on in any process.

use super::runtime::Happening;
use celador::cel::{Duration, JsonRef};
use celador::manifest::yaml;
use celador::source::Source;
use celador::{
    Answer, Call, CallId, CallResult, EngineLimits, Host, Invocation, InvocationTarget, Json, Offer, Task,
    Timestamp, Usage,
};
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;
use std::fmt;

/// The world of a runtime.
#[derive(serde::Deserialize)]
pub struct Outside {
    #[serde(deserialize_with = "time")]
    clock: Timestamp,
    /// What the model wants, by task; the last wish of a task repeats itself.
    model: BTreeMap<String, Vec<Wish>>,
    tools: Vec<Tool>,
    /// What ran since somebody asked.
    #[serde(skip)]
    ran: Vec<String>,
}

/// What a model wants at its turn.
#[derive(Clone, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// To call functions.
    Calls(Vec<Call>),
    /// To have an expression of calls evaluated.
    Script(String),
    /// To answer.
    Say(String),
}

/// What a function gives for certain arguments.
#[derive(serde::Deserialize)]
struct Tool {
    function: String,
    /// Those that it looks at.
    #[serde(default = "Json::null")]
    arguments: Json,
    /// What it gives, one after the other; the last one repeats itself.
    outputs: Vec<Json>,
    #[serde(skip)]
    calls: usize,
}

impl Outside {
    pub fn read(name: &str, text: &str) -> Result<Self, serde_json::Error> {
        let documents = yaml::parse(&Source::new(name, text), &EngineLimits::default(), &mut Vec::new());
        let document = documents.first().map(|document| document.node.to_json());
        serde_json::from_value(document.unwrap_or_default())
    }

    /// The time, later each time.
    pub fn clock(&mut self) -> Timestamp {
        let second = Duration::from_nanos(1_000_000_000);
        self.clock = second.and_then(|second| self.clock.plus(second)).unwrap_or(self.clock);
        self.clock
    }

    /// A turn of the model. One that is none of a file gets all of these, and the conversation so far.
    pub fn model(
        &mut self,
        task: &Task,
        _prompt: &str,
        _offers: &[Offer<'_>],
        _told: &[String],
    ) -> (Wish, Usage) {
        let wishes = self.model.get(task.id()).map(Vec::as_slice).unwrap_or_default();
        let turn = usize::try_from(task.context().llm_turns()).unwrap_or(usize::MAX);
        let mut wish = wishes.get(turn).or(wishes.last()).cloned();
        if let Some(Wish::Calls(calls)) = &mut wish {
            // Models name their calls, and no two of a conversation alike.
            for (number, call) in (1_usize..).zip(calls) {
                call.id = Some(CallId::from(&*format!("call_{turn}_{number}")));
            }
        }
        let usage = Usage { prompt_tokens: 900, completion_tokens: 60, ..Usage::default() };
        (wish.unwrap_or_else(|| Wish::Say("I have nothing to say.".to_owned())), usage)
    }

    /// Whether it has a tool for a function.
    pub fn has(&self, function: &str) -> bool {
        self.tools.iter().any(|tool| tool.function == function)
    }

    /// Runs a tool.
    pub fn run(&mut self, function: &str, arguments: &Json) -> CallResult {
        self.ran.push(format!("{function} {arguments}"));
        let tool = self.tools.iter_mut().find(|tool| tool.answers(function, arguments));
        match tool.and_then(Tool::next) {
            Some(output) => CallResult::successful(output),
            None => CallResult::errored(Json::object([("error", Json::string("not found"))])),
        }
    }

    /// What was carried out since this was asked.
    pub fn take_ran(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ran)
    }
}

impl Wish {
    /// The calls that it wants to make.
    pub fn calls(&self) -> Vec<Call> {
        match self {
            Self::Calls(calls) => calls.clone(),
            Self::Script(_) | Self::Say(_) => Vec::new(),
        }
    }
}

impl Host for Outside {
    fn now(&mut self) -> Timestamp {
        self.clock()
    }

    fn invoke(&mut self, invocation: &Invocation) -> Option<CallResult> {
        // A sub-agent takes its time; the runtime starts it when the task rests.
        let InvocationTarget::Action { .. } = &invocation.target else { return None };
        Some(self.run(&invocation.function, &invocation.arguments))
    }

    // People are not asked here: they answer when they have time, and that is a happening.
    fn review(&mut self, _reviewer: &str) -> Option<bool> {
        None
    }

    // No agent of this runtime has a mount.
    fn read_mount(&mut self, _path: &str) -> Option<String> {
        None
    }

    fn write_mount(&mut self, _path: &str, _text: &str) -> bool {
        false
    }
}

impl Tool {
    fn answers(&self, function: &str, arguments: &Json) -> bool {
        let given = arguments.root();
        let same = |(name, value): (&str, JsonRef<'_>)| {
            given.get(name).is_some_and(|given| given.to_json() == value.to_json())
        };
        self.function == function && self.arguments.root().entries().all(same)
    }

    fn next(&mut self) -> Option<Json> {
        let output = self.outputs.get(self.calls).or(self.outputs.last());
        self.calls = self.calls.saturating_add(1);
        output.cloned()
    }
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(calls) => write!(f, "the model makes {} calls", calls.len()),
            Self::Script(source) => write!(f, "the model writes {source}"),
            Self::Say(text) => write!(f, "the model says: {text}"),
        }
    }
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(input) => write!(f, "input {input}"),
            Self::Event { capability, event, .. } => write!(f, "a request, perhaps {event} of {capability}"),
            Self::Review { reviewer, answer: Answer::Review(answer) } if answer.approves() => {
                write!(f, "{reviewer} approves")
            }
            Self::Review { reviewer, .. } => write!(f, "{reviewer} answers"),
            Self::Delegated { result, .. } => {
                write!(f, "{} answers {}", result.task_id.as_deref().unwrap_or("a sub-agent"), result.output)
            }
        }
    }
}
