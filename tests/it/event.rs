//! Events over whole tasks: what may reach one, in which order, and what is kept about it.

use crate::task_fixture::{at, call, decided, drive, noon, see, start};
use celador::Timestamp;
use celador::cel::Json;
use celador::engine::Engine;
use celador::limits::{EngineLimits, EvalLimits};
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::{
    Answer, CallResult, Content, Decision, Delivery, EventStage, Host, Invocation, Next, Progress, Ran,
    Request, SavedTask, Task, VerdictKind,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An agent of two tools that hear of the same platform, each with a secret of its own.
fn manifests(agent: &str) -> String {
    let tool = |name: &str, filter: &str| {
        format!(
            "kind: commonagents.info/v1beta2/tool
namespace: demo
name: {name}
description: Tickets.
settings: {{properties: {{{name}_hook: {{title: Hook}}}}}}
parameters: {{properties: {{queue: {{type: string, default: none}}}}}}
actions:
- name: open
  description: Opens.
  parameters: {{properties: {{who: {{type: string}}}}}}
  execute: {{stateless_http: {{method: POST, url: 'https://svc.example.com/run'}}}}
- name: close
  description: Closes.
  parameters: {{properties: {{who: {{type: string}}}}}}
  execute: {{stateless_http: {{method: POST, url: 'https://svc.example.com/run'}}}}
events:
- name: replied
  message: '{{event.payload.text}}'
  timeout: 48h
  receive: {{webhook: {{filter: {filter}}}}}
- name: signed
  message: '{{event.payload.text}}'
  receive: {{webhook: {{secret: '{{settings.{name}_hook}}'}}}}
- name: asked
  message: '{{event.payload.text}}'
  receive: {{subscription: {{}}}}
---
"
        )
    };
    format!(
        "{}{}kind: commonagents.info/v1beta2/agent
namespace: demo
name: clerk
description: Test agent.
prompt: You are a careful clerk.
{agent}",
        tool("desk", "event.payload.who == parameters.who && event.payload.queue == parameters.queue"),
        tool("board", "event.payload.who.startsWith(parameters.who)"),
    )
}

const AGENT: &str = "capabilities:
  desk:
    bindings: {queue: \"'billing'\"}
    before:
    - {assert: \"!has(event) || event.payload.who != 'robot'\", error_message: No robots.}
    - {assert: \"has(event) || input.who != 'stopped'\"}
    - {condition: has(event), invoke: 'board:close', bindings: {who: \"'nobody'\"}}
    after:
    - {assert: \"has(event) || output.ok\"}
  board: '*'
";

fn engine(agent: &str) -> Engine {
    let (engine, findings) = crate::task_fixture::parse("events.yaml", &manifests(agent));
    let error = findings.iter().find(|finding| finding.is_error());
    assert!(error.is_none(), "{}", error.unwrap().render(false));
    engine
}

fn settings() -> BTreeMap<String, Json> {
    [("desk_hook", "s3cr3t"), ("board_hook", "other")]
        .map(|(name, secret)| (name.to_owned(), Json::string(secret)))
        .into()
}

fn happens(task: &mut Task, tool: &str, event: &str, payload: &Value, now: Timestamp) -> Progress {
    let delivery = Delivery::new(tool, event, Content::Payload(payload.into()));
    task.event(&delivery, &settings(), now).into_progress()
}

/// A host whose tools do nothing.
struct Quiet;

impl Host for Quiet {
    fn now(&mut self) -> Timestamp {
        noon()
    }
    fn invoke(&mut self, _: &Invocation) -> Option<CallResult> {
        Some(CallResult::successful(json!({ "ok": true }).into()))
    }
    fn review(&mut self, _: &str) -> Option<bool> {
        None
    }
    fn read_mount(&mut self, _: &str) -> Option<String> {
        None
    }
    fn write_mount(&mut self, _: &str, _: &str) -> bool {
        false
    }
}

fn discarded(decision: &Decision) -> Option<EventStage> {
    assert_eq!(decision.verdict.kind(), VerdictKind::Discard);
    decision.verdict.stage()
}

fn run_call(task: &mut Task, function: &str, who: &str) -> Decision {
    let progress = task.invoke(&call(function, json!({ "who": who })), noon()).unwrap();
    progress.drive(&mut Quiet).unwrap().into_decision()
}

const BODY: &[u8] = br#"{"kind":"reply","text":"signed"}"#;
const SIGNED: &str = "sha256=1dceb310869e6212ad8f2c34cce42e7f909183c04e78c34c23d9156095f5724f";

#[test]
fn one_request_goes_to_every_webhook_that_it_is_one_of() {
    // WH-08
    let mut task = start(&engine(AGENT));
    let headers = [("x-hub-signature-256", SIGNED)];
    let content = Content::request(&headers, BODY);
    let routings = task.route(&content, &settings(), &mut Quiet).unwrap();
    let seen: Vec<_> = routings
        .iter()
        .map(|routing| {
            (
                &*routing.capability,
                &*routing.event,
                routing.decision.verdict.kind(),
                routing.decision.verdict.stage(),
            )
        })
        .collect();
    let (discard, filter) = (VerdictKind::Discard, Some(EventStage::Filter));
    assert_eq!(
        seen,
        [
            ("desk", "replied", discard, filter),
            // `who` is not in the payload, and the steps of `desk` ask for it
            ("desk", "signed", discard, Some(EventStage::Before)),
            ("board", "replied", discard, filter),
            ("board", "signed", discard, Some(EventStage::Signature)),
        ]
    );
    let plain = engine("capabilities: {desk: '*', board: '*'}\n");
    let mut task = start(&plain);
    let routings = task.route(&content, &settings(), &mut Quiet).unwrap();
    let routed: Vec<_> = routings.iter().filter(|routing| routing.decision.is_allowed()).collect();
    assert_eq!(routed.len(), 1);
    assert_eq!((&*routed[0].capability, &*routed[0].event), ("desk", "signed"));
    assert_eq!(routed[0].decision.text().as_deref(), Some("signed"));
    assert_eq!(see(&task, "size(context.input)"), 1);
}

#[test]
fn a_request_is_bounded_and_its_bytes_are_what_is_signed() {
    let mut task = start(&engine("capabilities: {desk: '*'}\n"));
    let settings = settings();
    let mut send = |event: &str, header: Option<&str>, body: &[u8]| {
        let headers: Vec<_> = header.map(|value| ("X-Hub-Signature-256", value)).into_iter().collect();
        let delivery = Delivery::new("desk", event, Content::request(&headers, body));
        decided(task.event(&delivery, &settings, noon()))
    };
    assert_eq!(send("signed", Some(SIGNED), BODY).verdict.kind(), VerdictKind::Route);
    assert_eq!(discarded(&send("signed", None, BODY)), Some(EventStage::Signature));
    let spaced = br#"{"kind": "reply","text":"signed"}"#;
    assert_eq!(discarded(&send("signed", Some(SIGNED), spaced)), Some(EventStage::Signature));
    let deep = EngineLimits::default().eval.max_json_depth + 1;
    let deep = "[".repeat(deep) + &"]".repeat(deep);
    for body in [deep.as_bytes(), b"", b"text=hi", b"\xff\xfe", b"{} {}"] {
        assert_eq!(discarded(&send("asked", None, body)), Some(EventStage::Filter));
    }
    assert_eq!(send("asked", None, b" {\"text\": \"fine\"} ").verdict.kind(), VerdictKind::Route);
}

#[test]
fn nothing_of_a_payload_or_secret_is_told() {
    let agent = "capabilities:\n  desk:\n    before: [{assert: 'event.payload.n > 1'}]\n  board: '*'\n";
    let mut task = start(&engine(agent));
    run_call(&mut task, "board_open", "ann");
    let decisions = [
        decided(happens(&mut task, "desk", "asked", &json!({ "n": "hunter2" }), noon())),
        decided(happens(&mut task, "desk", "replied", &json!({ "who": { "x": "hunter2" } }), noon())),
        decided(happens(&mut task, "board", "replied", &json!({ "who": ["hunter2"] }), noon())),
        decided(happens(&mut task, "desk", "signed", &json!({ "n": "hunter2" }), noon())),
    ];
    for decision in decisions {
        assert_eq!(decision.verdict.kind(), VerdictKind::Discard);
        let told = serde_json::to_string(&decision).unwrap();
        assert!(!told.contains("hunter2") && !told.contains("s3cr3t"), "{told}");
    }
    assert!(!format!("{:?}", task.allow_list("board").unwrap()).contains("ann"));
}

#[test]
fn an_event_waits_for_the_one_that_is_reviewed_and_a_task_at_its_end_has_none() {
    // MW-32, RV-13, SUB-12
    let agent = "capabilities:\n  desk:\n    before: [{assert: \"has(event) ? review('lead') : input.who != 'x'\", on_fail: lock_task}]\n";
    let engine = engine(agent);
    let mut task = start(&engine);
    let payload = json!({ "text": "hi" });
    let asked = happens(&mut task, "desk", "asked", &payload, noon());
    assert!(matches!(asked, Progress::Asks(celador::Question { request: Request::Review { .. }, .. })));
    let waiting = decided(happens(&mut task, "desk", "asked", &payload, noon()));
    assert_eq!((waiting.verdict.kind(), waiting.verdict.stage()), (VerdictKind::Wait, None));
    assert_eq!(
        (waiting.call.as_ref().unwrap().as_str(), waiting.verdict.waits_for()),
        ("event-2", &["event-1".into()][..])
    );
    task.withdraw(&"event-2".into(), Ran::Never, noon()).unwrap();

    // the event waits in a store and goes on
    let saved = serde_json::to_string(&task.save()).unwrap();
    let restored = || engine.restore(serde_json::from_str::<SavedTask>(&saved).unwrap()).unwrap();
    let mut approved = restored();
    let routed = decided(approved.resume(Answer::approve(), noon()).unwrap());
    assert_eq!((routed.verdict.kind(), routed.text().as_deref()), (VerdictKind::Route, Some("hi")));
    assert_eq!(see(&approved, "context._history.turns"), json!(["input"]));

    let mut denied = restored();
    let locked = decided(denied.resume(Answer::deny(), noon()).unwrap());
    assert_eq!(
        (locked.verdict.kind(), locked.verdict.reason()),
        (VerdictKind::LockTask, Some("Blocked by policy."))
    );
    assert_eq!(denied.subscriptions(noon()).count(), 0);
    let after = decided(happens(&mut denied, "desk", "asked", &payload, noon()));
    assert_eq!(discarded(&after), Some(EventStage::Inactive));
    assert_eq!(see(&denied, "size(context.input)"), 0);
}

/// What was decided with an operation: ids and verdicts.
fn told(decision: &Decision) -> Vec<(String, VerdictKind)> {
    decision
        .decided
        .iter()
        .map(|it| (format!("{} {}", it.kind.as_str(), it.call), it.decision.verdict.kind()))
        .collect()
}

#[test]
fn events_that_come_during_a_review_are_judged_after_it_in_order() {
    let agent = "capabilities:\n  desk:\n    before: [{assert: \"has(event) || input.who != 'x' || review('lead')\"}]\n  board: '*'\n";
    let engine = engine(agent);
    let mut task = start(&engine);
    assert!(run_call(&mut task, "board_open", "ann").is_allowed());
    let Progress::Asks(review) =
        task.before(&call("desk_open", json!({ "who": "x" })), noon()).unwrap().into_progress()
    else {
        panic!("the lead is asked")
    };
    let payload = |who: &str| json!({ "who": who, "queue": "none", "text": who });
    // a filter that nothing under way can change is asked at once: what it does not let through takes no place
    let dropped = decided(happens(&mut task, "board", "replied", &payload("bob"), noon()));
    assert_eq!(discarded(&dropped), Some(EventStage::Filter));
    let first = decided(happens(&mut task, "board", "replied", &payload("ann"), noon()));
    assert_eq!(first.verdict.kind(), VerdictKind::Wait);
    // the call under review may still let this one through
    let second = decided(happens(&mut task, "desk", "replied", &payload("x"), noon()));
    let third = decided(happens(&mut task, "desk", "replied", &payload("y"), noon()));
    assert_eq!((second.verdict.kind(), third.verdict.kind()), (VerdictKind::Wait, VerdictKind::Wait));
    // a delivery that waits is known, and one that is forged does not wait
    assert_eq!(delivered(&mut task, "signed", &[("webhook-id", "a")]).verdict.kind(), VerdictKind::Wait);
    assert_eq!(delivered(&mut task, "signed", &[("webhook-id", "a")]).verdict.message(), Some(REPLAYED));
    let forged = Delivery::new("desk", "signed", Content::request(&[], BODY));
    let forged = decided(task.event(&forged, &settings(), noon()));
    assert_eq!(discarded(&forged), Some(EventStage::Signature));
    // in a store there is no more of them than their payloads
    let saved = serde_json::to_string(&task.save()).unwrap();
    assert!(!saved.contains(SIGNED) && !saved.contains("s3cr3t"));
    let mut task = engine.restore(serde_json::from_str::<SavedTask>(&saved).unwrap()).unwrap();
    assert_eq!(see(&task, "size(context.input)"), 0);
    let approved = decided(task.answer(review.id, Answer::approve(), noon()).unwrap());
    // the last three wait for the call, which was let through
    assert_eq!(told(&approved), [("event event-3".to_owned(), VerdictKind::Route)]);
    let open = approved.call.unwrap();
    assert_eq!(
        task.standing(&second.call.unwrap()).unwrap().verdict.waits_for(),
        std::slice::from_ref(&open)
    );
    let reported = decided(task.after(&open, CallResult::successful(json!({}).into()), noon()).unwrap());
    let expected = [("4", VerdictKind::Route), ("5", VerdictKind::Discard), ("6", VerdictKind::Route)];
    assert_eq!(told(&reported), expected.map(|(id, verdict)| (format!("event event-{id}"), verdict)));
    assert_eq!(reported.decided[1].decision.verdict.stage(), Some(EventStage::Filter));
    assert_eq!(see(&task, "context.input.map(i, i.message[0].text)"), json!(["ann", "x", "signed"]));
}

#[test]
fn an_event_that_came_in_time_is_heard_however_long_it_waits() {
    // SUB-07, SUB-08
    let agent = "capabilities:\n  board:\n    before: [{assert: \"has(event) || input.who != 'x' || review('lead')\"}]\n";
    let mut task = start(&engine(agent));
    assert!(run_call(&mut task, "board_open", "ann").is_allowed());
    let asked = task.before(&call("board_open", json!({ "who": "x" })), noon()).unwrap().into_progress();
    let Progress::Asks(review) = asked else { panic!("the lead is asked") };
    let payload = json!({ "who": "ann", "text": "hi" });
    let waits = decided(happens(&mut task, "board", "replied", &payload, at("2026-06-03T12:00:00Z")));
    assert_eq!(waits.verdict.kind(), VerdictKind::Wait);
    let later = at("2026-06-09T12:00:00Z");
    let gone = decided(happens(&mut task, "board", "replied", &payload, later));
    assert_eq!(discarded(&gone), Some(EventStage::Inactive));
    let denied = decided(task.answer(review.id, Answer::deny(), later).unwrap());
    assert_eq!(told(&denied), [(format!("event {}", waits.call.unwrap()), VerdictKind::Route)]);
}

#[test]
fn what_is_not_wanted_keeps_no_subscription_alive() {
    // SUB-07 to SUB-10; a host may drop a subscription earlier still, it just asks no more (SUB-13)
    let mut task =
        start(&engine("capabilities:\n  desk:\n    before: [{assert: '!has(event) || event.payload.ok'}]\n"));
    run_call(&mut task, "desk_open", "ann");
    let expires = |task: &Task, now: Timestamp| {
        let mut heard = task.subscriptions(now);
        heard.find(|one| one.event == "replied").map(|one| one.expires_at.unwrap().to_string())
    };
    assert_eq!(expires(&task, noon()).as_deref(), Some("2026-06-03T12:00:00Z"));
    let payload = |ok: bool| json!({ "who": "ann", "queue": "none", "ok": ok });
    let later = at("2026-06-02T12:00:00Z");
    assert_eq!(
        decided(happens(&mut task, "desk", "replied", &payload(false), later)).verdict.kind(),
        VerdictKind::Discard
    );
    assert_eq!(expires(&task, later).as_deref(), Some("2026-06-03T12:00:00Z"));
    assert_eq!(
        decided(happens(&mut task, "desk", "replied", &payload(true), later)).verdict.kind(),
        VerdictKind::Route
    );
    assert_eq!(expires(&task, later).as_deref(), Some("2026-06-04T12:00:00Z"));
    let too_late = at("2026-06-04T12:00:01Z");
    assert_eq!(expires(&task, too_late), None);
    assert!(task.limits(Next::Other, too_late).is_allowed());
    let said = decided(task.input(&json!({ "message": "m" }).into(), too_late));
    assert_eq!(said.verdict.kind(), VerdictKind::Allow);
    // a store forgets none of it
    let saved = serde_json::to_string(&task.save()).unwrap();
    let engine =
        engine("capabilities:\n  desk:\n    before: [{assert: '!has(event) || event.payload.ok'}]\n");
    let mut task = engine.restore(serde_json::from_str::<SavedTask>(&saved).unwrap()).unwrap();
    let gone = decided(happens(&mut task, "desk", "replied", &payload(true), too_late));
    assert_eq!(discarded(&gone), Some(EventStage::Inactive));
    assert_eq!(task.allow_list("desk").unwrap().to_json(), json!({ "queue": ["none"], "who": ["ann"] }));
}

#[test]
fn combinations_without_end_are_refused() {
    let limits = EngineLimits {
        eval: EvalLimits { max_cost: 2_000, ..EvalLimits::default() },
        ..EngineLimits::default()
    };
    let source = Source::new("events.yaml", manifests("capabilities: {board: '*'}\n"));
    let (catalog, _) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
    let (engine, _) = Engine::from_catalog(&catalog, limits);
    let mut task = start(&engine);
    for at in 0..2_000 {
        let past = celador::task::PastCall {
            function: "board_open".into(),
            arguments: json!({ "who": format!("user-{at}") }).into(),
            output: None,
            status: celador::context::InvocationStatus::Successful,
            executed: true,
            task_id: None,
            at: None,
        };
        task.record(celador::task::Past::Call(past), noon()).unwrap();
    }
    let nobody = json!({ "who": "nobody" });
    let decision = decided(happens(&mut task, "board", "replied", &nobody, noon()));
    assert_eq!(discarded(&decision), Some(EventStage::Filter));
    assert_eq!(decision.findings[0].code, "budget_exceeded");
    let first =
        decided(happens(&mut task, "board", "replied", &json!({ "who": "user-1", "text": "" }), noon()));
    assert_eq!(first.verdict.kind(), VerdictKind::Route);
}

#[test]
fn a_filter_is_checked_like_any_expression() {
    let text = manifests("capabilities: {desk: '*'}\n");
    let findings = |from: &str, to: &str| {
        let (_, findings) = crate::task_fixture::parse("events.yaml", &text.replacen(from, to, 1));
        let mut codes: Vec<_> =
            findings.iter().map(|finding| (finding.code, finding.place.position().column)).collect();
        codes.dedup();
        codes
    };
    assert_eq!(findings("", ""), []);
    // the caret stands below what is wrong, in sets too
    let column = "  receive: {webhook: {filter: event.payload.who == parameters.".len() + 1;
    assert_eq!(findings("parameters.who &&", "parameters.whom &&"), [("unknown_field", column)]);
    assert_eq!(findings("event.payload.who ==", "event.author =="), [("unknown_field", 37)]);
    let column = "  receive: {webhook: {filter: ".len() + 1;
    assert_eq!(findings("event.payload.who == parameters.who", "7 == parameters.who")[0].0, "never_equal");
    assert_eq!(
        findings("event.payload.who == parameters.who", "context.user"),
        [("undeclared_name", column)]
    );
}

/// What a task goes through.
#[derive(Clone, Debug)]
enum Act {
    Call { tool: &'static str, who: &'static str },
    Event { tool: &'static str, who: &'static str, queue: &'static str },
    Interrupt,
    Say,
    Lock,
}

fn act() -> impl Strategy<Value = Act> {
    let tool = || prop::sample::select(vec!["desk", "board"]);
    let who = || prop::sample::select(vec!["ann", "bob", "robot", "stopped", "nobody", "annabel"]);
    let queue = prop::sample::select(vec!["billing", "none", "evil"]);
    prop_oneof![
        6 => (tool(), who()).prop_map(|(tool, who)| Act::Call { tool, who }),
        8 => (tool(), who(), queue).prop_map(|(tool, who, queue)| Act::Event { tool, who, queue }),
        1 => Just(Act::Interrupt),
        1 => Just(Act::Say),
        1 => Just(Act::Lock),
    ]
}

/// What the rules say of the same acts, written down a second time and simply.
#[derive(Default)]
struct Model {
    desk: Vec<&'static str>,
    board: Vec<&'static str>,
    interrupted: bool,
    locked: bool,
}

impl Model {
    fn takes(&self, tool: &str, who: &str, queue: &str) -> bool {
        if self.locked || self.interrupted {
            return false;
        }
        match tool {
            "desk" => self.desk.contains(&who) && queue == "billing" && who != "robot",
            _ => self.board.iter().any(|known| who.starts_with(known)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn events_reach_a_task_only_through_filter_allow_list_and_steps(acts in prop::collection::vec(act(), 1..24)) {
        let engine = engine(AGENT);
        let mut task = start(&engine);
        let mut model = Model::default();
        for act in acts {
            let inputs = see(&task, "size(context.input)").as_u64().unwrap();
            let mut wanted = inputs;
            match act {
                Act::Call { tool, who } => {
                    let decision = run_call(&mut task, &format!("{tool}_open"), who);
                    // a call that steps stop, or that a locked task refuses, adds nothing (ALW-11)
                    let runs = !(model.locked || tool == "desk" && who == "stopped");
                    prop_assert_eq!(decision.is_allowed(), runs);
                    if runs {
                        model.interrupted = false;
                        let list = if tool == "desk" { &mut model.desk } else { &mut model.board };
                        if !list.contains(&who) {
                            list.push(who);
                        }
                    } else if !model.locked {
                        model.interrupted = false;
                    }
                }
                Act::Event { tool, who, queue } => {
                    let takes = model.takes(tool, who, queue);
                    let payload = json!({ "who": who, "queue": queue, "text": "t" });
                    let progress = happens(&mut task, tool, "replied", &payload, noon());
                    let decision = drive(&mut task, progress, &mut Quiet);
                    prop_assert_eq!(decision.verdict.kind() == VerdictKind::Route, takes, "{:?}", decision);
                    wanted += u64::from(takes);
                }
                Act::Interrupt if !model.locked => {
                    prop_assert!(task.interrupt(noon()).is_allowed());
                    model.interrupted = true;
                }
                Act::Interrupt => prop_assert_eq!(task.interrupt(noon()).verdict.kind(), VerdictKind::Rejected),
                Act::Say => {
                    let decision = decided(task.input(&json!({ "message": "m" }).into(), noon()));
                    prop_assert_eq!(decision.is_allowed(), !model.locked);
                    model.interrupted &= model.locked;
                    wanted += u64::from(!model.locked);
                }
                Act::Lock => {
                    task.record(celador::task::Past::Locked("enough".into()), noon()).unwrap();
                    model.locked = true;
                }
            }
            prop_assert_eq!(see(&task, "size(context.input)").as_u64(), Some(wanted));
            // the sealed name never grows, and what middleware calls is not there (ALW-08, ALW-13)
            let mut desk = json!({ "queue": ["billing"] });
            if !model.desk.is_empty() {
                desk["who"] = json!(model.desk);
            }
            prop_assert_eq!(task.allow_list("desk").unwrap().to_json(), desk);
            let board = task.allow_list("board").unwrap().to_json();
            prop_assert_eq!(board.get("who").cloned().unwrap_or(json!([])), json!(model.board));
            let saved = serde_json::to_string(&task.save()).unwrap();
            task = engine.restore(serde_json::from_str::<SavedTask>(&saved).unwrap()).unwrap();
        }
    }
}

/// A signed request with headers that name its delivery; what became of it at `desk`.
fn delivered(task: &mut Task, event: &str, names: &[(&str, &str)]) -> Decision {
    let headers = [&[("X-Hub-Signature-256", SIGNED)], names].concat();
    let delivery = Delivery::new("desk", event, Content::request(&headers, BODY));
    let progress = task.event(&delivery, &settings(), noon());
    progress.drive(&mut Quiet).unwrap().into_decision()
}

const REPLAYED: &str = "the delivery was taken before";

#[test]
fn a_delivery_that_comes_again_is_known_by_its_name() {
    let engine = engine("capabilities: {desk: '*', board: '*'}\n");
    for header in [
        "X-GitHub-Delivery",
        "x-gitea-delivery",
        "X-FORGEJO-DELIVERY",
        "X-Gogs-Delivery",
        "X-Request-UUID",
        "webhook-id",
    ] {
        let mut task = start(&engine);
        assert_eq!(
            delivered(&mut task, "signed", &[(header, "a")]).verdict.kind(),
            VerdictKind::Route,
            "{header}"
        );
        for again in [vec![(header, "a")], vec![(header, " a ")], vec![(header, "new"), (header, "a")]] {
            let replayed = delivered(&mut task, "signed", &again);
            assert_eq!(discarded(&replayed), Some(EventStage::Signature), "{again:?}");
            assert_eq!(replayed.verdict.message(), Some(REPLAYED));
        }
        assert_eq!(
            delivered(&mut task, "signed", &[(header, "b")]).verdict.kind(),
            VerdictKind::Route,
            "{header}"
        );
        assert_eq!(see(&task, "size(context.input)"), 2);
        // a task of its own has not heard of it
        assert_eq!(
            delivered(&mut start(&engine), "signed", &[(header, "a")]).verdict.kind(),
            VerdictKind::Route
        );
    }
    let mut task = start(&engine);
    // what has no name cannot be told from another, and neither can what is not signed
    for names in [vec![], vec![("X-GitHub-Delivery", "")], vec![("X-GitHub-Event", "push")]] {
        for _ in 0..2 {
            assert_eq!(
                delivered(&mut task, "signed", &names).verdict.kind(),
                VerdictKind::Route,
                "{names:?}"
            );
        }
    }
    // several names of one delivery: each of them is it
    let both = [("X-GitHub-Delivery", "c"), ("X-Gitea-Delivery", "d")];
    assert_eq!(delivered(&mut task, "signed", &both).verdict.kind(), VerdictKind::Route);
    for name in both {
        assert_eq!(delivered(&mut task, "signed", &[name]).verdict.message(), Some(REPLAYED));
    }
    // the same word in another header is another name
    assert_eq!(delivered(&mut task, "signed", &[("Webhook-Id", "c")]).verdict.kind(), VerdictKind::Route);
}

#[test]
fn only_what_was_signed_and_passed_its_filter_is_kept() {
    let mut task = start(&engine("capabilities: {desk: '*'}\n"));
    let name = ("X-GitHub-Delivery", "a");
    let settings = settings();
    let headers = [("X-Hub-Signature-256", SIGNED), name];
    let forged = Delivery::new("desk", "signed", Content::request(&headers, b"{}"));
    for _ in 0..2 {
        let decision = decided(task.event(&forged, &settings, noon()));
        assert_eq!(discarded(&decision), Some(EventStage::Signature));
        assert_ne!(decision.verdict.message(), Some(REPLAYED));
    }
    assert_eq!(delivered(&mut task, "signed", &[name]).verdict.kind(), VerdictKind::Route);
    // an event without a secret is vouched for by nobody
    for _ in 0..2 {
        let payload = br#"{"who": "ann", "queue": "billing"}"#;
        let delivery = Delivery::new("desk", "replied", Content::request(&[name], payload));
        let progress = task.event(&delivery, &settings, noon());
        assert_ne!(decided(progress).verdict.message(), Some(REPLAYED));
    }
    // steps may have done something before one of them said no: it does not happen again
    let guarded = engine("capabilities:\n  desk:\n    before: [{assert: 'event.payload.n > 1'}]\n");
    let mut task = start(&guarded);
    assert_eq!(discarded(&delivered(&mut task, "signed", &[name])), Some(EventStage::Before));
    assert_eq!(delivered(&mut task, "signed", &[name]).verdict.message(), Some(REPLAYED));
}

#[test]
fn a_task_that_was_stored_knows_its_deliveries() {
    let engine = engine("capabilities: {desk: '*'}\n");
    let mut task = start(&engine);
    let mut saved = task.save();
    let before = serde_json::to_value(&saved).unwrap();
    assert_eq!(
        before.get("delivered"),
        None,
        "what was stored by earlier builds has no such member, and opens"
    );
    for id in ["a", "b"] {
        let mark = task.mark();
        assert_eq!(delivered(&mut task, "signed", &[("Webhook-Id", id)]).verdict.kind(), VerdictKind::Route);
        let change = serde_json::to_string(&task.change_since(&mark)).unwrap();
        saved = saved.apply(serde_json::from_str(&change).unwrap()).unwrap();
        assert_eq!(serde_json::to_value(&saved).unwrap(), serde_json::to_value(task.save()).unwrap());
    }
    let mark = task.mark();
    let quiet = serde_json::to_value(task.change_since(&mark)).unwrap();
    assert_eq!(quiet.get("delivered"), None);
    let mut restored = engine.restore(saved).unwrap();
    for id in ["a", "b"] {
        let replayed = delivered(&mut restored, "signed", &[("Webhook-Id", id)]);
        assert_eq!(replayed.verdict.message(), Some(REPLAYED));
    }
    assert_eq!(delivered(&mut restored, "signed", &[("Webhook-Id", "c")]).verdict.kind(), VerdictKind::Route);
    let old: SavedTask = serde_json::from_value(before).unwrap();
    assert_eq!(
        delivered(&mut engine.restore(old).unwrap(), "signed", &[("Webhook-Id", "a")]).verdict.kind(),
        VerdictKind::Route
    );
}

#[test]
fn max_deliveries() {
    for most in [0, 1, 2, 3] {
        let limits = EngineLimits { max_deliveries: most, ..EngineLimits::default() };
        let source = Source::new("events.yaml", manifests("capabilities: {desk: '*'}\n"));
        let (catalog, _) = Catalog::parse(&[File { source, origin: FileOrigin::Named }], &limits);
        let (engine, _) = Engine::from_catalog(&catalog, limits);
        let mut task = start(&engine);
        let mut saved = task.save();
        for id in ["a", "b", "c"] {
            let mark = task.mark();
            assert_eq!(
                delivered(&mut task, "signed", &[("Webhook-Id", id)]).verdict.kind(),
                VerdictKind::Route
            );
            saved = saved.apply(task.change_since(&mark)).unwrap();
            assert_eq!(serde_json::to_value(&saved).unwrap(), serde_json::to_value(task.save()).unwrap());
        }
        // the latest are known, and the rest have made room
        let known = |id: &str| {
            let mut task = engine.restore(task.save()).unwrap();
            delivered(&mut task, "signed", &[("Webhook-Id", id)]).verdict.kind() == VerdictKind::Discard
        };
        assert_eq!(["c", "b", "a"].map(known), [most > 0, most > 1, most > 2], "{most}");
    }
}
