//! `format`: a template and its arguments to a text. Each piece is paid for before it is added.
//!
//! A clause is `%`, for `f` and `e` a precision (`%.2f`), and a letter. There are no widths and no flags.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::meter::Meter;
use crate::value::{List, Map, Value};

/// Digits after the point where a clause does not say how many.
const PRECISION: u16 = 6;

/// The text that a template and its arguments give.
///
/// # Errors
/// `invalid_argument` for a clause that is none, `index_out_of_bounds` for one without an argument,
/// `no_matching_overload` for an argument that its clause cannot write, `budget_exceeded`.
pub(super) fn format(meter: &mut Meter<'_>, template: &str, args: &List<'_>) -> Result<String, Fault> {
    let mut output = Output { meter, text: String::new() };
    let mut rest = template;
    let mut next = 0..args.len();
    while let Some((before, after)) = rest.split_once('%') {
        output.push(before)?;
        if let Some(after) = after.strip_prefix('%') {
            output.push("%")?;
            rest = after;
            continue;
        }
        let (clause, after) = Clause::read(after).ok_or(ErrorCode::InvalidArgument)?;
        let arg = next.next().and_then(|index| args.get(index)).ok_or(ErrorCode::IndexOutOfBounds)?;
        output.write(clause, &arg)?;
        rest = after;
    }
    output.push(rest)?;
    Ok(output.text)
}

/// How an argument is written.
#[derive(Clone, Copy)]
enum Clause {
    /// `%s`
    Text,
    /// `%d`
    Decimal,
    /// `%.2f`
    Fixed(u16),
    /// `%.2e`
    Scientific(u16),
    /// `%x`
    LowerHex,
    /// `%X`
    UpperHex,
    /// `%o`
    Octal,
    /// `%b`
    Binary,
}

impl Clause {
    /// Reads what stands after the sign, and says what follows.
    fn read(text: &str) -> Option<(Self, &str)> {
        let (precision, text) = match text.strip_prefix('.') {
            Some(text) => {
                let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                let (digits, rest) = text.split_at_checked(digits)?;
                (Some(digits.parse::<u16>().ok()?), rest)
            }
            None => (None, text),
        };
        let mut rest = text.chars();
        let clause = match (rest.next()?, precision) {
            ('f', precision) => Self::Fixed(precision.unwrap_or(PRECISION)),
            ('e', precision) => Self::Scientific(precision.unwrap_or(PRECISION)),
            ('s', None) => Self::Text,
            ('d', None) => Self::Decimal,
            ('x', None) => Self::LowerHex,
            ('X', None) => Self::UpperHex,
            ('o', None) => Self::Octal,
            ('b', None) => Self::Binary,
            _ => return None,
        };
        Some((clause, rest.as_str()))
    }
}

/// A text that grows as far as the budget goes.
struct Output<'m, 'l> {
    meter: &'m mut Meter<'l>,
    text: String,
}

impl Output<'_, '_> {
    fn push(&mut self, piece: &str) -> Result<(), Fault> {
        self.meter.charge_built(piece.len())?;
        self.text.push_str(piece);
        Ok(())
    }

    fn write(&mut self, clause: Clause, arg: &Value<'_>) -> Result<(), Fault> {
        let piece = match (clause, arg) {
            (Clause::Text, _) => return self.write_text(arg),
            (Clause::Decimal, Value::Int(value)) => value.to_string(),
            (Clause::Decimal, Value::UInt(value)) => value.to_string(),
            (Clause::Decimal, Value::Double(value)) => double_text(*value),
            (Clause::Fixed(_) | Clause::Scientific(_), Value::Int(_) | Value::UInt(_)) => {
                return self.write(clause, &arg.to_double()?);
            }
            (Clause::Fixed(_) | Clause::Scientific(_), Value::Double(value)) if !value.is_finite() => {
                double_text(*value)
            }
            (Clause::Fixed(precision), Value::Double(value)) => {
                self.meter.charge_built(usize::from(precision))?;
                format!("{value:.*}", usize::from(precision))
            }
            (Clause::Scientific(precision), Value::Double(value)) => {
                self.meter.charge_built(usize::from(precision))?;
                scientific(*value, precision)
            }
            (Clause::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
            (Clause::LowerHex | Clause::UpperHex, Value::String(text)) => {
                return self.write_hex(clause, text.as_bytes());
            }
            (Clause::LowerHex | Clause::UpperHex, Value::Bytes(bytes)) => {
                return self.write_hex(clause, bytes);
            }
            (_, Value::Int(value)) => {
                self.push(if *value < 0 { "-" } else { "" })?;
                in_base(clause, value.unsigned_abs())
            }
            (_, Value::UInt(value)) => in_base(clause, *value),
            _ => return no_overload(&[arg]),
        };
        self.push(&piece)
    }

    fn write_hex(&mut self, clause: Clause, bytes: &[u8]) -> Result<(), Fault> {
        self.meter.charge_built(bytes.len().saturating_mul(2))?;
        let digits = match clause {
            Clause::UpperHex => b"0123456789ABCDEF",
            _ => b"0123456789abcdef",
        };
        let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
        let digit = |nibble: u8| digits.get(usize::from(nibble)).copied().map(char::from);
        self.text.extend(nibbles.filter_map(digit));
        Ok(())
    }

    /// Any value. Recurses into values, which are no deeper than what expressions and `max_json_depth` let in.
    fn write_text(&mut self, value: &Value<'_>) -> Result<(), Fault> {
        match value {
            Value::Null => self.push("null"),
            Value::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Value::Int(value) => self.push(&value.to_string()),
            Value::UInt(value) => self.push(&value.to_string()),
            Value::Double(value) => self.push(&double_text(*value)),
            Value::String(text) => self.push(text),
            Value::Bytes(bytes) => {
                self.meter.charge_text(bytes.len())?;
                self.push(std::str::from_utf8(bytes).map_err(|_| ErrorCode::InvalidArgument)?)
            }
            Value::Timestamp(time) => self.push(&time.to_string()),
            Value::Duration(duration) => self.push(&duration.to_string()),
            Value::Type(name) => self.push(&name.0),
            Value::Opaque(value) => {
                self.meter.charge_text(value.bytes())?;
                self.push(&value.to_string())
            }
            Value::List(list) => {
                self.push("[")?;
                for (index, item) in list.iter().enumerate() {
                    self.meter.charge(1)?;
                    self.push(if index == 0 { "" } else { ", " })?;
                    self.write_text(&item)?;
                }
                self.push("]")
            }
            Value::Map(map) => self.write_map(map),
            Value::Optional(_) | Value::Shortened => no_overload(&[value]),
        }
    }

    /// The entries in the order of their keys' texts.
    fn write_map(&mut self, map: &Map<'_>) -> Result<(), Fault> {
        List::charge(self.meter, map.len())?;
        let mut entries = Vec::new();
        for (key, value) in map.iter() {
            let key = key.value().to_text(self.meter)?;
            self.meter.charge_text(key.as_str().map_or(0, str::len))?;
            entries.push((key, value));
        }
        entries.sort_by(|(a, _), (b, _)| a.as_str().cmp(&b.as_str()));
        self.push("{")?;
        for (index, (key, value)) in entries.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " })?;
            self.write_text(key)?;
            self.push(": ")?;
            self.write_text(value)?;
        }
        self.push("}")
    }
}

fn in_base(clause: Clause, value: u64) -> String {
    match clause {
        Clause::LowerHex => format!("{value:x}"),
        Clause::UpperHex => format!("{value:X}"),
        Clause::Octal => format!("{value:o}"),
        _ => format!("{value:b}"),
    }
}

/// The shortest digits that read back as the same double, never with an exponent.
fn double_text(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    value.to_string()
}

/// `1.052033e+03`: the exponent has a sign and at least two digits.
fn scientific(value: f64, precision: u16) -> String {
    let text = format!("{value:.*e}", usize::from(precision));
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{digits}e{sign}{exponent:0>2}")
}
