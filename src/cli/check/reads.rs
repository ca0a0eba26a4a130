//! `--reads`: of which calls the decision on a call of each function reads, and which records the call changes.

use crate::{Failure, Format, Screen};
use celador::policy::{AgentFunction, Dependencies, Policy};
use celador::scenario::Palette;
use serde_json::{Value, json};
use std::sync::Arc;

/// Lists what each function that the model may call depends on, agent by agent.
pub(super) fn list(policies: &[Arc<Policy>], screen: &mut Screen) -> Result<(), Failure> {
    for policy in policies {
        let agent = policy.agent();
        let agent = format!("{}/{}", agent.namespace.text, agent.name.text);
        let functions = policy.functions().iter().enumerate();
        for (position, function) in functions.filter(|(_, function)| function.offered) {
            if let Some(dependencies) = policy.dependencies(position) {
                say(policy, &agent, function, dependencies, screen)?;
            }
        }
    }
    Ok(())
}

fn say(
    policy: &Policy,
    agent: &str,
    function: &AgentFunction,
    Dependencies { reads, changes }: &Dependencies,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let key = |position: usize| policy.function(position).map_or("", |function| &*function.key);
    let read: Vec<&str> = reads.functions().map(key).collect();
    let made: Vec<&str> = reads.functions_made().map(key).collect();
    let changed: Vec<&str> = changes.functions().map(key).collect();
    match screen.format() {
        Format::Human => {
            let Palette { bold, dim, reset, .. } = screen.palette();
            let read = match &*read {
                _ if reads.is_everything() => "every call".to_owned(),
                [] => "no call".to_owned(),
                keys => keys.join(", "),
            };
            screen.line(&format!("{bold}{}{reset} {dim}of {agent}{reset}", function.key))?;
            screen.line(&format!("  reads {read}"))?;
            let made = if reads.is_everything_made() { "every call".to_owned() } else { made.join(", ") };
            if !made.is_empty() {
                screen.line(&format!("  reads without waiting, as arguments are known at once: {made}"))?;
            }
            screen.line(&format!("  changes {}", changed.join(", ")))?;
        }
        Format::Json => {
            let read = if reads.is_everything() { Value::from("*") } else { json!(read) };
            let made = if reads.is_everything_made() { Value::from("*") } else { json!(made) };
            let line = json!({"agent": agent, "function": function.key, "reads": read, "reads_made": made, "changes": changed});
            screen.json("dependencies", line)?;
        }
    }
    Ok(())
}
