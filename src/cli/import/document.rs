//! A document of tools (`celador/v1/tools`) out of what a server says of its tools.
//!
//! In: tools as `tools/list` of MCP has them. Out: the YAML of a document that the manifests' own reader takes, and the tools
//! that are left out, each with the reason: the reader is asked, so nobody here knows what a schema may say. Linear in the
//! tools, times two.

use super::yaml::block;
use crate::{Failure, messages};
use celador::diagnostic::Diagnostic;
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::capability_key::sanitise;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// What of a tool is written; the rest is for the host.
const MEMBERS: [&str; 7] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta"];

/// The tools of a server, under the name of a document.
pub(crate) struct ToolsDocument {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) tools: Vec<Value>,
}

/// A tool that no document can have.
pub(crate) struct LeftOut {
    /// Its name, or its place in the list.
    pub(crate) tool: String,
    pub(crate) reason: String,
}

/// A document that is right.
pub(crate) struct Written {
    /// The whole document.
    pub(crate) text: String,
    /// Its name.
    pub(crate) name: String,
    /// The tools that it lists.
    pub(crate) tools: Vec<Value>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl ToolsDocument {
    /// Writes the document, without the tools that it cannot have.
    ///
    /// # Errors
    /// The whole is more than manifests may be.
    pub(crate) fn write(mut self, limits: &EngineLimits) -> Result<Written, Failure> {
        let mut left_out = Vec::new();
        let key = sanitise(&self.name);
        let is_namesake = |tool: &Value| sanitise(&name_of(tool)) == key;
        if self.tools.iter().any(is_namesake) {
            // the record of all of its tools has the name of the document
            self.name.push_str("-tools");
        }
        self.shorten(&mut left_out);
        let wrong = self.problems(limits);
        let mut at = 0_usize;
        self.tools.retain(|tool| {
            let path = format!("tools[{at}]");
            at = at.saturating_add(1);
            let own =
                |finding: &&Diagnostic| finding.path == path || finding.path.starts_with(&format!("{path}."));
            let Some(finding) = wrong.iter().find(own) else { return true };
            let within = finding.path.strip_prefix(&path).unwrap_or_default().trim_start_matches('.');
            left_out.push(LeftOut { tool: name_of(tool), reason: format!("{within}: {}", finding.message) });
            false
        });
        if let Some(finding) = self.problems(limits).first().filter(|_| !self.tools.is_empty()) {
            return Err(Failure::Unusable(messages::tools_too_large(&finding.message)));
        }
        Ok(Written { text: self.text(), name: self.name, tools: self.tools, left_out })
    }

    /// Leaves out of each tool what is not written, and those whose names are no names or are taken.
    fn shorten(&mut self, left_out: &mut Vec<LeftOut>) {
        let mut keys = HashSet::from([sanitise(&self.name)]);
        let mut kept = Vec::new();
        for (at, tool) in std::mem::take(&mut self.tools).into_iter().enumerate() {
            let Some(name) = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
                left_out.push(LeftOut { tool: format!("tool {at}"), reason: "it has no name".to_owned() });
                continue;
            };
            if !keys.insert(sanitise(name)) {
                let reason = format!("the key `{}` is taken", sanitise(name));
                left_out.push(LeftOut { tool: name.to_owned(), reason });
                continue;
            }
            let members = MEMBERS.iter().filter_map(|member| {
                let value = tool.get(*member).filter(|value| !value.is_null())?;
                Some(((*member).to_owned(), value.clone()))
            });
            kept.push(Value::Object(members.collect::<Map<_, _>>()));
        }
        self.tools = kept;
    }

    /// What keeps the document from being used as it is.
    fn problems(&self, limits: &EngineLimits) -> Vec<Diagnostic> {
        let limits = EngineLimits { max_diagnostics: usize::MAX, ..*limits };
        let source = Source::new("tools.yaml", self.text());
        let (_, mut findings) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
        findings.retain(Diagnostic::is_refused);
        findings
    }

    fn text(&self) -> String {
        let mut document = Map::new();
        document.insert("kind".to_owned(), json!("celador/v1/tools"));
        document.insert("namespace".to_owned(), json!(self.namespace));
        document.insert("name".to_owned(), json!(self.name));
        let description = self.description.as_ref().filter(|text| !text.is_empty());
        document.extend(description.map(|text| ("description".to_owned(), json!(text))));
        document.insert("tools".to_owned(), json!(self.tools));
        block(&Value::Object(document))
    }
}

fn name_of(tool: &Value) -> String {
    tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}
