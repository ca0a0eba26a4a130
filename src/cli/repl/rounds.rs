//! One round of a loop for `explain`: the values of its variables, and what its parts make of them.
//!
//! In: the range, or the compiled parts of the body. Out: variables with values, and whether the round ends the loop.

use super::session::{Ended, rebound, run};
use celador::cel::{Activation, ComprehensionKind, Env, Key, Program, Value};

/// Whether a round ends its loop, whether it fails, and what it costs.
pub(super) fn turn<'a>(
    kind: ComprehensionKind,
    body: &[Program],
    env: &Env,
    outer: &Activation<'a>,
    variables: &[(&str, Value<'a>)],
) -> (bool, bool, u64) {
    let absorbs = matches!(kind, ComprehensionKind::All | ComprehensionKind::Exists);
    let activation = rebound(env, outer, variables.iter().cloned());
    let mut spent = 1_u64;
    for (index, part) in body.iter().enumerate() {
        let (ended, cost) = run(part, &activation);
        spent = spent.saturating_add(cost);
        match ended {
            Ended::Value(value) => {
                let last = index.saturating_add(1) == body.len();
                match (kind, answer(&value)) {
                    (ComprehensionKind::All, Some(false)) | (ComprehensionKind::Exists, Some(true)) => {
                        return (true, false, spent);
                    }
                    // the condition of a `map`
                    (_, Some(false)) if !last => return (false, false, spent),
                    _ => {}
                }
            }
            Ended::Failed(_) => return (!absorbs, true, spent),
            Ended::Asks(_) => return (true, true, spent),
        }
    }
    (false, false, spent)
}

/// The variables of a round: element or key, or both; nothing behind the last.
pub(super) fn round_of<'n, 'a>(
    range: &Value<'a>,
    index: usize,
    names: &[&'n str],
) -> Option<Vec<(&'n str, Value<'a>)>> {
    let position = Value::Int(i64::try_from(index).ok()?);
    let (key, value) = match range {
        Value::List(list) => (position, list.get(index)?),
        Value::Map(map) => {
            let (key, value): (Key<'a>, Value<'a>) = map.entry(index)?;
            (key.value(), value)
        }
        _ => return None,
    };
    Some(match (names, range) {
        ([first, second], _) => vec![(*first, key), (*second, value)],
        ([only], Value::List(_)) => vec![(*only, value)],
        ([only], _) => vec![(*only, key)],
        _ => return None,
    })
}

/// The value that an optional holds.
pub(super) fn held(optional: Value<'_>) -> Option<Value<'_>> {
    match optional {
        Value::Optional(value) => value.map(|value| (*value).clone()),
        _ => None,
    }
}

/// What a value says to the parts around it.
pub(super) fn answer(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Optional(value) => Some(value.is_some()),
        _ => None,
    }
}
