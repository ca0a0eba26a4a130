//! How an evaluation ends without a value: it failed at a place, or the host must be asked first.

use super::activation::Interruption;
use crate::fault::{ErrorCode, Fault};
use crate::limits::EvalLimits;
use crate::plan::{Node, NodeId, Plan};
use crate::source::Span;
use crate::types::Kind;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The expression failed.
    Failed(EvalError),
    /// The host was asked something that it cannot answer yet; evaluate again when it can.
    Asked,
}

/// A failed evaluation: the code of the error, the place in the expression, and the kinds of the values; never a value.
///
/// ```
/// use celador_cel::{Activation, Env, EnvBuilder, ErrorCode, Program, STANDARD, Stop, Type, Value};
///
/// let scope = Env::builder().variable("order", Type::Dyn);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "order.total / 0").unwrap();
/// let order = celador_cel::Json::from(serde_json::json!({"total": 42}));
/// let activation = Activation::new(&env).with(&env, "order", order.value());
/// let Err(Stop::Failed(error)) = program.run(&activation, None) else { panic!("it divides by zero") };
/// assert_eq!(error.code, ErrorCode::DivideByZero);
/// assert_eq!((error.span.start, error.span.end), (0, 15));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    /// The error, for programs to branch on.
    pub code: ErrorCode,
    /// The characters of the part that failed.
    pub span: Span,
    /// The kinds of its operands, where they explain it.
    pub found: [Option<Kind>; 3],
    /// The function or operator that failed.
    pub function: Option<Cow<'static, str>>,
    /// The name and value of the bound that was exceeded.
    pub bound: Option<(&'static str, u64)>,
    /// The argument that a function expected, if it refused one, or why the host gave no value; in words, without a value.
    pub detail: Option<&'static str>,
}

impl EvalError {
    /// The error as text, with the expected argument if one was refused; without the place, the function and the kinds.
    #[must_use]
    pub fn reason(&self) -> String {
        let detail = self.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
        format!("{}{detail}", self.code.describe())
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, value)) = self.bound {
            return write!(f, "evaluation budget `{name}` {value} exceeded");
        }
        f.write_str(self.code.describe())?;
        if let Some(function) = &self.function {
            write!(f, " for `{function}`")?;
        }
        let mut kinds = self.found.iter().flatten();
        if let Some(first) = kinds.next() {
            write!(f, " applied to ({first}")?;
            kinds.try_for_each(|kind| write!(f, ", {kind}"))?;
            f.write_str(")")?;
        }
        self.detail.map_or(Ok(()), |detail| write!(f, ": {}{detail}", self.code.before_detail()))
    }
}

impl std::error::Error for EvalError {}

/// Why the evaluation stands still: as [`Stop`], with the step instead of its characters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Halt {
    Fault(Fault, NodeId),
    Asked,
}

/// What came out of a step: its value, or why there is none.
pub(super) type Outcome<'a> = Result<Value<'a>, Halt>;

impl Halt {
    pub(super) fn of(interruption: Interruption, at: NodeId) -> Self {
        match interruption {
            Interruption::Fault(fault) => Self::Fault(fault, at),
            Interruption::Asked => Self::Asked,
        }
    }

    /// Whether neither `||` nor a loop may absorb it: a question to the host, or a spent budget.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Fault(fault, _) => fault.code == ErrorCode::BudgetExceeded,
            Self::Asked => true,
        }
    }

    /// The public form, with everything that explains it.
    #[cold]
    pub(super) fn explain(self, plan: &Plan, limits: &EvalLimits) -> Stop {
        let Self::Fault(fault, at) = self else { return Stop::Asked };
        let bound = fault.bound.and_then(|name| Some((name, limits.get(name)?)));
        let function = plan.node(at).and_then(Node::function_name);
        let (code, span, found, detail) = (fault.code, plan.span(at), fault.found, fault.detail());
        Stop::Failed(EvalError { code, span, found, function, bound, detail })
    }
}
