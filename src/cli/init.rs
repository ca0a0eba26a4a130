//! `celador init`: a folder to begin with: an agent, its tools, and cases that pass.
//!
//! In: a folder, and tools as MCP lists them or the name of a policy, if there is one. Out: the files of `starter/` in it, or an
//! agent of those tools, or that policy.
//! What is there already stays as it is: if one of the files exists, nothing is written, and if one cannot be written, those
//! before it are taken away again.

use super::files::{read_text, write_new};
use super::import::document::{LeftOut, ToolsDocument, Written};
use super::ready_policies::{READY_POLICIES, ReadyPolicy};
use super::{ExitCode, Failure, Format, Screen, messages};
use celador::limits::EngineLimits;
use celador::manifest::listing::Annotations;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The files, by their paths in the folder.
const FILES: [(&str, &str); 6] = [
    ("agent.yaml", include_str!("starter/agent.yaml")),
    ("tools/orders.yaml", include_str!("starter/tools/orders.yaml")),
    ("cases/card-is-hidden.yaml", include_str!("starter/cases/card-is-hidden.yaml")),
    ("cases/large-refund-asks-the-lead.yaml", include_str!("starter/cases/large-refund-asks-the-lead.yaml")),
    ("cases/refund-needs-the-order.yaml", include_str!("starter/cases/refund-needs-the-order.yaml")),
    ("cases/small-refund-goes-through.yaml", include_str!("starter/cases/small-refund-goes-through.yaml")),
];

/// The files of an agent of given tools; `TOOLS` stands for the name of their document.
const AGENT_OF_TOOLS: &str = include_str!("starter/of-tools/agent.txt");
const POLICY_OF_TOOLS: &str = include_str!("starter/of-tools/policy.yaml");
const CASE_OF_TOOLS: &str = include_str!("starter/of-tools/case.yaml");
/// The longest list of tools.
const MAX_TOOLS_BYTES: usize = 33_554_432;

/// Write an agent, a tool and cases to begin with, or a policy to copy
///
/// No file is overwritten: if one of them is there already, nothing is written.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador init --from-tools tools.json my-agent     an agent of the tools that MCP lists, which denies all others
  celador init my-agent                             a helpdesk with rules, as an example
  celador init --policy spending my-agent/spending  a policy with its cases; name your agents in it
  celador check --strict my-agent
  celador test my-agent

Exit codes: 0 written, 1 a file is there already or cannot be written, or there is no policy of that name.")]
pub(crate) struct Arguments {
    /// The folder; made if it is not there
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,

    /// The tools of the agent: the JSON of MCP's `tools/list`, or a list of such tools; `-` for standard input
    #[arg(long, value_name = "FILE")]
    from_tools: Option<PathBuf>,

    /// A policy to copy, with cases for both sides of its rules and the attacks that it stops
    #[arg(long, value_name = "NAME", conflicts_with = "from_tools")]
    #[arg(value_parser = PossibleValuesParser::new(READY_POLICIES.iter().map(|policy| policy.name)))]
    policy: Option<String>,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let files: Vec<(&str, String)> = match &self.from_tools {
            Some(path) => of_tools(path, screen)?,
            None => {
                let texts = self.ready_policy().map_or(&FILES[..], |policy| policy.files);
                texts.iter().map(|(path, text)| (*path, (*text).to_owned())).collect()
            }
        };
        let paths: Vec<(PathBuf, String)> =
            files.into_iter().map(|(path, text)| (self.folder.join(path), text)).collect();
        if let Some((path, _)) = paths.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
            return Err(Failure::Unusable(messages::already_there(path)));
        }
        let folders = [self.folder.join("tools"), self.folder.join("cases"), self.folder.clone()];
        let made: Vec<&PathBuf> = folders.iter().filter(|folder| !folder.exists()).collect();
        let mut written: Vec<&Path> = Vec::new();
        for (path, text) in &paths {
            if let Err(error) = write_new(path, text) {
                written.into_iter().for_each(|path| drop(fs::remove_file(path)));
                made.into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
                return Err(Failure::Unusable(messages::cannot_create(path, &error)));
            }
            written.push(path);
        }
        for (path, _) in &paths {
            let path = path.display().to_string();
            match screen.format() {
                Format::Human => screen.line(&path)?,
                Format::Json => screen.json("written", json!({ "file": path }))?,
            }
        }
        Ok(ExitCode::Yes)
    }

    /// The policy that is asked for by name.
    fn ready_policy(&self) -> Option<&'static ReadyPolicy> {
        let name = self.policy.as_deref()?;
        READY_POLICIES.iter().find(|policy| policy.name == name)
    }
}

/// The files of an agent of these tools: what may destroy something asks its user first, and a tool without a rule is denied.
fn of_tools(path: &Path, screen: &mut Screen) -> Result<Vec<(&'static str, String)>, Failure> {
    let text = read_text(path, MAX_TOOLS_BYTES)?;
    let unusable = || Failure::Unusable(messages::no_tools(path));
    let mut list: Value = serde_json::from_str(&text).map_err(|_| unusable())?;
    // also a whole answer of a server
    let member = ["/tools", "/result/tools"].into_iter().find(|pointer| list.pointer(pointer).is_some());
    let list = match member.and_then(|pointer| list.pointer_mut(pointer)) {
        Some(tools) => tools.take(),
        None => list,
    };
    let Value::Array(tools) = list else { return Err(unusable()) };
    let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| *name != "-");
    let name = super::import::plain_name(name.unwrap_or("tools"));
    let document = ToolsDocument { namespace: "starter".to_owned(), name, description: None, tools };
    let Written { text: document, name, tools, left_out } = document.write(&EngineLimits::default())?;
    for LeftOut { tool, reason } in left_out {
        screen.note(&messages::left_out(&tool, &reason));
    }
    if tools.is_empty() {
        return Err(Failure::Unusable(messages::NO_TOOL_LEFT.to_owned()));
    }
    let mut steps = "    before:\n".to_owned();
    for tool in &tools {
        let name = tool.get("name").cloned().unwrap_or_default();
        let assert = if may_destroy(tool) { "review(context.user.id)" } else { "\"true\"" };
        let _ = writeln!(steps, "      - {{match: {name}, assert: {assert}}}");
    }
    let agent = AGENT_OF_TOOLS.replace("    STEPS\n", &steps).replace("TOOLS", &name);
    Ok(vec![
        ("agent.yaml", agent),
        ("policy.yaml", POLICY_OF_TOOLS.to_owned()),
        ("tools/tools.yaml", document),
        ("cases/only-listed-tools.yaml", CASE_OF_TOOLS.to_owned()),
    ])
}

/// Whether a call of a tool may destroy something, as far as its server says.
fn may_destroy(tool: &Value) -> bool {
    let hint = |name: &str| tool.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
    let annotations = Annotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        ..Annotations::default()
    };
    annotations.is_destructive()
}
