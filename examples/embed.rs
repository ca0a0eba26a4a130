//! The first lines of a host: open the manifests, start a task, ask before a call. The README shows them.
#![expect(clippy::print_stdout, reason = "it is for people")]

use celador::{Call, Engine, EngineLimits, Outcome, StartTask, User};
use std::time::SystemTime;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // manifests that are refused are an error, which shows each place with carets
    let engine = Engine::open(&["examples/first-policy"], EngineLimits::default())?;
    let kim = User { id: "u-7".into(), email: None, ..User::default() };
    let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", kim, SystemTime::now()))?;

    // the model wants to call a function
    let call = Call::new("payout", serde_json::json!({ "amount": 40 }).into());
    match task.before(&call, SystemTime::now())?.outcome() {
        Outcome::Allowed(allowed) => println!("run it with {}", allowed.arguments),
        Outcome::Refused(refusal) => println!("tell the model: {}", refusal.message()),
        Outcome::Waits(waiting) => println!("ask {:?}, then resume the task", waiting.reviewer()),
        Outcome::Queued(queued) => println!("report the calls {:?} first", queued.waits_for),
    }
    Ok(())
}
