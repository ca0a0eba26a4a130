//! The syntax tree: what was written, each part with its span. Macros stand as they were written.
//!
//! Operators are calls by CEL's names (`_+_`, `!_`, `_?_:_`, `@in`), as everywhere in CEL. Indexing, selection and
//! macros are nodes of their own, because what may be evaluated of them differs.

use crate::source::Span;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the expressions of one tree, from 0, parents before their children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// Tells apart, within this process, the names of a host whose values are remembered.
///
/// A host that gives names to expressions puts the expression in the place of its name, and says by
/// [`in_place_of`](Expr::in_place_of) that it did.
///
/// ```
/// use celador_cel::{Activation, Env, EnvBuilder, Expr, ExprKind, NameId, Program, Remembered, STANDARD, Type, Value, parse};
///
/// let scope = Env::builder().variable("orders", Type::list(Type::Int));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let large: NameId = NameId::next();
///
/// // `large` stands for a number of orders
/// let put_in = |expr: &mut Expr| {
///     let mut count = parse("orders.filter(o, o > 1).size()", env.limits()).unwrap();
///     count.in_place_of = Some(large);
///     expr.for_each_part_mut(&mut |part| {
///         if matches!(&part.kind, ExprKind::Ident { name, .. } if name == "large") {
///             *part = count.clone();
///         }
///     });
/// };
/// let more = Program::compile_rewritten(&env, "large > 1", put_in).unwrap();
/// let less = Program::compile_rewritten(&env, "large < 9", put_in).unwrap();
///
/// // the second program finds the number that the first one has computed
/// let orders = Value::list(vec![Value::Int(1), Value::Int(2), Value::Int(5)]);
/// let activation = Activation::new(&env).with(&env, "orders", orders);
/// let mut remembered = Remembered::default();
/// let (truth, first) = more.holds_remembering(&activation, None, &mut remembered);
/// assert_eq!(truth, Ok(true));
/// let (truth, second) = less.holds_remembering(&activation, None, &mut remembered);
/// assert_eq!(truth, Ok(true));
/// assert!(second < first);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameId(u64);

impl NameId {
    /// One that no other name has.
    #[must_use]
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// One expression.
///
/// ```
/// use celador_cel::{EvalLimits, Expr, ExprKind, parse};
///
/// let expr: Expr = parse("order.total", &EvalLimits::default()).unwrap();
/// let ExprKind::Select { operand, field, .. } = &expr.kind else { panic!("it is a selection") };
/// assert_eq!(field.text, "total");
/// assert_eq!((operand.span.start, operand.span.end), (0, 5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its number.
    pub id: ExprId,
    /// All its characters, brackets of its own included, brackets around it not.
    pub span: Span,
    /// Its kind, with its parts.
    pub kind: ExprKind,
    /// The name that a host has put it in the place of, if its value is to be remembered with those of others that stand for the same name.
    /// It means the same without.
    pub in_place_of: Option<NameId>,
}

/// The kind of an expression, with its parts.
///
/// ```
/// use celador_cel::{BlockBinding, Element, EvalLimits, Expr, ExprKind, MapEntry, StructField, parse};
///
/// // the parts of an expression that are left out where their optional is empty
/// fn optional_parts<'e>(expr: &'e Expr, text: &'e str, found: &mut Vec<&'e str>) {
///     let mut note = |value: &Expr, optional: bool| {
///         if optional {
///             found.push(&text[value.span.start as usize..value.span.end as usize]);
///         }
///     };
///     match &expr.kind {
///         ExprKind::List(elements) => elements.iter().for_each(|Element { value, optional }| note(value, *optional)),
///         ExprKind::Map(entries) => entries.iter().for_each(|MapEntry { value, optional, .. }| note(value, *optional)),
///         ExprKind::Struct { fields, .. } => {
///             fields.iter().for_each(|StructField { value, optional, .. }| note(value, *optional));
///         }
///         _ => {}
///     }
///     expr.for_each_part(&mut |part| optional_parts(part, text, found));
/// }
///
/// let text = "cel.block([order.?note], [1, ?order.?total, {'note': 2, ?'more': cel.index(0)}, Money{?amount: order.?price}])";
/// let expr = parse(text, &EvalLimits::default()).unwrap();
/// let mut found = Vec::new();
/// optional_parts(&expr, text, &mut found);
/// assert_eq!(found, ["order.?total", "cel.index(0)", "order.?price"]);
///
/// // a binding of a block is named by the call that reads it
/// let ExprKind::Block { bindings, .. } = &expr.kind else { panic!("it is a block") };
/// let [BlockBinding { variable, value }] = &**bindings else { panic!("it has one binding") };
/// assert_eq!((&**variable, value.span.start), ("cel.index(0)", 11));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `1`, `'text'`, `null`
    Literal(Literal),
    /// `context`, `.context`
    Ident {
        /// The name, without the dot.
        name: String,
        /// Whether a dot says that no container is to be searched.
        absolute: bool,
    },
    /// `operand.field`, `operand.?field`
    Select {
        /// The expression before the dot.
        operand: Box<Expr>,
        /// The field.
        field: Name,
        /// Whether an absent field gives `optional.none()`.
        optional: bool,
    },
    /// `operand[index]`, `operand[?index]`
    Index {
        /// The list or map before the bracket.
        operand: Box<Expr>,
        /// The index or key.
        index: Box<Expr>,
        /// Whether an absent element gives `optional.none()`.
        optional: bool,
    },
    /// `f(x)`, `target.f(x)`, `a + b`
    Call {
        /// The function or operator, as written: with a dot in front if no container is to be searched.
        function: Name,
        /// The expression before the dot.
        target: Option<Box<Expr>>,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `[a, ?b]`
    List(Vec<Element>),
    /// `{k: v, ?k: v}`
    Map(Vec<MapEntry>),
    /// `Name{field: value}`
    Struct {
        /// The name of the message type, as written: with a dot in front if no container is to be searched.
        name: String,
        /// The fields.
        fields: Vec<StructField>,
    },
    /// `has(operand.field)`
    Has {
        /// The expression in whose value the field is looked for.
        operand: Box<Expr>,
        /// The field.
        field: Name,
    },
    /// `has(variable)`: whether a declared variable has a value (`CEL-08`)
    HasVariable(Name),
    /// `range.all(x, …)` and its kin
    Comprehension(Box<Comprehension>),
    /// `cel.bind(name, value, body)`
    Bind {
        /// The variable.
        variable: Name,
        /// Its value.
        value: Box<Expr>,
        /// Where it is known.
        body: Box<Expr>,
    },
    /// `cel.block([a, b], body)`
    Block {
        /// The bindings; each knows those before it.
        bindings: Vec<BlockBinding>,
        /// Where all of them are known.
        body: Box<Expr>,
    },
    /// `operand.optMap(variable, body)`, `operand.optFlatMap(variable, body)`
    OptMap {
        /// The optional.
        operand: Box<Expr>,
        /// The variable of its value.
        variable: Name,
        /// The expression that is evaluated with the value bound.
        body: Box<Expr>,
        /// Whether the body is an optional already.
        flat: bool,
    },
}

/// Hands each part of an expression to a function, in the order in which they are written.
macro_rules! parts {
    ($kind:expr, $part:ident, $iter:ident $(, $mutable:tt)?) => {
        match $kind {
            ExprKind::Literal(_) | ExprKind::Ident { .. } | ExprKind::HasVariable(_) => {}
            ExprKind::Select { operand, .. } | ExprKind::Has { operand, .. } => $part(operand),
            ExprKind::Index { operand, index, .. } => {
                $part(operand);
                $part(index);
            }
            ExprKind::Call { target, args, .. } => {
                if let Some(target) = target {
                    $part(target);
                }
                args.$iter().for_each($part);
            }
            ExprKind::List(elements) => elements.$iter().for_each(|element| $part(& $($mutable)? element.value)),
            ExprKind::Map(entries) => {
                for entry in entries.$iter() {
                    $part(& $($mutable)? entry.key);
                    $part(& $($mutable)? entry.value);
                }
            }
            ExprKind::Struct { fields, .. } => fields.$iter().for_each(|field| $part(& $($mutable)? field.value)),
            ExprKind::Comprehension(comprehension) => {
                $part(& $($mutable)? comprehension.range);
                if let Some(filter) = & $($mutable)? comprehension.filter {
                    $part(filter);
                }
                $part(& $($mutable)? comprehension.body);
            }
            ExprKind::Bind { value, body, .. } => {
                $part(value);
                $part(body);
            }
            ExprKind::Block { bindings, body } => {
                bindings.$iter().for_each(|binding| $part(& $($mutable)? binding.value));
                $part(body);
            }
            ExprKind::OptMap { operand, body, .. } => {
                $part(operand);
                $part(body);
            }
        }
    };
}

impl Expr {
    /// Hands each part of it to `part`, in the order in which they are written.
    pub fn for_each_part<'e>(&'e self, part: &mut dyn FnMut(&'e Self)) {
        parts!(&self.kind, part, iter);
    }

    /// The same to change them.
    pub fn for_each_part_mut(&mut self, part: &mut dyn FnMut(&mut Self)) {
        parts!(&mut self.kind, part, iter_mut, mut);
    }

    /// Gives it and everything in it these characters, as an expression has that stands for what somebody else wrote.
    ///
    /// ```
    /// use celador_cel::{EvalLimits, parse};
    ///
    /// let (mut sum, asked) = (parse("a + b", &EvalLimits::default()).unwrap(), parse("large > 1", &EvalLimits::default()).unwrap());
    /// sum.place_at(asked.span);
    /// sum.for_each_part(&mut |part| assert_eq!(part.span, asked.span));
    /// ```
    pub fn place_at(&mut self, span: Span) {
        self.span = span;
        self.for_each_name_mut(&mut |name| name.span = span);
        self.for_each_part_mut(&mut |part| part.place_at(span));
    }

    /// The names in it that stand outside of its parts.
    fn for_each_name_mut(&mut self, name: &mut dyn FnMut(&mut Name)) {
        match &mut self.kind {
            ExprKind::Select { field, .. } | ExprKind::Has { field, .. } => name(field),
            ExprKind::Call { function, .. } => name(function),
            ExprKind::HasVariable(variable)
            | ExprKind::Bind { variable, .. }
            | ExprKind::OptMap { variable, .. } => name(variable),
            ExprKind::Struct { fields, .. } => fields.iter_mut().for_each(|field| name(&mut field.name)),
            ExprKind::Comprehension(comprehension) => {
                let Comprehension { variable, second, name: own, .. } = &mut **comprehension;
                [Some(variable), second.as_mut(), Some(own)].into_iter().flatten().for_each(name);
            }
            ExprKind::Literal(_)
            | ExprKind::Ident { .. }
            | ExprKind::Index { .. }
            | ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Block { .. } => {}
        }
    }

    /// Numbers it and its parts anew, parents first, as an expression needs that was put together of parts of others.
    pub fn number(&mut self) {
        self.number_from(&mut 0);
    }

    fn number_from(&mut self, next: &mut u32) {
        self.id = ExprId(*next);
        *next = next.saturating_add(1);
        self.for_each_part_mut(&mut |part| part.number_from(next));
    }
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its characters.
    pub span: Span,
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    UInt(u64),
    /// `1.0`
    Double(f64),
    /// `'text'`
    String(String),
    /// `b'bytes'`
    Bytes(Vec<u8>),
}

/// An element of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The element.
    pub value: Expr,
    /// Whether it is an optional, left out if it is empty: `[?x]`.
    pub optional: bool,
}

/// An entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: Expr,
    /// The value.
    pub value: Expr,
    /// Whether the value is an optional, left out if it is none.
    pub optional: bool,
}

/// A binding of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockBinding {
    /// The variable, whose name is the call that names it: `cel.index(0)`.
    pub variable: String,
    /// Its value, which is computed when it is first asked for.
    pub value: Expr,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct StructField {
    /// The field.
    pub name: Name,
    /// The value.
    pub value: Expr,
    /// Whether the value is an optional, left out if it is none.
    pub optional: bool,
}

/// A macro over the elements of a list or the keys of a map.
///
/// ```
/// use celador_cel::{Comprehension, ComprehensionKind, EvalLimits, Expr, ExprKind, Literal, Name, parse};
///
/// // a host that indexes its data by status looks for the loops that ask for one
/// fn statuses<'e>(expr: &'e Expr, found: &mut Vec<(&'e str, &'e str)>) {
///     if let ExprKind::Comprehension(inner) = &expr.kind
///         && let Comprehension { kind: ComprehensionKind::Exists, variable: Name { text: variable, .. }, body, .. } = &**inner
///         && let ExprKind::Call { function, args, .. } = &body.kind
///         && function.text == "_==_"
///         && let [Expr { kind: ExprKind::Select { field, .. }, .. }, Expr { kind: ExprKind::Literal(Literal::String(text)), .. }] = &**args
///         && field.text == "status"
///     {
///         found.push((variable, text));
///     }
///     expr.for_each_part(&mut |part| statuses(part, found));
/// }
///
/// let text = "tickets.exists(t, t.status == 'open') || orders.exists(o, o.status == 'paid') || orders.all(o, o.total > 0)";
/// let expr = parse(text, &EvalLimits::default()).unwrap();
/// let mut found = Vec::new();
/// statuses(&expr, &mut found);
/// assert_eq!(found, [("t", "open"), ("o", "paid")]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// Which macro.
    pub kind: ComprehensionKind,
    /// The list or map that is gone through.
    pub range: Expr,
    /// The variable of the element or key.
    pub variable: Name,
    /// The second variable, of a two-variable macro: variable is then index or key, this one element or value.
    pub second: Option<Name>,
    /// The condition of a `map` with one: `range.map(x, filter, body)`.
    pub filter: Option<Expr>,
    /// The predicate, or the expression that maps each element.
    pub body: Expr,
    /// The macro's name as written.
    pub name: Name,
}

/// The macros over lists and maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComprehensionKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`, `existsOne`
    ExistsOne,
    /// `filter`
    Filter,
    /// `map`, and `transformList` with two variables
    Map,
    /// `transformMap`
    TransformMap,
    /// `transformMapEntry`
    TransformMapEntry,
    /// `sortBy`
    SortBy,
}
