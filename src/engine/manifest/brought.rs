//! Tools that a task brings, put into the places that the agent's documents keep for them.
//!
//! In: tools as MCP lists them, and an agent that was linked without them. Out: the agent linked anew with those that a document
//! names under `brought`, and each of the others with the reason why nobody can call it. A tool whose schema nobody could hold a
//! value to is left out; two that would become one, and one that would become what the manifests declare, are errors of all
//! of them: a host that goes on with half of its tools would not see which. Linear in the tools and in the agent.

use super::capability_key::{META, sanitise};
use super::link::relink;
use super::listing::{Annotations, is_like};
use super::mount::Mount;
use super::node::Node;
use super::reader::{Path, Reader};
use super::resolved_agent::{ResolvedAgent, Target};
use super::tool::{ActionDecl, Tool};
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::source::{Place, Source, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A tool that a task brings, exactly as `tools/list` of MCP has it. Members that are not named here are not looked at.
///
/// ```
/// use celador::{BroughtAnnotations, BroughtTool, Engine, LeftOut, StartTask, User};
/// use std::time::SystemTime;
///
/// // the agent keeps places for the tools of one server
/// let manifests = r#"
/// kind: celador/v1/tools
/// namespace: acme
/// name: github
/// brought: ["mcp__github__*"]
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: acme
/// name: clerk
/// description: Keeps issues.
/// prompt: You keep issues.
/// capabilities:
///   github: {before: [{assert: "!input.title.contains('urgent')"}]}
/// "#;
/// let engine = Engine::parse("acme.yaml", manifests)?;
///
/// let listed = r#"[
///     {"name": "mcp__github__create_issue", "annotations": {"readOnlyHint": false},
///      "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}},
///     {"name": "shell", "inputSchema": {"type": "object"}}
/// ]"#;
/// let tools: Vec<BroughtTool> = serde_json::from_str(listed)?;
/// let hints = BroughtAnnotations { read_only_hint: Some(false), ..BroughtAnnotations::default() };
/// assert_eq!(tools[0].annotations, Some(hints));
///
/// let start = StartTask::new("t-1", "acme", "clerk", User::default(), SystemTime::now());
/// let task = engine.start(StartTask { tools, ..start })?;
/// assert_eq!(task.functions().collect::<Vec<_>>(), ["mcp__github__create_issue"]);
/// let shell = LeftOut { name: "shell".into(), reason: "no capability of the agent admits it".into() };
/// assert_eq!(task.tools_left_out(), [shell]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BroughtTool {
    /// Its name, by which the model calls it.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments. What `required` does not name is optional.
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub input_schema: Value,
    /// The JSON Schema of its successful results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub output_schema: Option<Value>,
    /// Hints of its server. Nobody has vouched for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BroughtAnnotations>,
}

/// Hints of a server about a tool, in the words of MCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolAnnotations"))]
pub struct BroughtAnnotations {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether the same call again changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether it reaches beyond what its server holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A tool that a task has brought and that nobody can call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason, in words: a schema that is not supported, with the place in it, or that nothing admits the tool.
    pub reason: String,
}

/// Why the tools of a task cannot be taken, all together.
///
/// ```
/// use celador::{BroughtTool, Engine, EngineLimits, StartTask, TaskError, ToolsError, User};
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// # let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
/// # let now = std::time::SystemTime::UNIX_EPOCH;
///
/// // the manifests declare a tool `payout`
/// let tools: Vec<BroughtTool> = serde_json::from_str(r#"[{"name": "payout", "inputSchema": {"type": "object"}}]"#)?;
/// let start = StartTask { tools, ..StartTask::new("t-1", "shop", "clerk", User::default(), now) };
/// assert_eq!(engine.start(start).err(), Some(TaskError::Tools(ToolsError::Declared("payout".into()))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// More tools than `max_brought_tools`, or a longer list of them than `max_brought_bytes`
    #[error("`{0}` {1} exceeded")]
    TooMany(&'static str, usize),
    /// A tool whose name is empty
    #[error("a tool has no name")]
    Nameless,
    /// `read-file` and `read_file`
    #[error("the tools `{0}` and `{1}` have the same key")]
    SameKey(String, String),
    /// A tool whose key is that of a function or record of the agent's manifests
    #[error("the tool `{0}` has the key of what the manifests declare")]
    Declared(String),
    /// A rule that cannot be about the tools as they are, such as a binding of a parameter that no tool has
    #[error("the rules do not fit the tools: {0}")]
    Misfit(String),
}

/// What became of the tools of a task.
pub(crate) struct Linked {
    /// The agent with its tools.
    pub(crate) agent: ResolvedAgent,
    pub(crate) left_out: Vec<LeftOut>,
    /// What linking found.
    pub(crate) findings: Vec<Diagnostic>,
}

/// Whether an agent keeps places for tools that tasks bring.
pub(crate) fn takes_tools(resolved: &ResolvedAgent) -> bool {
    resolved.capabilities.iter().filter_map(|entry| entry.tool()).any(|tool| tool.takes_brought())
}

/// The agent with the tools of a task, but for those that it refuses with a reason.
///
/// # Errors
/// As [`ToolsError`], but for rules that do not fit.
pub(crate) fn bring(
    resolved: &ResolvedAgent,
    mount: Option<&Mount>,
    tools: &[BroughtTool],
    refuses: impl Fn(&BroughtTool) -> Option<String>,
    limits: &EngineLimits,
) -> Result<Linked, ToolsError> {
    check_names(resolved, tools, limits)?;
    // what a tool says of itself is checked before anything is made of it
    let (mut passed, mut refused) = (Vec::new(), Vec::new());
    for tool in tools {
        match refuses(tool) {
            Some(reason) => refused.push(LeftOut { name: tool.name.clone(), reason }),
            None => passed.push(tool),
        }
    }
    let (actions, mut left_out, unenforced) = read(&passed, limits);
    left_out.extend(refused);
    let (agent, mut findings) = relink(resolved, mount, limits, |tool| tool.with(&actions));
    let admitted: HashSet<&str> = admitted(&agent).collect();
    let refused = actions.iter().filter(|action| !admitted.contains(&*action.name.text));
    left_out.extend(refused.map(|action| LeftOut {
        name: action.name.text.to_string(),
        reason: "no capability of the agent admits it".to_owned(),
    }));
    findings.extend(unenforced);
    Ok(Linked { agent, left_out, findings })
}

/// The names of the listed tools that the model can call, those that a task brings among them.
fn admitted(agent: &ResolvedAgent) -> impl Iterator<Item = &str> {
    agent.capabilities.iter().flat_map(|entry| {
        let active = entry.functions.iter().filter(|function| function.active);
        active.filter_map(move |function| {
            entry.action(function).filter(|action| !action.is_absent()).map(|it| &*it.name.text)
        })
    })
}

/// No two tools become one, and none becomes what is declared, whether or not anybody admits it.
fn check_names(
    resolved: &ResolvedAgent,
    tools: &[BroughtTool],
    limits: &EngineLimits,
) -> Result<(), ToolsError> {
    if tools.len() > limits.max_brought_tools {
        return Err(ToolsError::TooMany("max_brought_tools", limits.max_brought_tools));
    }
    // what is declared, by key, with the name for which a place is kept
    let mut declared: HashMap<&str, Option<&str>> = HashMap::from([(META, None)]);
    for entry in &resolved.capabilities {
        declared.extend(entry.tool_record().map(|key| (key, None)));
        declared.extend(entry.functions.iter().map(|function| {
            let kept = entry.action(function).filter(|action| action.is_absent());
            (&*function.key, kept.map(|action| &*action.name.text))
        }));
    }
    let mut keys: HashMap<String, &str> = HashMap::new();
    for tool in tools {
        if tool.name.is_empty() {
            return Err(ToolsError::Nameless);
        }
        if let Some(first) = keys.insert(sanitise(&tool.name), &tool.name) {
            return Err(ToolsError::SameKey(first.to_owned(), tool.name.clone()));
        }
    }
    let is_declared = |tool: &&BroughtTool| {
        let kept = declared.get(&*sanitise(&tool.name));
        kept.is_some_and(|kept| *kept != Some(&tool.name))
    };
    match tools.iter().find(is_declared) {
        Some(tool) => Err(ToolsError::Declared(tool.name.clone())),
        None => Ok(()),
    }
}

/// The tools as actions, those whose schemas are not supported, and which words of the others are not enforced.
fn read(tools: &[&BroughtTool], limits: &EngineLimits) -> (Vec<ActionDecl>, Vec<LeftOut>, Vec<Diagnostic>) {
    let source = Source::new("tools of the task", "");
    let place = Place::new(&source, Span::new(0, 0));
    // one budget of schemas for all of them, as for the tools of one document
    let mut reader = Reader::within(limits);
    let (mut actions, mut left_out) = (Vec::new(), Vec::new());
    for (at, tool) in tools.iter().enumerate() {
        let path = Path::document("tools").item(at);
        let before = reader.errors();
        let mut value = serde_json::to_value(tool).unwrap_or_default();
        // texts for people are read as they are, and hints below
        value.as_object_mut().map(|members| members.remove("annotations"));
        let node = Node::of_json(&value, &place, limits.max_yaml_depth);
        let action = node.and_then(|node| ActionDecl::read_listed(&node, &path, &mut reader));
        let is_right = reader.errors() == before && !reader.schemas.is_spent();
        match action.filter(|_| is_right) {
            Some(action) => actions.push(ActionDecl { annotations: hints(tool), ..action }),
            None => left_out.push(LeftOut {
                name: tool.name.clone(),
                reason: reader.last_error().filter(|_| reader.errors() > before).map_or_else(
                    || "its schemas are nested too deeply, or weigh too much".to_owned(),
                    |finding| {
                        let within = finding.path.strip_prefix(&path.to_string()).unwrap_or_default();
                        format!("{}: {}", within.trim_start_matches('.'), finding.message)
                    },
                ),
            }),
        }
    }
    let unenforced = reader.into_findings().into_iter().filter(|finding| finding.code == "unenforced_word");
    (actions, left_out, unenforced.collect())
}

fn hints(tool: &BroughtTool) -> Annotations {
    let said = tool.annotations.clone().unwrap_or_default();
    Annotations {
        read_only: said.read_only_hint,
        destructive: said.destructive_hint,
        idempotent: said.idempotent_hint,
        open_world: said.open_world_hint,
        untrusted: true,
    }
}

impl Tool {
    /// Whether it keeps places for tools that tasks bring.
    fn takes_brought(&self) -> bool {
        self.takes_patterns() || self.actions.iter().any(ActionDecl::is_absent)
    }

    /// The tool with those of a task that it keeps places for; nothing if it keeps none.
    fn with(&self, brought: &[ActionDecl]) -> Option<Self> {
        let listing = self.listing.as_ref().filter(|_| self.takes_brought())?;
        let mut actions = self.actions.clone();
        for tool in brought {
            let is_believed = listing.believed.iter().any(|it| is_like(&tool.name.text, &it.text));
            let annotations = Annotations { untrusted: !is_believed, ..tool.annotations };
            let tool = ActionDecl { tags: listing.tags.clone(), annotations, ..tool.clone() };
            let name = &tool.name.text;
            let named = actions.iter_mut().find(|action| action.name.text == *name);
            match named {
                Some(place) if place.is_absent() => *place = tool,
                Some(_) => {}
                None if listing.patterns.iter().any(|pattern| is_like(name, &pattern.text)) => {
                    actions.push(tool);
                }
                None => {}
            }
        }
        Some(Self { actions, ..self.clone() })
    }
}

impl Target {
    /// The target with the tools of a task.
    pub(super) fn with(&self, bring: impl Fn(&Tool) -> Option<Tool>) -> Self {
        match self {
            Self::Tool(tool) => Self::Tool(bring(tool).map_or_else(|| Arc::clone(tool), Arc::new)),
            other => other.clone(),
        }
    }
}
