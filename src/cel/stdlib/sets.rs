//! The `sets` library: questions about lists as sets. Elements are the same if CEL's `==` says so, so `1` and `1.0` are.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{Key, List, Value};
use std::collections::HashSet;

pub(super) static SETS: &[Function] = &[
    Function {
        name: "sets.contains",
        doc: "whether the first list has every element of the second",
        cost: "1, and the elements of both; lists, maps and fractions are compared one by one",
        overloads: &[("sets_contains_list_list", "sets.contains(list(A), list(A)) -> bool")],
        examples: &[
            ("sets.contains(['read', 'write'], ['read'])", "true"),
            ("sets.contains([1, 2.0, 3u], [1.0, 2u, 3])", "true"),
            ("sets.contains([], [1])", "false"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(whole), Value::List(part)] => contains(meter, whole, part).map(Value::Bool),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "sets.equivalent",
        doc: "whether each list has every element of the other; how often does not count",
        cost: "1, and the elements of both; lists, maps and fractions are compared one by one",
        overloads: &[("sets_equivalent_list_list", "sets.equivalent(list(A), list(A)) -> bool")],
        examples: &[("sets.equivalent([1], [1, 1])", "true"), ("sets.equivalent([1, 2], [2, 3])", "false")],
        code: Code::Pure(|meter, args| match args {
            [Value::List(a), Value::List(b)] => {
                Ok(Value::Bool(contains(meter, a, b)? && contains(meter, b, a)?))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "sets.intersects",
        doc: "whether the lists have an element in common",
        cost: "1, and the elements of both; lists, maps and fractions are compared one by one",
        overloads: &[("sets_intersects_list_list", "sets.intersects(list(A), list(A)) -> bool")],
        examples: &[
            ("sets.intersects([1, 2], [2, 3])", "true"),
            ("sets.intersects([[1], [2, 3]], [[1, 2], [2, 3.0]])", "true"),
            ("sets.intersects([1], [])", "false"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(a), Value::List(b)] => {
                let members = Members::of(meter, a)?;
                for item in b.iter() {
                    if members.contains(meter, &item)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            _ => no_overload(args),
        }),
    },
];

fn contains<'a>(meter: &mut Meter<'_>, whole: &List<'a>, part: &List<'a>) -> Result<bool, Fault> {
    let members = Members::of(meter, whole)?;
    for item in part.iter() {
        if !members.contains(meter, &item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Different values, found again at once where they can be keys of a map, else by comparing.
#[derive(Default)]
pub(super) struct Members<'a> {
    keys: HashSet<Key<'a>>,
    others: Vec<Value<'a>>,
}

impl<'a> Members<'a> {
    fn of(meter: &mut Meter<'_>, list: &List<'a>) -> Result<Self, Fault> {
        List::charge(meter, list.len())?;
        let mut members = Self::default();
        for item in list.iter() {
            members.insert(meter, item)?;
        }
        Ok(members)
    }

    /// Whether it was not there before.
    pub(super) fn insert(&mut self, meter: &mut Meter<'_>, item: Value<'a>) -> Result<bool, Fault> {
        if let Some(key) = key(meter, &item)? {
            return Ok(self.keys.insert(key));
        }
        let new = !self.contains_other(meter, &item)?;
        if new {
            self.others.push(item);
        }
        Ok(new)
    }

    fn contains(&self, meter: &mut Meter<'_>, item: &Value<'a>) -> Result<bool, Fault> {
        match key(meter, item)? {
            Some(key) => Ok(self.keys.contains(&key)),
            None => self.contains_other(meter, item),
        }
    }

    fn contains_other(&self, meter: &mut Meter<'_>, item: &Value<'a>) -> Result<bool, Fault> {
        for other in &self.others {
            meter.charge(1)?;
            if item.equals_metered(other, meter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The key that equals a value and only the values with this key, paid for. Whole numbers beyond 53 bits have none: they
/// may equal a double that stands for several of them.
fn key<'a>(meter: &mut Meter<'_>, value: &Value<'a>) -> Result<Option<Key<'a>>, Fault> {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    meter.charge(1)?;
    match value {
        Value::String(text) => meter.charge_text(text.len())?,
        // it may equal anything
        Value::Shortened => return Err(ErrorCode::ValueShortened.into()),
        _ => {}
    }
    Ok(Key::lookup(value).filter(|key| match key {
        Key::Int(number) => number.unsigned_abs() < EXACT,
        Key::UInt(number) => *number < EXACT,
        Key::Bool(_) | Key::String(_) => true,
    }))
}
