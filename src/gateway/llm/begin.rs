//! The task of a conversation, begun with the tools that the client has.

use super::asking::{Asking, Obstacle, obstacle};
use super::memory::Thread;
use super::wire::Conversation;
use super::{Proxy, messages};
use celador::BroughtTool;
use celador::task::User;
use celador_service::{NewTask, ProblemKind, TaskService};

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
    let declared = asking.desk.agent_offers(namespace, agent).await.map_err(|error| obstacle(&error))?;
    let mut names: Vec<&str> = declared.functions.iter().map(|it| &*it.name).collect();
    let brought = conversation.tools.iter().filter(|tool| {
        // of two tools of one name the first is the task's
        let is_new = !names.contains(&&*tool.name);
        names.push(&tool.name);
        is_new
    });
    let tools: Vec<BroughtTool> = brought
        .map(|tool| BroughtTool {
            name: tool.name.clone(),
            title: None,
            description: tool.description.clone(),
            input_schema: tool.schema.clone(),
            output_schema: None,
            annotations: None,
        })
        .collect();
    let new = NewTask {
        id: Some(asking.task.to_owned()),
        namespace: namespace.clone(),
        agent: Some(agent.clone()),
        user: User { id: user.to_owned(), ..User::default() },
        tools,
        ..NewTask::default()
    };
    match asking.desk.begin(new).await {
        Ok(_) => {}
        // another request began it, with other tools; it has to be for the same agent and user all the same
        Err(error) if error.kind() == Some(ProblemKind::TaskExists) => {
            let begun = asking.state().await?;
            if (&begun.namespace, &begun.agent, &*begun.user) != (namespace, agent, user) {
                return Err(other());
            }
        }
        Err(error) => return Err(obstacle(&error)),
    }
    thread.notes().user = Some(user.to_owned());
    Ok(())
}
