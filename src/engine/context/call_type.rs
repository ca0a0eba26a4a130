//! The type of a call in `calls`: its fields, their types and the words of its status.
//!
//! In: the types of arguments and results, and the functions. Out: the record that expressions are checked against. Which
//! field is in which slot is said here once; `calls` reads them in this order.

use crate::cel::{Constant, Domain, Field, RecordType, Storage, Type};
use std::sync::Arc;

/// The key of the list, of the context and of each record.
pub(super) const CALLS: &str = "calls";

/// The key of the list of rejected calls, beside that one.
pub(super) const REJECTED: &str = "rejected";

/// The key of the list of calls that steps invoked.
pub(super) const INVOKED: &str = "invoked";

/// The status of a call that gave a result.
pub(super) const SUCCESSFUL: &str = "successful";
/// That of one that failed, or could not be formed.
pub(super) const ERRORED: &str = "errored";
/// That of one that middleware stopped, or whose result it withheld.
pub(super) const RESTRICTED: &str = "restricted";
/// That of one whose result is awaited.
pub(super) const OPEN: &str = "open";

/// The fields of a call, in the order of their slots.
const CALL_FIELDS: [&str; 10] =
    ["seq", "at", "fn", "input", "output", "status", "open", "message", "started_at", "invoked"];

/// The fields that an open call has, and that never change: they are read without waiting for it.
pub(super) const KNOWN_WHILE_OPEN: [&str; 6] = ["fn", "input", "open", "message", "started_at", "invoked"];

/// The type of a call with arguments and results of these types, of one of these functions.
pub(super) fn call_type(input: Type, output: Type, functions: Option<&[Arc<str>]>) -> Arc<RecordType> {
    let texts = |texts: &mut dyn Iterator<Item = Arc<str>>| {
        Domain { allowed: Some(texts.map(Constant::Text).collect()), ..Domain::default() }.known()
    };
    let functions = functions.and_then(|keys| texts(&mut keys.iter().cloned()));
    let statuses = texts(&mut [SUCCESSFUL, ERRORED, RESTRICTED, OPEN].into_iter().map(Arc::from));
    // an open call has none yet, and some never get one
    let or_null = || Domain { or_null: true, ..Domain::default() }.known();
    let types = [
        (Type::Int, or_null(), "its number in the order of the history, from 1; null while it is open"),
        (Type::String, or_null(), "when it came to its end, UTC; null while it is open"),
        (Type::String, functions, "the function"),
        (input, None, "the resolved arguments"),
        (output, or_null(), "the result; null if there is none, or none yet"),
        (Type::String, statuses, "`successful`, `errored`, `restricted`, or `open` while it is"),
        (Type::Bool, None, "whether its result is awaited"),
        (
            Type::Int,
            None,
            "the message that it was made for, by its number in `context.input`, from 1; 0 ahead of the first",
        ),
        (Type::String, None, "when it was let through, UTC; of one that was stopped, when it was stopped"),
        (Type::Bool, None, "whether a step invoked it, and not the model"),
    ];
    let field = |(name, (ty, domain, doc)): (&str, (Type, Option<Arc<Domain>>, &str))| {
        (Arc::from(name), Field { domain, doc: doc.to_owned(), ..Field::required(ty) })
    };
    Arc::new(RecordType {
        name: "call".to_owned(),
        fields: CALL_FIELDS.into_iter().zip(types).map(field).collect(),
        aliases: Vec::new(),
        storage: Storage::Live,
    })
}

/// The fields `calls`, `rejected` and `invoked` of a record that also holds its calls in another way: of calls of this type, of one of these functions.
/// The arguments of rejected calls have no type, as they are not what the function declares.
pub(super) fn call_lists(call: &Arc<RecordType>, functions: Option<&[Arc<str>]>) -> [(Arc<str>, Field); 3] {
    let rejected = call_type(Type::Dyn, Type::Dyn, functions);
    let list = |key: &str, of: Arc<RecordType>, doc: &str| {
        let ty = Type::list(Type::Record(of));
        (Arc::from(key), Field { derived: true, doc: doc.to_owned(), ..Field::required(ty) })
    };
    [
        list(
            CALLS,
            call.clone(),
            "each call of the model as one object, most recent first, the open ones too",
        ),
        list(
            REJECTED,
            rejected,
            "the calls whose arguments were not what the function declares, most recent first; they are not among `calls`",
        ),
        list(
            INVOKED,
            call.clone(),
            "each call that an `invoke` step made, as one object, most recent first; they are not among `calls`",
        ),
    ]
}
