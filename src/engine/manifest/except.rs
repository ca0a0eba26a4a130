//! Gives rules their exceptions, and says which exceptions have none or are over.
//!
//! In: policies with their exceptions. Out: steps that assert their rule or an exception of it; findings about names that no rule has, and about exceptions
//! whose time is over. A policy makes exceptions of its own rules and of those that it uses. Linear in the exceptions times the steps.

use super::catalog::Catalog;
use super::exception::{DeclaredException, Excepted};
use super::messages;
use super::policy::DeclaredPolicy;
use super::policy_use::DeclaredUse;
use super::reader::{Path, Reader};
use super::step::{DeclaredAction, DeclaredStep};
use crate::cel::Timestamp;
use crate::diagnostic::Diagnostic;

impl DeclaredPolicy {
    /// Gives the rules of the policy their exceptions, and reports those of rules that it does not have. Those of used rules are left to the uses.
    pub(super) fn except(&mut self, reader: &mut Reader) {
        let exceptions = std::mem::take(&mut self.exceptions);
        for exception in exceptions.iter().filter(|exception| exception.of_use().is_none()) {
            let path = Path::document(&exception.name.path).key("rule");
            match self.rule_mut(&exception.rule.text).map(|step| step.except(exception)) {
                Some(true) => {}
                Some(false) => reader.report(&path, messages::exception_of_no_assert(&exception.rule)),
                // an empty name has been reported where it is
                None if exception.rule.text.is_empty() => {}
                None => {
                    let known: Vec<&str> = self.steps().filter_map(id_of).collect();
                    reader.report(&path, messages::unknown_rule(&exception.rule, &known));
                }
            }
        }
        self.exceptions = exceptions;
    }

    /// The step with this id. A check of tools judges before there is a task, where nobody knows what time it is: it has no exceptions.
    fn rule_mut(&mut self, id: &str) -> Option<Rule<'_>> {
        let is_of_tools = self.tools.iter().any(|step| is_called(step, id));
        let step = self.lists_mut().flatten().find(|step| is_called(step, id))?;
        Some(Rule { step, is_of_tools })
    }

    /// Gives the rules of a policy that a document uses the exceptions that it has for them.
    pub(super) fn except_used(&mut self, document: &Self, used: &DeclaredUse) {
        for exception in &document.exceptions {
            let Some((_, id)) = exception.of_use().filter(|(name, _)| is_use(used, name)) else { continue };
            if let Some(step) = self.rule_mut(id) {
                step.except(exception);
            }
        }
    }

    /// Reports the exceptions of rules that the used policies do not have; `library` finds a policy by its name.
    pub(super) fn check_exceptions_of_uses<'d>(
        &self,
        library: impl Fn(&str) -> Option<&'d Self>,
        reader: &mut Reader,
    ) {
        for exception in &self.exceptions {
            let Some((name, id)) = exception.of_use() else { continue };
            let path = Path::document(&exception.name.path).key("rule");
            let used = self.uses.iter().find(|used| is_use(used, name));
            // a use of an unknown policy has been reported where it is
            let Some(library) = used.map(|used| library(&used.policy.text)) else {
                let known = self.uses.iter().map(|used| format!("{}#{id}", used.name()));
                let known: Vec<String> = known.collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                reader.report(&path, messages::unknown_rule(&exception.rule, &known));
                continue;
            };
            let Some(library) = library else { continue };
            let is_of_tools = library.tools.iter().any(|step| is_called(step, id));
            match library.steps().find(|step| is_called(step, id)) {
                Some(step) if !is_of_tools && matches!(step.action, DeclaredAction::Assert(_)) => {}
                Some(_) => reader.report(&path, messages::exception_of_no_assert(&exception.rule)),
                None => {
                    let known: Vec<String> =
                        library.steps().filter_map(id_of).map(|id| format!("{name}#{id}")).collect();
                    let known: Vec<&str> = known.iter().map(String::as_str).collect();
                    reader.report(&path, messages::unknown_rule(&exception.rule, &known));
                }
            }
        }
    }
}

impl Catalog {
    /// A finding for each exception of its policies that lets nothing pass any more at a time.
    #[must_use]
    pub fn expired_exceptions(&self, now: Timestamp) -> Vec<Diagnostic> {
        let exceptions = self.policies.iter().flat_map(|policy| &policy.exceptions);
        let expired = exceptions.filter(|exception| exception.has_expired(now)).map(|exception| {
            let path = Path::document(&exception.name.path).key("until");
            messages::expired_exception(&exception.until).path(path.to_string())
        });
        let mut expired: Vec<Diagnostic> = expired.collect();
        self.allowances.clone().judge(&mut expired);
        expired
    }
}

/// Whether a use is called so: by the name of its policy, or by its own.
fn is_use(used: &DeclaredUse, name: &str) -> bool {
    *used.name() == *name
}

fn id_of(step: &DeclaredStep) -> Option<&str> {
    step.name.as_ref()?.id.as_deref()
}

fn is_called(step: &DeclaredStep, id: &str) -> bool {
    id_of(step) == Some(id)
}

/// A step that an exception names.
struct Rule<'s> {
    step: &'s mut DeclaredStep,
    is_of_tools: bool,
}

impl Rule<'_> {
    /// Gives the rule an exception. Whether it can have one.
    fn except(self, exception: &DeclaredException) -> bool {
        let Self { step, is_of_tools: false } = self else { return false };
        let DeclaredAction::Assert(rule) = &mut step.action else { return false };
        let excepted = step
            .excepted
            .get_or_insert_with(|| Box::new(Excepted { rule: rule.clone(), exceptions: Vec::new() }));
        excepted.exceptions.push(exception.clone());
        *rule = excepted.together();
        true
    }
}
