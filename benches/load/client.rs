//! A client of HTTP/1.1 that does as little as can be done, so that what is measured is the server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A task that is to be created, and a call that its policy lets through.
pub const NEW_TASK: &str = r#"{"namespace": "bench", "agent": "clerk", "user": {"id": "u-1"}}"#;
pub const BEFORE: &str = r#"{"function": "payout", "arguments": {"amount": 250}}"#;

/// A connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    /// The line that says who asks; empty where nobody has to.
    authorization: String,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Self { stream: BufReader::new(stream), request: Vec::new(), authorization: String::new() }
    }

    pub fn with_token(address: SocketAddr, token: &str) -> Self {
        Self { authorization: format!("authorization: Bearer {token}\r\n"), ..Self::new(address) }
    }

    /// Begins a task; its path.
    pub fn new_task(&mut self) -> String {
        let created = self.post("/v1/tasks", NEW_TASK);
        let id = created.split('"').nth(3).expect("an id");
        format!("/v1/tasks/{id}")
    }

    pub fn post(&mut self, path: &str, body: &str) -> String {
        let (status, answer) = self.try_post(path, body);
        assert!((200..300).contains(&status), "{status} {answer}");
        answer
    }

    /// The status and the body, whatever they are.
    pub fn try_post(&mut self, path: &str, body: &str) -> (u16, String) {
        self.attempt(path, body).expect("an answer")
    }

    /// The same, of a server that may end the connection instead of reading a body that it has no room for.
    pub fn attempt(&mut self, path: &str, body: &str) -> io::Result<(u16, String)> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.authorization,
            body.len()
        );
        self.send(&head)
    }

    pub fn get(&mut self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{}\r\n", self.authorization);
        self.send(&request).expect("an answer").1
    }

    /// In one packet, as a client does that knows its body.
    fn send(&mut self, request: &str) -> io::Result<(u16, String)> {
        self.request.clear();
        self.request.extend_from_slice(request.as_bytes());
        self.stream.get_mut().write_all(&self.request)?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.split(' ').next().and_then(|word| word.parse().ok()).expect("a status");
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
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body).expect("text")))
    }
}
