//! The environment of a scope, and the activations that carry its values.
//!
//! In goes a [`ScopeDecl`]: the scope, the types of what it tests, the libraries of the language. Out comes a
//! [`ScopeEnv`], from which an activation is a handful of slots to fill for each run. What a scope does not know is
//! never bound, whatever the caller offers, and for each name that some other scope knows there is a reason for the
//! message.

use super::brought_tool::tool_type;
use super::call_at_hand::CallAtHand;
use super::counters::{CounterValue, counters_value};
use super::function::{REVIEW_OF_POLICIES, capability};
use super::function_results::{function_results, sources_result};
use super::invoked_results::{InvokedResult, invoked_value};
use super::label_functions::LABELLING;
use super::messages;
use super::model_usage::ModelUsage;
use super::moment::Moment;
use super::record_type::record;
use super::schema::ContextSchema;
use super::scope::{Root, Scope};
use super::surroundings::{MountFacts, Runtime};
use super::task_context::TaskContext;
use super::watch::ExpressionWatch;
use crate::cel::{
    Activation, Env, EnvBuilder, ErrorCode, Fault, Function, HostFunctionSet, Signature, Slot, Type, Value,
};
use crate::limits::EvalLimits;
use std::sync::Arc;

/// The declarations that the environment of a scope is made from.
#[derive(Clone, Debug)]
pub struct ScopeDecl<'d> {
    /// The scope.
    pub scope: Scope,
    /// The agent's context; without one, `context` is `dyn` (an expression that is tried out on some JSON).
    pub schema: Option<&'d Arc<ContextSchema>>,
    /// The type of `input`: the resolved arguments. The entry under test has its type from the schema.
    pub input: Type,
    /// The type of `output`: the result of the capability.
    pub output: Type,
    /// The type of `event`; see [`event_type`].
    pub event: Type,
    /// The type of `parameters` of a filter.
    pub parameters: Type,
    /// Whether the expression is a manifest's, which sees no claims of the user and asks one person for a review.
    pub of_manifest: bool,
    /// Whether it is of a policy document, whose steps ask for labels.
    pub of_policy: bool,
    /// The type of `call`: of a step of a policy about calls, and of nothing else.
    pub call: Option<Type>,
    /// Whether the agent has a mount: whether bindings see `mount` and scripts `file`.
    pub has_mount: bool,
    /// The keys of the capabilities that are functions of a script (`SCR-02`); no other scope has them.
    pub capabilities: &'d [Arc<str>],
    /// The policy whose steps the scope is of, with the type of its `counters`, if it has some.
    pub counters: Option<(Arc<str>, Type)>,
    /// The same policy with the type of `invoked`, if some of its `invoke` steps have ids.
    pub invoked: Option<(Arc<str>, Type)>,
    /// The functions of the host that the policy of the step declares.
    pub host: &'d [Signature],
    /// The names of those that are declared for other expressions, so that a message can say so.
    pub host_elsewhere: &'d [Arc<str>],
    /// The libraries of the language; a script has no more than the operators of them (`SCR-09`).
    pub libraries: &'d [&'static [Function]],
    /// The bounds of the scope's expressions.
    pub limits: EvalLimits,
}

impl<'d> ScopeDecl<'d> {
    /// A scope in which everything is `dyn`, without libraries, mount and context, under these bounds.
    #[must_use]
    pub fn new(scope: Scope, limits: EvalLimits) -> Self {
        Self {
            scope,
            schema: None,
            input: Type::Dyn,
            output: Type::Dyn,
            event: Type::Dyn,
            parameters: Type::Dyn,
            of_manifest: false,
            of_policy: false,
            call: None,
            has_mount: false,
            capabilities: &[],
            counters: None,
            invoked: None,
            host: &[],
            host_elsewhere: &[],
            libraries: &[],
            limits,
        }
    }

    /// The type of a variable, if the scope as declared has it.
    fn type_of(&self, root: Root) -> Option<Type> {
        let under_test = self.schema.filter(|_| self.scope.tests_messages());
        Some(match root {
            Root::Context if self.of_manifest => {
                self.schema.map_or(Type::Dyn, |schema| schema.context_type_without_claims())
            }
            Root::Context => self.schema.map_or(Type::Dyn, |schema| schema.context_type()),
            Root::Input => {
                under_test.map_or(self.input.clone(), |schema| Type::Singleton(schema.input_type().clone()))
            }
            Root::Output => {
                under_test.map_or(self.output.clone(), |schema| Type::Singleton(schema.output_type().clone()))
            }
            Root::Event => self.event.clone(),
            Root::Now => Type::String,
            Root::Runtime => Runtime::cel_type(),
            Root::Mount if !self.has_mount => return None,
            Root::Mount => MountFacts::cel_type(),
            Root::Parameters => self.parameters.clone(),
            Root::Call => return self.call.clone(),
            Root::Tool => tool_type(),
            Root::Item | Root::Response => Type::Dyn,
            Root::Counters => self.counters.as_ref()?.1.clone(),
            Root::Invoked => self.invoked.as_ref()?.1.clone(),
            Root::Usage => ModelUsage::cel_type(),
            Root::Poll => {
                record("poll", [("last_fetched_at".into(), Type::Dyn, true, "when it was asked before")])
            }
        })
    }

    /// A scope with its functions.
    fn with_functions(&self, builder: EnvBuilder) -> EnvBuilder {
        let is_script = self.scope == Scope::Script;
        let libraries = self.libraries.iter().copied();
        // an operator is what no identifier can name
        let is_operator = |it: &&Function| !it.name.starts_with(char::is_alphabetic);
        let builder = match is_script {
            true => libraries.flatten().filter(is_operator).fold(builder, EnvBuilder::row),
            false => libraries.fold(builder, EnvBuilder::library),
        };
        let own = self.scope.functions().iter().copied().flatten();
        let own = own.map(move |it| match REVIEW_OF_POLICIES.first() {
            Some(wider) if !self.of_manifest && it.name == wider.name => wider,
            _ => it,
        });
        let own = own.filter(|_| !is_script || self.has_mount);
        let labelling = LABELLING.iter().filter(|_| self.of_policy);
        let builder = own.chain(labelling).fold(builder, EnvBuilder::row);
        let builder =
            function_results().fold(builder, |builder, (name, domain)| builder.result(name, domain));
        let sources = self.schema.filter(|_| self.of_policy);
        let sources = sources.map(|schema| sources_result(schema.functions().map(|(_, key)| key)));
        let builder =
            sources.into_iter().fold(builder, |builder, (name, domain)| builder.result(name, domain));
        self.host.iter().fold(builder, |builder, signature| builder.function(signature.declaration()))
    }

    fn capabilities(&self) -> impl Iterator<Item = &str> {
        self.capabilities.iter().filter(|_| self.scope == Scope::Script).map(|key| &**key)
    }
}

/// The type of `event`: `payload`, of the type that its schema gives it, and the names that the event's own map defines (`EVT-08`), which are absent where
/// the payload lacks what they name.
#[must_use]
pub fn event_type(payload: Type, names: impl IntoIterator<Item = (Arc<str>, Type)>) -> Type {
    let part = "a part of the payload, by the name that the event gives it";
    let names = names.into_iter().map(|(name, ty)| (name, ty, false, part));
    record("event", std::iter::once(("payload".into(), payload, true, "what came")).chain(names))
}

/// The environment of a scope, with the slots of its variables.
#[derive(Clone, Debug)]
pub struct ScopeEnv {
    scope: Scope,
    env: Env,
    schema: Option<Arc<ContextSchema>>,
    /// The policy whose counters it knows.
    counters: Option<Arc<str>>,
    /// The policy of whose steps it knows the results.
    invoked: Option<Arc<str>>,
    /// The variables, in the order of their slots.
    roots: Box<[Root]>,
}

/// The values of one run. A scope ignores the values that it does not know, so one of these may serve several scopes.
#[derive(Clone, Debug, Default)]
pub struct Bound<'a> {
    /// `context`, and in guardrails and `exposes` the entries under test.
    pub context: Option<&'a TaskContext>,
    /// Whether an observed step sees it, with the labels that observed steps would have given.
    pub is_observed: bool,
    /// `input`: resolved arguments, or for an event `{message: text}` (`EVT-12`).
    pub input: Option<Value<'a>>,
    /// `output`: the result so far; nothing in event steps (`EVT-14`).
    pub output: Option<Value<'a>>,
    /// `event`, if one is being handled.
    pub event: Option<Value<'a>>,
    /// `now`.
    pub now: Option<&'a Moment>,
    /// `runtime`.
    pub runtime: Option<&'a Runtime>,
    /// `mount`.
    pub mount: Option<&'a MountFacts>,
    /// `parameters` of a filter.
    pub parameters: Option<Value<'a>>,
    /// `item` of a poll.
    pub item: Option<Value<'a>>,
    /// `response` of a poll.
    pub response: Option<Value<'a>>,
    /// `poll`.
    pub poll: Option<Value<'a>>,
    /// The counters that the call has read, those of all policies.
    pub counters: Option<&'a [CounterValue]>,
    /// What `invoke` steps of the operation gave so far, those of all policies.
    pub invoked: &'a [InvokedResult],
    /// `usage`.
    pub usage: Option<Value<'a>>,
    /// `call`.
    pub call: Option<&'a CallAtHand>,
    /// Who is told what expressions come to on these values; usually nobody.
    pub watch: Option<&'a dyn ExpressionWatch>,
    /// The functions of the host, which answer calls where nobody else can be asked.
    pub functions: Option<&'a HostFunctionSet>,
    /// `tool`.
    pub tool: Option<Value<'a>>,
}

impl ScopeEnv {
    /// The environment of a scope as declared.
    #[must_use]
    pub fn new(declared: &ScopeDecl<'_>) -> Self {
        let scope = declared.scope;
        let roots = scope.roots().iter().filter_map(|&root| Some((root, declared.type_of(root)?)));
        let builder = Env::builder().limits(declared.limits);
        let builder = roots.fold(builder, |builder, (root, ty)| variable(builder, scope, root, ty));
        let mut builder = declared.with_functions(builder);
        if declared.scope == Scope::Script {
            let known = builder.clone().build();
            let beside = |key: &str| capability(key, known.function(key));
            builder = declared.capabilities().map(beside).fold(builder, EnvBuilder::function);
        }
        let of_host =
            declared.host_elsewhere.iter().map(|name| (name.to_string(), messages::no_host_function()));
        let env = builder.elsewhere(messages::known_elsewhere(scope)).elsewhere(of_host).build();
        // slots are given in the order of declaration, which is that of the scope's table
        let known = |root: &Root| env.variable(root.name()).is_some();
        let roots = scope.roots().iter().copied().filter(known).collect();
        let [counters, invoked] = [&declared.counters, &declared.invoked]
            .map(|known| known.as_ref().map(|(policy, _)| policy.clone()));
        Self { scope, roots, schema: declared.schema.cloned(), counters, invoked, env }
    }

    /// The same environment with more variables, to check expressions in: no run has values for them.
    #[must_use]
    pub(crate) fn with_locals<'n>(&self, locals: impl IntoIterator<Item = (&'n str, Type)>) -> Self {
        let env = self.env.extend();
        let env = locals.into_iter().fold(env, |env, (name, ty)| env.variable(name, ty)).build();
        Self { env, ..self.clone() }
    }

    /// Which scope it is of.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The environment in which expressions of the scope are compiled.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The values of one run in their slots. Allocates nothing.
    ///
    /// # Errors
    /// `wrong_scope` for a context of another schema than the scope's: its fields lie elsewhere.
    pub fn activation<'a>(&self, bound: &Bound<'a>) -> Result<Activation<'a>, Fault> {
        self.hold_schema(bound)?;
        Ok(Activation::of(&self.env, self.roots.iter().map(|&root| self.value_of(root, bound))))
    }

    /// The value of the variable in a slot.
    pub(super) fn value_in<'a>(&self, slot: Slot, bound: &Bound<'a>) -> Option<Value<'a>> {
        self.value_of(*self.roots.get(usize::from(slot.0))?, bound)
    }

    pub(super) fn hold_schema(&self, bound: &Bound<'_>) -> Result<(), Fault> {
        match (bound.context, &self.schema) {
            (Some(context), Some(schema)) if !Arc::ptr_eq(context.schema(), schema) => {
                Err(ErrorCode::WrongScope.into())
            }
            _ => Ok(()),
        }
    }

    fn value_of<'a>(&self, root: Root, bound: &Bound<'a>) -> Option<Value<'a>> {
        let under_test = bound.context.filter(|_| self.scope.tests_messages());
        match root {
            Root::Context if bound.is_observed => bound.context.map(TaskContext::observed_value),
            Root::Context => bound.context.map(TaskContext::value),
            Root::Input => under_test.map(TaskContext::input_under_test).or_else(|| bound.input.clone()),
            Root::Output => under_test.map(TaskContext::output_under_test).or_else(|| bound.output.clone()),
            Root::Event => bound.event.clone(),
            Root::Now => bound.now.map(Moment::value),
            Root::Runtime => bound.runtime.map(Runtime::value),
            Root::Mount => bound.mount.map(MountFacts::value),
            Root::Parameters => bound.parameters.clone(),
            Root::Item => bound.item.clone(),
            Root::Response => bound.response.clone(),
            Root::Poll => bound.poll.clone(),
            Root::Counters => Some(counters_value(self.counters.as_deref()?, bound.counters?)),
            Root::Invoked => Some(invoked_value(self.invoked.as_deref()?, bound.invoked)),
            Root::Usage => bound.usage.clone(),
            Root::Call => bound.call.map(CallAtHand::value),
            Root::Tool => bound.tool.clone(),
        }
    }
}

fn variable(builder: EnvBuilder, scope: Scope, root: Root, ty: Type) -> EnvBuilder {
    let builder = match root {
        Root::Event if scope.is_middleware() => builder.optional_variable(root.name(), ty),
        _ => builder.variable(root.name(), ty),
    };
    root.alias().into_iter().fold(builder, |builder, alias| builder.alias(alias, root.name()))
}
