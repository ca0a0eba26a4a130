//! Something scarce, shared out between callers: places at work, places of long evaluations, bytes of bodies.
//!
//! In: who asks for how much. Out: a share of it, at once or in turn, or word that there is none in time. Whoever holds least
//! is served first, each caller's own requests in their order. A caller alone may have more than beside others, but what they
//! hold then is soon given back, and until it is, nothing more is given to them: so nobody waits behind another's queue. Where
//! too many wait, the last of whoever has most of them is sent away. Every operation takes time in the number of callers that
//! asked within the last ten seconds.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// Who a share is for: an identity where callers have one, the peer's address where they have none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Identity(String),
    Peer(IpAddr),
}

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Of all callers together.
    pub(super) most: usize,
    /// Of one caller while nobody else has asked for some time.
    pub(super) alone: usize,
    /// Of one caller beside others.
    pub(super) beside: usize,
    /// Requests that wait.
    pub(super) waiting: usize,
    /// How long one waits.
    pub(super) wait: Duration,
}

/// How long somebody who holds nothing counts as beside others.
const COMPANY: Duration = Duration::from_secs(10);

/// How often those who have gone are forgotten.
const SWEEP: Duration = Duration::from_secs(1);

/// Something that is shared out.
pub(super) struct Shares {
    terms: Terms,
    books: Mutex<Books>,
}

struct Books {
    held: usize,
    waiting: usize,
    accounts: HashMap<Holder, Account>,
    next: u64,
    swept: Instant,
}

struct Account {
    held: usize,
    line: VecDeque<Waiting>,
    asked: Instant,
    /// The number of the last share: of two with the same, the one that has waited since longer is first.
    served: u64,
}

struct Waiting {
    number: u64,
    amount: usize,
    turn: oneshot::Sender<Share>,
}

impl Shares {
    pub(super) fn new(terms: Terms) -> Arc<Self> {
        let books = Books { held: 0, waiting: 0, accounts: HashMap::new(), next: 1, swept: Instant::now() };
        Arc::new(Self { terms, books: Mutex::new(books) })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share, if it is the holder's turn in time. One that is larger than all there is, is all there is.
    pub(super) async fn take(self: &Arc<Self>, holder: &Holder, amount: usize) -> Option<Share> {
        let (ticket, turn) = self.ask(holder, amount);
        let share = timeout(self.terms.wait, turn).await;
        drop(ticket);
        share.ok()?.ok()
    }

    /// Whether more than one caller has asked lately.
    pub(super) fn are_shared(&self) -> bool {
        self.books().accounts.len() > 1
    }

    fn ask(self: &Arc<Self>, holder: &Holder, amount: usize) -> (Ticket, oneshot::Receiver<Share>) {
        let (turn, mine) = oneshot::channel();
        let amount = amount.min(self.terms.most);
        let now = Instant::now();
        let mut books = self.books();
        books.sweep(now);
        let number = books.number();
        let account = books.accounts.entry(holder.clone()).or_insert_with(|| Account::new(now));
        account.asked = now;
        account.line.push_back(Waiting { number, amount, turn });
        books.waiting = books.waiting.saturating_add(1);
        books.serve(self);
        if books.waiting > self.terms.waiting {
            books.send_one_away();
        }
        drop(books);
        (Ticket { shares: self.clone(), holder: holder.clone(), number }, mine)
    }
}

impl Account {
    fn new(now: Instant) -> Self {
        Self { held: 0, line: VecDeque::new(), asked: now, served: 0 }
    }
}

impl Books {
    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// Gives shares to those whose turn it is, as long as there are any.
    fn serve(&mut self, shares: &Arc<Shares>) {
        let Terms { most, alone, beside, .. } = shares.terms;
        loop {
            let own = if self.accounts.len() > 1 { beside } else { alone };
            let ready = self.accounts.iter().filter(|(_, account)| {
                let fits = |waiting: &Waiting| account.held.saturating_add(waiting.amount) <= own;
                account.line.front().is_some_and(|waiting| account.held == 0 || fits(waiting))
            });
            let first = ready.min_by_key(|(_, account)| (account.held, account.served));
            let Some(holder) = first.map(|(holder, _)| holder.clone()) else { return };
            let number = self.number();
            let Some(account) = self.accounts.get_mut(&holder) else { return };
            let wanted = account.line.front().map_or(0, |waiting| waiting.amount);
            if self.held > 0 && self.held.saturating_add(wanted) > most {
                // who is first waits until there is room: others who want less would be before them for ever
                return;
            }
            let Some(Waiting { amount, turn, .. }) = account.line.pop_front() else { return };
            self.waiting = self.waiting.saturating_sub(1);
            let share = Share { shares: Some(shares.clone()), holder, amount };
            // whoever has gone takes nothing; the share must not come back through its own drop, which would lock again
            match turn.send(share) {
                Ok(()) => {
                    account.served = number;
                    account.held = account.held.saturating_add(amount);
                    self.held = self.held.saturating_add(amount);
                }
                Err(mut unwanted) => unwanted.shares = None,
            }
        }
    }

    /// The last who waits of whoever has most that wait; their channel ends, which tells them.
    fn send_one_away(&mut self) {
        let longest = self.accounts.values_mut().max_by_key(|account| account.line.len());
        if longest.and_then(|account| account.line.pop_back()).is_some() {
            self.waiting = self.waiting.saturating_sub(1);
        }
    }

    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < SWEEP {
            return;
        }
        self.swept = now;
        self.accounts.retain(|_, account| {
            account.held > 0
                || !account.line.is_empty()
                || now.saturating_duration_since(account.asked) < COMPANY
        });
    }
}

/// A place in the line. Dropping it leaves the line.
struct Ticket {
    shares: Arc<Shares>,
    holder: Holder,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut books = self.shares.books();
        let Some(account) = books.accounts.get_mut(&self.holder) else { return };
        let before = account.line.len();
        account.line.retain(|waiting| waiting.number != self.number);
        if account.line.len() < before {
            books.waiting = books.waiting.saturating_sub(1);
            // another may have waited behind it
            books.serve(&self.shares);
        }
    }
}

/// What a caller holds, until it is dropped.
pub(super) struct Share {
    shares: Option<Arc<Shares>>,
    holder: Holder,
    amount: usize,
}

impl Share {
    /// How much it is.
    pub(super) fn amount(&self) -> usize {
        self.amount
    }

    /// How much its holder holds in all.
    pub(super) fn of_holder(&self) -> usize {
        let of = |shares: &Arc<Shares>| shares.books().accounts.get(&self.holder).map(|account| account.held);
        self.shares.as_ref().and_then(of).unwrap_or(self.amount)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some(shares) = self.shares.take() else { return };
        let mut books = shares.books();
        books.held = books.held.saturating_sub(self.amount);
        if let Some(account) = books.accounts.get_mut(&self.holder) {
            account.held = account.held.saturating_sub(self.amount);
        }
        books.serve(&shares);
    }
}

#[cfg(test)]
mod tests {
    use super::{Holder, Share, Shares, Terms, Ticket};
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::oneshot::Receiver;

    const TERMS: Terms = Terms { most: 6, alone: 4, beside: 2, waiting: 5, wait: Duration::from_secs(60) };

    fn somebody(number: u8) -> Holder {
        Holder::Peer(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)))
    }

    /// Somebody who has asked: they wait, hold, or were sent away.
    struct Asked {
        turn: Receiver<Share>,
        share: Option<Share>,
        _ticket: Ticket,
    }

    fn ask(shares: &Arc<Shares>, holder: u8, amount: usize) -> Asked {
        let (ticket, turn) = shares.ask(&somebody(holder), amount);
        Asked { turn, share: None, _ticket: ticket }
    }

    impl Asked {
        fn holds(&mut self) -> bool {
            if self.share.is_none() {
                self.share = self.turn.try_recv().ok();
            }
            self.share.is_some()
        }
    }

    fn holding(all: &mut [Asked]) -> usize {
        all.iter_mut().filter_map(|asked| asked.holds().then_some(())).count()
    }

    #[test]
    fn one_alone_has_more_than_one_beside_others() {
        let shares = Shares::new(TERMS);
        let mut first: Vec<_> = (0..7).map(|_| ask(&shares, 1, 1)).collect();
        assert_eq!(holding(&mut first), 4, "never all, so that another finds some");
        assert!(!shares.are_shared());
        let mut other: Vec<_> = (0..2).map(|_| ask(&shares, 2, 1)).collect();
        assert_eq!(holding(&mut other), 2, "at once, although the first has asked before");
        assert!(shares.are_shared());
        let of_holder = |asked: &[Asked]| asked[0].share.as_ref().map(Share::of_holder);
        assert_eq!((of_holder(&first), of_holder(&other)), (Some(4), Some(2)));
        // what the first gives back is not given to them again until they hold less than their part
        for left in [3, 2, 2] {
            let at = first.iter_mut().position(|asked| asked.holds()).unwrap();
            drop(first.remove(at));
            assert_eq!(holding(&mut first), left);
        }
    }

    #[test]
    fn who_has_most_that_wait_is_sent_away() {
        let shares = Shares::new(TERMS);
        let mut greedy: Vec<_> = (0..9).map(|_| ask(&shares, 1, 1)).collect();
        assert_eq!(holding(&mut greedy), 4);
        let mut other: Vec<_> = (0..4).map(|_| ask(&shares, 2, 1)).collect();
        assert_eq!(holding(&mut other), 2);
        // five waited, and two more came: the last two of the greedy went
        let gone = |asked: &mut Asked| {
            use tokio::sync::oneshot::error::TryRecvError::Closed;
            asked.share.is_none() && asked.turn.try_recv().err() == Some(Closed)
        };
        let who: Vec<_> = greedy.iter_mut().map(gone).collect();
        assert_eq!(who, [false, false, false, false, false, false, false, true, true]);
        assert!(!other.iter_mut().any(gone));
    }

    #[test]
    fn who_leaves_the_line_holds_nothing_and_stops_nobody() {
        let shares = Shares::new(TERMS);
        let mut held: Vec<_> = (0..4).map(|_| ask(&shares, 1, 1)).collect();
        assert_eq!(holding(&mut held), 4);
        // what wants more than there is waits for its part of it, and others of the same caller behind it
        let large = ask(&shares, 1, 100);
        let mut behind = ask(&shares, 1, 1);
        drop(held.pop());
        assert!(!behind.holds());
        drop(large);
        assert!(behind.holds());
    }

    #[test]
    fn what_is_larger_than_a_part_is_given_to_who_holds_nothing() {
        let shares = Shares::new(TERMS);
        let mut small = ask(&shares, 2, 1);
        assert!(small.holds());
        let mut large = ask(&shares, 1, 5);
        assert!(large.holds());
        let mut all = ask(&shares, 3, usize::MAX);
        assert!(!all.holds());
        drop((small, large));
        assert!(all.holds());
    }

    #[test]
    fn bounds_that_are_off_give_to_all() {
        let off = usize::MAX;
        let shares = Shares::new(Terms { most: off, alone: off, beside: off, waiting: off, ..TERMS });
        let mut all: Vec<_> = (0..300).map(|number| ask(&shares, number as u8, 1)).collect();
        assert_eq!(holding(&mut all), 300);
    }

    proptest! {
        /// Whatever comes and goes: no more is held than there is, nobody beside others is given more than their part, nobody
        /// waits who could be served, and all is free at the end.
        #[test]
        fn nothing_is_lost_and_nothing_is_given_twice(
            moves in prop::collection::vec((any::<bool>(), 0_u8..4, 1_usize..3, any::<prop::sample::Index>()), 1..200)
        ) {
            let shares = Shares::new(TERMS);
            let mut asked: Vec<(u8, usize, Asked)> = Vec::new();
            for (comes, holder, amount, which) in moves {
                if comes || asked.is_empty() {
                    asked.push((holder, amount, ask(&shares, holder, amount)));
                } else {
                    drop(asked.remove(which.index(asked.len())));
                }
                let mut held = [0_usize; 4];
                for (holder, amount, asked) in &mut asked {
                    let of_holder = &mut held[usize::from(*holder)];
                    *of_holder = of_holder.saturating_add(if asked.holds() { *amount } else { 0 });
                }
                let books = shares.books();
                prop_assert_eq!(books.held, held.iter().sum::<usize>());
                prop_assert!(books.held <= TERMS.most);
                prop_assert!(held.iter().all(|held| *held <= TERMS.alone));
                let waiting: usize = books.accounts.values().map(|account| account.line.len()).sum();
                prop_assert_eq!(books.waiting, waiting);
                prop_assert!(waiting <= TERMS.waiting);
                let nobody_held = books.held == 0;
                prop_assert!(!nobody_held || waiting == 0);
            }
            drop(asked);
            let books = shares.books();
            prop_assert_eq!((books.held, books.waiting), (0, 0));
        }
    }
}
