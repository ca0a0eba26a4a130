//! `celador import mcp`: the tools of an MCP server that speaks over its standard input and output.
//!
//! In: the command that runs the server. Out: what `tools/list` has, all pages. One JSON message a line goes each way: the few
//! that are needed here are written by hand, so that the command brings no client along. The server gets no capability and
//! no answer but to a `ping`; what it writes on standard error goes to ours. Time, pages, messages and tools are bounded, and
//! the server is ended with the answer, or without one.

use super::{Failure, Found, Target};
use crate::messages;
use clap::Args;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The protocol that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";
/// The longest message.
const MAX_LINE: u64 = 33_554_432;
/// The most pages and tools of one list.
const MAX_PAGES: usize = 1_000;
const MAX_TOOLS: usize = 10_000;
/// How long a server may take to end once nobody asks it any more.
const LEAVE: Duration = Duration::from_secs(2);

/// Run an MCP server over its standard input and output, and list its tools
#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Seconds until the whole list has to be there
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,

    /// The command and its arguments, behind `--`
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    pub(super) fn found(&self) -> Result<Found, Failure> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Failure::Unusable(messages::NO_COMMAND.to_owned()));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::Unusable(messages::cannot_run(program, &error)))?;
        let until = Instant::now().checked_add(Duration::from_secs(self.timeout));
        let found = Server::of(&mut child, until).and_then(Server::list);
        leave(child);
        found.map_err(|problem| Failure::Unusable(messages::no_list_of_tools(program, &problem)))
    }
}

/// A server that is asked.
struct Server {
    input: ChildStdin,
    lines: Receiver<Result<Value, String>>,
    until: Option<Instant>,
    /// The id of the request before.
    last: u64,
}

impl Server {
    fn of(child: &mut Child, until: Option<Instant>) -> Result<Self, String> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no input or no output".to_owned());
        };
        let (sender, lines) = sync_channel(16);
        // a server that never ends a line must not hold the command
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                let read = output.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
                let message = match read {
                    Ok(0) => break,
                    Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 >= MAX_LINE => {
                        Err(format!("a message of it is longer than {MAX_LINE} bytes"))
                    }
                    // a line that is no message is told to people, and means nothing here
                    Ok(_) => match serde_json::from_slice(&line) {
                        Ok(message) => Ok(message),
                        Err(_) => continue,
                    },
                    Err(error) => Err(error.to_string()),
                };
                let is_last = message.is_err();
                if sender.send(message).is_err() || is_last {
                    break;
                }
            }
        });
        Ok(Self { input, lines, until, last: 0 })
    }

    fn list(mut self) -> Result<Found, String> {
        let client = json!({ "name": "celador", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
        let server = self.ask("initialize", &hello)?;
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let text = |pointer: &str| server.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut found = Found {
            name: text("/serverInfo/name").unwrap_or_default(),
            description: text("/serverInfo/title").or_else(|| text("/serverInfo/name")),
            tools: Vec::new(),
            notes: Vec::new(),
        };
        let mut parameters = json!({});
        for _ in 0..MAX_PAGES {
            let page = self.ask("tools/list", &parameters)?;
            let Some(Value::Array(tools)) = page.get("tools") else {
                return Err("`tools/list` has no `tools`".to_owned());
            };
            found.tools.extend(tools.iter().cloned().map(|mut tool| {
                // that is between the server and its host
                tool.as_object_mut().map(|tool| tool.remove("_meta"));
                tool
            }));
            if found.tools.len() > MAX_TOOLS {
                return Err(format!("it has more than {MAX_TOOLS} tools"));
            }
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => parameters = json!({ "cursor": cursor }),
                None => return Ok(found),
            }
        }
        Err(format!("its list has more than {MAX_PAGES} pages"))
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, String> {
        self.last = self.last.saturating_add(1);
        let id = json!(self.last);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }))?;
        loop {
            let mut message = self.receive()?;
            if let Some(asked) = message.get("method") {
                let id = message.get("id").cloned();
                let is_ping = asked == "ping";
                if let Some(id) = id {
                    self.refuse_or_pong(&id, is_ping)?;
                }
                continue;
            }
            if message.get("id") != Some(&id) {
                continue;
            }
            if let Some(error) = message.get("error") {
                let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
                return Err(format!("it answers `{method}` with the error {code}"));
            }
            return message
                .get_mut("result")
                .map(Value::take)
                .ok_or_else(|| format!("its answer to `{method}` has no result"));
        }
    }

    fn refuse_or_pong(&mut self, id: &Value, is_ping: bool) -> Result<(), String> {
        self.send(&if is_ping {
            json!({ "jsonrpc": "2.0", "id": id, "result": {} })
        } else {
            let error = json!({ "code": -32601, "message": "the client has no such method" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        })
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let sent = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|_| "it has ended".to_owned())
    }

    fn receive(&self) -> Result<Value, String> {
        let left = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        match self.lines.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => Err("it has not answered in time (`--timeout`)".to_owned()),
            Err(RecvTimeoutError::Disconnected) => Err("it has ended".to_owned()),
        }
    }
}

/// Ends a server whose input is closed: it is waited for a little, then it is killed.
fn leave(mut child: Child) {
    let begun = Instant::now();
    while begun.elapsed() < LEAVE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}
