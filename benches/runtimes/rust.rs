//! What a decision costs from Rust: one row of `benches/runtimes/run`.
//!
//! In: the number of decisions, 100,000 if none is given. Out: a line of JSON with the median, the 90th and the 99th percentile in microseconds. A
//! decision is `before` of a call whose arguments are made anew, as in every other runtime; each call that is let through is reported.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

use celador::cel::Timestamp;
use celador::engine::Engine;
use celador::task::{Call, CallResult, Decision, Progress, StartTask, Task, User, VerdictKind};
use serde_json::json;
use std::time::Instant;

/// Tasks grow with their calls, so each is asked so often and then replaced.
const CALLS: usize = 1_000;

fn main() {
    let given = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let decisions: usize = given.unwrap_or(100_000);
    let engine =
        Engine::parse("refunds.yaml", include_str!("refunds.yaml")).unwrap_or_else(|error| panic!("{error}"));
    let now = Timestamp::from_unix(1_780_000_000).expect("a time of this century");
    let start = || -> Task {
        let user = User { id: "u-1".into(), ..User::default() };
        engine.start(StartTask::new("t-1", "shop", "desk", user, now)).expect("the agent is there")
    };
    let before = |task: &mut Task, amount: u32| {
        let arguments = json!({"order_id": "o-1041", "amount": amount, "note": "Came broken."});
        decided(task.before(&Call::new("refund", arguments.into()), now).expect("the id is its own"))
    };
    assert_eq!(before(&mut start(), 2_000).verdict.kind(), VerdictKind::Block);

    let mut task = start();
    let mut times = Vec::with_capacity(decisions);
    // the first task warms up
    for round in 0..decisions + CALLS {
        if round % CALLS == 0 {
            task = start();
        }
        let begun = Instant::now();
        let decision = before(&mut task, 180);
        let took = begun.elapsed();
        let call = decision.call.expect("it is let through");
        let paid = CallResult::successful(json!({"paid": 180}).into());
        assert_eq!(
            decided(task.after(&call, paid, now).expect("the call is open")).verdict.kind(),
            VerdictKind::Allow
        );
        if round >= CALLS {
            times.push(took);
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[decisions * percent / 100].as_nanos() as f64 / 1_000.0;
    println!("{}", json!({"what": "Celador in Rust", "p50": at(50), "p90": at(90), "p99": at(99)}));
}

fn decided<P: Into<Progress>>(progress: P) -> Decision {
    match progress.into() {
        Progress::Decided(decision) => decision,
        Progress::Asks(request) => panic!("asks {request:?}"),
    }
}
