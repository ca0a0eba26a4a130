//! A socket that reports since when its client has not taken what was written.
//!
//! In: reads and writes of TLS or HTTP. Out: the same, and a word to the connection when bytes are handed over and when all
//! of them are gone. It stands below TLS, so that a handshake counts too. A connection that is ended amid an answer is reset.

use super::connection::Connection;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The socket of a connection.
pub(crate) struct Stream {
    socket: TcpStream,
    connection: Arc<Connection>,
}

impl Stream {
    pub(crate) fn new(socket: TcpStream, connection: Arc<Connection>) -> Self {
        Self { socket, connection }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.connection.is_broken_off() {
            // closed in the usual way, it would leave its bytes with the system, which offers them for some minutes more
            let _ = self.socket.set_zero_linger();
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.writes();
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.connection.writes();
        Pin::new(&mut self.socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    // HTTP and TLS flush when they have handed over all that they have
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        if flushed.is_ready() {
            self.connection.wrote();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
