//! Functions that a host gives to expressions, with their code.
//!
//! In: [`Signature`]s and code. Out: [`HostFunctionSet`], which answers calls. The evaluator charges the cost of a call before it is made, and holds arguments and result to the signature. A function has to
//! be pure: equal arguments give the same value, and it changes nothing. An error, a panic and a result of another type are `host_failed`: the text of an error never reaches an expression or a log.

use super::eval::{HostFunctions, Interruption};
use super::fault::{ErrorCode, Fault};
use super::signature::Signature;
use super::value::{Json, Value};
use crate::limits::EvalLimits;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Why a function of a host gave no value. Its text is for the host: expressions see `host_failed` and nothing of it, unless it is a [`HostRefusal`].
pub type HostError = Box<dyn std::error::Error + Send + Sync>;

/// A reason that decisions and logs may tell, for it is part of the program and has no data in it.
///
/// ```
/// use celador_cel::{HostFunctionSet, HostRefusal, Value};
///
/// let mut host = HostFunctionSet::default();
/// host.register_untyped("crm.tier", |_| Err(HostRefusal("the directory cannot be reached").into()));
/// let fault = host.call("crm.tier", &[Value::Null]).unwrap_err();
/// assert_eq!(fault.to_string(), "the host could not answer: the directory cannot be reached");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRefusal(pub &'static str);

impl fmt::Display for HostRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for HostRefusal {}

type HostCode = dyn Fn(&[Value<'_>]) -> Result<Value<'static>, HostError> + Send + Sync;

/// A function as a host has registered it. Without a signature that of the scope holds.
#[derive(Clone)]
struct Registered {
    signature: Option<Arc<Signature>>,
    code: Arc<HostCode>,
}

/// Functions of a host with their code.
#[derive(Clone, Default)]
pub struct HostFunctionSet {
    functions: BTreeMap<Arc<str>, Registered>,
}

impl fmt::Debug for HostFunctionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.functions.keys()).finish()
    }
}

impl HostFunctionSet {
    /// Adds a function; one of the same name before gives way. The code has to be pure, and gets arguments of the types of the signature.
    pub fn register(
        &mut self,
        signature: Signature,
        code: impl Fn(&[Value<'_>]) -> Result<Value<'static>, HostError> + Send + Sync + 'static,
    ) {
        self.functions.insert(
            signature.name.clone(),
            Registered { signature: Some(Arc::new(signature)), code: Arc::new(code) },
        );
    }

    /// Adds a function by its name, whatever signature it is declared with: that of the scope holds its arguments and its result.
    pub fn register_untyped(
        &mut self,
        name: &str,
        code: impl Fn(&[Value<'_>]) -> Result<Value<'static>, HostError> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.into(), Registered { signature: None, code: Arc::new(code) });
    }

    /// The same where arguments and value are JSON. An argument that is none within these bounds fails the call.
    pub fn register_json(
        &mut self,
        name: &str,
        limits: EvalLimits,
        code: impl Fn(&[Json]) -> Result<Json, HostError> + Send + Sync + 'static,
    ) {
        self.register_untyped(name, move |arguments| {
            let arguments = arguments.iter().map(|argument| Json::from_value_within(argument, &limits));
            let arguments: Vec<Json> =
                arguments.collect::<Result<_, _>>().map_err(|fault| fault.to_string())?;
            Ok(code(&arguments)?.root().to_static())
        });
    }

    /// Whether it has a function of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Whether it has no function.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The signature with which a function was registered, if it was with one.
    #[must_use]
    pub fn signature(&self, name: &str) -> Option<&Signature> {
        self.functions.get(name)?.signature.as_deref()
    }

    /// The names of its functions, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(|name| &**name)
    }

    /// Calls a function with arguments of the types of its signature.
    ///
    /// # Errors
    /// `host_failed` for a function that it does not have, an error and a panic.
    pub fn call(&self, name: &str, arguments: &[Value<'_>]) -> Result<Value<'static>, Fault> {
        let code = &self.functions.get(name).ok_or(ErrorCode::HostFailed)?.code;
        // whatever the code has left half done is its own: no value of the evaluation can change
        let answer = catch_unwind(AssertUnwindSafe(|| code(arguments)));
        let answer = answer.map_err(|_| Fault::unanswered("its function has panicked"))?;
        answer.map_err(|why| {
            let told = why.downcast_ref::<HostRefusal>();
            Fault::unanswered(told.map_or("its function has failed", |refusal| refusal.0))
        })
    }

    /// The set as the host of an evaluation.
    pub fn answers(&self) -> impl HostFunctions {
        Answers(self)
    }
}

struct Answers<'s>(&'s HostFunctionSet);

impl HostFunctions for Answers<'_> {
    fn call(&mut self, function: &str, arguments: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        self.0.call(function, arguments).map_err(Interruption::Fault)
    }
}

#[cfg(test)]
mod tests {
    use super::HostFunctionSet;
    use crate::{
        Activation, CallCost, Env, EnvBuilder, ErrorCode, EvalError, EvalLimits, Json, Program, STANDARD,
        Signature, Stop, Type, Value,
    };

    fn env(limits: EvalLimits, signatures: &[Signature]) -> Env {
        let scope = Env::builder().variable("x", Type::Dyn).limits(limits);
        let scope = signatures.iter().fold(scope, |scope, it| scope.function(it.declaration()));
        STANDARD.iter().copied().fold(scope, EnvBuilder::library).build()
    }

    /// Evaluates an expression where `h.f` has these types and returns this value.
    fn came_to(
        text: &str,
        (parameter, result): (&str, &str),
        x: serde_json::Value,
        gives: fn(&Value<'_>) -> Value<'static>,
    ) -> Result<bool, ErrorCode> {
        let types = [parameter, result].map(|ty| Type::parse(ty).unwrap());
        let [parameter, result] = types;
        let signature = Signature::new("h.f", [parameter], result);
        let env = env(EvalLimits::default(), std::slice::from_ref(&signature));
        let mut set = HostFunctionSet::default();
        set.register(signature, move |arguments| Ok(gives(arguments.first().unwrap())));
        let program = Program::compile(&env, text).unwrap();
        let x = Json::from(x);
        let activation = Activation::new(&env).with(&env, "x", x.value());
        program.holds(&activation, Some(&mut set.answers())).map_err(|stop| match stop {
            Stop::Failed(EvalError { code, .. }) => code,
            Stop::Asked => panic!("it asks no question"),
        })
    }

    #[test]
    fn arguments_and_results_are_of_the_declared_types() {
        use serde_json::json;
        let double = |value: &Value<'_>| match value {
            Value::Double(number) => Value::Double(number * 2.0),
            _ => Value::Null,
        };
        assert_eq!(came_to("h.f(x) == 10.0", ("double", "double"), json!(5), double), Ok(true));
        assert_eq!(came_to("h.f(x) == 11.0", ("double", "double"), json!(5.5), double), Ok(true));
        let other = Err(ErrorCode::NoMatchingOverload);
        assert_eq!(came_to("h.f(x) == 10.0", ("double", "double"), json!("5"), double), other);
        assert_eq!(came_to("h.f(x) == 10.0", ("double", "double"), json!(i64::MAX), double), other);
        assert_eq!(came_to("h.f(x) == 10.0", ("int", "double"), json!(5.0), double), other);
        // a result of another type fails, however deep it stands
        let failed = Err(ErrorCode::HostFailed);
        assert_eq!(came_to("h.f(x) == 'a'", ("dyn", "string"), json!(1), |_| Value::Int(1)), failed);
        let mixed = |_: &Value<'_>| Value::list(vec![Value::owned_text("a"), Value::Int(1)]);
        assert_eq!(came_to("h.f(x).size() == 2", ("dyn", "list(string)"), json!(1), mixed), failed);
        assert_eq!(came_to("h.f(x).size() == 2", ("dyn", "list(dyn)"), json!(1), mixed), Ok(true));
        let whole = |_: &Value<'_>| Value::list(vec![Value::Int(1)]);
        assert_eq!(came_to("h.f(x)[0] == 1.0", ("dyn", "list(double)"), json!(1), whole), Ok(true));
        let kept = |value: &Value<'_>| value.to_static().unwrap_or(Value::Null);
        let map = "map(string, list(int))";
        assert_eq!(came_to("h.f(x).a[1] == 2", (map, map), json!({"a": [1, 2]}), kept), Ok(true));
        assert_eq!(came_to("h.f(x).a[1] == 2", (map, map), json!({"a": [1, "2"]}), kept), other);
    }

    #[test]
    fn an_error_and_a_panic_fail_the_evaluation_and_say_nothing() {
        let signature = Signature::new("h.f", [Type::Int], Type::Bool);
        let env = env(EvalLimits::default(), std::slice::from_ref(&signature));
        let program = Program::compile(&env, "h.f(1)").unwrap();
        let mut set = HostFunctionSet::default();
        for code in [|_: &[Value<'_>]| Err("a secret".into()), |_: &[Value<'_>]| panic!("a secret")] {
            set.register(signature.clone(), code);
            let Err(Stop::Failed(error)) = program.holds(&Activation::new(&env), Some(&mut set.answers()))
            else {
                panic!("it gives no value")
            };
            assert_eq!(error.code, ErrorCode::HostFailed);
            assert!(!error.to_string().contains("secret"));
        }
        // neither does one that nobody has registered
        let none = HostFunctionSet::default();
        assert!(program.holds(&Activation::new(&env), Some(&mut none.answers())).is_err());
    }

    #[test]
    fn a_call_is_paid_for_before_it_is_made() {
        let signature = |cost| Signature::new("h.f", [Type::Dyn], Type::Bool).costing(cost);
        let spent = |cost, text: &str| {
            let signature = signature(cost);
            let env = env(EvalLimits::default(), std::slice::from_ref(&signature));
            let mut set = HostFunctionSet::default();
            set.register(signature, |_| Ok(Value::Bool(true)));
            let program = Program::compile(&env, text).unwrap();
            program.holds_metered(&Activation::new(&env), Some(&mut set.answers())).1
        };
        let one = spent(CallCost { call: 1, size: 0 }, "h.f('abcde')");
        assert_eq!(spent(CallCost { call: 501, size: 0 }, "h.f('abcde')"), one + 500);
        assert_eq!(spent(CallCost { call: 1, size: 7 }, "h.f('abcde')"), one + 35);
        assert_eq!(
            spent(CallCost { call: 1, size: 7 }, "h.f(['abc', 'de'])"),
            one + 49 + {
                let plain = spent(CallCost { call: 1, size: 0 }, "h.f(['abc', 'de'])");
                plain - one
            }
        );
        // beyond the budget it is not called
        let limits = EvalLimits { max_cost: 100, ..EvalLimits::default() };
        let signature = signature(CallCost { call: 101, size: 0 });
        let env = env(limits, std::slice::from_ref(&signature));
        let mut set = HostFunctionSet::default();
        set.register(signature, |_| panic!("it is too dear"));
        let program = Program::compile(&env, "h.f(1)").unwrap();
        let Err(Stop::Failed(error)) = program.holds(&Activation::new(&env), Some(&mut set.answers())) else {
            panic!("the budget is too small")
        };
        assert_eq!(error.code, ErrorCode::BudgetExceeded);
    }
}
