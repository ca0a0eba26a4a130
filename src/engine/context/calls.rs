//! `calls`: what the model called, each call as one object, most recent first: of the whole task, and of a record.
//!
//! In: the log of invocations and the open calls, where they lie. Out: views, and nothing is copied. The open calls come
//! first, in the order in which they were let through; behind them stands the history, which only grows, so that loops go
//! on where they were. Every read is constant time but for a search among the open calls and one by halves among the rejected ones.
//! These stand in a list of their own, `rejected`, because their arguments are not what the function declares. What steps invoked stands in `invoked`: a bound on the
//! calls of the model is a bound on what the model does.
//!
//! A call is one object because a rule is mostly about several facts of one call (`t.status == 'successful' &&
//! t.input.order == input.order`), which lists side by side cannot say. Of an open call the function and the arguments are
//! known, the message that it was made for and when it was let through; its number, when it ended, its result and how it ended are null or `open`.

use super::call_kinds::CallKind;
use super::call_type::OPEN;
use super::invocation::{Caller, Logged};
use super::open_calls::OpenInvocation;
use super::part::{MAX_INDEX, Part};
use super::task_context::TaskContext;
use crate::cel::{GrowingEnd, Growth, View};

impl TaskContext {
    /// A call was let through: its result is awaited from now on. The function is one of the schema's.
    pub fn open_call(&mut self, call: OpenInvocation) {
        self.open.open(&self.schema, call);
    }

    /// The message that the task is at work for: the number of its latest input, 0 ahead of the first.
    #[must_use]
    pub fn message(&self) -> u32 {
        u32::try_from(self.inputs.len()).unwrap_or(u32::MAX)
    }

    /// The result of an open call is taken, or it is withdrawn: the position is that among the open calls, in the order in
    /// which they were let through.
    pub fn close_call(&mut self, position: usize) {
        self.open.close(position);
    }

    /// How many calls a list has; of all functions, or of a record.
    pub(super) fn calls_len(&self, kind: CallKind, record: Option<u32>) -> usize {
        let (open, closed) = self.calls_parts(kind, record);
        open.saturating_add(closed)
    }

    /// How many of them are open, and how many are on record.
    fn calls_parts(&self, kind: CallKind, record: Option<u32>) -> (usize, usize) {
        let open = open_by(kind).map_or(0, |origin| self.open.len(origin, record));
        (open, self.history.calls_len(kind, record))
    }

    /// A call of a list, 0 the most recent.
    pub(super) fn call_at(&self, kind: CallKind, record: Option<u32>, index: usize) -> Option<View<'_>> {
        let (open, _) = self.calls_parts(kind, record);
        let (part, position) = match index.checked_sub(open) {
            None => (Part::OpenCall, self.open.newest(open_by(kind)?, record, index)?),
            Some(index) => (Part::Call, self.history.newest_call(kind, record, index)?),
        };
        (position <= MAX_INDEX).then(|| View::Record { of: self, at: part.at(position) })
    }

    /// A field of the call at a position of the log.
    pub(super) fn call_field(&self, position: u32, slot: usize) -> Option<View<'_>> {
        let call = self.history.log().get(position as usize)?;
        let Logged { function, at, input, output, status, origin, .. } = call;
        Some(match slot {
            0 => View::Int(i64::from(position).saturating_add(1)),
            1 => View::Time(at.as_str()),
            2 => View::Text(self.name_of(*function)),
            3 => View::Json(input.root()),
            4 => output.as_ref().map_or(View::Null, |output| View::Json(output.root())),
            5 => View::Text(status.as_str()),
            6 => View::Bool(false),
            7 => View::Int(self.history.message_of(position).into()),
            8 => View::Time(self.history.start_of(position, call).as_str()),
            9 => View::Bool(*origin == Caller::Middleware),
            _ => return None,
        })
    }

    /// A field of an open call.
    pub(super) fn open_call_field(&self, position: u32, slot: usize) -> Option<View<'_>> {
        let OpenInvocation { function, input, message, started_at, origin } = self.open.get(position)?;
        Some(match slot {
            0 | 1 | 4 => View::Null,
            2 => View::Text(self.name_of(*function)),
            3 => View::Json(input.root()),
            5 => View::Text(OPEN),
            6 => View::Bool(true),
            7 => View::Int((*message).into()),
            8 => View::Time(started_at.as_str()),
            9 => View::Bool(*origin == Caller::Middleware),
            _ => return None,
        })
    }

    /// How a list of calls grows: the last call of the model may still become restricted, and the open ones go.
    pub(super) fn calls_growth(&self, kind: CallKind, record: Option<u32>) -> Option<Growth<'_>> {
        let changes = match record {
            None => self.history.changes(),
            Some(record) => self.history.of(record)?.changes(),
        };
        let closed = self.history.calls_len(kind, record);
        let settled = closed.saturating_sub(usize::from(kind == CallKind::Model));
        Some(Growth { folds: &self.folds, end: GrowingEnd::Front, settled, epoch: changes })
    }
}

/// Who has made the open calls of a list; none of those that are rejected is open.
fn open_by(kind: CallKind) -> Option<Caller> {
    match kind {
        CallKind::Model => Some(Caller::Model),
        CallKind::Invoked => Some(Caller::Middleware),
        CallKind::Rejected => None,
    }
}
