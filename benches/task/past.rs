//! Tasks of the clerk with calls on record, and calls that are made in them: what the parts about long histories share.

use crate::desk;
use celador::Json;
use celador::cel::Timestamp;
use celador::context::InvocationStatus;
use celador::engine::Engine;
use celador::task::{Call, CallId, Past, PastCall, Ran, Retain, StartTask, Task, User, VerdictKind};

/// A task without calls.
pub fn start(engine: &Engine, retain: Retain) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    let start = StartTask::new("t-1", "desk", "clerk", user, desk::now());
    engine.start(StartTask { retain, ..start }).expect("the agent is there")
}

/// Tells a task of a call that succeeded, at a time of its own or now.
pub fn told(task: &mut Task, function: &str, arguments: Json, output: Option<Json>, at: Option<Timestamp>) {
    let call = PastCall {
        function: function.into(),
        arguments,
        output,
        status: InvocationStatus::Successful,
        executed: true,
        task_id: None,
        at,
    };
    task.record(Past::Call(call), desk::now()).expect("the function is there");
}

/// Has a call let through.
pub fn let_through(task: &mut Task, call: &Call) -> CallId {
    let decision = desk::decided(task.before(call, desk::now()).expect("the id is its own"));
    assert_eq!(
        decision.verdict.kind(),
        VerdictKind::Allow,
        "{:?} {:?}",
        decision.verdict.message().map(str::to_owned),
        decision.findings
    );
    decision.call.expect("it is allowed")
}

/// Has a call let through and withdraws it, which puts it on record.
pub fn round(task: &mut Task, call: &Call) {
    let id = let_through(task, call);
    task.withdraw(&id, Ran::Never, desk::now()).expect("it is open");
}
