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
}

impl OpenCalls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn open(&mut self, schema: &ContextSchema, call: OpenInvocation) {
        let position = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.of_records.extend(schema.records_of(call.function).iter().map(|&record| (record, position)));
        self.of_records.sort_unstable();
        self.calls.push(call);
    }

    /// Takes out the call at a position, in the order in which calls were let through.
    pub(super) fn close(&mut self, position: usize) {
        if position >= self.calls.len() {
            return;
        }
        self.calls.remove(position);
        self.of_records.retain(|&(_, at)| at as usize != position);
        for (_, at) in &mut self.of_records {
            *at = at.saturating_sub(u32::from(*at as usize > position));
        }
    }

    pub(super) fn get(&self, position: u32) -> Option<&OpenInvocation> {
        self.calls.get(position as usize)
    }

    /// The position of an open call, 0 the most recent.
    pub(super) fn newest(&self, index: usize) -> Option<u32> {
        u32::try_from(self.calls.len().checked_sub(index)?.checked_sub(1)?).ok()
    }

    /// How many calls of a record are open.
    pub(super) fn len_of(&self, record: u32) -> usize {
        self.of(record).len()
    }

    /// The position of an open call of a record, 0 the most recent.
    pub(super) fn newest_of(&self, record: u32, index: usize) -> Option<u32> {
        self.of(record).iter().nth_back(index).map(|&(_, position)| position)
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
        let all = |open: &OpenCalls, record| {
            (0..open.len_of(record)).map_while(|index| open.newest_of(record, index)).collect::<Vec<_>>()
        };
        let records = |open: &OpenCalls| [0, 1, 2, 3].map(|record| all(open, record));
        assert_eq!(records(&open), [vec![3, 0], vec![1], vec![2], vec![3, 2, 0]]);
        open.close(1);
        assert_eq!(records(&open), [vec![2, 0], vec![], vec![1], vec![2, 1, 0]]);
        open.close(9);
        open.close(0);
        assert_eq!(records(&open), [vec![1], vec![], vec![0], vec![1, 0]]);
        assert_eq!((open.len(), open.newest(0), open.newest(2)), (2, Some(1), None));
        assert_eq!(open.get(1).map(|call| call.function), Some(FunctionId(0)));
    }
}
