//! The claims of a user as expressions see them.
//!
//! In: all claims that a task was begun with. Out: those that a schema names, and nothing else. Linear in the claims.

use super::schema::ContextSchema;
use crate::cel::{Json, JsonRef};

/// The claims that the policies of an agent name; nothing if they name no claims. Of a task without claims, an empty object.
pub(super) fn visible(schema: &ContextSchema, given: Option<&Json>) -> Option<Json> {
    let known = schema.claims()?;
    let is_known = |name: &str| known.slot(name).is_some();
    Some(given.map_or_else(|| Json::object([]), |given| members_of(given.root(), is_known)))
}

/// The members of an object whose names are wanted, as an object.
pub(crate) fn members_of(object: JsonRef<'_>, is_wanted: impl Fn(&str) -> bool) -> Json {
    let members = object.entries().filter(|(name, _)| is_wanted(name));
    Json::object(members.map(|(name, value)| (name, value.to_json())))
}
