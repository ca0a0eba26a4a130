//! The functions that policies have beyond the language: `hash.sha256`, those that the specification adds to CEL (`put`), and
//! those that the host of a task answers.
//!
//! `review`, `mount.read`, `mount.write` and `file` are declarations only; whoever runs the task answers them, and may
//! have to ask somebody first. Which scope knows which of them stands in `scope`.

use crate::cel::{
    Code, Declaration, Duration, Entries, ErrorCode, Fault, Function, Key, Map, Meter, Timestamp, Value,
};
use crate::digest::Digest;

/// `put` (`CEL-11`).
pub const PUT: &[Function] = &[Function {
    name: "put",
    doc: "a copy of a map with one key set; the map itself stays as it was",
    cost: "linear in the entries of the map",
    overloads: &[("map_put_string", "map(string, A).put(string, dyn) -> map(string, dyn)")],
    examples: &[
        ("{'a': 1}.put('b', 2)", "{'a': 1, 'b': 2}"),
        ("{'a': 1}.put('a', 2)", "{'a': 2}"),
        ("{}.put('a', null)", "{'a': null}"),
        ("dyn('text').put('a', 1)", "error: no_matching_overload"),
        ("{'a': 1}.put(dyn(1), 1)", "error: no_matching_overload"),
    ],
    code: Code::Pure(put),
}];

/// `within`: of every scope that knows `now`.
pub const WITHIN: &[Function] = &[Function {
    name: "within",
    doc: "whether a call came to its end at most this span before `now`; an open call is within every span. A time is taken as well",
    cost: "one",
    overloads: &[
        ("within_map_string", "within(map(string, dyn), string) -> bool"),
        ("within_string_string", "within(string, string) -> bool"),
        ("within_timestamp_string", "within(timestamp, string) -> bool"),
    ],
    examples: &[
        ("within({'at': '2026-05-20T03:15:00Z'}, '1h')", "true"),
        ("within({'at': '2026-05-20T02:45:00Z'}, '1h')", "true"),
        ("within({'at': '2026-05-20T02:44:59.9Z'}, '1h')", "false"),
        ("within({'at': null, 'open': true}, '1h')", "true"),
        ("within('2026-05-20T03:44:00Z', '90s')", "true"),
        ("within({'at': '2026-05-20T03:15:00Z'}, '1 hour')", "error: invalid_argument"),
        ("within({'at': '2026-05-20T03:15:00Z'}, '-1h')", "error: invalid_argument"),
        ("within({'at': null}, '1h')", "error: no_matching_overload"),
    ],
    code: Code::Given {
        variables: &["now"],
        code: within,
        accepts: |position, value| position != 1 || value.as_str().is_none_or(|text| span(text).is_some()),
        // what is later than `now` is within every span, so it holds of a list's end
        is_of_time: true,
    },
}];

/// `hash.sha256`. It stands here and not in the language, because the engine digests anyway and the language would bring along
/// a library for it. Neither CEL's own extensions nor those of Kubernetes have a name for it.
pub const HASH: &[Function] = &[Function {
    name: "hash.sha256",
    doc: "the SHA-256 of bytes, or of a text in UTF-8, as 64 hexadecimal digits in lower case",
    cost: "1, and the length of the text or bytes",
    overloads: &[
        ("hash_sha256_string", "hash.sha256(string) -> string"),
        ("hash_sha256_bytes", "hash.sha256(bytes) -> string"),
    ],
    examples: &[
        ("hash.sha256('abc')", "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'"),
        (r"hash.sha256(b'\xff').size()", "64"),
        ("hash.sha256('é') == hash.sha256(bytes('é'))", "true"),
    ],
    code: Code::Pure(sha256),
}];

/// `review` (`RV-01`): of capability middleware and CEL tools.
pub const REVIEW: &[Function] = &[Function {
    name: "review",
    doc: "asks a user, by id or e-mail address, and suspends the task until the review is decided",
    cost: "one, and the time until somebody decides",
    overloads: &[("review_string", "review(string) -> bool")],
    examples: &[],
    code: Code::Host,
}];

/// `review` of policy documents, which may ask several people.
pub const REVIEW_OF_POLICIES: &[Function] = &[Function {
    name: "review",
    doc: "asks a user, by id or e-mail address, and suspends the task until the review is decided; in a policy also people of whom several have to approve \
          (`{'any_of': ['group:payments', 'lead@example.com'], 'at_least': 2, 'expires': '1h'}`)",
    cost: "one, and the time until somebody decides",
    overloads: &[
        ("review_string", "review(string) -> bool"),
        ("review_map", "review(map(string, dyn)) -> bool"),
    ],
    examples: &[],
    code: Code::Host,
}];

/// `mount.read` and `mount.write` (`MNT-05`, `MNT-06`): of CEL tools.
pub const MOUNT: &[Function] = &[
    Function {
        name: "mount.read",
        doc: "the text of a file below the mount's prefix",
        cost: "one, and the time of the backend",
        overloads: &[("mount_read_string", "mount.read(string) -> string")],
        examples: &[],
        code: Code::Host,
    },
    Function {
        name: "mount.write",
        doc: "writes text into a file below the mount's prefix and gives it back",
        cost: "one, and the time of the backend",
        overloads: &[("mount_write_string_string", "mount.write(string, string) -> string")],
        examples: &[],
        code: Code::Host,
    },
];

/// `file` (`SCR-05`): of the model's scripts, where the agent has a mount.
pub const FILE: &[Function] = &[Function {
    name: "file",
    doc: "a reference to a file of the mount, without its content",
    cost: "one, and the time of the backend",
    overloads: &[("file_string", "file(string) -> dyn")],
    examples: &[],
    code: Code::Host,
}];

/// A capability in the model's scripts (`SCR-02`): the row that all of them share, each under its own key.
const CAPABILITY: Function = Function {
    name: "capability",
    doc: "calls the capability with these arguments and gives its result",
    cost: "one, and that of the call",
    overloads: &[("capability_map", "capability(map(A, B)) -> dyn")],
    examples: &[],
    code: Code::Host,
};

/// The function of a capability. One whose key is the name of another function of the scope stands beside it: its argument
/// is a map, and that of no other function of a script is.
pub(super) fn capability(key: &str, beside: Option<&Declaration>) -> Declaration {
    let own = Declaration::of(&CAPABILITY).named(key.to_owned());
    let others = beside.into_iter().flat_map(|other| other.overloads.iter());
    let overloads = own.overloads.iter().chain(others).cloned().collect();
    Declaration { overloads, ..own }
}

/// Bytes that an entry of a computed map takes, roughly: what the budget is asked for.
const ENTRY_BYTES: usize = size_of::<(Key<'_>, Value<'_>)>();

fn put<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let (Some(Value::Map(map)), Some(Value::String(key)), Some(value), 3) =
        (args.first(), args.get(1), args.get(2), args.len())
    else {
        return Err(Fault::no_overload(args.iter().map(|arg| arg.kind())));
    };
    meter.charge_built(map.len().saturating_add(1).saturating_mul(ENTRY_BYTES))?;
    let mut entries: Entries<'a> = Map::iter(map).collect();
    entries.insert(Key::String(key.clone()), (*value).clone());
    Ok(Value::map(entries))
}

/// The span that a text says, if it is none that goes back in time.
fn span(text: &str) -> Option<Duration> {
    Duration::parse(text).ok().filter(|span| span.nanos() >= 0)
}

fn within<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let &[of, length, now] = args else { return Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))) };
    let no_overload = || Fault::no_overload([of.kind(), length.kind()]);
    let ends = match of {
        Value::Map(call) => call.get_str("at").ok_or(ErrorCode::NoSuchKey)?,
        time => time.clone(),
    };
    let span = span(length.as_str().ok_or_else(no_overload)?).ok_or(ErrorCode::InvalidArgument)?;
    let time = |meter: &mut Meter<'_>, value: &Value<'_>| match value {
        Value::Timestamp(time) => Ok(*time),
        Value::String(text) => {
            meter.charge_text(text.len())?;
            text.parse::<Timestamp>()
        }
        _ => Err(no_overload()),
    };
    if let (Value::Null, Value::Map(call)) = (&ends, of)
        && matches!(call.get_str("open"), Some(Value::Bool(true)))
    {
        return Ok(Value::Bool(true));
    }
    let (ends, now) = (time(meter, &ends)?, time(meter, now)?);
    Ok(Value::Bool(now.nanos().saturating_sub(ends.nanos()) <= span.nanos()))
}

fn sha256<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>]) -> Result<Value<'a>, Fault> {
    let bytes = match args {
        [Value::String(text)] => text.as_bytes(),
        [Value::Bytes(bytes)] => bytes,
        _ => return Err(Fault::no_overload(args.iter().map(|arg| arg.kind()))),
    };
    meter.charge_text(bytes.len())?;
    meter.charge_built(Digest::HEX)?;
    Ok(Value::owned_text(Digest::of(bytes).to_string()))
}

#[cfg(test)]
mod tests {
    use super::{CAPABILITY, FILE, HASH, MOUNT, PUT, REVIEW, REVIEW_OF_POLICIES, WITHIN, put};
    use crate::cel::{Declaration, Entries, ErrorCode, Json, Meter, Value};
    use crate::limits::EngineLimits;

    #[test]
    fn every_signature_can_be_read() {
        for function in
            [HASH, PUT, WITHIN, REVIEW, REVIEW_OF_POLICIES, MOUNT, FILE, &[CAPABILITY]].into_iter().flatten()
        {
            assert_eq!(Declaration::of(function).overloads.len(), function.overloads.len());
        }
    }

    #[test]
    fn put_copies_and_refuses_what_is_no_map() {
        let limits = EngineLimits::default();
        let mut meter = Meter::new(&limits.eval);
        let map = Json::from(serde_json::json!({ "a": 1, "b": [2] }));
        let put_in = put(&mut meter, &[&map.value(), &Value::text("b"), &Value::Null]).unwrap();
        assert_eq!(Json::from_value(&put_in, &limits.eval).unwrap().to_string(), r#"{"a":1,"b":null}"#);
        assert_eq!(map.to_string(), r#"{"a":1,"b":[2]}"#);
        let empty = Value::map(Entries::new());
        for args in
            [[Value::text("s"), Value::text("a"), Value::Int(1)], [empty, Value::Int(1), Value::Int(1)]]
        {
            assert_eq!(put(&mut meter, &args.each_ref()).unwrap_err().code, ErrorCode::NoMatchingOverload);
        }
    }
}
