//! The server at an address: requests go there with the headers of `--header-file`, and no redirect is followed.
//!
//! Beyond this machine the address has TLS. The client's `Authorization` goes to this origin alone.

use super::super::error::McpError;
use super::super::link::MAX_MESSAGE_BYTES;
use super::admission::{self, JSON, single};
use super::authorization::{self, Credentials, METADATA_PATH};
use super::wire;
use axum::body::Bytes;
use celador_server::strict_json;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::rustls::crypto::ring;

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Time for the metadata of the server's resource.
const METADATA: Duration = Duration::from_secs(30);
/// Largest metadata.
const MAX_METADATA_BYTES: usize = 65_536;

/// A server at an address.
pub(in super::super) struct Endpoint {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    url: Uri,
    headers: HeaderMap,
    /// The address of the metadata of its resource that the server has named.
    metadata: Mutex<Option<Uri>>,
}

impl Endpoint {
    /// The server at an address, and headers of every request.
    ///
    /// # Errors
    /// An address without TLS beyond this machine, or a header that is none.
    pub(in super::super) fn new(url: &str, headers: &[(String, String)]) -> Result<Arc<Self>, McpError> {
        let refuse = || McpError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| refuse())?;
        let authority = uri.authority().filter(|it| !it.as_str().contains('@')).ok_or_else(refuse)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let is_here = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_here => {}
            _ => return Err(refuse()),
        }
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let refuse = || McpError::Header(name.clone());
            let mut value = HeaderValue::from_str(value).map_err(|_| refuse())?;
            value.set_sensitive(true);
            own.append(HeaderName::try_from(name).map_err(|_| refuse())?, value);
        }
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_native_roots(ring::default_provider())
            .map_err(|error| McpError::Server(error.to_string()))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(4))
            .build(connector);
        Ok(Arc::new(Self { http, url: uri, headers: own, metadata: Mutex::default() }))
    }

    /// Sends a request, and returns the beginning of the response. A challenge is recorded.
    ///
    /// # Errors
    /// A server that cannot be reached.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        credentials: &Credentials,
    ) -> Result<Response<Incoming>, String> {
        let mut all = self.headers.clone();
        if let Some(authorization) = credentials.authorization()
            && !self.headers.contains_key(AUTHORIZATION)
        {
            all.insert(AUTHORIZATION, authorization);
        }
        all.extend(headers);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = all;
        let response = self.http.request(request).await.map_err(|error| {
            // the outermost words alone say little
            let cause = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
            format!("{error}{cause}")
        })?;
        // a client cannot answer a challenge for a token that is not its own
        if !self.headers.contains_key(AUTHORIZATION)
            && credentials.record(response.status(), response.headers())
        {
            self.learn_metadata(response.headers());
        }
        Ok(response)
    }

    /// Takes over the address of the metadata, if it is one of the server's own origin.
    fn learn_metadata(&self, response: &HeaderMap) {
        let named = response.get_all(WWW_AUTHENTICATE).iter();
        let named = named.filter_map(|value| authorization::metadata_url(value.to_str().ok()?));
        let own = |uri: &Uri| uri.scheme() == self.url.scheme() && uri.authority() == self.url.authority();
        let found = named.filter_map(|url| url.parse().ok()).find(own);
        *self.metadata.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// The metadata of the server's resource, for clients that know it at another address.
    pub(super) async fn metadata(&self, resource: String) -> Option<Value> {
        let named = self.metadata.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let path = self.url.path().trim_end_matches('/');
        let well_known = [format!("{METADATA_PATH}{path}"), METADATA_PATH.to_owned()];
        let well_known = well_known.into_iter().filter_map(|path| {
            let mut parts = self.url.clone().into_parts();
            parts.path_and_query = Some(path.parse().ok()?);
            Uri::from_parts(parts).ok()
        });
        for uri in named.into_iter().chain(well_known) {
            if let Ok(Some(found)) = timeout(METADATA, self.get_json(uri)).await {
                return authorization::metadata(found, resource);
            }
        }
        None
    }

    /// Gets a JSON document without any credentials.
    async fn get_json(&self, uri: Uri) -> Option<Value> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = uri;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(JSON));
        let response = self.http.request(request).await.ok()?;
        let content_type = admission::essence(single(response.headers(), &CONTENT_TYPE)?);
        if response.status() != StatusCode::OK || !content_type.eq_ignore_ascii_case(JSON) {
            return None;
        }
        let body = Limited::new(response.into_body(), MAX_METADATA_BYTES).collect().await.ok()?;
        strict_json::from_slice(&body.to_bytes()).ok()
    }
}

/// The whole body of a response as one message.
pub(super) async fn read_message(
    response: Response<Incoming>,
) -> Result<super::super::message::Message, &'static str> {
    let body = Limited::new(response.into_body(), MAX_MESSAGE_BYTES).collect().await;
    let body = body.map_err(|_| super::messages::UNREADABLE)?;
    wire::decode(&body.to_bytes()).map_err(|_| super::messages::UNREADABLE)
}
