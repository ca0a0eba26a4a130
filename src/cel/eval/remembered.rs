//! Values that are remembered from one expression to the next: of names of the host, as long as nothing changes that they read.
//!
//! In: what a name came to, be it a value or an error. Out: the same for the next expression that reads it. How a walk over a plan does so
//! stands in `recall`.

use crate::fault::Fault;
use crate::plan::RememberedAs;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;

/// What the names of a host came to, for the programs that read them one after the other.
///
/// Good for as long as nothing changes that these names read: whoever holds it [clears](Remembered::clear) it then. It is empty at first, and
/// then allocates nothing. To find a value takes linear time in the names that were asked for.
///
/// ```
/// use celador_cel::Remembered;
///
/// let remembered = Remembered::default();
/// // the values themselves are data of a task, and are not printed
/// assert_eq!(format!("{remembered:?}"), "0 values");
/// ```
#[derive(Clone, Default)]
pub struct Remembered<'a>(Vec<(RememberedAs, Known<'a>)>);

/// What a name came to.
#[derive(Clone)]
pub(super) enum Known<'a> {
    Value(Value<'a>),
    /// The fault, and the function or operator that failed.
    Failed(Fault, Option<Cow<'static, str>>),
}

impl<'a> Remembered<'a> {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What holds without the values that were bound, at no cost: errors, truths, numbers and times. Texts, lists and maps, which may be parts
    /// of those values, are computed anew when they are asked for.
    #[must_use]
    pub fn into_owned(self) -> Remembered<'static> {
        let owned = |(name, known)| {
            let known = match known {
                Known::Failed(fault, function) => Known::Failed(fault, function),
                Known::Value(value) => Known::Value(match value {
                    Value::Null => Value::Null,
                    Value::Bool(value) => Value::Bool(value),
                    Value::Int(value) => Value::Int(value),
                    Value::UInt(value) => Value::UInt(value),
                    Value::Double(value) => Value::Double(value),
                    Value::Timestamp(value) => Value::Timestamp(value),
                    Value::Duration(value) => Value::Duration(value),
                    _ => return None,
                }),
            };
            Some((name, known))
        };
        Remembered(self.0.into_iter().filter_map(owned).collect())
    }

    pub(super) fn get(&self, name: RememberedAs) -> Option<&Known<'a>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, known)| known)
    }

    pub(super) fn put(&mut self, name: RememberedAs, known: Known<'a>) {
        self.0.push((name, known));
    }

    /// How many names it knows.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Forgets all names but the first ones that it came to know.
    pub(super) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }
}

impl fmt::Debug for Remembered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.0.len())
    }
}
