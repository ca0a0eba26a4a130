//! Conversions between types: `int()`, `uint()`, `double()`, `string()`, `bytes()`, `bool()`, `timestamp()`, …
//!
//! Each gives the value itself if it has the type already. Numbers outside the range are an error, never cut.

use super::{Blob, Duration, Text, Timestamp, TypeName, Value};
use crate::fault::{ErrorCode, Fault};
use crate::meter::Meter;

impl<'a> Value<'a> {
    /// `int(x)`: a double loses its fraction, a timestamp gives its seconds.
    ///
    /// # Errors
    /// `overflow`, `invalid_argument` or `no_matching_overload`.
    pub fn to_int(&self) -> Result<Self, Fault> {
        Ok(Self::Int(match self {
            Self::Int(value) => *value,
            Self::UInt(value) => i64::try_from(*value).map_err(|_| ErrorCode::Overflow)?,
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the range is tested, the fraction is to be cut"
            )]
            Self::Double(value)
                if *value > -9_223_372_036_854_775_808.0 && *value < 9_223_372_036_854_775_808.0 =>
            {
                *value as i64
            }
            Self::Double(_) => return Err(ErrorCode::Overflow.into()),
            Self::String(text) => text.parse().map_err(|_| ErrorCode::InvalidArgument)?,
            Self::Timestamp(time) => time.seconds(),
            Self::Duration(duration) => i64::try_from(duration.nanos()).map_err(|_| ErrorCode::Overflow)?,
            other => return Err(Fault::no_overload([other.kind()])),
        }))
    }

    /// `uint(x)`: a double loses its fraction; one below zero is out of range, however near.
    ///
    /// # Errors
    /// `overflow`, `invalid_argument` or `no_matching_overload`.
    pub fn to_uint(&self) -> Result<Self, Fault> {
        Ok(Self::UInt(match self {
            Self::UInt(value) => *value,
            Self::Int(value) => u64::try_from(*value).map_err(|_| ErrorCode::Overflow)?,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range is tested, the fraction is to be cut"
            )]
            Self::Double(value) if *value >= 0.0 && *value < 18_446_744_073_709_551_616.0 => *value as u64,
            Self::Double(_) => return Err(ErrorCode::Overflow.into()),
            Self::String(text) => text.parse().map_err(|_| ErrorCode::InvalidArgument)?,
            other => return Err(Fault::no_overload([other.kind()])),
        }))
    }

    /// `double(x)`: the nearest one.
    ///
    /// # Errors
    /// `invalid_argument` or `no_matching_overload`.
    pub fn to_double(&self) -> Result<Self, Fault> {
        #[expect(clippy::cast_precision_loss, reason = "CEL gives the nearest double")]
        Ok(Self::Double(match self {
            Self::Double(value) => *value,
            Self::Int(value) => *value as f64,
            Self::UInt(value) => *value as f64,
            Self::String(text) => text.parse().map_err(|_| ErrorCode::InvalidArgument)?,
            other => return Err(Fault::no_overload([other.kind()])),
        }))
    }

    /// `string(x)`; bytes must be UTF-8.
    ///
    /// # Errors
    /// `invalid_argument`, `no_matching_overload`, or `budget_exceeded` before anything large is built.
    pub fn to_text(&self, meter: &mut Meter<'_>) -> Result<Self, Fault> {
        let text = match self {
            Self::String(_) => return Ok(self.clone()),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::UInt(value) => value.to_string(),
            Self::Double(value) => double_text(*value),
            Self::Timestamp(time) => time.to_string(),
            Self::Duration(duration) => duration.to_string(),
            Self::Opaque(value) => {
                meter.charge_built(value.bytes())?;
                value.to_string()
            }
            Self::Bytes(bytes) => {
                meter.charge_built(bytes.len())?;
                std::str::from_utf8(bytes).map_err(|_| ErrorCode::InvalidArgument)?.to_owned()
            }
            other => return Err(Fault::no_overload([other.kind()])),
        };
        Ok(Self::owned_text(text))
    }

    /// `bytes(x)`: the UTF-8 of a text.
    ///
    /// # Errors
    /// `no_matching_overload`, or `budget_exceeded` before anything large is built.
    pub fn to_bytes(&self, meter: &mut Meter<'_>) -> Result<Self, Fault> {
        match self {
            Self::Bytes(_) => Ok(self.clone()),
            Self::String(Text::Borrowed(text)) => Ok(Self::Bytes(Blob::Borrowed(text.as_bytes()))),
            Self::String(text) => {
                meter.charge_built(text.len())?;
                Ok(Self::Bytes(Blob::Shared(text.as_bytes().into())))
            }
            other => Err(Fault::no_overload([other.kind()])),
        }
    }

    /// `bool(x)`: `true`, `t`, `1` and their opposites.
    ///
    /// # Errors
    /// `invalid_argument` or `no_matching_overload`.
    pub fn to_bool(&self) -> Result<Self, Fault> {
        match self {
            Self::Bool(value) => Ok(Self::Bool(*value)),
            Self::String(text) => match &**text {
                "true" | "True" | "TRUE" | "t" | "1" => Ok(Self::Bool(true)),
                "false" | "False" | "FALSE" | "f" | "0" => Ok(Self::Bool(false)),
                _ => Err(ErrorCode::InvalidArgument.into()),
            },
            other => Err(Fault::no_overload([other.kind()])),
        }
    }

    /// `timestamp(x)`: RFC 3339 text, or seconds since 1970.
    ///
    /// # Errors
    /// `invalid_argument`, `overflow` or `no_matching_overload`.
    pub fn to_timestamp(&self) -> Result<Self, Fault> {
        Ok(Self::Timestamp(match self {
            Self::Timestamp(time) => *time,
            Self::Int(seconds) => Timestamp::from_unix(*seconds)?,
            Self::String(text) => text.parse()?,
            other => return Err(Fault::no_overload([other.kind()])),
        }))
    }

    /// `duration(x)`: text such as `1h30m`.
    ///
    /// # Errors
    /// `invalid_argument`, `overflow` or `no_matching_overload`.
    pub fn to_duration(&self) -> Result<Self, Fault> {
        Ok(Self::Duration(match self {
            Self::Duration(duration) => *duration,
            Self::String(text) => text.parse::<Duration>()?,
            other => return Err(Fault::no_overload([other.kind()])),
        }))
    }

    /// `type(x)`.
    #[must_use]
    pub fn to_type(&self) -> Self {
        let name = match self {
            Self::Opaque(value) => value.type_name(),
            other => other.kind().name(),
        };
        Self::Type(TypeName(name.into()))
    }
}

/// The shortest text that reads back as the same double, with an exponent where digits would only count zeros.
fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value != 0.0 && !(1e-4..1e21).contains(&value.abs()) {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    value.to_string()
}
