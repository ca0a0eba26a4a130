//! Manifests, compiled: what every operation of a task runs on.
//!
//! In: an agent with everything that its manifest names. Out: a [`Policy`], made once and shared by all tasks of the
//! agent, or diagnostics with carets in the YAML. Every expression is compiled in its own typed scope, every template is
//! read, every parameter has its shape; nothing is looked up by text when a task runs. Nothing here does IO.
//!
//! | module | what it holds |
//! |---|---|
//! | `origin` | a place in the manifests, as decisions name it |
//! | `misfit` | why a value does not fit |
//! | `shape`, `schema_type` | JSON Schema as a check and as a CEL type |
//! | `parameter` | what one parameter takes, and from whom |
//! | `parameters`, `arguments` | bindings, arguments and defaults to one object |
//! | `result` | what actions say that they return |
//! | `expressions` | all of them, for a survey |
//! | `definitions`, `expansion`, `define` | the names that a policy document gives to expressions, and putting these in their place |
//! | `substitution` | arguments in the place of the parameters of named expressions |
//! | `named_results`, `results_read` | results of `invoke` steps by their ids, and the steps that read them |
//! | `host_functions` | functions that policies expect of the host, and those that it has |
//! | `named_expressions`, `argument_types` | checks of named expressions, each by itself, and of the arguments of their calls |
//! | `unread_variables` | those that no step reads, which are checked all the same |
//! | `expression`, `binding`, `template`, `message` | the texts of a manifest, compiled |
//! | `claims` | what policies make visible of a user's claims |
//! | `panel`, `panel_check` | reviews by several people, and those that are written as constants |
//! | `step_text` | what a step says, with values and, in policies, expressions |
//! | `step`, `function` | what runs, and around what |
//! | `tool_checks` | checks of tools that tasks bring |
//! | `tool_template` | the templates of backends, which the host renders |
//! | `secrets` | what of a task views do not show |
//! | `script` | what the model writes itself, refused before it runs |
//! | `launch`, `trigger` | what begins tasks, and with which inputs |
//! | `allow_list`, `value_set`, `filter`, `event` | what reaches a task that runs, and which of it |
//! | `setting`, `webhook` | secrets of the host, and what is signed with them |
//! | `task_limits` | the limits of tasks, with the policies that set them |
//! | `fingerprint`, `encoding`, `policy_encoding`, `encoder` | whether two policies are the same: what decides, written out and digested |
//! | `read_path`, `reads`, `values_read` | what expressions read: of other calls, so that one waits for another, and of values, so that the others need not be kept |
//! | `declaration` | functions before anything of them is compiled |
//! | `entries`, `put` | which keys transforms add to what they rewrite |
//! | `policy_steps`, `step_list` | steps of policy documents, by function, and how they stand with those of the manifest |
//! | `counter`, `counter_list` | counters of policy documents, and which of them a call needs |
//! | `effect`, `rewrite`, `fit` | what steps of policy documents do to a call, and whether a value can be that of an argument |
//! | `model_call`, `model_schema`, `model_steps` | what is sent to a model and what it answers, and the steps on both |
//! | `operation_rules` | what single operations decide by, as digests |
//! | `step_digests` | digests of single steps |
//! | `named_calls` | what is found of a macro over all calls that asks for those of one function |
//! | `needed` | arguments without which an assert cannot hold |
//! | `braces` | texts of an expression that look like templates |
//! | `of_agents` | findings about steps that are compiled for several agents |
//! | `step_checks` | what is found of a step once it is compiled |
//! | `compiler`, `step_lists`, `compile` | an agent and its policies to what runs: scopes, then lists of steps, then all of it |

mod allow_list;
mod argument_types;
mod arguments;
mod binding;
mod braces;
mod claims;
mod compile;
mod compiler;
mod counter;
mod counter_list;
mod declaration;
mod define;
mod definitions;
mod delegation;
mod effect;
mod encoder;
mod encoding;
mod entries;
mod event;
mod excepted;
mod expansion;
mod expression;
mod expressions;
mod filter;
mod fingerprint;
mod fit;
mod function;
mod host_functions;
mod known_call;
mod labels;
mod launch;
mod message;
mod message_transform;
mod messages;
mod misfit;
mod model_call;
mod model_schema;
mod model_steps;
mod named_calls;
mod named_expressions;
mod named_results;
mod needed;
mod of_agents;
mod offered_schema;
mod operation_rules;
mod origin;
mod panel;
mod panel_check;
mod parameter;
mod parameters;
mod policy_encoding;
mod policy_steps;
mod pseudonym_checks;
mod put;
mod read_path;
mod reads;
mod result;
mod results_read;
mod reviews;
mod rewrite;
mod schema_type;
mod script;
mod secrets;
mod setting;
mod shape;
mod step;
mod step_checks;
mod step_digests;
mod step_list;
mod step_lists;
mod step_text;
mod substitution;
mod task_limits;
mod template;
mod tool_checks;
mod tool_template;
mod trigger;
mod unread_variables;
mod value_set;
mod values_read;
mod watched_names;
mod webhook;

pub use allow_list::AllowList;
pub use arguments::Resolution;
pub use binding::Binding;
pub use claims::Claims;
pub(crate) use claims::{ClaimOf, contrary_claims};
pub(crate) use compile::CompiledAgent;
pub(crate) use counter::counted;
pub use counter::{Counter, CounterFault, CounterReader, Counters, NeededCounter};
pub(crate) use definitions::{ParameterValue, ValueKind};
pub(crate) use delegation::DelegationBound;
pub use effect::{ComputedValue, CredentialFor, Duty, Effect, SetArguments};
pub use event::{Event, EventSource};
pub(crate) use excepted::Excepted;
pub(crate) use expression::is_judged;
pub use expression::{Expression, JsonValue, run_to, run_to_json};
pub use filter::{Filter, FilterRefusal};
pub use fingerprint::Fingerprint;
pub use function::{AgentFunction, Execute, InvocationTarget};
pub(crate) use host_functions::KnownFunctions;
pub use labels::{COPY_LETTERS, LabelStep, StepLabels};
pub use launch::check_inputs;
pub use misfit::Misfit;
pub(crate) use model_call::{ModelAnswer, ModelRequest};
pub use model_schema::{answer_schema, request_schema};
pub(crate) use needed::{
    ArgumentPath, NeededArgument, ReadMap, asked_for, given_by_truth, needed_for_denial,
    needed_for_exemption, needed_for_truth, needed_for_value, tells_kinds_apart,
};
pub(crate) use of_agents::{OfPolicyStep, UseOfPolicy, of_all_agents};
pub use origin::Origin;
pub use panel::{ReviewPanel, ReviewSeats};
pub use parameter::{Missing, Parameter, ParameterSource};
pub use parameters::{InputOf, Parameters, Supplied};
pub(crate) use read_path::for_each_path;
pub(crate) use reads::DecidedOperation;
use reads::KnownDependencies;
pub use reads::{Changes, Dependencies, Reads};
pub use result::OutputSchema;
pub(crate) use secrets::reads_secret;
pub use setting::{SettingDefaults, setting};
pub use shape::Shape;
pub use step::{Invoke, Step, StepAction};
pub use step_list::StepList;
pub use step_text::Shown;
pub use template::{BadPlaceholder, PathStep, Placeholder, Template};
pub(crate) use trigger::FiringWatch;
pub use trigger::{Firing, FiringOutcome, Trigger};
pub use webhook::{SignatureError, WebhookSecret, verify_signature};

use crate::cel::{JsonRef, Type};
use crate::context::{
    CallValues, ContextSchema, FunctionId, MountFacts, Scope, ScopeDecl, ScopeEnv, Selector,
};
use crate::digest::Digest;
use crate::limits::EngineLimits;
use crate::manifest::agent::{Agent, MountScope};
use crate::manifest::mode::Mode;
use crate::manifest::mount::Mount;
use crate::manifest::review::Siblings;
use crate::manifest::step::Hook;
pub use crate::manifest::task_limit::LimitNumber;
use crate::manifest::task_limit::{TaskLimit, TaskLimits};
use encoding::Rules;
pub(crate) use operation_rules::{OperationRules, rules_of_trigger};
use policy_steps::PolicySteps;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
pub(crate) use step_digests::{StepKey, mentions, step_digests, step_key, steps_reading};
use task_limits::AllLimits;

/// The compiled policy of one agent. Immutable; tasks share it and keep the one that they started with.
#[derive(Debug)]
pub struct Policy {
    agent: Arc<Agent>,
    mount: Option<Arc<Mount>>,
    schema: Arc<ContextSchema>,
    functions: Vec<AgentFunction>,
    /// The functions whose own names are not their keys.
    own_names: HashMap<Arc<str>, usize>,
    events: Vec<Event>,
    /// By capability.
    bindings: Vec<Vec<Arc<Binding>>>,
    capabilities: Vec<CapabilitySteps>,
    guardrails_before: Vec<Step>,
    guardrails_after: Vec<Step>,
    policies: PolicySteps,
    counters: Counters,
    mode: Mode,
    siblings: Siblings,
    task_limits: AllLimits,
    claims: Claims,
    delegation: Option<DelegationBound>,
    /// The functions that its policies expect of the host.
    host_functions: Box<[Arc<str>]>,
    exposes: Vec<Expose>,
    input: Parameters,
    prompt: Option<Template>,
    fingerprint: Fingerprint,
    rules: Rules,
    limits: EngineLimits,
    /// What operations depend on, once somebody has asked.
    dependencies: KnownDependencies,
    /// The paths of the context that templates of backends name.
    backend_paths: Vec<Vec<Selector>>,
    /// By function, which values of its calls something reads later, once somebody has asked.
    values_read: OnceLock<Box<[CallValues]>>,
    /// The scopes of expressions that are tried out, each made when it is first wanted.
    trial_scopes: [OnceLock<Arc<ScopeEnv>>; Scope::ALL.len()],
}

/// The step lists of a capability.
#[derive(Debug, Default)]
pub struct CapabilitySteps {
    /// Ahead of the first call that runs (MW-39).
    pub before_first: Vec<Step>,
    /// Ahead of each call and event.
    pub before: Vec<Step>,
    /// Behind each call and event.
    pub after: Vec<Step>,
}

/// One entry of `exposes`.
#[derive(Debug)]
pub struct Expose {
    /// The key that goes out.
    pub name: Arc<str>,
    /// Its value.
    pub value: Expression,
}

impl Policy {
    /// The manifest.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The types of the agent's task context.
    #[must_use]
    pub fn schema(&self) -> &Arc<ContextSchema> {
        &self.schema
    }

    /// Whether nothing of it decides, and decisions tell what would have come of it ([`Engine::open_observing`](crate::Engine::open_observing)).
    #[must_use]
    pub fn observes(&self) -> bool {
        self.mode == Mode::Observe
    }

    /// Whether a step says what is to hold of every call of the function at this position, and judges none.
    pub(crate) fn watches(&self, function: usize, step: &Step) -> bool {
        self.policies.watching(function).iter().any(|watching| std::ptr::eq(&**watching, step))
    }

    /// The limits of its tasks: of each name the smallest that the manifest or a policy sets.
    #[must_use]
    pub fn task_limits(&self) -> &TaskLimits {
        &self.task_limits.limits
    }

    /// What the policies that are for the agent say of the claims of its users.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Namespace and name of the policy document that sets a limit; nothing if the manifest does.
    #[must_use]
    pub fn limit_policy(&self, limit: TaskLimit) -> Option<&Arc<str>> {
        self.task_limits.owner(limit)
    }

    /// The counters of the policies that are for it.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The functions that the model or an invoke step can call, in the order of the manifest.
    #[must_use]
    pub fn functions(&self) -> &[AgentFunction] {
        &self.functions
    }

    /// Those that the model is offered (AG-11).
    pub fn offered_functions(&self) -> impl Iterator<Item = &AgentFunction> {
        self.functions.iter().filter(|function| function.offered)
    }

    /// A function by its position.
    #[must_use]
    pub fn function(&self, position: usize) -> Option<&AgentFunction> {
        self.functions.get(position)
    }

    /// The position of the function with a key, or with an own name that is not its key.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        match self.schema.function(name) {
            Some(FunctionId(position)) => usize::try_from(position).ok(),
            None => self.own_names.get(name).copied(),
        }
    }

    /// The functions of a capability.
    pub fn functions_of(&self, capability: usize) -> impl Iterator<Item = usize> {
        let functions = self.functions.iter().enumerate();
        functions.filter(move |(_, function)| function.capability == capability).map(|(position, _)| position)
    }

    /// The events that the tools declare, in the order of the manifests.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether an event of a capability is filtered by the arguments that its calls have had.
    #[must_use]
    pub fn filters_events_of(&self, capability: usize) -> bool {
        self.events.iter().any(|event| event.capability == capability && event.filter().is_some())
    }

    /// The event of a capability, with its position.
    #[must_use]
    pub fn event(&self, capability: usize, name: &str) -> Option<(usize, &Event)> {
        let mut events = self.events.iter().enumerate();
        events.find(|(_, event)| event.capability == capability && *event.name == *name)
    }

    /// The event of a capability, by the references of both in the manifests, with its position.
    #[must_use]
    pub fn event_of(&self, capability: &str, name: &str) -> Option<(usize, &Event)> {
        self.event(self.capability(capability)?, name)
    }

    /// The position of the capability with a reference.
    #[must_use]
    pub fn capability(&self, reference: &str) -> Option<usize> {
        self.agent.capabilities.iter().position(|capability| *capability.reference.text == *reference)
    }

    /// The bindings of a capability, of its functions' and of its events' parameters alike.
    #[must_use]
    pub fn bindings(&self, capability: usize) -> &[Arc<Binding>] {
        self.bindings.get(capability).map_or(&[], Vec::as_slice)
    }

    /// The names of the functions that its policies expect of the host, each once.
    pub(crate) fn host_functions(&self) -> &[Arc<str>] {
        &self.host_functions
    }

    /// The functions that steps invoke, whose calls pass no steps.
    pub(crate) fn invoked(&self) -> impl Iterator<Item = usize> {
        self.steps().filter_map(|step| match &step.action {
            StepAction::Invoke(invoke) => invoke.function,
            _ => None,
        })
    }

    /// The steps of a list that a call of the function at this position passes; a step whose `match` is another action is
    /// among them.
    #[must_use]
    pub fn steps_of_call(&self, hook: Hook, function: usize) -> StepList<'_> {
        let capability = self.functions.get(function).map(|function| function.capability);
        let own = capability.map_or(&[][..], |capability| self.steps_of_capability(hook, capability));
        let of_policies = self.policies.of_call(hook, function);
        match hook {
            Hook::After => StepList::behind(own, of_policies),
            Hook::Before => StepList::ahead(own, of_policies).watched(self.policies.watching(function)),
            _ => StepList::ahead(own, of_policies),
        }
    }

    /// The steps of a list that an event of a capability passes: those of the manifest. Policies meet it as the input that
    /// it becomes.
    #[must_use]
    pub fn steps_of_event(&self, hook: Hook, capability: usize) -> StepList<'_> {
        StepList::ahead(self.steps_of_capability(hook, capability), &[])
    }

    /// The steps that each input or response passes.
    #[must_use]
    pub fn guardrails(&self, hook: Hook) -> StepList<'_> {
        match hook {
            Hook::GuardrailBefore => {
                StepList::ahead(&self.guardrails_before, &self.policies.guardrails_before)
            }
            Hook::GuardrailAfter => StepList::behind(&self.guardrails_after, &self.policies.guardrails_after),
            _ => StepList::default(),
        }
    }

    /// The steps that each call of the model, or each of its answers, passes: those of policies, as manifests have none.
    #[must_use]
    pub fn steps_of_model(&self, hook: Hook) -> StepList<'_> {
        match hook {
            Hook::ModelBefore => StepList::ahead(&[], &self.policies.model_before),
            Hook::ModelAfter => StepList::behind(&[], &self.policies.model_after),
            _ => StepList::default(),
        }
    }

    fn steps_of_capability(&self, hook: Hook, capability: usize) -> &[Step] {
        let Some(steps) = self.capabilities.get(capability) else { return &[] };
        match hook {
            Hook::BeforeFirst => &steps.before_first,
            Hook::Before => &steps.before,
            Hook::After => &steps.after,
            Hook::GuardrailBefore
            | Hook::GuardrailAfter
            | Hook::ModelBefore
            | Hook::ModelAfter
            | Hook::Tools
            | Hook::Trigger => &[],
        }
    }

    /// The values that go out with each response.
    #[must_use]
    pub fn exposes(&self) -> &[Expose] {
        &self.exposes
    }

    /// The parameters of an input.
    #[must_use]
    pub fn input(&self) -> &Parameters {
        &self.input
    }

    /// The prompt, if the agent has one.
    #[must_use]
    pub fn prompt(&self) -> Option<&Template> {
        self.prompt.as_ref()
    }

    /// The bounds of its expressions.
    #[must_use]
    pub fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// The fingerprint of the policy, to tell it from others.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// What the answer to a review is bound to: the documents that are reviewed, and the rules of a capability, or the guardrails.
    /// Linear in the documents.
    pub(crate) fn review_digest(
        &self,
        capability: Option<usize>,
        function: Option<&str>,
        documents: [Option<JsonRef<'_>>; 3],
    ) -> Digest {
        self.rules.review(capability, function, documents)
    }

    /// The mount as a task of this id sees it (MNT-02, MNT-03). `None` if the agent's scope is `none` or no mount is
    /// loaded.
    #[must_use]
    pub fn mount(&self, task: &str) -> Option<MountFacts> {
        if self.agent.mount == MountScope::None {
            return None;
        }
        let mount = self.mount.as_ref()?;
        let prefix = mount.prefix(self.agent.mount)?;
        let template = Template::lenient(&prefix.text, |root| matches!(root, "namespace" | "agent" | "task"));
        let prefix = template.render(&self.limits.eval, |placeholder| {
            let text = match &*placeholder.root {
                "namespace" => &*self.agent.namespace.text,
                "agent" => &*self.agent.name.text,
                _ => task,
            };
            placeholder.path.is_empty().then(|| crate::cel::Value::text(text))
        });
        Some(MountFacts {
            bucket: mount.bucket.text.clone(),
            prefix: prefix.into(),
            backend: mount.backend.name().into(),
        })
    }

    /// The scope in which somebody tries out an expression: the agent's context, with type `dyn` for values that a call brings.
    #[must_use]
    pub fn trial_scope(&self, scope: Scope) -> Arc<ScopeEnv> {
        let declared = || {
            let is_of_model = matches!(scope, Scope::ModelBefore | Scope::ModelAfter);
            let offered = self.offered_functions();
            let capabilities: Vec<Arc<str>> = offered.map(|function| function.key.clone()).collect();
            Arc::new(ScopeEnv::new(&ScopeDecl {
                schema: Some(&self.schema),
                has_mount: self.agent.mount != MountScope::None,
                capabilities: &capabilities,
                libraries: crate::cel::LANGUAGE,
                input: if is_of_model { model_call::request_type() } else { Type::Dyn },
                output: if is_of_model { model_call::answer_type() } else { Type::Dyn },
                ..ScopeDecl::new(
                    scope,
                    if scope == Scope::Script { self.limits.of_scripts() } else { self.limits.eval },
                )
            }))
        };
        let position = Scope::ALL.iter().position(|&known| known == scope);
        match position.and_then(|position| self.trial_scopes.get(position)) {
            Some(made) => made.get_or_init(declared).clone(),
            None => declared(),
        }
    }
}
