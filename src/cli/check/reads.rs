//! `--reads`: of which calls the decision on a call of each function, or of the model, reads, and which records a call changes.

use crate::{Failure, Format, Screen};
use celador::manifest::step::Hook;
use celador::policy::{Dependencies, Policy};
use celador::scenario::Palette;
use serde_json::{Value, json};
use std::sync::Arc;

/// Lists what each function that the model may call depends on, agent by agent, and what a call of the model depends on where policies have
/// steps ahead of it.
pub(super) fn list(policies: &[Arc<Policy>], screen: &mut Screen) -> Result<(), Failure> {
    for policy in policies {
        let functions = policy.functions().iter().enumerate();
        for (position, function) in functions.filter(|(_, function)| function.offered) {
            if let Some(dependencies) = policy.dependencies(position) {
                say(policy, Some(&function.key), dependencies, screen)?;
            }
        }
        if policy.steps_of_model(Hook::ModelBefore).iter().next().is_some() {
            say(policy, None, policy.dependencies_of_model(), screen)?;
        }
    }
    Ok(())
}

/// Says what a call of a function depends on, or of the model where none is named. Calls of the model change no record.
fn say(
    policy: &Policy,
    function: Option<&str>,
    Dependencies { reads, changes }: &Dependencies,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let agent = policy.agent();
    let agent = format!("{}/{}", agent.namespace.text, agent.name.text);
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
            let name = function.unwrap_or("a call of the model");
            screen.line(&format!("{bold}{name}{reset} {dim}of {agent}{reset}"))?;
            screen.line(&format!("  reads {read}"))?;
            let made = if reads.is_everything_made() { "every call".to_owned() } else { made.join(", ") };
            if !made.is_empty() {
                screen.line(&format!("  reads without waiting, as arguments are known at once: {made}"))?;
            }
            if !changed.is_empty() {
                screen.line(&format!("  changes {}", changed.join(", ")))?;
            }
        }
        Format::Json => {
            let read = if reads.is_everything() { Value::from("*") } else { json!(read) };
            let made = if reads.is_everything_made() { Value::from("*") } else { json!(made) };
            let line = json!({"agent": agent, "function": function, "reads": read, "reads_made": made, "changes": changed});
            screen.json("dependencies", line)?;
        }
    }
    Ok(())
}
