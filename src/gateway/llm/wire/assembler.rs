//! An answer that comes in events: put together from them, and written from what was put together.
//!
//! In: the data of events. Out: the whole answer; and meanwhile the events of what may go on before all of it is there, written from
//! what was read: no event of an API goes on itself.

use super::answer::Fault;
use super::assembly::{Assembly, Sent};
use super::{Api, chat_stream, messages_stream, responses_stream};
use serde_json::Value;

/// Puts an answer together.
#[derive(Debug)]
pub(crate) struct Assembler {
    api: Api,
    assembly: Assembly,
    sent: Sent,
}

impl Assembler {
    /// Nothing of an answer yet.
    pub(crate) fn new(api: Api, lax: bool) -> Self {
        Self { api, assembly: Assembly { lax, ..Assembly::default() }, sent: Sent::default() }
    }

    /// Takes the data of an event in. What comes behind the end of the answer is not looked at.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) fn take(&mut self, event: Value) -> Result<(), Fault> {
        match self.api {
            Api::Chat => chat_stream::take(&mut self.assembly, event),
            _ if self.assembly.complete => Ok(()),
            Api::Responses => responses_stream::take(&mut self.assembly, event),
            Api::Messages => messages_stream::take(&mut self.assembly, event),
        }
    }

    /// The events of what has come since the last time, as far as nothing of it is decided first.
    pub(crate) fn more(&mut self) -> String {
        let pinged = std::mem::take(&mut self.assembly.pinged);
        let unjudged = std::mem::take(&mut self.assembly.unjudged);
        let (assembly, sent) = (&self.assembly, &mut self.sent);
        sent.unjudged.extend(unjudged);
        let known = match self.api {
            Api::Chat => chat_stream::more(&assembly.whole, sent),
            Api::Responses => responses_stream::more(assembly, sent),
            Api::Messages => messages_stream::more(assembly, sent, pinged),
        };
        known + &sent.unjudged()
    }

    /// What has come that no table knows, since the last time.
    pub(crate) fn gone(&mut self) -> Vec<String> {
        std::mem::take(&mut self.assembly.gone)
    }

    /// The whole answer, and how much of it the client has been sent; nothing of an answer that broke off.
    pub(crate) fn finish(self) -> Option<(Value, Sent)> {
        let Self { assembly, mut sent, .. } = self;
        sent.unjudged.extend(assembly.unjudged);
        assembly.complete.then_some((assembly.whole, sent))
    }
}
