//! The bound of delegated tasks: a task may make a call only if the task that has delegated to it may make the same call.
//!
//! In: `delegate` of the policies that are for an agent; when documents are loaded, the policies of the agents that delegate to it. Out: a
//! [`DelegationBound`], which says whose tasks may delegate, and the reasons for which a parent cannot decide the calls of a child. The decision about
//! a call is that of the parent's task ([`Task::set_parent`](crate::Task::set_parent)).

use super::counter::{Counter, CounterReader};
use super::function::{AgentFunction, InvocationTarget};
use super::messages;
use super::step::{Step, StepAction};
use super::{Origin, Policy};
use crate::diagnostic::Diagnostic;
use crate::manifest::catalog::ResolvedAgent;
use crate::manifest::delegation::DeclaredDelegation;
use crate::manifest::listing::is_like;
use crate::manifest::mode::Mode;
use crate::manifest::policy::DeclaredPolicy;
use crate::manifest::policy_step::PolicyStep;
use crate::manifest::step::Hook;
use crate::source::Place;
use std::sync::Arc;

/// Bound of the tasks of an agent to which other tasks delegate.
#[derive(Clone, Debug)]
pub(crate) struct DelegationBound {
    /// Whether calls outside the bound are denied, or the decision only reports them.
    pub(crate) mode: Mode,
    /// The `delegate` of the first policy.
    first: DelegationRule,
    /// Those of the others.
    others: Vec<DelegationRule>,
}

/// The key `delegate` of one policy.
#[derive(Clone, Debug)]
struct DelegationRule {
    place: Place,
    origin: Origin,
    /// Patterns of the agents whose tasks may delegate; without them those that have the agent among their functions.
    parents: Option<Vec<Arc<str>>>,
}

impl DelegationBound {
    /// The bound of an agent; `None` if no policy has one. Where one policy enforces it, those that only try one out say nothing.
    pub(super) fn of(resolved: &ResolvedAgent) -> Option<Self> {
        let rules_of = |mode: Mode| -> Vec<DelegationRule> {
            let of_mode = resolved.policies.iter().filter(|applied| applied.policy.mode == mode);
            let rule = |policy: &DeclaredPolicy, delegation: &DeclaredDelegation| {
                let step = PolicyStep {
                    name: policy.applied_name(),
                    uses: policy.used_by.as_ref().map(|by| by.uses.clone()).unwrap_or_default(),
                    id: None,
                    severity: None,
                    labels: policy.labels.clone(),
                };
                let parents = delegation.parents.as_ref();
                DelegationRule {
                    place: delegation.place.clone(),
                    origin: Origin::new(&delegation.path, &delegation.place).of(Some(&Arc::new(step))),
                    parents: parents.map(|all| all.iter().map(|pattern| pattern.text.clone()).collect()),
                }
            };
            let rules = of_mode.map(|applied| &*applied.policy);
            rules.filter_map(|policy| Some(rule(policy, policy.delegation.as_ref()?))).collect()
        };
        [Mode::Enforce, Mode::Observe].into_iter().find_map(|mode| {
            let mut rules = rules_of(mode).into_iter();
            Some(Self { mode, first: rules.next()?, others: rules.collect() })
        })
    }

    /// By policy, the patterns of the agents whose tasks may delegate.
    pub(super) fn parents(&self) -> impl Iterator<Item = Option<&[Arc<str>]>> {
        self.rules().map(|rule| rule.parents.as_deref())
    }

    fn rules(&self) -> impl Iterator<Item = &DelegationRule> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether tasks of another agent may delegate to this agent: every policy allows it.
    pub(crate) fn admits(&self, child: &Policy, parent: &Policy) -> bool {
        let own = &child.agent.namespace.text;
        let lists = |function: &AgentFunction| {
            matches!(&function.target, InvocationTarget::Agent { namespace, agent }
                if **namespace == **own && **agent == *child.agent.name.text)
        };
        let name = format!("{}/{}", parent.agent.namespace.text, parent.agent.name.text);
        self.rules().all(|rule| match &rule.parents {
            Some(patterns) => patterns.iter().any(|pattern| is_like(&name, pattern)),
            None => parent.offered_functions().any(lists),
        })
    }

    /// Place of the first rule in its policy, for decisions.
    pub(crate) fn origin(&self) -> &Origin {
        &self.first.origin
    }
}

impl Policy {
    /// The bound of its tasks to which other tasks delegate, if a policy has one.
    pub(crate) fn delegation(&self) -> Option<&DelegationBound> {
        self.delegation.as_ref()
    }

    /// Position of the function with a target that the model can call. Functions of two agents are the same if their targets are: keys and names
    /// depend on the manifest.
    pub(crate) fn position_of_target(&self, target: &InvocationTarget) -> Option<usize> {
        self.functions.iter().position(|function| function.offered && function.target == *target)
    }

    /// The first step before calls of a function that does more than to decide: it asks a person, or changes or adds something. No other task can
    /// pass it.
    pub(crate) fn step_with_effect(&self, function: usize) -> Option<&Step> {
        let name = &self.functions.get(function)?.name;
        let lists = [Hook::BeforeFirst, Hook::Before].map(|hook| self.steps_of_call(hook, function));
        let mut steps = lists.into_iter().flat_map(|list| list.iter());
        steps.find(|step| step.mode == Mode::Enforce && step.is_for(name) && !step.only_decides())
    }

    /// The first counter that decides calls of a function and to which those of a task of `child` would not add.
    fn counter_without(&self, function: usize, (child, own): (&Self, usize)) -> Option<&Counter> {
        let reader = CounterReader::Function(function);
        let mut counters = self.counters.of(reader);
        counters.find(|counter| {
            let is_same = |other: &Counter| {
                other.policy == counter.policy && other.name == counter.name && other.functions.contains(&own)
            };
            let is_fed = counter.functions.contains(&function);
            is_fed && counter.decides(reader) && !child.counters.iter().any(is_same)
        })
    }

    /// Findings about the bound of its delegated tasks, for the agents that may delegate to it: calls that no task of such an agent can decide.
    ///
    /// # Cost
    /// Linear in the functions of the agent, times the steps of the others.
    pub(crate) fn check_delegation<'p>(&self, others: impl Iterator<Item = &'p Self>) -> Vec<Diagnostic> {
        let Some(bound) = &self.delegation else { return Vec::new() };
        let DelegationRule { place, origin, .. } = &bound.first;
        let child = self.full_name();
        let mut parents: Vec<&Self> = others.filter(|other| bound.admits(self, other)).collect();
        parents.sort_by_key(|parent| parent.full_name());
        if parents.is_empty() {
            return vec![messages::no_parent(place.clone(), &child).path(&origin.path)];
        }
        let pairs = parents.iter().flat_map(|parent| {
            let functions = self.functions.iter().enumerate().filter(|(_, function)| function.offered);
            functions.map(move |(position, function)| (parent, position, function))
        });
        let problem = |(parent, position, function): (&&Self, usize, &AgentFunction)| {
            let about = messages::OutsideParent {
                place,
                child: &child,
                parent: &parent.full_name(),
                function: &function.called,
            };
            let Some(at) = parent.position_of_target(&function.target) else { return Some(about.unknown()) };
            if let Some(step) = parent.step_with_effect(at) {
                return Some(about.effect(&step.origin().name(), step.place()));
            }
            let counter = parent.counter_without(at, (self, position))?;
            Some(about.uncounted(&counter.name, &counter.policy))
        };
        pairs.filter_map(problem).map(|finding| finding.path(&origin.path)).collect()
    }

    /// Namespace and name of the agent, as `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.agent.namespace.text, self.agent.name.text)
    }
}

impl Step {
    /// Whether it lets a call pass or stops it, or gives labels, and does nothing else: it asks nobody.
    fn only_decides(&self) -> bool {
        let asks = self.expressions().any(|expression| expression.program().asks_host());
        !asks && matches!(self.action, StepAction::Assert(_) | StepAction::Label(_))
    }
}
