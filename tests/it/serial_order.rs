//! Operations that come in any order, while others are open, are decided as if they had come one after the other.

use crate::task_fixture::{Script, call, engine_of, manifests, noon, see, start};
use celador::Engine;
use celador::cel::Json;
use celador::task::{
    Answer, Call, CallId, CallResult, Content, Decision, Delivery, Progress, QuestionId, Ran, Request, Task,
    VerdictKind,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The steps of the policies, ahead of calls and events.
const STEPS: [&str; 10] = [
    "    - assert: c.cap.probe.count_successful < 2",
    "    - assert: c.cap.ledger_lookup.count_errored < 1 || input.account != 'a'",
    "    - {match: post-entry, assert: c.cap.ledger_post_entry.count_successful + c.cap.ledger_post_entry.count_restricted < 3}",
    "    - {match: lookup, assert: \"c.cap.ledger.inputs.filter(i, i.account == 'a').size() < 3\"}",
    "    - {assert: c.cap._meta.count < 9}",
    "    - {assert: \"c.cap[input.account == 'a' ? 'probe' : 'ledger_lookup'].count_successful < 2\"}",
    "    - {invoke: 'audit:append', bindings: {what: \"'x'\"}}\n    - {condition: c.cap.audit.count_successful > 1, assert: c.cap.probe.count_successful > 0}",
    "    - {assert: c.input.size() < 3}",
    "    - {match: lookup, assert: \"c.input.exists(i, i.message[0].text.contains('1'))\"}",
    "    - {match: booked, assert: c.input.size() + c.cap.probe.count_successful < 4}",
];

/// The guardrails of inputs: what they have read stands in what becomes of the input.
const GUARDRAILS: [&str; 5] = [
    "transform: \"input.message[0].text + string(c.cap.probe.count_successful)\"",
    "transform: \"input.message[0].text + string(c.cap.ledger.count_restricted) + string(c.cap.ledger_lookup.count_errored)\"",
    "transform: \"input.message[0].text + string(c.cap._meta.count)\"",
    "transform: \"input.message[0].text + string(c.input.size())\"",
    "{invoke: 'audit:append', bindings: {what: \"'said'\"}}\n  - transform: \"input.message[0].text + string(c.cap.audit.count_successful)\"",
];

/// Policies that label results and inputs and ask for copies of them; each is a document of its own.
const LABELS: [&str; 6] = [
    "capabilities: {probe: {after: [{label: [seen]}]}}",
    "capabilities: {ledger_lookup: {after: [{condition: output.ok == true, label: [seen]}]}}",
    "capabilities: {ledger: {after: [{declassify: [seen]}]}}",
    "capabilities: {ledger: {before: [{assert: \"labels('the note of all') == []\"}]}}",
    "capabilities: {\"*\": {before: [{assert: \"size(sources({'x': 'THE note of all'})) < 3\"}]}}",
    "guardrails: {before: [{label: [said]}, {transform: \"input.message[0].text + string(size(labels('the note of all')))\"}]}",
];

/// What happens next: an operation begins, or one that is open or asks comes to its end.
#[derive(Clone, Debug)]
enum Deed {
    Call(usize, bool),
    Say,
    Event(bool),
    Report(usize, bool),
    Withdraw(usize, bool),
    Answer(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0usize..3, any::<bool>()).prop_map(|(function, account)| Deed::Call(function, account)),
        2 => Just(Deed::Say),
        2 => any::<bool>().prop_map(Deed::Event),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(which, success)| Deed::Report(which, success)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, unknown)| Deed::Withdraw(which, unknown)),
        2 => any::<usize>().prop_map(Deed::Answer),
    ]
}

/// An operation as it came.
#[derive(Clone, Debug)]
enum Came {
    Call(Call),
    /// With the number of inputs that came before it.
    Input(usize),
    Event(&'static str),
}

impl Came {
    /// What a task says to it, and the call that it let through.
    fn to(&self, task: &mut Task) -> Progress {
        match self {
            Self::Call(call) => task.before(call, noon()).unwrap().into_progress(),
            Self::Input(number) => task.input(&Json::string(&format!("{number:02}")), noon()).into_progress(),
            Self::Event(account) => {
                let payload = json!({"account": account}).into();
                let delivery = Delivery::new("ledger", "booked", Content::Payload(payload));
                task.event(&delivery, &BTreeMap::new(), noon()).into_progress()
            }
        }
    }
}

/// What became of one operation, as far as a serial engine must agree.
#[derive(Debug)]
struct Fate {
    came: Came,
    /// The verdict of its decision, with the value if it was let through.
    decided: Option<(VerdictKind, Option<String>)>,
    /// The question that it asks.
    asks: Option<QuestionId>,
    /// The id of a call that was let through.
    open: Option<CallId>,
    /// How it ended, once it was let through.
    end: Option<End>,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Reported(bool),
    Withdrawn(Ran),
}

impl Fate {
    fn new(came: Came, decision: &Decision) -> Self {
        let mut fate = Self { came, decided: None, asks: None, open: None, end: None };
        fate.come_to(decision);
        fate
    }

    fn come_to(&mut self, decision: &Decision) {
        self.asks = decision.verdict.question();
        if decision.verdict.kind() != VerdictKind::Suspend {
            self.decided = Some(of(decision));
            self.open = decision.call.clone().filter(|_| decision.verdict.kind() == VerdictKind::Allow);
        }
    }
}

fn of(decision: &Decision) -> (VerdictKind, Option<String>) {
    let value = decision.verdict.value().filter(|_| decision.is_allowed());
    (decision.verdict.kind(), value.map(ToString::to_string))
}

fn done() -> CallResult {
    CallResult::successful(json!({"ok": true, "note": "the note of all"}).into())
}

fn failed() -> CallResult {
    CallResult::errored(json!({"error": "503"}).into())
}

fn made(function: usize, account: bool) -> Call {
    let account = if account { "a" } else { "b" };
    match function {
        0 => call("probe", json!({"host": account})),
        1 => call("ledger_lookup", json!({"account": account})),
        _ => call("ledger_post_entry", json!({"account": account, "amount": 1})),
    }
}

/// A task in which operations run side by side, with them in the order in which they were begun.
struct Parallel {
    task: Task,
    fates: Vec<Fate>,
    /// Operations that wait for others, as they came.
    waiting: Vec<(CallId, Came)>,
    /// How many inputs came.
    said: usize,
}

impl Parallel {
    fn deed(&mut self, deed: &Deed) {
        match deed {
            Deed::Call(function, account) => self.comes(Came::Call(made(*function, *account))),
            Deed::Say => {
                self.said += 1;
                self.comes(Came::Input(self.said));
            }
            Deed::Event(account) => self.comes(Came::Event(if *account { "a" } else { "b" })),
            Deed::Report(which, success) => {
                let Some(at) = self.some_open(*which) else { return };
                self.fates[at].end = Some(End::Reported(*success));
                let (id, result) =
                    (self.fates[at].open.clone().unwrap(), if *success { done() } else { failed() });
                let told = self.task.after(&id, result, noon()).unwrap().outcome().into_decision();
                self.follow(&told);
            }
            Deed::Withdraw(which, unknown) => {
                let ran = if *unknown { Ran::Unknown } else { Ran::Never };
                let Some(at) = self.some_open(*which) else { return };
                self.fates[at].end = Some(End::Withdrawn(ran));
                let id = self.fates[at].open.clone().unwrap();
                let told = self.task.withdraw(&id, ran, noon()).unwrap();
                self.follow(&told);
            }
            Deed::Answer(which) => {
                let questions: Vec<_> = self.task.questions().collect();
                if questions.is_empty() {
                    return;
                }
                let question = &questions[which % questions.len()];
                assert!(matches!(question.request, Request::Invoke(_)));
                let result = Answer::Result(CallResult::successful(json!({}).into()));
                let told = self.task.answer(question.id, result, noon()).unwrap().outcome().into_decision();
                self.fates.iter_mut().find(|fate| fate.asks == Some(question.id)).unwrap().come_to(&told);
                self.follow(&told);
            }
        }
    }

    fn comes(&mut self, came: Came) {
        let progress = came.to(&mut self.task);
        let decision = match progress {
            Progress::Decided(decision) => decision,
            Progress::Asks(question) => self.task.suspension_at(question.id).unwrap(),
        };
        match decision.verdict.kind() {
            VerdictKind::Wait => self.waiting.push((decision.call.clone().unwrap(), came)),
            // an input or an event asks: then no call begins
            VerdictKind::Rejected => {
                assert!(matches!(came, Came::Call(_)) && self.task.questions().next().is_some())
            }
            _ => self.fates.push(Fate::new(came, &decision)),
        }
        self.follow(&decision);
    }

    /// A call that was let through and is open.
    fn some_open(&self, which: usize) -> Option<usize> {
        let is_open = |fate: &Fate| fate.open.is_some() && fate.end.is_none();
        let open: Vec<_> = (0..self.fates.len()).filter(|at| is_open(&self.fates[*at])).collect();
        (!open.is_empty()).then(|| open[which % open.len()])
    }

    /// The operations that were begun because of another, in their order.
    fn follow(&mut self, told: &Decision) {
        for decided in &told.decided {
            let at = self.waiting.iter().position(|(waiting, _)| *waiting == decided.call).unwrap();
            let (id, came) = self.waiting.remove(at);
            assert_eq!(of(&self.task.standing(&id).unwrap()), of(&decided.decision));
            self.fates.push(Fate::new(came, &decided.decision));
        }
    }
}

/// The manifests with these steps, by number, ahead of each of the two capabilities, these guardrails and these policies.
fn policy(probe: &[usize], ledger: &[usize], guardrails: &[usize], labels: &[usize]) -> Engine {
    let steps = |chosen: &[usize], matches: bool| -> String {
        // `probe` has one action, and nothing to match
        let fit = chosen.iter().map(|at| STEPS[*at]).filter(|step| matches || !step.contains("match:"));
        let steps: Vec<_> = fit
            .map(|step| step.replace("input.account", if matches { "input.account" } else { "input.host" }))
            .collect();
        if steps.is_empty() { " \"*\"".to_owned() } else { format!("\n    before:\n{}", steps.join("\n")) }
    };
    let said: String = guardrails.iter().map(|at| format!("  - {}\n", GUARDRAILS[*at])).collect();
    let said = if said.is_empty() { said } else { format!("guardrails:\n  before:\n{said}") };
    let agent =
        format!("{said}capabilities:\n  probe:{}\n  ledger:{}\n", steps(probe, false), steps(ledger, true));
    let events = "name: ledger
events:
- name: booked
  message: 'Booked on {event.payload.account}.'
  receive: {webhook: {filter: event.payload.account == parameters.account}}
";
    let mut text = manifests(&agent).replacen("name: ledger\n", events, 1);
    for (name, at) in labels.iter().enumerate() {
        text += &format!("---\nkind: celador/v1/policy\nnamespace: demo\nname: p{name}\n{}\n", LABELS[*at]);
    }
    engine_of(text, |_| {})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// One after the other, in the order in which they were begun, the operations get the same verdicts and values.
    #[test]
    fn an_order_exists_in_which_a_serial_task_decides_the_same(
        probe in prop::collection::vec(0usize..STEPS.len(), 0..4),
        ledger in prop::collection::vec(0usize..STEPS.len(), 0..4),
        guardrails in prop::collection::vec(0usize..GUARDRAILS.len(), 0..4),
        labels in prop::collection::vec(0usize..LABELS.len(), 0..5),
        deeds in prop::collection::vec(deed(), 1..30),
    ) {
        let engine = policy(&probe, &ledger, &guardrails, &labels);
        let mut parallel = Parallel { task: start(&engine), fates: Vec::new(), waiting: Vec::new(), said: 0 };
        deeds.iter().for_each(|deed| parallel.deed(deed));
        // everything comes to its end
        while parallel.task.questions().next().is_some() || parallel.some_open(0).is_some() {
            parallel.deed(&Deed::Answer(0));
            parallel.deed(&Deed::Report(0, true));
        }
        prop_assert_eq!(parallel.task.queued().count(), 0, "an operation waits for nothing");
        prop_assert!(parallel.waiting.is_empty());
        let said = parallel.fates.iter().filter_map(|fate| match fate.came {
            Came::Input(number) => Some(number),
            _ => None,
        });
        prop_assert!(said.eq(1..=parallel.said), "inputs are judged in the order in which they came");
        let mut serial = start(&engine);
        for Fate { came, decided, end, .. } in &parallel.fates {
            let decision = match came.to(&mut serial) {
                Progress::Decided(decision) => decision,
                Progress::Asks(_) => {
                    serial.pending().unwrap().drive(&mut Script::default()).unwrap().into_decision()
                }
            };
            prop_assert_eq!(&Some(of(&decision)), decided, "{:?}", came);
            match (end, decision.call) {
                (Some(End::Reported(success)), Some(id)) => {
                    let result = if *success { done() } else { failed() };
                    let _ = serial.after(&id, result, noon()).unwrap();
                }
                (Some(End::Withdrawn(ran)), Some(id)) => drop(serial.withdraw(&id, *ran, noon()).unwrap()),
                _ => {}
            }
        }
        let seen = |task: &Task| -> Vec<Value> {
            let counts = ["probe", "ledger", "ledger_lookup"].iter().flat_map(|key| {
                let count = move |of: &str| format!("c.cap.{key}.count_{of}");
                ["successful", "errored", "restricted"].map(count)
            });
            counts.chain(["c.cap._meta.count", "c.input.map(i, i.message[0].text)"].map(str::to_owned)).map(|it| see(task, &it)).collect()
        };
        prop_assert_eq!(seen(&parallel.task), seen(&serial));
    }
}
