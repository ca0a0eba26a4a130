//! The workload as Celador holds it.

use crate::questions::{self, FUNCTIONS, invocation};
use ::celador::cel::{Activation, Json, Program, STANDARD, Timestamp, Type};
use ::celador::context::{
    Bound, Caller, ContextSchema, FunctionDecl, FunctionId, InvocationRecord, InvocationStatus, Moment,
    SchemaDecl, Scope, ScopeDecl, ScopeEnv, TaskContext, TaskFacts, TaskIo, TurnKind,
};
use ::celador::limits::EvalLimits;
use std::sync::Arc;

pub struct State {
    pub context: TaskContext,
    pub scope: ScopeEnv,
    pub now: Moment,
    pub input: Json,
    pub output: Json,
}

impl State {
    pub fn new(n: usize) -> Self {
        let function = |key: &&str| FunctionDecl {
            key: (*key).into(),
            input: Type::Dyn,
            output: Type::Dyn,
            delegation: false,
        };
        let declared =
            SchemaDecl { functions: FUNCTIONS.iter().map(function).collect(), ..SchemaDecl::default() };
        let schema = ContextSchema::new(&declared).expect("the keys differ");
        let started_at = Timestamp::from_unix(1_780_000_000).expect("a time of this century");
        let start = TaskFacts {
            agent: "coder".into(),
            namespace: "prod-eu".into(),
            started_at,
            user_id: "u-1".into(),
            user_claims: None,
            user_email: Some("ann@example.com".into()),
            address: None,
            model: "test/model".into(),
            depth: 0,
        };
        let mut context = TaskContext::new(schema.clone(), start);
        context.add_tokens(6000, 3000);
        (0..12).for_each(|_| context.turn(TurnKind::Llm));
        let part = serde_json::json!({"mimeType": "text/plain", "text": "t".repeat(200)});
        let message = Json::from(serde_json::json!([part, part]));
        let io = || TaskIo::new(message.root()).expect("a list of parts");
        (0..10).for_each(|_| context.push_input(io()));
        (0..9).for_each(|_| context.push_output(io()));
        let scope = ScopeEnv::new(&ScopeDecl {
            schema: Some(&schema),
            libraries: STANDARD,
            ..ScopeDecl::new(Scope::After, EvalLimits::default())
        });
        let now = started_at.into();
        let mut state = Self {
            context,
            scope,
            now,
            input: Json::from(questions::input()),
            output: Json::from(questions::output()),
        };
        (0..n).for_each(|n| state.record(n));
        state
    }

    /// The invocation with this number, ready to be recorded.
    pub fn prepare(&self, n: usize) -> InvocationRecord {
        let (input, output) = invocation(n);
        InvocationRecord {
            function: FunctionId((n % FUNCTIONS.len()) as u32),
            at: self.now,
            started_at: self.now,
            input: Json::from(input),
            output: Some(Json::from(output)),
            status: InvocationStatus::Successful,
            executed: true,
            origin: Caller::Model,
            task_id: None,
            message: 0,
            rejected: false,
        }
    }

    pub fn record(&mut self, n: usize) {
        let invocation = self.prepare(n);
        self.context.record(invocation);
    }

    pub fn program(&self, text: &str) -> Arc<Program> {
        Arc::new(Program::compile(self.scope.env(), text).expect("the workload compiles"))
    }

    /// What the expressions see: a handful of references.
    pub fn bind(&self) -> Activation<'_> {
        self.bind_to(&self.context)
    }

    /// What they see of another task of the same agent.
    pub fn bind_to<'a>(&'a self, context: &'a TaskContext) -> Activation<'a> {
        let bound = Bound {
            context: Some(context),
            input: Some(self.input.value()),
            output: Some(self.output.value()),
            now: Some(&self.now),
            ..Bound::default()
        };
        self.scope.activation(&bound).expect("a context of this schema")
    }
}

/// The answer of one expression on a state that is bound.
pub fn answer<'a>(program: &'a Program, activation: &Activation<'a>) -> bool {
    program.holds(activation, None).expect("the workload answers")
}
