//! One side of a guard: messages that come from a program and messages that go to it.
//!
//! In: two pipes, or a command to run. Out: a [`Link`]. Over pipes a message is a line, and lines are bounded. A line that is no message
//! means nothing: servers print such lines, and a client is told so. Whoever drops the sending end closes the pipe.

use super::error::McpError;
use super::message::Message;
use super::messages;
use serde_json::Value;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;
use tracing::{debug, warn};

/// The longest message, as the SDK of MCP has it.
pub(super) const MAX_MESSAGE_BYTES: usize = 16_777_216;
/// Messages that wait on one side until somebody takes them; then the other side waits.
pub(super) const WAITING: usize = 64;
/// How long a server may take to end once nobody asks it any more.
const LEAVE: Duration = Duration::from_secs(2);

/// Both directions of one side.
pub(super) struct Link {
    pub(super) to: Sender<Message>,
    pub(super) from: Receiver<Message>,
}

/// A link over two pipes. `answers` says whether a line that is no message is answered, as that of a client is.
pub(super) fn pipes<R, W>(reader: R, writer: W, answers: bool) -> Link
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (to, mut going) = channel::<Message>(WAITING);
    let (coming, from) = channel(WAITING);
    let mut writer = writer;
    tokio::spawn(async move {
        while let Some(message) = going.recv().await {
            let line = message.to_line() + "\n";
            if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                // whoever reads there is gone, which the reading end hears as well
                return;
            }
        }
    });
    let back = to.downgrade();
    let mut reader = BufReader::new(reader);
    tokio::spawn(async move {
        let mut line = Vec::new();
        loop {
            let message = match read(&mut reader, &mut line).await {
                Ok(Line::Whole) if line.trim_ascii().is_empty() => continue,
                Ok(Line::Whole) => serde_json::from_slice(&line).ok().and_then(Message::of),
                Ok(Line::TooLong) => None,
                Ok(Line::End) => return,
                Err(error) => return debug!(%error, "a pipe has broken"),
            };
            match (message, back.upgrade()) {
                (Some(message), _) => {
                    if coming.send(message).await.is_err() {
                        return;
                    }
                }
                (None, Some(back)) if answers => {
                    let told = Message::error(Value::Null, PARSE_ERROR, messages::NO_MESSAGE);
                    let _ = back.send(told).await;
                }
                (None, _) => warn!("a line that is no message of MCP was passed over"),
            }
        }
    });
    Link { to, from }
}

/// What came over a pipe.
enum Line {
    Whole,
    /// It was read to its end, and nothing of it is kept.
    TooLong,
    /// Nothing will come any more.
    End,
}

async fn read<R: AsyncRead + Unpin>(reader: &mut BufReader<R>, line: &mut Vec<u8>) -> std::io::Result<Line> {
    line.clear();
    let most = u64::try_from(MAX_MESSAGE_BYTES).unwrap_or(u64::MAX);
    if (&mut *reader).take(most).read_until(b'\n', line).await? == 0 {
        return Ok(Line::End);
    }
    if line.ends_with(b"\n") || line.len() < MAX_MESSAGE_BYTES {
        return Ok(Line::Whole);
    }
    loop {
        let more = reader.fill_buf().await?;
        let end = more.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(more.len(), |end| end.saturating_add(1));
        if read == 0 || end.is_some() {
            reader.consume(read);
            return Ok(Line::TooLong);
        }
        reader.consume(read);
    }
}

/// What JSON-RPC calls a text that is no message.
const PARSE_ERROR: i64 = -32_700;

/// A server that runs as a process of this one.
pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Runs a command; its standard error is ours.
    pub(super) fn run(command: &[String]) -> Result<(Self, Link), McpError> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(McpError::Command {
                program: String::new(),
                reason: messages::NO_COMMAND.to_owned(),
            });
        };
        let fail = |reason: String| McpError::Command { program: program.clone(), reason };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| fail(error.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(fail(messages::NO_PIPES.to_owned()));
        };
        Ok((Self { child }, pipes(output, input, false)))
    }

    /// Waits a little for a server whose input is closed, then ends it.
    pub(super) async fn leave(mut self) {
        if timeout(LEAVE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_MESSAGE_BYTES, pipes};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

    #[tokio::test]
    async fn a_message_is_a_line_and_nothing_else_means_anything() {
        let (ours, theirs) = duplex(4096);
        let (reader, writer) = split(theirs);
        let mut link = pipes(reader, writer, true);
        let (reader, mut writer) = split(ours);
        let mut answers = BufReader::new(reader).lines();
        writer.write_all(b"not json\n\n[1]\n{\"id\": 1, \"method\": \"ping\", \"x\": 1.0}\n").await.unwrap();
        for _ in 0..2 {
            let told = answers.next_line().await.unwrap().unwrap();
            assert!(told.contains("-32700"), "{told}");
        }
        let message = link.from.recv().await.unwrap();
        assert_eq!(message.to_line(), r#"{"id":1,"method":"ping","x":1.0}"#);
        link.to.send(message).await.unwrap();
        let sent = answers.next_line().await.unwrap().unwrap();
        assert_eq!(sent, r#"{"id":1,"method":"ping","x":1.0}"#);
    }

    /// A line that is longer than a message may be is refused and not kept; the next one is read.
    #[tokio::test]
    async fn an_endless_line_is_refused() {
        let (ours, theirs) = duplex(65_536);
        let (reader, writer) = split(theirs);
        let mut link = pipes(reader, writer, true);
        let (reader, mut writer) = split(ours);
        let mut answers = BufReader::new(reader).lines();
        tokio::spawn(async move {
            writer.write_all(&vec![b'x'; MAX_MESSAGE_BYTES + 10]).await.unwrap();
            writer.write_all(b"\n{\"id\": 2, \"method\": \"ping\"}\n").await.unwrap();
            writer
        });
        assert!(answers.next_line().await.unwrap().unwrap().contains("-32700"));
        assert_eq!(link.from.recv().await.unwrap().id(), Some(&2.into()));
    }
}
