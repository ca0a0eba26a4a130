//! Which part of a long list is read.

/// Which of a list, counted from its newest end (A1, G2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// How many are skipped.
    pub offset: u128,
    /// How many are kept; nothing for all.
    pub length: Option<u128>,
}
