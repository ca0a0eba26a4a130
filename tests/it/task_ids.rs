//! Ids that callers give their tasks: each caller has their own, over HTTP, in the store and below a mount.

use crate::serving::{Serving, new_task};
use crate::task_fixture::{at, engine};
use celador::context::Scope;
use celador::task::{SavedTask, StartTask, Task, Trial, Tried, User};
use celador_store::{Owner, StoreLimits, StoredTasks};
use serde_json::{Value, json};

fn named(id: &str) -> Value {
    let mut body = new_task();
    body["id"] = json!(id);
    body
}

#[test]
fn two_callers_have_a_task_each_under_one_id() {
    let serving = Serving::with_tokens();
    let scopes = ["tasks:read", "tasks:write", "tasks:purge"];
    let [ann, ben] = ["ann", "ben"].map(|who| serving.token(who, &scopes));
    let begin = |token: &str| serving.post_as(token, "/v1/tasks", &named("thread-7")).status;
    assert_eq!([begin(&ann), begin(&ben), begin(&ann)], [201, 201, 200]);
    let said = serving.post_as(
        &ann,
        "/v1/tasks/thread-7/input",
        &json!({ "message": "Hello.", "ticket_id": "T-1" }),
    );
    assert_eq!((said.status, &said.json()["version"]), (200, &json!(2)));
    let version = |token: &str| serving.get_as(token, "/v1/tasks/thread-7").json()["version"].clone();
    assert_eq!([version(&ann), version(&ben)], [2, 1]);
    // files lie under names of the server's, of which neither is the id
    let database = serving.stop();
    let store = StoredTasks::new(database, &StoreLimits::default());
    let saved = ["ann", "ben"].map(|who| store.load(&Owner::caller(who), "thread-7").unwrap().saved);
    let names = saved.each_ref().map(|saved| serde_json::to_value(saved).unwrap()["mount_id"].clone());
    assert!(
        names.iter().all(Value::is_string) && names[0] != names[1] && names[0] != "thread-7",
        "{names:?}"
    );
    store.verify().unwrap();
}

#[test]
fn a_purge_takes_the_task_of_one_caller() {
    let serving = Serving::with_tokens();
    let scopes = ["tasks:read", "tasks:write", "tasks:purge"];
    let [ann, ben] = ["ann", "ben"].map(|who| serving.token(who, &scopes));
    let begin = |token: &str| serving.post_as(token, "/v1/tasks", &named("t")).status;
    assert_eq!([begin(&ann), begin(&ben)], [201, 201]);
    let bearer = format!("Bearer {ann}");
    let purged = serving.send("DELETE", "/v1/tasks/t", &[("authorization", &bearer)], b"");
    assert_eq!(purged.status, 200, "{}", purged.text());
    assert_eq!([begin(&ann), begin(&ben)], [410, 200]);
}

#[test]
fn the_prefix_of_a_mount_has_the_name_that_the_host_gave() {
    let engine = engine("mount: task\ncapabilities: {}\n");
    let prefix = |task: &Task| match task.evaluate(
        &Trial::new(Scope::Binding, "mount.prefix"),
        &[],
        at("2026-06-01T12:00:00Z"),
    ) {
        Ok(Tried::Value(value)) => value.to_string(),
        other => panic!("{other:?}"),
    };
    let start = |mount_id: Option<&str>| {
        let start = StartTask::new("thread-7", "demo", "clerk", User::default(), at("2026-06-01T11:00:00Z"));
        engine
            .start(StartTask { mount_id: mount_id.map(Into::into), begun_with: Some("d".into()), ..start })
            .unwrap()
    };
    for (mount_id, expected) in [(None, "\"/demo/clerk/thread-7/\""), (Some("m-1"), "\"/demo/clerk/m-1/\"")] {
        let task = start(mount_id);
        assert_eq!(prefix(&task), expected);
        let saved: SavedTask = serde_json::from_str(&serde_json::to_string(&task.save()).unwrap()).unwrap();
        assert_eq!(saved.begun_with(), Some("d"));
        let restored = engine.restore(saved).unwrap();
        assert_eq!((prefix(&restored).as_str(), restored.begun_with()), (expected, Some("d")));
    }
}
