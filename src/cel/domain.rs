//! What is known of a value beyond its type: which constants it may be, and how large it may get.
//!
//! In: what a host's schemas say of its data. Out: [`Domain`]s, which stand beside the types of fields. They are no part
//! of types: every text goes with every text, and only the checker's warnings and the static cost ask further. The
//! constants, the ranges of numbers, the patterns and the least sizes are what a host holds its data to; the greatest sizes it may leave unheld, so no
//! warning of the checker rests on them.

use std::sync::Arc;

/// The values that a field can have, where more is known than their type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Domain {
    /// All values that are possible, if they are few: those of an `enum` or a `const`.
    pub allowed: Option<Box<[Constant]>>,
    /// The least number.
    pub least: Option<f64>,
    /// The greatest number.
    pub most: Option<f64>,
    /// A regular expression that something in each text matches.
    pub pattern: Option<Arc<str>>,
    /// The fewest characters of a text, elements of a list or entries of a map.
    pub min_size: Option<u64>,
    /// The most characters of a text, elements of a list or entries of a map.
    pub max_size: Option<u64>,
    /// The domain of the elements of a list.
    pub items: Option<Arc<Domain>>,
    /// The members of a map that has these and no others, each with its domain: of a map that a function returns.
    pub members: Option<Members>,
    /// Which numbers they are, of a field whose values are numbers and whose type leaves that open.
    pub numbers: Option<Numbers>,
    /// Whether null may stand in the place of a value of the type.
    pub or_null: bool,
}

/// The names of the members of a map, each with its domain.
pub type Members = Arc<[(Arc<str>, Option<Arc<Domain>>)]>;

/// Numbers as schemas tell them apart: JSON writes one number as an int or as a double.
///
/// ```
/// use celador_cel::{Domain, Field, Numbers, RecordType, Storage, Type};
/// use std::sync::Arc;
///
/// // an amount is `dyn` to the checker, as it may be 5 or 5.5; that it is a number, its domain says
/// let domain = Domain { numbers: Some(Numbers::All), ..Domain::default() }.known();
/// let amount = Field { domain, ..Field::required(Type::Dyn) };
/// let fields = [(Arc::from("amount"), amount)].into_iter().collect();
/// let order = RecordType { name: "order".into(), fields, aliases: Vec::new(), storage: Storage::Closed };
/// assert_eq!(order.fields["amount"].domain.as_ref().and_then(|domain| domain.numbers), Some(Numbers::All));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Any int and any finite double.
    All,
    /// Ints, and doubles without a fraction.
    Whole,
    /// Ints from 0 upwards: what is counted.
    Counts,
}

/// A constant of a schema that an expression may be compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// Numbers of all types, which are compared by value (`CEL-04`).
    Number(f64),
    /// `'open'`
    Text(Arc<str>),
}

impl Domain {
    /// A domain of these texts and no others.
    #[must_use]
    pub fn of_texts(texts: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self { allowed: Some(texts.into_iter().map(Constant::Text).collect()), ..Self::default() }
    }

    /// A domain of lists whose elements are of this one.
    #[must_use]
    pub fn of_lists(self) -> Self {
        Self { items: self.known(), ..Self::default() }
    }

    /// A domain of maps with these members and no others.
    #[must_use]
    pub fn of_maps(members: impl IntoIterator<Item = (Arc<str>, Self)>) -> Self {
        let members = members.into_iter().map(|(name, domain)| (name, domain.known()));
        Self { members: Some(members.collect()), ..Self::default() }
    }

    /// The domain, unless it says nothing.
    #[must_use]
    pub fn known(self) -> Option<Arc<Self>> {
        (self != Self::default()).then(|| Arc::new(self))
    }

    /// Whether a value may be this constant.
    #[must_use]
    pub fn allows(&self, constant: &Constant) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(constant))
    }

    /// The most bytes of a text, if it is bounded. A character has at most four.
    #[must_use]
    pub fn text_bytes(&self) -> Option<u64> {
        let longest = self.allowed.as_ref().and_then(|allowed| {
            let bytes = allowed.iter().map(|constant| match constant {
                Constant::Text(text) => text.len(),
                Constant::Null | Constant::Bool(_) | Constant::Number(_) => 0,
            });
            u64::try_from(bytes.max()?).ok()
        });
        longest.or_else(|| self.max_size.map(|characters| characters.saturating_mul(4)))
    }
}
