//! Spans for an OpenTelemetry collector, over OTLP and HTTP (feature `otel`).
//!
//! In: the server's spans. Out: batches of them, sent by threads of their own, so that no request waits for a collector and
//! a collector that is not there costs nothing but the spans. A span holds what the log lines of its request hold.

use crate::error::ServeError;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::WithExportConfig as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// Sends until it is dropped, and then what is left.
#[derive(Debug)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    /// Where sockets to the collector live.
    runtime: Option<Runtime>,
}

impl Traces {
    /// Spans to a collector, such as `http://localhost:4318`.
    pub(crate) fn to(collector: &str) -> Result<Self, ServeError> {
        let unusable = |what: String| ServeError::Telemetry(what);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .thread_name("celador-traces")
            .build()?;
        let endpoint = format!("{}/v1/traces", collector.trim_end_matches('/'));
        let inside = runtime.enter();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let exporter = OnRuntime { exporter: Arc::new(exporter), runtime: runtime.handle().clone() };
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(Resource::builder().with_service_name("celador").build())
            .build();
        drop(inside);
        Ok(Self { provider, runtime: Some(runtime) })
    }

    /// What takes the spans.
    pub(crate) fn layer<S: Subscriber + for<'s> LookupSpan<'s>>(
        &self,
    ) -> OpenTelemetryLayer<S, opentelemetry_sdk::trace::SdkTracer> {
        // places in the source say nothing to who runs a server
        OpenTelemetryLayer::new(self.provider.tracer("celador")).with_location(false).with_threads(false)
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // a collector that is gone gets nothing, and nobody waits for it
        let _ = self.provider.shutdown_with_timeout(Duration::from_secs(5));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An exporter whose sockets belong to a runtime, for the thread of the batches that has none.
#[derive(Debug)]
struct OnRuntime {
    exporter: Arc<opentelemetry_otlp::SpanExporter>,
    runtime: Handle,
}

impl SpanExporter for OnRuntime {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let exporter = self.exporter.clone();
        let sent = self.runtime.spawn(async move { exporter.export(batch).await }).await;
        sent.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string())))
    }
}
