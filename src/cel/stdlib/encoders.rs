//! The `base64` library: bytes as text and back.

use super::no_overload;
use crate::fault::ErrorCode;
use crate::function::{Code, Function};
use crate::value::{Blob, Value};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The standard alphabet; writes the padding and reads text with it or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) static ENCODERS: &[Function] = &[
    Function {
        name: "base64.encode",
        doc: "bytes as base64, padded",
        cost: "1, and the length of the text",
        overloads: &[("base64_encode_bytes", "base64.encode(bytes) -> string")],
        examples: &[("base64.encode(b'hello')", "'aGVsbG8='")],
        code: Code::Pure(|meter, args| match args {
            [Value::Bytes(bytes)] => {
                let length = base64::encoded_len(bytes.len(), true).unwrap_or(usize::MAX);
                meter.charge_built(length)?;
                Ok(Value::owned_text(BASE64.encode(&**bytes)))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "base64.decode",
        doc: "the bytes that a base64 text stands for; its padding may be missing",
        cost: "1, and the length of the text",
        overloads: &[("base64_decode_string", "base64.decode(string) -> bytes")],
        examples: &[
            ("base64.decode('aGVsbG8=')", "b'hello'"),
            ("base64.decode('aGVsbG8')", "b'hello'"),
            ("base64.decode('§')", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::String(text)] => {
                meter.charge_built(base64::decoded_len_estimate(text.len()))?;
                let bytes = BASE64.decode(&**text).map_err(|_| ErrorCode::InvalidArgument)?;
                Ok(Value::Bytes(Blob::Shared(bytes.into())))
            }
            _ => no_overload(args),
        }),
    },
];
