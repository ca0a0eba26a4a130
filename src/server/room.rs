//! What a request needs of the server before its function runs: room for its body, its turn, a thread.
//!
//! In: a body as it comes, who asks, what kind of work it is. Out: the body within its bound and shares of what there is, or a
//! problem. The body is read first and the place at work is taken last, so that who is slow to send holds no place.

use super::limits::ServerLimits;
use super::messages;
use super::network::connection::{Exchange, Stage};
use super::problem::{Kind, Problem};
use super::route::Work;
use super::shares::{Holder, Share, Shares, Terms};
use axum::body::{Body, HttpBody};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::sleep;

/// Threads for probes, which are answered when all places are taken.
pub(super) const PROBES: usize = 8;

/// What of each body is read without a share: most bodies are not longer, and who sends little must not wait behind those who
/// send much. All of these parts together have half as much room as all shares.
const SMALL: usize = 65_536;

/// The rate at which the long bodies of one caller are read while others ask, some 256 MB in a second: more than comes over
/// most networks, and little enough to leave room on two processors.
const BYTES_A_MICROSECOND: u64 = 256;

/// What there is, shared out.
pub(super) struct Room {
    limits: ServerLimits,
    places: Arc<Shares>,
    evaluations: Arc<Shares>,
    probes: Arc<Shares>,
    bodies: Arc<Shares>,
    small: Arc<AtomicUsize>,
}

/// What a request holds while it is at work.
#[derive(Default)]
pub(super) struct Held {
    _place: Option<Share>,
    _evaluation: Option<Share>,
}

/// A body and what it holds.
pub(super) struct Taken {
    pub(super) bytes: Vec<u8>,
    pub(super) held: BodyShare,
}

/// What a body holds: a part of what needs no share, or a share.
pub(super) struct BodyShare {
    small: Option<Small>,
    large: Option<Share>,
}

impl Room {
    pub(super) fn new(limits: ServerLimits) -> Self {
        let waiting = limits.max_requests_waiting;
        let wait = Duration::from_millis(limits.max_wait_ms);
        let all = limits.max_requests_in_flight;
        // half of it for one alone: what somebody holds cannot be taken back, and long work ends late
        let halved = |most: usize| {
            let (alone, beside) = (most.div_ceil(2), most.div_ceil(4));
            Shares::new(Terms { most, alone, beside, waiting, wait })
        };
        let places =
            Terms { most: all, alone: all, beside: limits.max_caller_requests.max(1), waiting, wait };
        let probes = Terms { most: PROBES, alone: PROBES, beside: 2, waiting, wait };
        Self {
            limits,
            places: Shares::new(places),
            evaluations: halved(limits.max_evaluations.max(1)),
            probes: Shares::new(probes),
            bodies: halved(limits.max_bodies_bytes),
            small: Arc::default(),
        }
    }

    /// What a request with a body of so many bytes needs to be worked for. To read a long body is long work.
    ///
    /// # Errors
    /// Its turn does not come in time.
    pub(super) async fn enter(&self, work: Work, body: usize, holder: &Holder) -> Result<Held, Problem> {
        let full = |name, bound| Problem::new(Kind::Overloaded, messages::reached(name, bound));
        let places = || full("max_requests_in_flight", self.limits.max_requests_in_flight);
        match work {
            Work::None | Work::Stream => Ok(Held::default()),
            Work::Probe => {
                let place = self.probes.take(holder, 1).await.ok_or_else(places)?;
                Ok(Held { _place: Some(place), _evaluation: None })
            }
            Work::Step | Work::Long => {
                // first what is scarcer: who waits for it must hold no place
                let evaluation = if work == Work::Long || body > SMALL {
                    let share = self.evaluations.take(holder, 1).await;
                    Some(share.ok_or_else(|| full("max_evaluations", self.limits.max_evaluations))?)
                } else {
                    None
                };
                let place = self.places.take(holder, 1).await.ok_or_else(places)?;
                Ok(Held { _place: Some(place), _evaluation: evaluation })
            }
        }
    }

    /// Reads a body of at most so many bytes, of which so many are announced.
    ///
    /// # Errors
    /// A body that is longer, that breaks off, or for which there is no room in time.
    pub(super) async fn read(
        &self,
        body: Body,
        most: usize,
        announced: Option<usize>,
        holder: &Holder,
        exchange: Option<&Exchange>,
    ) -> Result<Taken, Problem> {
        let too_large = || Problem::new(Kind::TooLarge, messages::body_over(most));
        let (mut body, mut bytes) = (body, Vec::new());
        let mut held = BodyShare { small: Some(Small { all: self.small.clone(), own: 0 }), large: None };
        if announced.is_some_and(|announced| announced > SMALL) {
            held = self.large(announced, most, holder, exchange).await?;
        }
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            // what breaks off has nobody to be told so; trailers say nothing that is looked at
            let Ok(part) = frame.map_err(|_| too_large())?.into_data() else { continue };
            let length = bytes.len().saturating_add(part.len());
            if length > most {
                return Err(too_large());
            }
            let bound = (self.limits.max_bodies_bytes / 2).max(1);
            let fits = |small: &mut Small| length <= SMALL && small.grow(part.len(), bound);
            if held.large.is_none() && !held.small.as_mut().is_some_and(fits) {
                held = self.large(announced, most, holder, exchange).await?;
            }
            bytes.extend_from_slice(&part);
            if let Some(share) = &held.large {
                self.rest(part.len(), share).await;
            }
        }
        Ok(Taken { bytes, held })
    }

    /// Lets others come in between after a part of a long body. By itself as much as has come is read at once, and where
    /// sockets are fast the bodies of one caller take all processors.
    async fn rest(&self, read: usize, share: &Share) {
        if !self.places.are_shared() {
            return yield_now().await;
        }
        // all bodies of the caller together are read at the rate if each rests for its part of all
        let bodies = share.of_holder().checked_div(share.amount()).unwrap_or_default().max(1);
        let bytes = (read as u64).saturating_mul(bodies as u64);
        sleep(Duration::from_micros(bytes / BYTES_A_MICROSECOND)).await;
    }

    /// A share for all that may come.
    async fn large(
        &self,
        announced: Option<usize>,
        most: usize,
        holder: &Holder,
        exchange: Option<&Exchange>,
    ) -> Result<BodyShare, Problem> {
        // it is not the client that is waited for, but a crowd that waits must not keep others out
        let at = |stage| exchange.into_iter().for_each(|exchange| exchange.at(stage));
        at(Stage::Wait);
        let share = self.bodies.take(holder, announced.unwrap_or(most)).await;
        at(Stage::Body);
        let full = || messages::reached("max_bodies_bytes", self.limits.max_bodies_bytes);
        let share = share.ok_or_else(|| Problem::new(Kind::Overloaded, full()))?;
        Ok(BodyShare { small: None, large: Some(share) })
    }
}

/// Bytes of a body that need no share, until it is dropped.
pub(super) struct Small {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Small {
    /// Whether there is room for so many more.
    fn grow(&mut self, more: usize, bound: usize) -> bool {
        let before = self.all.fetch_add(more, Ordering::Relaxed);
        self.own = self.own.saturating_add(more);
        before.saturating_add(more) <= bound
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Holder, Room, SMALL};
    use crate::ServerLimits;
    use crate::route::Work;
    use std::net::{IpAddr, Ipv4Addr};

    #[tokio::test]
    async fn a_long_body_is_long_work() {
        let limits = ServerLimits { max_evaluations: 1, max_wait_ms: 0, ..ServerLimits::default() };
        let room = Room::new(limits);
        let somebody = |number| Holder::Peer(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)));
        let evaluates = room.enter(Work::Long, 0, &somebody(1)).await.unwrap();
        assert!(room.enter(Work::Step, SMALL, &somebody(2)).await.is_ok());
        let refused = room.enter(Work::Step, SMALL + 1, &somebody(2)).await.err().unwrap();
        assert!(refused.to_string().contains("`max_evaluations` 1"), "{refused}");
        drop(evaluates);
        assert!(room.enter(Work::Step, SMALL + 1, &somebody(2)).await.is_ok());
        assert!(room.enter(Work::None, SMALL + 1, &somebody(2)).await.is_ok());
    }
}
