//! A file whose operations can be explained: cases, or a recorded task.
//!
//! In: its text. Out: the cases or the task, and of what was explained the part that somebody asks for.

use super::case::Case;
use super::case_file::read;
use super::explain::ExplainedOperation;
use super::report::CaseOutcome;
use super::script::Script;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::doubt::Doubt;
use crate::manifest::role::Role;
use crate::manifest::yaml::{self, YamlDocument};
use crate::source::Source;

/// What a file holds that can be explained.
#[derive(Debug)]
pub enum Explainable {
    /// Cases.
    Cases(Vec<Case>),
    /// A recorded task.
    Script(Box<Script>),
}

impl Explainable {
    /// A file is one of cases if it has what no recorded task has.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        let documents = yaml::parse(source, limits, &mut Vec::new());
        let is_of_cases = |document: &YamlDocument| match Role::of(&document.node) {
            Role::Cases => true,
            Role::Doubtful(Doubt::Case { .. }) => document.node.get("agent").is_none(),
            _ => false,
        };
        if documents.iter().any(is_of_cases) {
            let mut cases = Vec::new();
            for case in read(source, limits) {
                match case.map_err(|report| report.outcome) {
                    Ok(case) => cases.push(case),
                    Err(CaseOutcome::Broken(findings)) => return Err(findings),
                    Err(CaseOutcome::Passed | CaseOutcome::Failed { .. }) => {}
                }
            }
            return Ok(Self::Cases(cases));
        }
        Script::read(source, limits).map(|script| Self::Script(Box::new(script)))
    }
}

impl Case {
    /// Whether this is its name, with or without that of a file of several.
    #[must_use]
    pub fn is_called(&self, meant: &str) -> bool {
        meant == &*self.name.text || meant == self.own_name()
    }

    /// Its name without that of a file of several.
    #[must_use]
    pub fn own_name(&self) -> &str {
        self.name.text.split_once('/').map_or(&*self.name.text, |(_, own)| own)
    }
}

impl ExplainedOperation {
    /// One step: of several operations the one of this number, of a single operation the step of this number; else the steps of this name. Nothing if there is none.
    #[must_use]
    pub fn chosen(explained: Vec<Self>, step: &str) -> Option<Vec<Self>> {
        if let Ok(number) = step.parse::<usize>() {
            if explained.len() > 1 {
                let is_it = |operation: &Self| operation.number == number;
                let chosen: Vec<Self> = explained.into_iter().filter(is_it).collect();
                return (!chosen.is_empty()).then_some(chosen);
            }
            let mut operation = explained.into_iter().next()?;
            let step = operation.explanation.steps.get(number.checked_sub(1)?)?.clone();
            operation.explanation.steps = vec![step];
            operation.explanation.expressions.clear();
            return Some(vec![operation]);
        }
        let named: Vec<Self> =
            explained.into_iter().filter_map(|operation| operation.step_alone(step)).collect();
        (!named.is_empty()).then_some(named)
    }
}
