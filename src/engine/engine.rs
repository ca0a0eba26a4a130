//! The engine: compiled policies and one cache of expressions, shared by all tasks and threads.
//!
//! In: manifests. Out: tasks, and triggers that say when to start one. The policies are one set that is swapped as a whole: a task that runs keeps the policy that it
//! started with, and a new task gets all of the new set or all of the old. Reading manifests is the only IO, and it is that
//! of [`manifest::load`](crate::manifest::load()).

#[cfg(feature = "analysis")]
use crate::analysis::{Analysis, Analyst};
use crate::cel::{Cache, CacheStats, HostFunctionSet, Json};
use crate::context::members_of;
use crate::diagnostic::{Diagnostic, Standing};
use crate::hash_key::HashKey;
use crate::layers::{Layer, Layers};
use crate::limits::EngineLimits;
use crate::lint::{Allowances, Found};
use crate::manifest::brought::{BroughtTool, LeftOut};
use crate::manifest::load::{File, FileOrigin, LoadError};
use crate::manifest::mode::Mode;
use crate::manifest::{Catalog, load};
use crate::policy::{
    CompiledAgent, InvocationTarget, KnownFunctions, Policy, Trigger, check_inputs, of_all_agents,
};
#[cfg(feature = "analysis")]
use crate::source::Place;
use crate::source::Source;
use crate::task::{Parent, SavedTask, StartTask, Switches, Task, TaskError, TaskMark, TaskState};
use crate::unscoped;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// Policies that tasks are started from.
///
/// ```
/// use celador::{Call, Engine, Outcome, StartTask, User, VerdictKind};
/// use std::time::SystemTime;
///
/// let manifests = r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: refund
/// description: Pays money back.
/// actions:
///   - name: pay
///     description: Pays.
///     parameters: {properties: {amount: {type: number}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities:
///   refund:
///     before:
///       - assert: input.amount <= 100
///         error_message: "{input.amount} is too much."
/// "#;
/// let engine = Engine::parse("shop.yaml", manifests)?;
/// assert!(engine.warnings().is_empty());
///
/// let now = SystemTime::now();
/// let user = User { id: "u-1".into(), email: None, ..User::default() };
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now))?;
/// let call = Call::new("refund", serde_json::json!({ "amount": 250 }).into());
/// let Outcome::Refused(refusal) = task.before(&call, now)?.outcome() else { panic!("250 is too much") };
/// assert_eq!(refusal.verdict(), VerdictKind::Block);
/// assert_eq!(refusal.message(), "250 is too much.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    loaded: RwLock<Arc<Loaded>>,
    cache: Arc<Cache>,
    limits: EngineLimits,
    switches: Switches,
    door: Door,
    mode: Mode,
    /// The key of `pii.hash` of catalogs without a key of their own.
    hash_key: Option<HashKey>,
    functions: KnownFunctions,
    warnings: Vec<Diagnostic>,
}

/// Why an engine was not opened.
///
/// ```
/// use celador::{Diagnostic, Engine, OpenError};
///
/// let Err(OpenError::Refused(diagnostics)) = Engine::parse("agent.yaml", "kind: commonagents.info/v1beta2/agent") else {
///     panic!("a name is missing")
/// };
/// assert!(diagnostics.iter().all(Diagnostic::is_refused));
/// // for people with the line and carets under the place, for programs as JSON
/// assert!(diagnostics[0].render(false).contains("agent.yaml:1:1"));
/// assert_eq!(diagnostics[0].to_json()["code"], diagnostics[0].code);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A path that cannot be read.
    #[error(transparent)]
    Unreadable(#[from] LoadError),
    /// The problems for which the manifests are refused, at least one. The text of this error shows each with its line and carets.
    #[error("{}", rendered(.0))]
    Refused(Vec<Diagnostic>),
}

fn rendered(findings: &[Diagnostic]) -> String {
    findings.iter().map(|finding| finding.render(false)).collect::<Vec<_>>().join("\n")
}

/// Which manifests an engine takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Those without an error, and without a warning that may lose a rule unless its author allows it.
    Strict,
    /// Those that the specification calls valid.
    Lenient,
}

/// The most tasks above one that is started to try something on.
const MAX_TRIAL_DEPTH: usize = 8;

/// One set of what is compiled, by namespace and name; none for an agent that must not run, and for a trigger that makes
/// no tasks.
#[derive(Debug, Default)]
struct Loaded {
    policies: HashMap<(String, String), Option<Arc<Policy>>>,
    layers: Layers,
    triggers: HashMap<(String, String), Option<Arc<Trigger>>>,
    /// The names of the claims that any policy names.
    claims: HashSet<Arc<str>>,
    #[cfg(feature = "analysis")]
    analysis: Arc<Analysis>,
}

impl Loaded {
    fn policy(&self, namespace: &str, agent: &str) -> Result<Arc<Policy>, TaskError> {
        match self.policies.get(&(namespace.to_owned(), agent.to_owned())) {
            Some(Some(policy)) => Ok(policy.clone()),
            Some(None) => Err(TaskError::InvalidAgent(agent.to_owned())),
            None => Err(TaskError::UnknownAgent(agent.to_owned())),
        }
    }

    fn trigger(&self, namespace: &str, trigger: &str) -> Result<Arc<Trigger>, TaskError> {
        match self.triggers.get(&(namespace.to_owned(), trigger.to_owned())) {
            Some(Some(found)) => Ok(found.clone()),
            Some(None) => Err(TaskError::InvalidTrigger(trigger.to_owned())),
            None => Err(TaskError::UnknownTrigger(trigger.to_owned())),
        }
    }

    fn is_whole(&self) -> bool {
        self.policies.values().all(Option::is_some) && self.triggers.values().all(Option::is_some)
    }
}

impl Engine {
    /// An engine with the manifests at these paths: files, or folders to be searched. All of its agents can be started.
    ///
    /// # Errors
    /// [`OpenError`] for a path that cannot be read, and for manifests of which one is refused: for an error, or for a warning
    /// that may lose a rule where no comment allows it ([`lint`](crate::lint)). Other warnings are [`Engine::warnings`].
    pub fn open<P: AsRef<Path>>(paths: &[P], limits: EngineLimits) -> Result<Self, OpenError> {
        let (files, found) = load(paths, &limits)?;
        Self::through_strict_door(Mode::Enforce, &files, found, limits, HostFunctionSet::default())
    }

    /// The same for a host with functions of its own, which policies declare under `functions` and call in their expressions. A policy that declares one that is
    /// not among them, or with another signature, is refused.
    ///
    /// ```
    /// use celador::cel::{CallCost, HostFunctionSet, Signature, Type, Value};
    /// use celador::{Call, Engine, EngineLimits, StartTask, User, VerdictKind};
    ///
    /// # let folder = std::env::temp_dir().join(format!("celador-host-functions-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("shop.yaml");
    /// std::fs::write(&path, r#"
    /// kind: commonagents.info/v1beta2/tool
    /// namespace: shop
    /// name: refund
    /// description: Pays money back.
    /// actions:
    ///   - name: pay
    ///     description: Pays.
    ///     parameters: {properties: {amount: {type: number}}}
    ///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
    /// ---
    /// kind: commonagents.info/v1beta2/agent
    /// namespace: shop
    /// name: clerk
    /// description: Answers customers.
    /// prompt: You are a careful clerk.
    /// capabilities: {refund: "*"}
    /// ---
    /// kind: celador/v1/policy
    /// namespace: shop
    /// name: risk
    /// functions:
    ///   risk.score: {parameters: [amount: double], result: double, cost: {call: 50}}
    /// capabilities:
    ///   refund: {before: [{id: low, assert: risk.score(input.amount) < 5.0}]}
    /// "#)?;
    /// // without the function no agent runs under the policy
    /// assert!(Engine::open(&[&path], EngineLimits::default()).is_err());
    ///
    /// let score = Signature::new("risk.score", [Type::Double], Type::Double);
    /// let mut functions = HostFunctionSet::default();
    /// functions.register(score.costing(CallCost { call: 50, size: 0 }), |arguments| match arguments {
    ///     [Value::Double(amount)] => Ok(Value::Double(amount / 100.0)),
    ///     _ => Err("it takes one number".into()),
    /// });
    /// let engine = Engine::open_with(&[&path], EngineLimits::default(), functions)?;
    /// # std::fs::remove_dir_all(&folder)?;
    ///
    /// let now = std::time::SystemTime::now();
    /// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
    /// for (amount, verdict) in [(200, VerdictKind::Allow), (900, VerdictKind::Block)] {
    ///     let call = Call::new("refund", serde_json::json!({"amount": amount}).into());
    ///     assert_eq!(task.before(&call, now)?.outcome().into_decision().verdict.kind(), verdict);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_with<P: AsRef<Path>>(
        paths: &[P],
        limits: EngineLimits,
        functions: HostFunctionSet,
    ) -> Result<Self, OpenError> {
        let (files, found) = load(paths, &limits)?;
        Self::through_strict_door(Mode::Enforce, &files, found, limits, functions)
    }

    /// The same for an engine that stops nothing: every step of manifests and policies is [observed](crate::ObservedStep), and so are
    /// limits, parameters and schemas. Decisions let each operation by, with the arguments and results that it came with, and
    /// say in [`Decision::enforced`](crate::Decision::enforced) what would have come of it.
    ///
    /// ```
    /// use celador::{Call, Engine, EngineLimits, StartTask, User, VerdictKind};
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    /// let engine = Engine::open_observing(&["examples/first-policy"], EngineLimits::default())?;
    /// let now = std::time::SystemTime::now();
    /// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
    ///
    /// let call = Call::new("payout", serde_json::json!({"amount": 2_000}).into());
    /// let decision = task.before(&call, now)?.outcome().into_decision();
    /// assert_eq!(decision.verdict.kind(), VerdictKind::Allow);
    /// let enforced = decision.enforced.as_ref().expect("a rule is against it");
    /// assert_eq!(enforced.verdict, VerdictKind::Block);
    /// assert_eq!(enforced.message.as_deref(), Some("2000 is outside what a clerk may pay."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_observing<P: AsRef<Path>>(paths: &[P], limits: EngineLimits) -> Result<Self, OpenError> {
        let (files, found) = load(paths, &limits)?;
        Self::through_strict_door(Mode::Observe, &files, found, limits, HostFunctionSet::default())
    }

    /// An engine with the manifests of one text, under the standard bounds.
    ///
    /// # Errors
    /// [`OpenError::Refused`], as of [`Engine::open`].
    pub fn parse(name: &str, text: &str) -> Result<Self, OpenError> {
        let file = File { source: Source::new(name, text), origin: FileOrigin::Named };
        let (limits, functions) = (EngineLimits::default(), HostFunctionSet::default());
        Self::through_strict_door(Mode::Enforce, &[file], Vec::new(), limits, functions)
    }

    fn through_strict_door(
        mode: Mode,
        files: &[File],
        mut findings: Vec<Diagnostic>,
        limits: EngineLimits,
        functions: HostFunctionSet,
    ) -> Result<Self, OpenError> {
        let (catalog, read) = Catalog::parse(files, &limits);
        let catalog = catalog.with_host_functions(Arc::new(functions));
        let (mut engine, compiled) = Self::asking(Asked::Analysis, (Door::Strict, mode), &catalog, limits);
        findings.extend(read);
        findings.extend(compiled);
        if findings.iter().any(Diagnostic::is_refused) || !engine.is_whole() {
            findings.retain(Diagnostic::is_refused);
            return Err(OpenError::Refused(findings));
        }
        engine.warnings = findings;
        Ok(engine)
    }

    /// The warnings of [`Engine::open`] or [`Engine::parse`]: problems for which no manifest is refused.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// An engine with the agents and triggers of a catalog, and what compiling them found, the comments that allow
    /// findings included. An agent whose files hold what is refused cannot be started; the others can. It is for those who show
    /// the findings themselves, such as a checker. To guard an agent, use [`Engine::open`].
    #[must_use]
    pub fn from_catalog(catalog: &Catalog, limits: EngineLimits) -> (Self, Vec<Diagnostic>) {
        Self::asking(Asked::Analysis, (Door::Strict, Mode::Enforce), catalog, limits)
    }

    /// The same for an engine that stops nothing, as that of [`Engine::open_observing`].
    #[must_use]
    pub fn observing_from_catalog(catalog: &Catalog, limits: EngineLimits) -> (Self, Vec<Diagnostic>) {
        Self::asking(Asked::Analysis, (Door::Strict, Mode::Observe), catalog, limits)
    }

    /// The same for every manifest that the specification calls valid, whatever rules it may have lost: for those who test
    /// the specification. To guard an agent, use [`Engine::from_catalog`].
    #[must_use]
    pub fn lenient_from_catalog(catalog: &Catalog, limits: EngineLimits) -> (Self, Vec<Diagnostic>) {
        Self::asking(Asked::Loading, (Door::Lenient, Mode::Enforce), catalog, limits)
    }

    /// The same for manifests that a store keeps for its tasks, which were let in before: their clauses are not decided anew, as a task goes on also if a
    /// later release would find more in them.
    #[must_use]
    pub fn kept_from_catalog(catalog: &Catalog, mode: Mode, limits: EngineLimits) -> (Self, Vec<Diagnostic>) {
        Self::asking(Asked::Loading, (Door::Strict, mode), catalog, limits)
    }

    /// The same by door and mode, for those who find out what policies do: cases, proofs, comparisons. They need no secret to hash with.
    pub(crate) fn through(
        (door, mode): (Door, Mode),
        catalog: &Catalog,
        limits: EngineLimits,
    ) -> (Self, Vec<Diagnostic>) {
        let hash_key = catalog.hash_key().cloned().unwrap_or_else(HashKey::for_verification);
        let functions = KnownFunctions::Declared;
        Self::hashing((Some(hash_key), functions), Asked::of(door), (door, mode), (catalog, limits))
    }

    fn asking(
        asked: Asked,
        by: (Door, Mode),
        catalog: &Catalog,
        limits: EngineLimits,
    ) -> (Self, Vec<Diagnostic>) {
        let of_host = (catalog.hash_key().cloned(), KnownFunctions::of(catalog));
        Self::hashing(of_host, asked, by, (catalog, limits))
    }

    fn hashing(
        (hash_key, functions): (Option<HashKey>, KnownFunctions),
        asked: Asked,
        (door, mode): (Door, Mode),
        (catalog, limits): (&Catalog, EngineLimits),
    ) -> (Self, Vec<Diagnostic>) {
        let cache = Arc::new(Cache::new(&limits.eval));
        let of = (&limits, &*cache, hash_key.as_ref(), &functions);
        let (loaded, findings) = compile((door, mode), asked, catalog, of);
        (
            Self {
                loaded: RwLock::new(Arc::new(loaded)),
                cache,
                limits,
                switches: Switches::default(),
                door,
                mode,
                hash_key,
                functions,
                warnings: Vec::new(),
            },
            findings,
        )
    }

    /// Puts another set of policies in the place of this one, for tasks that start from now on. If an agent or a trigger of
    /// the new set must not run, the old set stays and nothing changes. The new set is judged as the first one was, and the functions of the host stay those of this engine.
    ///
    /// # Errors
    /// The problems of the new set; the old set stays in use.
    pub fn replace(&self, catalog: &Catalog) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let of = (&self.limits, &*self.cache, self.hash_key_of(catalog), &self.functions);
        let (loaded, findings) = compile((self.door, self.mode), Asked::of(self.door), catalog, of);
        if !loaded.is_whole() {
            return Err(findings);
        }
        // a poisoned lock still holds a whole set: writers only ever swap one pointer
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        Ok(findings)
    }

    /// An engine with the agents and triggers of another catalog, which shares the cache, the bounds and the switches of this
    /// one, judges manifests as this one does, and observes if this one does. So tasks of several sets run side by side. Also what compiling found.
    /// Clauses are not decided anew: a set that tasks began under goes on, also if a later release would find more in it.
    #[must_use]
    pub fn beside(&self, catalog: &Catalog) -> (Self, Vec<Diagnostic>) {
        self.sharing(self.door, Asked::Loading, catalog)
    }

    /// The same for a set that is to be served in the place of this one: it is judged in full, as the first one was.
    #[must_use]
    pub fn successor(&self, catalog: &Catalog) -> (Self, Vec<Diagnostic>) {
        self.sharing(self.door, Asked::of(self.door), catalog)
    }

    /// The same for manifests that were changed to see whether anybody notices: warnings about them refuse nothing.
    pub(crate) fn of_mutant(&self, catalog: &Catalog) -> (Self, Vec<Diagnostic>) {
        self.sharing(Door::Lenient, Asked::Loading, catalog)
    }

    /// What deciding the clauses of these steps finds, as they stand in their lists. The catalog is that of this engine.
    #[cfg(feature = "analysis")]
    pub(crate) fn findings_of_steps(&self, catalog: &Catalog, steps: &[Place]) -> Vec<Diagnostic> {
        let (_, mut findings) = analysed(Analyst::among(steps), &self.loaded(), catalog);
        catalog.allowances().clone().judge(&mut findings);
        findings
    }

    fn sharing(&self, door: Door, asked: Asked, catalog: &Catalog) -> (Self, Vec<Diagnostic>) {
        let functions = self.functions_of(catalog);
        let of = (&self.limits, &*self.cache, self.hash_key_of(catalog), &functions);
        let (loaded, findings) = compile((door, self.mode), asked, catalog, of);
        (
            Self {
                loaded: RwLock::new(Arc::new(loaded)),
                cache: self.cache.clone(),
                limits: self.limits,
                switches: self.switches.clone(),
                door,
                mode: self.mode,
                hash_key: self.hash_key_of(catalog).cloned(),
                functions,
                warnings: Vec::new(),
            },
            findings,
        )
    }

    /// The functions of the host for the policies of a catalog: those given with it, or those of this engine.
    fn functions_of(&self, catalog: &Catalog) -> KnownFunctions {
        match catalog.host_functions() {
            None if !catalog.has_declared_functions() => self.functions.clone(),
            _ => KnownFunctions::of(catalog),
        }
    }

    /// The key of `pii.hash` of the policies of a catalog.
    fn hash_key_of<'k>(&'k self, catalog: &'k Catalog) -> Option<&'k HashKey> {
        catalog.hash_key().or(self.hash_key.as_ref())
    }

    /// Whether each of its agents may run, and each of its triggers makes tasks.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.loaded().is_whole()
    }

    /// The policy of an agent.
    ///
    /// # Errors
    /// [`TaskError::UnknownAgent`], or [`TaskError::InvalidAgent`] if its manifests are refused.
    pub fn policy(&self, namespace: &str, agent: &str) -> Result<Arc<Policy>, TaskError> {
        self.loaded().policy(namespace, agent)
    }

    /// The policy of an agent for a task that brings these tools: that of [`Engine::policy`], if there are none. It is compiled
    /// once for each set of tools, as long as it is among the last `max_brought_sets` that were asked for.
    ///
    /// # Errors
    /// As [`Engine::policy`], and [`TaskError::Tools`] for tools that no task may begin with.
    pub fn policy_with(
        &self,
        namespace: &str,
        agent: &str,
        tools: &[BroughtTool],
    ) -> Result<Arc<Policy>, TaskError> {
        Ok(self.layer(namespace, agent, tools)?.policy)
    }

    /// The tools among these that a task of the agent could not call, with the reasons, as [`Task::tools_left_out`].
    ///
    /// # Errors
    /// As [`Engine::policy_with`].
    pub fn tools_left_out(
        &self,
        namespace: &str,
        agent: &str,
        tools: &[BroughtTool],
    ) -> Result<Arc<[LeftOut]>, TaskError> {
        Ok(self.layer(namespace, agent, tools)?.left_out)
    }

    fn layer(&self, namespace: &str, agent: &str, tools: &[BroughtTool]) -> Result<Layer, TaskError> {
        // the tools meet the very set of policies that the agent is of
        let loaded = self.loaded();
        let policy = loaded.policy(namespace, agent)?;
        if tools.is_empty() {
            return Ok(Layer { policy, left_out: Arc::default(), findings: Arc::default() });
        }
        Ok(loaded.layers.layer(&policy, tools, &self.limits, &self.cache)?)
    }

    /// A trigger, to be asked about each event of its source. Where it says that a task is made, start one of its agent
    /// for its owner, and put the input that it gives into [`Task::input`] (TRG-12).
    ///
    /// # Errors
    /// [`TaskError::UnknownTrigger`], or [`TaskError::InvalidTrigger`] if its manifests are refused.
    pub fn trigger(&self, namespace: &str, trigger: &str) -> Result<Arc<Trigger>, TaskError> {
        self.loaded().trigger(namespace, trigger)
    }

    /// The agent that is meant where a namespace is named and no agent: the only one of the namespace that no other agent delegates to.
    /// One that is not valid counts as well.
    ///
    /// # Errors
    /// [`TaskError::NoDefaultAgent`] if there is no such agent, or more than one.
    ///
    /// # Cost
    /// Linear in the functions of all agents.
    pub fn default_agent(&self, namespace: &str) -> Result<String, TaskError> {
        let loaded = self.loaded();
        let mut delegated: HashSet<(&str, &str)> = HashSet::new();
        for ((of, name), policy) in &loaded.policies {
            for function in policy.iter().flat_map(|policy| policy.functions()) {
                if let InvocationTarget::Agent { namespace, agent } = &function.target
                    && (&**namespace, &**agent) != (&**of, &**name)
                {
                    delegated.insert((namespace, agent));
                }
            }
        }
        let own = loaded.policies.keys().filter(|(of, _)| of == namespace);
        let own = own.filter(|(of, name)| !delegated.contains(&(&**of, &**name)));
        let mut own: Vec<&String> = own.map(|(_, name)| name).collect();
        match (own.pop(), own.len()) {
            (Some(name), 0) => Ok(name.clone()),
            (found, others) => Err(TaskError::NoDefaultAgent {
                candidates: others.saturating_add(usize::from(found.is_some())),
            }),
        }
    }

    /// The bounds under which it was made.
    pub(crate) const fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// Namespace and name of the one agent with this name; nothing if there is none, or several namespaces have one.
    #[must_use]
    pub fn agent_named(&self, name: &str) -> Option<(String, String)> {
        let loaded = self.loaded();
        let mut agents = loaded.policies.keys().filter(|(_, agent)| agent == name);
        match (agents.next(), agents.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// How much of what its policies permit was decided when they were compiled. What was found is among the findings of loading, which
    /// [`Engine::from_catalog`] gives. Nothing was asked of an engine of [`Engine::lenient_from_catalog`], [`Engine::kept_from_catalog`] or [`Engine::beside`].
    ///
    /// ```
    /// use celador::Engine;
    ///
    /// let manifests = r#"
    /// kind: commonagents.info/v1beta2/tool
    /// namespace: shop
    /// name: refund
    /// description: Pays money back.
    /// actions:
    ///   - name: pay
    ///     description: Pays.
    ///     parameters: {properties: {amount: {type: number}}}
    ///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
    /// ---
    /// kind: commonagents.info/v1beta2/agent
    /// namespace: shop
    /// name: clerk
    /// description: Answers customers.
    /// prompt: You are a careful clerk.
    /// capabilities:
    ///   refund:
    ///     before:
    ///       - assert: input.amount > 0 && input.amount <= 1000
    /// "#;
    /// let engine = Engine::parse("shop.yaml", manifests)?;
    /// assert_eq!((engine.analysis().decided, engine.analysis().unknown.len()), (2, 0));
    /// # Ok::<(), celador::OpenError>(())
    /// ```
    #[must_use]
    #[cfg(feature = "analysis")]
    pub fn analysis(&self) -> Arc<Analysis> {
        self.loaded().analysis.clone()
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a task, with the tools that it brings. [`Task::tools_left_out`] says which of them cannot be called.
    ///
    /// # Errors
    /// As [`Engine::policy_with`]; [`TaskError::MetadataTooLarge`], [`TaskError::MetadataName`] and [`TaskError::MetadataText`];
    /// [`TaskError::ClaimsNotAnObject`], [`TaskError::ClaimsTooLarge`] and [`TaskError::ClaimsMisfit`]; [`TaskError::ParentRequired`].
    pub fn start(&self, mut start: StartTask) -> Result<Task, TaskError> {
        start.check_metadata(&self.limits)?;
        start.user.claims = self.named_claims(start.user.claims.as_ref())?;
        let Layer { policy, left_out, findings } =
            self.layer(&start.namespace, &start.agent, &start.tools)?;
        let is_bounded = policy.delegation().is_some_and(|bound| bound.mode == Mode::Enforce);
        if is_bounded && !policy.observes() && start.parent.is_none() {
            return Err(TaskError::ParentRequired(start.agent));
        }
        let claims = start.user.claims.clone().unwrap_or_else(|| Json::object([]));
        if !policy.observes() {
            let checked = policy.claims().check(&claims);
            checked.map_err(|(policy, why)| TaskError::ClaimsMisfit { policy, why })?;
        }
        let mut task = Task::new(policy, self.cache.clone(), start);
        task.note_tools(left_out, findings);
        task.heed(self.switches.clone());
        task.ask_host(self.functions.set());
        Ok(task)
    }

    /// Starts a task that nobody else has, to try something on. One that must be within a parent begins under a new task of an agent that may
    /// delegate to it, the first by name.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub(crate) fn start_trial(&self, start: StartTask) -> Result<Task, TaskError> {
        self.start_within(start, MAX_TRIAL_DEPTH)
    }

    fn start_within(&self, start: StartTask, depth: usize) -> Result<Task, TaskError> {
        let policy = self.policy(&start.namespace, &start.agent)?;
        let Some(bound) = policy.delegation().filter(|_| start.parent.is_none()) else {
            return self.start(start);
        };
        let loaded = self.loaded();
        let admitted = loaded
            .policies
            .iter()
            .filter(|(_, it)| it.as_ref().is_some_and(|parent| bound.admits(&policy, parent)));
        let first = admitted.map(|(name, _)| name).min();
        let required = || TaskError::ParentRequired(start.agent.clone());
        let (namespace, agent) = first.ok_or_else(required)?;
        let above = StartTask {
            id: format!("{} of {agent}", start.id),
            namespace: namespace.clone(),
            agent: agent.clone(),
            ..start.clone()
        };
        let parent = self.start_within(above, depth.checked_sub(1).ok_or_else(required)?)?;
        let below = Parent::new(parent.id()).below(parent.parent());
        let mut task = self.start(StartTask { parent: Some(below), ..start })?;
        task.set_parent(&parent)?;
        Ok(task)
    }

    /// The claims that a task is to keep: those that some policy names, were it for another agent, to which the task may
    /// delegate. A token says more than anybody asks, and what nobody asks for is not stored.
    fn named_claims(&self, claims: Option<&Json>) -> Result<Option<Json>, TaskError> {
        let Some(claims) = claims else { return Ok(None) };
        if !claims.root().is_object() {
            return Err(TaskError::ClaimsNotAnObject);
        }
        let most = self.limits.max_claims_bytes;
        let loaded = self.loaded();
        let named = members_of(claims.root(), |name| loaded.claims.contains(name));
        if named.to_string().len() > most {
            return Err(TaskError::ClaimsTooLarge(most));
        }
        Ok(Some(named).filter(|named| !named.root().is_empty()))
    }

    /// The switches that all tasks of this engine heed, running ones too. A tool or agent that is stopped here is stopped at the next
    /// step.
    #[must_use]
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// Goes on with a task that was saved, under the policy that its agent has now.
    ///
    /// # Errors
    /// As [`Engine::policy_with`] and [`Task::restore`].
    pub fn restore(&self, saved: SavedTask) -> Result<Task, TaskError> {
        let (namespace, agent) = saved.agent();
        let Layer { policy, left_out, findings } = self.layer(namespace, agent, saved.tools())?;
        let mut task = Task::restore(policy, self.cache.clone(), saved)?;
        task.note_tools(left_out, findings);
        task.heed(self.switches.clone());
        task.ask_host(self.functions.set());
        Ok(task)
    }

    /// Brings tools to a task that is under way: those that a server lists later. The task goes on under the policy that its agent has now, with
    /// them. A tool that the task has brought before, exactly as it is now, is passed over; nothing is returned if all are.
    ///
    /// The mark that is returned is where the task was before it had them, to be stored with [`Task::change_since`].
    ///
    /// ```
    /// use celador::{BroughtTool, Call, Engine, StartTask, TaskError, ToolsError, User, VerdictKind};
    /// # let manifests = "kind: celador/v1/tools\nnamespace: acme\nname: server\nbrought: ['*']\n---\n\
    /// # kind: commonagents.info/v1beta2/agent\nnamespace: acme\nname: clerk\ndescription: A clerk.\nprompt: Hi.\n\
    /// # capabilities: {server: {before: [{assert: '!has(input.amount) || input.amount < 9'}]}}";
    /// # let engine = Engine::parse("acme.yaml", manifests)?;
    /// # let now = std::time::SystemTime::UNIX_EPOCH;
    /// let tool = |schema: &str| serde_json::from_str::<BroughtTool>(&format!(r#"{{"name": "pay", "inputSchema": {schema}}}"#));
    /// let mut task = engine.start(StartTask::new("t-1", "acme", "clerk", User::default(), now))?;
    /// let pay = tool(r#"{"type": "object", "properties": {"amount": {"type": "number"}}}"#)?;
    /// assert!(engine.bring(&mut task, &[pay.clone()])?.is_some());
    /// assert!(engine.bring(&mut task, &[pay])?.is_none());
    ///
    /// let call = Call::new("pay", serde_json::json!({"amount": 10}).into());
    /// assert_eq!(task.before(&call, now)?.outcome().into_decision().verdict.kind(), VerdictKind::Block);
    /// // what a task knows under a name does not change
    /// let other = tool(r#"{"type": "object"}"#)?;
    /// let refused = TaskError::Tools(ToolsError::SameKey("pay".into(), "pay".into()));
    /// assert_eq!(engine.bring(&mut task, &[other]).err(), Some(refused));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TaskError::Tools`] for tools that the task cannot have beside those that it has, [`TaskError::Waiting`] for a task that waits for an answer
    /// in the middle of its policy, [`TaskError::HasEnded`], and those of [`Engine::restore`]. The task is as it was then.
    ///
    /// # Cost
    /// Linear in the task and in its tools, and that of compiling its policy with them, once for each set of tools.
    pub fn bring(&self, task: &mut Task, tools: &[BroughtTool]) -> Result<Option<TaskMark>, TaskError> {
        if matches!(task.state(), TaskState::Terminated(_)) {
            return Err(TaskError::HasEnded);
        }
        let had = task.tools().len();
        let known: HashMap<&str, &BroughtTool> =
            task.tools().iter().map(|tool| (&*tool.name, tool)).collect();
        let added = tools.iter().filter(|tool| known.get(&*tool.name) != Some(tool));
        let all: Vec<BroughtTool> = task.tools().iter().chain(added).cloned().collect();
        if all.len() == had {
            return Ok(None);
        }
        let brought = self.restore(task.save().with_tools(all)).map_err(|error| match error {
            TaskError::PolicyChanged => TaskError::Waiting,
            error => error,
        })?;
        let mark = brought.mark().before_tools(had);
        *task = brought;
        Ok(Some(mark))
    }

    /// Counters of the cache of compiled expressions: how often it was used, and how much it holds.
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }
}

/// What is asked of manifests on their way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Whether they can be compiled.
    Loading,
    /// And what they permit.
    Analysis,
}

impl Asked {
    /// What is asked of manifests that nobody has judged yet.
    fn of(door: Door) -> Self {
        match door {
            Door::Strict => Self::Analysis,
            Door::Lenient => Self::Loading,
        }
    }
}

fn compile(
    (door, mode): (Door, Mode),
    asked: Asked,
    catalog: &Catalog,
    (limits, cache, hash_key, functions): (&EngineLimits, &Cache, Option<&HashKey>, &KnownFunctions),
) -> (Loaded, Vec<Diagnostic>) {
    let mut loaded = Loaded::default();
    let mut findings: Vec<Diagnostic> = Vec::new();
    let (mut known, mut of_policies) = (HashSet::new(), Vec::new());
    for linked in catalog.agents() {
        let mut resolved = match mode {
            Mode::Enforce => Cow::Borrowed(linked),
            Mode::Observe => Cow::Owned(linked.observed()),
        };
        if let Some(key) = hash_key {
            resolved.to_mut().hash_key = Some(key.clone());
        }
        let resolved = &*resolved;
        let CompiledAgent { policy, findings: mut found, of_policies: steps } =
            Policy::compile_agent(resolved, catalog.mount(), limits, cache);
        let of_host = functions.findings(resolved);
        let policy = policy.filter(|_| of_host.is_empty());
        found.extend(of_host);
        let all = found.iter().chain(steps.iter().flat_map(|step| &step.findings));
        loaded.layers.add(resolved, catalog.mount(), all);
        of_policies.extend(steps);
        // an expression of a tool is compiled for each agent that uses it, and mostly has the same to say
        findings.extend(found.into_iter().filter(|finding| {
            let place = (finding.place.source.name().to_owned(), finding.place.span);
            known.insert((place, finding.path.clone(), finding.message.clone()))
        }));
        loaded.claims.extend(policy.iter().flat_map(|policy| policy.claims().names()).cloned());
        let agent = &resolved.agent;
        loaded.policies.insert((agent.namespace.text.to_string(), agent.name.text.to_string()), policy);
    }
    findings.extend(of_all_agents(of_policies));
    findings.extend(check_delegations(&mut loaded));
    if door == Door::Strict {
        findings.extend(unscoped::errors(catalog, limits, cache, hash_key));
    }
    for resolved in catalog.triggers() {
        let (trigger, found) = Trigger::compile(resolved, limits, cache);
        findings.extend(found);
        let launch = &resolved.document.launch;
        let [namespace, name, agent] =
            [&launch.namespace, &launch.name, &launch.agent].map(|name| name.text.to_string());
        let runs = loaded.policies.get(&(namespace.clone(), agent)).is_some_and(Option::is_some);
        loaded.triggers.insert((namespace, name), trigger.filter(|_| runs));
    }
    for resolved in catalog.schedules() {
        if let Some(agent) = &resolved.agent {
            check_inputs(&resolved.document.launch, agent, &mut findings);
        }
    }
    if asked == Asked::Analysis {
        findings.extend(analyse(&mut loaded, catalog));
    }
    let mut allowances = catalog.allowances().clone();
    allowances.judge(&mut findings);
    if door == Door::Strict {
        // of steps that stop nothing, some things are never found
        let all = cfg!(feature = "analysis") && asked == Asked::Analysis && mode == Mode::Enforce;
        findings.extend(problems_of_comments(&allowances, catalog, &findings, all));
        shut(&mut loaded, catalog, &findings);
    }
    (loaded, findings)
}

/// Finds agents whose delegated tasks are bound by parents that cannot decide their calls. They must not run.
fn check_delegations(loaded: &mut Loaded) -> Vec<Diagnostic> {
    let policies: BTreeMap<_, _> = loaded.policies.iter_mut().collect();
    let all: Vec<Arc<Policy>> = policies.values().filter_map(|policy| (*policy).clone()).collect();
    let mut findings = Vec::new();
    for (_, policy) in policies {
        let others = all.iter().map(Arc::as_ref);
        let found = policy.as_ref().map(|policy| policy.check_delegation(others)).unwrap_or_default();
        if !found.is_empty() {
            *policy = None;
            findings.extend(found);
        }
    }
    findings
}

/// What the policies permit.
#[cfg(feature = "analysis")]
fn analyse(loaded: &mut Loaded, catalog: &Catalog) -> Vec<Diagnostic> {
    let (analysis, findings) = analysed(Analyst::default(), loaded, catalog);
    loaded.analysis = Arc::new(analysis);
    findings
}

/// What an analyst finds in the policies and triggers of a catalog.
#[cfg(feature = "analysis")]
fn analysed(mut analyst: Analyst, loaded: &Loaded, catalog: &Catalog) -> (Analysis, Vec<Diagnostic>) {
    for resolved in catalog.agents() {
        let agent = &resolved.agent;
        if let Ok(policy) = loaded.policy(&agent.namespace.text, &agent.name.text) {
            analyst.policy(&policy);
            analyst.documents(resolved);
        }
    }
    for resolved in catalog.triggers() {
        let launch = &resolved.document.launch;
        if let Ok(trigger) = loaded.trigger(&launch.namespace.text, &launch.name.text) {
            analyst.trigger(&trigger);
        }
    }
    analyst.end()
}

/// That this was not asked.
#[cfg(not(feature = "analysis"))]
fn analyse(_: &mut Loaded, catalog: &Catalog) -> Vec<Diagnostic> {
    let agent = catalog.agents().first().map(|resolved| &resolved.agent.name.place);
    agent.map(|place| crate::lint::not_analysed(place.clone())).into_iter().collect()
}

/// What is wrong with comments that allow findings. Where a file has an error or is not compiled, a finding that is allowed
/// may not have been made yet, so nothing is said of that. Neither is it of comments about what was not asked for, unless `all` was.
fn problems_of_comments(
    allowances: &Allowances,
    catalog: &Catalog,
    findings: &[Diagnostic],
    all: bool,
) -> Vec<Diagnostic> {
    let found: &[Found] = if all { &[Found::ByLoading, Found::ByAnalysis] } else { &[Found::ByLoading] };
    let judged: Vec<&Diagnostic> = catalog.refused().iter().chain(findings).collect();
    allowances.problems(found, &judged, |source| {
        let faulty = |finding: &&Diagnostic| finding.is_error() && finding.place.source.same(source);
        !judged.iter().any(faulty) && catalog.is_in_use(source)
    })
}

/// Takes out what must not run because a finding that is refused stands in a file that it is made of.
fn shut(loaded: &mut Loaded, catalog: &Catalog, findings: &[Diagnostic]) {
    // an error of the specification has its own reach, from a document to the agents that use it
    let refused = catalog.refused().iter().chain(findings).filter(|it| it.standing == Standing::Refused);
    let refused: HashSet<&str> = refused.map(|finding| finding.place.source.name()).collect();
    let is_refused = |source: &Source| refused.contains(source.name());
    for resolved in catalog.agents() {
        let agent = &resolved.agent;
        if resolved.sources(catalog.mount().map(AsRef::as_ref)).any(is_refused) {
            loaded.policies.insert((agent.namespace.text.to_string(), agent.name.text.to_string()), None);
        }
    }
    for resolved in catalog.triggers() {
        let launch = &resolved.document.launch;
        let [namespace, name, agent] =
            [&launch.namespace, &launch.name, &launch.agent].map(|name| name.text.to_string());
        let runs = loaded.policies.get(&(namespace.clone(), agent)).is_some_and(Option::is_some);
        if !runs || is_refused(&launch.place.source) {
            loaded.triggers.insert((namespace, name), None);
        }
    }
}
