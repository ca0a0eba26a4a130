//! A release of a web shop, run by two agents under the manifests of `release/`: `cargo run --example agent_loop`.
//!
//! [`runtime`] is the loop that a runtime author writes; read it first. [`outside`] plays the model and the tools from
//! `outside.yaml`, and [`timeline`] writes down what was decided. Here stands what people and other systems do. All of it
//! uses the public interface of Celador, and nothing but that.

mod outside;
pub(crate) mod runtime;
pub(crate) mod timeline;

use celador::{Answer, Json, StartTask, Timestamp, User};
use outside::Outside;
use runtime::{Failure, Happening, Runtime, Store, Webhook};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use timeline::Timeline;

/// From the root of the package, where Cargo runs examples from there.
const FOLDER: &str = "examples/agent_loop";

/// What GitHub says when the checks of a version have ended, and how it signs that with the secret `s3cret`.
const CHECKS_FINISHED: &str = r#"{"action":"completed","repository":{"name":"web-shop","owner":{"login":"example-org"}},"workflow_run":{"head_branch":"v2.4.0","conclusion":"success"}}"#;
const SIGNATURE: &str = "sha256=11b9cd6d30313e22e017d513d68d3cdb50780ab0c48e37d13ef65becb3b644e9";
const FORGED: &str = "sha256=0000000000000000000000000000000000000000000000000000000000000000";

fn main() -> Result<(), Failure> {
    Ok(std::io::stdout().write_all(play()?.1.text.as_bytes())?)
}

/// The whole story: the tasks as they rest in the end, and what was decided on the way.
pub fn play() -> Result<(Store, Timeline), Failure> {
    let text = std::fs::read_to_string(format!("{FOLDER}/outside.yaml"))?;
    let outside = Outside::read("outside.yaml", &text)?;
    let mut runtime = process(Store::new(), outside, Timeline::default())?;

    runtime.timeline.headline("A release, from the wish to its notes");
    runtime.start(task("t-1", "release-manager")?, input("Bring out v2.4.0.", "v2.4.0"))?;

    // The reviewer, t-2, has asked two people, and the manager waits for the reviewer. Both are text now, and the process ends.
    runtime.timeline.headline("Another process");
    let (store, outside, timeline) = runtime.close();
    let mut runtime = process(store, outside, timeline)?;
    runtime.happens("t-1", Happening::Input(Json::string("How is it going?")))?;
    runtime.happens("t-2", approval("payments@example.com"))?;

    // It ends again, between the two answers.
    runtime.timeline.headline("A third process");
    let (store, outside, timeline) = runtime.close();
    let mut runtime = process(store, outside, timeline)?;
    runtime.happens("t-2", approval("performance@example.com"))?;

    runtime.timeline.headline("Requests from outside: one that anybody could have sent, and one by GitHub");
    runtime.receive(&checks_finished(FORGED))?;
    runtime.receive(&checks_finished(SIGNATURE))?;
    runtime.timeline.headline("The release lead has read the notes");
    runtime.happens("t-1", approval("release-lead@example.com"))?;

    runtime.timeline.headline("A file that gives orders: its reader is locked, the manager learns of it");
    runtime.start(task("t-3", "release-manager")?, input("Bring out v2.5.0.", "v2.5.0"))?;
    runtime.happens("t-4", Happening::Input(Json::string("Never mind, go on.")))?;

    runtime.timeline.headline("A model that does not come to an end");
    runtime.start(task("t-5", "code-reviewer")?, input("Have a look.", "v2.4.0"))?;
    runtime.happens("t-5", Happening::Input(Json::string("And?")))?;
    let (store, _, timeline) = runtime.close();
    Ok((store, timeline))
}

fn process(store: Store, outside: Outside, timeline: Timeline) -> Result<Runtime, Failure> {
    let settings = [("github.token", "test"), ("github.webhook_secret", "s3cret")];
    let settings = settings.map(|(name, value)| (name.to_owned(), Json::string(value)));
    Runtime::open(&Path::new(FOLDER).join("release"), BTreeMap::from(settings), store, outside, timeline)
}

fn task(id: &str, agent: &str) -> Result<StartTask, Failure> {
    let user = User { id: "u-7".to_owned(), email: Some("kim@example.com".to_owned()), ..User::default() };
    let begins: Timestamp = "2026-06-01T12:00:00Z".parse()?;
    Ok(StartTask::new(id, "releases", agent, user, begins))
}

fn approval(reviewer: &str) -> Happening {
    Happening::Review { reviewer: reviewer.to_owned(), answer: Answer::approve() }
}

fn input(message: &str, version: &str) -> Json {
    Json::object([("message", Json::string(message)), ("version", Json::string(version))])
}

fn checks_finished(signature: &str) -> Webhook {
    let headers = vec![("X-Hub-Signature-256".to_owned(), signature.to_owned())];
    Webhook { headers, body: CHECKS_FINISHED.as_bytes().to_vec() }
}
