//! `before_first` runs ahead of the first call that is carried out, and never again (MW-39, MW-41, MW-42).

use crate::task_fixture::{Script, call, noon, task};
use celador::task::{CallResult, CallStatus};
use proptest::prelude::*;
use serde_json::json;

const AGENT: &str = "capabilities:
  ledger:
    before_first:
    - {assert: 'true'}
    - {assert: 'true', match: post-entry}
    before: [{assert: \"input.account != 'blocked'\"}]
    after: [{assert: 'output.ok'}]
  probe: {before: [{invoke: 'ledger:lookup', bindings: {account: \"'a'\"}}]}
";

#[derive(Clone, Copy, Debug)]
enum Attempt {
    /// Middleware stops it.
    Blocked,
    /// It lacks a parameter.
    Unformed,
    /// It runs.
    Runs,
    /// It runs, and fails.
    Errs,
    /// It runs, and its result is withheld.
    Withheld,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_first_is_the_first_that_runs(
        calls in prop::collection::vec(
            (
                any::<bool>(),
                prop::sample::select(&[
                    Attempt::Blocked,
                    Attempt::Unformed,
                    Attempt::Runs,
                    Attempt::Errs,
                    Attempt::Withheld,
                ][..]),
            ),
            1..10,
        ),
    ) {
        let mut task = task(AGENT);
        let mut executed = [0, 0];
        for (posts, attempt) in calls {
            let function = if posts { "ledger_post_entry" } else { "ledger_lookup" };
            let arguments = match attempt {
                Attempt::Blocked => json!({ "account": "blocked", "amount": 1 }),
                Attempt::Unformed => json!({ "amount": 1 }),
                _ => json!({ "account": "a", "amount": 1 }),
            };
            let status = match attempt {
                Attempt::Errs => CallStatus::Errored,
                _ => CallStatus::Successful,
            };
            let output = json!({ "ok": !matches!(attempt, Attempt::Withheld) }).into();
            let mut host = Script {
                results: [CallResult { status, ..CallResult::successful(output) }].into(),
                ..Script::default()
            };
            let progress = task.invoke(&call(function, arguments), noon()).unwrap();
            let decision = progress.drive(&mut host).unwrap().into_decision();
            let ran = |step: &str| decision.trace.iter().any(|entry| entry.step.to_string() == step);
            let formed = !matches!(attempt, Attempt::Unformed);
            prop_assert_eq!(ran("before_first[0]"), formed && executed == [0, 0]);
            prop_assert_eq!(ran("before_first[1]"), formed && posts && executed[1] == 0);
            if matches!(attempt, Attempt::Runs | Attempt::Errs | Attempt::Withheld) {
                executed[usize::from(posts)] += 1;
            }
        }
    }
}
