//! Tools that tasks may bring, made of the places that agents keep for them and of the rules about them.
//!
//! In: an agent, as one or several sets of policies have it. Out: a few tools whose names fit the places and the keys of the rules. Their arguments are those that rules
//! read, each a number or a text. No such tool is a proof about others: what is found with it is a task, and what is not found says nothing.

use crate::cel::{Expr, ExprKind, parse};
use crate::limits::EngineLimits;
use crate::manifest::brought::{BroughtTool, takes_tools};
use crate::manifest::capability_key::sanitise;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::counter::DeclaredCounter;
use crate::manifest::listing::is_like;
use crate::source::Embedded;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The most tools that are made.
const MOST_TOOLS: usize = 6;

/// What stands for `*` in a name.
const FILLER: &str = "x";

/// Tools that tasks of an agent may bring; none if no side keeps places for any.
pub(crate) fn brought_tools(sides: &[&ResolvedAgent], limits: &EngineLimits) -> Vec<BroughtTool> {
    if !sides.iter().any(|side| takes_tools(side)) {
        return Vec::new();
    }
    let (mut patterns, mut names, mut taken) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for side in sides {
        for entry in &side.capabilities {
            taken.extend(entry.tool_record().map(str::to_owned));
            taken.extend(entry.functions.iter().map(|function| function.key.clone()));
            let Some(tool) = entry.tool() else { continue };
            for action in tool.actions.iter().filter(|action| action.is_absent()) {
                taken.remove(&sanitise(&action.name.text));
                names.push(action.name.text.to_string());
            }
            let listed = tool.listing.iter().flat_map(|listing| &listing.patterns);
            patterns.extend(listed.map(|pattern| pattern.text.to_string()));
        }
        // the names that rules are about
        let keys = side.policies.iter().flat_map(|applied| &applied.policy.capabilities).map(|it| &it.key);
        let counted = side.policies.iter().flat_map(|applied| &applied.policy.counters);
        let keys = keys.chain(counted.flat_map(|counter| counter.on.iter().map(|on| &on.key)));
        let keys = keys.filter(|key| !key.text.contains(':') && &*key.text != "*");
        names.extend(keys.map(|key| key.text.replace('*', FILLER)));
    }
    names.extend(patterns.iter().map(|pattern| pattern.replace('*', FILLER)));
    let is_taken_in = |name: &String| {
        let is_named = sides.iter().flat_map(|side| &side.capabilities).filter_map(|entry| entry.tool());
        let mut places = is_named.flat_map(|tool| &tool.actions).filter(|action| action.is_absent());
        places.any(|action| *action.name.text == **name) || patterns.iter().any(|it| is_like(name, it))
    };
    let schema = arguments_read(sides, limits);
    let mut known = taken;
    let fitting = names.into_iter().filter(|name| is_taken_in(name) && known.insert(sanitise(name)));
    let tool = |name| BroughtTool {
        name,
        title: None,
        description: Some("A tool of a server.".to_owned()),
        input_schema: schema.clone(),
        output_schema: None,
        annotations: None,
    };
    fitting.take(MOST_TOOLS).map(tool).collect()
}

/// A schema of the arguments that rules read.
fn arguments_read(sides: &[&ResolvedAgent], limits: &EngineLimits) -> Value {
    let mut names = BTreeSet::new();
    let mut read = |text: &Embedded| {
        if let Ok(expression) = parse(&text.text, &limits.eval) {
            collect_arguments(&expression, &mut names);
        }
    };
    for side in sides {
        side.agent
            .capabilities
            .iter()
            .flat_map(|it| it.steps())
            .flat_map(|it| it.expressions())
            .for_each(&mut read);
        for applied in &side.policies {
            let policy = &applied.policy;
            policy.steps().flat_map(|step| step.expressions()).for_each(&mut read);
            policy.variables.iter().map(|variable| &variable.expression).for_each(&mut read);
            let of_counters = policy.counters.iter().flat_map(DeclaredCounter::expressions);
            of_counters.map(|(_, text)| text).for_each(&mut read);
        }
    }
    let either = json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] });
    let properties: Map<String, Value> = names.into_iter().map(|name| (name, either.clone())).collect();
    json!({ "type": "object", "properties": properties })
}

fn collect_arguments(expression: &Expr, names: &mut BTreeSet<String>) {
    if let ExprKind::Select { operand, field, .. } | ExprKind::Has { operand, field } = &expression.kind
        && matches!(&operand.kind, ExprKind::Ident { name, .. } if name == "input")
    {
        names.insert(field.text.clone());
    }
    expression.for_each_part(&mut |part| collect_arguments(part, names));
}
