//! Spans of the real command at a collector that is a socket (feature `otel`): they arrive, and hold nothing of a task.

use crate::serving::{agent, new_task};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The body of the first request that comes, which is answered with 200.
fn first_request(listener: &TcpListener) -> (String, Vec<u8>) {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    (head, body)
}

#[test]
fn a_span_arrives_without_content() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let data = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_celador"))
        .args(["serve", "policies/support-desk", "--store", "memory", "--listen", "127.0.0.1:0"])
        .args(["--collector", &collector, "--data"])
        .arg(data.path())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let base = format!("http://{}", line.trim().strip_prefix("listening on ").unwrap());
    let client = agent();
    let mut created = client.post(format!("{base}/v1/tasks")).send_json(new_task()).unwrap();
    let created: serde_json::Value = created.body_mut().read_json().unwrap();
    let input = format!("{base}/v1/tasks/{}/input", created["task"].as_str().unwrap());
    client.post(input).send_json(json!({"message": "s3cr3t-4711", "ticket_id": "T-1041"})).unwrap();
    let (head, body) = first_request(&listener);
    let text = String::from_utf8_lossy(&body);
    let _ = server.kill();
    let _ = server.wait();
    assert!(head.starts_with("POST /v1/traces "), "{head}");
    assert!(text.contains("celador") && text.contains("createTask") && text.contains("input"), "{text}");
    assert!(!text.contains("s3cr3t") && !text.contains("T-1041"), "{text}");
}
