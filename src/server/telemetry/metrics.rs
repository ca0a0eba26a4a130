//! The figures of a server, as Prometheus collects them: counts and times by route and verdict, never by task or caller.
//!
//! In: what happened. Out: the text of `/metrics`. Labels come from fixed lists (routes, verdicts, statuses), so the number
//! of series is bounded whatever is asked.

use celador::cel::CacheStats;
use celador::task::{Decision, VerdictKind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// Seconds: from what a decision in memory takes to what a bad day of a store does.
const BUCKETS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Served {
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Timed {
    operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Decided {
    operation: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Tried {
    operation: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Swept {
    kind: &'static str,
}

/// All figures of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Served, Counter>,
    durations: Family<Timed, Histogram, fn() -> Histogram>,
    decisions: Family<Decided, Counter>,
    observed: Family<Tried, Counter>,
    replays: Counter,
    conflicts: Counter,
    store_errors: Counter,
    log_errors: Counter,
    reloads: Family<Outcome, Counter>,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
    cut: Family<Reason, Counter>,
    live_tasks: Gauge,
    swept: Family<Swept, Counter>,
    sweep_errors: Family<Swept, Counter>,
    /// Programs held, their bytes; texts found, compiled, dropped.
    cache: [Gauge; 5],
}

impl Metrics {
    /// Figures that are all zero.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("celador");
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            decisions: Family::default(),
            observed: Family::default(),
            replays: Counter::default(),
            conflicts: Counter::default(),
            store_errors: Counter::default(),
            log_errors: Counter::default(),
            reloads: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            cut: Family::default(),
            live_tasks: Gauge::default(),
            swept: Family::default(),
            sweep_errors: Family::default(),
            cache: Default::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Requests that were answered", metrics.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time from a request's header to its answer",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        registry.register("decisions", "Decisions that were taken", metrics.decisions.clone());
        registry.register(
            "observed_steps",
            "Steps of policies that were tried out, by what they would have led to",
            metrics.observed.clone(),
        );
        registry.register("replays", "Answers that were given again for a key", metrics.replays.clone());
        registry.register("conflicts", "Steps that another process took first", metrics.conflicts.clone());
        registry.register("store_errors", "Accesses of the store that failed", metrics.store_errors.clone());
        registry.register("log_errors", "Decisions that the log lacks", metrics.log_errors.clone());
        registry.register("reloads", "Manifests that were loaded anew", metrics.reloads.clone());
        registry.register("requests_in_flight", "Requests at work", metrics.in_flight.clone());
        registry.register("connections", "Connections that are open", metrics.connections.clone());
        registry.register(
            "connections_cut",
            "Connections that were ended by the server",
            metrics.cut.clone(),
        );
        registry.register("live_tasks", "Tasks in memory", metrics.live_tasks.clone());
        registry.register("swept", "What retention has ended or taken away", metrics.swept.clone());
        registry.register("sweep_errors", "What retention could not do", metrics.sweep_errors.clone());
        let names = [
            ("expressions", "Compiled expressions held"),
            ("expressions_bytes", "Bytes of them, estimated"),
            ("expressions_hits", "Expressions that were compiled before"),
            ("expressions_misses", "Expressions that had to be compiled"),
            ("expressions_evictions", "Compiled expressions that were dropped"),
        ];
        for ((name, help), gauge) in names.into_iter().zip(&metrics.cache) {
            registry.register(name, help, gauge.clone());
        }
        Self { registry, ..metrics }
    }

    pub(crate) fn request(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Served { operation, status }).inc();
        self.durations.get_or_create(&Timed { operation }).observe(took.as_secs_f64());
    }

    /// The steps of a decision that were tried out, those of the calls that were decided with it too: by the verdict that each would have
    /// led to, or how it ended where that changes nothing.
    pub(crate) fn observed(&self, operation: &'static str, decision: &Decision) {
        let with = decision.decided.iter().map(|call| &call.decision);
        for step in std::iter::once(decision).chain(with).flat_map(|decision| &decision.observed) {
            let outcome = step.verdict.map_or(step.outcome.as_str(), VerdictKind::as_str);
            self.observed.get_or_create(&Tried { operation, outcome }).inc();
        }
    }

    /// A decision; nothing for an operation that asks.
    pub(crate) fn decision(&self, operation: &'static str, verdict: Option<VerdictKind>) {
        let verdict = verdict.map_or("asks", VerdictKind::as_str);
        self.decisions.get_or_create(&Decided { operation, verdict }).inc();
    }

    pub(crate) fn replay(&self) {
        self.replays.inc();
    }

    pub(crate) fn conflict(&self) {
        self.conflicts.inc();
    }

    pub(crate) fn store_error(&self) {
        self.store_errors.inc();
    }

    pub(crate) fn log_error(&self) {
        self.log_errors.inc();
    }

    /// A connection that had to go.
    pub(crate) fn cut(&self, reason: &'static str) {
        self.cut.get_or_create(&Reason { reason }).inc();
    }

    /// So many of a kind went by a rule.
    pub(crate) fn swept(&self, kind: &'static str, count: u64) {
        self.swept.get_or_create(&Swept { kind }).inc_by(count);
    }

    /// A rule could not be kept.
    pub(crate) fn sweep_error(&self, kind: &'static str) {
        self.sweep_errors.get_or_create(&Swept { kind }).inc();
    }

    pub(crate) fn reload(&self, outcome: &'static str) {
        self.reloads.get_or_create(&Outcome { outcome }).inc();
    }

    /// The text for Prometheus.
    pub(crate) fn render(&self, live_tasks: usize, cache: CacheStats) -> String {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.live_tasks.set(signed(live_tasks as u64));
        let figures = [cache.entries as u64, cache.weight, cache.hits, cache.misses, cache.evictions];
        for (gauge, figure) in self.cache.iter().zip(figures) {
            gauge.set(signed(figure));
        }
        let mut text = String::new();
        // writing into a text cannot fail
        let _ = encode(&mut text, &self.registry);
        text
    }
}
