//! Sockets: connections in and out, TLS, and the hosts and web pages that may speak to the server.
//!
//! In: a socket and its bounds. Out: requests for the router. Nothing here knows of tasks.

pub(crate) mod beside;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod listen;
pub(crate) mod origin;
pub(crate) mod proxies;
pub(crate) mod stream;
