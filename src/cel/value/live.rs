//! What a host shows of its structs, and each value where it lies.
//!
//! A host lends its structs as a [`LiveRecord`] or a [`LiveList`]. Out of these, a stored document or a variable comes a
//! [`View`]: a few words that are copied like a reference, own nothing and need no thought when they go. Most of what a
//! guard does is to find a value and to ask one thing of it, so that is what most of its time goes to. What was computed has
//! no view: it is a [`Value`] and nothing else.

use super::Value;
use super::fold::Growth;
use super::json::JsonRef;
use crate::fault::Fault;
use crate::meter::Meter;
use crate::types::{At, RecordType};
use std::fmt;
use std::ops::Range;

/// A record in a host's structs, read where it lies. All its fields are there.
///
/// ```
/// use celador_cel::{Activation, At, Env, EnvBuilder, LiveRecord, Program, RecordType, STANDARD, Type, Value, View};
/// use std::sync::{Arc, LazyLock};
///
/// #[derive(Debug)]
/// struct Order {
///     total: i64,
///     customer: String,
/// }
///
/// static ORDER: LazyLock<Arc<RecordType>> = LazyLock::new(|| {
///     RecordType::live("order", [("total", Type::Int, "in cents"), ("customer", Type::String, "the id")])
/// });
///
/// impl LiveRecord for Order {
///     fn shape(&self, _: At) -> &RecordType {
///         &ORDER
///     }
///
///     fn field(&self, _: At, slot: usize) -> Option<View<'_>> {
///         match slot {
///             0 => Some(View::Int(self.total)),
///             _ => Some(View::Text(&self.customer)),
///         }
///     }
/// }
///
/// let scope = Env::builder().variable("order", Type::Record(ORDER.clone()));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "order.total < 5000 && order.customer != ''").unwrap();
///
/// // the order stays where it is: nothing of it is copied or converted
/// let order = Order { total: 4_200, customer: "cus-5".into() };
/// let activation = Activation::new(&env).with(&env, "order", Value::record(&order, At(0)));
/// assert!(program.holds(&activation, None).unwrap());
/// ```
pub trait LiveRecord: fmt::Debug + Sync {
    /// The declaration: the names, in the order of their slots.
    fn shape(&self, at: At) -> &RecordType;

    /// The field in a slot of [`LiveRecord::shape`].
    fn field(&self, at: At, slot: usize) -> Option<View<'_>>;

    /// The number that the field in a slot is, if it is an `int`.
    fn int(&self, at: At, slot: usize) -> Option<i64> {
        self.field(at, slot)?.as_int()
    }

    /// The text that the field in a slot is, if it is a `string`.
    fn text(&self, at: At, slot: usize) -> Option<&str> {
        self.field(at, slot)?.as_str()
    }

    /// The element at a position of the list that is the field in a slot, if the element is a [`View::Json`]. A record that
    /// finds its documents faster without the list says so here.
    fn document(&self, at: At, slot: usize, index: usize) -> Option<JsonRef<'_>> {
        let View::List { of, at } = self.field(at, slot)? else { return None };
        match of.item(at, index)? {
            View::Json(json) => Some(json),
            _ => None,
        }
    }

    /// How the names of the record grow, as [`LiveList::growth`] has it: not at all where they
    /// are declared once, which is why loops over them are not gone through again.
    fn growth(&self, _at: At) -> Option<Growth<'_>> {
        None
    }

    /// What the host says about a value that an expression has at hand: the answer of a function that is given the record beside
    /// its argument ([`Code::Given`](crate::Code::Given)). What is looked at is paid for with the meter.
    ///
    /// # Errors
    /// `no_matching_overload` for a question that the host does not know, which is each of them unless it says otherwise.
    fn answer(
        &self,
        _at: At,
        _question: &str,
        about: &Value<'_>,
        _meter: &mut Meter<'_>,
    ) -> Result<Value<'static>, Fault> {
        Err(Fault::no_overload([about.kind()]))
    }
}

/// Which elements of a list stand in the order of time, by their positions counted from the oldest.
///
/// ```
/// use celador_cel::TimeOrder;
///
/// // five elements whose times are 3, 4, 1, 2, 2: the clock went back once
/// let order = TimeOrder { from: 2, latest_before: Some(1) };
/// assert!(order.latest_before < Some(order.from));
/// // of a list whose times never went back all elements are in order
/// assert_eq!(TimeOrder::default(), TimeOrder { from: 0, latest_before: None });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOrder {
    /// None of the elements from here on is earlier than the one ahead of it.
    pub from: usize,
    /// The latest of the elements ahead of these; absent if there are none.
    pub latest_before: Option<usize>,
}

/// A list in a host's structs, read where it lies.
///
/// ```
/// use celador_cel::{
///     Activation, At, Env, EnvBuilder, Folds, GrowingEnd, Growth, LiveList, Program, STANDARD, Type, Value, View,
/// };
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// /// The tools that a task has called, oldest first.
/// #[derive(Debug)]
/// struct Calls {
///     tools: Vec<String>,
///     folds: Folds,
///     read: AtomicUsize,
/// }
///
/// impl LiveList for Calls {
///     fn len(&self, _: At) -> usize {
///         self.tools.len()
///     }
///
///     fn item(&self, _: At, index: usize) -> Option<View<'_>> {
///         self.read.fetch_add(1, Ordering::Relaxed);
///         self.tools.get(index).map(|tool| View::Text(tool))
///     }
///
///     // calls are appended and never change
///     fn growth(&self, _: At) -> Option<Growth<'_>> {
///         Some(Growth { folds: &self.folds, end: GrowingEnd::Back, settled: self.tools.len(), epoch: 0 })
///     }
/// }
///
/// let scope = Env::builder().variable("calls", Type::list(Type::String));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "calls.filter(c, c == 'payout').size() < 3").unwrap();
///
/// let tools = ["search", "payout", "payout"].map(str::to_owned).to_vec();
/// let mut calls = Calls { tools, folds: Folds::default(), read: AtomicUsize::new(0) };
/// let holds = |calls: &Calls| program.holds(&Activation::new(&env).with(&env, "calls", Value::view(calls, At(0))), None);
/// assert_eq!(holds(&calls), Ok(true));
/// assert_eq!(calls.read.swap(0, Ordering::Relaxed), 3);
///
/// // the loop goes on where it was: of four calls it reads the last
/// calls.tools.push("payout".to_owned());
/// assert_eq!(holds(&calls), Ok(false));
/// assert_eq!(calls.read.swap(0, Ordering::Relaxed), 1);
/// ```
pub trait LiveList: fmt::Debug + Sync {
    /// The number of elements.
    fn len(&self, at: At) -> usize;

    /// One element; nothing past the end.
    fn item(&self, at: At, index: usize) -> Option<View<'_>>;

    /// If all elements are text of which few differ: those that stand in a part of the list, each once, lent from the same
    /// place and in the same order for every part. So a loop need not ask the same of each element again. Linear in the
    /// part.
    fn names(&self, _at: At, _part: Range<usize>) -> Option<Vec<Repeated<'_>>> {
        None
    }

    /// What `size()` says; the number of elements unless the specification says otherwise (`CEL-42`).
    fn size(&self, at: At) -> usize {
        self.len(at)
    }

    /// Whether a field selected on the list is one of its first element (`GR-08`).
    fn forwards(&self, _at: At) -> bool {
        false
    }

    /// Whether an element that is null stands for nothing at all, as where a call gave no result. For the variable of a macro
    /// that is such an element each field is null, and `has` of it is false. If elements are records, it is their fields that
    /// may be such a null: `t.result.id` then is null where `t` has no result.
    fn has_gaps(&self, _at: At) -> bool {
        false
    }

    /// Which of the settled elements stand in the order of time, so that those that are too early for a loop that asks
    /// ([`Code::Given`](crate::Code::Given)) are found at once. Nothing for a list of which the host does not know.
    fn time_order(&self, _at: At) -> Option<TimeOrder> {
        None
    }

    /// How the list grows, if that is all that happens to it: loops over it then go on where they were.
    fn growth(&self, _at: At) -> Option<Growth<'_>> {
        None
    }
}

/// A text that stands in a part of a list, maybe many times.
///
/// ```
/// use celador_cel::{Activation, At, Env, EnvBuilder, LiveList, Program, Repeated, STANDARD, Type, Value, View};
/// use std::ops::Range;
///
/// /// The few tools that there are, and which of them was called, call by call.
/// #[derive(Debug)]
/// struct Calls {
///     tools: Vec<String>,
///     called: Vec<usize>,
/// }
///
/// impl LiveList for Calls {
///     fn len(&self, _: At) -> usize {
///         self.called.len()
///     }
///
///     fn item(&self, _: At, index: usize) -> Option<View<'_>> {
///         panic!("call {index} is read although its tool is known")
///     }
///
///     fn names(&self, _: At, part: Range<usize>) -> Option<Vec<Repeated<'_>>> {
///         let repeated = |(tool, text)| {
///             let mut calls = part.clone().filter(|call| self.called.get(*call) == Some(&tool));
///             calls.next().map(|first| Repeated { text, first, count: 1 + calls.count() })
///         };
///         Some(self.tools.iter().map(String::as_str).enumerate().filter_map(repeated).collect())
///     }
/// }
///
/// // of a thousand calls every tenth is a payout
/// let tools = ["search", "payout"].map(str::to_owned).to_vec();
/// let calls = Calls { tools, called: (0..1_000).map(|call| usize::from(call % 10 == 0)).collect() };
/// let scope = Env::builder().variable("calls", Type::list(Type::String));
/// let env = STANDARD.iter().copied().fold(scope, EnvBuilder::library).build();
/// let program = Program::compile(&env, "calls.filter(c, c == 'payout').size()").unwrap();
/// let activation = Activation::new(&env).with(&env, "calls", Value::view(&calls, At(0)));
/// assert!(matches!(program.run(&activation, None), Ok(Value::Int(100))));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Repeated<'a> {
    /// The text.
    pub text: &'a str,
    /// Where it stands first, in the whole list.
    pub first: usize,
    /// How often it stands in the part.
    pub count: usize,
}

/// A value that something else holds.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
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
    Text(&'a str),
    /// A point in time as text, RFC 3339, that is ordered as a time.
    Time(&'a str),
    /// A value of any kind in a stored document.
    Json(JsonRef<'a>),
    /// A part of a host's structs, seen as a record.
    Record {
        /// The structs.
        of: &'a dyn LiveRecord,
        /// Which part.
        at: At,
    },
    /// A part of a host's structs, seen as a list.
    List {
        /// The structs.
        of: &'a dyn LiveList,
        /// Which part.
        at: At,
    },
}

impl<'a> View<'a> {
    /// The number, if it is an `int`.
    #[inline]
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Json(json) => json.as_int(),
            _ => None,
        }
    }

    /// The text, if it is a `string`.
    #[inline]
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::Text(text) | Self::Time(text) => Some(text),
            Self::Json(json) => json.as_str(),
            _ => None,
        }
    }

    /// The bytes of the text, if it is a `string`.
    #[inline]
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) | Self::Time(text) => Some(text.as_bytes()),
            Self::Json(json) => json.as_bytes(),
            _ => None,
        }
    }
}

impl<'a> From<View<'a>> for Value<'a> {
    #[inline]
    fn from(view: View<'a>) -> Self {
        match view {
            View::Null => Self::Null,
            View::Bool(value) => Self::Bool(value),
            View::Int(value) => Self::Int(value),
            View::UInt(value) => Self::UInt(value),
            View::Double(value) => Self::Double(value),
            View::Text(text) => Self::text(text),
            View::Time(text) => Self::time_text(text),
            View::Json(json) => json.value(),
            View::Record { of, at } => Self::record(of, at),
            View::List { of, at } => Self::view(of, at),
        }
    }
}
