//! The signature of a function of a host, with what a call costs.
//!
//! In: the arguments of a call, and what the function gave. Out: the same as values of the declared types, paid for; so a host cannot give a value of another type than was checked. Linear in
//! the values.

use super::fault::{ErrorCode, Fault};
use super::meter::Meter;
use super::types::Type;
use super::value::{Entries, Key, List, Map, Value};
use std::fmt;
use std::sync::Arc;

/// The cost of a call of a host's function, in cost units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallCost {
    /// Each call.
    pub call: u64,
    /// Each unit of the size of its arguments: a character of a text, a byte, an element of a list, an entry of a map, those within others too.
    pub size: u64,
}

impl Default for CallCost {
    /// One for the call and nothing for the size of its arguments.
    fn default() -> Self {
        Self { call: 1, size: 0 }
    }
}

/// A function of a host as expressions know it.
///
/// ```
/// use celador_cel::{
///     Activation, CallCost, Env, EnvBuilder, HostError, HostFunctionSet, Program, STANDARD, Signature, Type, Value,
/// };
///
/// let signature = Signature::new("risk.score", [Type::Double, Type::String], Type::Double)
///     .costing(CallCost { call: 50, size: 1 });
/// assert_eq!(signature.to_string(), "risk.score(double, string) -> double");
///
/// let scope = Env::builder().variable("amount", Type::Double).function(signature.declaration());
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "risk.score(amount, 'DE') < 5.0").unwrap();
/// // a call of another type is found before anything runs
/// let misfit = Program::compile(&env, "risk.score('much', 'DE')").unwrap();
/// assert_eq!(misfit.issues()[0].code, "no_matching_overload");
///
/// fn rate(arguments: &[Value<'_>]) -> Result<Value<'static>, HostError> {
///     match arguments {
///         [Value::Double(amount), _] => Ok(Value::Double(amount / 100.0)),
///         _ => Err("arguments of other types".into()),
///     }
/// }
/// let mut host = HostFunctionSet::default();
/// host.register(signature, rate);
/// let activation = Activation::new(&env).with(&env, "amount", Value::Double(120.0));
/// assert_eq!(program.holds(&activation, Some(&mut host.answers())), Ok(true));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The name, qualified: `risk.score`.
    pub name: Arc<str>,
    /// The types of the parameters.
    pub parameters: Vec<Type>,
    /// The type of the result.
    pub result: Type,
    /// The cost of a call.
    pub cost: CallCost,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (at, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if at == 0 { "" } else { ", " })?;
        }
        write!(f, ") -> {}", self.result)
    }
}

impl Signature {
    /// A signature whose calls cost one unit.
    #[must_use]
    pub fn new(name: &str, parameters: impl IntoIterator<Item = Type>, result: Type) -> Self {
        let parameters = parameters.into_iter().collect();
        Self { name: name.into(), parameters, result, cost: CallCost::default() }
    }

    /// The same with another cost.
    #[must_use]
    pub fn costing(self, cost: CallCost) -> Self {
        Self { cost, ..self }
    }

    /// Pays for a call, and makes its arguments those of the declared types.
    pub(crate) fn enter<'a>(
        &self,
        meter: &mut Meter<'_>,
        arguments: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> Result<Vec<Value<'a>>, Fault> {
        meter.charge(self.cost.call)?;
        if arguments.len() != self.parameters.len() {
            return Err(ErrorCode::NoMatchingOverload.into());
        }
        let mut fitting = Vec::with_capacity(arguments.len());
        for (argument, ty) in arguments.zip(&self.parameters) {
            if self.cost.size > 0 {
                charge_size(meter, &argument, self.cost.size)?;
            }
            let kind = argument.kind();
            fitting.push(fit(meter, argument, ty)?.ok_or(Fault::no_overload([kind]))?);
        }
        Ok(fitting)
    }

    /// Makes a result one of the declared type, and pays for what it holds.
    pub(crate) fn leave(
        &self,
        meter: &mut Meter<'_>,
        result: Value<'static>,
    ) -> Result<Value<'static>, Fault> {
        meter.charge_built(result.heap_bytes())?;
        fit(meter, result, &self.result)?.ok_or(Fault::unanswered("its value is not of the declared type"))
    }
}

/// Pays so much for each unit of the size of a value.
fn charge_size(meter: &mut Meter<'_>, value: &Value<'_>, each: u64) -> Result<(), Fault> {
    let own = match value {
        Value::String(text) => {
            meter.charge_text(text.len())?;
            text.count()
        }
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return Ok(()),
    };
    meter.charge(each.saturating_mul(u64::try_from(own).unwrap_or(u64::MAX)))?;
    match value {
        Value::List(list) => list.iter().try_for_each(|item| charge_size(meter, &item, each)),
        Value::Map(map) => map.iter().try_for_each(|(_, item)| charge_size(meter, &item, each)),
        _ => Ok(()),
    }
}

/// A value as one of a type; nothing if it is none. A whole number is a `double` where one is declared, as JSON writes 10 for 10.0.
fn fit<'a>(meter: &mut Meter<'_>, value: Value<'a>, ty: &Type) -> Result<Option<Value<'a>>, Fault> {
    meter.charge(1)?;
    Ok(match (ty, value) {
        (_, Value::Shortened) => return Err(ErrorCode::ValueShortened.into()),
        (Type::Dyn, value) => Some(value),
        #[expect(clippy::cast_precision_loss, reason = "greater numbers are left out")]
        (Type::Double, Value::Int(number)) if number.unsigned_abs() <= 1 << 53 => {
            Some(Value::Double(number as f64))
        }
        (Type::Null, value @ Value::Null)
        | (Type::Bool, value @ Value::Bool(_))
        | (Type::Int, value @ Value::Int(_))
        | (Type::UInt, value @ Value::UInt(_))
        | (Type::Double, value @ Value::Double(_))
        | (Type::String, value @ Value::String(_))
        | (Type::Bytes, value @ Value::Bytes(_))
        | (Type::Timestamp, value @ Value::Timestamp(_))
        | (Type::Duration, value @ Value::Duration(_)) => Some(value),
        (Type::List(element), Value::List(list)) => {
            if **element == Type::Dyn {
                return Ok(Some(Value::List(list)));
            }
            meter.charge_built(list.len().saturating_mul(size_of::<Value<'_>>()))?;
            let mut items = Vec::with_capacity(list.len());
            for item in List::iter(&list) {
                let Some(item) = fit(meter, item, element)? else { return Ok(None) };
                items.push(item);
            }
            Some(Value::list(items))
        }
        (Type::Map(of), Value::Map(map)) => {
            let (key, value) = (&of.0, &of.1);
            let entry = size_of::<(Key<'_>, Value<'_>)>();
            meter.charge_built(map.len().saturating_mul(entry))?;
            let mut entries = Entries::new();
            for (name, item) in Map::iter(&map) {
                let fits = matches!(
                    (key, &name),
                    (Type::Dyn, _)
                        | (Type::String, Key::String(_))
                        | (Type::Int, Key::Int(_))
                        | (Type::UInt, Key::UInt(_))
                        | (Type::Bool, Key::Bool(_))
                );
                let Some(item) = fit(meter, item, value)?.filter(|_| fits) else { return Ok(None) };
                entries.insert(name, item);
            }
            Some(Value::map(entries))
        }
        _ => None,
    })
}
