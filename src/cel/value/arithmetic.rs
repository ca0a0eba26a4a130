//! `+ - * / %` and negation: checked, never wrapping, never mixing number types.

use super::{Blob, List, Text, Value};
use crate::fault::{ErrorCode, Fault};
use crate::meter::Meter;

impl<'a> Value<'a> {
    /// `a + b`: numbers, text, bytes, lists, times.
    ///
    /// # Errors
    /// `overflow`, `no_matching_overload`, or `budget_exceeded` before anything large is built.
    pub fn plus(&self, other: &Self, meter: &mut Meter<'_>) -> Result<Self, Fault> {
        Ok(match (self, other) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.checked_add(*b).ok_or(ErrorCode::Overflow)?),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.checked_add(*b).ok_or(ErrorCode::Overflow)?),
            (Self::Double(a), Self::Double(b)) => Self::Double(a + b),
            (Self::String(a), Self::String(b)) => {
                meter.charge_built(a.len().saturating_add(b.len()))?;
                Self::String(Text::Shared([&**a, &**b].concat().into()))
            }
            (Self::Bytes(a), Self::Bytes(b)) => {
                meter.charge_built(a.len().saturating_add(b.len()))?;
                Self::Bytes(Blob::Shared([&**a, &**b].concat().into()))
            }
            (Self::List(a), Self::List(b)) => {
                List::charge(meter, a.len().saturating_add(b.len()))?;
                Self::list(a.iter().chain(b.iter()).collect())
            }
            (Self::Timestamp(time), Self::Duration(by)) | (Self::Duration(by), Self::Timestamp(time)) => {
                Self::Timestamp(time.plus(*by)?)
            }
            (Self::Duration(a), Self::Duration(b)) => Self::Duration(a.plus(*b)?),
            (a, b) => return Err(Fault::no_overload([a.kind(), b.kind()])),
        })
    }

    /// `a - b`: numbers and times.
    ///
    /// # Errors
    /// `overflow` or `no_matching_overload`.
    pub fn minus(&self, other: &Self) -> Result<Self, Fault> {
        Ok(match (self, other) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.checked_sub(*b).ok_or(ErrorCode::Overflow)?),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.checked_sub(*b).ok_or(ErrorCode::Overflow)?),
            (Self::Double(a), Self::Double(b)) => Self::Double(a - b),
            (Self::Timestamp(a), Self::Timestamp(b)) => Self::Duration(a.since(*b)?),
            (Self::Timestamp(time), Self::Duration(by)) => Self::Timestamp(time.minus(*by)?),
            (Self::Duration(a), Self::Duration(b)) => Self::Duration(a.minus(*b)?),
            (a, b) => return Err(Fault::no_overload([a.kind(), b.kind()])),
        })
    }

    /// `a * b`: numbers of one type.
    ///
    /// # Errors
    /// `overflow` or `no_matching_overload`.
    pub fn times(&self, other: &Self) -> Result<Self, Fault> {
        Ok(match (self, other) {
            (Self::Int(a), Self::Int(b)) => Self::Int(a.checked_mul(*b).ok_or(ErrorCode::Overflow)?),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.checked_mul(*b).ok_or(ErrorCode::Overflow)?),
            (Self::Double(a), Self::Double(b)) => Self::Double(a * b),
            (a, b) => return Err(Fault::no_overload([a.kind(), b.kind()])),
        })
    }

    /// `a / b`: numbers of one type; whole numbers round towards zero.
    ///
    /// # Errors
    /// `divide_by_zero`, `overflow` or `no_matching_overload`.
    pub fn divided_by(&self, other: &Self) -> Result<Self, Fault> {
        Ok(match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::UInt(_), Self::UInt(0)) => {
                return Err(ErrorCode::DivideByZero.into());
            }
            (Self::Int(a), Self::Int(b)) => Self::Int(a.checked_div(*b).ok_or(ErrorCode::Overflow)?),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.checked_div(*b).ok_or(ErrorCode::Overflow)?),
            (Self::Double(a), Self::Double(b)) => Self::Double(a / b),
            (a, b) => return Err(Fault::no_overload([a.kind(), b.kind()])),
        })
    }

    /// `a % b`: whole numbers of one type; the sign is that of `a`.
    ///
    /// # Errors
    /// `modulus_by_zero`, `overflow` or `no_matching_overload`.
    pub fn modulo(&self, other: &Self) -> Result<Self, Fault> {
        Ok(match (self, other) {
            (Self::Int(_), Self::Int(0)) | (Self::UInt(_), Self::UInt(0)) => {
                return Err(ErrorCode::ModulusByZero.into());
            }
            (Self::Int(a), Self::Int(b)) => Self::Int(a.checked_rem(*b).ok_or(ErrorCode::Overflow)?),
            (Self::UInt(a), Self::UInt(b)) => Self::UInt(a.checked_rem(*b).ok_or(ErrorCode::Overflow)?),
            (a, b) => return Err(Fault::no_overload([a.kind(), b.kind()])),
        })
    }

    /// `-a`: `int` and `double`.
    ///
    /// # Errors
    /// `overflow` or `no_matching_overload`.
    pub fn negated(&self) -> Result<Self, Fault> {
        Ok(match self {
            Self::Int(value) => Self::Int(value.checked_neg().ok_or(ErrorCode::Overflow)?),
            Self::Double(value) => Self::Double(-value),
            other => return Err(Fault::no_overload([other.kind()])),
        })
    }
}
