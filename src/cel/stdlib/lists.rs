//! The `lists` library: parts of lists, and lists in another order or shape. Positions count from 0.

use super::no_overload;
use super::optionals::some;
use super::sets::Members;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{List, Value};

pub(super) static LISTS: &[Function] = &[
    Function {
        name: "slice",
        doc: "the elements from a position up to but not including another",
        cost: "1, and 1 for each element of the part",
        overloads: &[("list_slice", "list(A).slice(int, int) -> list(A)")],
        examples: &[
            ("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"),
            ("[1].slice(0, 2)", "error: index_out_of_bounds"),
            ("[1].slice(1, 0)", "error: index_out_of_bounds"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list), Value::Int(start), Value::Int(end)] => slice(meter, list, *start, *end),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "flatten",
        doc: "the elements, and in place of a list its elements, one level deep or as many as given",
        cost: "1, and 1 for each element that is visited",
        overloads: &[
            ("list_flatten", "list(list(A)).flatten() -> list(A)"),
            ("list_flatten_int", "list(dyn).flatten(int) -> list(dyn)"),
        ],
        examples: &[
            ("[[1], [2, 3], []].flatten()", "[1, 2, 3]"),
            ("[1, [2, [3, [4]]]].flatten(2)", "[1, 2, 3, [4]]"),
            ("[[1]].flatten(-1)", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| {
            let (list, levels) = match args {
                [Value::List(list)] => (list, 1),
                [Value::List(list), Value::Int(levels)] => {
                    (list, u64::try_from(*levels).map_err(|_| ErrorCode::InvalidArgument)?)
                }
                _ => return no_overload(args),
            };
            let mut flat = Vec::new();
            flatten(meter, list, levels, &mut flat)?;
            Ok(Value::list(flat))
        }),
    },
    Function {
        name: "distinct",
        doc: "the elements without those that equal an earlier one",
        cost: "1, and the elements; lists, maps and fractions are compared one by one",
        overloads: &[("list_distinct", "list(A).distinct() -> list(A)")],
        examples: &[
            ("['b', 'a', 'b'].distinct()", "['b', 'a']"),
            ("[1, 1.0, [2], [2]].distinct()", "[1, [2]]"),
        ],
        code: Code::Pure(|meter, args| {
            let [Value::List(list)] = args else { return no_overload(args) };
            List::charge(meter, list.len())?;
            let mut members = Members::default();
            let mut distinct = Vec::new();
            for item in list.iter() {
                if members.insert(meter, item.clone())? {
                    distinct.push(item);
                }
            }
            Ok(Value::list(distinct))
        }),
    },
    Function {
        name: "sort",
        doc: "the elements in ascending order; they must be of one type that has an order; NaN comes last",
        cost: "1, and the elements times the logarithm of their number",
        overloads: &[
            ("list_int_sort", "list(int).sort() -> list(int)"),
            ("list_uint_sort", "list(uint).sort() -> list(uint)"),
            ("list_double_sort", "list(double).sort() -> list(double)"),
            ("list_bool_sort", "list(bool).sort() -> list(bool)"),
            ("list_duration_sort", "list(duration).sort() -> list(duration)"),
            ("list_timestamp_sort", "list(timestamp).sort() -> list(timestamp)"),
            ("list_string_sort", "list(string).sort() -> list(string)"),
            ("list_bytes_sort", "list(bytes).sort() -> list(bytes)"),
        ],
        examples: &[
            ("[3, 1, 2].sort()", "[1, 2, 3]"),
            ("['b', 'a'].sort()", "['a', 'b']"),
            ("[1, 'a'].sort()", "error: no_matching_overload"),
        ],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list)] => sort(meter, list),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "lists.range",
        doc: "the whole numbers from 0 up to but not including this one",
        cost: "1, and 1 for each element",
        overloads: &[("lists_range", "lists.range(int) -> list(int)")],
        examples: &[
            ("lists.range(3)", "[0, 1, 2]"),
            ("lists.range(-1)", "error: invalid_argument"),
            ("lists.range(1000000000000)", "error: budget_exceeded"),
        ],
        code: Code::Pure(|meter, args| {
            let [Value::Int(end)] = args else { return no_overload(args) };
            let length = u64::try_from(*end).map_err(|_| ErrorCode::InvalidArgument)?;
            // more elements than memory has addresses (WebAssembly) are over the budget, as elsewhere
            List::charge(meter, usize::try_from(length).unwrap_or(usize::MAX))?;
            Ok(Value::list((0..*end).map(Value::Int).collect()))
        }),
    },
    Function {
        name: "reverse",
        doc: "the elements of a list, or the characters of a text, from the last to the first",
        cost: "1, and the length",
        overloads: &[
            ("list_reverse", "list(A).reverse() -> list(A)"),
            ("string_reverse", "string.reverse() -> string"),
        ],
        examples: &[("[5, 1, 2].reverse()", "[2, 1, 5]"), ("'añb'.reverse()", "'bña'")],
        code: Code::Pure(|meter, args| match args {
            [Value::List(list)] => {
                List::charge(meter, list.len())?;
                Ok(Value::list((0..list.len()).rev().filter_map(|index| list.get(index)).collect()))
            }
            [Value::String(text)] => {
                meter.charge_built(text.len())?;
                Ok(Value::owned_text(text.chars().rev().collect::<String>()))
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "first",
        doc: "the first element, as an optional",
        cost: "1",
        overloads: &[("list_first", "list(A).first() -> optional_type(A)")],
        examples: &[("[1, 2].first().value()", "1"), ("[].first().hasValue()", "false")],
        code: Code::Pure(|_, args| match args {
            [Value::List(list)] => Ok(list.get(0).map_or(Value::Optional(None), some)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "last",
        doc: "the last element, as an optional",
        cost: "1",
        overloads: &[("list_last", "list(A).last() -> optional_type(A)")],
        examples: &[("[1, 2].last().value()", "2"), ("[].last().hasValue()", "false")],
        code: Code::Pure(|_, args| match args {
            [Value::List(list)] => {
                let last = list.len().checked_sub(1).and_then(|index| list.get(index));
                Ok(last.map_or(Value::Optional(None), some))
            }
            _ => no_overload(args),
        }),
    },
];

/// The position of the first of some elements that equals an item, as `==` has it; -1 if none does.
///
/// # Errors
/// `budget_exceeded`, `value_shortened`.
pub(super) fn position_of<'a>(
    meter: &mut Meter<'_>,
    item: &Value<'_>,
    elements: impl Iterator<Item = (usize, Value<'a>)>,
) -> Result<Value<'a>, Fault> {
    for (index, element) in elements {
        meter.charge(1)?;
        if element.equals_metered(item, meter)? {
            return Ok(Value::Int(i64::try_from(index).map_err(|_| ErrorCode::Overflow)?));
        }
    }
    Ok(Value::Int(-1))
}

fn slice<'a>(meter: &mut Meter<'_>, list: &List<'a>, start: i64, end: i64) -> Result<Value<'a>, Fault> {
    let position = |index: i64| usize::try_from(index).ok().filter(|&index| index <= list.len());
    match (position(start), position(end)) {
        (Some(start), Some(end)) if start <= end => {
            List::charge(meter, end.saturating_sub(start))?;
            Ok(Value::list((start..end).filter_map(|index| list.get(index)).collect()))
        }
        _ => Err(ErrorCode::IndexOutOfBounds.into()),
    }
}

/// Recurses into values, which are no deeper than what expressions and `max_json_depth` let in.
fn flatten<'a>(
    meter: &mut Meter<'_>,
    list: &List<'a>,
    levels: u64,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), Fault> {
    for item in list.iter() {
        List::charge(meter, 1)?;
        match (item, levels.checked_sub(1)) {
            (Value::List(inner), Some(levels)) => flatten(meter, &inner, levels, flat)?,
            (item, _) => flat.push(item),
        }
    }
    Ok(())
}

fn sort<'a>(meter: &mut Meter<'_>, list: &List<'a>) -> Result<Value<'a>, Fault> {
    List::charge(meter, list.len())?;
    let keyed = list.iter().map(|item| (item.clone(), item)).collect();
    List::sorted(meter, keyed).map(Value::List)
}
