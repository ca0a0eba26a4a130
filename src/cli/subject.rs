//! The task that an expression is evaluated on: from a file, with or without the manifests of its agent.
//!
//! In: the arguments that say so. Out: the scopes to compile in and the values to run on. With an agent the context has the
//! types that the engine gives it; without one it has those that the file shows.

use super::{ExitCode, Failure, Screen, load_engine, messages, read_source};
use celador::cel::{Json, LANGUAGE, Timestamp};
use celador::context::{MountFacts, Runtime, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskIo};
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::agent::Agent;
use celador::policy::Policy;
use celador::scenario::{
    Background, CaseOutcome, Environment, Runner, Stage, agents_named, full_name, read, restore,
};
use celador::source::{Place, Source, Span};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args, Clone, Default)]
pub(crate) struct SubjectArguments {
    /// The state of the task
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Option<PathBuf>,

    /// Manifests whose agent the task is of
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) manifests: Vec<PathBuf>,

    /// The agent, if the manifests have several: `name` or `namespace/name`
    #[arg(long, value_name = "NAME", requires = "manifests")]
    pub(crate) agent: Option<String>,

    /// A case: its manifests, its past, its clock, and the values that its operation brings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["context", "manifests", "agent"])]
    pub(crate) case: Option<PathBuf>,

    /// Of a case with steps, the state ahead of this one, from 1
    #[arg(long, value_name = "N", requires = "case")]
    pub(crate) step: Option<usize>,
}

/// What a case brings beside the task.
pub(crate) struct Brought {
    pub(crate) now: Timestamp,
    pub(crate) scope: Scope,
    pub(crate) input: Option<Json>,
    pub(crate) output: Option<Json>,
}

/// What an expression is compiled in and evaluated on.
pub(crate) struct Subject {
    /// The policy of the agent, if its manifests were read.
    pub(crate) policy: Option<Arc<Policy>>,
    pub(crate) context: TaskContext,
    pub(crate) runtime: Runtime,
    pub(crate) mount: Option<MountFacts>,
    /// What a case brings, if the subject is one.
    pub(crate) brought: Option<Brought>,
    limits: EngineLimits,
}

/// The file of `--context`.
enum State {
    /// The JSON of a context, and where it was read.
    Snapshot(PathBuf, Json),
    /// `env` and `state` of a case.
    Background(Box<Background>),
}

impl Subject {
    /// The subject that the arguments describe.
    pub(crate) fn new(
        arguments: &SubjectArguments,
        limits: EngineLimits,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        if let Some(case) = &arguments.case {
            return Self::of_case(case, arguments.step, limits, screen);
        }
        let state =
            arguments.context.as_deref().map(|path| State::read(path, &limits, screen)).transpose()?;
        if arguments.manifests.is_empty() {
            return Self::alone(state, limits);
        }
        let (catalog, engine) = load_engine(&arguments.manifests, limits, screen)?;
        let agent = which(&catalog, arguments.agent.as_deref())?;
        let policy = engine.policy(&agent.namespace.text, &agent.name.text);
        let policy = policy.map_err(|error| Failure::Unusable(error.to_string()))?;
        let background = match state {
            Some(State::Snapshot(path, snapshot)) => {
                let context = restore(&snapshot, Some(policy.schema().clone()));
                let context =
                    context.map_err(|error| Failure::Unusable(messages::no_context(&path, &error)))?;
                let Environment { runtime, task_id, .. } = Environment::default();
                let mount = policy.mount(&task_id);
                return Ok(Self { policy: Some(policy), context, runtime, mount, brought: None, limits });
            }
            Some(State::Background(background)) => *background,
            None => Background { environment: Environment::default(), state: Vec::new(), parent: None },
        };
        let start = Place::new(&Source::new("", ""), Span::default());
        let task = background.start(&engine, agent, &start).map_err(|finding| {
            screen.complain(&[*finding]);
            Failure::Told(ExitCode::Unusable)
        })?;
        let runtime = background.environment.runtime;
        let (context, mount) = (task.context().clone(), task.mount().cloned());
        Ok(Self { policy: Some(policy), context, runtime, mount, brought: None, limits })
    }

    /// The task of a case ahead of an operation.
    fn of_case(
        path: &Path,
        step: Option<usize>,
        limits: EngineLimits,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let source = read_source(path, limits.max_manifest_bytes)?;
        let mut cases = read(&source, &limits);
        let (Some(case), true) = (cases.pop(), cases.is_empty()) else {
            return Err(Failure::Unusable(messages::several_cases(path)));
        };
        let case = case.map_err(|report| match report.outcome {
            CaseOutcome::Broken(findings) => findings,
            CaseOutcome::Passed | CaseOutcome::Failed { .. } => Vec::new(),
        });
        let staged = case.and_then(|case| {
            let stage = Runner::new(limits).stage(&case, step)?;
            Ok((stage, case.background.environment.runtime))
        });
        let (stage, runtime) = staged.map_err(|findings| {
            screen.complain(&findings);
            Failure::Told(ExitCode::Unusable)
        })?;
        let Stage { task, now, scope, input, output } = stage;
        Ok(Self {
            policy: Some(task.policy().clone()),
            context: task.context().clone(),
            runtime,
            mount: task.mount().cloned(),
            brought: Some(Brought { now, scope, input, output }),
            limits,
        })
    }

    /// Without an agent: the context is what the snapshot says, or empty.
    fn alone(state: Option<State>, limits: EngineLimits) -> Result<Self, Failure> {
        let (path, snapshot) = match state {
            Some(State::Snapshot(path, snapshot)) => (path, snapshot),
            Some(State::Background(_)) => return Err(Failure::Unusable(messages::state_needs_manifests())),
            None => (PathBuf::new(), Json::object([])),
        };
        let context = restore(&snapshot, None);
        let context = context.map_err(|error| Failure::Unusable(messages::no_context(&path, &error)))?;
        let runtime = Environment::default().runtime;
        Ok(Self { policy: None, context, runtime, mount: None, brought: None, limits })
    }

    /// What expressions of a scope are compiled in.
    pub(crate) fn scope(&self, scope: Scope) -> Arc<ScopeEnv> {
        match &self.policy {
            Some(policy) => policy.trial_scope(scope),
            None => Arc::new(ScopeEnv::new(&ScopeDecl {
                schema: Some(self.context.schema()),
                libraries: LANGUAGE,
                ..ScopeDecl::new(scope, self.limits.eval)
            })),
        }
    }

    /// Puts the entries under test into the context, where guardrails find them (GR-09, GR-10).
    pub(crate) fn test(&mut self, input: Option<&Json>, output: Option<&Json>) -> Result<(), Failure> {
        let entry = |json| entry(json).map_err(Failure::Unusable);
        input.map(entry).transpose()?.into_iter().for_each(|input| self.context.push_input(input));
        output.map(entry).transpose()?.into_iter().for_each(|output| self.context.push_output(output));
        Ok(())
    }
}

/// An entry of `context.input` or `context.output`: `{message, …}`, or the message alone.
pub(crate) fn entry(json: &Json) -> Result<TaskIo, String> {
    TaskIo::of(json.root()).map_err(|error| error.to_string())
}

impl State {
    fn read(path: &Path, limits: &EngineLimits, screen: &mut Screen) -> Result<Self, Failure> {
        let source = read_source(path, limits.eval.max_json_bytes)?;
        if source.text().trim_start().starts_with('{') {
            let unusable = |error| Failure::Unusable(messages::not_json(source.name(), &error));
            let json = Json::parse(source.text(), &limits.eval).map_err(unusable)?;
            if json.root().get("state").is_none() && json.root().get("env").is_none() {
                return Ok(Self::Snapshot(path.to_owned(), json));
            }
        }
        Background::read(&source, limits).map(|background| Self::Background(Box::new(background))).map_err(
            |findings| {
                screen.complain(&findings);
                Failure::Told(ExitCode::Unusable)
            },
        )
    }
}

/// The agent that is named, or the only one.
fn which<'c>(catalog: &'c Catalog, named: Option<&str>) -> Result<&'c Agent, Failure> {
    let all = catalog.agents().iter().map(|resolved| &*resolved.agent);
    let meant = match named {
        Some(name) => agents_named(catalog, name),
        None => all.clone().collect(),
    };
    match meant.as_slice() {
        [agent] => Ok(agent),
        _ => {
            let known: Vec<String> = all.map(full_name).collect();
            Err(Failure::Unusable(messages::which_agent(named, &known)))
        }
    }
}
