//! The bodies of requests, and JSON read and written.
//!
//! In: a text. Out: what a request says, or an error that tells the place and what was expected, never what stands there.

use crate::{Decided, Error, Flaw, Place, Source, ToExplain};
use celador::BroughtTool;
use celador::cel::Json;
use celador::manifest::given::{Files, GivenFiles};
use celador::task::{Call, CallId, Operation, Parent, ReviewReply, ReviewState, User};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// What an answer is: JSON.
pub(super) type Answered = Result<String, Error>;

pub(super) fn read<'t, T: Deserialize<'t>>(body: &'t str) -> Result<T, Error> {
    // the place and what was expected, never what stands there
    serde_json::from_str(body).map_err(|error| Error::misuse("bad_request", unfit(&error)))
}

fn unfit(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            "the request has a member of another kind than it takes".to_owned()
        }
        _ => format!("the request is no JSON: column {} of it", error.column()),
    }
}

pub(super) fn told<T: Serialize + ?Sized>(answer: &T) -> Answered {
    serde_json::to_string(answer)
        .map_err(|_| Error::misuse("bad_request", "the answer cannot be written as JSON"))
}

/// An answer of one member.
pub(super) fn told_as<T: Serialize + ?Sized>(member: &'static str, answer: &T) -> Answered {
    told(&BTreeMap::from([(member, answer)]))
}

pub(super) fn shown(flaws: &[Flaw]) -> Vec<Value> {
    flaws.iter().map(Flaw::to_json).collect()
}

pub(super) fn sources_of(told: Vec<Told>) -> Vec<Source> {
    told.into_iter().map(Source::from).collect()
}

impl From<Told> for Source {
    fn from(told: Told) -> Self {
        match told {
            Told::Path(path) => Self::Path(path.into()),
            Told::Text { name, text } => Self::text(name, text),
        }
    }
}

/// What a turn or results came to.
#[derive(Serialize)]
pub(super) struct Several<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limits: Option<&'s Decided>,
    pub(super) calls: &'s [Decided],
    pub(super) decided: &'s [Decided],
}

/// A source as a binding writes it: a path, or a text with its name.
pub(super) enum Told {
    Path(String),
    Text { name: String, text: String },
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Told;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, or an object with `name` and `text`")
            }

            fn visit_str<E>(self, path: &str) -> Result<Told, E> {
                Ok(Told::Path(path.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Told, A::Error> {
                let ToldText { name, text } = ToldText::deserialize(MapAccessDeserializer::new(members))?;
                Ok(Told::Text { name, text })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
pub(super) struct Sources {
    pub(super) sources: Vec<Told>,
}

/// The key and the functions of the program, for its policies.
#[derive(Default, Deserialize)]
pub(super) struct ToldHost {
    pub(super) hash_key: Option<String>,
    pub(super) functions: Option<ToldFunctions>,
}

/// Functions of the program: the handle of what answers calls of them, and their names.
#[derive(Deserialize)]
pub(super) struct ToldFunctions {
    pub(super) by: u32,
    pub(super) names: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Load {
    pub(super) sources: Vec<Told>,
    #[serde(default)]
    pub(super) observe: bool,
    #[serde(default)]
    pub(super) host: ToldHost,
    #[serde(default)]
    pub(super) r#where: Where,
}

#[derive(Deserialize)]
pub(super) struct AgentFor {
    pub(super) tools: Vec<BroughtTool>,
    pub(super) policies: Vec<Told>,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) observe: bool,
    #[serde(default)]
    pub(super) host: ToldHost,
    #[serde(default)]
    pub(super) r#where: Where,
}

/// Where tasks are kept, if it is said.
#[derive(Default, Deserialize)]
#[cfg_attr(
    not(feature = "stores"),
    expect(dead_code, reason = "without stores nothing but memory may be asked for")
)]
pub(super) struct Where {
    pub(super) store: Option<String>,
    pub(super) server: Option<String>,
    pub(super) token: Option<String>,
}

impl Where {
    #[cfg(feature = "stores")]
    pub(super) fn place(self) -> Result<Option<Place>, Error> {
        match self {
            Self { store: Some(_), server: Some(_), .. } => {
                Err(Error::misuse("bad_request", "expected a store or a server, and found both"))
            }
            Self { store: Some(store), .. } => Ok(Some(Place::Store(store))),
            Self { server: Some(address), token, .. } => Ok(Some(Place::Server { address, token })),
            _ => Ok(None),
        }
    }

    #[cfg(not(feature = "stores"))]
    pub(super) fn place(self) -> Result<Option<Place>, Error> {
        if self.store.is_some() || self.server.is_some() {
            return Err(Error::misuse("no_stores", "tasks are in memory alone here"));
        }
        Ok(None)
    }
}

#[derive(Deserialize)]
pub(super) struct Cases {
    pub(super) sources: Vec<Told>,
    #[serde(default)]
    pub(super) below: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Alone {
    pub(super) expression: String,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Json>,
    /// A case, on whose task it is evaluated then.
    pub(super) case: Option<String>,
    #[serde(default)]
    pub(super) texts: Vec<ToldText>,
    pub(super) step: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct ToldText {
    pub(super) name: String,
    pub(super) text: String,
}

/// The texts among which files are; without any they are on the disk.
pub(super) fn files_of(texts: Vec<ToldText>) -> Files {
    if texts.is_empty() {
        return Files::System;
    }
    Files::Given(GivenFiles::new(texts.into_iter().map(|ToldText { name, text }| (name, text))))
}

/// What is to be explained on a task: an event of the past, or a call.
#[derive(Deserialize)]
pub(super) struct Explain {
    pub(super) version: Option<u64>,
    pub(super) function: Option<String>,
    pub(super) arguments: Option<Json>,
}

impl Explain {
    pub(super) fn meant(self) -> Result<ToExplain, Error> {
        match self {
            Self { version: Some(version), function: None, arguments: None } => Ok(ToExplain::Event(version)),
            Self { version: None, function: Some(function), arguments } => {
                let arguments = arguments.unwrap_or_else(|| Json::object([]));
                Ok(ToExplain::Call(Call::new(function, arguments)))
            }
            _ => Err(Error::misuse(
                "bad_request",
                "expected the number of an event, or a function with arguments",
            )),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Named {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) tools: Vec<BroughtTool>,
}

#[derive(Deserialize)]
pub(super) struct Saved {
    pub(super) saved: String,
}

#[derive(Deserialize)]
pub(super) struct Begin {
    pub(super) id: Option<String>,
    pub(super) user: Option<User>,
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) tools: Vec<BroughtTool>,
    pub(super) parent: Option<Parent>,
    #[serde(default)]
    pub(super) r#where: Where,
}

#[derive(Deserialize)]
pub(super) struct Wanted {
    pub(super) state: Option<ReviewState>,
    pub(super) reviewer: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Reply {
    pub(super) review: String,
    #[serde(flatten)]
    pub(super) reply: ReviewReply,
    pub(super) by: Option<Answering>,
}

#[derive(Deserialize)]
pub(super) struct Answering {
    pub(super) id: String,
    pub(super) email: Option<String>,
    #[serde(default)]
    pub(super) groups: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Purge {
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Paths {
    pub(super) paths: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Try {
    pub(super) expression: String,
    pub(super) scope: String,
    pub(super) input: Option<Json>,
    pub(super) output: Option<Json>,
}

#[derive(Deserialize)]
pub(super) struct Standing {
    pub(super) call: CallId,
    pub(super) wait_ms: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Stepping {
    /// Under its name the body of the request that the HTTP API has for it.
    pub(super) step: Operation,
    pub(super) wait_ms: Option<u64>,
}

/// The bodies of what authors ask.
#[cfg(feature = "authoring")]
pub(super) mod authoring {
    use super::{Told, ToldHost, ToldText};
    use serde::Deserialize;
    use serde_json::Value;

    #[derive(Deserialize)]
    pub(in super::super) struct Diff {
        pub(in super::super) old: Vec<Told>,
        pub(in super::super) new: Vec<Told>,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct Prove {
        pub(in super::super) policies: Vec<Told>,
        pub(in super::super) invariants: Told,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct ExplainFile {
        pub(in super::super) subject: String,
        #[serde(default)]
        pub(in super::super) texts: Vec<ToldText>,
        #[serde(default)]
        pub(in super::super) manifests: Vec<Told>,
        pub(in super::super) case: Option<String>,
        pub(in super::super) step: Option<String>,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct Text {
        pub(in super::super) text: String,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct Replay {
        #[serde(default)]
        pub(in super::super) recorded: Vec<String>,
        pub(in super::super) policies: Vec<Told>,
        #[serde(default)]
        pub(in super::super) against: Vec<Told>,
        #[serde(default)]
        pub(in super::super) host: ToldHost,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct Lines {
        pub(in super::super) lines: Vec<String>,
    }

    #[derive(Deserialize)]
    pub(in super::super) struct Tallies {
        pub(in super::super) tallies: Vec<Value>,
    }
}
