//! The scope of an expression: which variables, types and functions it may name.
//!
//! Made once for each scope, shared by all expressions of it. A variable has a slot, in which an activation of this
//! scope carries its value; a program and an activation of different scopes refuse each other.

use super::domain::Domain;
use super::function::{Declaration, Function};
use super::stdlib::LANGUAGE;
use super::types::Type;
use crate::limits::EvalLimits;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// Where an activation carries a variable.
///
/// ```
/// use celador_cel::{Activation, Env, EnvBuilder, EnvId, Program, STANDARD, Slot, Type, Value, Variable};
///
/// let scope = Env::builder().variable("total", Type::Int).optional_variable("most", Type::Int);
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "total < 5000").unwrap();
///
/// // looked up once for the scope, not by name in each run
/// let Variable { slot, ty, optional } = env.variable("total").ok_or("it is declared")?;
/// assert_eq!((ty, *optional), (&Type::Int, false));
/// let read: &[Slot] = program.variables();
/// assert_eq!(read, [*slot]);
///
/// // a host that keeps its activation asks whether it is still one of this scope
/// let mut activation = Activation::new(&env);
/// let scope: EnvId = activation.env();
/// assert_eq!(scope, program.env());
/// for (total, holds) in [(4_200, true), (5_100, false)] {
///     activation.bind(*slot, Value::Int(total));
///     assert_eq!(program.holds(&activation, None), Ok(holds));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// Tells scopes apart within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnvId(u64);

impl EnvId {
    /// The id of no scope.
    pub(super) const NONE: Self = Self(0);
}

/// A variable of a scope.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Where it is carried.
    pub slot: Slot,
    /// Its type.
    pub ty: Type,
    /// Whether it may be without a value, so that `has(name)` is worth asking (`CEL-10`).
    pub optional: bool,
}

/// A scope. Cheap to clone; clones are the same scope.
#[derive(Clone, Debug)]
pub struct Env(Arc<Inner>);

/// A scope being declared.
#[derive(Clone, Debug, Default)]
pub struct EnvBuilder {
    variables: IndexMap<Arc<str>, Variable>,
    slots: u16,
    /// Which libraries of the language it has, by their position in [`LANGUAGE`].
    libraries: Vec<usize>,
    /// The functions of its own, which stand in the place of those of the language.
    functions: HashMap<Cow<'static, str>, Declared>,
    /// The domains of the results of functions.
    results: HashMap<&'static str, Arc<Domain>>,
    /// Names that other scopes know, with the reasons. Nothing is looked up here but for a message.
    elsewhere: Vec<(Cow<'static, str>, &'static str)>,
    container: String,
    limits: EvalLimits,
}

#[derive(Debug)]
struct Inner {
    id: EnvId,
    scope: EnvBuilder,
}

/// A function of a scope. The signatures of a row are read when an expression first asks for them: a scope declares some hundreds of
/// functions, and a process that decides about one call, as a hook does, names few of them.
#[derive(Clone, Debug)]
enum Declared {
    Row(&'static Function, OnceLock<Declaration>),
    Own(Declaration),
}

impl Declared {
    fn get(&self) -> &Declaration {
        match self {
            Self::Row(function, read) => read.get_or_init(|| Declaration::of(function)),
            Self::Own(declaration) => declaration,
        }
    }

    /// The type of a library that has this name, if it gives one. Signatures are read where one is written so.
    fn gives(&self, name: &str) -> Option<&Type> {
        if let Self::Row(function, _) = self
            && !function.overloads.iter().any(|(_, signature)| given(signature) == name)
        {
            return None;
        }
        let mut results = self.get().overloads.iter().map(|overload| &overload.result);
        results.find(|ty| matches!(ty, Type::Opaque(own) if own.name == name))
    }
}

/// The name of the type that a signature gives, as it is written.
fn given(signature: &'static str) -> &'static str {
    // the last `>` is that of the arrow
    let result = signature.rsplit_once('>').map_or("", |(_, result)| result);
    result.split('(').next().unwrap_or(result).trim()
}

/// A function of the language, and the position of its library.
struct Shared {
    library: usize,
    declared: Declared,
}

/// The functions of the language, once for all scopes: there are some hundreds, and an agent has a scope for each set of functions that its
/// steps are for. No name stands in two libraries.
static SHARED: LazyLock<HashMap<&'static str, Shared>> = LazyLock::new(|| {
    let mut functions = HashMap::with_capacity(LANGUAGE.iter().map(|rows| rows.len()).sum());
    for (library, rows) in LANGUAGE.iter().enumerate() {
        let shared = |row| Shared { library, declared: Declared::Row(row, OnceLock::new()) };
        functions.extend(rows.iter().map(|row| (row.name, shared(row))));
    }
    functions
});

/// The names of the functions of the language by those of the types that they give: each name in an expression that no variable has is looked up here.
static GIVING: LazyLock<BTreeMap<&'static str, BTreeSet<&'static str>>> = LazyLock::new(|| {
    let mut giving: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for row in LANGUAGE.iter().copied().flatten() {
        for (_, signature) in row.overloads {
            giving.entry(given(signature)).or_default().insert(row.name);
        }
    }
    giving
});

impl EnvBuilder {
    /// A variable that always has a value.
    #[must_use]
    pub fn variable(self, name: &str, ty: Type) -> Self {
        self.declare(name, ty, false)
    }

    /// A variable that may be without a value; `has(name)` says whether it has one.
    #[must_use]
    pub fn optional_variable(self, name: &str, ty: Type) -> Self {
        self.declare(name, ty, true)
    }

    fn declare(mut self, name: &str, ty: Type, optional: bool) -> Self {
        let slot = Slot(self.slots);
        self.slots = self.slots.saturating_add(1);
        self.variables.insert(name.into(), Variable { slot, ty, optional });
        self
    }

    /// Another name of a variable that is declared already (`CEL-18`); of one that is not, nothing.
    #[must_use]
    pub fn alias(mut self, name: &str, of: &str) -> Self {
        if let Some(variable) = self.variables.get(of).cloned() {
            self.variables.insert(name.into(), variable);
        }
        self
    }

    /// The functions of a library; one declared before under the same name is replaced. Constant time for those of the language, which all
    /// scopes share; of others linear in their number.
    #[must_use]
    pub fn library(mut self, functions: &'static [Function]) -> Self {
        let Some(known) = LANGUAGE.iter().position(|known| std::ptr::eq(*known, functions)) else {
            return functions.iter().fold(self, Self::row);
        };
        if !self.functions.is_empty() {
            functions.iter().for_each(|function| drop(self.functions.remove(function.name)));
        }
        self.libraries.push(known);
        self
    }

    /// One function of a library; one declared before under the same name is replaced.
    #[must_use]
    pub fn row(self, function: &'static Function) -> Self {
        self.declared(function.name.into(), Declared::Row(function, OnceLock::new()))
    }

    /// Whether a variable or a function is declared under this name so far.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.variables.contains_key(name) || self.function_named(name).is_some()
    }

    fn function_named(&self, name: &str) -> Option<&Declared> {
        self.functions.get(name).or_else(|| self.shared(SHARED.get(name)?))
    }

    /// A function of the language, if the scope has its library.
    fn shared<'s>(&self, Shared { library, declared }: &'s Shared) -> Option<&'s Declared> {
        self.libraries.contains(library).then_some(declared)
    }

    fn all_functions(&self) -> impl Iterator<Item = &Declared> {
        let shared = SHARED.iter().filter(|(name, _)| !self.functions.contains_key(**name));
        self.functions.values().chain(shared.filter_map(|(_, shared)| self.shared(shared)))
    }

    /// Whether a variable is declared under this name so far.
    #[must_use]
    pub fn declares_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    /// A function whose signatures are given as types, which text cannot say of types of the host's own; one declared
    /// before under the same name is replaced.
    ///
    /// ```
    /// use celador_cel::{Code, Declaration, Env, Function, Overload, Program, Type};
    ///
    /// let function = Function {
    ///     name: "pair",
    ///     doc: "two values as one",
    ///     cost: "1",
    ///     overloads: &[],
    ///     examples: &[],
    ///     code: Code::Host,
    /// };
    /// let [a, b] = ["A", "B"].map(|name| Type::Param(name.into()));
    /// let overload = Overload {
    ///     id: "pair_A_B",
    ///     member: false,
    ///     parameters: vec![a.clone(), b.clone()],
    ///     variadic: false,
    ///     result: Type::opaque("pair", [a, b]),
    /// };
    /// let declaration = Declaration { overloads: [overload].into(), ..Declaration::of(&function) };
    /// let env = Env::builder().function(declaration).build();
    /// let program = Program::compile(&env, "pair(1, 'a')").unwrap();
    /// assert_eq!(program.result_type().to_string(), "pair(int, string)");
    /// ```
    #[must_use]
    pub fn function(self, declaration: Declaration) -> Self {
        self.declared(declaration.name.clone(), Declared::Own(declaration))
    }

    fn declared(mut self, name: Cow<'static, str>, function: Declared) -> Self {
        self.functions.insert(name, function);
        self
    }

    /// Declares the domain of what a function returns, which its signatures do not say: the words that a member of a map can be.
    #[must_use]
    pub fn result(mut self, function: &'static str, domain: Arc<Domain>) -> Self {
        self.results.insert(function, domain);
        self
    }

    /// Names that other scopes know, each with the reason why this one does not, for the message. Of a name that it has the reason is left out.
    #[must_use]
    pub fn elsewhere<N: Into<Cow<'static, str>>>(
        mut self,
        names: impl IntoIterator<Item = (N, &'static str)>,
    ) -> Self {
        self.elsewhere.extend(names.into_iter().map(|(name, why)| (name.into(), why)));
        self
    }

    /// The container in which names are looked up first, such as `com.example`.
    #[must_use]
    pub fn container(mut self, name: &str) -> Self {
        self.container = name.to_owned();
        self
    }

    /// The bounds of expressions of this scope.
    #[must_use]
    pub fn limits(mut self, limits: EvalLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The scope.
    #[must_use]
    pub fn build(self) -> Env {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Env(Arc::new(Inner { id: EnvId(NEXT.fetch_add(1, Ordering::Relaxed)), scope: self }))
    }
}

impl Env {
    /// A scope to be declared.
    #[must_use]
    pub fn builder() -> EnvBuilder {
        EnvBuilder::default()
    }

    /// A scope to be declared that begins with all of this one: a slot of this one is the same slot there.
    #[must_use]
    pub fn extend(&self) -> EnvBuilder {
        self.0.scope.clone()
    }

    /// The domain of what a function returns, if one is declared.
    pub(crate) fn result_of(&self, function: &str) -> Option<&Arc<Domain>> {
        self.0.scope.results.get(function)
    }

    /// Which scope this is.
    #[must_use]
    pub fn id(&self) -> EnvId {
        self.0.id
    }

    /// A variable by its name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.0.scope.variables.get(name)
    }

    /// All variables, aliases included, in the order of their declaration.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &Variable)> {
        self.0.scope.variables.iter().map(|(name, variable)| (&**name, variable))
    }

    /// The number of slots of an activation.
    #[must_use]
    pub fn slots(&self) -> usize {
        usize::from(self.0.scope.slots)
    }

    /// A function by its name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Declaration> {
        self.0.scope.function_named(name).map(Declared::get)
    }

    /// All functions, in no order.
    pub fn functions(&self) -> impl Iterator<Item = &Declaration> {
        self.0.scope.all_functions().map(Declared::get)
    }

    /// The type of a library that has this name: it is known by the functions that give it.
    pub(crate) fn type_given(&self, name: &str) -> Option<&Type> {
        let scope = &self.0.scope;
        let of_language = GIVING.get(name).into_iter().flatten().filter_map(|it| scope.function_named(it));
        scope.functions.values().chain(of_language).find_map(|function| function.gives(name))
    }

    /// Why a name that other scopes know is not known here.
    #[must_use]
    pub fn reason(&self, name: &str) -> Option<&'static str> {
        let scope = &self.0.scope;
        let (_, why) = scope.elsewhere.iter().find(|(known, _)| *known == name)?;
        (!scope.declares(name)).then_some(*why)
    }

    /// The container of the scope; may be empty.
    #[must_use]
    pub fn container(&self) -> &str {
        &self.0.scope.container
    }

    /// The bounds of the scope's expressions.
    #[must_use]
    pub fn limits(&self) -> &EvalLimits {
        &self.0.scope.limits
    }
}
