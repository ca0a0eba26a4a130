//! Counters of policies through the library: what a call holds, through saving, reviews and edits, and what a call without
//! counters comes to. What can be said in a case stands in `tests/data/cases/own/counter-*.yaml`.

use crate::shop_fixture::{shop_agent, shop_tool};
use celador::counter::{Amount, CounterBook, CounterId, CounterState, Decimal};
use celador::limits::EngineLimits;
use celador::manifest::Catalog;
use celador::manifest::load::{File, FileOrigin};
use celador::source::Source;
use celador::task::ReviewChoice;
use celador::{
    Answer, Call, CallResult, Decision, Engine, Host, Invocation, Progress, Ran, Request, ReviewAnswer,
    StartTask, Task, TaskError, Timestamp, Turn, Usage, User, VerdictKind,
};
use serde_json::json;

const MANIFESTS: &str = r#"
kind: commonagents.info/v1beta2/tool
namespace: shop
name: payments
description: Moves money.
actions:
  - name: refund
    description: Pays money back.
    parameters: {properties: {amount: {type: number}, to: {type: string, default: ""}}}
    execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
  - name: book
    description: Books it.
    parameters: {properties: {amount: {type: number}}}
    execute: {cel: {expression: "{'booked': input.amount}"}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Answers customers.
prompt: You are a careful clerk.
capabilities:
  payments: {include: [refund, book]}
---
kind: celador/v1/policy
namespace: shop
name: money
counters:
  spend: {on: "payments_*", key: KEY, window: 24h, add: ADD}
capabilities:
  "payments_*":
    before:
      - assert: counters.spend + input.amount <= 100
      - condition: input.amount > 50
        assert: review('lead')
"#;

fn engine(key: &str, add: &str) -> Engine {
    let manifests = MANIFESTS.replace("KEY", key).replace("ADD", add);
    Engine::parse("shop.yaml", &manifests).unwrap_or_else(|error| panic!("{error}"))
}

fn paying() -> Engine {
    engine("context.user.id", "input.amount")
}

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn begin(engine: &Engine, id: &str) -> Task {
    let user = User { id: "u-7".into(), email: None, ..User::default() };
    engine.start(StartTask::new(id, "shop", "clerk", user, now())).unwrap()
}

fn refund(amount: i64) -> Call {
    Call::new("payments_refund", json!({ "amount": amount }).into())
}

/// A host with a book or without one, and nobody who reviews.
struct Desk(Option<CounterBook>);

impl Default for Desk {
    fn default() -> Self {
        Self(Some(CounterBook::default()))
    }
}

impl Host for Desk {
    fn now(&mut self) -> Timestamp {
        now()
    }
    fn invoke(&mut self, _: &Invocation) -> Option<CallResult> {
        None
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
    fn counters(&mut self) -> Option<&mut CounterBook> {
        self.0.as_mut()
    }
}

impl Desk {
    fn book(&self) -> &CounterBook {
        self.0.as_ref().unwrap()
    }

    fn spend(&self) -> i64 {
        let spend = CounterId::new("shop/money", "spend", r#""u-7""#);
        self.book().read(&spend).counted("24h".parse().unwrap(), now()).to_int()
    }

    fn keep(&mut self, task: &mut Task) {
        let changes = task.take_counter_changes();
        self.0.as_mut().unwrap().apply(task.id(), &changes, now()).unwrap();
    }

    fn before(&mut self, task: &mut Task, call: &Call) -> Decision {
        task.before(call, now()).unwrap().drive(self).unwrap().into_decision()
    }
}

#[test]
fn without_a_host_that_keeps_counters_the_call_is_refused() {
    let mut task = begin(&paying(), "t-1");
    let decision = task.before(&refund(1), now()).unwrap().drive(&mut Desk(None)).unwrap().into_decision();
    assert_eq!(decision.verdict.kind(), VerdictKind::Block);
    assert_eq!(decision.findings[0].code, "counters_unavailable");
    assert_eq!(decision.decided_by.unwrap().policy.unwrap().to_string(), "shop/money");
    assert!(task.take_counter_changes().is_empty());
    // an answer of another length is none
    let progress = task.before(&refund(1), now()).unwrap().into_progress();
    let Progress::Asks(question) = progress else { panic!("it asks") };
    assert!(matches!(&question.request, Request::Counters { counters } if counters.len() == 1));
    let outcome = task.answer(question.id, Answer::Counters(Vec::new()), now()).unwrap().outcome();
    assert_eq!(outcome.into_decision().verdict.kind(), VerdictKind::Block);
    let progress = task.before(&refund(1), now()).unwrap().into_progress();
    let Progress::Asks(question) = progress else { panic!("it asks") };
    let wrong = task.answer(question.id, Answer::approve(), now()).map(|_| ());
    assert!(matches!(wrong, Err(TaskError::WrongAnswer)));
}

#[test]
fn a_key_or_an_amount_that_is_none_refuses_the_call() {
    for (key, add, code, says) in [
        ("dyn(7)", "1", "bad_counter_key", "the key of the counter `spend` is a text, found int"),
        (
            "context.user.id",
            "dyn('1')",
            "bad_counter_amount",
            "what the counter `spend` adds is a number, found string",
        ),
        (
            "context.user.id",
            "-input.amount",
            "bad_counter_amount",
            "the counter `spend`: the amount is negative",
        ),
        (
            "context.user.id",
            "1.0 / 0.0",
            "bad_counter_amount",
            "the counter `spend`: the amount is not finite",
        ),
        (
            "context.user.id",
            "0.0 / 0.0",
            "bad_counter_amount",
            "the counter `spend`: the amount is not finite",
        ),
        ("context.user.id", "1e19", "bad_counter_amount", "the counter `spend`: the amount is above 10^18"),
        ("context.user.id", "input.amount / 0", "divide_by_zero", "divide by zero"),
        ("input.to[0]", "1", "no_matching_overload", "no matching overload"),
    ] {
        let manifests = MANIFESTS.replace("KEY", &format!("\"{key}\"")).replace("ADD", &format!("\"{add}\""));
        let source = Source::new("shop.yaml", &*manifests);
        let files = [File { source, origin: FileOrigin::Named }];
        let (catalog, _) = Catalog::parse(&files, &EngineLimits::default());
        let (engine, _) = Engine::lenient_from_catalog(&catalog, EngineLimits::default());
        let mut task = begin(&engine, "t-1");
        let mut desk = Desk::default();
        let decision = desk.before(&mut task, &refund(1));
        assert_eq!(decision.verdict.kind(), VerdictKind::Block, "{key} {add}");
        let finding = &decision.findings[0];
        assert_eq!(finding.code, code, "{key} {add}: {}", finding.message);
        assert!(finding.message.contains(says), "{key} {add}: {}", finding.message);
        assert!(decision.trace.is_empty() && decision.counters.is_empty());
        assert_eq!(*desk.book(), CounterBook::default());
    }
}

#[test]
fn what_a_call_holds_is_saved_with_the_task() {
    let engine = paying();
    let mut desk = Desk::default();
    let mut task = begin(&engine, "t-1");
    let small = desk.before(&mut task, &refund(20));
    let large = desk.before(&mut task, &refund(60));
    assert_eq!(
        (small.verdict.kind(), large.verdict.kind(), desk.spend()),
        (VerdictKind::Allow, VerdictKind::Suspend, 80)
    );
    assert_eq!(large.counters[0].counted, Some(Decimal::from_int(20).unwrap()));

    // in a store, as text, and as the change of a step
    let before = task.mark();
    let saved = serde_json::to_string(&task.save()).unwrap();
    let mut restored = engine.restore(serde_json::from_str(&saved).unwrap()).unwrap();
    let paid = CallResult::successful(json!({}).into());
    let _ = restored
        .after(&small.call.clone().unwrap(), paid, now())
        .unwrap()
        .drive(&mut desk)
        .unwrap()
        .into_decision();
    assert_eq!((desk.spend(), desk.book().holds("t-1").len()), (80, 1));
    let change = serde_json::to_string(&restored.change_since(&before)).unwrap();
    let applied: celador::SavedTask = serde_json::from_str(&saved).unwrap();
    let applied = applied.apply(serde_json::from_str(&change).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(&applied).unwrap(), serde_json::to_value(restored.save()).unwrap());

    let mut restored = engine.restore(applied).unwrap();
    let denied = restored.answer(large.verdict.question().unwrap(), Answer::deny(), now()).unwrap();
    let denied = denied.drive(&mut desk).unwrap().into_decision();
    assert_eq!(
        (denied.verdict.kind(), desk.spend(), desk.book().holds("t-1").len()),
        (VerdictKind::Block, 20, 0)
    );
}

#[test]
fn an_edit_gives_back_and_reserves_anew() {
    let mut desk = Desk::default();
    let mut task = begin(&paying(), "t-1");
    let asked = desk.before(&mut task, &refund(80));
    assert_eq!(desk.spend(), 80);
    let edit = |amount: i64| {
        let choice = ReviewChoice::Edit { arguments: json!({ "amount": amount, "to": "" }).into() };
        Answer::Review(ReviewAnswer { choice, ..true.into() })
    };
    // what it holds itself does not count against it, in the same step or in the next
    let edited = task.answer(asked.verdict.question().unwrap(), edit(90), now()).unwrap();
    let edited = edited.drive(&mut desk).unwrap().into_decision();
    assert_eq!((edited.verdict.kind(), desk.spend()), (VerdictKind::Allow, 90), "{edited:?}");
    assert_eq!(edited.counters.len(), 1);
    assert_eq!(edited.counters[0].adds, Some(Decimal::from_int(90).unwrap()));

    let second = desk.before(&mut task, &refund(10));
    assert_eq!((second.verdict.kind(), desk.spend()), (VerdictKind::Allow, 100));
    task.withdraw(&edited.call.unwrap(), Ran::Never, now()).unwrap();
    desk.keep(&mut task);
    assert_eq!(desk.spend(), 10);
    let asked = desk.before(&mut task, &refund(60));
    let beyond = task.answer(asked.verdict.question().unwrap(), edit(91), now()).unwrap();
    let beyond = beyond.drive(&mut desk).unwrap().into_decision();
    assert_eq!((beyond.verdict.kind(), desk.spend()), (VerdictKind::Block, 10));
    assert_eq!(beyond.counters[0].counted, Some(Decimal::from_int(10).unwrap()));
}

#[test]
fn a_call_that_runs_in_its_own_step_has_spent_at_once() {
    let mut desk = Desk::default();
    let mut task = begin(&paying(), "t-1");
    let book = |amount: i64| Call::new("payments_book", json!({ "amount": amount }).into());
    let done = task.invoke(&book(40), now()).unwrap().drive(&mut desk).unwrap().into_decision();
    assert_eq!(
        (done.verdict.kind(), desk.spend(), desk.book().holds("t-1").len()),
        (VerdictKind::Allow, 40, 0)
    );
    // a script makes several in one step, and each sees the one before
    let script = "[payments_book({'amount': 30}), payments_book({'amount': 20})]";
    let done = task.script(script, now()).unwrap().drive(&mut desk).unwrap().into_decision();
    assert_eq!(
        (done.verdict.kind(), desk.spend(), desk.book().holds("t-1").len()),
        (VerdictKind::Allow, 90, 0),
        "{done:?}"
    );
    assert_eq!(done.counters.len(), 2);
    let script = "[payments_book({'amount': 10}), payments_book({'amount': 1})]";
    let done = task.script(script, now()).unwrap().drive(&mut desk).unwrap().into_decision();
    assert_eq!((done.verdict.kind(), desk.spend()), (VerdictKind::Block, 100));
}

#[test]
fn an_end_spends_what_is_held_and_gives_back_what_waits() {
    let mut desk = Desk::default();
    let mut task = begin(&paying(), "t-1");
    desk.before(&mut task, &refund(20));
    assert_eq!(desk.before(&mut task, &refund(60)).verdict.kind(), VerdictKind::Suspend);
    assert_eq!(desk.spend(), 80);
    task.end("enough", now());
    let changes = task.take_counter_changes();
    assert!(changes.all_over);
    desk.0.as_mut().unwrap().apply("t-1", &changes, now()).unwrap();
    assert_eq!((desk.spend(), desk.book().holds("t-1").len()), (20, 0));
}

#[test]
fn of_two_tasks_that_have_read_the_same_the_second_decides_anew() {
    let engine = paying();
    let mut book = CounterBook::default();
    let decide = |id: &str, book: &CounterBook| {
        let mut task = begin(&engine, id);
        let progress = task.before(&refund(50), now()).unwrap().into_progress();
        let read = |counters: &[CounterId]| {
            let states: Vec<CounterState> = counters.iter().map(|counter| book.read(counter)).collect();
            Ok::<_, TaskError>(states)
        };
        let Progress::Decided(decision) = task.settle_counters(progress, read, now()).unwrap() else {
            panic!("nobody is asked")
        };
        (decision.verdict.kind(), task.take_counter_changes())
    };
    let (first, second) = (decide("t-1", &book), decide("t-2", &book));
    assert_eq!((first.0, second.0), (VerdictKind::Allow, VerdictKind::Allow));
    book.apply("t-1", &first.1, now()).unwrap();
    assert!(book.apply("t-2", &second.1, now()).is_err());
    let again = decide("t-2", &book);
    assert_eq!(again.0, VerdictKind::Allow);
    book.apply("t-2", &again.1, now()).unwrap();
    assert_eq!(decide("t-3", &book).0, VerdictKind::Block);
}

#[test]
fn what_a_blocked_call_would_have_added_does_not_count_for_the_next_of_its_turn() {
    let mut task = begin(&paying(), "t-1");
    let turn = Turn { usage: Usage::default(), calls: vec![refund(50), refund(51), refund(50), refund(1)] };
    let turned = task.turn(&turn, now()).unwrap().into_decision();
    let empty = |counters: &[CounterId]| Ok::<_, TaskError>(vec![CounterState::default(); counters.len()]);
    let Progress::Decided(told) = task.settle_counters(turned.into(), empty, now()).unwrap() else {
        panic!("nobody is asked")
    };
    let verdicts: Vec<_> = told.decided.iter().map(|call| call.decision.verdict.kind()).collect();
    assert_eq!(verdicts, [VerdictKind::Allow, VerdictKind::Block, VerdictKind::Allow, VerdictKind::Block]);
    let standing = task.standing(&told.decided[2].call).unwrap();
    assert_eq!(standing.verdict.kind(), VerdictKind::Allow);
    let changes = task.take_counter_changes();
    assert_eq!((changes.read.len(), changes.reserve.len(), changes.over.len()), (1, 2, 0));
    assert!(task.take_counter_changes().is_empty(), "it was told");
}

#[test]
fn a_store_that_cannot_be_read_leaves_the_question_open() {
    let mut task = begin(&paying(), "t-1");
    let turn = Turn { usage: Usage::default(), calls: vec![refund(10), refund(20)] };
    let turned = task.turn(&turn, now()).unwrap().into_decision();
    let asked = task.asked_counters();
    assert_eq!(asked.len(), 1, "each counter is asked for once");
    let away = |_: &[CounterId]| Err::<Vec<CounterState>, _>("away");
    assert_eq!(task.settle_counters(turned.into(), away, now()).err(), Some("away"));
    assert_eq!(task.asked_counters(), asked);
    assert!(task.take_counter_changes().is_empty());
}

/// A policy by whose counters a call with secret arguments is judged, with an obligation, an answer in the place of the tool, and texts.
const SECRETS: &str = concat!(
    shop_tool!(
        "payments",
        "refund" takes "{amount: {type: number, secret: true}, card: {type: string, secret: true}, to: {type: string, default: \"\"}}"
    ),
    shop_agent!("clerk", "payments: {include: [refund]}"),
    r#"---
kind: celador/v1/policy
namespace: shop
name: money
counters:
  sum: {on: payments, key: context.user.id, window: 24h, add: input.amount}
  cards: {on: payments, key: input.card, window: 24h}
  plain: {on: payments, window: 24h}
variables: {used: counters.cards}
capabilities:
  payments:
    before:
      - condition: input.to == 'nobody'
        respond: "'all in all ' + string(counters.sum)"
      - obligations: [{id: tell, values: {sum: counters.sum, cards: variables.used, plain: counters.plain}}]
      - assert: counters.sum < 7000.0
        error_message: "{counters.sum} or {counters.sum + 0.5} with {counters.cards}, {variables.used + 70} and {counters.plain}"
        user_message: "{counters.sum} were spent, {counters.plain} times"
"#
);

#[test]
fn a_counter_that_is_made_of_a_secret_is_in_no_view() {
    let engine = Engine::parse("shop.yaml", SECRETS).unwrap_or_else(|error| panic!("{error}"));
    let mut desk = Desk::default();
    let mut task = begin(&engine, "t-1");
    let pay = |amount: f64, to: &str| {
        Call::new("payments", json!({"amount": amount, "card": "HUSH-4111", "to": to}).into())
    };
    let allowed = desk.before(&mut task, &pay(7134.0, "ann"));
    let asked = task.before(&pay(1.0, "ann"), now()).unwrap().into_progress();
    let Progress::Asks(asked) = asked else { panic!("it asks for counters") };
    // whoever keeps counters sees no secret key
    let request = serde_json::to_string(&asked.request).unwrap();
    assert!(request.contains("sha256:") && !request.contains("HUSH"), "{request}");
    let mut task = begin(&engine, "t-2");
    let blocked = desk.before(&mut task, &pay(1.0, "ann"));
    assert_eq!((allowed.verdict.kind(), blocked.verdict.kind()), (VerdictKind::Allow, VerdictKind::Block));
    assert!(!format!("{:?}", desk.0).contains("HUSH"));
    let names: Vec<_> = blocked.counters.iter().map(|used| (&*used.name, used.counted.is_some())).collect();
    assert_eq!(names, [("sum", false), ("cards", false), ("plain", true)]);

    // the model and the user are told, and views show `***`
    assert_eq!(blocked.verdict.message(), Some("7134 or 7134.5 with 1, 71 and 1"));
    assert_eq!(blocked.verdict.user_message(), Some("7134 were spent, 1 times"));
    let shown = blocked.masked();
    assert_eq!(shown.verdict.message(), Some("*** or *** with ***, *** and 1"));
    assert_eq!(shown.verdict.user_message(), Some("*** were spent, 1 times"));
    assert!(!serde_json::to_string(&shown).unwrap().contains("7134"), "{shown:?}");
    let terms = blocked_terms(&allowed);
    assert_eq!(terms, json!({"sum": "***", "cards": "***", "plain": 0}));

    let mut task = begin(&engine, "t-3");
    let answered = desk.before(&mut task, &pay(1.0, "nobody"));
    assert_eq!(answered.verdict.kind(), VerdictKind::Respond);
    assert_eq!(answered.verdict.value().unwrap().root().as_str(), Some("all in all 7134"));
    assert_eq!(answered.masked().verdict.into_value().unwrap().root().as_str(), Some("***"));
}

/// The values of the only obligation of a decision, as views show them.
fn blocked_terms(decision: &Decision) -> serde_json::Value {
    let masked = decision.clone().masked();
    let terms = masked.verdict.terms().unwrap();
    serde_json::to_value(&terms.obligations[0].values).unwrap()
}

/// Both policies of a rule that is to be lowered: the one that decides, and the one that is tried out.
fn tried(key: &str) -> Engine {
    let (shop, policy) = MANIFESTS.split_at(MANIFESTS.find("---\nkind: celador/v1/policy").unwrap());
    let policy = policy.replace("ADD", "input.amount").replace("KEY", key);
    let next = policy.replace("name: money", "name: next\nmode: observe").replace("<= 100", "<= 10");
    Engine::parse("shop.yaml", &format!("{shop}{next}")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_counter_that_is_tried_out_stops_no_call_whatever_becomes_of_it() {
    let engine = tried("context.user.id");
    // a host that keeps no counters
    let mut task = begin(&engine, "t-1");
    let decision = task.before(&refund(20), now()).unwrap().drive(&mut Desk(None)).unwrap().into_decision();
    assert_eq!(
        (decision.verdict.kind(), &*decision.findings[0].code),
        (VerdictKind::Allow, "counters_unavailable")
    );
    assert_eq!(decision.observed[0].verdict, Some(VerdictKind::Block));
    assert!(decision.counters.is_empty() && task.take_counter_changes().is_empty());

    // a key that is none
    let failing = tried("dyn(7)");
    let mut task = begin(&failing, "t-2");
    let decision = Desk::default().before(&mut task, &refund(20));
    assert_eq!(
        (decision.verdict.kind(), &*decision.findings[0].code),
        (VerdictKind::Allow, "bad_counter_key")
    );

    // a book: it counts under a name of its own, and no step is decided anew because of it
    let mut task = begin(&engine, "t-3");
    let mut desk = Desk::default();
    let progress = task.before(&refund(20), now()).unwrap().into_progress();
    let read = |counters: &[CounterId]| {
        Ok::<_, TaskError>(counters.iter().map(|counter| desk.book().read(counter)).collect::<Vec<_>>())
    };
    let Progress::Decided(decision) = task.settle_counters(progress, read, now()).unwrap() else { panic!() };
    assert_eq!((decision.verdict.kind(), decision.observed.len()), (VerdictKind::Allow, 1));
    assert_eq!((&*decision.counters[0].policy, decision.counters[0].observed), ("shop/next", true));
    let changes = task.take_counter_changes();
    assert!(changes.read.is_empty());
    let reserved: Vec<_> = changes.reserve.iter().map(|it| it.counter.policy()).collect();
    assert_eq!(reserved, ["shop/next (observed)"]);
    desk.0.as_mut().unwrap().apply("t-3", &changes, now()).unwrap();
    assert_eq!(desk.spend(), 0, "nothing that decides is counted");
    let next = CounterId::new("shop/next (observed)", "spend", r#""u-7""#);
    assert_eq!(desk.book().read(&next).tally.held(), Amount::from_int(20).unwrap());
    let _ = task
        .after(&decision.call.unwrap(), CallResult::successful(json!({}).into()), now())
        .unwrap()
        .drive(&mut desk)
        .unwrap();
    assert_eq!(desk.book().read(&next).tally.held(), Amount::ZERO);
    assert_eq!(desk.book().read(&next).counted("24h".parse().unwrap(), now()), Amount::from_int(20).unwrap());
}
