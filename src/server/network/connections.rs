//! All connections: how many there may be, and which has to go when one more comes.
//!
//! In: connections as they are accepted. Out: a place for each, for which another may lose its own. Turning the newcomer away,
//! or letting it wait, would give the server to whoever came first and stays. So who is not at work makes room.

use super::connection::{Claim, Connection, Rank};
use crate::telemetry::metrics::Metrics;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tracing::warn;

/// Files that stay free for the store, the logs and the manifests.
const OTHER_FILES: usize = 64;

/// Connections that lose their place together, so that a flood is not met with a look at all of them for each one more.
const AT_ONCE: usize = 16;

/// Connections that have lost their place and still have their socket.
const CLOSING: usize = 32;

/// How long to wait before looking again whether somebody may lose their place.
const AGAIN: Duration = Duration::from_millis(20);

/// All connections of a server.
pub(crate) struct Connections {
    bound: usize,
    metrics: Arc<Metrics>,
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Default)]
struct Held {
    /// In the order in which they came.
    here: BTreeMap<u64, Arc<Connection>>,
    /// Those that were told to go.
    closing: usize,
    next: u64,
}

impl Connections {
    /// Room for so many, or for as many as this process may have files.
    pub(crate) fn new(most: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        let files = open_files().map_or(usize::MAX, |files| files.saturating_sub(OTHER_FILES));
        if files < most && most != usize::MAX {
            warn!(
                files,
                "the system lets this process have fewer connections than `max_client_connections` {most}"
            );
        }
        let bound = most.min(files).max(1);
        Arc::new(Self { bound, metrics, held: Mutex::default(), freed: Notify::new() })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection: as soon as there is one, or one that is not at work has lost its own.
    pub(crate) async fn enter(self: &Arc<Self>, connection: Arc<Connection>) -> Place {
        loop {
            if let Some(place) = self.try_enter(&connection) {
                return place;
            }
            let _ = timeout(AGAIN, self.freed.notified()).await;
        }
    }

    fn try_enter(self: &Arc<Self>, connection: &Arc<Connection>) -> Option<Place> {
        let mut held = self.held();
        if held.here.len() >= self.bound {
            held.displace();
        }
        if held.here.len() >= self.bound || held.closing >= CLOSING {
            return None;
        }
        let number = held.next;
        held.next = number.wrapping_add(1);
        held.here.insert(number, connection.clone());
        self.metrics.connections.inc();
        Some(Place { connections: self.clone(), connection: connection.clone(), number })
    }

    /// Takes a place from somebody, if anybody can spare theirs: the system has no more files.
    pub(crate) fn make_room(&self) {
        self.held().displace();
    }
}

impl Held {
    /// Takes their places from those that can spare them best: of one claim, from the peer that has most of them.
    fn displace(&mut self) {
        let now = Instant::now();
        let mut peers: HashMap<IpAddr, usize> = HashMap::new();
        let mut ranked: Vec<(u64, Rank, IpAddr)> = Vec::with_capacity(self.here.len());
        for (number, connection) in &self.here {
            let Some(rank) = connection.rank(now) else { continue };
            let of_peer = peers.entry(connection.peer).or_default();
            *of_peer = of_peer.saturating_add(1);
            ranked.push((*number, rank, connection.peer));
        }
        ranked.sort_unstable_by_key(|(_, (claim, since), peer)| {
            (*claim, Reverse(peers.get(peer).copied().unwrap_or_default()), *since)
        });
        let silent = ranked.iter().take_while(|(_, (claim, _), _)| *claim == Claim::Silent).count();
        let many = (silent / 4).max(ranked.len() / 64).clamp(1, AT_ONCE);
        for (number, ..) in ranked.into_iter().take(many) {
            if let Some(connection) = self.here.remove(&number) {
                connection.displace();
                self.closing = self.closing.saturating_add(1);
            }
        }
    }
}

/// The place of a connection, until it is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    pub(crate) connection: Arc<Connection>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.connections.held();
        if held.here.remove(&self.number).is_none() {
            held.closing = held.closing.saturating_sub(1);
        }
        drop(held);
        self.connections.metrics.connections.dec();
        self.connections.freed.notify_one();
    }
}

/// How many files this process may have open; nothing where the system does not say so in a file.
fn open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}
