//! A proxy before Redis, on loopback, that writes down each command that goes by, as RESP has it.
//!
//! Commands that only set a connection up are not written down.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What clients say to set a connection up.
const SET_UP: [&str; 5] = ["HELLO", "AUTH", "CLIENT", "SELECT", "INFO"];

type Commands = Arc<Mutex<Vec<Vec<Vec<u8>>>>>;

/// A proxy that runs until the test process ends.
pub struct Proxy {
    port: u16,
    commands: Commands,
}

impl Proxy {
    /// A proxy before the server on this port.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let commands = Commands::default();
        let written = Arc::clone(&commands);
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                serve(client.unwrap(), server, Arc::clone(&written));
            }
        });
        Self { port, commands }
    }

    /// The address as clients take it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// The commands since the last call.
    pub fn take(&self) -> Vec<Vec<Vec<u8>>> {
        std::mem::take(&mut *self.commands.lock().unwrap())
    }
}

fn serve(client: TcpStream, server: TcpStream, commands: Commands) {
    let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut answers, &mut back);
        let _ = back.shutdown(std::net::Shutdown::Both);
    });
    thread::spawn(move || {
        let mut requests = BufReader::new(client);
        let mut server = server;
        while let Some((bytes, command)) = command(&mut requests) {
            let name = command.first().map(|name| String::from_utf8_lossy(name).to_uppercase());
            if !name.is_some_and(|name| SET_UP.contains(&name.as_str())) {
                commands.lock().unwrap().push(command);
            }
            if server.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
}

/// The next command: its bytes as they came, and its arguments. An inline command is split at its spaces.
fn command(requests: &mut impl BufRead) -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
    let mut bytes = Vec::new();
    let head = line(requests, &mut bytes)?;
    let Some(count) = head.strip_prefix('*') else {
        let arguments = head.split_ascii_whitespace().map(|word| word.as_bytes().to_vec()).collect();
        return Some((bytes, arguments));
    };
    let mut arguments = Vec::new();
    for _ in 0..count.parse::<usize>().ok()? {
        let length: usize = line(requests, &mut bytes)?.strip_prefix('$')?.parse().ok()?;
        let mut argument = vec![0; length + 2];
        requests.read_exact(&mut argument).ok()?;
        bytes.extend_from_slice(&argument);
        argument.truncate(length);
        arguments.push(argument);
    }
    Some((bytes, arguments))
}

/// A line without its end.
fn line(requests: &mut impl BufRead, bytes: &mut Vec<u8>) -> Option<String> {
    let mut text = Vec::new();
    requests.read_until(b'\n', &mut text).ok().filter(|length| *length > 0)?;
    bytes.extend_from_slice(&text);
    Some(String::from_utf8(text).ok()?.trim_end().to_owned())
}
