//! What was loaded: an engine, and the names by which its agents are found.

use crate::sources::Sources;
use crate::{Error, Flaw};
use celador::engine::Engine;

/// Manifests and policies whose agents may all run.
pub(crate) struct Loaded {
    pub(crate) engine: Engine,
    /// Namespaces and names, in their order.
    pub(crate) agents: Vec<(String, String)>,
    pub(crate) warnings: Vec<Flaw>,
    #[cfg(feature = "stores")]
    pub(crate) texts: Vec<celador::manifest::load::File>,
}

impl Loaded {
    pub(crate) fn of(read: Sources) -> Self {
        let agents = read.catalog.agents().iter().map(|resolved| &resolved.agent);
        let names = agents.map(|agent| (agent.namespace.text.to_string(), agent.name.text.to_string()));
        let mut agents: Vec<(String, String)> = names.collect();
        agents.sort();
        Self {
            engine: read.engine,
            agents,
            warnings: read.findings.iter().map(Flaw::of).collect(),
            #[cfg(feature = "stores")]
            texts: read.files,
        }
    }

    /// Namespace and name of the agent that is meant.
    pub(crate) fn agent(&self, wanted: Option<&str>) -> Result<(String, String), Error> {
        let is_meant = |(namespace, name): &&(String, String)| match wanted {
            None => true,
            Some(wanted) => match wanted.split_once('/') {
                Some((space, wanted)) => space == namespace && wanted == name,
                None => wanted == name,
            },
        };
        let mut found = self.agents.iter().filter(is_meant);
        match (found.next(), found.next()) {
            (Some(agent), None) => Ok(agent.clone()),
            (None, _) => {
                let known = self.known();
                Err(Error::misuse("unknown_agent", format!("no agent has this name; there are {known}")))
            }
            (Some(_), Some(_)) => {
                let known = self.known();
                Err(Error::misuse(
                    "unknown_agent",
                    format!("several agents could be meant: name one of {known}"),
                ))
            }
        }
    }

    fn known(&self) -> String {
        let names: Vec<String> =
            self.agents.iter().map(|(namespace, name)| format!("`{namespace}/{name}`")).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
