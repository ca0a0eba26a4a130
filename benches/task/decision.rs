//! A whole decision: limits, bindings, arguments, a condition and three asserts, for tasks of any length.

use crate::counting::counted;
use crate::{desk, quietest};
use celador::cel::Json;
use celador::engine::Engine;
use celador::task::{Call, CallResult, Decision, Task, Turn, Usage, VerdictKind};

pub fn measure() {
    let engine = desk::engine();
    let (small, large, far) = (desk::call(50), desk::call(250), desk::call(5_000));
    for n in [10, 100, 1_000, 10_000] {
        let mut task = desk::task(&engine, n);
        let decision = desk::decided(task.before(&large, desk::now()).expect("the id is its own"));
        assert_eq!((decision.verdict.kind(), decision.trace.len()), (VerdictKind::Allow, 3));
        // the calls that wait for their results are those of one round, so that memory is used again and few are open
        let time = quietest(
            20,
            || warm(desk::task(&engine, n), &large),
            |task| task.before(&large, desk::now()).expect("the id is its own").into_progress(),
        );
        let mut task = desk::task(&engine, n);
        let (_first, _) = counted(|| task.before(&large, desk::now()).expect("the id is its own"));
        let (decision, allocated) =
            counted(|| desk::decided(task.before(&large, desk::now()).expect("the id is its own")));
        let ((), kept) = counted(|| drop(decision));
        println!(
            "  before, allowed, {n:>6} steps: {time:7.1} ns, {} allocations of {} bytes, {} bytes with the decision",
            allocated.times, allocated.bytes, kept.freed
        );
    }
    let time = quietest(
        20,
        || desk::task(&engine, 100),
        |task| task.before(&small, desk::now()).expect("the id is its own").into_progress(),
    );
    println!("  before, allowed, condition false: {time:7.1} ns");
    turns(&engine, &large);
    blocked(&mut desk::task(&engine, 100), &far);
    let mut task = desk::task(&engine, 100);
    let result = CallResult::successful(Json::from(serde_json::json!({ "id": "P-1" })));
    let round = |task: &mut Task| -> Decision {
        let call = desk::decided(task.before(&large, desk::now()).expect("the id is its own"))
            .call
            .expect("it is allowed");
        desk::decided(task.after(&call, result.clone(), desk::now()).expect("the call is open"))
    };
    let time = quietest(500, || (), |()| round(&mut task));
    let (_, allocated) = counted(|| round(&mut task));
    println!("  before and after: {time:7.1} ns, {} allocations", allocated.times);
}

/// The task after some calls that were reported, so that making a long history is not what the next one pays for.
fn warm(mut task: Task, call: &Call) -> Task {
    for _ in 0..20 {
        let decision = desk::decided(task.before(call, desk::now()).expect("the id is its own"));
        let result = CallResult::successful(Json::from(serde_json::json!({ "id": "P-1" })));
        let call = decision.call.expect("it is allowed");
        desk::decided(task.after(&call, result, desk::now()).expect("the call is open"));
    }
    task
}

/// A turn of three calls beside one step.
fn turns(engine: &Engine, call: &Call) {
    let turn = Turn {
        usage: Usage { prompt_tokens: 100, completion_tokens: 10, ..Usage::default() },
        calls: vec![call.clone(); 3],
    };
    let task = || desk::task(engine, 100);
    let decided = task().turn(&turn, desk::now()).expect("the ids are their own");
    assert!(decided.calls.iter().all(|call| call.decision.verdict.kind() == VerdictKind::Allow));
    let of_three = quietest(8, task, |task| task.turn(&turn, desk::now()).expect("the ids are their own"));
    let of_one = quietest(24, task, |task| task.before(call, desk::now()).expect("its own").into_progress());
    println!(
        "  turn of three calls: {of_three:7.1} ns, {:.2} of two single steps",
        of_three / (2.0 * of_one)
    );
}

fn blocked(task: &mut Task, far: &Call) {
    let decision = desk::decided(task.before(far, desk::now()).expect("the id is its own"));
    assert_eq!(decision.verdict.kind(), VerdictKind::Block);
    assert_eq!(decision.verdict.message(), Some("5000 is outside what a clerk may pay to ann@example.com."));
    let (_, allocated) = counted(|| task.before(far, desk::now()).expect("the id is its own"));
    let time =
        quietest(500, || (), |()| task.before(far, desk::now()).expect("the id is its own").into_progress());
    println!("  before, blocked with a rendered message: {time:7.1} ns, {} allocations", allocated.times);
}
