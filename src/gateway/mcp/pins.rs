//! Descriptions that somebody has looked at: the digests of tools in a file.
//!
//! In: the file, and tools as a server lists them. Out: which of them are as they were when they were accepted. A description is what the
//! model obeys, so a server that changes one after it was looked at (or adds a tool) gets no further than the list until
//! somebody accepts the change. The file is JSON and sorted, so that a change is a line of a diff.

use super::error::McpError;
use super::introduction::Introduction;
use super::messages;
use celador::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Members of a tool that a model or a client goes by.
const PINNED: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// The digests of what was accepted.
#[derive(Clone, Debug)]
pub struct Pins {
    path: PathBuf,
    accepted: Accepted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    /// The SHA-256 of each tool, by its name.
    tools: BTreeMap<String, String>,
    /// That of the instructions of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// That of the name and description of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
}

/// What is other than it was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A tool that was not there.
    New(String),
    /// A tool with another description or other schemas.
    Changed(String),
    /// A tool that is there no more.
    Gone(String),
    /// Other instructions of the server.
    Instructions,
    /// Another name or description of the server.
    Server,
}

impl Pins {
    /// The pins of a file.
    ///
    /// # Errors
    /// A file that cannot be read, or is none of pins.
    pub fn read(path: &Path) -> Result<Self, McpError> {
        let fail = |reason: String| McpError::Pins { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        let accepted = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
        Ok(Self { path: path.to_owned(), accepted })
    }

    /// A file that does not exist yet: nothing is accepted.
    #[must_use]
    pub fn empty(path: &Path) -> Self {
        Self { path: path.to_owned(), accepted: Accepted::default() }
    }

    /// Why a tool is not as it was accepted; nothing if it is.
    pub(super) fn misfit(&self, tool: &Value) -> Option<String> {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        match self.accepted.tools.get(name) {
            None => Some(messages::not_pinned(&self.path.display())),
            Some(accepted) if *accepted != digest(tool).to_string() => {
                Some(messages::pinned_otherwise(&self.path.display()))
            }
            Some(_) => None,
        }
    }

    /// Whether these are the instructions that were accepted.
    pub(super) fn accepts(&self, instructions: Option<&str>) -> bool {
        self.accepted.instructions == instructions.map(of_text)
    }

    /// Whether this is the server that was accepted, by its name and description. Its version may be another one.
    pub(super) fn accepts_server(&self, server: &Value) -> bool {
        self.accepted.server.as_deref() == Some(&of_server(server))
    }

    /// Accepts what a server says of itself now, and returns what has changed.
    ///
    /// # Errors
    /// A file that cannot be written; then nothing is accepted.
    pub fn accept(&mut self, introduction: &Introduction) -> Result<Vec<Change>, McpError> {
        let Introduction { tools, instructions, server } = introduction;
        let instructions = instructions.as_deref();
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let tools = tools.iter().map(|tool| (name(tool), digest(tool).to_string())).collect();
        let server = Some(of_server(server));
        let now = Accepted { tools, instructions: instructions.map(of_text), server };
        let before = &self.accepted;
        let mut changes = Vec::new();
        for (tool, digest) in &now.tools {
            match before.tools.get(tool) {
                None => changes.push(Change::New(tool.clone())),
                Some(accepted) if accepted != digest => changes.push(Change::Changed(tool.clone())),
                Some(_) => {}
            }
        }
        let gone = before.tools.keys().filter(|tool| !now.tools.contains_key(*tool));
        changes.extend(gone.cloned().map(Change::Gone));
        if before.instructions != now.instructions {
            changes.push(Change::Instructions);
        }
        if before.server != now.server {
            changes.push(Change::Server);
        }
        let text = serde_json::to_string_pretty(&now).unwrap_or_default();
        let fail = |error: std::io::Error| McpError::Pins {
            path: self.path.display().to_string(),
            reason: error.to_string(),
        };
        // whole or not at all: half a file would refuse every tool
        let beside = self.path.with_extension("tmp");
        std::fs::write(&beside, text + "\n").map_err(fail)?;
        std::fs::rename(&beside, &self.path).map_err(fail)?;
        self.accepted = now;
        Ok(changes)
    }
}

/// The digest of what a model or a client goes by.
pub(super) fn digest(tool: &Value) -> Digest {
    let members: BTreeMap<&str, Value> =
        PINNED.iter().filter_map(|name| Some((*name, sorted(tool.get(name)?)))).collect();
    Digest::of(serde_json::to_string(&members).unwrap_or_default().as_bytes())
}

/// The digest of a server's name and description.
fn of_server(server: &Value) -> String {
    let mut server = server.clone();
    server.as_object_mut().map(|members| members.remove("version"));
    of_text(&sorted(&server).to_string())
}

fn of_text(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

/// A value with the members of its objects in order, as their order means nothing.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(name, it)| (name, sorted(it))).collect();
            members.into_iter().map(|(name, it)| (name.clone(), it)).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Pins, digest};
    use crate::mcp::Introduction;
    use serde_json::{Value, json};

    #[test]
    fn what_was_accepted_is_known_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        assert!(Pins::read(&path).is_err());
        let tool = |description: &str| json!({ "name": "t", "description": description, "inputSchema": {} });
        let mut pins = Pins::empty(&path);
        assert!(pins.misfit(&tool("a")).is_some());
        let said = |tools: &[Value]| Introduction {
            tools: tools.to_vec(),
            instructions: Some("Be kind.".to_owned()),
            server: json!({ "name": "s", "version": "1", "title": "S" }),
        };
        let changes = pins.accept(&said(&[tool("a")])).unwrap();
        assert_eq!(changes, [Change::New("t".into()), Change::Instructions, Change::Server]);

        let mut read = Pins::read(&path).unwrap();
        assert_eq!(read.misfit(&tool("a")), None);
        assert!(read.misfit(&tool("b")).unwrap().contains("is not the one that is pinned"));
        assert!(read.accepts(Some("Be kind.")) && !read.accepts(None));
        assert!(read.accepts_server(&json!({ "title": "S", "name": "s", "version": "2" })));
        for other in
            [json!({ "name": "s", "title": "T" }), json!({ "name": "s", "title": "S", "description": "x" })]
        {
            assert!(!read.accepts_server(&other), "{other}");
        }
        assert_eq!(read.accept(&said(&[tool("b")])).unwrap(), [Change::Changed("t".into())]);
        assert_eq!(read.accept(&said(&[])).unwrap(), [Change::Gone("t".into())]);

        std::fs::write(&path, "{\"tools\": {}, \"other\": 1}").unwrap();
        assert!(Pins::read(&path).is_err());
    }

    /// The order of members means nothing; an icon is nothing that a model reads.
    #[test]
    fn a_tool_is_the_same_in_any_order() {
        let one =
            json!({ "name": "t", "inputSchema": { "type": "object", "properties": { "a": 1, "b": 2 } } });
        let other = json!({ "inputSchema": { "properties": { "b": 2, "a": 1 }, "type": "object" }, "name": "t", "icons": [] });
        assert_eq!(digest(&one), digest(&other));
    }
}
