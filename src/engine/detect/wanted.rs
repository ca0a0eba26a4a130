//! Which rows of a table are looked for.

/// Some rows of a table, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted(u64);

impl Wanted {
    /// The rows at these positions.
    pub(super) fn of(indices: impl IntoIterator<Item = usize>) -> Self {
        indices.into_iter().fold(Self::default(), Self::and)
    }

    /// The rows as the bits of a number, by which others hand them on.
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The rows of such a number.
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn has(self, index: usize) -> bool {
        u32::try_from(index)
            .ok()
            .and_then(|index| self.0.checked_shr(index))
            .is_some_and(|bits| bits & 1 == 1)
    }

    pub(super) fn and(self, index: usize) -> Self {
        Self(self.0 | u32::try_from(index).ok().and_then(|index| 1_u64.checked_shl(index)).unwrap_or(0))
    }
}
