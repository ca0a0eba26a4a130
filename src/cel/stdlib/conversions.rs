//! Conversions between types, `type()` and `dyn()`.

use super::{charge_texts, no_overload};
use crate::fault::Fault;
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::Value;

pub(super) static CONVERSIONS: &[Function] = &[
    Function {
        name: "int",
        doc: "the whole number: of a double without its fraction, of a text, of a time its seconds since 1970",
        cost: "1, and for text its length",
        overloads: &[
            ("int64_to_int64", "int(int) -> int"),
            ("uint64_to_int64", "int(uint) -> int"),
            ("double_to_int64", "int(double) -> int"),
            ("string_to_int64", "int(string) -> int"),
            ("timestamp_to_int64", "int(timestamp) -> int"),
            ("duration_to_int64", "int(duration) -> int"),
        ],
        examples: &[
            ("int(1.9)", "1"),
            ("int('42')", "42"),
            ("int(1e99)", "error: overflow"),
            ("int('x')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| converted(meter, args, Value::to_int)),
    },
    Function {
        name: "uint",
        doc: "the unsigned whole number",
        cost: "1, and for text its length",
        overloads: &[
            ("uint64_to_uint64", "uint(uint) -> uint"),
            ("int64_to_uint64", "uint(int) -> uint"),
            ("double_to_uint64", "uint(double) -> uint"),
            ("string_to_uint64", "uint(string) -> uint"),
        ],
        examples: &[("uint(1)", "1u"), ("uint(-1)", "error: overflow"), ("uint(-0.5)", "error: overflow")],
        code: Code::Pure(|meter, args| converted(meter, args, Value::to_uint)),
    },
    Function {
        name: "double",
        doc: "the nearest double",
        cost: "1, and for text its length",
        overloads: &[
            ("double_to_double", "double(double) -> double"),
            ("int64_to_double", "double(int) -> double"),
            ("uint64_to_double", "double(uint) -> double"),
            ("string_to_double", "double(string) -> double"),
        ],
        examples: &[("double(1)", "1.0"), ("double('1.5')", "1.5")],
        code: Code::Pure(|meter, args| converted(meter, args, Value::to_double)),
    },
    Function {
        name: "string",
        doc: "the value as text; bytes must be UTF-8",
        cost: "1, and the length of the text",
        overloads: &[
            ("string_to_string", "string(string) -> string"),
            ("bool_to_string", "string(bool) -> string"),
            ("int64_to_string", "string(int) -> string"),
            ("uint64_to_string", "string(uint) -> string"),
            ("double_to_string", "string(double) -> string"),
            ("bytes_to_string", "string(bytes) -> string"),
            ("timestamp_to_string", "string(timestamp) -> string"),
            ("duration_to_string", "string(duration) -> string"),
            ("ip_to_string", "string(net.IP) -> string"),
            ("cidr_to_string", "string(net.CIDR) -> string"),
            ("url_to_string", "string(kubernetes.URL) -> string"),
            ("semver_to_string", "string(kubernetes.Semver) -> string"),
            ("quantity_to_string", "string(kubernetes.Quantity) -> string"),
        ],
        examples: &[
            ("string(1.5)", "'1.5'"),
            ("string(duration('1m30s'))", "'90s'"),
            (r"string(b'\xff')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [value] => value.to_text(meter),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "bytes",
        doc: "the UTF-8 bytes of a text",
        cost: "1, and the length of the text",
        overloads: &[
            ("bytes_to_bytes", "bytes(bytes) -> bytes"),
            ("string_to_bytes", "bytes(string) -> bytes"),
        ],
        examples: &[("bytes('é')", r"b'\xc3\xa9'")],
        code: Code::Pure(|meter, args| match args {
            [value] => value.to_bytes(meter),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "bool",
        doc: "true for the texts `true`, `t` and `1`, false for their opposites",
        cost: "1",
        overloads: &[("bool_to_bool", "bool(bool) -> bool"), ("string_to_bool", "bool(string) -> bool")],
        examples: &[("bool('true')", "true"), ("bool('yes')", "error: invalid_argument")],
        code: Code::Pure(|_, args| match args {
            [value] => value.to_bool(),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "type",
        doc: "the type of a value, as a value",
        cost: "1",
        overloads: &[("type", "type(A) -> type(A)")],
        examples: &[("type(1) == int", "true"), ("type('a') == type('b')", "true")],
        code: Code::Pure(|_, args| match args {
            [value] => Ok(value.to_type()),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "dyn",
        doc: "the value itself, its type forgotten",
        cost: "1",
        overloads: &[("to_dyn", "dyn(A) -> dyn")],
        examples: &[("dyn(1) == 'a'", "false")],
        code: Code::Pure(|_, args| match args {
            [value] => Ok((*value).clone()),
            _ => no_overload(args),
        }),
    },
];

/// The only argument as a value of another type; text is paid for before it is read.
pub(super) fn converted<'a>(
    meter: &mut Meter<'_>,
    args: &[&Value<'a>],
    convert: fn(&Value<'a>) -> Result<Value<'a>, Fault>,
) -> Result<Value<'a>, Fault> {
    charge_texts(meter, args)?;
    match args {
        [value] => convert(value),
        _ => no_overload(args),
    }
}
