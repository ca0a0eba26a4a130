//! What a program runs on: the values of its scope's variables, borrowed from whoever holds them.

use crate::env::{Env, EnvId, Slot};
use crate::fault::Fault;
use crate::value::Value;

/// How many variables have room without an allocation: no scope of the specification has more.
const FEW: usize = 6;

/// The values of a scope's variables. Made for each run in a few nanoseconds; nothing is converted.
///
/// ```
/// use celador_cel::{Activation, Env, EnvBuilder, Program, STANDARD, Type, Value};
///
/// let scope = Env::builder().variable("name", Type::String).optional_variable("age", Type::Int);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "has(age) ? age : size(name)").unwrap();
///
/// let activation = Activation::new(&env).with(&env, "name", Value::from("Kim"));
/// assert!(matches!(program.run(&activation, None), Ok(Value::Int(3))));
/// let activation = activation.with(&env, "age", Value::Int(41));
/// assert!(matches!(program.run(&activation, None), Ok(Value::Int(41))));
/// ```
#[derive(Clone, Debug)]
pub struct Activation<'a> {
    env: EnvId,
    few: [Option<Value<'a>>; FEW],
    /// The slots beyond those.
    more: Vec<Option<Value<'a>>>,
}

impl<'a> Activation<'a> {
    /// An activation of a scope in which no variable has a value yet.
    #[inline]
    #[must_use]
    pub fn new(env: &Env) -> Self {
        let mut activation = Self { env: env.id(), ..Self::empty() };
        activation.more.resize_with(env.slots().saturating_sub(FEW), || None);
        activation
    }

    /// An activation of no scope, for steps without variables.
    #[inline]
    pub(super) fn empty() -> Self {
        Self { env: EnvId::NONE, few: [const { None }; FEW], more: Vec::new() }
    }

    /// An activation of a scope with the values of its slots in their order; slots beyond the last value are unbound.
    #[must_use]
    pub fn of(env: &Env, values: impl IntoIterator<Item = Option<Value<'a>>>) -> Self {
        let mut activation = Self::new(env);
        let places = activation.few.iter_mut().chain(&mut activation.more);
        places.zip(values).for_each(|(place, value)| *place = value);
        activation
    }

    /// Gives the variable in a slot its value. A slot of another scope is left alone.
    #[inline]
    pub fn bind(&mut self, slot: Slot, value: Value<'a>) {
        let slot = usize::from(slot.0);
        let place = match self.few.get_mut(slot) {
            None => self.more.get_mut(slot.saturating_sub(FEW)),
            few => few,
        };
        if let Some(place) = place {
            *place = Some(value);
        }
    }

    /// The same with a variable by its name, for those who do not keep slots. Unknown names are left alone.
    #[must_use]
    pub fn with(mut self, env: &Env, name: &str, value: Value<'a>) -> Self {
        if let Some(variable) = env.variable(name) {
            self.bind(variable.slot, value);
        }
        self
    }

    /// The scope it belongs to.
    #[must_use]
    pub fn env(&self) -> EnvId {
        self.env
    }

    /// The value in a slot, if it has one.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&Value<'a>> {
        let slot = usize::from(slot.0);
        match self.few.get(slot) {
            Some(value) => value.as_ref(),
            None => self.more.get(slot.checked_sub(FEW)?)?.as_ref(),
        }
    }
}

/// Answers the calls that an expression cannot answer by itself: `review`, `mount.read`, a capability of a script.
///
/// A host that does not know an answer yet keeps the question and interrupts; the expression is evaluated again when
/// the answer is known, and must then be answered in the same order.
///
/// ```
/// use celador_cel::{Activation, Code, Env, EnvBuilder, Function, HostFunctions, Interruption, Program, STANDARD, Stop, Value};
///
/// static REVIEW: Function = Function {
///     name: "review",
///     doc: "Whether a person approves.",
///     cost: "constant",
///     overloads: &[("review_string", "review(string) -> bool")],
///     examples: &[],
///     code: Code::Host,
/// };
///
/// /// The answer of a person, once there is one.
/// struct Answer(Option<bool>);
///
/// impl HostFunctions for Answer {
///     fn call(&mut self, _function: &str, _args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
///         self.0.map(Value::from).ok_or(Interruption::Asked)
///     }
/// }
///
/// let env = STANDARD.iter().copied().fold(Env::builder().row(&REVIEW), EnvBuilder::library).build();
/// let program = Program::compile(&env, "review('lead@example.com')").unwrap();
/// let activation = Activation::new(&env);
/// assert_eq!(program.holds(&activation, Some(&mut Answer(None))), Err(Stop::Asked));
/// assert_eq!(program.holds(&activation, Some(&mut Answer(Some(true)))), Ok(true));
/// ```
pub trait HostFunctions {
    /// Answers one call of a function whose row says [`Code::Host`](crate::Code::Host).
    ///
    /// # Errors
    /// A fault, which the expression may absorb, or `Asked`, which it may not.
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption>;

    /// Answers a call that was written as one of a method, `user.review()`, with the receiver first. For hosts whose functions
    /// tell the two apart; to all others both are one call.
    ///
    /// # Errors
    /// As [`HostFunctions::call`].
    fn call_member(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        self.call(function, args)
    }
}

/// Why a host did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The call failed.
    Fault(Fault),
    /// The answer is not known yet.
    Asked,
}
