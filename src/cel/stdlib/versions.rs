//! The libraries of semantic versions and of quantities, as Kubernetes has them: opaque values `kubernetes.Semver` and
//! `kubernetes.Quantity`. Exact: versions and quantities are compared as what they are, never as texts or doubles.

use super::no_overload;
use crate::fault::{ErrorCode, Fault};
use crate::formats::{Quantity, Semver};
use crate::function::{Code, Function};
use crate::meter::Meter;
use crate::value::{Opaque, Value};
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) static VERSIONS: &[Function] = &[
    Function {
        name: "semver",
        doc: "the semantic version that a text of at most 256 bytes says; with `true`, a `v` in front, leading zeros and missing numbers \
              behind the first are taken, too",
        cost: "1, and a tenth of the length of the text",
        overloads: &[
            ("string_to_semver", "semver(string) -> kubernetes.Semver"),
            ("string_bool_to_semver", "semver(string, bool) -> kubernetes.Semver"),
        ],
        examples: &[
            ("string(semver('0.1.0-alpha.1'))", "'0.1.0-alpha.1'"),
            ("type(semver('1.0.0')) == kubernetes.Semver", "true"),
            ("semver('1.0.0+linux') == semver('1.0.0+windows')", "true"),
            ("semver('v01.1', true) == semver('1.1.0')", "true"),
            ("semver('1.0')", "error: invalid_argument"),
            ("semver('01.0.0')", "error: invalid_argument"),
            ("semver('1.0-beta', true)", "error: invalid_argument"),
        ],
        code: Code::Pure(|meter, args| Ok(Value::Opaque(Opaque::Semver(Arc::new(version(meter, args)??))))),
    },
    Function {
        name: "isSemver",
        doc: "whether a text says a version that `semver` reads",
        cost: "1, and a tenth of the length of the text",
        overloads: &[
            ("is_semver_string", "isSemver(string) -> bool"),
            ("is_semver_string_bool", "isSemver(string, bool) -> bool"),
        ],
        examples: &[
            ("isSemver('1.0.0')", "true"),
            ("isSemver('v1.0')", "false"),
            ("isSemver('v1.0', true)", "true"),
        ],
        code: Code::Pure(|meter, args| Ok(Value::Bool(version(meter, args)?.is_ok()))),
    },
    Function {
        name: "major",
        doc: "the first number of a version",
        cost: "1",
        overloads: &[("semver_major", "kubernetes.Semver.major() -> int")],
        examples: &[
            ("semver('1.2.3').major()", "1"),
            ("semver('9223372036854775808.0.0').major()", "error: overflow"),
        ],
        code: Code::Pure(|_, args| number(args, Semver::major)),
    },
    Function {
        name: "minor",
        doc: "the second number of a version",
        cost: "1",
        overloads: &[("semver_minor", "kubernetes.Semver.minor() -> int")],
        examples: &[("semver('1.2.3').minor()", "2")],
        code: Code::Pure(|_, args| number(args, Semver::minor)),
    },
    Function {
        name: "patch",
        doc: "the third number of a version",
        cost: "1",
        overloads: &[("semver_patch", "kubernetes.Semver.patch() -> int")],
        examples: &[("semver('1.2.3').patch()", "3")],
        code: Code::Pure(|_, args| number(args, Semver::patch)),
    },
    Function {
        name: "compareTo",
        doc: "-1, 0 or 1: whether a version or quantity comes before another, is equal to it, or comes after it",
        cost: "1",
        overloads: &[
            ("semver_compare_to", "kubernetes.Semver.compareTo(kubernetes.Semver) -> int"),
            ("quantity_compare_to", "kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int"),
        ],
        examples: &[
            ("semver('1.0.0-rc.1').compareTo(semver('1.0.0'))", "-1"),
            ("quantity('200M').compareTo(quantity('0.2G'))", "0"),
            ("quantity('50Mi').compareTo(quantity('50M'))", "1"),
        ],
        code: Code::Pure(|_, args| Ok(Value::Int(i64::from(order(args)? as i8)))),
    },
    Function {
        name: "isLessThan",
        doc: "whether a version or quantity comes before another",
        cost: "1",
        overloads: &[
            ("semver_is_less_than", "kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool"),
            ("quantity_is_less_than", "kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool"),
        ],
        examples: &[
            ("semver('1.9.0').isLessThan(semver('1.10.0'))", "true"),
            ("quantity('100M').isLessThan(quantity('50M'))", "false"),
        ],
        code: Code::Pure(|_, args| Ok(Value::Bool(order(args)?.is_lt()))),
    },
    Function {
        name: "isGreaterThan",
        doc: "whether a version or quantity comes after another",
        cost: "1",
        overloads: &[
            ("semver_is_greater_than", "kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool"),
            ("quantity_is_greater_than", "kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool"),
        ],
        examples: &[
            ("semver('2.0.0').isGreaterThan(semver('2.0.0-rc.1'))", "true"),
            ("quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true"),
        ],
        code: Code::Pure(|_, args| Ok(Value::Bool(order(args)?.is_gt()))),
    },
    Function {
        name: "quantity",
        doc: "the quantity that a text of at most 256 bytes says: a number with a suffix of the metric system (`n`, `u`, `m`, `k`, `M`, \
              `G`, `T`, `P`, `E`), of powers of two (`Ki` to `Ei`), or an exponent; one finer than a billionth or beyond 2^63 - 1 is an \
              error",
        cost: "1, and a tenth of the length of the text",
        overloads: &[("string_to_quantity", "quantity(string) -> kubernetes.Quantity")],
        examples: &[
            ("quantity('1.5G') == quantity('1500M')", "true"),
            ("type(quantity('1')) == kubernetes.Quantity", "true"),
            ("string(quantity('0.25'))", "'250m'"),
            ("quantity('12e6') == quantity('12M')", "true"),
            ("quantity('200K')", "error: invalid_argument"),
            ("quantity('0.1n')", "error: invalid_argument"),
            ("quantity('9223372036854775808')", "error: overflow"),
        ],
        code: Code::Pure(|meter, args| Ok(quantity(amount(meter, args)??))),
    },
    Function {
        name: "isQuantity",
        doc: "whether a text says a quantity that `quantity` reads",
        cost: "1, and a tenth of the length of the text",
        overloads: &[("is_quantity_string", "isQuantity(string) -> bool")],
        examples: &[
            ("isQuantity('1.3Gi')", "true"),
            ("isQuantity('1,3G')", "false"),
            ("isQuantity('Mi')", "false"),
        ],
        code: Code::Pure(|meter, args| Ok(Value::Bool(amount(meter, args)?.is_ok()))),
    },
    Function {
        name: "isInteger",
        doc: "whether a quantity is a whole number",
        cost: "1",
        overloads: &[("quantity_is_integer", "kubernetes.Quantity.isInteger() -> bool")],
        examples: &[("quantity('50k').isInteger()", "true"), ("quantity('50m').isInteger()", "false")],
        code: Code::Pure(|_, args| Ok(Value::Bool(read(args)?.as_integer().is_some()))),
    },
    Function {
        name: "asInteger",
        doc: "a quantity as a whole number, which it must be",
        cost: "1",
        overloads: &[("quantity_get_int", "kubernetes.Quantity.asInteger() -> int")],
        examples: &[
            ("quantity('1Ki').asInteger()", "1024"),
            ("quantity('1.5').asInteger()", "error: invalid_argument"),
        ],
        code: Code::Pure(|_, args| {
            let whole =
                read(args)?.as_integer().ok_or(Fault::refused("a quantity that is a whole number"))?;
            Ok(Value::Int(whole))
        }),
    },
    Function {
        name: "asApproximateFloat",
        doc: "a quantity as the nearest double",
        cost: "1",
        overloads: &[("quantity_get_float", "kubernetes.Quantity.asApproximateFloat() -> double")],
        examples: &[("quantity('50k').sub(20000).asApproximateFloat()", "30000.0")],
        code: Code::Pure(|_, args| Ok(Value::Double(read(args)?.as_approximate_float()))),
    },
    Function {
        name: "sign",
        doc: "-1, 0 or 1: whether a quantity is below zero, zero, or above it",
        cost: "1",
        overloads: &[("quantity_sign", "kubernetes.Quantity.sign() -> int")],
        examples: &[("quantity('-1').sign()", "-1"), ("quantity('0').sign()", "0")],
        code: Code::Pure(|_, args| Ok(Value::Int(read(args)?.sign()))),
    },
    Function {
        name: "add",
        doc: "the sum of two quantities, or of a quantity and a whole number",
        cost: "1",
        overloads: &[
            ("quantity_add", "kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity"),
            ("quantity_add_int", "kubernetes.Quantity.add(int) -> kubernetes.Quantity"),
        ],
        examples: &[
            ("quantity('50k').add(quantity('20k')) == quantity('70k')", "true"),
            ("quantity('50k').add(20) == quantity('50020')", "true"),
            ("quantity('9223372036854775807').add(1)", "error: overflow"),
        ],
        code: Code::Pure(|_, args| {
            let (one, other) = two(args)?;
            Ok(quantity(one.plus(other)?))
        }),
    },
    Function {
        name: "sub",
        doc: "the difference of two quantities, or of a quantity and a whole number",
        cost: "1",
        overloads: &[
            ("quantity_sub", "kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity"),
            ("quantity_sub_int", "kubernetes.Quantity.sub(int) -> kubernetes.Quantity"),
        ],
        examples: &[
            ("quantity('50k').sub(quantity('20k')) == quantity('30k')", "true"),
            ("quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')", "true"),
        ],
        code: Code::Pure(|_, args| {
            let (one, other) = two(args)?;
            Ok(quantity(one.minus(other)?))
        }),
    },
];

/// A text read as a version, strictly or not. The fault outside is of the call, the one inside of the text.
fn version(meter: &mut Meter<'_>, args: &[&Value<'_>]) -> Result<Result<Semver, Fault>, Fault> {
    let (text, normalize) = match args {
        [Value::String(text)] => (text, false),
        [Value::String(text), Value::Bool(normalize)] => (text, *normalize),
        _ => return no_overload(args),
    };
    meter.charge_built(text.len())?;
    Ok(if normalize { Semver::normalized(text) } else { text.parse() })
}

/// A text read as a quantity, likewise.
fn amount(meter: &mut Meter<'_>, args: &[&Value<'_>]) -> Result<Result<Quantity, Fault>, Fault> {
    let [Value::String(text)] = args else { return no_overload(args) };
    meter.charge_text(text.len())?;
    Ok(text.parse())
}

fn number<'a>(args: &[&Value<'a>], number: fn(&Semver) -> u64) -> Result<Value<'a>, Fault> {
    match args {
        [Value::Opaque(Opaque::Semver(version))] => {
            Ok(Value::Int(i64::try_from(number(version)).map_err(|_| ErrorCode::Overflow)?))
        }
        _ => no_overload(args),
    }
}

fn order(args: &[&Value<'_>]) -> Result<Ordering, Fault> {
    match args {
        [Value::Opaque(Opaque::Semver(a)), Value::Opaque(Opaque::Semver(b))] => Ok(a.cmp(b)),
        [Value::Opaque(Opaque::Quantity(a)), Value::Opaque(Opaque::Quantity(b))] => Ok(a.cmp(b)),
        _ => no_overload(args),
    }
}

fn quantity<'a>(quantity: Quantity) -> Value<'a> {
    Value::Opaque(Opaque::Quantity(Arc::new(quantity)))
}

fn read(args: &[&Value<'_>]) -> Result<Quantity, Fault> {
    match args {
        [Value::Opaque(Opaque::Quantity(quantity))] => Ok(**quantity),
        _ => no_overload(args),
    }
}

/// A quantity, and what is added to it or taken from it.
fn two(args: &[&Value<'_>]) -> Result<(Quantity, Quantity), Fault> {
    match args {
        [Value::Opaque(Opaque::Quantity(one)), Value::Opaque(Opaque::Quantity(other))] => {
            Ok((**one, **other))
        }
        [Value::Opaque(Opaque::Quantity(one)), Value::Int(other)] => Ok((**one, Quantity::whole(*other)?)),
        _ => no_overload(args),
    }
}
