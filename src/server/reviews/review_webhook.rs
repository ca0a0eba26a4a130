//! Webhooks: reviews sent to an address that an operator set, when they are asked and whenever their state changes.
//!
//! In: the changes of reviews as the store numbers them. Out: a signed `POST` for each, in their order, until it is taken. How far that
//! has come is a mark in the store, so a process that is started again goes on where the former was, and of several over one store
//! one sends. Nothing waits for it: no decision, no request; and what is still to be sent stands in the store, not in memory. A receiver
//! may get a change twice, when a process died before it had said that it was taken, and knows it by `webhook-id`.

use crate::error::ServeError;
use crate::messages;
use crate::service::Service;
use crate::settings::ReviewWebhook;
use crate::stopping::told;
use axum::http::{HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use celador::digest::Digest;
use celador::task::{ReviewRecord, ReviewState};
use celador_service::{Client, ClientError};
use celador_store::{ReviewFilter, ReviewRow, StoreError, StoredTasks};
use ring::hmac;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

/// How long a receiver may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long one process has the sending to itself: longer than a receiver may take, as the lease is renewed ahead of each.
const LEASE_MS: u64 = 45_000;

/// How often the lease is renewed while nothing is sent.
const RENEW_EVERY: Duration = Duration::from_secs(15);

/// The pause behind a first failure, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How long a change is sent again to a receiver that answers, and takes it not. To one that does not answer it is sent for ever.
const TRIED_FOR: Duration = Duration::from_secs(86_400);

/// How often it is looked whether the process that sends is gone.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long a receiver has to take a change when the server stops.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Changes that are read at a time.
const PAGE: usize = 20;

/// What secrets begin with, and the bytes that they may have (Standard Webhooks).
const SECRET: &str = "whsec_";
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Where reviews are sent, and what they are signed with.
pub(crate) struct Webhook {
    client: Client,
    keys: Vec<hmac::Key>,
    /// The name of the mark in the store, which says up to which change all was sent.
    mark: String,
    /// The name of the lease: the milliseconds since 1970 until which one process sends.
    lease: String,
}

/// The body of a webhook.
#[derive(Serialize)]
struct Sent<'r> {
    event: &'static str,
    review: &'r ReviewRecord,
}

/// What came of sending a change.
enum Sending {
    Taken,
    /// The receiver answered that it will not have it.
    Refused,
    /// It may be taken later.
    Later {
        is_answered: bool,
    },
}

impl Webhook {
    /// Reads the address and the file of secrets: one a line, and each signs, so that a receiver can change over.
    ///
    /// # Errors
    /// An address that is none or has no TLS, a file that cannot be read or has no secret.
    pub(crate) fn open(settings: &ReviewWebhook) -> Result<Self, ServeError> {
        let ReviewWebhook { url, secret } = settings;
        let refused = |error: ClientError| ServeError::setting("review_webhook", error.to_string());
        let client = Client::new(url, None).map_err(refused)?.with_patience(PATIENCE);
        let text = std::fs::read_to_string(secret).map_err(|error| ServeError::unreadable(secret, &error))?;
        let keys: Option<Vec<_>> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(key).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        let keys = keys.ok_or_else(|| ServeError::file(secret, messages::no_webhook_secret()))?;
        // an address may hold a secret of its own, so the store is told its digest
        let digest = Digest::of(url.as_bytes()).to_string();
        let short = digest.get(..16).unwrap_or(&digest);
        Ok(Self { client, keys, mark: format!("webhook {short}"), lease: format!("webhook {short} lease") })
    }

    /// The headers of Standard Webhooks for a body that is sent at a time, in seconds since 1970.
    fn headers(&self, id: &str, at: i64, body: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
        let mut signed = format!("{id}.{at}.").into_bytes();
        signed.extend_from_slice(body);
        let sign = |key| format!("v1,{}", STANDARD.encode(hmac::sign(key, &signed)));
        let signatures: Vec<String> = self.keys.iter().map(sign).collect();
        [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", at.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?)))
        .collect()
    }

    async fn send(&self, row: &ReviewRow, at: i64) -> Sending {
        let Ok(body) = serde_json::to_vec(&Sent { event: "review", review: &row.review }) else {
            return Sending::Refused;
        };
        let id = format!("{}.{}", row.review.id, row.changed);
        let later = |is_answered| Sending::Later { is_answered };
        match self.client.post(&self.headers(&id, at, &body), &body).await {
            Ok(reply) => match reply.status {
                200..=299 => Sending::Taken,
                408 | 425 | 429 | 500.. => {
                    warn!(status = reply.status, "the receiver of webhooks takes nothing now");
                    later(true)
                }
                status => {
                    warn!(
                        status,
                        review = row.review.id,
                        "the receiver of webhooks refuses a review; it is passed over"
                    );
                    Sending::Refused
                }
            },
            Err(error) => {
                warn!(%error, "the receiver of webhooks cannot be reached");
                later(false)
            }
        }
    }
}

fn key(line: &str) -> Option<hmac::Key> {
    let bytes = STANDARD.decode(line.strip_prefix(SECRET)?).ok()?;
    SECRET_BYTES.contains(&bytes.len()).then(|| hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

/// How long is waited before the same change is sent again.
fn pause(failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

/// One process that sends.
struct Sender {
    service: Arc<Service>,
    webhook: Arc<Webhook>,
    stopped: watch::Receiver<bool>,
    /// The lease as this process took it last; 0 while another one may have it.
    held: u64,
}

/// Sends changes of reviews until the server stops.
pub(crate) async fn deliver(service: Arc<Service>, webhook: Arc<Webhook>, stopped: watch::Receiver<bool>) {
    let mut listening = service.tasks.feed.listen();
    let mut sender = Sender { service, webhook, stopped, held: 0 };
    while !sender.is_stopped() {
        match sender.send_all().await {
            // another process sends, or the store does not answer
            None => drop(sender.unless_stopped(sleep(LOOK_EVERY)).await),
            Some(sent) => drop(sender.unless_stopped(listening.behind(sent)).await),
        }
    }
    sender.let_go().await;
}

impl Sender {
    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Waits for something, until the server stops: for the receiver or for time, never for the store, so that it is always known
    /// what this process wrote there.
    async fn unless_stopped<T>(&mut self, waits: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = waits => Some(done),
            () = told(&mut self.stopped) => None,
        }
    }

    /// Waits for the receiver, until the server stops and a moment longer: what it has taken by then need not be sent twice.
    async fn finished<T>(&mut self, sending: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(sending);
        match self.unless_stopped(&mut sending).await {
            Some(done) => Some(done),
            None => timeout(LAST_MOMENT, sending).await.ok(),
        }
    }

    /// Sends all that is to be sent; the number of the last change that was. Nothing if another process sends, the store does not
    /// answer, or the server stops.
    async fn send_all(&mut self) -> Option<u64> {
        loop {
            self.hold().await?;
            let (mark, rows) = self
                .at_store(|store, webhook| {
                    let mark = store.review_mark(&webhook.mark)?;
                    Ok((mark, store.reviews_changed(&ReviewFilter::default(), mark, PAGE)?.0))
                })
                .await?;
            if rows.is_empty() {
                return Some(mark);
            }
            let mut from = mark;
            for row in rows {
                // whoever begins to listen is told what waits, and not of all that was ever answered
                if mark > 0 || row.review.state == ReviewState::Open {
                    self.send(&row).await?;
                }
                let (seen, to) = (from, row.changed);
                let moved =
                    self.at_store(move |store, webhook| store.move_review_mark(&webhook.mark, seen, to));
                if !moved.await? {
                    return None;
                }
                from = to;
            }
        }
    }

    /// Sends one change again and again until it is taken or given up; nothing once the lease is lost or the server stops.
    async fn send(&mut self, row: &ReviewRow) -> Option<()> {
        let begun = Instant::now();
        let mut failures = 0_u32;
        loop {
            self.hold().await?;
            let (webhook, at) = (self.webhook.clone(), self.service.now().seconds());
            match self.finished(webhook.send(row, at)).await? {
                Sending::Taken | Sending::Refused => return Some(()),
                Sending::Later { is_answered } if is_answered && begun.elapsed() > TRIED_FOR => {
                    warn!(review = row.review.id, "a review was not taken for a day; it is passed over");
                    return Some(());
                }
                Sending::Later { .. } => {}
            }
            failures = failures.saturating_add(1);
            let end = Instant::now().checked_add(pause(failures))?;
            // the lease is kept through a long pause
            while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                self.unless_stopped(sleep(left.min(RENEW_EVERY))).await?;
                self.hold().await?;
            }
        }
    }

    /// Takes or renews the lease; nothing if another process has it.
    async fn hold(&mut self) -> Option<()> {
        let (own, now) = (self.held, self.service.now().nanos() / 1_000_000);
        let now = u64::try_from(now).unwrap_or_default();
        let taken = self.at_store(move |store, webhook| {
            let until = store.review_mark(&webhook.lease)?;
            // it only ever moves to another number, so that no lease is taken twice
            let wanted = now.saturating_add(LEASE_MS).max(until.saturating_add(1));
            let is_free = until == own || until < now;
            Ok((is_free && store.move_review_mark(&webhook.lease, until, wanted)?).then_some(wanted))
        });
        self.held = taken.await?.unwrap_or_default();
        (self.held > 0).then_some(())
    }

    /// Leaves the sending to others: whoever comes next need not wait for the lease to end.
    async fn let_go(&self) {
        let held = self.held;
        if held > 0 {
            self.at_store(move |store, webhook| store.move_review_mark(&webhook.lease, held, 0)).await;
        }
    }

    /// What the store says, on a thread that may wait; nothing if it does not answer, which is told.
    async fn at_store<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&StoredTasks, &Webhook) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let (service, webhook) = (self.service.clone(), self.webhook.clone());
        let answer = tokio::task::spawn_blocking(move || ask(&service.tasks.store, &webhook)).await.ok()?;
        answer.inspect_err(|error| debug!(%error, "webhooks wait for the store")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, key, pause};

    #[test]
    fn pauses_grow_to_five_minutes() {
        let pauses: Vec<u64> = (1..12).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(pause(u32::MAX), Duration::from_secs(300));
    }

    #[test]
    fn secrets_are_those_of_standard_webhooks() {
        let good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        assert!(key(good).is_some());
        for wrong in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_short", "whsec_c2hvcnQ=", "whsec_%%"] {
            assert!(key(wrong).is_none(), "{wrong}");
        }
    }
}
