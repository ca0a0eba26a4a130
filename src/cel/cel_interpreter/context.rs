//! One set of variables and functions for programs of the crate `cel` and of this one.
//!
//! In: a [`cel::Context`] as a host has it. Out: what this crate's programs need of it, a scope, activations and the functions.
//! That crate lists the variables of a context and neither its functions nor what a resolver knows, so these are named once
//! more. A call runs in that crate: the arguments become variables of an inner scope, under names that no expression can
//! write, and the interpreter calls its function by name, so overloads, methods, `This`, `Arguments` and `FunctionContext` are
//! what they always were.

use super::values::{Conversion, ConversionError};
use crate::env::{Env, EnvBuilder, Slot};
use crate::eval::{Activation, HostFunctions, Interruption};
use crate::fault::{ErrorCode, Fault};
use crate::function::{Code, Declaration, Function, Overload};
use crate::limits::EvalLimits;
use crate::syntax::{MACROS, RESERVED};
use crate::types::{Kind, Type};
use crate::value::Value;
use cel::common::ast::{CallExpr, Expr, IdedExpr};
use cel::common::value::Val;
use cel::extractors::IntoFunction;
use cel::{Context, DeclarationError, ExecutionError};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The row that all functions of contexts share; each has its own name and signatures.
const FUNCTION: Function = Function {
    name: "cel_interpreter.function",
    doc: "what a function of a `cel::Context` gives",
    cost: "1; its own work is not metered",
    overloads: &[],
    examples: &[],
    code: Code::Host,
};

/// A `cel::Context` whose variables and functions programs of this crate use as well.
///
/// Shared by threads as that crate's own context is; a program runs on an activation and functions of its own.
pub struct SharedContext<'p, 'v> {
    context: Context<'p, 'v>,
    /// Variables that only a resolver knows.
    resolved: BTreeSet<String>,
    functions: BTreeMap<String, Declaration>,
}

/// Why a context cannot be shared as it is.
///
/// ```
/// use celador_cel::cel_interpreter::{SharedContext, SharedContextError};
///
/// let mut shared = SharedContext::new(cel::Context::default());
/// let error = shared.add_function("has", |value: i64| value).unwrap_err();
/// assert_eq!(error, SharedContextError::NotCallable("has".to_owned()));
/// assert_eq!(error.to_string(), "no expression can call a function `has`");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SharedContextError {
    /// That crate refuses the function: its environment has one of the name.
    #[error(transparent)]
    Refused(DeclarationError),
    /// No expression calls a function by this name: it is no name, a reserved word, or a macro.
    #[error("no expression can call a function `{0}`")]
    NotCallable(String),
    /// A signature cannot be read, or is that of another function.
    #[error("`{signature}` is no signature of `{function}`")]
    Signature {
        /// The name of the function.
        function: String,
        /// The text.
        signature: String,
    },
    /// A variable holds what this crate has no value for.
    #[error("variable `{variable}`: {error}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// Why there is no value.
        error: ConversionError,
    },
    /// A variable holds a value of another type than the scope declares.
    #[error("variable `{variable}` is declared as `{declared}` and holds a value of the kind `{found}`")]
    Kind {
        /// The name of the variable.
        variable: String,
        /// The type in the scope.
        declared: Type,
        /// The kind of its value.
        found: Kind,
    },
}

impl<'p, 'v> SharedContext<'p, 'v> {
    /// Shares a context. Its variables are known; its functions, and what its resolver knows, have to be declared.
    #[must_use]
    pub fn new(context: Context<'p, 'v>) -> Self {
        Self { context, resolved: BTreeSet::new(), functions: BTreeMap::new() }
    }

    /// The context, for programs of the crate `cel`.
    #[must_use]
    pub fn context(&self) -> &Context<'p, 'v> {
        &self.context
    }

    /// The context, for variables to be added or changed. A function that is added here has to be declared, too.
    pub fn context_mut(&mut self) -> &mut Context<'p, 'v> {
        &mut self.context
    }

    /// Adds a function to the context and declares it, for arguments of any number and type, as a function and as a method.
    ///
    /// # Errors
    /// A name that the context refuses or that no expression can call.
    pub fn add_function<T: 'static, F>(&mut self, name: &str, function: F) -> Result<(), SharedContextError>
    where
        F: IntoFunction<T> + 'static + Send + Sync,
    {
        self.declare_function(name, &[])?;
        let added = self.context.add_function(name, function);
        if added.is_err() {
            self.functions.remove(name);
        }
        added.map_err(SharedContextError::Refused)
    }

    /// Declares a function that the context has, with signatures such as `string.greet(string) -> string`, to which calls are
    /// held when they are compiled; none at all means arguments of any number and type, and any result. Declared again, a
    /// function has the later signatures. One that the context does not have fails when it is called.
    ///
    /// # Errors
    /// A name that no expression can call, or a signature that cannot be read.
    pub fn declare_function(&mut self, name: &str, signatures: &[&str]) -> Result<(), SharedContextError> {
        if !is_callable(name) {
            return Err(SharedContextError::NotCallable(name.to_owned()));
        }
        let read = |signature: &&str| {
            let overload = Overload::parse("cel_interpreter", signature).filter(|overload| {
                let call = format!("{name}(");
                let dotted = format!(".{call}");
                if overload.member { signature.contains(&dotted) } else { signature.starts_with(&call) }
            });
            overload.ok_or_else(|| SharedContextError::Signature {
                function: name.to_owned(),
                signature: (*signature).to_owned(),
            })
        };
        let mut overloads = signatures.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if overloads.is_empty() {
            overloads = any_arguments();
        }
        let declaration = Declaration { overloads: overloads.into(), ..Declaration::of(&FUNCTION) };
        self.functions.insert(name.to_owned(), declaration.named(name.to_owned()));
        Ok(())
    }

    /// Declares a variable that only the resolver of the context knows.
    pub fn declare_variable(&mut self, name: &str) {
        self.resolved.insert(name.to_owned());
    }

    /// The names of the variables, in their order.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<&str> {
        let mut names: BTreeSet<&str> = self.resolved.iter().map(String::as_str).collect();
        let mut context = &self.context;
        loop {
            let (variables, parent) = match context {
                Context::Root { variables, .. } => (variables, None),
                Context::Child { parent, variables, .. } => (variables, Some(*parent)),
            };
            names.extend(variables.keys().map(String::as_str));
            match parent {
                Some(parent) => context = parent,
                None => return names,
            }
        }
    }

    /// Adds the variables and functions to a scope: a variable that the scope does not declare yet is `dyn`, and a function
    /// takes the place of a library's function of the same name, as it is the one that the host's expressions mean.
    #[must_use]
    pub fn scope(&self, scope: EnvBuilder) -> EnvBuilder {
        let undeclared = |scope: EnvBuilder, name: &str| {
            if scope.declares_variable(name) { scope } else { scope.variable(name, Type::Dyn) }
        };
        let scope = self.variables().into_iter().fold(scope, undeclared);
        self.functions.values().cloned().fold(scope, EnvBuilder::function)
    }

    /// The values of these variables of a scope, such as [`Program::variables`](crate::Program::variables), copied out of the
    /// context as they are now. A variable that the context does not have is left without a value.
    ///
    /// # Errors
    /// A variable whose value this crate does not have or the scope declares as another type.
    ///
    /// # Cost
    /// Linear in the values.
    pub fn activation(&self, env: &Env, slots: &[Slot]) -> Result<Activation<'static>, SharedContextError> {
        let mut activation = Activation::new(env);
        for (name, variable) in env.variables().filter(|(_, variable)| slots.contains(&variable.slot)) {
            let Some(value) = self.context.get_variable(name) else { continue };
            let value = Conversion::new(env.limits()).of_foreign(value.as_ref());
            let value =
                value.map_err(|error| SharedContextError::Variable { variable: name.to_owned(), error })?;
            let found = value.kind();
            if !may_be(&variable.ty, found) {
                let (variable, declared) = (name.to_owned(), variable.ty.clone());
                return Err(SharedContextError::Kind { variable, declared, found });
            }
            activation.bind(variable.slot, value);
        }
        Ok(activation)
    }

    /// The functions for one run of a program of a scope. What they take and give in one run is bounded by the scope's
    /// `max_built_bytes`.
    #[must_use]
    pub fn functions<'c>(&'c self, env: &Env) -> ContextFunctions<'c, 'p, 'v> {
        ContextFunctions { shared: self, limits: *env.limits(), bytes: 0 }
    }
}

/// Whether an expression can call a function by this name: identifiers with dots between them, and no macro.
fn is_callable(name: &str) -> bool {
    let is_identifier = |part: &str| {
        let starts = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let all = part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        starts && all && !RESERVED.contains(&part) && !["true", "false", "null", "in"].contains(&part)
    };
    name.split('.').all(is_identifier) && !MACROS.iter().any(|one| one.name == name)
}

/// The signatures of a function that says nothing of its arguments.
fn any_arguments() -> Vec<Overload> {
    let overload = |member, parameters: &[Type], variadic| Overload {
        id: "cel_interpreter",
        member,
        parameters: parameters.to_vec(),
        variadic,
        result: Type::Dyn,
    };
    vec![overload(false, &[], false), overload(false, &[Type::Dyn], true), overload(true, &[Type::Dyn], true)]
}

/// Whether a signature takes values of these kinds, the receiver first.
fn takes(overload: &Overload, kinds: &[Kind]) -> bool {
    let repeated = overload.parameters.last().into_iter().cycle();
    let mut pairs = overload.parameters.iter().chain(repeated).zip(kinds);
    overload.takes(kinds.len()) && pairs.all(|(parameter, kind)| may_be(parameter, *kind))
}

/// Whether a value of this kind may be of this type.
fn may_be(ty: &Type, kind: Kind) -> bool {
    ty.kind().is_none_or(|own| own == kind)
}

/// The functions of a [`SharedContext`], for one run of a program.
///
/// A function that refuses its arguments fails as `no_matching_overload`, and one that fails otherwise or panics as
/// `host_failed`: the error has the function's name and place and nothing of what that crate says, which may hold data. A panic
/// goes by the host's panic hook first, whose text is the host's; where panics abort, the process ends.
///
/// # Cost
/// A call costs 1 beside its arguments. They and the result are copied, in time linear in them, and what they take counts
/// against `max_built_bytes` of the run. The work of the function itself is not metered: bound it in the function.
///
/// ```
/// use celador_cel::cel_interpreter::{ContextFunctions, SharedContext};
/// use celador_cel::{Activation, Env, ErrorCode, Program, Stop};
///
/// let mut shared = SharedContext::new(cel::Context::default());
/// shared.add_function("check", |age: i64| -> bool { assert!(age >= 0); age >= 18 })?;
/// let env = shared.scope(Env::builder()).build();
/// let mut functions: ContextFunctions = shared.functions(&env);
/// let mut holds = |text| Program::compile(&env, text).unwrap().holds(&Activation::new(&env), Some(&mut functions));
/// assert_eq!(holds("check(20)"), Ok(true));
/// // its panic is an error of the expression
/// assert!(matches!(holds("check(-1)"), Err(Stop::Failed(error)) if error.code == ErrorCode::HostFailed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ContextFunctions<'c, 'p, 'v> {
    shared: &'c SharedContext<'p, 'v>,
    limits: EvalLimits,
    /// What the arguments and results so far took.
    bytes: u64,
}

impl HostFunctions for ContextFunctions<'_, '_, '_> {
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        self.answer(function, None, args).map_err(Interruption::Fault)
    }

    fn call_member(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        let Some((target, args)) = args.split_first() else { return self.call(function, args) };
        self.answer(function, Some(target), args).map_err(Interruption::Fault)
    }
}

impl ContextFunctions<'_, '_, '_> {
    fn answer(
        &mut self,
        function: &str,
        target: Option<&Value<'_>>,
        args: &[Value<'_>],
    ) -> Result<Value<'static>, Fault> {
        let Some(declaration) = self.shared.functions.get(function) else {
            return Err(ErrorCode::HostFailed.into());
        };
        let refused = || Fault::no_overload(target.into_iter().chain(args).map(Value::kind));
        // values of unknown type, and calls that were only warned of, are held to the signatures here
        let kinds: Vec<Kind> = target.into_iter().chain(args).map(Value::kind).collect();
        let meant = |overload: &&Overload| overload.member == target.is_some() && takes(overload, &kinds);
        let meant: Vec<&Overload> = declaration.overloads.iter().filter(meant).collect();
        if meant.is_empty() {
            return Err(refused());
        }
        let mut scope = self.shared.context.new_inner_scope();
        let mut operands = Vec::with_capacity(args.len().saturating_add(1));
        for (place, value) in target.into_iter().chain(args).enumerate() {
            // a name that no expression can write, and no host gives a variable
            let name = format!("@{place}");
            scope.add_variable_as_val(name.as_str(), self.argument(value, &refused)?);
            operands.push(IdedExpr { id: 0, expr: Expr::Ident(name) });
        }
        let mut operands = operands.into_iter();
        let target = if target.is_some() { operands.next().map(Box::new) } else { None };
        let call = CallExpr { func_name: function.to_owned(), target, args: operands.collect() };
        let call = IdedExpr { id: 0, expr: Expr::Call(call) };
        let limits = &self.limits;
        // Nothing of this crate is changed in there. What the function itself left half done when it panicked stays with the
        // host, as it does where a thread panics.
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let result = cel::Value::resolve_val(&call, &scope).map_err(|error| match error {
                ExecutionError::InvalidArgumentCount { .. }
                | ExecutionError::UnsupportedTargetType { .. }
                | ExecutionError::NotSupportedAsMethod { .. }
                | ExecutionError::UnexpectedType { .. }
                | ExecutionError::NoSuchOverload(_)
                | ExecutionError::MissingArgumentOrTarget => refused(),
                _ => ErrorCode::HostFailed.into(),
            })?;
            let mut conversion = Conversion::new(limits);
            let result = conversion.of_foreign(result.as_ref());
            Ok::<_, Fault>((result, conversion.bytes))
        }));
        let (result, bytes) = ran.unwrap_or_else(|_| Err(ErrorCode::HostFailed.into()))?;
        self.charge(bytes)?;
        let result = result.map_err(|error| error.fault(ErrorCode::HostFailed.into()))?;
        // what follows was checked on the word of the signature
        let is_declared = meant.iter().any(|overload| may_be(&overload.result, result.kind()));
        if is_declared { Ok(result) } else { Err(ErrorCode::HostFailed.into()) }
    }

    /// An argument as that crate's interpreter holds it.
    fn argument(&mut self, value: &Value<'_>, refused: &impl Fn() -> Fault) -> Result<Box<dyn Val>, Fault> {
        let mut conversion = Conversion::new(&self.limits);
        let value = conversion.as_foreign(value);
        self.charge(conversion.bytes)?;
        let value = value.map_err(|error| error.fault(refused()))?;
        value.try_into().map_err(|_: ExecutionError| refused())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.max_built_bytes { Err(Fault::budget("max_built_bytes")) } else { Ok(()) }
    }
}
