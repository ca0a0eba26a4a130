//! Flags, and the parts of a pattern that set them.

/// The flags that hold at a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    /// `i`
    pub(super) fold_case: bool,
    /// `m`
    pub(super) multi_line: bool,
    /// `s`
    pub(super) dot_line_feed: bool,
    /// `U`: repetitions are lazy, and greedy with `?`.
    pub(super) swap_greed: bool,
}

/// What follows `(?`.
pub(super) enum Question {
    /// `(?i)`: flags for the rest of the group.
    Flags(Flags),
    /// `(?i:`: a group with flags of its own.
    Group(Flags),
    /// `(?P<name>`
    Named,
}
