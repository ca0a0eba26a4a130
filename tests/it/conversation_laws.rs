//! Laws of conversations over random stories: what a small model says happens, and nothing else; pages put together are the
//! list; the two orders of a history hold the same; nobody sees another's; nothing is left of what was cleared.

use crate::conversation::{call, code, message, now, opened, post, raw};
use celador::Timestamp;
use celador_store::conversation::{
    A2aTaskState, Artifact, Changes, ContextStatus, ConversationSettings, Conversations, HistoryOrder,
    Incoming,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One thing that somebody does; numbers name one of a few contexts, tasks and callers.
#[derive(Clone, Debug)]
enum Step {
    Send { caller: usize, context: usize, task: usize },
    Status { caller: usize, context: usize, status: usize },
    State { context: usize, task: usize, state: usize },
    Rename { caller: usize, context: usize, name: u8 },
    Made { context: usize, task: usize, artifact: u8 },
    Clear { caller: usize, context: usize },
}

const CALLERS: [Option<&str>; 3] = [None, Some("did:a"), Some("did:b")];
const STATES: [A2aTaskState; 4] =
    [A2aTaskState::Working, A2aTaskState::Completed, A2aTaskState::InputRequired, A2aTaskState::Rejected];

fn context_id(number: usize) -> String {
    format!("c0000000-0000-4000-8000-00000000000{number}")
}

fn task_id(context: usize, task: usize) -> String {
    format!("t{context}{task}")
}

fn step() -> impl Strategy<Value = Step> {
    let (caller, context, task) = (0..3_usize, 0..4_usize, 0..3_usize);
    prop_oneof![
        5 => (caller.clone(), context.clone(), task.clone())
            .prop_map(|(caller, context, task)| Step::Send { caller, context, task }),
        2 => (caller.clone(), context.clone(), 0..4_usize)
            .prop_map(|(caller, context, status)| Step::Status { caller, context, status }),
        2 => (context.clone(), task.clone(), 0..4_usize)
            .prop_map(|(context, task, state)| Step::State { context, task, state }),
        1 => (caller.clone(), context.clone(), any::<u8>())
            .prop_map(|(caller, context, name)| Step::Rename { caller, context, name }),
        1 => (context.clone(), task, 0..4_u8)
            .prop_map(|(context, task, artifact)| Step::Made { context, task, artifact }),
        1 => (caller, context).prop_map(|(caller, context)| Step::Clear { caller, context }),
    ]
}

/// A context as the model has it: its tasks with their states and how many messages each has, oldest first.
#[derive(Clone, Debug)]
struct Modelled {
    owner: Option<&'static str>,
    status: ContextStatus,
    tasks: Vec<(String, A2aTaskState, usize)>,
}

type Model = BTreeMap<usize, Modelled>;

/// What the rules say of a step, written anew: the code of the refusal, or the change.
fn modelled(model: &mut Model, step: &Step) -> Option<i32> {
    match *step {
        Step::Send { caller, context, task } => {
            let caller = CALLERS[caller];
            let fresh = Modelled { owner: caller, status: ContextStatus::Active, tasks: vec![] };
            let mut found = model.get(&context).cloned().unwrap_or(fresh);
            let id = task_id(context, task);
            let at = found.tasks.iter().position(|task| task.0 == id);
            if found.owner != caller {
                return Some(-32001);
            }
            match at {
                Some(at)
                    if [A2aTaskState::Completed, A2aTaskState::Rejected].contains(&found.tasks[at].1) =>
                {
                    return Some(-32008);
                }
                Some(_) if [ContextStatus::Completed, ContextStatus::Archived].contains(&found.status) => {
                    return Some(-32004);
                }
                None if found.status != ContextStatus::Active => return Some(-32004),
                Some(at) => found.tasks[at].2 += 1,
                None => found.tasks.push((id, A2aTaskState::Submitted, 1)),
            }
            model.insert(context, found);
        }
        Step::Status { caller, context, status } => {
            let Some(found) = model.get_mut(&context).filter(|found| found.owner == CALLERS[caller]) else {
                return Some(-32001);
            };
            let finished = found
                .tasks
                .iter()
                .all(|task| [A2aTaskState::Completed, A2aTaskState::Rejected].contains(&task.1));
            let order = |status| ContextStatus::ALL.iter().position(|one| *one == status).unwrap();
            let (from, to) = (order(found.status), status);
            let backwards = to < from && !(from == 1 && to == 0);
            if from != to && (backwards || to == 2 && !finished) {
                return Some(-32004);
            }
            found.status = ContextStatus::ALL[to];
        }
        Step::State { context, task, state } => {
            let found = model
                .get_mut(&context)
                .and_then(|found| found.tasks.iter_mut().find(|one| one.0 == task_id(context, task)));
            let Some(found) = found else { return Some(-32001) };
            found.1 = STATES[state];
        }
        Step::Rename { caller, context, .. } => {
            let Some(found) = model.get(&context).filter(|found| found.owner == CALLERS[caller]) else {
                return Some(-32001);
            };
            if found.status == ContextStatus::Archived {
                return Some(-32004);
            }
        }
        Step::Made { context, task, .. } => {
            let Some((found, one)) = model.get(&context).and_then(|found| {
                Some((found, found.tasks.iter().find(|one| one.0 == task_id(context, task))?))
            }) else {
                return Some(-32001);
            };
            if [A2aTaskState::Completed, A2aTaskState::Rejected].contains(&one.1) {
                return Some(-32008);
            }
            if [ContextStatus::Completed, ContextStatus::Archived].contains(&found.status) {
                return Some(-32004);
            }
        }
        Step::Clear { caller, context } => {
            match model.get(&context).filter(|found| found.owner == CALLERS[caller]) {
                None => return Some(-32001),
                Some(found) if found.status == ContextStatus::Archived => return Some(-32021),
                Some(_) => drop(model.remove(&context)),
            }
        }
    }
    None
}

fn carried_out(kept: &Conversations, step: &Step, at: Timestamp, said: &str) -> Option<i32> {
    match *step {
        Step::Send { caller, context, task } => {
            let (context, task, message) = (context_id(context), task_id(context, task), message(said));
            let incoming =
                Incoming { context_id: Some(&context), task_id: Some(&task), message: Some(&message) };
            code(kept.send(CALLERS[caller], &incoming, at))
        }
        Step::Status { caller, context, status } => code(kept.set_status(
            CALLERS[caller],
            &context_id(context),
            ContextStatus::ALL[status].name(),
            at,
        )),
        Step::State { context, task, state } => {
            code(kept.set_task_state(None, &task_id(context, task), STATES[state].name(), None))
        }
        Step::Rename { caller, context, name } => {
            let changes = Changes::read(&raw(&json!({"name": format!("n{name}"), "tags": ["t"]}))).unwrap();
            code(kept.update(CALLERS[caller], &context_id(context), &changes, at))
        }
        Step::Made { context, task, artifact } => {
            let made = json!({"artifactId": format!("a{}", artifact % 3), "name": said, "parts": []});
            let made = Artifact::read(&raw(&made)).unwrap();
            code(kept.add(None, &task_id(context, task), &[], &[made], at))
        }
        Step::Clear { caller, context } => code(kept.clear(CALLERS[caller], &context_id(context))),
    }
}

fn listed(kept: &Conversations, caller: Option<&str>, metadata: Value) -> Value {
    call(kept, caller, "contexts/list", json!({"metadata": metadata}))["result"].clone()
}

fn ids(list: &Value) -> Vec<String> {
    let id = |item: &Value| item.as_str().or(item["contextId"].as_str()).unwrap().to_owned();
    list.as_array().unwrap().iter().map(id).collect()
}

fn conversed(kept: &Conversations, caller: Option<&str>, order: HistoryOrder, params: Value) -> Value {
    let settings = ConversationSettings { aion_history_order: order, ..ConversationSettings::default() };
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "GetContext", "params": params});
    post(kept, &settings, caller, request.to_string().as_bytes())["result"].clone()
}

/// What a caller may see is what the model has, by every method (B9, A13, G1, K6).
fn seen_is_modelled(kept: &Conversations, model: &Model) {
    for caller in CALLERS {
        let visible: BTreeMap<String, &Modelled> = model
            .iter()
            .filter(|(_, one)| caller.is_none() || one.owner == caller)
            .map(|(context, one)| (context_id(*context), one))
            .collect();
        let list = listed(kept, caller, json!({}));
        assert_eq!(list["total"], visible.len());
        for item in list["contexts"].as_array().unwrap() {
            let one = visible[item["contextId"].as_str().unwrap()];
            let tasks: Vec<_> = one.tasks.iter().map(|task| task.0.clone()).collect();
            assert_eq!((&item["tasks"], &item["status"]), (&json!(tasks), &json!(one.status.name())));
        }
        for method in ["GetContexts", "contexts/get"] {
            let mut found = ids(&call(kept, caller, method, json!({}))["result"]);
            found.sort();
            let expected: Vec<_> =
                visible.iter().filter(|(_, one)| !one.tasks.is_empty()).map(|(id, _)| id.clone()).collect();
            assert_eq!(found, expected);
        }
        for context in 0..4 {
            let id = context_id(context);
            let read = conversed(kept, caller, HistoryOrder::OldestFirst, json!({"contextId": id}));
            let (messages, state) = visible.get(&id).map_or((0, A2aTaskState::Unspecified), |one| {
                let newest = one.tasks.last().map_or(A2aTaskState::Unspecified, |task| task.1);
                (one.tasks.iter().map(|task| task.2).sum(), newest)
            });
            assert_eq!(read["history"].as_array().unwrap().len(), messages);
            assert_eq!(read["status"]["state"], state.name());
        }
    }
}

/// Pages put together are the whole list, whatever it is sorted by (B5, B6, G2).
fn pages_make_the_list(kept: &Conversations, limit: usize) {
    for caller in CALLERS {
        for (by, order) in [("createdAt", "desc"), ("updatedAt", "asc"), ("name", "asc"), ("name", "desc")] {
            let whole = ids(&listed(kept, caller, json!({"sortBy": by, "sortOrder": order}))["contexts"]);
            let mut together = Vec::new();
            for page in 0.. {
                let metadata =
                    json!({"sortBy": by, "sortOrder": order, "limit": limit, "offset": page * limit});
                let part = listed(kept, caller, metadata);
                assert_eq!((&part["total"], &part["page"]), (&json!(whole.len()), &json!(page + 1)));
                let part = ids(&part["contexts"]);
                if part.is_empty() {
                    break;
                }
                together.extend(part);
            }
            assert_eq!(together, whole);
        }
        let whole = ids(&call(kept, caller, "GetContexts", json!({}))["result"]);
        let mut together = Vec::new();
        for page in 0.. {
            let params = json!({"historyLength": limit, "historyOffset": page * limit});
            let part = ids(&call(kept, caller, "GetContexts", params)["result"]);
            if part.is_empty() {
                break;
            }
            together.extend(part);
        }
        assert_eq!(together, whole);
    }
}

/// The other order has the same messages reversed, and the same artifacts by their tasks (A10).
fn orders_hold_the_same(kept: &Conversations, length: usize, offset: usize) {
    for context in 0..4 {
        let params =
            json!({"contextId": context_id(context), "historyLength": length, "historyOffset": offset});
        let oldest = conversed(kept, None, HistoryOrder::OldestFirst, params.clone());
        let newest = conversed(kept, None, HistoryOrder::NewestFirst, params);
        let reversed: Vec<_> = oldest["history"].as_array().unwrap().iter().rev().cloned().collect();
        assert_eq!(newest["history"], json!(reversed));
        assert_eq!(newest["status"], oldest["status"]);
        // the windows of one task are the groups
        let mut groups: Vec<Vec<Value>> = Vec::new();
        let kept_ones = oldest["artifacts"].as_array().unwrap();
        for at in 0..3 {
            let single =
                json!({"contextId": context_id(context), "historyLength": 1, "historyOffset": offset + at});
            let single = conversed(kept, None, HistoryOrder::OldestFirst, single)["artifacts"].clone();
            let shown =
                single.as_array().unwrap().iter().filter(|one| kept_ones.contains(one)).cloned().collect();
            groups.push(shown);
        }
        let in_window = if length == 0 { 3 } else { length.min(3) };
        let by_task: Vec<_> = groups.iter().take(in_window).flatten().cloned().collect();
        assert_eq!(newest["artifacts"], json!(by_task));
        let by_age: Vec<_> = groups.into_iter().take(in_window).rev().flatten().collect();
        assert_eq!(oldest["artifacts"], json!(by_age));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn stories_go_as_the_rules_say(steps in prop::collection::vec(step(), 1..40), limit in 1..4_usize, offset in 0..3_usize) {
        let (kept, _) = opened();
        let mut model = Model::new();
        for (number, step) in steps.iter().enumerate() {
            let at = Timestamp::from_nanos(now().nanos() + number as i128 * 1_500_000_000).unwrap();
            let before = model.clone();
            let expected = modelled(&mut model, step);
            prop_assert_eq!(carried_out(&kept, step, at, &format!("m{number}")), expected, "{:?} after {:?}", step, before);
        }
        seen_is_modelled(&kept, &model);
        pages_make_the_list(&kept, limit);
        orders_hold_the_same(&kept, limit - 1, offset);
        for (context, one) in model {
            if one.status == ContextStatus::Archived {
                continue;
            }
            let id = context_id(context);
            kept.clear(one.owner, &id).unwrap();
            for caller in CALLERS {
                assert!(!ids(&listed(&kept, caller, json!({}))["contexts"]).contains(&id));
                assert!(!ids(&call(&kept, caller, "GetContexts", json!({}))["result"]).contains(&id));
                let read = conversed(&kept, caller, HistoryOrder::OldestFirst, json!({"contextId": id}));
                prop_assert_eq!(&read["history"], &json!([]));
                prop_assert_eq!(&read["artifacts"], &json!([]));
                prop_assert_eq!(call(&kept, caller, "contexts/clear", json!({"contextId": id}))["error"]["code"].clone(), json!(-32001));
            }
        }
    }
}
