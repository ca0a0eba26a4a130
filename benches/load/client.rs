//! A client of HTTP/1.1 that does as little as can be done, so that what is measured is the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), request: Vec::new() }
    }

    /// Begins a task; its path.
    pub fn new_task(&mut self) -> String {
        let created =
            self.post("/v1/tasks", r#"{"namespace": "bench", "agent": "clerk", "user": {"id": "u-1"}}"#);
        let id = created.split('"').nth(3).expect("an id");
        format!("/v1/tasks/{id}")
    }

    pub fn post(&mut self, path: &str, body: &str) -> String {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.send(&head)
    }

    pub fn get(&mut self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"))
    }

    /// In one packet, as a client does that knows its body.
    fn send(&mut self, request: &str) -> String {
        self.request.clear();
        self.request.extend_from_slice(request.as_bytes());
        self.stream.get_mut().write_all(&self.request).expect("a connection");
        let (mut status, mut length, mut line) = (String::new(), 0, String::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("an answer");
            if status.is_empty() {
                status.clone_from(&line);
            }
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
            if line == "\r\n" || line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("text");
        assert!(status.starts_with("HTTP/1.1 2"), "{status}{body}");
        body
    }
}
