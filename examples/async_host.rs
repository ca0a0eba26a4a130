//! The shortest host on an async runtime: a model's calls pass Celador, and what a step asks for is answered by async code.
//!
//! In: the manifests of `examples/first-policy`. Out: what each of two calls came to, one that is paid at once and one that
//! somebody approves first. `cargo run --example async_host` plays it.
#![expect(clippy::print_stdout, reason = "it is for people")]

use celador::{
    Answer, Call, CallResult, Engine, EngineLimits, Json, Outcome, Request, StartTask, Task, User,
};
use std::error::Error;
use std::time::{Duration, SystemTime};

type Failure = Box<dyn Error + Send + Sync>;

/// Answers what a step asks for. `None` would leave the task waiting, for `Task::save` and an answer on another day.
async fn answer(request: Request) -> Option<Answer> {
    match request {
        Request::Review { reviewer, .. } => {
            println!("asking {reviewer}");
            tokio::time::sleep(Duration::from_millis(10)).await;
            Some(Answer::approve())
        }
        Request::Invoke(_) => None,
        // a host that keeps counters reads them here, and makes the changes of `Task::take_counter_changes` with the step
        Request::Counters { .. }
        | Request::ReadMount { .. }
        | Request::WriteMount { .. }
        | Request::MeasureFile { .. } => Some(Answer::Failed),
    }
}

/// One call of the model: let through, carried out, reported. What comes back is what the model is told.
async fn call(task: &mut Task, function: &str, arguments: Json) -> Result<String, Failure> {
    let call = Call::new(function, arguments);
    match task.before(&call, SystemTime::now())?.drive_async(SystemTime::now, answer).await? {
        Outcome::Allowed(allowed) => {
            let paid: Json = serde_json::json!({ "paid": allowed.arguments.root().get("amount") }).into();
            let result = CallResult::successful(paid);
            let seen = task.after(&allowed.call, result, SystemTime::now())?;
            match seen.drive_async(SystemTime::now, answer).await? {
                Outcome::Allowed(received) => Ok(received.value.to_string()),
                Outcome::Refused(refusal) => Ok(refusal.message().to_owned()),
                Outcome::Waits(_) | Outcome::Queued(_) => Ok("somebody has to look at it".to_owned()),
            }
        }
        Outcome::Refused(refusal) => Ok(refusal.message().to_owned()),
        Outcome::Waits(waiting) => Ok(format!("waits for {}", waiting.reviewer().unwrap_or("an answer"))),
        Outcome::Queued(queued) => Ok(format!("waits for the calls {:?}", queued.waits_for)),
    }
}

/// What the model is told of three calls: one is paid at once, one is approved first, one is too much.
pub async fn play() -> Result<Vec<String>, Failure> {
    let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    let user = User { id: "u-7".into(), email: None, ..User::default() };
    let mut told = Vec::new();
    for amount in [40, 400, 4_000] {
        let started = StartTask::new("t-1", "shop", "clerk", user.clone(), SystemTime::now());
        let mut task = engine.start(started)?;
        let arguments = serde_json::json!({ "amount": amount }).into();
        // tasks go from thread to thread, as any future does that a runtime spawns
        let spoken = tokio::spawn(async move { call(&mut task, "payout", arguments).await });
        told.push(spoken.await??);
    }
    Ok(told)
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    for line in runtime.block_on(play())? {
        println!("{line}");
    }
    Ok(())
}
