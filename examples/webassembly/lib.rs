//! The engine as a WebAssembly module that a browser, node or another host loads: no files, no clock, no network. The
//! manifests stand in the module, the time comes from the host, and a review is the host's to get.
//!
//! In: the amount of one call of the tool `payout` and the host's time. Out: the decision as a number. `decide.mjs` loads
//! and asks it; `.ci/wasm` builds and runs both.
//!
//! A host without chance gives Rust's hash tables the same seed each time. Whoever lets strangers choose the names in JSON
//! there lowers `max_json_bytes` and `max_task_bytes`: names that fall together make a table slow, never wrong.

use celador::{Call, Engine, Json, Outcome, StartTask, Timestamp, User};

/// The agent of the README.
const MANIFESTS: &str = include_str!("../first-policy/agent.yaml");

/// The call may go on.
const ALLOWED: i32 = 1;
/// It may not.
const BLOCKED: i32 = 2;
/// A person has to be asked first.
const REVIEW: i32 = 3;
/// No decision: the manifests were refused, or the time is none. A host takes it as a no.
const FAILED: i32 = 0;

/// What becomes of a payout of this amount, asked for at this time in seconds since 1970.
#[expect(
    unsafe_code,
    reason = "a host finds an exported function by its name; no other library has one of this name"
)]
#[unsafe(no_mangle)]
pub extern "C" fn decide(amount: f64, seconds: i64) -> i32 {
    decided(amount, seconds).unwrap_or(FAILED)
}

fn decided(amount: f64, seconds: i64) -> Option<i32> {
    let engine = Engine::parse("agent.yaml", MANIFESTS).ok()?;
    let now = Timestamp::from_unix(seconds).ok()?;
    let user = User { id: "u-7".into(), email: None, ..User::default() };
    let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", user, now)).ok()?;
    let arguments = Json::from(serde_json::json!({"amount": amount}));
    let call = Call::new("payout", arguments);
    Some(match task.before(&call, now).ok()?.outcome() {
        Outcome::Allowed(_) => ALLOWED,
        Outcome::Refused(_) => BLOCKED,
        Outcome::Waits(waiting) if waiting.reviewer().is_some() => REVIEW,
        Outcome::Waits(_) | Outcome::Queued(_) => FAILED,
    })
}
