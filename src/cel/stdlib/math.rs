//! The `math` library: the greatest and least of some numbers, rounding, bits.
//!
//! Everything is checked: what leaves its type's range is an error, never cut or wrapped.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::types::Kind;
use crate::value::Value;
use std::cmp::Ordering;

pub(super) static MATH: &[Function] = &[
    Function {
        name: "math.greatest",
        doc: "the greatest of some numbers, or of a list of them; of equal ones the first",
        cost: "1, and 1 for each number of a list",
        overloads: &[
            ("math_@max_int", "math.greatest(int) -> int"),
            ("math_@max_uint", "math.greatest(uint) -> uint"),
            ("math_@max_double", "math.greatest(double) -> double"),
            ("math_@max_int_int", "math.greatest(int, int...) -> int"),
            ("math_@max_uint_uint", "math.greatest(uint, uint...) -> uint"),
            ("math_@max_double_double", "math.greatest(double, double...) -> double"),
            ("math_@max_int_uint", "math.greatest(int, uint) -> dyn"),
            ("math_@max_int_double", "math.greatest(int, double) -> dyn"),
            ("math_@max_uint_int", "math.greatest(uint, int) -> dyn"),
            ("math_@max_uint_double", "math.greatest(uint, double) -> dyn"),
            ("math_@max_double_int", "math.greatest(double, int) -> dyn"),
            ("math_@max_double_uint", "math.greatest(double, uint) -> dyn"),
            ("math_@max_dyn", "math.greatest(dyn, dyn, dyn...) -> dyn"),
            ("math_@max_list_int", "math.greatest(list(int)) -> int"),
            ("math_@max_list_uint", "math.greatest(list(uint)) -> uint"),
            ("math_@max_list_double", "math.greatest(list(double)) -> double"),
        ],
        examples: &[
            ("math.greatest(-7, 5)", "5"),
            ("math.greatest(1, 2.5, 2u)", "2.5"),
            ("math.greatest([3, 9, 4])", "9"),
            ("math.greatest([])", "error: invalid_argument"),
            ("math.greatest(dyn('a'))", "error: no_matching_overload"),
        ],
        code: Code::Pure(|meter, args| extreme(meter, args, Ordering::Greater)),
    },
    Function {
        name: "math.least",
        doc: "the least of some numbers, or of a list of them; of equal ones the first",
        cost: "1, and 1 for each number of a list",
        overloads: &[
            ("math_@min_int", "math.least(int) -> int"),
            ("math_@min_uint", "math.least(uint) -> uint"),
            ("math_@min_double", "math.least(double) -> double"),
            ("math_@min_int_int", "math.least(int, int...) -> int"),
            ("math_@min_uint_uint", "math.least(uint, uint...) -> uint"),
            ("math_@min_double_double", "math.least(double, double...) -> double"),
            ("math_@min_int_uint", "math.least(int, uint) -> dyn"),
            ("math_@min_int_double", "math.least(int, double) -> dyn"),
            ("math_@min_uint_int", "math.least(uint, int) -> dyn"),
            ("math_@min_uint_double", "math.least(uint, double) -> dyn"),
            ("math_@min_double_int", "math.least(double, int) -> dyn"),
            ("math_@min_double_uint", "math.least(double, uint) -> dyn"),
            ("math_@min_dyn", "math.least(dyn, dyn, dyn...) -> dyn"),
            ("math_@min_list_int", "math.least(list(int)) -> int"),
            ("math_@min_list_uint", "math.least(list(uint)) -> uint"),
            ("math_@min_list_double", "math.least(list(double)) -> double"),
        ],
        examples: &[
            ("math.least(-7, 5)", "-7"),
            ("math.least(1, 2.5, 2u)", "1"),
            ("math.least([3.5, 9.0])", "3.5"),
        ],
        code: Code::Pure(|meter, args| extreme(meter, args, Ordering::Less)),
    },
    Function {
        name: "math.ceil",
        doc: "the least whole double that is not less",
        cost: "1",
        overloads: &[("math_ceil_double", "math.ceil(double) -> double")],
        examples: &[("math.ceil(1.2)", "2.0"), ("math.ceil(-1.2)", "-1.0")],
        code: Code::Pure(|_, args| double(args, f64::ceil)),
    },
    Function {
        name: "math.floor",
        doc: "the greatest whole double that is not greater",
        cost: "1",
        overloads: &[("math_floor_double", "math.floor(double) -> double")],
        examples: &[("math.floor(1.2)", "1.0"), ("math.floor(-1.2)", "-2.0")],
        code: Code::Pure(|_, args| double(args, f64::floor)),
    },
    Function {
        name: "math.round",
        doc: "the nearest whole double; halves go away from zero",
        cost: "1",
        overloads: &[("math_round_double", "math.round(double) -> double")],
        examples: &[("math.round(1.5)", "2.0"), ("math.round(-1.5)", "-2.0")],
        code: Code::Pure(|_, args| double(args, f64::round)),
    },
    Function {
        name: "math.trunc",
        doc: "the double without its fraction",
        cost: "1",
        overloads: &[("math_trunc_double", "math.trunc(double) -> double")],
        examples: &[("math.trunc(1.9)", "1.0"), ("math.trunc(-1.9)", "-1.0")],
        code: Code::Pure(|_, args| double(args, f64::trunc)),
    },
    Function {
        name: "math.sqrt",
        doc: "the square root as a double; of a negative number NaN",
        cost: "1",
        overloads: &[
            ("math_sqrt_double", "math.sqrt(double) -> double"),
            ("math_sqrt_int", "math.sqrt(int) -> double"),
            ("math_sqrt_uint", "math.sqrt(uint) -> double"),
        ],
        examples: &[("math.sqrt(2.25)", "1.5"), ("math.sqrt(81)", "9.0")],
        code: Code::Pure(|_, args| match args {
            [value @ (Value::Double(_) | Value::Int(_) | Value::UInt(_))] => {
                double(&[&value.to_double()?], f64::sqrt)
            }
            _ => no_overload(args),
        }),
    },
    Function {
        name: "math.abs",
        doc: "the number without its sign",
        cost: "1",
        overloads: &[
            ("math_abs_double", "math.abs(double) -> double"),
            ("math_abs_int", "math.abs(int) -> int"),
            ("math_abs_uint", "math.abs(uint) -> uint"),
        ],
        examples: &[
            ("math.abs(-11)", "11"),
            ("math.abs(-1.5)", "1.5"),
            ("math.abs(-9223372036854775808)", "error: overflow"),
        ],
        code: Code::Pure(|_, args| match args {
            [Value::Double(value)] => Ok(Value::Double(value.abs())),
            [Value::Int(value)] => Ok(Value::Int(value.checked_abs().ok_or(ErrorCode::Overflow)?)),
            [Value::UInt(value)] => Ok(Value::UInt(*value)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "math.sign",
        doc: "-1, 0 or 1 in the number's own type; of NaN NaN",
        cost: "1",
        overloads: &[
            ("math_sign_double", "math.sign(double) -> double"),
            ("math_sign_int", "math.sign(int) -> int"),
            ("math_sign_uint", "math.sign(uint) -> uint"),
        ],
        examples: &[("math.sign(-42)", "-1"), ("math.sign(0.0)", "0.0"), ("math.sign(7u)", "1u")],
        code: Code::Pure(|_, args| match args {
            [Value::Double(value)] if *value == 0.0 => Ok(Value::Double(0.0)),
            [Value::Double(value)] => Ok(Value::Double(value.signum())),
            [Value::Int(value)] => Ok(Value::Int(value.signum())),
            [Value::UInt(value)] => Ok(Value::UInt(u64::from(*value > 0))),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "math.isInf",
        doc: "whether a double is infinite",
        cost: "1",
        overloads: &[("math_isInf_double", "math.isInf(double) -> bool")],
        examples: &[("math.isInf(1.0 / 0.0)", "true"), ("math.isInf(1.0)", "false")],
        code: Code::Pure(|_, args| test(args, f64::is_infinite)),
    },
    Function {
        name: "math.isNaN",
        doc: "whether a double is not a number",
        cost: "1",
        overloads: &[("math_isNaN_double", "math.isNaN(double) -> bool")],
        examples: &[("math.isNaN(0.0 / 0.0)", "true"), ("math.isNaN(1.0)", "false")],
        code: Code::Pure(|_, args| test(args, f64::is_nan)),
    },
    Function {
        name: "math.isFinite",
        doc: "whether a double is neither infinite nor NaN",
        cost: "1",
        overloads: &[("math_isFinite_double", "math.isFinite(double) -> bool")],
        examples: &[("math.isFinite(1.0)", "true"), ("math.isFinite(0.0 / 0.0)", "false")],
        code: Code::Pure(|_, args| test(args, f64::is_finite)),
    },
    Function {
        name: "math.bitAnd",
        doc: "the bits that both numbers have",
        cost: "1",
        overloads: &[
            ("math_bitAnd_int_int", "math.bitAnd(int, int) -> int"),
            ("math_bitAnd_uint_uint", "math.bitAnd(uint, uint) -> uint"),
        ],
        examples: &[("math.bitAnd(3, 5)", "1"), ("math.bitAnd(3u, 2u)", "2u")],
        code: Code::Pure(|_, args| bits(args, |a, b| a & b)),
    },
    Function {
        name: "math.bitOr",
        doc: "the bits that either number has",
        cost: "1",
        overloads: &[
            ("math_bitOr_int_int", "math.bitOr(int, int) -> int"),
            ("math_bitOr_uint_uint", "math.bitOr(uint, uint) -> uint"),
        ],
        examples: &[("math.bitOr(1, 2)", "3"), ("math.bitOr(4, -2)", "-2")],
        code: Code::Pure(|_, args| bits(args, |a, b| a | b)),
    },
    Function {
        name: "math.bitXor",
        doc: "the bits that only one of the numbers has",
        cost: "1",
        overloads: &[
            ("math_bitXor_int_int", "math.bitXor(int, int) -> int"),
            ("math_bitXor_uint_uint", "math.bitXor(uint, uint) -> uint"),
        ],
        examples: &[("math.bitXor(3, 5)", "6")],
        code: Code::Pure(|_, args| bits(args, |a, b| a ^ b)),
    },
    Function {
        name: "math.bitNot",
        doc: "the bits that the number has not",
        cost: "1",
        overloads: &[
            ("math_bitNot_int_int", "math.bitNot(int) -> int"),
            ("math_bitNot_uint_uint", "math.bitNot(uint) -> uint"),
        ],
        examples: &[("math.bitNot(1)", "-2"), ("math.bitNot(0u)", "18446744073709551615u")],
        code: Code::Pure(|_, args| match args {
            [Value::Int(value)] => Ok(Value::Int(!value)),
            [Value::UInt(value)] => Ok(Value::UInt(!value)),
            _ => no_overload(args),
        }),
    },
    Function {
        name: "math.bitShiftLeft",
        doc: "the bits moved up; those beyond the 64th are lost",
        cost: "1",
        overloads: &[
            ("math_bitShiftLeft_int_int", "math.bitShiftLeft(int, int) -> int"),
            ("math_bitShiftLeft_uint_int", "math.bitShiftLeft(uint, int) -> uint"),
        ],
        examples: &[
            ("math.bitShiftLeft(1, 2)", "4"),
            ("math.bitShiftLeft(1, 64)", "0"),
            ("math.bitShiftLeft(1, -1)", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| shift(args, u64::checked_shl)),
    },
    Function {
        name: "math.bitShiftRight",
        doc: "the bits moved down, zeros coming in from above, whatever the sign was",
        cost: "1",
        overloads: &[
            ("math_bitShiftRight_int_int", "math.bitShiftRight(int, int) -> int"),
            ("math_bitShiftRight_uint_int", "math.bitShiftRight(uint, int) -> uint"),
        ],
        examples: &[("math.bitShiftRight(1024, 2)", "256"), ("math.bitShiftRight(-1, 63)", "1")],
        code: Code::Pure(|_, args| shift(args, u64::checked_shr)),
    },
];

/// The number that every other one is not beyond, in this direction.
fn extreme<'a>(meter: &mut Meter<'_>, args: &[&Value<'a>], beyond: Ordering) -> Result<Value<'a>, Fault> {
    match args {
        [Value::List(list)] => {
            meter.charge(list.len() as u64)?;
            furthest(list.iter(), beyond)
        }
        _ => furthest(args.iter().map(|arg| (*arg).clone()), beyond),
    }
}

fn furthest<'a>(numbers: impl Iterator<Item = Value<'a>>, beyond: Ordering) -> Result<Value<'a>, Fault> {
    let mut furthest: Option<Value<'a>> = None;
    for number in numbers {
        if !matches!(number.kind(), Kind::Int | Kind::UInt | Kind::Double) {
            return no_overload(&[&number]);
        }
        match &furthest {
            Some(so_far) if number.order(so_far)? != Some(beyond) => {}
            _ => furthest = Some(number),
        }
    }
    furthest.ok_or_else(|| ErrorCode::InvalidArgument.into())
}

fn double<'a>(args: &[&Value<'a>], of: fn(f64) -> f64) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Double(value)] => Ok(Value::Double(of(*value))),
        _ => no_overload(args),
    }
}

fn test<'a>(args: &[&Value<'a>], holds: fn(f64) -> bool) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Double(value)] => Ok(Value::Bool(holds(*value))),
        _ => no_overload(args),
    }
}

/// Two numbers of one type, bit by bit.
fn bits<'a>(args: &[&Value<'a>], of: fn(u64, u64) -> u64) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Int(a), Value::Int(b)] => {
            Ok(Value::Int(of(a.cast_unsigned(), b.cast_unsigned()).cast_signed()))
        }
        [Value::UInt(a), Value::UInt(b)] => Ok(Value::UInt(of(*a, *b))),
        _ => no_overload(args),
    }
}

/// A number moved by some bits; by 64 or more, nothing is left of it.
fn shift<'a>(args: &[&Value<'a>], by: fn(u64, u32) -> Option<u64>) -> Result<Value<'a>, Fault> {
    let shifted = |value: u64, offset: i64| match u64::try_from(offset) {
        Ok(offset) => Ok(u32::try_from(offset).ok().and_then(|offset| by(value, offset)).unwrap_or(0)),
        Err(_) => Err(Fault::from(ErrorCode::InvalidArgument)),
    };
    match args {
        [Value::Int(value), Value::Int(offset)] => {
            shifted(value.cast_unsigned(), *offset).map(|bits| Value::Int(bits.cast_signed()))
        }
        [Value::UInt(value), Value::Int(offset)] => shifted(*value, *offset).map(Value::UInt),
        _ => no_overload(args),
    }
}
