//! A rule with exceptions, compiled: which exception lets something pass that the rule alone would have stopped.
//!
//! In: the rule, and its exceptions as they were written. Out: one expression that has them all, which decides, and each part by itself. The parts say
//! afterwards who has let something pass; they decide nothing, and cost nothing where nothing passes.

use super::expansion::asking;
use super::expression::{Expression, Texts};
use super::messages;
use crate::cel::Timestamp;
use crate::context::{Activations, ScopeEnv};
use crate::manifest::exception::{Excepted as Declared, PolicyException};
use crate::source::Embedded;
use std::sync::Arc;

/// A rule and its exceptions, apart.
#[derive(Debug)]
pub(crate) struct Excepted {
    rule: Expression,
    exceptions: Box<[Exception]>,
}

#[derive(Debug)]
struct Exception {
    /// What the rule lets pass; everything if absent.
    condition: Option<Expression>,
    /// From when on it lets nothing pass.
    ends: Timestamp,
    name: Arc<PolicyException>,
}

impl Excepted {
    /// Compiles the exceptions of a rule, and the expression that has both. Each part stands for itself: what is no expression alone is none with others.
    pub(super) fn compile(
        written: &Declared,
        rule: Expression,
        scope: &Arc<ScopeEnv>,
        together: &Embedded,
        path: &str,
        texts: &mut Texts<'_>,
    ) -> Option<(Expression, Self)> {
        let mut exceptions = Vec::new();
        let mut is_whole = true;
        for exception in &written.exceptions {
            let path = format!("{}.where", exception.name.path);
            let condition = exception.condition.as_ref().map(|text| {
                let compiled = Expression::compile(scope, text, &path, texts);
                if let Some(span) = compiled.as_ref().and_then(|it| asking(it.program().expr())) {
                    let finding = messages::review_in_exception(text.locate(span));
                    texts.findings.push(finding.path(&path));
                    is_whole = false;
                }
                is_whole &= compiled.is_some();
                compiled
            });
            let (ends, name) = (exception.ends, exception.name.clone());
            exceptions.push(Exception { condition: condition.flatten(), ends, name });
        }
        if !is_whole {
            return None;
        }
        let findings = texts.findings.len();
        let together = Expression::compile(scope, together, path, texts)?;
        // they have been told of the parts
        texts.findings.truncate(findings);
        Some((together, Self { rule, exceptions: exceptions.into() }))
    }

    /// The rule alone.
    pub(crate) const fn rule(&self) -> &Expression {
        &self.rule
    }

    /// The exception that let something pass which the rule alone would have stopped, or would have asked somebody about.
    pub(crate) fn by<'a>(
        &'a self,
        values: &mut Activations<'a>,
        now: Timestamp,
    ) -> Option<&'a Arc<PolicyException>> {
        let holds = |exception: &&'a Exception, values: &mut Activations<'a>| {
            let condition = exception.condition.as_ref();
            now < exception.ends && condition.is_none_or(|it| it.holds(values, None).unwrap_or(false))
        };
        let found = self.exceptions.iter().find(|exception| holds(exception, values))?;
        // what would have asked somebody has no answer here
        let passes = self.rule.holds(values, None).unwrap_or(false);
        (!passes).then_some(&found.name)
    }
}
