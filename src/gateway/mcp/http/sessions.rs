//! All sessions of a listener, within bounds for each caller and in total.
//!
//! A session may be a process, so their number is bounded. For one more, the session that is idle for longest is ended: of the caller
//! itself at its own bound, otherwise of the caller with most sessions. A session on whose
//! response a client waits is never ended.

use super::client_session::ClientSession;
use super::{Caller, Open};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::info;
use uuid::Uuid;

/// Time without a request after which a session is over.
const IDLE: Duration = Duration::from_secs(3_600);
/// Interval between two looks for sessions that are over.
const SWEEP: Duration = Duration::from_secs(60);
/// Sessions of all callers.
const MAX_SESSIONS: usize = 256;
/// Sessions of one caller.
const MAX_OF_CALLER: usize = 64;

/// The sessions of a listener, by their ids.
pub(super) struct Sessions {
    open: Arc<Open>,
    by_id: Mutex<HashMap<String, Arc<ClientSession>>>,
}

impl Sessions {
    /// No sessions so far. The function runs the guard of each.
    pub(super) fn new(open: Arc<Open>) -> Arc<Self> {
        let sessions = Arc::new(Self { open, by_id: Mutex::default() });
        let swept = Arc::downgrade(&sessions);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(sessions) = swept.upgrade() else { return };
                sessions.sweep();
            }
        });
        sessions
    }

    fn by_id(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session of a caller; nothing if every session that could be ended for it is at work.
    pub(super) fn begin(self: &Arc<Self>, caller: Caller) -> Option<Arc<ClientSession>> {
        self.insert(&mut self.by_id(), caller, false)
    }

    /// The session that all requests of a caller without sessions share.
    pub(super) fn of_caller(self: &Arc<Self>, caller: Caller) -> Option<Arc<ClientSession>> {
        let mut by_id = self.by_id();
        let known = by_id.values().find(|session| session.is_stateless && session.caller == caller);
        match known.cloned() {
            Some(session) => Some(session),
            None => self.insert(&mut by_id, caller, true),
        }
    }

    fn insert(
        self: &Arc<Self>,
        by_id: &mut HashMap<String, Arc<ClientSession>>,
        caller: Caller,
        is_stateless: bool,
    ) -> Option<Arc<ClientSession>> {
        make_room(by_id, caller)?;
        let id = Uuid::new_v4().to_string();
        let session = ClientSession::begin(id.clone(), caller, is_stateless, &*self.open);
        by_id.insert(id, session.clone());
        let (sessions, ended) = (Arc::downgrade(self), session.clone());
        tokio::spawn(async move {
            ended.ended().await;
            if let Some(sessions) = sessions.upgrade() {
                sessions.by_id().remove(&ended.id);
            }
        });
        Some(session)
    }

    /// A session with an id, which only its client knows.
    pub(super) fn find(&self, id: &str) -> Option<Arc<ClientSession>> {
        self.by_id().get(id).filter(|session| !session.is_stateless).cloned()
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &ClientSession) {
        self.by_id().remove(&session.id);
        session.end();
    }

    /// Ends the sessions that are idle for too long.
    fn sweep(&self) {
        let is_over =
            |session: &ClientSession| session.idle_since().is_some_and(|since| since.elapsed() >= IDLE);
        self.by_id().retain(|_, session| {
            let is_over = is_over(session);
            if is_over {
                session.end();
            }
            !is_over
        });
    }
}

/// Makes room for a session of a caller; nothing if there is none.
fn make_room(by_id: &mut HashMap<String, Arc<ClientSession>>, caller: Caller) -> Option<()> {
    let mut counts: HashMap<Caller, usize> = HashMap::new();
    for session in by_id.values() {
        let count = counts.entry(session.caller).or_default();
        *count = count.saturating_add(1);
    }
    let is_at_bound = counts.get(&caller).is_some_and(|count| *count >= MAX_OF_CALLER);
    if !is_at_bound && by_id.len() < MAX_SESSIONS {
        return Some(());
    }
    let idle = by_id.values().filter_map(|session| Some((session.clone(), session.idle_since()?)));
    let idle: Vec<(Arc<ClientSession>, Instant)> =
        idle.filter(|(session, _)| !is_at_bound || session.caller == caller).collect();
    let count = |session: &ClientSession| counts.get(&session.caller).copied().unwrap_or_default();
    let (ended, _) = idle.into_iter().max_by_key(|(session, since)| (count(session), since.elapsed()))?;
    info!("a session is ended early: there are too many");
    by_id.remove(&ended.id);
    ended.end();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{Caller, MAX_OF_CALLER, MAX_SESSIONS, Sessions};
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, HeaderValue};
    use serde_json::json;
    use std::sync::Arc;

    fn sessions() -> Arc<Sessions> {
        Sessions::new(Arc::new(|link, _| {
            Box::pin(async move {
                let mut link = link;
                while link.from.recv().await.is_some() {}
            })
        }))
    }

    fn caller(token: usize) -> Caller {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        Caller::of(&HeaderMap::from_iter([(AUTHORIZATION, value)]))
    }

    #[tokio::test]
    async fn a_caller_at_its_bound_ends_a_session_of_its_own() {
        let sessions = sessions();
        let other = sessions.begin(caller(0)).unwrap();
        let first = sessions.begin(caller(1)).unwrap();
        let busy = sessions.begin(caller(1)).unwrap();
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let pending = busy.request(request.clone()).await.ok().unwrap();
        let reader = pending.stream.attach(0);
        assert!(busy.request(request).await.is_err(), "the id is in use");
        for _ in 0..MAX_OF_CALLER {
            assert!(sessions.begin(caller(1)).is_some());
        }
        assert!(sessions.find(&first.id).is_none());
        assert!(sessions.find(&busy.id).is_some() && sessions.find(&other.id).is_some());
        assert_eq!(sessions.by_id().len(), MAX_OF_CALLER + 1);
        drop(reader);
        drop(pending);
    }

    #[tokio::test]
    async fn in_total_the_caller_with_most_sessions_makes_room() {
        let sessions = sessions();
        let lone = sessions.begin(caller(99)).unwrap();
        for number in 0..MAX_SESSIONS + 50 {
            assert!(sessions.begin(caller(number % 5)).is_some());
        }
        assert!(sessions.find(&lone.id).is_some());
        assert!(sessions.by_id().len() <= MAX_SESSIONS);
    }

    #[tokio::test]
    async fn requests_without_sessions_share_that_of_their_caller_and_no_id_names_it() {
        let sessions = sessions();
        let one = sessions.of_caller(caller(1)).unwrap();
        assert_eq!(sessions.of_caller(caller(1)).unwrap().id, one.id);
        assert_ne!(sessions.of_caller(caller(2)).unwrap().id, one.id);
        assert_ne!(sessions.of_caller(Caller::of(&HeaderMap::new())).unwrap().id, one.id);
        assert!(sessions.find(&one.id).is_none());
        sessions.end(&one);
        assert_ne!(sessions.of_caller(caller(1)).unwrap().id, one.id);
    }
}
