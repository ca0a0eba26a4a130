//! Values where they lie, as the validator looks at them: nothing of a document is copied.
//!
//! In: a value of a document, and how much work may go into looking at it. Out: what `jsonschema` asks of a
//! representation. Each look is paid for; when nothing is left, everything seems to be null, so that the validator comes
//! to its end, and whoever asked learns that its answer is worth nothing.

use crate::cel::{Json, JsonRef, Kind};
use jsonschema::JsonType;
use jsonschema::json::{self, JsonNumber, NodeIdentity};
use serde_json::{Number, Value};
use std::borrow::Cow;
use std::cell::Cell;

/// The work that is left.
pub(super) struct Meter {
    left: Cell<u64>,
    /// How many times the price of a text a look at it costs: patterns have many places at which each character may stand.
    factor: u64,
}

/// The bytes of a text that are looked at for the price of one value.
const BYTES_PER_LOOK: usize = 16;

impl Meter {
    pub(super) fn new(work: u64, factor: u64) -> Self {
        Self { left: Cell::new(work), factor }
    }

    /// Pays for a look at something of this size. False if there is nothing left.
    fn pay(&self, size: usize) -> bool {
        let price = u64::try_from(size).unwrap_or(u64::MAX).saturating_add(1);
        let left = self.left.get().saturating_sub(price);
        self.left.set(left);
        left > 0
    }

    /// Pays for a look at a text. False if there is nothing left.
    fn pay_text(&self, bytes: usize) -> bool {
        let factor = usize::try_from(self.factor).unwrap_or(usize::MAX);
        self.pay((bytes / BYTES_PER_LOOK).saturating_mul(factor))
    }

    /// Whether all that was looked at was seen.
    pub(super) fn is_left(&self) -> bool {
        self.left.get() > 0
    }
}

/// The representation.
pub(super) struct Packed;

/// A value, or a name that is looked at like one.
#[derive(Clone, Copy)]
pub(super) struct Seen<'v> {
    pub(super) value: JsonRef<'v>,
    pub(super) meter: Option<&'v Meter>,
}

/// Room for a name that is looked at like a value.
pub(super) struct Name(Json);

impl Default for Name {
    fn default() -> Self {
        Self(Json::null())
    }
}

impl json::Json for Packed {
    type Node<'v> = Seen<'v>;
    type PreparedKey = Box<str>;
    type StringBuffer = Name;
    // a document is a tree: no value holds itself
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(buffer: &mut Name, string: &str, f: impl FnOnce(Seen<'_>) -> T) -> T {
        buffer.0 = Json::string(string);
        f(Seen { value: buffer.0.root(), meter: None })
    }
}

impl<'v> Seen<'v> {
    fn may_look(&self, size: usize) -> bool {
        self.meter.is_none_or(|meter| meter.pay(size))
    }

    fn within(&self, value: JsonRef<'v>) -> Self {
        Self { value, meter: self.meter }
    }

    fn equals(&self, expected: &Value) -> bool {
        if !self.may_look(0) {
            return false;
        }
        match expected {
            Value::Null => self.value.is_null(),
            Value::Bool(expected) => self.as_bool() == Some(*expected),
            Value::String(expected) => self.value.as_str() == Some(expected),
            Value::Number(expected) => self.number().is_some_and(|number| number.equals(expected)),
            Value::Array(expected) => {
                let mut pairs = self.value.items().zip(expected);
                self.value.is_array()
                    && self.value.len() == expected.len()
                    && pairs.all(|(item, expected)| self.within(item).equals(expected))
            }
            Value::Object(expected) => {
                let same = |(key, value): (&str, JsonRef<'v>)| {
                    expected.get(key).is_some_and(|expected| self.within(value).equals(expected))
                };
                self.value.is_object() && self.value.len() == expected.len() && self.value.entries().all(same)
            }
        }
    }

    fn as_bool(&self) -> Option<bool> {
        match self.value.value() {
            crate::cel::Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    fn number(&self) -> Option<Figure> {
        match self.value.value() {
            crate::cel::Value::Int(number) => Some(Figure::Int(number)),
            crate::cel::Value::Double(number) => Some(Figure::Double(number)),
            _ => None,
        }
    }

    fn written(&self) -> Value {
        if !self.may_look(0) {
            return Value::Null;
        }
        match self.value.kind() {
            Kind::Bool => self.as_bool().map_or(Value::Null, Value::from),
            Kind::Int | Kind::Double => self.number().map_or(Value::Null, |number| number.into_value()),
            Kind::String => Value::from(self.value.as_str().unwrap_or_default()),
            Kind::List => self.value.items().map(|item| self.within(item).written()).collect(),
            Kind::Map => {
                let entries = self.value.entries();
                let entries = entries.map(|(key, value)| (key.to_owned(), self.within(value).written()));
                Value::Object(entries.collect())
            }
            _ => Value::Null,
        }
    }
}

impl<'v> json::Node<'v, Packed> for Seen<'v> {
    type Object = Self;
    type Array = Self;
    type Number = Figure;

    fn as_object(&self) -> Option<Self> {
        (self.value.is_object() && self.may_look(self.value.len())).then_some(*self)
    }

    fn as_array(&self) -> Option<Self> {
        (self.value.is_array() && self.may_look(self.value.len())).then_some(*self)
    }

    fn as_string(&self) -> Option<Cow<'v, str>> {
        let text = self.value.as_str()?;
        let may_look = self.meter.is_none_or(|meter| meter.pay_text(text.len()));
        may_look.then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<Figure> {
        self.number().filter(|_| self.may_look(0))
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        if !self.may_look(0) {
            return JsonType::Null;
        }
        match self.value.kind() {
            Kind::Bool => JsonType::Boolean,
            Kind::Int | Kind::Double => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::List => JsonType::Array,
            Kind::Map => JsonType::Object,
            _ => JsonType::Null,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.equals(expected)
    }

    fn to_value(&self) -> Cow<'v, Value> {
        Cow::Owned(self.written())
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let (document, place) = self.value.identity()?;
        Some(NodeIdentity::tagged(document, place))
    }
}

impl<'v> json::Object<'v, Packed> for Seen<'v> {
    type Node = Self;
    type MemberName = &'v str;
    type MembersIter = Members<'v>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn get(&self, key: &Box<str>) -> Option<Self> {
        self.value.get(key).map(|value| self.within(value))
    }

    fn members(&self) -> Members<'v> {
        Members { of: *self, next: 0 }
    }
}

impl<'v> json::Array<'v, Packed> for Seen<'v> {
    type Node = Self;
    type ElementsIter = Elements<'v>;

    fn len(&self) -> usize {
        self.value.len()
    }

    fn elements(&self) -> Elements<'v> {
        Elements { of: *self, next: 0 }
    }
}

/// The fields of an object, one after the other.
pub(super) struct Members<'v> {
    of: Seen<'v>,
    next: usize,
}

impl<'v> Iterator for Members<'v> {
    type Item = (&'v str, Seen<'v>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.of.value.entry(self.next)?;
        self.next = self.next.saturating_add(1);
        Some((key, self.of.within(value)))
    }
}

/// The items of an array, one after the other.
pub(super) struct Elements<'v> {
    of: Seen<'v>,
    next: usize,
}

impl<'v> Iterator for Elements<'v> {
    type Item = Seen<'v>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.of.value.item(self.next)?;
        self.next = self.next.saturating_add(1);
        Some(self.of.within(item))
    }
}

/// A number.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    Int(i64),
    Double(f64),
}

impl Figure {
    fn into_value(self) -> Value {
        match self {
            Self::Int(number) => Value::from(number),
            Self::Double(number) => Value::from(number),
        }
    }

    /// Equality of the numbers, however they are written.
    fn equals(self, expected: &Number) -> bool {
        let ours = match self {
            Self::Int(number) => crate::cel::Value::Int(number),
            Self::Double(number) => crate::cel::Value::Double(number),
        };
        let theirs = match (expected.as_i64(), expected.as_f64()) {
            (Some(number), _) => crate::cel::Value::Int(number),
            (None, Some(number)) => crate::cel::Value::Double(number),
            (None, None) => return false,
        };
        ours.equals(&theirs)
    }
}

impl JsonNumber for Figure {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::Double(_) => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Double(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(
                clippy::cast_precision_loss,
                reason = "as `serde_json` has it; exact answers ask for the integer"
            )]
            Self::Int(number) => Some(*number as f64),
            Self::Double(number) => Some(*number),
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_number().to_string())
    }

    fn to_number(&self) -> Cow<'_, Number> {
        Cow::Owned(match self {
            Self::Int(number) => Number::from(*number),
            // a double of a document is finite
            Self::Double(number) => Number::from_f64(*number).unwrap_or_else(|| Number::from(0)),
        })
    }

    fn is_integer(&self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::Double(number) => number.fract() == 0.0,
        }
    }

    fn is_written_as_integer(&self) -> bool {
        matches!(self, Self::Int(_))
    }
}
