//! A case through the engine: its past put on record, its operation carried out, its expectations compared. Of a case with steps
//! [`story`] does the latter two.
//!
//! In: a [`Case`]. Out: a [`Report`]. Only public operations of the engine and the task are used, in the order in which a
//! host uses them. Manifests that several cases name are compiled once. A case that cannot be run (its manifests are not
//! loaded completely, its past is impossible) is broken, never passed.

use super::agent::{agent_named, full_name};
use super::case::{Aspect, BoundVariables, Case, Manifests, TestedOperation, TestedStep};
use super::counted::book_of;
use super::coverage::Coverage;
use super::expect::{Found, Mismatch, compare};
use super::explain::ExplainedOperation;
use super::host_answers::MissingAnswer;
use super::made_up::by_somebody;
use super::observed::{counted, decided, decided_message, failed, of_context, rejected, value};
use super::reachable::unreachable;
use super::replay::Replay;
use super::report::{CaseOutcome, Report};
use super::world::{World, drive};
use super::{loading, messages, story};
use crate::cel::Json;
use crate::context::Scope;
use crate::diagnostic::Diagnostic;
use crate::engine::{Door, Engine};
use crate::limits::EngineLimits;
use crate::manifest::Catalog;
use crate::manifest::agent::Agent;
use crate::manifest::given::Files;
use crate::manifest::launch::Launch;
use crate::manifest::load::LoadError;
use crate::manifest::mode::Mode;
use crate::manifest::step::Hook;
use crate::policy::{Firing, FiringOutcome, Trigger};
use crate::source::Embedded;
use crate::task::{
    Allowed, Answer, Call, CallResult, Decision, Exchange, Explanation, Given, ModelCall, Operation,
    Progress, ReportedCall, Request, StepName, StepOutcome, Task, TaskError, TemplateKind, Trial, Tried,
    User, Verdict, VerdictKind,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

/// Runs cases, and keeps the manifests that it has compiled.
#[derive(Debug, Default)]
pub struct Runner {
    pub(super) limits: EngineLimits,
    pub(super) files: Files,
    compiled: HashMap<(Vec<PathBuf>, Mode), Rc<Compiled>>,
    /// What its cases have tried, if that is asked for.
    pub(super) coverage: Option<Coverage>,
}

/// Whether what operations go through is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    Off,
    On,
}

/// Manifests, compiled.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) catalog: Catalog,
    pub(super) engine: Engine,
    pub(super) findings: Vec<Diagnostic>,
}

impl Compiled {
    /// Whether the manifests of a case were loaded completely. A document that cannot be read is left out, and a case
    /// without it says nothing about the rules that are served: it is broken, whatever its operation comes to.
    ///
    /// # Errors
    /// What is refused in the manifests.
    fn check_complete(&self, case: &Case) -> Result<(), Broken> {
        let refused: Vec<Diagnostic> =
            self.findings.iter().filter(|finding| case.manifests.is_refused_for(finding)).cloned().collect();
        if refused.is_empty() { Ok(()) } else { Err(Broken(refused)) }
    }
}

impl Manifests {
    /// Whether manifests with this finding are not used. Manifests in files are those that are served, and are judged as
    /// there; a case that brings its own is about what the specification says of them, which calls valid what no server takes.
    fn is_refused_for(&self, finding: &Diagnostic) -> bool {
        match self {
            Self::Files { .. } => finding.is_refused(),
            Self::Inline(_) | Self::None => finding.is_error(),
        }
    }

    /// The lint level for the same manifests.
    fn door(&self) -> Door {
        match self {
            Self::Files { .. } => Door::Strict,
            Self::Inline(_) | Self::None => Door::Lenient,
        }
    }
}

/// Why a case has no result.
pub(super) struct Broken(pub(super) Vec<Diagnostic>);

impl From<Diagnostic> for Broken {
    fn from(finding: Diagnostic) -> Self {
        Self(vec![finding])
    }
}

impl Runner {
    /// A runner under these bounds, which reads the manifests that cases name from the disk.
    #[must_use]
    pub fn new(limits: EngineLimits) -> Self {
        Self::among(Files::System, limits)
    }

    /// The same for cases whose manifests are among these files.
    #[must_use]
    pub fn among(files: Files, limits: EngineLimits) -> Self {
        Self { limits, files, compiled: HashMap::new(), coverage: None }
    }

    /// The same, which keeps what its cases try ([`Runner::coverage`]). Cases take several times as long.
    #[must_use]
    pub fn covering(self) -> Self {
        Self { coverage: Some(Coverage::default()), ..self }
    }

    /// What its cases have tried so far of the manifests that they name; nothing unless that is kept.
    #[must_use]
    pub fn coverage(&self) -> Option<&Coverage> {
        self.coverage.as_ref()
    }

    /// Runs a case.
    pub fn run(&mut self, case: &Case) -> Report {
        if self.coverage.is_some() {
            return self.explain(case);
        }
        let report = self.run_as(case, Telling::Off);
        match report.outcome {
            // what it says is for people and worth a second run, which comes to the same
            CaseOutcome::Failed { .. } => self.explain(case),
            CaseOutcome::Passed | CaseOutcome::Broken(_) => report,
        }
    }

    /// Runs a case and explains what its operations went through.
    pub fn explain(&mut self, case: &Case) -> Report {
        self.run_as(case, Telling::On)
    }

    fn run_as(&mut self, case: &Case, telling: Telling) -> Report {
        let mut explained = Vec::new();
        let outcome = match self.outcome(case, telling, &mut explained) {
            Ok(outcome) => outcome,
            Err(Broken(findings)) => CaseOutcome::Broken(findings),
        };
        if telling == Telling::Off {
            explained.clear();
        }
        if let Some(coverage) = &mut self.coverage {
            coverage.add_case(&case.name.place.source.name().into(), &explained);
        }
        Report {
            explained: explained.into(),
            name: case.name.text.to_string(),
            about: case.about.as_str().into(),
            file: case.name.place.source.name().to_owned(),
            outcome,
            hides_cases: false,
        }
    }

    fn outcome(
        &mut self,
        case: &Case,
        telling: Telling,
        explained: &mut Vec<ExplainedOperation>,
    ) -> Result<CaseOutcome, Broken> {
        let compiled =
            self.compile(case).map_err(|error| messages::unreadable_manifests(&case.name.place, &error))?;
        compiled.outcome(case, telling, &self.limits, explained)
    }

    pub(super) fn compile(&mut self, case: &Case) -> Result<Rc<Compiled>, LoadError> {
        let paths = case.manifest_paths();
        let key = (paths, case.mode);
        if let Some(known) = self.compiled.get(&key).filter(|_| !key.0.is_empty()) {
            return Ok(known.clone());
        }
        let (catalog, mut findings) = case.catalog(&self.files, &self.limits)?;
        let (engine, more) = Engine::through((case.manifests.door(), case.mode), &catalog, self.limits);
        findings.extend(more);
        let compiled = Rc::new(Compiled { catalog, engine, findings });
        if let Some(coverage) = &mut self.coverage {
            for resolved in compiled.catalog.agents() {
                let agent = &resolved.agent;
                let policy = compiled.engine.policy(&agent.namespace.text, &agent.name.text);
                policy.iter().for_each(|policy| coverage.add_policy(policy));
                coverage.add_names(resolved);
            }
            for resolved in compiled.catalog.triggers() {
                let launch = &resolved.document.launch;
                let trigger = compiled.engine.trigger(&launch.namespace.text, &launch.name.text);
                trigger.iter().for_each(|trigger| coverage.add_trigger(trigger));
            }
        }
        if !key.0.is_empty() {
            self.compiled.insert(key, compiled.clone());
        }
        Ok(compiled)
    }
}

impl Compiled {
    /// What the operation of a case comes to, whatever it expects; nothing if it cannot be carried out.
    pub(super) fn found(&self, case: &Case) -> Option<Found> {
        match &case.operation {
            TestedOperation::Steps(steps) => {
                self.tell((case, steps), Telling::Off, &mut Vec::new()).ok().map(|(_, found)| found)
            }
            _ => Running::start(case, self).ok()?.carry_out().ok(),
        }
    }

    /// Plays the steps of a case: the mismatches, and what was found where the first one is, or at the end.
    fn tell(
        &self,
        (case, steps): (&Case, &[TestedStep]),
        telling: Telling,
        explained: &mut Vec<ExplainedOperation>,
    ) -> Result<(Vec<Mismatch>, Found), Broken> {
        let Running { task, world, .. } = Running::start(case, self)?;
        let unanswered = world.unanswered.clone();
        let replay = Replay::of(task, world, case.settings.clone());
        let replay = if telling == Telling::On { replay.explaining() } else { replay };
        let told = story::tell(case, steps, replay, explained);
        all_answered(case, &unanswered)?;
        Ok(told.map_err(|finding| *finding)?)
    }

    /// What comes of a case under these manifests.
    pub(super) fn outcome(
        &self,
        case: &Case,
        telling: Telling,
        limits: &EngineLimits,
        explained: &mut Vec<ExplainedOperation>,
    ) -> Result<CaseOutcome, Broken> {
        let compiled = self;
        let without_task = match &case.operation {
            TestedOperation::Validate => {
                Some(loading::validate(&compiled.findings, |finding| case.manifests.is_refused_for(finding)))
            }
            TestedOperation::Bundle(text) => Some(loading::bundle(text, limits)),
            TestedOperation::Subscription { capability, event } => {
                compiled.check_complete(case)?;
                let agent = agent_under_test(case, &compiled.catalog)?;
                let (namespace, name) = (&agent.namespace.text, &agent.name.text);
                let runs = compiled.engine.policy(namespace, name);
                runs.map_err(|error| messages::cannot_start(&case.name.place, &error))?;
                let resolved = compiled.catalog.agent(namespace, name);
                let resolved = resolved.ok_or_else(|| messages::no_agent(&case.name.place))?;
                let found = loading::subscription(resolved, capability, event);
                Some(found.ok_or_else(|| messages::no_event(event, capability))?)
            }
            _ => None,
        };
        if let Some(found) = without_task {
            let mismatches = compare(&case.expect, &found, |_| Err("no task was started".to_owned()));
            return Ok(outcome(mismatches, found));
        }
        if let TestedOperation::Steps(steps) = &case.operation {
            let (mismatches, found) = self.tell((case, steps), telling, explained)?;
            return Ok(outcome(mismatches, found));
        }
        let mut trial = Running::start(case, compiled)?;
        if telling == Telling::On {
            trial.task.explain();
            trial.task.explain_tools();
        }
        let carried_out = trial.carry_out();
        let explanation = trial.task.explanation().unwrap_or_default();
        all_answered(case, &trial.world.unanswered)?;
        let mut found = carried_out?;
        let agent = full_name(trial.task.policy().agent());
        let trigger = trial.trigger.as_ref().map(|trigger| &*trigger.launch().name.text);
        explained.push(explained_operation((case, trigger), agent, &found, explanation));
        let mismatches = trial.compare(&mut found);
        Ok(outcome(mismatches, found))
    }
}

/// Sees to it that the case has answered every call of a function of the host.
fn all_answered(case: &Case, unanswered: &MissingAnswer) -> Result<(), Broken> {
    let first = unanswered.lock().unwrap_or_else(PoisonError::into_inner).take();
    let finding = first.map(|(function, arguments)| {
        messages::unanswered_function(&case.operation_place, &function, &arguments)
    });
    finding.map_or(Ok(()), |finding| Err(finding.into()))
}

/// What a case of one operation has carried out, with the trigger that it is about.
fn explained_operation(
    (case, trigger): (&Case, Option<&str>),
    agent: String,
    found: &Found,
    explanation: Explanation,
) -> ExplainedOperation {
    let about = match &case.operation {
        TestedOperation::Binding(call) | TestedOperation::After(call, _) => Some(&*call.function),
        TestedOperation::Operation(operation) => operation.function(),
        _ => trigger,
    };
    let about = about.map(|about| format!(" {about}")).unwrap_or_default();
    ExplainedOperation {
        number: 1,
        called: format!("{}{about}", case.operation.name()),
        decision: found.text(Aspect::Decision).map(str::to_owned),
        message: found.text(Aspect::Message).map(str::to_owned),
        decided_by: found.decided_by.clone(),
        explanation,
        agent,
        limits: found.text(Aspect::Limit).map(str::to_owned).into_iter().collect(),
        events: match &case.operation {
            TestedOperation::Operation(Operation::Event(delivery)) => {
                vec![format!("{}/{}", delivery.capability, delivery.event)]
            }
            _ => trigger.map(str::to_owned).into_iter().collect(),
        },
    }
}

fn outcome(mismatches: Vec<Mismatch>, found: Found) -> CaseOutcome {
    if mismatches.is_empty() {
        CaseOutcome::Passed
    } else {
        CaseOutcome::Failed { mismatches, found: Box::new(found) }
    }
}

/// A case under way.
pub(super) struct Running<'c> {
    case: &'c Case,
    pub(super) task: Task,
    /// What makes the task, if the operation is about that.
    trigger: Option<Arc<Trigger>>,
    pub(super) world: World,
    /// How many verdicts of `resume` were given.
    resumed: usize,
}

impl<'c> Running<'c> {
    pub(super) fn start(case: &'c Case, compiled: &Compiled) -> Result<Self, Broken> {
        compiled.check_complete(case)?;
        let agent = agent_under_test(case, &compiled.catalog)?;
        let mut background = case.background.clone();
        let mut trigger = None;
        if let TestedOperation::Trigger { name, .. } = &case.operation {
            let launch = trigger_under_test(case, name.as_ref(), agent, &compiled.catalog)?;
            background.environment.user =
                User { id: launch.owner.text.to_string(), email: None, ..User::default() };
            let found = compiled.engine.trigger(&launch.namespace.text, &launch.name.text);
            let found = found.map_err(|error| messages::cannot_start(&case.name.place, &error))?;
            trigger = Some(found);
        }
        let task = background.start(&compiled.engine, agent, &case.name.place);
        let mut task = task.map_err(|finding| *finding)?;
        let is_served = matches!(case.manifests, Manifests::Files { .. });
        let mut past = background.state.iter();
        if let Some(finding) = past.find_map(|entry| unreachable(entry, task.policy(), is_served)) {
            return Err(finding.into());
        }
        if let Some(unknown) = case.mocks.keys().find(|function| task.policy().position(function).is_none()) {
            let error = TaskError::UnknownFunction(unknown.clone());
            let finding = messages::unknown_mock(&case.name.place, unknown);
            return Err(messages::beside_functions(finding, &error, &task).into());
        }
        if let Some(finding) = case.functions.undeclared(task.policy()) {
            return Err(finding.into());
        }
        let (host, unanswered) = case.functions.host(task.policy());
        task.ask_host(Arc::new(host));
        let now = case.background.environment.now;
        let counters = book_of(&case.counters, &task, now).map_err(|finding| *finding)?;
        let world = World {
            now: case.background.environment.now,
            unanswered,
            mocks: case.mocks.clone(),
            reviews: case.reviews.clone(),
            files: case.files.clone(),
            counters,
            answered: 0,
            invoked: Vec::new(),
        };
        Ok(Self { case, task, trigger, world, resumed: 0 })
    }

    fn carry_out(&mut self) -> Result<Found, Broken> {
        let case = self.case;
        let now = self.world.now;
        Ok(match &case.operation {
            TestedOperation::Validate
            | TestedOperation::Bundle(_)
            | TestedOperation::Subscription { .. }
            | TestedOperation::Steps(_) => Found::default(),
            TestedOperation::Trigger { payload, .. } => self.fire(payload)?,
            TestedOperation::AllowList(capability) => {
                let list = self.task.allow_list(&capability.text);
                let list = list.ok_or_else(|| messages::no_capability(capability))?;
                value(Some(list.to_json().into()))
            }
            TestedOperation::Functions => {
                let mut names: Vec<&str> = self.task.functions().collect();
                names.sort_unstable();
                value(Some(serde_json::json!(names).into()))
            }
            TestedOperation::Schema(function) => {
                let schema = self.task.schema(&function.text);
                let schema = schema.map_err(|error| {
                    let finding = messages::no_schema(&function.place, &error);
                    messages::beside_functions(finding, &error, &self.task)
                })?;
                let properties = schema.get("properties").and_then(Value::as_object);
                let mut names: Vec<&str> = properties
                    .into_iter()
                    .flat_map(|properties| properties.keys().map(String::as_str))
                    .collect();
                names.sort_unstable();
                value(Some(serde_json::json!(names).into()))
            }
            TestedOperation::Binding(call) => decided(self.task.resolve(call, now)),
            // a script that cannot be read is shown like an expression that cannot
            TestedOperation::Operation(Operation::Script { source }) => match self.task.script(source, now) {
                Ok(operation) => {
                    let progress = operation.into_progress();
                    decided(self.drive(progress)?)
                }
                Err(issues) => rejected(&issues),
            },
            TestedOperation::Operation(operation) => self.operation(operation)?,
            TestedOperation::After(call, result) => self.after(call, result.clone())?,
            TestedOperation::ModelAfter(call, answer) => self.model_after(call, answer)?,
            TestedOperation::Prompt => value(self.task.render_prompt(now).map(|text| Json::string(&text))),
            TestedOperation::Cel { scope, expr, bound } => self.evaluate(*scope, expr, bound)?,
            TestedOperation::Interpolate { kind, template, parameters, bound } => {
                self.interpolate(*kind, &template.text, parameters.as_ref(), bound)
            }
        })
    }

    /// The call is let through first: `after` is about its result alone. Its arguments are resolved as those of any call,
    /// unless that fails, which is another operation's affair.
    fn after(&mut self, call: &Call, result: CallResult) -> Result<Found, Broken> {
        let now = self.world.now;
        let resolved = self.task.resolve(call, now);
        let mut call = call.clone();
        if let Verdict::Allow(Allowed { value: Some(arguments), .. }) = resolved.verdict {
            call.arguments = arguments;
        }
        let place = &self.case.operation_place;
        let awaited = self.task.await_result(&call);
        let call = awaited.map_err(|error| {
            messages::beside_functions(messages::impossible_call(place, &error), &error, &self.task)
        })?;
        self.operation(&Operation::After(ReportedCall { call, result }))
    }

    /// The request is let through first, by the steps ahead of it; one that they refuse has no answer, and the case shows its decision.
    fn model_after(&mut self, call: &ModelCall, answer: &Json) -> Result<Found, Broken> {
        let asked = self.apply(&Operation::ModelBefore(call.clone()))?;
        let Some(call) = asked.call.clone().filter(|_| asked.is_allowed()) else { return Ok(decided(asked)) };
        self.operation(&Operation::ModelAfter { call, answer: answer.clone() })
    }

    /// The decision on an operation.
    fn apply(&mut self, operation: &Operation) -> Result<Decision, Broken> {
        let progress = self.task.apply(operation.clone(), &self.case.settings, self.world.now);
        let progress =
            progress.map_err(|error| messages::impossible_call(&self.case.operation_place, &error))?;
        self.drive(progress)
    }

    /// What an operation comes to in the words of a case: the value of one on a message is its text, and limits are `ok`.
    fn operation(&mut self, operation: &Operation) -> Result<Found, Broken> {
        let decision = self.apply(operation)?;
        let is_ok = decision.is_allowed();
        Ok(match operation {
            Operation::Input(_) | Operation::Output(_) | Operation::Event(_) => decided_message(decision),
            Operation::Limits { .. } if is_ok => {
                let mut found = decided(decision);
                found.set(Aspect::Decision, Some("ok"));
                found
            }
            _ => decided(decision),
        })
    }

    /// Drives an operation to its decision, giving a verdict of `resume` each time it suspends.
    fn drive(&mut self, progress: Progress) -> Result<Decision, Broken> {
        let wrong = |error| messages::impossible_call(&self.case.operation_place, &error);
        let mut decision = drive(&mut self.task, progress, &mut self.world).map_err(wrong)?;
        while let Some(asked) = decision.verdict.reviewer()
            && let Some(approved) = self.next_verdict(asked)?
        {
            let panel = self.task.questions().next().and_then(|open| match open.request {
                Request::Review { panel, .. } => panel,
                _ => None,
            });
            let answer = by_somebody(approved.into(), panel.as_ref(), self.resumed);
            let progress = self.task.resume(Answer::Review(answer), self.world.now);
            let progress = progress.map_err(wrong)?.into_progress();
            decision = drive(&mut self.task, progress, &mut self.world).map_err(wrong)?;
        }
        Ok(decision)
    }

    /// The event is judged by the trigger, and the input that it gives by the guardrails of the new task (TRG-12).
    fn fire(&mut self, payload: &Json) -> Result<Found, Broken> {
        let Some(trigger) = &self.trigger else { return Ok(Found::default()) };
        let Firing { outcome, trace } = self.task.fire(trigger, payload, self.world.now);
        let mut found = match outcome {
            FiringOutcome::Create(Some(input)) => {
                let mut found = self.operation(&Operation::Input(input))?;
                if found.text(Aspect::Decision) == Some(VerdictKind::Allow.as_str()) {
                    found.set(Aspect::Decision, Some("create"));
                }
                found
            }
            FiringOutcome::Create(None) => failed("create", None::<String>),
            FiringOutcome::Disabled => failed("none", None::<String>),
            FiringOutcome::Misfit { message, by } => {
                Found { decided_by: Some(by), ..failed("none", Some(message)) }
            }
            FiringOutcome::Refused { message, by } => {
                Found { decided_by: Some(by), ..failed("none", message) }
            }
        };
        let steps = trace.into_iter().map(|(index, passed)| {
            let outcome = if passed { StepOutcome::Pass } else { StepOutcome::Fail };
            (StepName { hook: Hook::Trigger, index }.to_string(), outcome.as_str().to_owned())
        });
        found.trace.splice(0..0, steps);
        Ok(found)
    }

    fn evaluate(&mut self, scope: Scope, expr: &Embedded, bound: &BoundVariables) -> Result<Found, Broken> {
        let trial = Trial {
            input: bound.input.as_ref(),
            output: bound.output.as_ref(),
            event: bound.event.as_ref(),
            ..Trial::new(scope, &expr.text)
        };
        let mut answers = Vec::new();
        loop {
            let question = match self.task.evaluate(&trial, &answers, self.world.now) {
                Ok(Tried::Value(result)) => return Ok(value(Some(result))),
                Ok(Tried::Failed(error)) => return Ok(failed("error", Some(error.to_string()))),
                Ok(Tried::Asks(request)) => request,
                Err(issues) => return Ok(rejected(&issues)),
            };
            let Some(answer) = self.answer(&question)? else {
                let mut found = failed("suspend", None::<String>);
                if let Request::Review { reviewer, .. } = question {
                    found.set(Aspect::Reviewer, Some(reviewer));
                }
                return Ok(found);
            };
            answers.push(Exchange { question, answer });
        }
    }

    /// The answer to a question of an expression: from the world, or the next verdict of `resume`.
    fn answer(&mut self, question: &Request) -> Result<Option<Answer>, Broken> {
        let known = self.world.answer(question);
        let (None, Request::Review { reviewer, panel: None }) = (&known, question) else { return Ok(known) };
        let verdict = self.next_verdict(reviewer)?;
        Ok(verdict.map(|approved| Answer::Review(approved.into())))
    }

    /// The next verdict of `resume`, which must be that of the reviewer who is asked.
    fn next_verdict(&mut self, asked: &str) -> Result<Option<bool>, Broken> {
        let Some(verdict) = self.case.resume.get(self.resumed) else { return Ok(None) };
        if *verdict.reviewer.text != *asked {
            return Err(messages::other_reviewer(&verdict.reviewer, asked).into());
        }
        self.resumed = self.resumed.saturating_add(1);
        Ok(Some(verdict.approved))
    }

    fn interpolate(
        &self,
        kind: TemplateKind,
        template: &str,
        parameters: Option<&Json>,
        bound: &BoundVariables,
    ) -> Found {
        let given = Given {
            settings: Some(&self.case.settings),
            auth: Some(&self.case.auth),
            parameters,
            input: bound.input.as_ref(),
            output: bound.output.as_ref(),
            event: bound.event.as_ref(),
            ..Given::default()
        };
        match self.task.interpolate(kind, template, &given, self.world.now) {
            Ok(text) => value(Some(Json::string(&text))),
            Err(error) => failed("error", Some(error.to_string())),
        }
    }

    fn compare(mut self, found: &mut Found) -> Vec<Mismatch> {
        found.set(Aspect::Task, Some(self.task.state().as_str()));
        self.world.keep_counters(&mut self.task);
        found.invoked = self.world.invoked;
        let now = self.world.now;
        found.counted = counted(&self.case.expect, &self.task, &self.world.counters, now);
        if let TestedOperation::Operation(Operation::Before(call) | Operation::Invoke(call)) =
            &self.case.operation
        {
            found.labels.made(&call.arguments);
        }
        found.labels.find(&self.task);
        found.find_question(&self.task);
        found.files = self.world.files;
        let of_context = |expr: &Embedded| of_context(&self.task, &expr.text, now);
        let mut mismatches = compare(&self.case.expect, found, of_context);
        if let Some(unused) = self.case.resume.get(self.resumed) {
            mismatches.push(Mismatch {
                place: unused.reviewer.place.clone(),
                key: "resume".to_owned(),
                expected: Some(Value::from(&*unused.reviewer.text)),
                found: None,
            });
        }
        mismatches
    }
}

/// The trigger that the case is about: the one of this name, or the first one of the agent.
fn trigger_under_test<'c>(
    case: &Case,
    name: Option<&Embedded>,
    agent: &Agent,
    catalog: &'c Catalog,
) -> Result<&'c Launch, Broken> {
    let launches = catalog.triggers().iter().map(|resolved| &resolved.document.launch);
    let own: Vec<&Launch> = launches
        .filter(|launch| {
            launch.agent.text == agent.name.text && launch.namespace.text == agent.namespace.text
        })
        .collect();
    let found = match name {
        Some(name) => own.iter().find(|launch| launch.name.text == name.text),
        None => own.first(),
    };
    found.copied().ok_or_else(|| {
        let place = name.map_or(&case.operation_place, |name| &name.place);
        let known: Vec<&str> = own.iter().map(|launch| &*launch.name.text).collect();
        messages::no_trigger(place, &known).into()
    })
}

/// The agent that the case is about: of its own manifests the one under `agent`, of files the one that it names.
fn agent_under_test<'c>(case: &Case, catalog: &'c Catalog) -> Result<&'c Agent, Broken> {
    if let Manifests::Files { agent, .. } = &case.manifests {
        return agent_named(catalog, agent).map_err(|finding| (*finding).into());
    }
    let mut agents = catalog.agents().iter().map(|resolved| &*resolved.agent);
    let own = agents.find(|agent| agent.path.is_empty());
    own.ok_or_else(|| messages::no_agent(&case.name.place).into())
}
