//! Labels of steps, compiled, and how copies are looked for in the tasks of an agent.
//!
//! In: the labels that a step gives or takes away, and the policies that are for an agent. Out: a [`LabelStep`], and the number of
//! letters that make a copy: the smallest of any policy, so that another policy can make the rules of one only stricter.

use super::expression::{Expression, Texts};
use super::messages;
use crate::cel::Type;
use crate::context::{CopyRules, LabelSet, ScopeEnv};
use crate::limits::EngineLimits;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::label::{DeclaredLabels, LabelTexts};
use std::sync::Arc;

/// How many letters in a row make a copy where no policy says so. Shorter runs stand in texts that have nothing to do with each other
/// (`thank you f`), and longer ones let an account number in groups, a telephone number or a short address pass.
pub const COPY_LETTERS: usize = 12;

/// What a step does with labels.
#[derive(Debug)]
pub struct LabelStep {
    /// Whether it takes them away.
    pub takes: bool,
    /// Whether the task has them, and not the result or input.
    pub of_task: bool,
    /// Which labels these are.
    pub labels: StepLabels,
}

/// Labels of a step.
#[derive(Debug)]
pub enum StepLabels {
    /// These.
    Written(LabelSet),
    /// The text or the texts that this gives.
    Computed(Expression),
}

impl LabelStep {
    pub(super) fn compile(
        written: &DeclaredLabels,
        scope: &Arc<ScopeEnv>,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<Self> {
        let labels = match &written.texts {
            LabelTexts::Written(labels) => {
                StepLabels::Written(labels.iter().map(|label| label.text.clone()).collect())
            }
            LabelTexts::Computed(text) => {
                let expression = Expression::compile(scope, text, path, texts)?;
                if !may_be_labels(expression.program().result_type()) {
                    let finding = messages::label_misfit(expression.place().clone());
                    texts.findings.push(finding.path(&expression.origin().path));
                }
                StepLabels::Computed(expression)
            }
        };
        Some(Self { takes: written.takes, of_task: written.of_task, labels })
    }

    /// The expression that gives the labels, if one does.
    pub(super) fn computed(&self) -> Option<&Expression> {
        match &self.labels {
            StepLabels::Computed(expression) => Some(expression),
            StepLabels::Written(_) => None,
        }
    }
}

/// Whether a value of this type may be a text or a list of texts.
fn may_be_labels(ty: &Type) -> bool {
    let may_be_text = |ty: &Type| matches!(ty, Type::Dyn | Type::String);
    may_be_text(ty) || matches!(ty, Type::List(element) if may_be_text(element))
}

/// How copies are looked for in the tasks of an agent.
pub(super) fn copy_rules(resolved: &ResolvedAgent, limits: &EngineLimits) -> CopyRules {
    CopyRules { least: copy_letters(resolved), max_bytes: limits.max_label_bytes }
}

/// How many letters in a row make a copy.
pub(super) fn copy_letters(resolved: &ResolvedAgent) -> usize {
    let said = resolved.policies.iter().filter_map(|applied| applied.policy.copy_letters);
    said.min().unwrap_or(COPY_LETTERS)
}
