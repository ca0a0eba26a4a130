//! The work of a process beside its requests.
//!
//! In: what requests share, and a word to stop. Out: files looked at, rows removed, reviews expired and told of. Each piece is done
//! again and again on a thread that may wait; one that panics is as one that found nothing.

use super::operations::pending;
use super::reviews;
use super::service::Service;
use super::stopping::told;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How often it is looked whether other processes left something for any decision log, and whether reviews have expired.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// Begins the work that a process does beside its requests: looks at the files of manifests, tokens and keys, removes what is
/// over its age, denies reviews that have expired, refuses calls that have waited too long, tells listeners of reviews.
pub(super) fn keep_up(runtime: &Handle, service: &Arc<Service>, stopped: &watch::Receiver<bool>) {
    if let Some(every) = service.settings.watch {
        runtime.spawn(again(service.clone(), every, stopped.clone(), |service, _| service.refresh()));
    }
    runtime.spawn(again(service.clone(), TIDY_EVERY, stopped.clone(), |service, stopped| {
        service.tidy();
        reviews::expire(service, &|| *stopped.borrow());
        pending::refuse_overdue(service, &|| *stopped.borrow());
    }));
    let sweep_every = service.settings.sweep_every;
    runtime.spawn(again(service.clone(), sweep_every, stopped.clone(), |service, stopped| {
        service.sweep(&|| *stopped.borrow());
    }));
    runtime.spawn(follow(service.clone(), stopped.clone()));
}

/// Does something again and again, on a thread that may wait, until the server stops.
async fn again(
    service: Arc<Service>,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
    work: fn(&Service, &watch::Receiver<bool>),
) {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let (service, stopped) = (service.clone(), stopped.clone());
                // one that panics is as one that found nothing
                let _ = tokio::task::spawn_blocking(move || work(&service, &stopped)).await;
            }
            () = told(&mut stopped) => return,
        }
    }
}

/// How often it is looked whether another process has changed reviews, while anybody listens.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Tells those who listen of changes of reviews, by this process and by others, until the server stops.
async fn follow(service: Arc<Service>, mut stopped: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = service.tasks.feed.nudged() => {}
            () = sleep(FOLLOW_EVERY) => {}
            () = told(&mut stopped) => return,
        }
        if service.tasks.feed.is_heard() {
            let service = service.clone();
            // one that panics is as one that found nothing
            let _ = tokio::task::spawn_blocking(move || service.follow_reviews()).await;
        }
    }
}
