//! The templates of a tool's backends, looked through when the agent is compiled (INT-06, INT-07, INT-14).
//!
//! In: the blocks of a tool as they were written. Out: findings about placeholders that can never have a value, or only in
//! another kind of backend. The host renders these templates for each call; nothing of them is kept here.

use super::messages;
use super::template::{PathStep, Placeholder, Template};
use crate::context::{Root, Selector};
use crate::diagnostic::{Diagnostic, nearest};
use crate::manifest::agent::MountScope;
use crate::manifest::catalog::{CapabilityEntry, DeclaredFunction};
use crate::manifest::event::{Receive, ReceiveKind};
use crate::manifest::node::{Data, Node};
use crate::manifest::tool::{DeclaredExecute, DeclaredRuntime, RuntimeKind, Tool};
use crate::source::Embedded;

/// The roots of a tool's fields (INT-03).
const ROOTS: &[&str] = &["settings", "parameters", "session", "mount", "auth", "context", "runtime", "agent"];

/// What the templates of one block may name.
struct Block<'b> {
    tool: &'b Tool,
    /// The function that the block carries out; none for an event.
    function: Option<&'b DeclaredFunction>,
    kind: Option<RuntimeKind>,
    mount: MountScope,
}

/// Looks through the backends of a capability's functions, and the secrets and subscriptions of its events.
pub(super) fn check_tool_templates(
    entry: &CapabilityEntry,
    mount: MountScope,
    findings: &mut Vec<Diagnostic>,
) {
    let Some(tool) = entry.tool() else { return };
    for function in &entry.functions {
        let execute = entry.action(function).map(|action| &action.execute);
        let Some(DeclaredExecute::Runtime(DeclaredRuntime { kind, path, node })) = execute else { continue };
        // what they describe lies elsewhere, and their fields are no templates (INT-21)
        if !kind.derives_parameters() {
            let block = Block { tool, function: Some(function), kind: Some(*kind), mount };
            each_text(node, path, &mut |text, path| block.check_text(text, path, findings));
        }
    }
    for event in &tool.events {
        let block = Block { tool, function: None, kind: None, mount };
        match &event.receive.kind {
            ReceiveKind::Webhook { secret: Some(secret) } => {
                block.check_text(secret, &format!("{}.secret", event.receive.path), findings);
            }
            ReceiveKind::Subscription => check_subscription(&event.receive, findings),
            ReceiveKind::Webhook { secret: None } | ReceiveKind::Poll { .. } => {}
        }
    }
}

/// Looks through the two requests of a subscription: neither has a session, and what subscribing gave is known only when
/// unsubscribing (INT-14).
fn check_subscription(receive: &Receive, findings: &mut Vec<Diagnostic>) {
    for request in ["subscribe", "unsubscribe"] {
        let Some(node) = receive.node.get(request) else { continue };
        each_text(node, &format!("{}.{request}", receive.path), &mut |text, path| {
            let template = Template::lenient(&text.text, |root| matches!(root, "subscribe" | "session"));
            let found = template.placeholders().filter_map(|placeholder| {
                let place = || text.locate(placeholder.span);
                match (&*placeholder.root, request) {
                    ("session", _) => Some(messages::no_session(place())),
                    ("subscribe", "subscribe") => Some(messages::not_subscribed_yet(place())),
                    _ => None,
                }
            });
            findings.extend(found.map(|finding| finding.path(path)));
        });
    }
}

/// The paths of the context that the templates of a capability's backends name: their host renders them whenever a call is carried out.
pub(super) fn context_paths(entry: &CapabilityEntry) -> Vec<Vec<Selector>> {
    let mut paths = Vec::new();
    for function in &entry.functions {
        let execute = entry.action(function).map(|action| &action.execute);
        let Some(DeclaredExecute::Runtime(DeclaredRuntime { path, node, .. })) = execute else { continue };
        each_text(node, path, &mut |text, _| {
            let template = Template::lenient(&text.text, |root| root == Root::Context.name());
            paths.extend(template.placeholders().map(Placeholder::selectors));
        });
    }
    paths
}

/// All texts of a node, however deep, each with its path.
fn each_text(node: &Node, path: &str, see: &mut impl FnMut(&Embedded, &str)) {
    match &node.data {
        Data::String(text) => see(text, path),
        Data::Sequence(items) => items.iter().enumerate().for_each(|(index, item)| {
            each_text(item, &format!("{path}[{index}]"), see);
        }),
        Data::Mapping(entries) => entries.iter().for_each(|entry| {
            each_text(&entry.value, &format!("{path}.{}", entry.key.text), see);
        }),
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => {}
    }
}

impl Block<'_> {
    fn check_text(&self, text: &Embedded, path: &str, findings: &mut Vec<Diagnostic>) {
        let template = Template::lenient(&text.text, |root| ROOTS.contains(&root));
        let found = template.placeholders().filter_map(|placeholder| self.finding(placeholder, text));
        findings.extend(found.map(|finding| finding.path(path)));
        let all = Template::lenient(&text.text, |root| !ROOTS.contains(&root));
        let literal = all.placeholders().filter_map(|placeholder| self.literal(placeholder, text, path));
        findings.extend(literal.map(|finding| finding.path(path)));
    }

    /// Braces that were to be a placeholder: all those of an address or a header, and elsewhere those that hold a name
    /// of this place or of another template. Other texts may hold braces of their own.
    fn literal(&self, placeholder: &Placeholder, text: &Embedded, path: &str) -> Option<Diagnostic> {
        let before = text.text.get(..placeholder.span.range().start).unwrap_or_default();
        if before.ends_with(['$', '{']) {
            return None;
        }
        let root = &*placeholder.root;
        let mut parameters = self.function?.parameters.iter().map(|parameter| parameter.name.as_str());
        let meant = if placeholder.path.is_empty() {
            parameters.find(|name| *name == root).map(|name| format!("parameters.{name}"))
        } else {
            let root = match root {
                "input" | "args" | "arguments" | "params" => Some("parameters"),
                root => nearest(root, ROOTS.iter().copied()),
            };
            root.zip(placeholder.dotted()).map(|(root, rest)| format!("{root}.{rest}"))
        };
        let is_address = path.ends_with(".url") || path.contains(".headers.");
        (meant.is_some() || is_address)
            .then(|| messages::literal_braces(text.locate(placeholder.span), root, meant))
    }

    fn finding(&self, placeholder: &Placeholder, text: &Embedded) -> Option<Diagnostic> {
        let place = || text.locate(placeholder.span);
        let first = placeholder.path.first();
        match (&*placeholder.root, first) {
            ("session", _) if self.kind.is_some_and(|kind| kind != RuntimeKind::StatefulSession) => {
                Some(messages::no_session(place()))
            }
            ("mount", _) if self.mount == MountScope::None => Some(messages::no_mount(place())),
            ("settings", Some(PathStep::Key(first))) => {
                let flat = placeholder.dotted();
                let declared = self.tool.settings.iter().map(|setting| &*setting.name.text);
                let known = declared.clone().any(|name| name == &**first || Some(name) == flat.as_deref());
                let key = flat.unwrap_or_else(|| first.to_string());
                (!known).then(|| messages::undeclared_setting(place(), &key, declared))
            }
            ("parameters", Some(PathStep::Key(name))) => {
                let function = self.function?;
                let declared = function.parameters.iter().map(|parameter| parameter.name.as_str());
                let known = declared.clone().any(|known| known == &**name);
                (!known).then(|| messages::undeclared_parameter(place(), name, declared))
            }
            _ => None,
        }
    }
}
