//! Two sets of policies side by side.
//!
//! In: manifests and policies of before and after. Out: each operation with what is known of the difference, and the counts, as JSON; the rows are those of `celador diff`.

use crate::sources::{Purpose, Sources};
use crate::{Error, Mode, Source};
use celador::EngineLimits;
use celador::diff::{OperationDifference, PolicySet, Summary, compare};
use serde_json::{Value, json};

/// For each operation whether anything is decided otherwise, with a witness where it is: `operations`, `differ`, `unknown`.
///
/// # Errors
/// Policies that are refused, and paths that cannot be read.
pub fn diff(old: &[Source], new: &[Source]) -> Result<Value, Error> {
    let set = |sources: &[Source]| {
        let Sources { catalog, engine, .. } =
            Sources::open(sources, Mode::Enforce, Purpose::Verifying, EngineLimits::default())?;
        Ok::<_, Error>(PolicySet::new(catalog, engine))
    };
    let found = compare(&set(old)?, &set(new)?);
    if found.is_empty() {
        return Err(Error::misuse(
            "bad_request",
            "neither side has an agent, so there is nothing to compare",
        ));
    }
    let Summary { differ, unknown, .. } = Summary::of(&found);
    let operations: Vec<Value> = found.iter().map(OperationDifference::to_json).collect();
    Ok(json!({ "operations": operations, "differ": differ, "unknown": unknown }))
}
