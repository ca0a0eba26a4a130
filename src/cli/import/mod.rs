//! `celador import`: a document of tools out of what an MCP server or an OpenAPI document says.
//!
//! In: a command that runs a server, or a file. Out: the YAML of a document of kind `celador/v1/tools` that passes
//! `celador check`, on standard output or in a file that was not there; on standard error each tool that is left out.

pub(crate) mod document;
mod mcp;
mod openapi;
mod schema;
mod yaml;

use super::files::write_new;
use super::{ExitCode, Failure, Screen, messages};
use celador::limits::EngineLimits;
use celador::manifest::listing::is_like;
use clap::{Args, Subcommand};
use document::ToolsDocument;
use serde_json::Value;
use std::path::PathBuf;

/// Write manifests of tools: from an MCP server, or from an OpenAPI document
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador import mcp --output tools/files.yaml -- npx -y @modelcontextprotocol/server-filesystem /srv
  celador import openapi shop.yaml --name shop > tools/shop.yaml

A tool whose schema says what nobody could hold a value to is left out, and named on standard error.
Exit codes: 0 written, 1 the server or the file cannot be read, 2 no tool is left.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    source: From,
}

#[derive(Subcommand)]
enum From {
    Mcp(mcp::Arguments),
    #[command(name = "openapi")]
    OpenApi(openapi::Arguments),
}

/// How the document is called, and where it goes.
#[derive(Args)]
struct Target {
    /// The namespace of the document
    #[arg(long, default_value = "main")]
    namespace: String,

    /// The name of the document; that of the server or of the API without it
    #[arg(long)]
    name: Option<String>,

    /// Put in front of each tool's name, as runtimes do: `mcp__files__`
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,

    /// Only the tools of this name; `*` stands for any characters. May be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// A file that is not there yet, in place of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What was found: its own name, what it is for, its tools.
struct Found {
    name: String,
    description: Option<String>,
    tools: Vec<Value>,
    /// The parts of it that no document can say. They are left out, and the author is told so.
    notes: Vec<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let limits = EngineLimits::default();
        match self.source {
            From::Mcp(mcp) => {
                let found = mcp.found()?;
                mcp.target.put(found, &limits, screen)
            }
            From::OpenApi(openapi) => {
                let found = openapi.found(&limits, screen)?;
                openapi.target.put(found, &limits, screen)
            }
        }
    }
}

impl Target {
    fn put(self, found: Found, limits: &EngineLimits, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let Found { name, description, mut tools, notes } = found;
        if !self.only.is_empty() {
            let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            tools.retain(|tool| self.only.iter().any(|pattern| is_like(&name(tool), pattern)));
        }
        for tool in tools.iter_mut().filter(|_| !self.prefix.is_empty()) {
            if let Some(Value::String(name)) = tool.get_mut("name") {
                name.insert_str(0, &self.prefix);
            }
        }
        let name = self.name.unwrap_or_else(|| plain_name(&name));
        let written = ToolsDocument { namespace: self.namespace, name, description, tools }.write(limits)?;
        for note in notes {
            screen.note(&note);
        }
        for left_out in &written.left_out {
            screen.note(&messages::left_out(&left_out.tool, &left_out.reason));
        }
        if written.tools.is_empty() {
            screen.note(messages::NO_TOOL_LEFT);
            return Ok(ExitCode::No);
        }
        match &self.output {
            Some(path) => write_new(path, &written.text).map_err(|error| {
                let taken = error.kind() == std::io::ErrorKind::AlreadyExists;
                let said =
                    if taken { messages::already_there(path) } else { messages::cannot_create(path, &error) };
                Failure::Unusable(said)
            })?,
            None => screen.text(&written.text)?,
        }
        Ok(ExitCode::Yes)
    }
}

/// A name for a document: what a server or a title is called, in small letters, with `-` between the words.
pub(super) fn plain_name(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "tools".to_owned() } else { name.to_owned() }
}
