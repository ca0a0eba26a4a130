//! Calls of a task that must be within its parent (`delegate: {within: parent}`): what a host sees of it, and what passes between the two.

use celador::cel::Timestamp;
use celador::counter::CounterBook;
use celador::{Call, Engine, Json, Outcome, Parent, StartTask, Task, TaskError, User, VerdictKind};
use serde_json::json;

/// A lead that may refund at most 100, an auditor that may refund anything, and a clerk that may refund less than 1000, within its parent. A helper of the
/// clerk is within the clerk, and the lead has the helper as a function, too.
pub const SHOP: &str = r#"
kind: celador/v1/tools
namespace: shop
name: money
tools:
  - {name: refund, inputSchema: {type: object, properties: {amount: {type: number}}, required: [amount]}}
  - {name: fetch, inputSchema: {type: object, properties: {}}}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: lead
description: Answers customers.
prompt: You are careful.
capabilities: {money: '*', clerk: '*', helper: '*'}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: auditor
description: Looks into things.
prompt: You are careful.
capabilities: {money: '*'}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: clerk
description: Pays money back.
prompt: You are careful.
capabilities: {money: {include: [refund]}, helper: '*'}
---
kind: commonagents.info/v1beta2/agent
namespace: shop
name: helper
description: Helps the clerk.
prompt: You are careful.
capabilities: {money: {include: [refund]}}
---
kind: celador/v1/policy
namespace: shop
name: sub-agents
applies_to: {agents: [shop/clerk, shop/helper]}
delegate: {within: parent, agents: [shop/lead, shop/clerk]}
---
kind: celador/v1/policy
namespace: shop
name: leads
applies_to: {agents: [shop/lead]}
capabilities:
  refund:
    before:
      - {id: cap, severity: high, assert: input.amount <= 100.0, error_message: "The lead pays at most 100, not {input.amount}.", on_fail: lock_task}
      - {id: unread, assert: "!('read' in taskLabels())", error_message: The lead has read a page.}
  fetch: {after: [{label_task: [read]}]}
---
kind: celador/v1/policy
namespace: shop
name: tree
counters: {paid: {on: refund, window: day, scope: tree, add: input.amount, limit: 150}}
"#;

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn engine() -> Engine {
    Engine::parse("shop.yaml", SHOP).unwrap()
}

fn user() -> User {
    User { id: "u-7".into(), ..User::default() }
}

fn start(engine: &Engine, id: &str, agent: &str, parent: Option<&Task>) -> Result<Task, TaskError> {
    let parent = parent.map(|task| Parent::new(task.id()).below(task.parent()));
    engine.start(StartTask { parent, ..StartTask::new(id, "shop", agent, user(), now()) })
}

fn refund(amount: i64) -> Call {
    Call::new("refund", json!({ "amount": amount }).into())
}

/// The verdict of a call, with counters of a book that is changed by it.
fn decide(task: &mut Task, call: &Call, book: &mut CounterBook) -> celador::Decision {
    let progress = task.before(call, now()).unwrap().into_progress();
    let read =
        |counters: &[_]| Ok::<_, TaskError>(counters.iter().map(|counter| book.read(counter)).collect());
    let celador::Progress::Decided(decision) = task.settle_counters(progress, read, now()).unwrap() else {
        panic!("nobody is asked")
    };
    let changes = task.take_counter_changes();
    book.apply(task.id(), &changes, now()).unwrap();
    decision
}

/// A task without a parent does not begin, and one whose parent is not given makes no call.
#[test]
fn a_task_that_must_be_within_a_parent_has_one() {
    let engine = engine();
    assert_eq!(start(&engine, "t-2", "clerk", None).err(), Some(TaskError::ParentRequired("clerk".into())));
    let lead = start(&engine, "t-1", "lead", None).unwrap();
    let mut clerk = start(&engine, "t-2", "clerk", Some(&lead)).unwrap();
    assert_eq!(clerk.bounding_parent(), Some("t-1"));
    let denied = decide(&mut clerk, &refund(5), &mut CounterBook::default());
    assert_eq!(denied.verdict.kind(), VerdictKind::Block);
    assert_eq!(denied.findings[0].code, "outside_parent");

    let other = start(&engine, "t-9", "lead", None).unwrap();
    assert_eq!(clerk.set_parent(&other), Err(TaskError::OtherParent));
    let auditor = start(&engine, "t-1", "auditor", None).unwrap();
    let refused = TaskError::ParentNotAdmitted { parent: "shop/auditor".into(), child: "shop/clerk".into() };
    assert_eq!(clerk.set_parent(&auditor), Err(refused));
    let stranger = StartTask::new("t-1", "shop", "lead", User::default(), now());
    assert_eq!(clerk.set_parent(&engine.start(stranger).unwrap()), Err(TaskError::OtherParent));

    clerk.set_parent(&lead).unwrap();
    assert_eq!(
        decide(&mut clerk, &refund(5), &mut CounterBook::default()).verdict.kind(),
        VerdictKind::Allow
    );
    // a restored task has to be given its parent again
    let mut restored = engine.restore(clerk.save()).unwrap();
    assert_eq!(
        decide(&mut restored, &refund(5), &mut CounterBook::default()).verdict.kind(),
        VerdictKind::Block
    );
}

/// The denial names the rule of the parent. It blocks the call of the child and changes nothing of the parent, whatever its rule does on failure.
#[test]
fn a_denial_names_the_rule_of_the_parent() {
    let engine = engine();
    let lead = start(&engine, "t-1", "lead", None).unwrap();
    let mut clerk = start(&engine, "t-2", "clerk", Some(&lead)).unwrap();
    clerk.set_parent(&lead).unwrap();
    let denied = decide(&mut clerk, &refund(101), &mut CounterBook::default());
    assert_eq!(denied.verdict.kind(), VerdictKind::Block);
    assert_eq!(denied.verdict.message(), Some("The lead pays at most 100, not 101."));
    let rule = denied.decided_by.as_ref().unwrap().policy.clone().unwrap();
    assert_eq!((&*rule.name, rule.id.as_deref()), ("shop/leads", Some("cap")));
    let finding = denied.findings.iter().find(|finding| finding.code == "outside_parent").unwrap();
    assert!(finding.message.contains("`shop/lead`"), "{}", finding.message);
    assert_eq!(clerk.state().as_str(), "active");
    assert_eq!(lead.state().as_str(), "active");
    assert_eq!(lead.context().invocations().count(), 0);
}

/// What the parent does later counts once the host gives the parent again.
#[test]
fn the_parent_decides_as_it_is_now() {
    let engine = engine();
    let mut book = CounterBook::default();
    let mut lead = start(&engine, "t-1", "lead", None).unwrap();
    let mut clerk = start(&engine, "t-2", "clerk", Some(&lead)).unwrap();
    clerk.set_parent(&lead).unwrap();
    assert_eq!(decide(&mut clerk, &refund(5), &mut book).verdict.kind(), VerdictKind::Allow);

    let fetch = Call::new("fetch", json!({}).into());
    let Outcome::Allowed(allowed) = lead.before(&fetch, now()).unwrap().outcome() else { panic!("it may") };
    let page = celador::CallResult::successful(Json::string("A page."));
    assert!(lead.after(&allowed.call, page, now()).unwrap().outcome().is_allowed());
    clerk.set_parent(&lead).unwrap();
    let denied = decide(&mut clerk, &refund(5), &mut book);
    assert_eq!(denied.verdict.message(), Some("The lead has read a page."));

    lead.end("it is enough", now());
    clerk.set_parent(&lead).unwrap();
    let denied = decide(&mut clerk, &refund(5), &mut book);
    assert_eq!(denied.verdict.message(), Some("the task that delegates was locked or has ended"));
}

/// A task below a task below a task is within all of them.
#[test]
fn a_grandchild_is_within_its_grandparent() {
    let engine = engine();
    let mut book = CounterBook::default();
    let lead = start(&engine, "t-1", "lead", None).unwrap();
    let mut clerk = start(&engine, "t-2", "clerk", Some(&lead)).unwrap();
    let mut helper = start(&engine, "t-3", "helper", Some(&clerk)).unwrap();
    // a parent whose own parent is not at hand decides nothing
    helper.set_parent(&clerk).unwrap();
    assert_eq!(decide(&mut helper, &refund(5), &mut book).verdict.kind(), VerdictKind::Block);

    clerk.set_parent(&lead).unwrap();
    helper.set_parent(&clerk).unwrap();
    let denied = decide(&mut helper, &refund(101), &mut book);
    assert_eq!(denied.verdict.message(), Some("The lead pays at most 100, not 101."));
    assert_eq!(decide(&mut helper, &refund(90), &mut book).verdict.kind(), VerdictKind::Allow);

    // the counter of the tree counts once for each call, whoever makes it
    assert_eq!(decide(&mut clerk, &refund(60), &mut book).verdict.kind(), VerdictKind::Allow);
    assert_eq!(decide(&mut helper, &refund(1), &mut book).verdict.kind(), VerdictKind::Block);
    assert_eq!(book.iter().count(), 1);
}

#[cfg(feature = "server")]
mod over_http {
    use super::SHOP;
    use crate::servers::PostgresServer;
    use crate::serving::Serving;
    use celador_store::{Database, Location, StoreLimits};
    use serde_json::{Value, json};
    use std::fs;

    fn serve(database: &Database, folder: &std::path::Path) -> Serving {
        let file = folder.join("shop.yaml");
        fs::write(&file, SHOP).unwrap();
        Serving::over(database.clone(), move |settings, _| settings.policies = vec![file.clone()])
    }

    fn begin(agent: &str, parent: Option<&str>) -> Value {
        let parent = parent.map(|task| json!({ "task": task }));
        json!({ "namespace": "shop", "agent": agent, "user": { "id": "u-7" }, "parent": parent })
    }

    fn call(serving: &Serving, task: &str, function: &str, arguments: Value) -> Value {
        let body = json!({ "function": function, "arguments": arguments });
        serving.post(&format!("/v1/tasks/{task}/before"), &body).json()["decided"].clone()
    }

    /// Parent and child are tasks of two servers over one store: the child's calls are decided by the parent as its last step has left it.
    #[test]
    fn parent_and_child_on_two_servers_share_one_bound() {
        let folder = tempfile::tempdir().unwrap();
        let locations = [
            Location::Memory,
            Location::File(folder.path().join("celador.db")),
            Location::Postgres(PostgresServer::shared().database()),
        ];
        for location in locations {
            let database = Database::open(&location, &StoreLimits::default()).unwrap();
            shared_by_two_servers(&database, folder.path());
        }
    }

    fn shared_by_two_servers(database: &Database, folder: &std::path::Path) {
        let (one, two) = (serve(database, folder), serve(database, folder));
        let new = |serving: &Serving, agent: &str, parent: Option<&str>| {
            let created = serving.post("/v1/tasks", &begin(agent, parent));
            assert_eq!(created.status, 201, "{}", created.text());
            created.json()["task"].as_str().unwrap().to_owned()
        };
        let alone = two.post("/v1/tasks", &begin("clerk", None));
        assert_eq!(alone.status, 400, "{}", alone.text());
        assert!(alone.text().contains("must be within a parent task"), "{}", alone.text());
        let auditor = new(&one, "auditor", None);
        let not_admitted = two.post("/v1/tasks", &begin("clerk", Some(&auditor)));
        assert_eq!(not_admitted.status, 400, "{}", not_admitted.text());
        assert!(not_admitted.text().contains("may not delegate"), "{}", not_admitted.text());

        let lead = new(&one, "lead", None);
        let clerk = new(&two, "clerk", Some(&lead));
        let helper = new(&one, "helper", Some(&clerk));
        for (serving, task) in [(&two, &clerk), (&one, &helper), (&one, &clerk)] {
            let denied = call(serving, task, "refund", json!({"amount": 101}));
            assert_eq!(denied["verdict"], "block", "{denied}");
            assert_eq!(denied["message"], "The lead pays at most 100, not 101.");
            assert_eq!(denied["decided_by"]["policy"]["id"], "cap");
        }
        // a call that is only tried has the same answer, and so has the explanation of one that was made
        let explain = |body: Value| two.post(&format!("/v1/tasks/{helper}/explain"), &body).json();
        let tried = explain(json!({"function": "refund", "arguments": {"amount": 101}}));
        assert_eq!(tried["decision"]["message"], "The lead pays at most 100, not 101.", "{tried}");
        let made = explain(json!({"version": 2}));
        assert_eq!((&made["decision"]["verdict"], &made["same"]), (&json!("block"), &json!(true)), "{made}");
        // the tree has 150 to spend
        assert_eq!(call(&two, &clerk, "refund", json!({"amount": 90}))["verdict"], "allow");
        assert_eq!(call(&one, &helper, "refund", json!({"amount": 50}))["verdict"], "allow");
        assert_eq!(call(&two, &clerk, "refund", json!({"amount": 11}))["verdict"], "block");
        // what the parent did on one server binds its children on the other
        let read = json!({ "id": "c-read", "function": "fetch", "arguments": {} });
        assert_eq!(
            one.post(&format!("/v1/tasks/{lead}/before"), &read).json()["decided"]["verdict"],
            "allow"
        );
        let result = json!({ "call": "c-read", "result": { "status": "successful", "output": "A page." } });
        assert_eq!(
            two.post(&format!("/v1/tasks/{lead}/after"), &result).json()["decided"]["verdict"],
            "allow"
        );
        for (serving, task) in [(&two, &clerk), (&one, &helper)] {
            let denied = call(serving, task, "refund", json!({"amount": 1}));
            assert_eq!(denied["message"], "The lead has read a page.", "{denied}");
        }
    }
}

/// `celador prove --within` compares the rules of two agents, whether or not a policy bounds the tasks of one by the other.
#[test]
fn an_agent_is_proved_to_do_no_more_than_another() {
    use celador::limits::EngineLimits;
    use celador::manifest::load::{File, FileOrigin};
    use celador::prove::{Bounds, prove_within};
    use celador::source::Source;

    let agents = |parent: &str, child: &str, policy: &str| {
        format!(
            "kind: celador/v1/tools\nnamespace: shop\nname: money\ntools:\n\
             - {{name: refund, inputSchema: {{type: object, properties: {{amount: {{type: number}}}}, required: [amount]}}}}\n\
             - {{name: freeze, inputSchema: {{type: object, properties: {{}}}}}}\n---\n\
             kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: lead\ndescription: Leads.\nprompt: Hi.\n\
             capabilities: {{money: {{include: [refund], before: [{parent}]}}, clerk: '*'}}\n---\n\
             kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Pays.\nprompt: Hi.\n\
             capabilities: {{money: {child}}}\n{policy}"
        )
    };
    let capped = |most: u32| format!("{{include: [refund], before: [{{assert: input.amount <= {most}.0}}]}}");
    let bound = "---\nkind: celador/v1/policy\nnamespace: shop\nname: sub-agents\napplies_to: {agents: [shop/clerk]}\n\
                 delegate: {within: parent}\n";
    let cap = "{assert: input.amount <= 100.0}";
    let records = "{assert: c.cap.refund.calls.size() < 3}";
    let rows: [(&str, String, &str, &[&str]); 9] = [
        (cap, capped(50), "", &["holds"]),
        (cap, capped(100), "", &["holds"]),
        (cap, capped(101), "", &["broken"]),
        (cap, capped(101), bound, &["holds"]),
        // a function that the parent lacks, and one that the child can never call
        (cap, "'*'".into(), "", &["broken", "broken"]),
        (
            cap,
            "{before: [{match: freeze, assert: 'false'}, {match: refund, assert: input.amount < 9.0}]}"
                .into(),
            "",
            &["holds", "holds"],
        ),
        // a step that asks a person stops the parent alone, where its condition holds
        (
            "{condition: input.amount > 60.0, assert: \"review('kim@example.com')\"}",
            capped(50),
            "",
            &["holds"],
        ),
        (
            "{condition: input.amount > 60.0, assert: \"review('kim@example.com')\"}",
            capped(70),
            "",
            &["broken"],
        ),
        (records, capped(50), "", &["unknown"]),
    ];
    for (parent, child, policy, expected) in rows {
        let text = agents(parent, &child, policy);
        let files = [File { source: Source::new("shop.yaml", text), origin: FileOrigin::Named }];
        let names = ("shop/lead", "shop/clerk");
        let proofs =
            prove_within(&files, names, EngineLimits::default(), &Bounds::default(), &|| true).unwrap();
        let answers: Vec<&str> = proofs.iter().map(|proof| proof.answer.as_str()).collect();
        assert_eq!(answers, expected, "{parent} {child}");
    }
}
