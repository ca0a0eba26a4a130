//! Keys of functions and records: names made into identifiers (KEY-05, KEY-06).
//!
//! In: the names of references and actions. Out: the keys under which the model calls them and policies read their
//! records. Two names may give one key; [`catalog`](super::catalog) refuses that.

/// The key that no function may have: the record of all calls (KEY-08).
pub const META: &str = "_meta";

/// A name as a CEL identifier: every character outside `[A-Za-z0-9_]` becomes `_`, and a leading digit gets one in
/// front. Linear in the name.
///
/// ```
/// use celador::manifest::capability_key::sanitise;
/// assert_eq!(sanitise("crm.v2"), "crm_v2");
/// assert_eq!(sanitise("3d-print"), "_3d_print");
/// ```
#[must_use]
pub fn sanitise(name: &str) -> String {
    let digit = name.starts_with(|c: char| c.is_ascii_digit()).then_some('_');
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    digit.into_iter().chain(letters).collect()
}

/// The key of an action of a tool with several: reference, underscore, action, both sanitised (KEY-02).
#[must_use]
pub fn of_action(reference: &str, action: &str) -> String {
    format!("{}_{}", sanitise(reference), sanitise(action))
}
