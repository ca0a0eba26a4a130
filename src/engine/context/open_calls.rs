//! The calls that were let through and whose results are awaited, as expressions see them in `calls`.
//!
//! In: a call when it is let through, its position once its result is taken. Out: the calls of all functions, or those of a
//! function's or tool's record, each in constant time but for a search among the open ones. There are few of them at any
//! time, so that to open or close one may be linear in their number.

use super::invocation::Caller;
use super::moment::Moment;
use super::schema::ContextSchema;
use super::schema_decl::FunctionId;
use crate::cel::Json;

/// A call that was let through: all that is known of it.
#[derive(Clone, Debug)]
pub struct OpenInvocation {
    /// The function.
    pub function: FunctionId,
    /// The resolved arguments.
    pub input: Json,
    /// The message that it was made for.
    pub message: u32,
    /// When it was let through.
    pub started_at: Moment,
    /// Who asked for it.
    pub origin: Caller,
}

/// The open calls of a task, in the order in which they were let through.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCalls {
    calls: Vec<OpenInvocation>,
    /// The records that each of them will enter: `(record, position above)`, sorted.
    of_records: Vec<(u32, u32)>,
    /// How many of them steps invoked. Such a call is open only once its operation is taken back.
    invoked: usize,
}

impl OpenCalls {
    /// How many of them are made so; of all records or of one.
    pub(super) fn len(&self, origin: Caller, record: Option<u32>) -> usize {
        match (record, origin) {
            (None, Caller::Middleware) => self.invoked,
            (None, Caller::Model) => self.calls.len().saturating_sub(self.invoked),
            (Some(record), _) if self.invoked > 0 => self.made_by(origin, self.positions_of(record)).count(),
            (Some(record), Caller::Model) => self.of(record).len(),
            (Some(_), Caller::Middleware) => 0,
        }
    }

    pub(super) fn open(&mut self, schema: &ContextSchema, call: OpenInvocation) {
        let position = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.of_records.extend(schema.records_of(call.function).iter().map(|&record| (record, position)));
        self.of_records.sort_unstable();
        self.invoked = self.invoked.saturating_add(usize::from(call.origin == Caller::Middleware));
        self.calls.push(call);
    }

    /// Takes out the call at a position, in the order in which calls were let through.
    pub(super) fn close(&mut self, position: usize) {
        if position >= self.calls.len() {
            return;
        }
        let closed = self.calls.remove(position);
        self.invoked = self.invoked.saturating_sub(usize::from(closed.origin == Caller::Middleware));
        self.of_records.retain(|&(_, at)| at as usize != position);
        for (_, at) in &mut self.of_records {
            *at = at.saturating_sub(u32::from(*at as usize > position));
        }
    }

    pub(super) fn get(&self, position: u32) -> Option<&OpenInvocation> {
        self.calls.get(position as usize)
    }

    /// The position of an open call that is made so, 0 the most recent; of all records or of one.
    pub(super) fn newest(&self, origin: Caller, record: Option<u32>, index: usize) -> Option<u32> {
        match record {
            None if self.invoked > 0 => {
                let all = (0..self.calls.len()).filter_map(|at| u32::try_from(at).ok());
                self.made_by(origin, all.rev()).nth(index)
            }
            Some(record) if self.invoked > 0 => {
                self.made_by(origin, self.positions_of(record).rev()).nth(index)
            }
            _ if origin == Caller::Middleware => None,
            None => u32::try_from(self.calls.len().checked_sub(index)?.checked_sub(1)?).ok(),
            Some(record) => self.of(record).iter().nth_back(index).map(|&(_, position)| position),
        }
    }

    /// Those of these positions whose calls are made so.
    fn made_by(&self, origin: Caller, positions: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        positions.filter(move |at| self.get(*at).is_some_and(|call| call.origin == origin))
    }

    fn positions_of(&self, record: u32) -> impl DoubleEndedIterator<Item = u32> {
        self.of(record).iter().map(|&(_, position)| position)
    }

    fn of(&self, record: u32) -> &[(u32, u32)] {
        let start = self.of_records.partition_point(|&(of, _)| of < record);
        let end = self.of_records.partition_point(|&(of, _)| of <= record);
        self.of_records.get(start..end).unwrap_or_default()
    }

    /// The bytes on the heap, as if nothing of it were shared. Linear in the open calls.
    pub(super) fn heap_bytes(&self) -> usize {
        let inputs = self.calls.iter().map(|call| call.input.heap_bytes());
        let places = self.of_records.capacity().saturating_mul(size_of::<(u32, u32)>());
        let calls = self.calls.capacity().saturating_mul(size_of::<OpenInvocation>());
        inputs.fold(places.saturating_add(calls), usize::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::{OpenCalls, OpenInvocation};
    use crate::cel::{Json, Timestamp, Type};
    use crate::context::{Caller, ContextSchema, FunctionDecl, FunctionId, SchemaDecl, ToolDecl};

    #[test]
    fn the_open_calls_of_each_record_stand_newest_first() {
        let function = |key: &str| FunctionDecl {
            key: key.into(),
            input: Type::Dyn,
            output: Type::Dyn,
            delegation: false,
        };
        let schema = ContextSchema::new(&SchemaDecl {
            functions: ["a", "b", "c"].map(function).into(),
            tools: vec![ToolDecl { key: "both".into(), members: vec![FunctionId(0), FunctionId(2)] }],
            ..SchemaDecl::default()
        });
        let schema = schema.unwrap();
        let mut open = OpenCalls::default();
        for function in [0, 1, 2, 0] {
            let (function, input) = (FunctionId(function), Json::object([]));
            let (started_at, origin) = (Timestamp::from_nanos(0).unwrap().into(), Caller::Model);
            open.open(&schema, OpenInvocation { function, input, message: 0, started_at, origin });
        }
        let by = |open: &OpenCalls, origin, record| {
            let len = open.len(origin, record);
            (0..len).map_while(|index| open.newest(origin, record, index)).collect::<Vec<_>>()
        };
        let all = |open: &OpenCalls, record| by(open, Caller::Model, Some(record));
        let records = |open: &OpenCalls| [0, 1, 2, 3].map(|record| all(open, record));
        assert_eq!(records(&open), [vec![3, 0], vec![1], vec![2], vec![3, 2, 0]]);
        open.close(1);
        assert_eq!(records(&open), [vec![2, 0], vec![], vec![1], vec![2, 1, 0]]);
        open.close(9);
        open.close(0);
        assert_eq!(records(&open), [vec![1], vec![], vec![0], vec![1, 0]]);
        assert_eq!(by(&open, Caller::Model, None), [1, 0]);
        assert_eq!(open.get(1).map(|call| call.function), Some(FunctionId(0)));
        // one that a step invoked stands in lists of its own
        let invoked = OpenInvocation { origin: Caller::Middleware, ..open.get(1).unwrap().clone() };
        open.open(&schema, invoked);
        assert_eq!(by(&open, Caller::Model, None), [1, 0]);
        assert_eq!(by(&open, Caller::Middleware, None), [2]);
        assert_eq!(by(&open, Caller::Model, Some(0)), [1]);
        assert_eq!(by(&open, Caller::Middleware, Some(0)), [2]);
        assert_eq!(by(&open, Caller::Middleware, Some(2)), Vec::<u32>::new());
        open.close(2);
        assert_eq!(by(&open, Caller::Middleware, None), Vec::<u32>::new());
        assert_eq!(records(&open), [vec![1], vec![], vec![0], vec![1, 0]]);
    }
}
