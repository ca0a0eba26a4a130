//! What a list comes to: the sum, the least and the greatest of its elements, and whether they stand in order.
//!
//! Names and meanings are those of Kubernetes' library of lists. Where that one passes over a doubt, this one fails: a NaN
//! stands in no order, so it is neither passed over nor ever the least.

use super::no_overload;
use crate::fault::Fault;
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{List, Text, Total, Value};
use std::cmp::Ordering;

/// The function whose empty list gives the zero of its elements' type, which the planner knows and puts in as a second
/// argument: an empty list itself does not tell.
pub(crate) const SUM: &str = "sum";

/// What each summand costs.
pub(crate) const SUMMAND_UNITS: u64 = 2;

pub(super) static TOTALS: &[Function] = &[
    Function {
        name: SUM,
        doc: "the sum of the elements, in whatever order they stand: it is exact, and rounded once if they are doubles; of an \
              empty list the zero of its type, `0` if that is not known",
        cost: "1, and 2 for each element",
        overloads: &[
            ("list_int_sum_int", "list(int).sum() -> int"),
            ("list_uint_sum_uint", "list(uint).sum() -> uint"),
            ("list_double_sum_double", "list(double).sum() -> double"),
            ("list_duration_sum_duration", "list(duration).sum() -> duration"),
        ],
        examples: &[
            ("[1, 3].sum()", "4"),
            ("[duration('1m'), duration('1.5s')].sum()", "duration('61.5s')"),
            ("[1.5].filter(x, x > 2.0).sum()", "0.0"),
            ("[].sum()", "0"),
            ("[1, 2.5].map(x, double(x)).sum()", "3.5"),
            ("[0.1, 0.2, 0.3, -0.3, -0.2, -0.1].sum()", "0.0"),
            ("[1, 2.5].sum()", "error: no_matching_overload"),
            ("[9223372036854775807, 1].sum()", "error: overflow"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list)] => sum(meter, list, &Value::Int(0)),
            [Value::List(list), zero] if is_summand(zero) => sum(meter, list, zero),
            // the zero is none of what was written
            [value, ..] => no_overload(&[value]),
            [] => no_overload(args),
        }),
    },
    Function {
        name: "min",
        doc: "the least element, the first of equal ones; an empty list has none, and a NaN is an error",
        cost: "1, and the elements",
        overloads: &[
            ("list_int_min_int", "list(int).min() -> int"),
            ("list_uint_min_uint", "list(uint).min() -> uint"),
            ("list_double_min_double", "list(double).min() -> double"),
            ("list_bool_min_bool", "list(bool).min() -> bool"),
            ("list_duration_min_duration", "list(duration).min() -> duration"),
            ("list_timestamp_min_timestamp", "list(timestamp).min() -> timestamp"),
            ("list_string_min_string", "list(string).min() -> string"),
            ("list_bytes_min_bytes", "list(bytes).min() -> bytes"),
        ],
        examples: &[
            ("[3, 1, 2].min()", "1"),
            ("['b', 'a'].min()", "'a'"),
            ("[duration('1m'), duration('1s')].min()", "duration('1s')"),
            ("[].min()", "error: invalid_argument"),
            ("[0.0 / 0.0, 1.0].min()", "error: invalid_argument"),
            ("[1, 'a'].min()", "error: no_matching_overload"),
        ],
        code: Code::Pure(|meter, args| extreme(meter, args, Ordering::Less)),
    },
    Function {
        name: "max",
        doc: "the greatest element, the first of equal ones; an empty list has none, and a NaN is an error",
        cost: "1, and the elements",
        overloads: &[
            ("list_int_max_int", "list(int).max() -> int"),
            ("list_uint_max_uint", "list(uint).max() -> uint"),
            ("list_double_max_double", "list(double).max() -> double"),
            ("list_bool_max_bool", "list(bool).max() -> bool"),
            ("list_duration_max_duration", "list(duration).max() -> duration"),
            ("list_timestamp_max_timestamp", "list(timestamp).max() -> timestamp"),
            ("list_string_max_string", "list(string).max() -> string"),
            ("list_bytes_max_bytes", "list(bytes).max() -> bytes"),
        ],
        examples: &[
            ("[3, 1, 2].max()", "3"),
            ("[1u, 7u].max()", "7u"),
            ("([0] + []).max()", "0"),
            ("[].max()", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| extreme(meter, args, Ordering::Greater)),
    },
    Function {
        name: "isSorted",
        doc: "whether no element is less than the one before it; a NaN is an error",
        cost: "1, and the elements",
        overloads: &[
            ("list_int_is_sorted_bool", "list(int).isSorted() -> bool"),
            ("list_uint_is_sorted_bool", "list(uint).isSorted() -> bool"),
            ("list_double_is_sorted_bool", "list(double).isSorted() -> bool"),
            ("list_bool_is_sorted_bool", "list(bool).isSorted() -> bool"),
            ("list_duration_is_sorted_bool", "list(duration).isSorted() -> bool"),
            ("list_timestamp_is_sorted_bool", "list(timestamp).isSorted() -> bool"),
            ("list_string_is_sorted_bool", "list(string).isSorted() -> bool"),
            ("list_bytes_is_sorted_bool", "list(bytes).isSorted() -> bool"),
        ],
        examples: &[
            ("['a', 'b', 'b', 'c'].isSorted()", "true"),
            ("[2.0, 1.0].isSorted()", "false"),
            ("[].isSorted()", "true"),
            ("[1.0, 0.0 / 0.0].isSorted()", "error: invalid_argument"),
            ("[[1]].isSorted()", "error: no_matching_overload"),
        ],
        code: Code::Pure(|meter, args| {
            let [Value::List(list)] = args else { return no_overload(args) };
            let mut before: Option<Value<'_>> = None;
            let order = Order::of(meter, list)?;
            for item in list.iter() {
                if order.of_two(meter, before.as_ref().unwrap_or(&item), &item)?.is_gt() {
                    return Ok(Value::Bool(false));
                }
                before = Some(item);
            }
            Ok(Value::Bool(true))
        }),
    },
];

/// Whether a value can be added up: texts and lists have a `+`, too, but no sum.
fn is_summand(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Duration(_))
}

fn sum<'a>(meter: &mut Meter<'_>, list: &List<'a>, zero: &Value<'a>) -> Result<Value<'a>, Fault> {
    let mut total = Total::default();
    for item in list.iter() {
        meter.charge(SUMMAND_UNITS)?;
        total.add(&item)?;
    }
    Ok(total.value()?.unwrap_or_else(|| zero.clone()))
}

fn extreme<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>], wanted: Ordering) -> Result<Value<'a>, Fault> {
    let [Value::List(list)] = args else { return no_overload(args) };
    let order = Order::of(meter, list)?;
    let mut found: Option<Value<'a>> = None;
    for item in list.iter() {
        // the first one is compared with itself: it must have an order, too
        let is_it = order.of_two(meter, &item, found.as_ref().unwrap_or(&item))? == wanted;
        if is_it || found.is_none() {
            found = Some(item);
        }
    }
    found.ok_or(Fault::refused("a list with at least one element"))
}

/// The order of the elements of one list.
struct Order {
    /// Whether all are times written as text. Times among other texts would stand in no one order: `a < b` and `b < c` would not
    /// make `a < c`.
    as_times: bool,
}

impl Order {
    /// Looks at the elements of a list, paid for.
    ///
    /// # Errors
    /// `budget_exceeded`.
    fn of(meter: &mut Meter<'_>, list: &List<'_>) -> Result<Self, Fault> {
        meter.charge(list.len() as u64)?;
        Ok(Self { as_times: list.iter().all(|item| matches!(item, Value::String(Text::Time(_)))) })
    }

    /// How two elements stand, paid for.
    ///
    /// # Errors
    /// `no_matching_overload` for values without an order, `invalid_argument` for a NaN, `budget_exceeded`.
    fn of_two(&self, meter: &mut Meter<'_>, a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, Fault> {
        let (Ok(left), Ok(right)) = (a.order(a), b.order(b)) else {
            return Err(Fault::no_overload([a.kind(), b.kind()]));
        };
        meter.charge(a.weight(meter.left()))?;
        match (a, b) {
            (Value::String(a), Value::String(b)) if !self.as_times => Ok((**a).cmp(&**b)),
            _ => left.and(right).and(a.order(b)?).ok_or(Fault::refused("elements without NaN")),
        }
    }
}
