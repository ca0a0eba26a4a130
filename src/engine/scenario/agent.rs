//! The agent that a case, a script or a command names.
//!
//! In: a text of a person. Out: the agents that it may mean. It never chooses between several: the namespace must be
//! written where a name alone is in doubt.

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::manifest::Catalog;
use crate::manifest::agent::Agent;
use crate::source::Embedded;

/// The agents that a text may mean: `name`, or `namespace/name` where several namespaces have one of that name. Linear in
/// the agents.
#[must_use]
pub fn agents_named<'c>(catalog: &'c Catalog, text: &str) -> Vec<&'c Agent> {
    let agents = catalog.agents().iter().map(|resolved| &*resolved.agent);
    let meant = |agent: &&Agent| match text.split_once('/') {
        Some((namespace, name)) => *agent.namespace.text == *namespace && *agent.name.text == *name,
        None => *agent.name.text == *text,
    };
    agents.filter(meant).collect()
}

/// The one agent that a text of a file names.
///
/// # Errors
/// None, or several.
pub(super) fn agent_named<'c>(catalog: &'c Catalog, text: &Embedded) -> Result<&'c Agent, Box<Diagnostic>> {
    match agents_named(catalog, &text.text).as_slice() {
        [] => Err(messages::unknown_agent(text).into()),
        [agent] => Ok(agent),
        several => {
            let names: Vec<String> = several.iter().map(|agent| full_name(agent)).collect();
            Err(messages::ambiguous_agent(text, &names).into())
        }
    }
}

/// How an agent is named without doubt: `namespace/name`.
#[must_use]
pub fn full_name(agent: &Agent) -> String {
    format!("{}/{}", agent.namespace.text, agent.name.text)
}
