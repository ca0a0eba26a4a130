//! The inputs of schedules and triggers against the schemas of their agent (SCH-04, TRG-10).

use super::messages;
use super::parameters::Parameters;
use crate::cel::Json;
use crate::diagnostic::Diagnostic;
use crate::manifest::agent::Agent;
use crate::manifest::launch::Launch;
use crate::manifest::node::Node;

/// Reports every input whose value is not of the type that the agent's parameter has. That they are all there has been
/// seen to where documents are linked; `message` has a form of its own.
pub fn check_inputs(launch: &Launch, agent: &Agent, findings: &mut Vec<Diagnostic>) {
    let Some(written) = launch.inputs.as_ref().and_then(Node::as_mapping) else { return };
    let parameters = Parameters::of_agent(&agent.parameters);
    for entry in written.iter().filter(|entry| &*entry.key.text != "message") {
        let name = &*entry.key.text;
        let declared = parameters.iter().find(|parameter| &*parameter.name == name);
        let value = Json::from(entry.value.to_json());
        if let Some(Err(misfit)) = declared.map(|parameter| parameter.shape.check(&value.value())) {
            let finding = messages::input_misfit(&entry.value.place, name, &misfit);
            findings.push(finding.path(launch.path_of(&format!("inputs.{name}"))));
        }
    }
}
