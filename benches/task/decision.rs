//! A whole decision: limits, bindings, arguments, a condition and three asserts, for tasks of any length.

use crate::counting::counted;
use crate::{desk, quietest};
use celador::cel::Json;
use celador::task::{CallResult, Decision, Verdict};

pub fn measure() {
    let engine = desk::engine();
    let (small, large, far) = (desk::call(50), desk::call(250), desk::call(5_000));
    for n in [10, 100, 1_000, 10_000] {
        let mut task = desk::task(&engine, n);
        let decision = desk::decided(task.before(&large, desk::now()).expect("the id is its own"));
        assert_eq!((decision.verdict, decision.trace.len()), (Verdict::Allow, 3));
        // the calls that wait for their results are those of one round, so that memory is used again
        let time = quietest(
            500,
            || desk::task(&engine, n),
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
        500,
        || desk::task(&engine, 100),
        |task| task.before(&small, desk::now()).expect("the id is its own").into_progress(),
    );
    println!("  before, allowed, condition false: {time:7.1} ns");
    blocked(&mut desk::task(&engine, 100), &far);
    let mut task = desk::task(&engine, 100);
    let result = CallResult::successful(Json::from(serde_json::json!({ "id": "P-1" })));
    let round = |task: &mut celador::task::Task| -> Decision {
        let call = desk::decided(task.before(&large, desk::now()).expect("the id is its own"))
            .call
            .expect("it is allowed");
        desk::decided(task.after(&call, result.clone(), desk::now()).expect("the call is open"))
    };
    let time = quietest(500, || (), |()| round(&mut task));
    let (_, allocated) = counted(|| round(&mut task));
    println!("  before and after: {time:7.1} ns, {} allocations", allocated.times);
}

fn blocked(task: &mut celador::task::Task, far: &celador::task::Call) {
    let decision = desk::decided(task.before(far, desk::now()).expect("the id is its own"));
    assert_eq!(decision.verdict, Verdict::Block);
    assert_eq!(decision.message.as_deref(), Some("5000 is outside what a clerk may pay to ann@example.com."));
    let (_, allocated) = counted(|| task.before(far, desk::now()).expect("the id is its own"));
    let time =
        quietest(500, || (), |()| task.before(far, desk::now()).expect("the id is its own").into_progress());
    println!("  before, blocked with a rendered message: {time:7.1} ns, {} allocations", allocated.times);
}
