//! Links over streamable HTTP: what the transports of the SDK carry, as messages of a session.
//!
//! In: an address, or a transport. Out: a [`Link`]. The SDK reads what comes as types of its own, so over HTTP a member that it does not know is
//! lost on the way in; methods that it does not know go through, and results go out as they are. Which request a message belongs to is known here, as each has a stream of its own.

use super::error::McpError;
use super::link::{Link, MAX_MESSAGE_BYTES, WAITING};
use super::message::Message;
use super::messages;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt as _, poll};
use rmcp::model::{ClientResult, CustomResult, GetExtensions as _, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{
    InboundStreamOrigin, OriginatingRequestId, RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use rmcp::{RoleClient, RoleServer};
use serde_json::Value;
use std::collections::HashMap;
use std::task::Poll;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_rustls::rustls::crypto::ring;
use tracing::{debug, warn};

/// A link to the server at an address, which is one of TLS or of this machine.
pub(super) fn connect(url: &str, headers: &[(String, String)]) -> Result<Link, McpError> {
    let uri: http::Uri = url.parse().map_err(|_| McpError::Url(url.to_owned()))?;
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|it| it.is_loopback());
    if host.is_empty()
        || !(uri.scheme_str() == Some("https") || (uri.scheme_str() == Some("http") && is_here))
    {
        return Err(McpError::Url(url.to_owned()));
    }
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let refuse = || McpError::Header(name.clone());
        let mut value = http::HeaderValue::from_str(value).map_err(|_| refuse())?;
        value.set_sensitive(true);
        custom.insert(http::HeaderName::try_from(name).map_err(|_| refuse())?, value);
    }
    // another part of the process may have chosen one, which is as good
    let _ = ring::default_provider().install_default();
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_json_response_size(MAX_MESSAGE_BYTES)
        // a session that is begun anew behind our back would be another one than the task is about
        .reinit_on_expired_session(false);
    Ok(link(StreamableHttpClientTransport::from_config(config)))
}

/// The messages of a transport as a link.
pub(super) fn link<R: Plain, T: Transport<R> + 'static>(transport: T) -> Link {
    let (to, going) = channel(WAITING);
    let (coming, from) = channel(WAITING);
    tokio::spawn(carry::<R, T>(transport, going, coming));
    Link { to, from }
}

/// Carries messages until one of the two ends is gone.
async fn carry<R: Plain, T: Transport<R>>(
    mut transport: T,
    mut going: Receiver<Message>,
    coming: Sender<Message>,
) {
    let mut sending = FuturesUnordered::new();
    loop {
        tokio::select! {
            message = going.recv() => {
                let Some(message) = message else { break };
                let id = message.id().filter(|_| message.is_request()).cloned();
                let Some(typed) = outgoing::<R>(message) else {
                    warn!("a message that is none of MCP was passed over");
                    continue;
                };
                let mut sent = Box::pin(transport.send(typed));
                // a first look puts it behind those before it; when it is there may take as long as its answer
                match poll!(&mut sent) {
                    Poll::Ready(sent) => tell_failure(&coming, id, sent).await,
                    Poll::Pending => sending.push(async move { (id, sent.await) }),
                }
            }
            Some((id, sent)) = sending.next() => tell_failure(&coming, id, sent).await,
            message = transport.receive() => {
                let Some(message) = message else { break };
                let Some(message) = incoming::<R>(&message) else { continue };
                if coming.send(message).await.is_err() {
                    break;
                }
            }
        }
    }
    if let Err(error) = transport.close().await {
        debug!(%error, "a transport did not close");
    }
}

/// Whoever has sent a request that did not arrive is told so.
async fn tell_failure<E: std::error::Error>(
    coming: &Sender<Message>,
    id: Option<Value>,
    sent: Result<(), E>,
) {
    let Err(error) = sent else { return };
    warn!(%error, "a message was not delivered");
    if let Some(id) = id {
        let _ = coming.send(Message::error(id, INTERNAL, messages::NOT_DELIVERED)).await;
    }
}

/// An error of whoever answers, in the words of JSON-RPC.
const INTERNAL: i64 = -32_603;

/// A role of the SDK whose results may be sent as they are.
pub(super) trait Plain: ServiceRole {
    /// A result of which nothing is read.
    fn plain(result: Value) -> Self::Resp;
}

impl Plain for RoleServer {
    fn plain(result: Value) -> ServerResult {
        ServerResult::CustomResult(CustomResult(result))
    }
}

impl Plain for RoleClient {
    fn plain(result: Value) -> ClientResult {
        ClientResult::CustomResult(CustomResult(result))
    }
}

/// A message as the SDK has it.
fn outgoing<R: Plain>(message: Message) -> Option<TxJsonRpcMessage<R>> {
    if let (Some(result), Some(id)) = (message.outcome(), message.id()) {
        let id: RequestId = serde_json::from_value(id.clone()).ok()?;
        return Some(JsonRpcMessage::response(R::plain(result.clone()), id));
    }
    let within = message.within.clone();
    let mut typed: TxJsonRpcMessage<R> = serde_json::from_value(message.into_value()).ok()?;
    if let (JsonRpcMessage::Request(request), Some(within)) = (&mut typed, within) {
        let within: RequestId = serde_json::from_value(within).ok()?;
        request.request.extensions_mut().insert(OriginatingRequestId(within));
    }
    Some(typed)
}

/// A message of the SDK.
fn incoming<R: ServiceRole>(typed: &RxJsonRpcMessage<R>) -> Option<Message> {
    let mut message = Message::of(serde_json::to_value(typed).ok()?)?;
    if let JsonRpcMessage::Request(request) = typed
        && let Some(InboundStreamOrigin::OutboundRequest(id)) =
            request.request.extensions().get::<InboundStreamOrigin>()
    {
        message.within = serde_json::to_value(id).ok();
    }
    Some(message)
}
