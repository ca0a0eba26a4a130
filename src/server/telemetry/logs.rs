//! Logs, and traces for an OpenTelemetry collector: where the server's events and spans go.
//!
//! In: a format and a filter, an endpoint. Out: lines on standard error, spans over OTLP. Spans and events hold routes, ids
//! of requests, statuses and times, and nothing of a task: what is not put into them cannot leave by them. Called once, by
//! the program.

use crate::error::ServeError;
use std::io;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
}

/// Where events and spans go.
///
/// ```
/// use celador_server::{LogFormat, Sending, ServeError, Telemetry};
///
/// let telemetry = Telemetry {
///     format: LogFormat::Json,
///     filter: "celador=info".to_owned(),
/// #   #[cfg(feature = "otel")]
/// #   collector: None,
/// };
/// let misspelt = Telemetry { filter: "celador=loud".to_owned(), ..telemetry.clone() };
/// assert!(matches!(misspelt.install(), Err(ServeError::Telemetry(_))));
///
/// let sending: Sending = telemetry.install()?;
/// // the server runs here; nobody else in the process may log elsewhere
/// assert!(matches!(telemetry.install(), Err(ServeError::Telemetry(_))));
/// drop(sending); // the remaining traces go out
/// # Ok::<(), ServeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// How log lines look.
    pub format: LogFormat,
    /// The filter of the log, such as `info` or `celador=debug`.
    pub filter: String,
    /// An OTLP endpoint over HTTP, such as `http://localhost:4318`.
    #[cfg(feature = "otel")]
    pub collector: Option<String>,
}

/// A guard that must live as long as traces are sent. Dropping it sends the remaining ones.
#[derive(Debug, Default)]
pub struct Sending {
    #[cfg(feature = "otel")]
    _traces: Option<super::traces::Traces>,
}

impl Telemetry {
    /// Begins to log and to send.
    ///
    /// # Errors
    /// A filter that cannot be read, a collector that cannot be one, and a second call.
    pub fn install(&self) -> Result<Sending, ServeError> {
        let unusable = |what: String| ServeError::Telemetry(what);
        let filter = EnvFilter::try_new(&self.filter).map_err(|error| unusable(error.to_string()))?;
        let lines = fmt::layer().with_writer(io::stderr).with_target(false);
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match self.format {
            LogFormat::Human => lines.with_ansi(false).boxed(),
            LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
        };
        let registry = tracing_subscriber::registry().with(lines.with_filter(filter));
        #[cfg(feature = "otel")]
        let (registry, sending) = {
            let traces = self.collector.as_deref().map(super::traces::Traces::to).transpose()?;
            let only_ours = EnvFilter::new("celador=info");
            let layer = traces.as_ref().map(|traces| traces.layer().with_filter(only_ours));
            (registry.with(layer), Sending { _traces: traces })
        };
        #[cfg(not(feature = "otel"))]
        let sending = Sending::default();
        registry.try_init().map_err(|error| unusable(error.to_string()))?;
        Ok(sending)
    }
}
