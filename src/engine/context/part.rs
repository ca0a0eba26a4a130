//! The parts of the context that are records or lists of their own, as numbers.
//!
//! An [`At`] is a part (low bits) and which one of its kind (the rest). The schema says which part a field is, so that a
//! plan goes there directly; the live view reads from it.

use crate::cel::At;

/// Declares the parts, and finds a part by its number: comparisons that the compiler makes one check of the range of.
macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// A part of the context that is a record or a list of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Part {
            $($(#[$doc])* $name,)+
        }

        impl Part {
            /// The part with this number.
            #[inline]
            fn numbered(number: u32) -> Option<Self> {
                $(if number == Self::$name as u32 {
                    return Some(Self::$name);
                })+
                None
            }
        }
    };
}

parts! {
    Context,
    Agent,
    User,
    Request,
    Llm,
    Tokens,
    History,
    Turns,
    Capabilities,
    Meta,
    Invocations,
    Inputs,
    Outputs,
    /// The input under test: a list of the last one (`GR-08`).
    PendingInput,
    /// The response under test (`GR-10`).
    PendingOutput,
    /// An entry of `context.input`, by position.
    Input,
    /// An entry of `context.output`, by position.
    Output,
    InputMessage,
    OutputMessage,
    /// A function's or tool's record; with its lists, by record.
    Record,
    Timestamps,
    RecordInputs,
    RecordOutputs,
    Successful,
    Errored,
    Restricted,
    TaskIds,
    /// The reviews that are closed.
    Reviews,
    /// All calls as objects.
    Calls,
    /// Those of a record.
    RecordCalls,
    /// All calls that were rejected.
    Rejected,
    /// Those of a record.
    RecordRejected,
    /// All calls that steps invoked.
    Invoked,
    /// Those of a record.
    RecordInvoked,
    /// A call, by its position in the log.
    Call,
    /// An open call, by its position among these.
    OpenCall,
}

/// Enough for all parts; what is left is for the index.
const PART_BITS: u32 = 6;
pub(super) const MAX_INDEX: u32 = u32::MAX >> PART_BITS;

impl Part {
    /// The part with this index; 0 for what there is one of.
    #[inline]
    pub(super) fn at(self, index: u32) -> At {
        At(index << PART_BITS | self as u32)
    }

    /// The part and the index. No [`At`] but those made above comes here; another reads as the whole context.
    #[inline]
    pub(super) fn of(at: At) -> (Self, u32) {
        let part = Self::numbered(at.0 & !(u32::MAX << PART_BITS));
        (part.unwrap_or(Self::Context), at.0 >> PART_BITS)
    }
}
