//! Requests that wait for a call to be decided, replays of answers that left one pending, and calls that wait for too long.

use crate::serving::{Reply, Serving};
use celador::task::{Operation, User};
use celador_server::{InProcess, Parts, Settings, system_clock};
use celador_service::{NewTask, ProblemKind, StepTerms, TaskService};
use celador_store::{Database, Location, StoreLimits};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

fn ticket() -> Value {
    json!({"status": "successful", "output": {"id": "T-1041", "status": "open", "subject": "Lamp", "description": "In pieces.",
        "order_id": "ord-77", "order_total": 240, "customer_id": "cus-5", "internal_notes": "-"}})
}

fn refund(id: &str) -> Value {
    json!({"id": id, "function": "payments_refund", "arguments": {"amount": 180, "reason": "Broken."}})
}

/// A task in which `fetch` is open and a refund has to wait for it.
fn task(serving: &Serving) -> String {
    let task = serving.task();
    let fetch = json!({"id": "fetch", "function": "zendesk_fetch_ticket", "arguments": {}});
    assert_eq!(verdict(&serving.post(&format!("{task}/before"), &fetch)), "allow");
    task
}

fn verdict(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["decided"]["verdict"].clone()
}

fn report(serving: &Serving, task: &str) -> Reply {
    serving.post(&format!("{task}/after"), &json!({"call": "fetch", "result": ticket()}))
}

/// What the task asks for next, of a call; nothing for one that waits or is decided.
fn asked(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let asks = reply.json()["asks"].clone();
    asks.as_object().and_then(|asks| asks.keys().next().cloned()).unwrap_or_default()
}

fn score() -> Value {
    json!({"answer": {"result": {"status": "successful", "output": {"score": 10}}}})
}

/// Requests that wait on one server, while another one takes the steps that free them.
fn decided_meanwhile(waits: &Serving, acts: &Serving) {
    let task = task(waits);
    let call = format!("{task}/calls/refund");
    let until = |is_there: &dyn Fn(&Reply) -> bool| {
        while !is_there(&acts.get(&call)) {
            thread::sleep(Duration::from_millis(5));
        }
    };
    thread::scope(|scope| {
        let begun = Instant::now();
        let waiter = scope.spawn(|| waits.post(&format!("{task}/before?wait_ms=20000"), &refund("refund")));
        // the refund has to be there before the report frees it
        until(&|reply| reply.status == 200);
        assert_eq!(verdict(&acts.get(&call)), "wait");
        assert_eq!(verdict(&report(acts, &task)), "allow");
        // freed, it asks its runtime for the fraud check, and that is answered at once
        assert_eq!(asked(&waiter.join().unwrap()), "invoke");
        let waiter = scope.spawn(|| waits.post(&format!("{task}/resume?wait_ms=20000"), &score()));
        until(&|reply| asked(reply) == "review");
        assert!(!waiter.is_finished(), "a person is asked, which is pending");
        let approved = acts.post(&format!("{task}/resume"), &json!({"answer": {"review": true}}));
        assert_eq!(asked(&approved), "invoke");
        // approved, it asks for the entry in the log
        let told = waiter.join().unwrap();
        assert_eq!((asked(&told), &told.json()["call"]), ("invoke".to_owned(), &json!("refund")));
        assert!(begun.elapsed() < Duration::from_secs(15));
    });
}

#[test]
fn a_request_waits_until_its_call_is_decided() {
    let serving = Serving::start();
    decided_meanwhile(&serving, &serving);
}

/// Without a network, with tasks in memory, steps run where they are asked for, and the one place is free while a request waits.
#[test]
fn who_waits_in_the_same_process_holds_no_place() {
    let mut settings = Settings::new(vec!["policies/support-desk".into()]);
    settings.limits.max_requests_in_flight = 1;
    let database = Database::open(&Location::Memory, &settings.limits.store).unwrap();
    let tasks =
        InProcess::open(settings, Parts { clock: system_clock().unwrap(), database, log: None }).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let user = User { id: "u-7".into(), email: Some("kim@example.com".into()), ..User::default() };
    let (namespace, agent) = ("support".to_owned(), Some("support-desk".to_owned()));
    let new = NewTask { id: Some("t-1".into()), namespace, agent, user, ..NewTask::default() };
    runtime.block_on(tasks.begin(new)).unwrap();
    let take = |operation: Value, wait: Duration| {
        let operation: Operation = serde_json::from_value(operation).unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        let terms = StepTerms { wait, ..StepTerms::default() };
        let answer = runtime.block_on(tasks.take("t-1", operation, terms)).unwrap();
        serde_json::to_value(answer).unwrap()
    };
    let at_once = |operation| take(operation, Duration::ZERO)["decided"]["verdict"].clone();
    let input = json!({"input": {"message": "Please see to this.", "ticket_id": "T-1041"}});
    assert_eq!(at_once(input), "allow");
    let fetch = json!({"id": "fetch", "function": "zendesk_fetch_ticket", "arguments": {}});
    assert_eq!(at_once(json!({ "before": fetch })), "allow");
    thread::scope(|scope| {
        let begun = Instant::now();
        let waiter = scope.spawn(|| take(json!({"before": refund("refund")}), Duration::from_secs(20)));
        while runtime.block_on(tasks.standing("t-1", &"refund".into(), Duration::ZERO)).is_err() {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(at_once(json!({"after": {"call": "fetch", "result": ticket()}})), "allow");
        let told = waiter.join().unwrap();
        assert!(told["asks"]["invoke"].is_object(), "{told}");
        assert!(begun.elapsed() < Duration::from_secs(15));
    });
}

/// A program in the same process has the bounds of a request, and no right that a server's caller lacks.
#[test]
fn what_a_server_refuses_is_refused_in_the_same_process() {
    let mut settings = Settings::new(vec!["policies/support-desk".into()]);
    settings.limits.max_body_bytes = 2_000;
    let database = Database::open(&Location::Memory, &settings.limits.store).unwrap();
    let tasks =
        InProcess::open(settings, Parts { clock: system_clock().unwrap(), database, log: None }).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let user = User { id: "u-7".into(), ..User::default() };
    let (namespace, agent) = ("support".to_owned(), Some("support-desk".to_owned()));
    let new = NewTask { id: Some("t-1".into()), namespace, agent, user, ..NewTask::default() };
    runtime.block_on(tasks.begin(new.clone())).unwrap();
    let deep = (0..101).fold(json!(1), |below, _| json!([below]));
    let long = "a".repeat(2_000);
    for (operation, kind) in [
        (json!({"unlock": {"reason": "Again."}}), ProblemKind::UnlockDisabled),
        (json!({ "input": { "message": long } }), ProblemKind::TooLarge),
        (json!({ "input": { "message": "a", "ticket_id": deep } }), ProblemKind::BadRequest),
    ] {
        let operation: Operation = serde_json::from_value(operation).unwrap();
        let name = operation.name();
        let refused = runtime.block_on(tasks.take("t-1", operation, StepTerms::default()));
        assert_eq!(refused.unwrap_err().kind(), Some(kind), "{name}");
    }
    for key in ["", "a b", "ü"] {
        let terms = StepTerms { key: Some(key.to_owned()), ..StepTerms::default() };
        let refused = runtime.block_on(tasks.take("t-1", Operation::Interrupt {}, terms));
        assert_eq!(refused.unwrap_err().kind(), Some(ProblemKind::BadRequest), "{key:?}");
    }
    let metadata = [("note".to_owned(), "a".repeat(2_000))].into();
    let refused = runtime.block_on(tasks.begin(NewTask { metadata, ..new }));
    assert_eq!(refused.unwrap_err().kind(), Some(ProblemKind::TooLarge));
}

#[test]
fn it_hears_of_what_another_server_decides() {
    let database = Database::open(&Location::Memory, &StoreLimits::default()).unwrap();
    let [one, other] = [(); 2].map(|()| Serving::over(database.clone(), |_, _| {}));
    decided_meanwhile(&one, &other);
}

#[test]
fn max_pending_ms() {
    let serving = Serving::with(&Location::Memory, |settings, _| settings.limits.max_pending_ms = 200);
    let task = task(&serving);
    let begun = Instant::now();
    let reply = serving.post(&format!("{task}/before?wait_ms=60000"), &refund("refund"));
    assert_eq!(verdict(&reply), "wait");
    assert!(begun.elapsed() >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(10));
    let at_once = serving.get(&format!("{task}/calls/refund?wait_ms=0"));
    assert_eq!(verdict(&at_once), "wait");
    for query in ["wait_ms=-1", "wait_ms=soon", "wait=1", "wait_ms=1&wait_ms=2"] {
        assert_eq!(serving.post(&format!("{task}/before?{query}"), &refund("other")).status, 400, "{query}");
    }
}

#[test]
fn two_hundred_requests_that_wait_stop_nobody() {
    let serving = Serving::start();
    let task = task(&serving);
    assert_eq!(verdict(&serving.post(&format!("{task}/before"), &refund("refund"))), "wait");
    let other = serving.task();
    let call = format!("{task}/calls/refund?wait_ms=25000");
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..200).map(|_| scope.spawn(|| serving.get(&call))).collect();
        thread::sleep(Duration::from_millis(500));
        for _ in 0..20 {
            let reply = serving.post(&format!("{other}/limits"), &json!({"next": "other"}));
            assert_eq!(verdict(&reply), "allow");
        }
        assert!(!waiters.iter().any(thread::ScopedJoinHandle::is_finished), "all of them wait");
        serving.post(&format!("{task}/withdraw"), &json!({"call": "refund", "ran": false}));
        for waiter in waiters {
            assert_eq!(verdict(&waiter.join().unwrap()), "block");
        }
    });
}

#[test]
fn an_answer_that_left_a_call_pending_is_not_given_again_as_it_was() {
    let serving = Serving::start();
    let task = task(&serving);
    let send = || {
        let headers = [("content-type", "application/json"), ("idempotency-key", "k-1")];
        serving.send("POST", &format!("{task}/before"), &headers, refund("refund").to_string().as_bytes())
    };
    assert_eq!(verdict(&send()), "wait");
    let again = send();
    assert_eq!((verdict(&again), again.header("idempotency-replayed")), (json!("wait"), Some("true")));
    assert_eq!(verdict(&report(&serving, &task)), "allow");
    assert_eq!(asked(&send()), "invoke");
    serving.post(&format!("{task}/resume"), &score());
    assert_eq!(asked(&send()), "review");
    serving.post(&format!("{task}/resume"), &json!({"answer": {"review": false}}));
    let refused = send();
    assert_eq!((verdict(&refused), refused.header("idempotency-replayed")), (json!("block"), Some("true")));
}

#[test]
fn a_call_that_waits_too_long_is_refused_and_told_for_which() {
    for by_itself in [false, true] {
        let serving = Serving::start();
        let task = task(&serving);
        assert_eq!(verdict(&serving.post(&format!("{task}/before"), &refund("refund"))), "wait");
        let read = || serving.get(&format!("{task}/calls/refund"));
        serving.set_now("2026-06-01T12:10:00Z");
        assert_eq!(verdict(&read()), "wait");
        serving.set_now("2026-06-01T12:10:01Z");
        if by_itself {
            // nobody asks for the task
            serving.server.as_ref().unwrap().sweep();
            let events = serving.get(&format!("{task}/events")).text();
            assert!(events.contains("has not been reported"), "{events}");
        }
        let refused = read();
        assert_eq!(verdict(&refused), "block");
        let why = "the call has waited too long for the call `fetch`, whose result has not been reported";
        assert_eq!(refused.json()["decided"]["message"], why);
        // the call that it waited for is as open as before
        assert_eq!(verdict(&report(&serving, &task)), "allow");
    }
}

#[test]
fn a_turn_waits_for_all_of_its_calls_and_a_replay_tells_how_they_stand() {
    let serving = Serving::start();
    let task = task(&serving);
    let turn = json!({
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        "calls": [refund("one"), {"id": "look", "function": "zendesk_fetch_ticket", "arguments": {}}, refund("two")]
    });
    let verdicts = |reply: &Reply| -> Vec<String> {
        assert_eq!(reply.status, 200, "{}", reply.text());
        let calls = reply.json()["calls"].as_array().unwrap().clone();
        calls.iter().map(|call| call["verdict"].as_str().unwrap().to_owned()).collect()
    };
    let send = |query: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", "turn-1")];
        serving.send("POST", &format!("{task}/turn{query}"), &headers, turn.to_string().as_bytes())
    };
    assert_eq!(verdicts(&send("")), ["wait", "allow", "wait"]);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| send("?wait_ms=20000"));
        thread::sleep(Duration::from_millis(100));
        let results =
            json!({"results": [{"call": "look", "result": ticket()}, {"call": "fetch", "result": ticket()}]});
        let reported = serving.post(&format!("{task}/results"), &results);
        assert_eq!(verdicts(&reported), ["allow", "allow"]);
        serving.post(&format!("{task}/withdraw"), &json!({"call": "one", "ran": false}));
        serving.post(&format!("{task}/withdraw"), &json!({"call": "two", "ran": false}));
        let waited = verdicts(&waiter.join().unwrap());
        assert_eq!(waited[..2], ["block", "allow"]);
        // once the first is withdrawn, the runtime is asked about the second: nobody waits for that
        assert!(["block", "suspend"].contains(&&*waited[2]), "{waited:?}");
    });
    // under the same key the answer is what is true now
    let again = send("");
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(verdicts(&again), ["block", "allow", "block"]);
}

/// A server that stops does not cut off a request that waits: it is told how the call stands.
#[test]
fn a_request_that_waits_is_answered_when_the_server_stops() {
    let mut serving = Serving::start();
    let task = task(&serving);
    let server = serving.server.take().unwrap();
    let call = format!("{task}/calls/refund");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| serving.post(&format!("{task}/before?wait_ms=30000"), &refund("refund")));
        while serving.get(&call).status != 200 {
            thread::sleep(Duration::from_millis(5));
        }
        let looks = scope.spawn(|| serving.get(&format!("{call}?wait_ms=30000")));
        thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        server.stop();
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(verdict(&waiter.join().unwrap()), "wait");
        assert_eq!(verdict(&looks.join().unwrap()), "wait");
    });
}
