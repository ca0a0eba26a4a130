//! The task of a conversation, begun with the tools that the client has.

use super::asking::{Asking, Obstacle, ask, obstacle, offers};
use super::memory::Thread;
use super::wire::Conversation;
use super::{Proxy, messages};
use serde_json::{Value, json};

/// Begins the task, or finds it. A task has the tools of the request that began it: what the model calls besides is no function of the
/// agent, and is refused as such.
pub(super) async fn begin(
    proxy: &Proxy,
    asking: Asking<'_>,
    thread: &Thread,
    conversation: &Conversation,
    user: &str,
) -> Result<(), Obstacle> {
    let other = || Obstacle::new(409, messages::other_task().to_owned());
    if let Some(known) = &thread.notes().user {
        return if known == user { Ok(()) } else { Err(other()) };
    }
    let (namespace, agent) = &proxy.settings.agent;
    // what the manifests declare is theirs, and all else the task brings
    let declared =
        ask(asking.desk, None, "GET", &format!("/v1/offers?agent={}", proxy.agent()), None).await?;
    let declared = offers(declared)?.functions;
    let mut names: Vec<&str> = declared.iter().map(|it| &*it.name).collect();
    let brought = conversation.tools.iter().filter(|tool| {
        // of two tools of one name the first is the task's
        let is_new = !names.contains(&&*tool.name);
        names.push(&tool.name);
        is_new
    });
    let tools: Vec<Value> = brought
        .map(|tool| json!({"name": tool.name, "description": tool.description, "inputSchema": tool.schema}))
        .collect();
    let body = json!({
        "id": asking.task, "namespace": namespace, "agent": agent, "user": {"id": user}, "tools": tools
    });
    let reply = ask(asking.desk, None, "POST", "/v1/tasks", Some(&body)).await?;
    if reply.problem() == "task-exists" {
        // another request began it, with other tools; it has to be for the same agent and user all the same
        let reply = asking.state().await?;
        let is = |at: &str, value: &str| reply.pointer(at).and_then(Value::as_str) == Some(value);
        if !(is("/agent/name", agent) && is("/agent/namespace", namespace) && is("/user/id", user)) {
            return Err(other());
        }
    } else if !reply.is_done() {
        return Err(obstacle(&reply));
    }
    thread.notes().user = Some(user.to_owned());
    Ok(())
}
