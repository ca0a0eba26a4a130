//! What large things take of memory: a task at its bound, opened and looked at, and large bodies that come in at once.
//!
//! Linux says how much a process has used at most since it was asked last. The client shares the process with the server, so
//! it sends from one buffer and throws away what it reads.

use super::client::Client;
use celador_server::Server;
use celador_store::Location;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

const MB: usize = 1_000_000;
/// A result of 7 MB: with what is around it in a request, less than the largest body.
const RESULT: usize = 7 * MB;
const BODIES: usize = 64;

/// One row for each thing that is done.
pub fn rows(policies: &Path) {
    println!(
        "{:46} {:>8} {:>12} {:>12} {:>10}",
        "what is done", "seconds", "MB before", "MB at most", "MB answer"
    );
    let location = Location::File(policies.join("large.db"));
    let server = super::start(&location, policies);
    let task = fill(server.address());
    server.stop();

    // nothing of the task is in memory now
    let server = super::start(&location, policies);
    let address = server.address();
    row("GET /v1/tasks/{task}, which opens it", || get(address, &task));
    row("GET …/context?paths=user", || get(address, &format!("{task}/context?paths=user")));
    row("GET …/context, a page", || get(address, &format!("{task}/context")));
    row("GET …/events, a page", || get(address, &format!("{task}/events")));
    row("POST …/before", || {
        Client::new(address).try_post(&format!("{task}/before"), super::client::BEFORE).1.len()
    });
    server.stop();
    bodies(policies);
}

/// A task with results until it has no room for another; its path.
fn fill(address: SocketAddr) -> String {
    let mut client = Client::new(address);
    let task = client.new_task();
    let result =
        format!(r#""result": {{"status": "successful", "output": {{"text": "{}"}}}}"#, "x".repeat(RESULT));
    for call in 0.. {
        let (_, answer) = client.try_post(&format!("{task}/before"), super::client::BEFORE);
        if !answer.contains(r#""verdict":"allow""#) {
            println!("{call} results of {} MB fit into a task", RESULT / MB);
            break;
        }
        client.post(&format!("{task}/after"), &format!(r#"{{"call": {call}, {result}}}"#));
    }
    task
}

/// 64 bodies of 8 MB at once, that are read whole and are nothing that is kept.
fn bodies(policies: &Path) {
    let server: Server = super::start(&Location::Memory, policies);
    let address = server.address();
    let body: Arc<str> = format!(r#"{{"message": "{}"}}"#, "x".repeat(8 * MB - 100)).into();
    row("64 bodies of 8 MB at once", || {
        let all = Arc::new(Barrier::new(BODIES));
        let clients: Vec<_> = (0..BODIES)
            .map(|_| {
                let (all, body) = (all.clone(), body.clone());
                thread::spawn(move || {
                    all.wait();
                    let mut stream = TcpStream::connect(address).expect("a connection");
                    let head = "POST /v1/check HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
                    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n", body.len()).expect("a connection");
                    // who is told that there is no room need not send the rest
                    let _ = stream.write_all(body.as_bytes());
                    let mut status = [0; 12];
                    stream.read_exact(&mut status).map_or(0, |()| usize::from(status.ends_with(b" 503")))
                })
            })
            .collect();
        let refused: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
        println!("{refused} of {BODIES} were told that there is no room");
        0
    });
    server.stop();
}

/// Does it, and says what it took. What is done gives the bytes of its answer.
fn row(name: &str, done: impl FnOnce() -> usize) {
    // from now on the most that is used is counted anew
    fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let (before, begun) = (used("VmRSS:"), Instant::now());
    let answer = done();
    println!(
        "{name:46} {:>8.2} {before:>12} {:>12} {:>10.2}",
        begun.elapsed().as_secs_f64(),
        used("VmHWM:"),
        answer as f64 / MB as f64
    );
}

/// A size of this process, in MB.
fn used(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") / 1_000
}

/// The bytes of an answer, which are not kept.
fn get(address: SocketAddr, path: &str) -> usize {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("a connection");
    let (mut all, mut part) = (0, vec![0; 65_536]);
    let mut first = true;
    loop {
        let read = stream.read(&mut part).expect("an answer");
        if first {
            assert!(part.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&part[..read.min(300)]));
            first = false;
        }
        if read == 0 {
            return all;
        }
        all += read;
    }
}
