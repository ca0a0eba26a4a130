//! Policies that use others: each use makes a policy of its own out of the document that it names, with the values that it gives.
//!
//! In: all policy documents. Out: the policies that apply, in the order in which they do: of each document those that it uses, then
//! itself; and findings about uses. What is used holds for whom the policy holds that uses it, and goes by its name, with the way
//! to the step beside. A policy may pass on a value that it was given itself. A document with a use that cannot be made is not sound, so no agent runs without a part of its policy.
//! `max_rule_matches` bounds the steps of all that are made, and `max_depth` how far a chain of uses goes.

use super::messages;
use super::mode::Mode;
use super::policy::{DeclaredPolicy, ImportedExpressions, PolicyCapability};
use super::policy_step::PolicyStep;
use super::policy_use::{DeclaredUse, GivenValue, PolicyParameter, UsedBy};
use super::reader::{Path, Reader};
use super::step::DeclaredStep;
use super::task_limit::TaskLimits;
use crate::limits::EngineLimits;
use std::collections::HashMap;
use std::sync::Arc;

/// The policies that apply.
pub(super) struct Policies {
    /// The documents, in the order of their names.
    pub(super) documents: Vec<Arc<DeclaredPolicy>>,
    /// These and those that they use.
    pub(super) all: Vec<Arc<DeclaredPolicy>>,
}

/// Makes what the documents use.
pub(super) fn with_uses(
    mut documents: Vec<DeclaredPolicy>,
    limits: &EngineLimits,
    reader: &mut Reader,
) -> Policies {
    documents.sort_by_key(DeclaredPolicy::full_name);
    let mut names = HashMap::new();
    for (at, document) in documents.iter().enumerate() {
        names.entry(document.full_name()).or_insert(at);
    }
    let mut check =
        Check { documents: &documents, names: &names, limits, seen: HashMap::new(), faulty: Vec::new() };
    for at in 0..documents.len() {
        check.document(at, &mut Vec::new(), reader);
    }
    for at in check.faulty {
        documents.get_mut(at).into_iter().for_each(|document| document.sound = false);
    }
    let documents: Vec<Arc<DeclaredPolicy>> = documents.into_iter().map(Arc::new).collect();
    let mut make = Make {
        documents: &documents,
        names: &names,
        left: limits.max_rule_matches,
        excess: None,
        chain: Vec::new(),
        max_chain: limits.eval.max_depth,
        all: Vec::new(),
    };
    // a library with an error may be none: the default may be what is misspelt
    for document in documents.iter().filter(|document| !(document.sound && document.is_library())) {
        let user = PolicyStep { labels: document.labels.clone(), ..PolicyStep::of(&document.full_name()) };
        make.chain = vec![document.clone()];
        let imports = make.uses(document, document, &UsedBy { user, uses: Vec::new() });
        let finding = match make.excess.take() {
            Some(Excess::Steps) => messages::too_many_uses(&document.name, limits.max_rule_matches),
            Some(Excess::Depth) => messages::uses_too_deep(&document.name, limits.eval.max_depth),
            None if imports.is_empty() => {
                make.all.push(document.clone());
                continue;
            }
            None => {
                make.all.push(Arc::new(DeclaredPolicy { imports, ..DeclaredPolicy::clone(document) }));
                continue;
            }
        };
        reader.report(&Path::document(&document.path).key("uses"), finding);
        make.all.push(Arc::new(DeclaredPolicy { sound: false, ..DeclaredPolicy::clone(document) }));
    }
    let all = make.all;
    Policies { documents, all }
}

/// Finds what is wrong with uses.
struct Check<'d> {
    documents: &'d [DeclaredPolicy],
    names: &'d HashMap<String, usize>,
    limits: &'d EngineLimits,
    /// The documents that were looked at; `false` while those that they use are.
    seen: HashMap<usize, bool>,
    /// Documents with a use that cannot be made.
    faulty: Vec<usize>,
}

impl<'d> Check<'d> {
    /// `chain` are the documents that lead here, each of which uses the next.
    fn document(&mut self, at: usize, chain: &mut Vec<usize>, reader: &mut Reader) {
        let Some(document) = self.documents.get(at).filter(|_| !self.seen.contains_key(&at)) else { return };
        self.seen.insert(at, false);
        chain.push(at);
        let mut names: HashMap<Arc<str>, &DeclaredUse> = HashMap::new();
        for used in &document.uses {
            let path = Path::document(&used.path);
            let errors = reader.errors();
            if let Some(first) = names.insert(used.name(), used) {
                reader.report(&path, messages::same_use(&used.policy, first.place.clone()));
            }
            match self.names.get(&*used.policy.text) {
                Some(library) => self.follow(*library, used, chain, reader),
                // an empty name has been reported where it is
                None if used.policy.text.is_empty() => {}
                None => {
                    let known: Vec<&str> = self.names.keys().map(String::as_str).collect();
                    reader.report(&path.key("policy"), messages::unknown_policy(&used.policy, &known));
                }
            }
            if reader.errors() > errors {
                self.faulty.push(at);
            }
        }
        let errors = reader.errors();
        let library = |name: &str| self.names.get(name).and_then(|at| self.documents.get(*at));
        document.check_exceptions_of_uses(library, reader);
        if reader.errors() > errors {
            self.faulty.push(at);
        }
        chain.pop();
        self.seen.insert(at, true);
    }

    fn follow(&mut self, at: usize, used: &DeclaredUse, chain: &mut Vec<usize>, reader: &mut Reader) {
        let (Some(library), Some(user)) =
            (self.documents.get(at), chain.last().and_then(|at| self.documents.get(*at)))
        else {
            return;
        };
        let path = Path::document(&used.path);
        if self.seen.get(&at) == Some(&false) {
            let circle = chain.iter().skip_while(|known| **known != at).copied();
            let names: Vec<String> =
                circle.filter_map(|at| Some(self.documents.get(at)?.full_name())).collect();
            reader.report(&path.key("policy"), messages::circle_of_uses(&used.policy, &names));
            self.faulty.extend(chain.iter().skip_while(|known| **known != at));
            return;
        }
        if chain.len() >= self.limits.eval.max_depth {
            reader.report(
                &path.key("policy"),
                messages::uses_too_deep(&used.policy, self.limits.eval.max_depth),
            );
            return;
        }
        if let Some((text, required)) = &used.version
            && !library.version.as_ref().is_some_and(|version| required.admits(version))
        {
            let found = library.version.as_ref().map(ToString::to_string);
            let finding = messages::unfit_version(text, found.as_deref(), library.name.place.clone());
            reader.report(&path.key("version"), finding);
        }
        let known: Vec<&str> = library.parameters.iter().map(|parameter| &*parameter.name.text).collect();
        for (name, given) in used.with.iter().filter(|(name, _)| !known.contains(&&*name.text)) {
            reader.report(
                &Path::document(&given.path),
                messages::surplus_value(name, &used.policy.text, &known),
            );
        }
        for (_, given) in &used.with {
            let Some((text, name)) = given.passes_on() else { continue };
            let own: Vec<&str> = user.parameters.iter().map(|parameter| &*parameter.name.text).collect();
            if !own.contains(&name) {
                reader.report(&Path::document(&given.path), messages::unknown_parameter(text, name, &own));
            }
        }
        let is_given =
            |parameter: &&PolicyParameter| used.with.iter().any(|(name, _)| name.text == parameter.name.text);
        for parameter in library.parameters.iter().filter(|parameter| parameter.value.is_none()) {
            if !is_given(&parameter) {
                let finding =
                    messages::missing_value(&used.policy, &parameter.name.text, parameter.name.place.clone());
                reader.report(&path.key("with"), finding);
            }
        }
        self.document(at, chain, reader);
    }
}

/// A bound that what is used does not keep to.
enum Excess {
    Steps,
    Depth,
}

/// Makes policies out of uses.
struct Make<'d> {
    documents: &'d [Arc<DeclaredPolicy>],
    names: &'d HashMap<String, usize>,
    /// How many steps may still be made.
    left: usize,
    /// The bound that was met while the uses of a document were made.
    excess: Option<Excess>,
    /// The documents that lead to the one whose uses are made.
    chain: Vec<Arc<DeclaredPolicy>>,
    max_chain: usize,
    all: Vec<Arc<DeclaredPolicy>>,
}

impl Make<'_> {
    /// Makes what a document uses, with the values of its own that it passes on, for the agents of `user`. Returns the named expressions that
    /// the document can call.
    fn uses(
        &mut self,
        user: &DeclaredPolicy,
        document: &DeclaredPolicy,
        by: &UsedBy,
    ) -> Vec<ImportedExpressions> {
        let mut imports = Vec::new();
        for used in &document.uses {
            let library = self.names.get(&*used.policy.text).and_then(|at| self.documents.get(*at));
            let Some(library) = library.filter(|_| self.excess.is_none()) else { continue };
            let Some(left) = self.left.checked_sub(library.steps().count().saturating_add(1)) else {
                self.excess = Some(Excess::Steps);
                continue;
            };
            self.left = left;
            let mut by = by.clone();
            by.uses.push(used.name());
            let mut policy = made(library, used, document, user, by.clone());
            // a circle is an error of the documents in it, and ends here
            let is_known = self.chain.iter().any(|known| known.is_of(library));
            if self.chain.len() >= self.max_chain {
                self.excess = Some(Excess::Depth);
            } else if !is_known {
                self.chain.push(library.clone());
                policy.imports = self.uses(user, &policy, &by);
                self.chain.pop();
            }
            if self.chain.iter().any(|user| user.mode == Mode::Observe) {
                policy.observe();
            }
            let policy = Arc::new(policy);
            if !policy.expressions.is_empty() {
                imports.push(ImportedExpressions { name: used.alias().into(), policy: policy.clone() });
            }
            self.all.push(policy);
        }
        imports
    }
}

/// A policy for the agents of another one, with the values that a use in a document gives.
fn made(
    library: &DeclaredPolicy,
    used: &DeclaredUse,
    document: &DeclaredPolicy,
    user: &DeclaredPolicy,
    by: UsedBy,
) -> DeclaredPolicy {
    let mut policy = library.clone();
    for parameter in &mut policy.parameters {
        let given = used.with.iter().find(|(name, _)| name.text == parameter.name.text);
        if let Some((_, given)) = given {
            parameter.value = value(given, document);
        }
    }
    policy.agents = user.agents.clone();
    policy.except_used(document, used);
    for steps in policy.lists_mut() {
        for step in steps {
            step.name = step.name.as_deref().map(|name| Arc::new(name.used(&by)));
        }
    }
    policy.used_by = Some(Arc::new(by));
    policy
}

/// The value that a use in a document gives. Nothing where it passes one on that the document does not have, which has been reported there.
fn value(given: &GivenValue, document: &DeclaredPolicy) -> Option<GivenValue> {
    let Some((text, name)) = given.passes_on() else { return Some(given.clone()) };
    let own = document.parameters.iter().find(|parameter| *parameter.name.text == *name)?;
    Some(GivenValue { passed: Some(text.place.clone()), ..own.value.clone()? })
}

impl PolicyStep {
    /// The name of the step where its policy is used by another one.
    fn used(&self, by: &UsedBy) -> Self {
        let mut labels = by.user.labels.clone();
        labels.extend(self.labels.clone());
        let Self { id, severity, .. } = self.clone();
        Self { name: by.user.name.clone(), uses: by.uses.clone(), id, severity, labels }
    }
}

impl DeclaredPolicy {
    /// Who only tries a policy out tries out what it uses: no step of it decides, and no limit ends a task.
    fn observe(&mut self) {
        self.limits = TaskLimits::default();
        self.observe_steps();
    }

    /// Tries each step out.
    pub(super) fn observe_steps(&mut self) {
        self.mode = Mode::Observe;
        self.lists_mut().flatten().for_each(|step| step.mode = Mode::Observe);
    }

    /// Leaves out the steps that are only tried out.
    pub(super) fn enforce_alone(&mut self) {
        self.lists_mut().for_each(|steps| steps.retain(|step| step.mode == Mode::Enforce));
    }

    /// All lists of steps.
    pub(super) fn lists_mut(&mut self) -> impl Iterator<Item = &mut Vec<DeclaredStep>> {
        let of_calls = self.capabilities.iter_mut().chain(&mut self.default_denial).flat_map(|capability| {
            let PolicyCapability { before_first, before, after, .. } = capability;
            [before_first, before, after]
        });
        let of_messages = [&mut self.guardrails_before, &mut self.guardrails_after];
        of_calls.chain(of_messages).chain([&mut self.model_before, &mut self.model_after, &mut self.tools])
    }
}
