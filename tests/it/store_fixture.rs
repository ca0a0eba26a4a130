//! A task that goes through a store with every step, as a server would do it.

use crate::task_fixture::{at, call, engine};
use celador::cel::Timestamp;
use celador::engine::Engine;
use celador::task::{Answer, CallResult, Decision, Progress, Request, StartTask, Task, User};
use celador_store::{NewEvent, Once, OperationKind, Owner, StoreError, StoredTasks, TaskHead};
use serde_json::json;
use std::sync::OnceLock;

/// An agent whose calls are let through, but for a few that somebody reviews.
pub fn clerk() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        engine(
            "capabilities:\n  ledger:\n    before:\n    - {assert: \"input.memo != 'ask' || review('boss')\", \
             error_message: No.}\n    - {assert: \"input.memo != 'never'\", error_message: Never.}\n",
        )
    })
}

/// A task that has just started.
pub fn new_task(id: &str) -> Task {
    let user = User { id: "u-1".into(), email: None, ..User::default() };
    clerk().start(StartTask::new(id, "demo", "clerk", user, second(0))).unwrap()
}

/// The time so many seconds after the tasks began.
pub fn second(count: u64) -> Timestamp {
    Timestamp::from_unix(at("2026-06-01T11:00:00Z").seconds() + count as i64).unwrap()
}

/// A task in memory, and where it is in the store.
pub struct Kept<'s> {
    pub store: &'s StoredTasks,
    pub task: Task,
    pub head: TaskHead,
}

impl<'s> Kept<'s> {
    pub fn create(store: &'s StoredTasks, owner: &Owner, id: &str) -> Result<Self, StoreError> {
        let task = new_task(id);
        let head = store.create(owner, &task, second(0), None)?;
        Ok(Self { store, task, head })
    }

    pub fn load(store: &'s StoredTasks, owner: &Owner, id: &str) -> Result<Self, StoreError> {
        let loaded = store.load(owner, id)?;
        Ok(Self { store, task: clerk().restore(loaded.saved).unwrap(), head: loaded.head })
    }

    /// A call of the ledger that is decided at once or waits for the boss.
    pub fn post(&mut self, memo: &str, once: Option<Once>) -> Result<Decision, StoreError> {
        let now = second(self.head.version());
        let posting = call("ledger_post_entry", json!({ "amount": 1, "memo": memo, "account": "a" }));
        self.step(OperationKind::Before, once, |task| task.before(&posting, now).unwrap().into_progress())
    }

    /// What the boss says.
    pub fn review(&mut self, approved: bool) -> Result<Decision, StoreError> {
        let now = second(self.head.version());
        self.step(OperationKind::Review, None, |task| {
            task.resume(Answer::Review(approved.into()), now).unwrap().into_progress()
        })
    }

    /// The result of a call that was let through.
    pub fn report(&mut self, decision: &Decision) -> Result<Decision, StoreError> {
        let now = second(self.head.version());
        let result = CallResult::successful(json!({ "ok": true }).into());
        let call = decision.call.clone().unwrap();
        self.step(OperationKind::After, None, |task| task.after(&call, result, now).unwrap().into_progress())
    }

    fn step(
        &mut self,
        operation: OperationKind,
        once: Option<Once>,
        step: impl FnOnce(&mut Task) -> Progress,
    ) -> Result<Decision, StoreError> {
        let before = self.task.mark();
        let decision = match step(&mut self.task) {
            Progress::Decided(decision) => decision,
            Progress::Asks(celador::Question { request: Request::Review { .. }, .. }) => {
                self.task.suspension().unwrap()
            }
            Progress::Asks(request) => panic!("asks {request:?}"),
        };
        let (task, at) = (&self.task, second(self.head.version()));
        let step = NewEvent { operation, at, task, before: &before, decision: Some(&decision), once };
        self.head = self.store.append(&self.head, &step)?;
        Ok(decision)
    }
}

/// A request that may be sent again.
pub fn once(key: &str) -> Once {
    Once {
        key: key.into(),
        request: format!("digest of {key}"),
        answer: format!("{{\"answer to\":\"{key}\"}}"),
    }
}
