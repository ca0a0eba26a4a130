//! The operators of two operands that a plan knows by name: comparisons, with the numbers that satisfy them, and arithmetic.

/// `<` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

/// `+` and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl Comparison {
    /// The operator, by CEL's name.
    #[must_use]
    pub fn function_name(self) -> &'static str {
        match self {
            Self::Less => "_<_",
            Self::LessEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterEqual => "_>=_",
        }
    }

    /// Whether two numbers satisfy it.
    #[inline]
    #[must_use]
    pub fn of_ints(self, a: i64, b: i64) -> bool {
        match self {
            Self::Less => a < b,
            Self::LessEqual => a <= b,
            Self::Greater => a > b,
            Self::GreaterEqual => a >= b,
        }
    }

    /// The least and the greatest number that satisfy it; if no number does, the least is greater than the greatest.
    #[must_use]
    pub fn range(self, bound: i64) -> (i64, i64) {
        const NONE: (i64, i64) = (1, 0);
        match self {
            Self::Less => bound.checked_sub(1).map_or(NONE, |most| (i64::MIN, most)),
            Self::LessEqual => (i64::MIN, bound),
            Self::Greater => bound.checked_add(1).map_or(NONE, |least| (least, i64::MAX)),
            Self::GreaterEqual => (bound, i64::MAX),
        }
    }

    /// Whether a size and a number satisfy it.
    #[inline]
    #[must_use]
    pub fn of_size(self, size: usize, bound: i64) -> bool {
        self.of_ints(i64::try_from(size).unwrap_or(i64::MAX), bound)
    }

    /// Whether the size of a text and a number satisfy it, if its bytes tell: a text of `n` has at least `n / 4` and at most
    /// `n` characters, which settles most comparisons without counting.
    #[inline]
    #[must_use]
    pub fn of_length(self, bytes: usize, bound: i64) -> Option<bool> {
        let least = self.of_size(bytes.div_ceil(4), bound);
        (least == self.of_size(bytes, bound)).then_some(least)
    }

    /// Whether an order satisfies it.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }

    /// The same comparison seen from the other side: `3 > a` for `a < 3`.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }
}
