//! What an expression can call: one row a function, with its signatures, cost, meaning, examples and code.
//!
//! The checker reads the signatures, the planner the code, the reference page and the tests the rest, so nothing about
//! a function is said twice. A signature is written as CEL is read: `string.startsWith(string) -> bool` for a member,
//! `size(list(A)) -> int` for a function; capitals are type parameters, and dots after the last parameter say that it
//! may be repeated: `math.greatest(int, int...) -> int`.

use super::fault::Fault;
use super::meter::Meter;
use super::signature::Signature;
use super::types::Type;
use super::value::{Opaque, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A function as its library writes it down.
///
/// ```
/// use celador_cel::{
///     Activation, Code, Env, EnvBuilder, ErrorCode, Fault, Function, Meter, NamesCode, Program, PureCode, STANDARD, Stop,
///     TestCode, Type, Value,
/// };
///
/// // the number of an account without blanks; looking at a text is paid for first
/// fn number(meter: &mut Meter<'_>, value: &Value<'_>) -> Result<String, Fault> {
///     let text = value.as_str().ok_or(Fault::no_overload([value.kind()]))?;
///     meter.charge_text(text.len())?;
///     Ok(text.chars().filter(|letter| !letter.is_whitespace()).collect())
/// }
///
/// const LAST_DIGITS: PureCode = |meter, arguments| match arguments {
///     [account] => {
///         let number = number(meter, account)?;
///         let hidden = number.chars().count().saturating_sub(4);
///         Ok(Value::owned_text(number.chars().skip(hidden).collect::<String>()))
///     }
///     _ => Err(ErrorCode::NoMatchingOverload.into()),
/// };
/// const IS_OF: PureCode = |meter, arguments| match arguments {
///     [account, Value::String(country)] => Ok(Value::Bool(number(meter, account)?.starts_with(&**country))),
///     _ => Err(ErrorCode::NoMatchingOverload.into()),
/// };
/// const COUNTRIES: NamesCode = || vec!["DE", "FR"];
/// const SAME_ACCOUNT: TestCode = |meter, one, other| Ok(number(meter, one)? == number(meter, other)?);
///
/// static ACCOUNTS: &[Function] = &[
///     Function {
///         name: "lastDigits",
///         doc: "the last four digits of an account",
///         cost: "a tenth of the length of the text",
///         overloads: &[("string_last_digits", "string.lastDigits() -> string")],
///         examples: &[("'DE02 1203 0000'.lastDigits()", "'0000'")],
///         code: Code::Pure(LAST_DIGITS),
///     },
///     Function {
///         name: "sameAccount",
///         doc: "whether two texts name one account",
///         cost: "a tenth of the lengths of the texts",
///         overloads: &[("same_account", "sameAccount(string, string) -> bool")],
///         examples: &[("sameAccount('DE02 1203', 'DE021203')", "true")],
///         code: Code::Test(SAME_ACCOUNT),
///     },
///     Function {
///         name: "isOf",
///         doc: "whether an account is of a country",
///         cost: "a tenth of the length of the text",
///         overloads: &[("is_of", "isOf(string, string) -> bool")],
///         examples: &[("isOf('DE02 1203', 'DE')", "true")],
///         code: Code::Named(IS_OF, COUNTRIES),
///     },
/// ];
///
/// let scope = Env::builder().variable("account", Type::Dyn).library(ACCOUNTS);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let text = "sameAccount(account, 'DE021203') && account.lastDigits() == '1203'";
/// let program = Program::compile(&env, text).unwrap();
/// let activation = Activation::new(&env).with(&env, "account", Value::from("DE02 1203"));
/// assert_eq!(program.holds(&activation, None), Ok(true));
///
/// // a country that the table does not have is found before anything runs
/// let issues = Program::compile(&env, "isOf(account, 'ED')").unwrap_err();
/// assert_eq!((issues[0].code, &*issues[0].message), ("unknown_row", "`isOf` does not know `ED`"));
///
/// // a fault says which kinds were found, and no value
/// let activation = activation.with(&env, "account", Value::Int(1203));
/// let Err(Stop::Failed(error)) = program.holds(&activation, None) else { panic!("a number is no account") };
/// assert_eq!(error.code, ErrorCode::NoMatchingOverload);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The name, qualified where its library is: `size`, `_+_`, `math.greatest`.
    pub name: &'static str,
    /// Its result, on one line.
    pub doc: &'static str,
    /// Its cost in the sizes of its arguments, on one line.
    pub cost: &'static str,
    /// Its overloads: `(id, signature)`, ids as cel-go's.
    pub overloads: &'static [(&'static str, &'static str)],
    /// Expressions with their results: CEL text for a value, `error: code` for an error.
    pub examples: &'static [(&'static str, &'static str)],
    /// How it is run.
    pub code: Code,
}

/// How a call is run.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// By this code, which finds the overload by the kinds of its arguments, the receiver first.
    Pure(PureCode),
    /// The same where the last argument, if there is more than one, names rows of a table of the library's: a text, or a list of
    /// texts. A constant that names no row of it is an error of the expression, found before it runs.
    Named(PureCode, NamesCode),
    /// The same for a question about two values, which needs no value of its own to say yes or no.
    Test(TestCode),
    /// As [`Code::Pure`], with the values of variables of the scope behind the arguments: of a function of time that of `now`.
    /// Where the scope does not have the first of them, each call fails; of another that it does not have, null is given.
    Given {
        /// The variables, in the order in which their values are given.
        variables: &'static [&'static str],
        /// The code.
        code: PureCode,
        /// Whether a call can succeed with this constant as the argument at this position, the receiver first: if not, it is
        /// reported when the expression is compiled.
        accepts: fn(usize, &Value<'_>) -> bool,
        /// Whether it asks of the element of a list, its first argument, if it is late enough: in a list that stands in the order of
        /// time ([`LiveList::time_order`](crate::LiveList::time_order)) it is false of the elements up to some place and true
        /// of those behind, whatever the other arguments are.
        is_of_time: bool,
    },
    /// By the evaluator itself: an operator, or a macro that decides which of its arguments are evaluated.
    Plan,
    /// By the host, which may have to ask somebody: `review`, `mount.read`.
    Host,
}

/// The code of a function: budget and arguments in, value out.
pub type PureCode = for<'a> fn(&mut Meter<'_>, &[&Value<'a>]) -> Result<Value<'a>, Fault>;

/// The names of a table's rows, for who checks constants.
pub type NamesCode = fn() -> Vec<&'static str>;

/// The code of a question about two values.
pub type TestCode = fn(&mut Meter<'_>, &Value<'_>, &Value<'_>) -> Result<bool, Fault>;

/// One signature, parsed.
#[derive(Clone, Debug)]
pub struct Overload {
    /// The id, such as `add_int64`.
    pub id: &'static str,
    /// Whether the first parameter is a receiver: `text.size()`, not `size(text)`.
    pub member: bool,
    /// The types of the parameters, the receiver first.
    pub parameters: Vec<Type>,
    /// Whether the last parameter may be repeated.
    pub variadic: bool,
    /// The type of the result.
    pub result: Type,
}

/// A function ready to be resolved: its name, its row and its signatures. A host whose signatures are not text makes one
/// itself.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The name that expressions call it by: the row's own, or one that is known only when the scope is made, such as that
    /// of a capability; many of those may share one row.
    pub name: Cow<'static, str>,
    /// The row.
    pub function: Function,
    /// Its signatures, parsed.
    pub overloads: Arc<[Overload]>,
    /// What a host has declared of it: calls are paid for by that, and held to it.
    pub signature: Option<Arc<Signature>>,
}

impl Declaration {
    /// A row with its signatures parsed. A signature that cannot be read declares no overload; a test holds that
    /// every row of the library can.
    #[must_use]
    pub fn of(function: &Function) -> Self {
        let overloads =
            function.overloads.iter().filter_map(|&(id, signature)| Overload::parse(id, signature));
        let (name, overloads) = (Cow::Borrowed(function.name), overloads.collect());
        Self { name, function: *function, overloads, signature: None }
    }

    /// The same function under a name that the program does not hold.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name: Cow::Owned(name), ..self }
    }
}

/// The row that all functions of hosts share, each under its own name.
const HOST_ROW: Function = Function {
    name: "host function",
    doc: "a function of the host",
    cost: "as its declaration says",
    overloads: &[],
    examples: &[],
    code: Code::Host,
};

impl Signature {
    /// The function as scopes declare it ([`EnvBuilder::function`](crate::EnvBuilder::function)).
    #[must_use]
    pub fn declaration(&self) -> Declaration {
        let overload = Overload {
            id: "host_function",
            member: false,
            parameters: self.parameters.clone(),
            variadic: false,
            result: self.result.clone(),
        };
        let row = Declaration::of(&HOST_ROW).named(self.name.to_string());
        Declaration { overloads: [overload].into(), signature: Some(Arc::new(self.clone())), ..row }
    }
}

impl Overload {
    /// Reads a signature: `string.startsWith(string) -> bool`, `size(list(A)) -> int`, `_+_(int, int) -> int`.
    #[must_use]
    pub fn parse(id: &'static str, signature: &str) -> Option<Self> {
        let (call, result) = signature.rsplit_once(" -> ")?;
        let call = call.strip_suffix(')')?;
        let mut reader = TypeReader { rest: call };
        let receiver = reader.receiver();
        let (_, parameters) = reader.rest.split_once('(')?;
        let mut reader = TypeReader { rest: parameters };
        let mut types: Vec<Type> = receiver.iter().cloned().collect();
        let mut variadic = false;
        while !reader.rest.is_empty() && !variadic {
            types.push(reader.ty()?);
            variadic = reader.skip("...");
            reader.skip(", ");
        }
        let mut result = TypeReader { rest: result };
        let ty = result.ty()?;
        let whole = reader.rest.is_empty() && result.rest.is_empty();
        whole.then_some(Self { id, member: receiver.is_some(), parameters: types, variadic, result: ty })
    }

    /// Whether it takes this many arguments, the receiver counted.
    #[must_use]
    pub fn takes(&self, count: usize) -> bool {
        count == self.parameters.len() || (self.variadic && count > self.parameters.len())
    }
}

impl Type {
    /// The longest text of a type: it bounds how deep types nest.
    pub const MAX_TEXT: usize = 256;

    /// Reads a type as CEL writes it: `string`, `list(int)`, `map(string, dyn)`. A text that has type parameters or that is longer than
    /// [`Type::MAX_TEXT`] names no type.
    ///
    /// ```
    /// use celador_cel::Type;
    ///
    /// assert_eq!(Type::parse("map(string, list(int))").unwrap().to_string(), "map(string, list(int))");
    /// assert_eq!((Type::parse("number"), Type::parse("list(A)")), (None, None));
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > Self::MAX_TEXT {
            return None;
        }
        let mut reader = TypeReader { rest: text };
        let ty = reader.ty()?;
        (reader.rest.is_empty() && !ty.is_generic()).then_some(ty)
    }
}

/// Reads types off the front of a text.
struct TypeReader<'t> {
    rest: &'t str,
}

impl TypeReader<'_> {
    /// The receiver, if a type and a dot stand in front: not so in `math.greatest(int)`.
    fn receiver(&mut self) -> Option<Type> {
        let before = self.rest;
        let receiver = self.ty().filter(|_| self.rest.starts_with('.'));
        if receiver.is_none() {
            self.rest = before;
        }
        receiver
    }

    /// Whether this text stood in front; it is behind now.
    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn ty(&mut self) -> Option<Type> {
        if let Some(name) = Opaque::TYPES.into_iter().find(|name| self.skip(name)) {
            return Some(Type::opaque(name, []));
        }
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let arguments = self.arguments()?;
        Some(match (name, arguments.as_slice()) {
            ("list", [element]) => Type::list(element.clone()),
            ("map", [key, value]) => Type::map(key.clone(), value.clone()),
            ("optional_type", [value]) => Type::optional(value.clone()),
            ("type", [described]) => Type::TypeOf(Arc::new(described.clone())),
            ("type", []) => Type::TypeOf(Arc::new(Type::Dyn)),
            ("dyn", []) => Type::Dyn,
            ("null_type", []) => Type::Null,
            ("bool", []) => Type::Bool,
            ("int", []) => Type::Int,
            ("uint", []) => Type::UInt,
            ("double", []) => Type::Double,
            ("string", []) => Type::String,
            ("bytes", []) => Type::Bytes,
            ("timestamp", []) => Type::Timestamp,
            ("duration", []) => Type::Duration,
            (name, []) if name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_uppercase()) => {
                Type::Param(name.into())
            }
            _ => return None,
        })
    }

    /// The types in brackets, if there are any, for the types that take some.
    fn arguments(&mut self) -> Option<Vec<Type>> {
        let mut arguments = Vec::new();
        let Some(mut rest) = self.rest.strip_prefix('(') else { return Some(arguments) };
        loop {
            self.rest = rest;
            arguments.push(self.ty()?);
            match (self.rest.strip_prefix(", "), self.rest.strip_prefix(')')) {
                (Some(more), _) => rest = more,
                (None, Some(after)) => {
                    self.rest = after;
                    return Some(arguments);
                }
                (None, None) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Overload;

    #[test]
    fn signatures_read_as_they_are_written() {
        let read = |signature: &str| {
            let overload = Overload::parse("id", signature).unwrap();
            let types: Vec<String> = overload.parameters.iter().map(ToString::to_string).collect();
            let dots = if overload.variadic { "..." } else { "" };
            format!("{} {}{dots} {}", overload.member, types.join(" "), overload.result)
        };
        assert_eq!(read("string.startsWith(string) -> bool"), "true string string bool");
        assert_eq!(read("size(list(A)) -> int"), "false list(A) int");
        assert_eq!(read("_[_](map(K, V), K) -> V"), "false map(K, V) K V");
        assert_eq!(read("math.greatest(int, int...) -> int"), "false int int... int");
        assert_eq!(read("net.CIDR.containsIP(net.IP) -> bool"), "true net.CIDR net.IP bool");
        assert!(Overload::parse("id", "f(int, strin) -> bool").is_none());
        assert_eq!(read("list(A).flatten() -> list(dyn)"), "true list(A) list(dyn)");
    }
}
