//! A case that would notice a change, as the text of a file.
//!
//! In: the case that it is made of, and what it asks and expects otherwise. Out: a [`KillingCase`], whose text is read again before it is offered.

use super::case::{Case, Manifests};
use super::case_file::read;
use super::mutants::Mutant;
use crate::limits::EngineLimits;
use crate::source::Source;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The keys that are written anew, or are about other things than the operation.
const REPLACED: [&str; 9] =
    ["name", "about", "requirements", "manifest", "call", "steps", "story", "expect", "resume"];

/// What is asked in the place of what a case asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// One operation.
    Call(Value),
    /// Several, in order; the last one is what the case expects something of.
    Steps(Vec<Value>),
}

/// A case that would notice a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillingCase {
    /// What it has of the case that it was made of, by key.
    kept: Vec<(String, Value)>,
    /// The manifests, by the ways from where the command runs.
    manifests: Vec<PathBuf>,
    agent: String,
    about: String,
    asked: Asked,
    expect: Value,
}

impl KillingCase {
    /// The case with something else that is asked; what is expected of it is not known yet.
    pub(super) fn of(case: &Case, mutant: &Mutant, asked: Asked) -> Option<Self> {
        let Manifests::Files { agent, .. } = &case.manifests else { return None };
        Some(Self {
            kept: case
                .written
                .as_mapping()
                .unwrap_or_default()
                .iter()
                .filter(|entry| !REPLACED.contains(&&*entry.key.text))
                .map(|entry| (entry.key.text.to_string(), entry.value.to_json()))
                .collect(),
            manifests: case.manifest_paths(),
            agent: agent.text.to_string(),
            about: format!("Notices if in {} {}.", mutant.path, mutant.about),
            asked,
            // a case expects something; this is replaced by what the policy gives
            expect: json!({ "decision": "allow" }),
        })
    }

    pub(super) fn expecting(self, expect: Value) -> Self {
        Self { expect, ..self }
    }

    /// The text of its file, which has the name of the case. `way` leads from the folder of that file to a manifest.
    #[must_use]
    pub fn text(&self, name: &str, way: impl Fn(&Path) -> PathBuf) -> String {
        let files: Vec<String> = self.manifests.iter().map(|path| way(path).display().to_string()).collect();
        let manifest = json!({ "files": files, "agent": self.agent });
        let mut text =
            format!("name: {name}\nabout: {}\nmanifest: {manifest}\n", Value::from(self.about.as_str()));
        self.kept.iter().for_each(|(key, value)| text.push_str(&written(key, value)));
        text.push_str(&match &self.asked {
            Asked::Call(call) => format!("call: {call}\n"),
            Asked::Steps(steps) => written("steps", &Value::from(steps.clone())),
        });
        text.push_str(&format!("expect: {}\n", self.expect));
        text
    }

    /// The case, as whoever takes over the text would have it beside the one that it was made of.
    pub(super) fn read(&self, base: &Case, limits: &EngineLimits) -> Option<Case> {
        let file = Path::new(base.name.place.source.name()).with_file_name("killer.yaml");
        let source = Source::new(file.display().to_string(), self.text("killer", Path::to_path_buf));
        read(&source, limits).pop()?.ok()
    }
}

/// A key with its value, one item of a list on each line.
fn written(key: &str, value: &Value) -> String {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: String = items.iter().map(|item| format!("  - {item}\n")).collect();
            format!("{key}:\n{items}")
        }
        value => format!("{key}: {value}\n"),
    }
}
