//! A whole runtime over the public interface: the example that runtime authors read, played, each decision held.
//!
//! `examples/agent_loop/timeline.txt` is what it prints, written by `UPDATE_EXPECT=1`.

#[path = "../../examples/agent_loop/main.rs"]
#[expect(dead_code, reason = "a test plays the story, and does not print it")]
mod example;

use super::task_fixture::{at_limit, see};
use celador::VerdictKind::{
    self, Allow, Block, Discard, Error, LockTask, Rejected, Route, Suspend, Terminate, Wait,
};
use celador::task::TaskState;
use celador::{Engine, EngineLimits};
use example::{runtime::Store, timeline::Timeline};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Task, the beginning of what happened, and what Celador said to it.
const DECISIONS: &[(&str, &str, VerdictKind)] = &[
    // a release: too early, with a version of the model's own; two scripts, one that reaches for the context
    ("t-1", "input", Allow),
    ("t-1", "the model calls github_publish", Block),
    ("t-1", "the model writes {'changes'", Allow),
    ("t-1", "the model writes context.user.email", Error),
    // it delegates; the sub-agent has guardrails of its own, makes five calls in a turn and asks two people
    ("t-1", "the model calls code_reviewer", Allow),
    ("t-1", "code_reviewer is carried out", Suspend),
    ("t-2", "input", Allow),
    ("t-2", "the model writes repository_list_changes", Allow),
    ("t-2", "the model calls repository_read_file {\"path\":\"../../", Block),
    ("t-2", "the model calls repository_read_file", Allow),
    ("t-2", "the model calls sandbox {\"command\":\"make bench\"}", Suspend),
    ("t-2", "the model calls repository_read_file {\"path\":\"payments/", Suspend),
    ("t-2", "the model calls sandbox {\"command\":\"make test\"}", Wait),
    ("t-2", "the model calls verdict", Wait),
    ("t-2", "repository_read_file has run as call_2_1", Allow),
    // another process: the first answer lets nothing through while the second is awaited
    ("t-1", "input", Wait),
    ("t-2", "payments@example.com approves", Wait),
    // a third process: with the second answer the calls that waited go on by themselves
    ("t-2", "performance@example.com approves", Allow),
    ("t-2", "sandbox has waited as call_2_4", Allow),
    ("t-2", "repository_read_file has waited as call_2_3", Allow),
    ("t-2", "sandbox has run as call_2_2", Allow),
    ("t-2", "sandbox has run as call_2_4", Allow),
    ("t-2", "repository_read_file has run as call_2_3", Allow),
    ("t-2", "verdict has waited as call_2_5", Allow),
    ("t-2", "verdict is carried out as call_2_5", Allow),
    ("t-2", "the model says", Allow),
    ("t-1", "t-2 answers", Allow),
    ("t-1", "input has waited as input-3", Allow),
    ("t-1", "the model calls github_publish", Block),
    ("t-1", "the model says", Allow),
    // a forged event, a real one, and the release lead
    ("t-1", "a request", Discard),
    ("t-1", "a request", Route),
    ("t-1", "the model writes github_get_checks", Allow),
    ("t-1", "the model calls github_publish", Suspend),
    ("t-1", "release-lead@example.com approves", Allow),
    ("t-1", "github_publish has run", Allow),
    ("t-1", "the model says", Allow),
    // a forbidden command locks the sub-agent, and its parent goes on
    ("t-3", "input", Allow),
    ("t-3", "the model calls code_reviewer", Allow),
    ("t-3", "code_reviewer is carried out", Suspend),
    ("t-4", "input", Allow),
    ("t-4", "the model calls repository_read_file", Allow),
    ("t-4", "repository_read_file has run", Allow),
    ("t-4", "the model calls sandbox", LockTask),
    ("t-3", "t-4 answers", Allow),
    ("t-3", "the model calls github_publish", Block),
    ("t-3", "the model says", Allow),
    ("t-4", "input", Rejected),
    // a limit
    ("t-5", "input", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model calls repository_read_file", Allow),
    ("t-5", "repository_read_file has run", Allow),
    ("t-5", "the model would have a turn", Terminate),
    ("t-5", "input", Rejected),
];

/// The story, played once for all tests.
fn story() -> &'static (Store, Timeline) {
    static STORY: LazyLock<(Store, Timeline)> = LazyLock::new(|| example::play().unwrap());
    &STORY
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The entry of the timeline that begins with these words, to its blank line.
fn entry<'t>(timeline: &'t str, words: &str) -> &'t str {
    let found = timeline.split("\n\n").find(|entry| entry.contains(words));
    found.unwrap_or_else(|| panic!("no entry says {words}"))
}

/// Covers: LIFE-06, GR-16, RV-13, LIM-14
#[test]
fn every_decision_of_the_story_is_the_one_that_its_manifests_ask_for() {
    let rows = &story().1.rows;
    for (at, ((task, what, verdict), expected)) in rows.iter().zip(DECISIONS).enumerate() {
        let (in_task, begins, wanted) = expected;
        assert!(task == in_task && what.starts_with(begins), "{at}: {task} {what}, expected {expected:?}");
        assert_eq!(verdict, wanted, "{at}: {task} {what}");
    }
    assert_eq!(rows.len(), DECISIONS.len(), "{:?}", rows.get(DECISIONS.len()..));
}

#[test]
fn the_timeline_is_the_one_beside_the_example() {
    let path = root().join("examples/agent_loop/timeline.txt");
    let timeline = &story().1.text;
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, timeline).unwrap();
    } else {
        assert_eq!(*timeline, fs::read_to_string(path).unwrap(), "run with UPDATE_EXPECT=1 and look at it");
    }
}

#[test]
fn nothing_runs_that_was_not_let_through_and_no_secret_is_shown() {
    let timeline = &story().1.text;
    let ran: Vec<&str> = timeline.lines().filter_map(|line| line.strip_prefix("  ran       ")).collect();
    let count = |function: &str| ran.iter().filter(|ran| ran.starts_with(function)).count();
    assert_eq!((count("github_publish"), count("audit_log"), count("sandbox")), (1, 1, 2), "{ran:?}");
    assert!(ran.iter().all(|ran| !ran.contains("v9.9.9") && !ran.contains("curl") && !ran.contains("..")));
    // the version that was bound, not the one that the model chose; after the audit, not ahead of it
    let published = entry(timeline, "ran       github_publish");
    assert!(published.contains("\"version\":\"v2.4.0\""), "{published}");
    let [logged, run] =
        ["audit_log", "github_publish"].map(|name| ran.iter().position(|ran| ran.starts_with(name)));
    assert!(logged.is_some() && logged < run, "{ran:?}");
    assert!(!published.contains("up-77") && published.contains("[withheld]"), "{published}");
    assert!(!timeline.contains("s3cret"));
}

#[test]
fn what_the_model_is_offered_leaves_out_what_is_bound() {
    let timeline = &story().1.text;
    let prompt = entry(timeline, "t-1 release-manager  the model reads its prompt");
    assert!(prompt.contains("You bring out version v2.4.0 of example-org/web-shop for kim@example.com."));
    let offers: Vec<&str> = prompt.lines().filter(|line| line.starts_with("  offers")).collect();
    assert_eq!(offers.len(), 4, "{offers:?}");
    for bound in ["\"owner\"", "\"repo\"", "\"version\"", "audit_log"] {
        assert!(!prompt.contains(bound), "{bound} in {prompt}");
    }
}

/// Covers: CTX-24, DEL-03, DEL-06, DEL-07, REC-14
#[test]
fn a_child_has_a_context_of_its_own_and_its_parent_knows_its_task() {
    let (store, _) = story();
    assert!(store.values().all(|text| !text.contains("s3cret")), "settings enter no task");
    let engine = Engine::open(&["examples/agent_loop/release"], EngineLimits::default()).unwrap();
    let restored = |id: &str| {
        let record: serde_json::Value = serde_json::from_str(&store[id]).unwrap();
        engine.restore(serde_json::from_value(record["task"].clone()).unwrap()).unwrap()
    };
    let (parent, child) = (restored("t-1"), restored("t-2"));
    for (task, expression, wanted) in [
        (&parent, "c.cap.code_reviewer.task_ids", json!(["t-2"])),
        (&parent, "c.cap.code_reviewer.outputs[0].files_read", json!(2)),
        (&parent, "c.cap._meta.delegation_count", json!(1)),
        (&parent, "size(c.input)", json!(3)),
        (&parent, "c.llm.tokens.prompt", json!(9 * 900)),
        (&child, "c.llm.tokens.prompt", json!(4 * 900)),
        (&child, "c.user", json!({"id": "u-7", "email": "kim@example.com"})),
        (&child, "c.input.map(it, it.version)", json!(["v2.4.0"])),
        (&child, "c.cap._meta.invocations.exists(name, name.startsWith('github_'))", json!(false)),
        (
            &restored("t-3"),
            "[c.cap.code_reviewer.task_ids[0], c.cap.code_reviewer.errored[0]]",
            json!(["t-4", true]),
        ),
    ] {
        assert_eq!(see(task, expression), wanted, "{} {expression}", task.id());
    }
    assert_eq!(parent.state(), TaskState::Active);
    assert!(matches!(restored("t-4").state(), TaskState::Locked { .. }));
    assert_eq!(restored("t-5").state(), at_limit("7 of 6 model turns (`max_turns`)"));
}

#[test]
fn the_readme_shows_what_it_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let timeline = fs::read_to_string(root().join("examples/agent_loop/timeline.txt")).unwrap();
    let (_, section) = readme.split_once("## Write a runtime").expect("the section");
    let (_, block) = section.split_once("```text\n").expect("an excerpt");
    let (excerpt, _) = block.split_once("```").unwrap();
    assert!(excerpt.lines().count() > 4 && timeline.contains(excerpt.trim_end()), "not in it:\n{excerpt}");
}
