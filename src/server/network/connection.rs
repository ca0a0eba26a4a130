//! One connection: what it is at, until when it may be, and whether another may have its place.
//!
//! In: what its requests, its answers and its stream report. Out: its end, if it overstays. A connection is always at one of
//! four things: it has not said what it wants, or it is at work, or its client reads an answer, or nothing is asked. The time
//! of each but work (which `max_request_ms` bounds) is counted from its beginning, not from the last byte, so that bytes which
//! trickle in, or answers to pings, gain none.

use crate::limits::ServerLimits;
use crate::telemetry::metrics::Metrics;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Who a connection comes from: an IPv4 address, or the first half of an IPv6 address, of which one client has any number.
pub(crate) fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

/// Why a connection was ended by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It asked for nothing.
    Silent,
    /// Its client did not read an answer.
    Unread,
    /// Another one needed its place.
    Displaced,
}

impl End {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Unread => "unread",
            Self::Displaced => "displaced",
        }
    }
}

/// What a request is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its body comes in.
    Body,
    /// Its body would be large, and there is no room for it yet.
    Wait,
    /// It is whole, and waits for its turn, is decided, is stored.
    Work,
    /// Its answer goes out.
    Answer,
    /// Its answer is a stream of events, which goes on: it may lose its place as one that asks for nothing, and comes again.
    Stream,
}

/// One connection.
pub(crate) struct Connection {
    pub(crate) peer: IpAddr,
    /// The whole address that it comes from.
    pub(crate) address: IpAddr,
    accepted: Instant,
    header: Duration,
    answer: Duration,
    state: Mutex<State>,
    displaced: Notify,
}

struct State {
    has_asked: bool,
    is_known: bool,
    requests: BTreeMap<u64, (Stage, Instant)>,
    next: u64,
    /// Since when bytes wait to be taken by the client.
    writing: Option<Instant>,
    idle: Instant,
    /// Whether an answer was handed over whose last bytes may still be written.
    has_answered: bool,
    /// Whether it was ended amid an answer.
    is_broken_off: bool,
}

/// When a connection may lose its place: first those with a weak claim, of these the one that is longest at what it is at.
pub(crate) type Rank = (Claim, Instant);

/// How good a claim a connection has to its place, the weakest first. A newcomer has the claim of those that move: while a
/// crowd comes in, whoever wants to ask needs some milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claim {
    /// It has not asked in time.
    Silent,
    /// It has an answer or a body that does not move.
    Stuck,
    /// It asks for nothing now.
    Idle,
    /// It waits for room for a large body.
    Waits,
    /// It has just come, or an answer or a body moves.
    Moves,
    /// It asks for nothing now, and its caller was known.
    KnownIdle,
    /// It waits, or an answer or a body moves, and its caller is known.
    KnownMoves,
}

/// How long an answer or a body may take before it counts as stuck, and a newcomer before it counts as silent.
const STUCK: Duration = Duration::from_millis(250);

impl Connection {
    pub(crate) fn new(address: IpAddr, limits: &ServerLimits) -> Arc<Self> {
        let accepted = Instant::now();
        let state = State {
            has_asked: false,
            is_known: false,
            requests: BTreeMap::new(),
            next: 0,
            writing: None,
            idle: accepted,
            has_answered: false,
            is_broken_off: false,
        };
        Arc::new(Self {
            peer: peer(address),
            address,
            accepted,
            header: Duration::from_millis(limits.max_header_ms),
            answer: Duration::from_millis(limits.max_answer_ms),
            state: Mutex::new(state),
            displaced: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request whose header is there. It ends when what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> Exchange {
        let mut state = self.state();
        state.has_asked = true;
        let number = state.next;
        state.next = number.wrapping_add(1);
        state.requests.insert(number, (Stage::Work, Instant::now()));
        drop(state);
        Exchange { connection: self.clone(), number }
    }

    /// Bytes are handed to the system, and wait there if the client does not take them.
    pub(crate) fn writes(&self) {
        self.state().writing.get_or_insert_with(Instant::now);
    }

    /// All bytes were taken. If they were the last of an answer, nothing is asked from now on; answers to pings, and whatever
    /// else HTTP/2 writes by itself, change nothing of that.
    pub(crate) fn wrote(&self) {
        let mut state = self.state();
        state.writing = None;
        if state.has_answered && state.requests.is_empty() {
            state.has_answered = false;
            state.idle = Instant::now();
        }
    }

    /// Whether it was ended while its client had an answer to read: nobody needs what the system still holds of it.
    pub(crate) fn is_broken_off(&self) -> bool {
        self.state().is_broken_off
    }

    /// Ends the connection, for another one's sake.
    pub(crate) fn displace(&self) {
        self.displaced.notify_one();
    }

    /// When it ends unless something happens, and why. Never, if that is beyond what a clock can show.
    fn deadline(&self) -> Option<(Instant, End)> {
        let state = self.state();
        if !state.has_asked {
            return Some((self.accepted.checked_add(self.header)?, End::Silent));
        }
        match state.unread() {
            Some(since) => Some((since.checked_add(self.answer)?, End::Unread)),
            None if state.requests.is_empty() => Some((state.idle.checked_add(self.header)?, End::Silent)),
            None => None,
        }
    }

    /// Its rank among those that may lose their place; nothing while it is at work.
    pub(crate) fn rank(&self, now: Instant) -> Option<Rank> {
        let is_late = |since| now.saturating_duration_since(since) >= STUCK;
        let state = self.state();
        if !state.has_asked {
            return Some((if is_late(self.accepted) { Claim::Silent } else { Claim::Moves }, self.accepted));
        }
        if state.requests.values().any(|(stage, _)| *stage == Stage::Work) {
            return None;
        }
        let longest = |is_waiting: bool| {
            let requests = state.requests.values().filter(|(stage, _)| *stage != Stage::Stream);
            let requests = requests.filter(|(stage, _)| (*stage == Stage::Wait) == is_waiting);
            requests.map(|(_, since)| *since).min()
        };
        let of_known = |known, claim| if state.is_known { known } else { claim };
        Some(match (longest(false).into_iter().chain(state.writing).min(), longest(true)) {
            (Some(since), _) if is_late(since) => (Claim::Stuck, since),
            (Some(since), _) => (of_known(Claim::KnownMoves, Claim::Moves), since),
            (None, Some(since)) => (of_known(Claim::KnownMoves, Claim::Waits), since),
            (None, None) => (of_known(Claim::KnownIdle, Claim::Idle), state.idle),
        })
    }

    /// Runs what is said on it to its end, or to the end of its time.
    pub(crate) async fn watch(&self, talk: impl Future<Output = ()>, metrics: &Metrics) -> Option<End> {
        let (mut talk, mut displaced) = (pin!(talk), pin!(self.displaced.notified()));
        let mut alarm = pin!(sleep_until(self.accepted));
        let end = poll_fn(|context| {
            // what is said goes first: it may move the deadline
            if talk.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            if displaced.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(End::Displaced));
            }
            let Some((deadline, end)) = self.deadline() else { return Poll::Pending };
            if alarm.deadline() != deadline {
                alarm.as_mut().reset(deadline);
            }
            alarm.as_mut().poll(context).map(|()| Some(end))
        });
        let end = end.await;
        if let Some(end) = end {
            metrics.cut(end.as_str());
            let mut state = self.state();
            state.is_broken_off = state.unread().is_some();
        }
        end
    }
}

impl State {
    /// Since when the oldest answer waits to be read.
    fn unread(&self) -> Option<Instant> {
        let answers = self.requests.values().filter(|(stage, _)| *stage == Stage::Answer);
        answers.map(|(_, since)| *since).chain(self.writing).min()
    }
}

/// A request of a connection, from its header until its answer has been taken.
pub(crate) struct Exchange {
    connection: Arc<Connection>,
    number: u64,
}

impl Exchange {
    /// What it is at from now on.
    pub(crate) fn at(&self, stage: Stage) {
        self.connection.state().requests.insert(self.number, (stage, Instant::now()));
    }

    /// Its caller has shown a token that is valid.
    pub(crate) fn is_known(&self) {
        self.connection.state().is_known = true;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        state.requests.remove(&self.number);
        state.has_answered = true;
        if state.requests.is_empty() {
            state.idle = Instant::now();
        }
    }
}

/// An answer on its way: the request that it belongs to ends when its last byte is handed over.
pub(crate) struct Sent {
    body: Vec<u8>,
    _exchange: Exchange,
}

impl Sent {
    pub(crate) fn new(body: Vec<u8>, exchange: Exchange) -> Self {
        exchange.at(Stage::Answer);
        Self { body, _exchange: exchange }
    }
}

impl AsRef<[u8]> for Sent {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, STUCK, Stage};
    use crate::ServerLimits;
    use std::net::Ipv4Addr;

    #[test]
    fn a_newcomer_has_time_to_ask_before_it_makes_room() {
        let new = || Connection::new(Ipv4Addr::LOCALHOST.into(), &ServerLimits::default());
        let (idle, known, reads, works, newcomer, waits) = (new(), new(), new(), new(), new(), new());
        drop(idle.request());
        let asked = known.request();
        asked.is_known();
        drop(asked);
        let answer = reads.request();
        answer.at(Stage::Answer);
        let _work = works.request();
        let large = waits.request();
        large.at(Stage::Wait);
        let all = [&idle, &known, &reads, &newcomer, &waits];
        let order = |now| {
            let mut order = [0, 1, 2, 3, 4];
            order.sort_by_key(|at: &usize| all.get(*at).and_then(|connection| connection.rank(now)));
            order
        };
        let now = newcomer.accepted;
        assert_eq!(order(now), [0, 4, 3, 2, 1], "idle, waiting, newcomer, moving, known");
        let late = now.checked_add(STUCK + STUCK).unwrap();
        assert_eq!(order(late), [3, 2, 0, 4, 1], "silent, stuck, idle, waiting, known");
        assert_eq!((works.rank(now), works.rank(late)), (None, None));
    }
}
