//! Which task a request belongs to.
//!
//! In: a request as a conversation, its headers, what is remembered. Out: the id of the task. Where the client names the conversation,
//! that is the task. Where it does not, the request is found by what was said in it: each request repeats the conversation, so
//! the last answer that the proxy gave in it, or the id of a call, leads to the task. A conversation that begins is a task of its own,
//! though another one may have begun with the same words. One of which nothing is remembered has an id that follows from its
//! beginning, and is judged from there.

use super::asking::Obstacle;
use super::memory::Memory;
use super::messages;
use super::request::Said;
use super::wire::{Conversation, Item, Kind};
use celador::digest::Digest;

/// The points of a conversation: a digest of all that was said up to each of its items.
#[derive(Debug)]
pub(crate) struct Points(Vec<Digest>);

impl Points {
    /// Instructions are no part of them: applications write the time of day there. Nor is what a call came to, which
    /// clients shorten later.
    pub(crate) fn of(whose: &[&str], items: &[Item]) -> Self {
        Self::behind(Digest::of_parts(whose), items)
    }

    /// The points of what is said behind another one.
    pub(crate) fn behind(mut point: Digest, items: &[Item]) -> Self {
        let points = items.iter().map(|item| {
            let mut say =
                |kind: &str, text: &str| point = Digest::of_parts([&*point.to_string(), kind, text]);
            match &item.kind {
                Kind::System => {}
                Kind::User => say("user", &item.text()),
                Kind::Assistant(calls) => {
                    let text = item.spoken();
                    if !text.trim().is_empty() {
                        say("assistant", text.trim());
                    }
                    calls.iter().for_each(|call| say("call", &call.id));
                }
                Kind::Result { call, .. } => say("result", call),
            }
            point
        });
        Self(points.collect())
    }

    pub(crate) fn at(&self, item: usize) -> Option<Digest> {
        self.0.get(item).copied()
    }

    pub(crate) fn last(&self) -> Option<Digest> {
        self.0.last().copied()
    }
}

/// What is said at a point, to the letter: the points themselves leave instructions out, and what stands beside the text of an answer.
pub(crate) fn said_at(point: Digest, item: &Item) -> Digest {
    let who = match &item.kind {
        Kind::System => "system",
        Kind::User => "user",
        Kind::Assistant(_) => "assistant",
        Kind::Result { .. } => "result",
    };
    Digest::of_parts([&*point.to_string(), who, &item.text()])
}

/// The point that an id is: that of a call, or of an answer.
pub(crate) fn point_of(kind: &str, id: &str) -> Digest {
    Digest::of_parts(["id", kind, id])
}

/// The task of a request, and whether the client has named it.
pub(crate) fn task_of(
    conversation: &Conversation,
    points: &Points,
    said: &Said,
    memory: &Memory,
) -> Result<(String, bool), Obstacle> {
    if let Some(task) = said.task.clone().or_else(|| conversation.named.clone()) {
        return Ok((task, true));
    }
    if let Some(previous) = &conversation.previous {
        let known = memory.task_at(&point_of("answer", previous));
        let unknown = || Obstacle::new(400, messages::unknown_previous().to_owned());
        return known.map(|task| (task.to_string(), false)).ok_or_else(unknown);
    }
    let is_answer = |(_, item): &(usize, &Item)| matches!(item.kind, Kind::Assistant(_));
    let answers: Vec<(usize, &Item)> = conversation.items.iter().enumerate().filter(is_answer).collect();
    let known = answers.iter().rev().find_map(|(at, _)| memory.task_at(&points.at(*at)?));
    if let Some(task) = known.or_else(|| by_calls(&answers, memory)) {
        return Ok((task.to_string(), false));
    }
    if let Some(point) = answers.first().and_then(|(at, _)| points.at(*at)) {
        return Ok((format!("llm-{point}"), false));
    }
    // many runs of an agent may begin with the same words at the same time: only the client knows that this is the same one
    let opening = points.last().filter(|_| said.again).and_then(|point| memory.task_at(&point));
    Ok((opening.map_or_else(|| format!("llm-{}", uuid::Uuid::new_v4()), |task| task.to_string()), false))
}

/// A client may have cut off the beginning of a conversation; its calls have ids that nobody else's have.
fn by_calls(answers: &[(usize, &Item)], memory: &Memory) -> Option<std::sync::Arc<str>> {
    let calls = answers.iter().rev().flat_map(|(_, item)| match &item.kind {
        Kind::Assistant(calls) => &**calls,
        _ => &[],
    });
    calls.into_iter().find_map(|call| memory.task_at(&point_of("call", &call.id)))
}
