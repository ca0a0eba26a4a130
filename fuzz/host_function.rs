//! A function of a host with a signature, arguments and a value that bytes choose, held to what its declaration promises.

use celador_cel::{
    Activation, CallCost, Env, EnvBuilder, ErrorCode, EvalError, EvalLimits, HostFunctionSet, Json, Program,
    STANDARD, Signature, Stop, Type, Value as Given,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A secret in arguments and errors of the function, which no error of an expression may contain.
const DATA: &str = "hunter2";

/// A type that JSON has.
enum Ty {
    Dyn,
    Null,
    Bool,
    Int,
    Double,
    Text,
    List(Box<Self>),
    Map(Box<Self>),
}

impl Ty {
    fn text(&self) -> String {
        match self {
            Self::Dyn => "dyn".to_owned(),
            Self::Null => "null_type".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Text => "string".to_owned(),
            Self::List(of) => format!("list({})", of.text()),
            Self::Map(of) => format!("map(string, {})", of.text()),
        }
    }

    fn cel(&self) -> Type {
        Type::parse(&self.text()).expect("it is a type of CEL")
    }

    /// A value as one of this type, if it is one: read off the documentation, not off the code.
    fn held(&self, value: &Value) -> Option<Value> {
        match (self, value) {
            (Self::Dyn, value) => Some(value.clone()),
            (Self::Null, Value::Null) | (Self::Bool, Value::Bool(_)) | (Self::Text, Value::String(_)) => {
                Some(value.clone())
            }
            (Self::Int, Value::Number(number)) => number.as_i64().map(Value::from),
            (Self::Double, Value::Number(number)) => match number.as_i64() {
                Some(whole) if whole.unsigned_abs() > 1 << 53 => None,
                _ => number.as_f64().map(Value::from),
            },
            (Self::List(of), Value::Array(items)) => items.iter().map(|item| of.held(item)).collect(),
            (Self::Map(of), Value::Object(members)) => {
                let held = members.iter().map(|(name, item)| Some((name.clone(), of.held(item)?)));
                held.collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
            }
            _ => None,
        }
    }
}

struct Choices<'b>(std::slice::Iter<'b, u8>);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.0.next().map_or(0, |&byte| usize::from(byte) % count)
    }

    fn ty(&mut self, depth: usize) -> Ty {
        match self.below(if depth > 0 { 8 } else { 6 }) {
            0 => Ty::Dyn,
            1 => Ty::Null,
            2 => Ty::Bool,
            3 => Ty::Int,
            4 => Ty::Double,
            5 => Ty::Text,
            6 => Ty::List(Box::new(self.ty(depth - 1))),
            _ => Ty::Map(Box::new(self.ty(depth - 1))),
        }
    }

    /// Any value.
    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 0 { 8 } else { 6 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!([0, -1, 10, 1_i64 << 53, (1_i64 << 53) + 1, i64::MAX, i64::MIN][self.below(7)]),
            3 => json!([0.0, -0.5, 10.0, 1e300, f64::MIN_POSITIVE][self.below(5)]),
            4 => json!(["", "a", DATA, "é\u{1F512}"][self.below(4)]),
            5 => json!(DATA.repeat(self.below(40))),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.below(4)).map(|at| (format!("k{at}"), self.value(depth - 1))).collect(),
        }
    }

    /// A value of a type, or now and then any other.
    fn value_of(&mut self, ty: &Ty, depth: usize) -> Value {
        if self.below(8) == 1 {
            return self.value(depth);
        }
        match ty {
            Ty::Dyn => self.value(depth),
            Ty::Null => Value::Null,
            Ty::Bool => json!(self.below(2) == 0),
            Ty::Int => json!([0, 7, i64::MIN][self.below(3)]),
            Ty::Double => [json!(0.5), json!(7), json!(-1_i64 << 53), json!(1e300)][self.below(4)].clone(),
            Ty::Text => json!(["", DATA, "é\u{1F512}"][self.below(3)]),
            Ty::List(of) => (0..self.below(4)).map(|_| self.value_of(of, depth.saturating_sub(1))).collect(),
            Ty::Map(of) => {
                let count = self.below(4);
                let member = |at| (format!("k{at}"), self.value_of(of, depth.saturating_sub(1)));
                (0..count).map(member).collect()
            }
        }
    }
}

/// The units by which a value is paid for.
fn units(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.chars().count() as u64,
        Value::Array(items) => items.len() as u64 + items.iter().map(units).sum::<u64>(),
        Value::Object(members) => members.len() as u64 + members.values().map(units).sum::<u64>(),
        _ => 0,
    }
}

/// The behaviour of the function.
#[derive(Clone)]
enum Does {
    Gives(Value),
    Fails,
}

/// One function with its arguments, and what has come of calls.
struct Tried<'t> {
    signature: Signature,
    arguments: &'t [Value],
    does: &'t Does,
}

impl Tried<'_> {
    /// Evaluates an expression. Returns its value or error, its cost, and the arguments of the function.
    fn run(&self, text: &str, cost: CallCost, max_cost: u64) -> (Result<Value, ErrorCode>, u64, Vec<Value>) {
        let signature = self.signature.clone().costing(cost);
        let limits = EvalLimits { max_cost, ..EvalLimits::default() };
        let scope = Env::builder().limits(limits).function(signature.declaration());
        let scope = (0..self.arguments.len()).fold(scope, |scope, at| {
            let name: &str = ["a", "b", "c"][at];
            scope.variable(name, Type::Dyn)
        });
        let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
        let (calls, given) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::Mutex::new(Vec::new())));
        let mut host = HostFunctionSet::default();
        let (does, seen, counted) = (self.does.clone(), given.clone(), calls.clone());
        host.register(signature, move |arguments| {
            counted.fetch_add(1, Ordering::Relaxed);
            *seen.lock().expect("nothing panics") = arguments.iter().map(plain).collect();
            match &does {
                Does::Gives(value) => Ok(Json::from(value.clone()).root().to_static()),
                Does::Fails => Err(DATA.into()),
            }
        });
        let arguments: Vec<Json> = self.arguments.iter().map(Json::from).collect();
        let program = Program::compile(&env, text).expect("its names are declared");
        let activation =
            arguments.iter().enumerate().fold(Activation::new(&env), |activation, (at, json)| {
                activation.with(&env, ["a", "b", "c"][at], json.value())
            });
        let value = match program.run(&activation, Some(&mut host.answers())) {
            Ok(value) => Ok(plain(&value)),
            Err(Stop::Failed(error)) => Err(told(&error)),
            Err(Stop::Asked) => panic!("a function of a host asks no question"),
        };
        let called = calls.load(Ordering::Relaxed);
        assert!(called <= 1 && (called == 1 || value.is_err()), "{called} calls, {value:?}");
        let spent = program.run_metered(&activation, Some(&mut host.answers())).1;
        let given = given.lock().expect("nothing panics").clone();
        (value, spent, if called == 0 { Vec::new() } else { given })
    }
}

fn told(error: &EvalError) -> ErrorCode {
    assert!(!error.to_string().contains(DATA) && !error.reason().contains(DATA), "{error}");
    error.code
}

fn plain(value: &Given<'_>) -> Value {
    let json = Json::from_value_within(value, &EvalLimits::default()).expect("it is a value of JSON");
    serde_json::to_value(&json).expect("it can be written")
}

/// Calls a function of a host. Its arguments are of the declared types or it is not called, its value is of the declared type or the call fails, an error fails the call and says nothing, and a
/// call is paid for as declared before it is made.
pub fn host_function(data: &[u8]) {
    let mut choices = Choices(data.iter());
    let parameters: Vec<Ty> = (0..choices.below(4)).map(|_| choices.ty(2)).collect();
    let result = choices.ty(2);
    let arguments: Vec<Value> = parameters.iter().map(|ty| choices.value_of(ty, 2)).collect();
    let does = match choices.below(8) {
        1 => Does::Fails,
        _ => Does::Gives(choices.value_of(&result, 2)),
    };
    let cost = CallCost { call: 1 + choices.below(250) as u64, size: 1 + choices.below(9) as u64 };
    let signature = Signature::new("h.f", parameters.iter().map(Ty::cel), result.cel());
    let tried = Tried { signature, arguments: &arguments, does: &does };
    let text = format!("h.f({})", ["a", "b", "c"][..arguments.len()].join(", "));

    let (value, spent, given) = tried.run(&text, cost, 1_000_000);
    let held: Option<Vec<Value>> = parameters.iter().zip(&arguments).map(|(ty, it)| ty.held(it)).collect();
    let expected = match (&held, &does) {
        (None, _) => Err(ErrorCode::NoMatchingOverload),
        (Some(_), Does::Gives(given)) => result.held(given).ok_or(ErrorCode::HostFailed),
        (Some(_), Does::Fails) => Err(ErrorCode::HostFailed),
    };
    assert_eq!(value, expected, "{} of {arguments:?}", tried.signature);
    let Some(held) = held else {
        assert_eq!(given, [] as [Value; 0], "a call with other arguments was made");
        return;
    };
    assert_eq!(given, held);

    // twice the rates cost once more of each, whatever an expression costs beside
    let doubled = CallCost { call: cost.call * 2, size: cost.size * 2 };
    let charged = cost.call + cost.size * arguments.iter().map(units).sum::<u64>();
    assert_eq!(tried.run(&text, doubled, 1_000_000).1, spent + charged);
    // what the budget has no room for is not called
    let (value, _, given) = tried.run(&text, cost, charged - 1);
    assert_eq!((value, given), (Err(ErrorCode::BudgetExceeded), Vec::new()));
}
