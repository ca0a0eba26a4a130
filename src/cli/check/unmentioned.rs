//! The functions that no rule mentions, agent by agent, and the decision about their calls.

use super::super::{Format, Screen};
use celador::manifest::Catalog;
use celador::manifest::mode::Mode;
use serde_json::json;
use std::io;

/// Lists them. An agent whose functions all have a rule has no line.
pub(super) fn list(catalog: &Catalog, screen: &mut Screen) -> io::Result<()> {
    for resolved in catalog.agents() {
        let unmentioned = resolved.unmentioned(Mode::Enforce);
        let functions = unmentioned.iter().filter_map(|at| resolved.function(*at));
        let functions: Vec<&str> = functions.map(|(_, function)| function.key.as_str()).collect();
        if functions.is_empty() {
            continue;
        }
        let agent = format!("{}/{}", resolved.agent.namespace.text, resolved.agent.name.text);
        let (word, decision) =
            if resolved.denies_by_default() { ("deny", "denied") } else { ("allow", "allowed") };
        match screen.format() {
            Format::Human => {
                let functions = functions.join(", ");
                screen
                    .line(&format!("{agent}: {decision} by default, as no rule mentions it: {functions}"))?;
            }
            Format::Json => screen
                .json("unmentioned", json!({ "agent": agent, "functions": functions, "default": word }))?,
        }
    }
    Ok(())
}
