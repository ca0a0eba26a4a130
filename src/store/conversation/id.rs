//! Ids of contexts and tasks: which of them databases take.

/// The longest id of a context or a task that is taken in, in bytes.
///
/// No row of the limits, for there is nothing to choose: two ids stand in one entry of an index, of which Postgres takes
/// no more than 2,704 bytes. With a higher bound one database would keep what another refuses; a lower one would lock out
/// ids that are kept already.
pub const MAX_ID_BYTES: usize = 1_024;

/// Whether databases take it as an id.
pub(super) fn is_storable(id: &str) -> bool {
    id.len() <= MAX_ID_BYTES && !id.contains('\0')
}
