//! What expressions of a session are evaluated in: a scope, the state of a task, and what was bound.
//!
//! In: a subject, bindings, a scope. Out: programs and the activations to run them on, made as a policy's own are, so
//! that what holds here holds there. Nothing here prints.

use super::super::subject::{Subject, SubjectArguments, entry};
use super::super::{Failure, Screen, clock};
use super::messages;
use celador::cel::{
    Activation, Env, EvalError, Fault, HostFunctions, Interruption, Issue, Json, Program, RESERVED, Slot,
    Stop, Timestamp, Type, Value,
};
use celador::context::{Bound, Moment, Root, Scope, ScopeEnv, TaskContext, TaskIo};
use celador::limits::{EngineLimits, EvalLimits};
use celador::scenario::restore;
use indexmap::IndexMap;
use std::sync::Arc;

/// What expressions are evaluated in.
pub(super) struct Session {
    limits: EngineLimits,
    scope: Scope,
    paths: SubjectArguments,
    subject: Subject,
    bindings: IndexMap<String, Held>,
    frame: Frame,
    /// The time of a case; that of the clock without one.
    time: Option<Timestamp>,
}

/// What follows from the rest, made anew when that changes.
struct Frame {
    declared: Arc<ScopeEnv>,
    /// The scope with the user's own variables.
    env: Env,
    /// The context with the entries under test in it.
    context: TaskContext,
}

/// A value to be bound, holding all it needs.
pub(super) struct Held {
    value: Owned,
    ty: Type,
}

enum Owned {
    Value(Value<'static>),
    Json(Json),
}

/// How a run ended.
pub(super) enum Ended<'a> {
    Value(Value<'a>),
    Failed(EvalError),
    /// The host would have to answer this.
    Asks(String),
}

/// A host that answers nothing and keeps the question, whatever function puts it: a session shows it as it was written, while
/// [`Unanswered`](celador::context::Unanswered) knows reviews alone.
#[derive(Default)]
struct Questioned(Option<String>);

impl Session {
    /// A session on what stands at these paths.
    pub(super) fn open(
        scope: Option<Scope>,
        paths: SubjectArguments,
        screen: &mut Screen,
    ) -> Result<Self, Failure> {
        let limits = EngineLimits::default();
        let mut subject = Subject::new(&paths, limits, screen)?;
        let mut bindings = IndexMap::new();
        let brought = subject.brought.take();
        let time = brought.as_ref().map(|brought| brought.now);
        let own = brought.as_ref().map(|brought| brought.scope);
        let values = brought.map(|brought| [(Root::Input, brought.input), (Root::Output, brought.output)]);
        for (root, value) in values.into_iter().flatten() {
            bindings.extend(value.map(|value| (root.name().to_owned(), Held::document(value))));
        }
        let scope = scope.or(own).unwrap_or(Scope::After);
        let frame = Frame::new(scope, &subject, &bindings);
        Ok(Self { limits, scope, paths, subject, bindings, frame, time })
    }

    /// What the clock of the session shows, as expressions see it.
    pub(super) fn now(&self) -> Result<Moment, Failure> {
        self.time.map_or_else(|| clock::now(None), Ok).map(Moment::from)
    }

    /// Goes on with what stands at these paths. What was bound stays bound.
    ///
    /// # Errors
    /// Paths that cannot be read or have errors; nothing has changed then.
    pub(super) fn load(&mut self, paths: SubjectArguments, screen: &mut Screen) -> Result<(), Failure> {
        let mut subject = Subject::new(&paths, self.limits, screen)?;
        self.time = subject.brought.take().map(|brought| brought.now);
        self.subject = subject;
        self.paths = paths;
        self.refresh();
        Ok(())
    }

    pub(super) fn paths(&self) -> &SubjectArguments {
        &self.paths
    }

    pub(super) fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    pub(super) fn scope(&self) -> Scope {
        self.scope
    }

    pub(super) fn enter(&mut self, scope: Scope) {
        self.scope = scope;
        self.refresh();
    }

    /// The scope as expressions are compiled in it.
    pub(super) fn env(&self) -> &Env {
        &self.frame.env
    }

    /// The agent whose task it is: namespace and name.
    pub(super) fn agent(&self) -> Option<String> {
        let agent = self.subject.policy.as_ref()?.agent();
        Some(format!("{}/{}", agent.namespace.text, agent.name.text))
    }

    /// What was bound, with its type.
    pub(super) fn bindings(&self) -> impl Iterator<Item = (&str, &Type, Value<'_>)> {
        self.bindings.iter().map(|(name, held)| (name.as_str(), &held.ty, held.value()))
    }

    /// Binds a variable: of the scope, of another scope, or one of the user's own. Gives a remark if the scope does not
    /// know the variable.
    ///
    /// # Errors
    /// A name that cannot be one, or a value that the variable cannot have; nothing has changed then.
    pub(super) fn bind(&mut self, name: &str, held: Held) -> Result<Option<String>, String> {
        let root = Root::ALL.iter().find(|root| root.name() == name || root.alias() == Some(name));
        let name = root.map_or(name, |root| root.name());
        if !is_name(name) {
            return Err(messages::not_a_name(name));
        }
        if name == Root::Context.name() {
            let schema = self.subject.policy.as_ref().map(|policy| policy.schema().clone());
            let json = held.json().map_err(|fault| fault.to_string())?;
            self.subject.context = restore(&json, schema).map_err(|error| error.to_string())?;
            self.refresh();
            return Ok(None);
        }
        let declared = self.frame.declared.env().variable(name);
        if tests(self.scope, name) {
            held.entry().map_err(|error| messages::not_an_entry(name, &error))?;
        } else if let Some(kind) = declared.and_then(|variable| variable.ty.kind())
            && kind != held.value().kind()
        {
            return Err(messages::wrong_type(name, &kind, &held.value().kind()));
        }
        let elsewhere = root.is_some() && declared.is_none();
        self.bindings.insert(name.to_owned(), held);
        self.refresh();
        Ok(elsewhere.then(|| messages::kept_for_other_scopes(name)))
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// As [`Program::compile`].
    pub(super) fn compile(&self, text: &str) -> Result<Program, Vec<Issue>> {
        Program::compile(&self.frame.env, text)
    }

    /// The values of the session's variables at this time.
    ///
    /// # Errors
    /// As [`ScopeEnv::activation`].
    pub(super) fn activation<'a>(&'a self, now: &'a Moment) -> Result<Activation<'a>, Fault> {
        let Frame { declared, env, context } = &self.frame;
        let bound = Bound {
            context: Some(context),
            now: Some(now),
            runtime: Some(&self.subject.runtime),
            mount: self.subject.mount.as_ref(),
            ..Bound::default()
        };
        let own = self.bindings.iter().filter(|(name, _)| !tests(self.scope, name));
        let own = own.map(|(name, held)| (name.as_str(), held.value()));
        Ok(rebound(env, &declared.activation(&bound)?, own))
    }

    fn refresh(&mut self) {
        self.frame = Frame::new(self.scope, &self.subject, &self.bindings);
    }
}

impl Frame {
    fn new(scope: Scope, subject: &Subject, bindings: &IndexMap<String, Held>) -> Self {
        let declared = subject.scope(scope);
        let own = bindings.iter().filter(|(name, _)| !Root::ALL.iter().any(|root| root.name() == *name));
        let env = own.fold(declared.env().extend(), |env, (name, held)| env.variable(name, held.ty.clone()));
        let mut context = subject.context.clone();
        let entry = |root: Root| {
            let held = bindings.get(root.name()).filter(|_| tests(scope, root.name()))?;
            held.entry().ok()
        };
        entry(Root::Input).into_iter().for_each(|input| context.push_input(input));
        entry(Root::Output).into_iter().for_each(|output| context.push_output(output));
        Self { declared, env: env.build(), context }
    }
}

impl Held {
    /// A value that outlives what it was read from; views of a host's structs become JSON, as they are everywhere else
    /// when they leave an evaluation.
    ///
    /// # Errors
    /// `not_json` for such a view with a value in it that JSON does not have.
    pub(super) fn new(known: &Type, value: &Value<'_>) -> Result<Self, Fault> {
        Ok(match value.to_static() {
            Some(value) if known.is_generic() => Self { value: Owned::Value(value), ty: Type::Dyn },
            Some(value) => Self { value: Owned::Value(value), ty: known.clone() },
            None => Self::document(Json::from_value(value, &EvalLimits::default())?),
        })
    }

    /// A JSON document.
    pub(super) fn document(json: Json) -> Self {
        Self { value: Owned::Json(json), ty: Type::Dyn }
    }

    fn value(&self) -> Value<'_> {
        match &self.value {
            Owned::Value(value) => value.borrowed(),
            Owned::Json(json) => json.value(),
        }
    }

    fn json(&self) -> Result<Json, Fault> {
        Json::from_value(&self.value(), &EvalLimits::default())
    }

    fn entry(&self) -> Result<TaskIo, String> {
        entry(&self.json().map_err(|fault| fault.to_string())?)
    }
}

impl HostFunctions for Questioned {
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        let args: Vec<String> = args.iter().map(|arg| arg.shown(60)).collect();
        self.0 = Some(format!("{function}({})", args.join(", ")));
        Err(Interruption::Asked)
    }
}

/// Runs a program. Says what it cost, however it ended.
pub(super) fn run<'a>(program: &'a Program, activation: &Activation<'a>) -> (Ended<'a>, u64) {
    let mut host = Questioned::default();
    let (result, cost) = program.run_metered(activation, Some(&mut host));
    let ended = match result {
        Ok(value) => Ended::Value(value),
        Err(Stop::Failed(error)) => Ended::Failed(error),
        Err(Stop::Asked) => Ended::Asks(host.0.unwrap_or_default()),
    };
    (ended, cost)
}

/// The values of an activation under an extension of its scope, with further variables.
pub(super) fn rebound<'a: 'b, 'b, 'n>(
    env: &Env,
    values: &Activation<'a>,
    more: impl IntoIterator<Item = (&'n str, Value<'b>)>,
) -> Activation<'b> {
    let mut activation = Activation::new(env);
    let slots = u16::try_from(env.slots()).unwrap_or(u16::MAX);
    for slot in (0..slots).map(Slot) {
        if let Some(value) = values.get(slot) {
            activation.bind(slot, value.clone());
        }
    }
    more.into_iter().fold(activation, |activation, (name, value)| activation.with(env, name, value))
}

/// Whether a variable is the entry under test, which is a part of the context (GR-09, GR-10).
fn tests(scope: Scope, name: &str) -> bool {
    scope.tests_messages() && (name == Root::Input.name() || name == Root::Output.name())
}

fn is_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    let taken = matches!(name, "true" | "false" | "null" | "in") || RESERVED.contains(&name);
    starts && !taken && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}
