//! Who is told that reviews have changed: the number of the last change, to whoever waits for a larger one.
//!
//! In: a nudge from whoever wrote a review in this process, and looks at the store, which say what other processes wrote. Out: the
//! number, to any number of listeners, none of whom can be behind by more than it: what changed they read themselves.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, watch};

/// Reads of listeners at a time: a crowd of them must leave connections of the store to steps.
const READS: usize = 2;

/// The feed of one server. Clones share it.
#[derive(Clone)]
pub(crate) struct ReviewFeed(Arc<Shared>);

struct Shared {
    nudged: Notify,
    last: watch::Sender<u64>,
    closed: watch::Sender<bool>,
    reads: Semaphore,
}

/// What a listener waits for.
pub(crate) struct Listening {
    last: watch::Receiver<u64>,
    closed: watch::Receiver<bool>,
}

impl ReviewFeed {
    /// A feed that knows of no change.
    pub(crate) fn new() -> Self {
        let (last, closed) = (watch::Sender::new(0), watch::Sender::new(false));
        Self(Arc::new(Shared { nudged: Notify::new(), last, closed, reads: Semaphore::new(READS) }))
    }

    /// Reviews may have changed: it is to be looked at once.
    pub(crate) fn nudge(&self) {
        self.0.nudged.notify_one();
    }

    /// Waits for a nudge.
    pub(crate) async fn nudged(&self) {
        self.0.nudged.notified().await;
    }

    /// Whether anybody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.last.receiver_count() > 0
    }

    /// The number of the last change as the store has it.
    pub(crate) fn tell(&self, last: u64) {
        self.0.last.send_if_modified(|known| {
            let is_later = last > *known;
            *known = last.max(*known);
            is_later
        });
    }

    /// Ends all listening: the server stops.
    pub(crate) fn close(&self) {
        self.0.closed.send_replace(true);
    }

    /// Waits until the server stops.
    pub(crate) async fn closed(&self) {
        // a sender that is gone is a server that is gone
        let _ = self.0.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listening {
        let listening = Listening { last: self.0.last.subscribe(), closed: self.0.closed.subscribe() };
        self.nudge();
        listening
    }

    /// The right to read the store, in turn.
    pub(crate) async fn turn(&self) -> Option<impl Drop + '_> {
        self.0.reads.acquire().await.ok()
    }
}

impl Listening {
    /// Waits until there is a change behind this one; the number of the last. Nothing once the server stops.
    pub(crate) async fn behind(&mut self, seen: u64) -> Option<u64> {
        let Self { last, closed } = self;
        tokio::select! {
            _ = closed.wait_for(|closed| *closed) => None,
            last = last.wait_for(|last| *last > seen) => Some(*last.ok()?),
        }
    }
}

/// How many of something each holds, within two bounds.
pub(crate) struct Counted<K> {
    most: usize,
    each: usize,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

/// One that is counted until it is dropped.
pub(crate) struct Count<K: Eq + Hash> {
    key: K,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Counted<K> {
    /// At most so many in all, and of one holder.
    pub(crate) fn new(most: usize, each: usize) -> Self {
        Self { most, each, held: Arc::default() }
    }

    /// One more of a holder; nothing if that would be too many.
    pub(crate) fn take(&self, key: K) -> Option<Count<K>> {
        let mut held = lock(&self.held);
        let all = held.values().copied().fold(0, usize::saturating_add);
        let own = held.get(&key).copied().unwrap_or_default();
        if all >= self.most || own >= self.each {
            return None;
        }
        held.insert(key.clone(), own.saturating_add(1));
        Some(Count { key, held: self.held.clone() })
    }
}

impl<K: Eq + Hash> Drop for Count<K> {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        if let Some(own) = held.get_mut(&self.key) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                held.remove(&self.key);
            }
        }
    }
}

fn lock<K>(held: &Mutex<HashMap<K, usize>>) -> MutexGuard<'_, HashMap<K, usize>> {
    // counts are whole at every moment
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Counted, ReviewFeed};

    #[test]
    fn nobody_holds_more_than_they_may() {
        let counted = Counted::new(3, 2);
        let first = counted.take("a");
        let (second, third) = (counted.take("a"), counted.take("a"));
        assert!(first.is_some() && second.is_some() && third.is_none(), "two each");
        let other = counted.take("b");
        assert!(other.is_some() && counted.take("c").is_none(), "three in all");
        drop(first);
        assert!(counted.take("c").is_some());
        drop((second, other));
        assert!(counted.held.lock().is_ok_and(|held| held.is_empty()), "who holds none is forgotten");
    }

    #[tokio::test]
    async fn a_listener_hears_of_the_last_change_and_of_the_end() {
        let feed = ReviewFeed::new();
        let mut listening = feed.listen();
        assert!(feed.is_heard());
        feed.tell(2);
        feed.tell(1);
        assert_eq!(listening.behind(0).await, Some(2), "an earlier number says nothing");
        feed.close();
        assert_eq!(listening.behind(2).await, None);
        drop(listening);
        assert!(!feed.is_heard());
    }
}
