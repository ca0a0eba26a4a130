//! One side of a guard: messages that come from a program and messages that go to it.
//!
//! In: two pipes, or a command to run. Out: a [`Link`]. Over pipes a message is a line, and lines are bounded. A line that cannot be read is
//! dropped; if it has the id of a response, the call that waits for it fails, otherwise its sender is told. Dropping the sending end closes
//! the pipe.

use super::error::McpError;
use super::message::{INTERNAL_ERROR, INVALID_REQUEST, Malformed, Message, PARSE_ERROR};
use super::messages;
use super::unreadable::Outline;
use celador_server::strict_json;
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
/// Messages that are queued on one side before the other side is held back.
pub(super) const WAITING: usize = 64;
/// Time for a server to end once its input is closed.
const LEAVE: Duration = Duration::from_secs(2);

/// Both directions of one side.
pub(super) struct Link {
    pub(super) to: Sender<Message>,
    pub(super) from: Receiver<Message>,
}

/// A link over two pipes. `answers` says whether a line that is no message and has no id is answered, as that of a client is.
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
                // the reading side notices the closed pipe as well
                return;
            }
        }
    });
    let back = to.downgrade();
    let mut reader = BufReader::new(reader);
    tokio::spawn(async move {
        let mut line = Vec::new();
        loop {
            let messages = match read(&mut reader, &mut line).await {
                Ok(Line::Whole) if line.trim_ascii().is_empty() => continue,
                Ok(Line::Whole) => decode(&line),
                Ok(Line::TooLong(outline)) => vec![Err(malformed(&outline, messages::LINE_TOO_LONG))],
                Ok(Line::End) => return,
                Err(error) => return debug!(%error, "a pipe has broken"),
            };
            for message in messages {
                let (forwarded, answer) = match message {
                    Ok(message) => (Some(message), None),
                    Err(malformed) => sort(malformed, answers),
                };
                if let Some(message) = forwarded
                    && coming.send(message).await.is_err()
                {
                    return;
                }
                if let (Some(answer), Some(back)) = (answer, back.upgrade()) {
                    let _ = back.send(answer).await;
                }
            }
        }
    });
    Link { to, from }
}

/// Decodes a line: a message, or a batch of them, which is taken apart.
pub(super) fn decode(line: &[u8]) -> Vec<Result<Message, Malformed>> {
    match strict_json::from_slice(line) {
        Ok(Value::Array(batch)) if !batch.is_empty() => batch.into_iter().map(Message::decode).collect(),
        Ok(value) => vec![Message::decode(value)],
        Err(_) => vec![repaired(line).ok_or_else(|| malformed(&Outline::read(line), messages::NO_JSON))],
    }
}

/// A response whose only fault is half a surrogate pair in a text. In a request that is an error.
fn repaired(line: &[u8]) -> Option<Message> {
    let value = strict_json::from_slice_lossy(line).ok()?;
    Message::of(value).filter(|message| message.method().is_none())
}

fn malformed(outline: &Outline, reason: &'static str) -> Malformed {
    let is_response = outline.has_outcome || !outline.has_method;
    Malformed { reason, id: outline.id.clone(), is_response }
}

/// The two ways on for a line that is no message: an error for the call that waits for it, and an answer to its sender.
fn sort(malformed: Malformed, answers: bool) -> (Option<Message>, Option<Message>) {
    let Malformed { reason, id, is_response } = malformed;
    warn!(reason, "a line that is no message of MCP is dropped");
    match id {
        Some(id) if is_response => {
            (Some(Message::error(id, INTERNAL_ERROR, messages::UNREADABLE_ANSWER)), None)
        }
        Some(id) => (None, Some(Message::error(id, INVALID_REQUEST, reason))),
        None if answers => (None, Some(Message::error(Value::Null, PARSE_ERROR, reason))),
        None => (None, None),
    }
}

/// A line that came over a pipe.
enum Line {
    Whole,
    /// It was read to its end, and nothing of it is kept but its outline.
    TooLong(Outline),
    /// The pipe is closed.
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
    let mut outline = Outline::read(line);
    line.clear();
    loop {
        let more = reader.fill_buf().await?;
        let end = more.iter().position(|byte| *byte == b'\n');
        let part = end.map_or(more, |end| more.get(..end).unwrap_or_default());
        outline.feed(part);
        let read = end.map_or(more.len(), |end| end.saturating_add(1));
        reader.consume(read);
        if read == 0 || end.is_some() {
            return Ok(Line::TooLong(outline));
        }
    }
}

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

    async fn lines(sent: &[u8], answers: bool) -> (Vec<String>, Vec<String>) {
        let (ours, theirs) = duplex(1 << 20);
        let (reader, writer) = split(theirs);
        let mut link = pipes(reader, writer, answers);
        let (reader, mut writer) = split(ours);
        writer.write_all(sent).await.unwrap();
        writer.shutdown().await.unwrap();
        let mut came = Vec::new();
        while let Some(message) = link.from.recv().await {
            came.push(message.to_line());
        }
        drop(link);
        let mut answers = BufReader::new(reader).lines();
        let mut told = Vec::new();
        while let Some(line) = answers.next_line().await.unwrap() {
            told.push(line);
        }
        (came, told)
    }

    /// Lines, what they are to the session, and what their sender is answered.
    #[tokio::test]
    async fn a_line_is_a_message_or_an_error_for_its_id() {
        let error = |id: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\"");
        let cases: [(&[u8], &[String], &[String]); 9] = [
            (
                b"\n{\"id\": 1, \"method\": \"ping\", \"jsonrpc\": \"2.0\"}\n",
                &["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_owned()],
                &[],
            ),
            (b"not json\n", &[], &[error("null")]),
            (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"t\":\"\xff\"}}\n", &[error("2")], &[]),
            (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"t\":NaN}}\n", &[error("3")], &[]),
            (b"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"t\":1,\"t\":2}}\n", &[error("4")], &[]),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"t\":\"\\ud83d\"}}\n",
                &["{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"t\":\"\u{fffd}\"}}".to_owned()],
                &[],
            ),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"m\",\"params\":{\"t\":\"\\ud83d\"}}\n",
                &[],
                &[error("6")],
            ),
            (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"result\":{}}\n", &[error("7")], &[]),
            (
                b"[{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"},{\"id\":9,\"method\":\"m\"}]\n",
                &["{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}".to_owned()],
                &[error("9")],
            ),
        ];
        for (sent, came, told) in cases {
            let shown = String::from_utf8_lossy(sent);
            let (seen, answered) = lines(sent, true).await;
            assert_eq!(seen.len(), came.len(), "{shown}: {seen:?}");
            assert!(seen.iter().zip(came).all(|(seen, came)| seen.starts_with(came)), "{shown}: {seen:?}");
            assert_eq!(answered.len(), told.len(), "{shown}: {answered:?}");
            assert!(
                answered.iter().zip(told).all(|(it, told)| it.starts_with(told)),
                "{shown}: {answered:?}"
            );
        }
        assert_eq!(lines(b"debug output\n", false).await, (Vec::new(), Vec::new()));
    }

    /// Of a line over the limit the id is found before and behind the limit, and the next line is read.
    #[tokio::test]
    async fn a_line_over_the_limit_fails_the_call_that_waits_for_it() {
        let text = "x".repeat(MAX_MESSAGE_BYTES);
        for line in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"t\":\"{text}\"}}}}\n"),
            format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"t\":\"{text}\"}},\"id\":1}}\n"),
        ] {
            let (ours, theirs) = duplex(65_536);
            let (reader, writer) = split(theirs);
            let mut link = pipes(reader, writer, true);
            let (_answers, mut writer) = split(ours);
            tokio::spawn(async move {
                writer.write_all(line.as_bytes()).await.unwrap();
                writer.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").await.unwrap();
                writer
            });
            let failed = link.from.recv().await.unwrap();
            assert_eq!((failed.id(), failed.outcome()), (Some(&1.into()), None));
            assert_eq!(link.from.recv().await.unwrap().id(), Some(&2.into()));
        }
    }
}
