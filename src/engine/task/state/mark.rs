//! What is kept of a call, a result, a request or an answer to know it again: a digest in the place of its values.

use super::effect::CallResult;
use super::start::Call;
use super::subject::Extent;
use crate::cel::{Json, JsonRef, Kind};
use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;
use std::fmt;
use std::io::Write as _;

/// The first half of a digest: nobody finds another value with the same 128 bits. Bytes, as a number would stand at every sixteenth
/// place in memory, and a task holds a thousand pairs of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(in crate::task) struct Mark([u8; 16]);

impl Mark {
    /// Of a call, as the model made it, and how far it is to go. Members of objects count without their order. Linear.
    pub(in crate::task) fn of_call(call: &Call, extent: Extent) -> Self {
        Self::of(format_args!("{extent:?} {}", call.function), &call.arguments)
    }

    /// Of a result. Linear.
    pub(in crate::task) fn of_result(result: &CallResult) -> Self {
        let child = result.task_id.as_deref().unwrap_or_default();
        Self::of(format_args!("{:?} {child}", result.status), &result.output)
    }

    /// Of what is sent to a model. Linear.
    pub(in crate::task) fn of_request(request: &Json) -> Self {
        Self::of(format_args!("request"), request)
    }

    /// Of what a model has answered. Linear.
    pub(in crate::task) fn of_answer(answer: &Json) -> Self {
        Self::of(format_args!("answer"), answer)
    }

    fn of(name: fmt::Arguments<'_>, value: &Json) -> Self {
        let mut state = Sha256::new();
        digest_text(name, &mut state);
        digest_value(value.root(), &mut state);
        let digest = Digest::finished(state);
        let (half, _) = digest.as_bytes().split_at(16);
        Self(half.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte)).to_be_bytes())
    }
}

/// Bytes with their length, so that no two lists of texts come to the same.
fn digest(bytes: &[u8], state: &mut Sha256) {
    state.update((bytes.len() as u64).to_be_bytes());
    state.update(bytes);
}

/// The same of a text that is short, which is not put together elsewhere: every call and every result pays for this.
fn digest_text(text: fmt::Arguments<'_>, state: &mut Sha256) {
    let mut bytes = SmallVec::<[u8; 64]>::new();
    // a vector takes whatever is written to it
    let _ = bytes.write_fmt(text);
    digest(&bytes, state);
}

/// A value; those whose members only stand in another order come to the same. As deep as a document may be.
fn digest_value(value: JsonRef<'_>, state: &mut Sha256) {
    match value.kind() {
        Kind::Map => {
            let mut members: SmallVec<[(&str, JsonRef<'_>); 8]> = value.entries().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            digest(b"{", state);
            state.update((members.len() as u64).to_be_bytes());
            for (name, member) in members {
                digest(name.as_bytes(), state);
                digest_value(member, state);
            }
        }
        Kind::List => {
            digest(b"[", state);
            state.update((value.len() as u64).to_be_bytes());
            value.items().for_each(|item| digest_value(item, state));
        }
        Kind::String => {
            digest(b"\"", state);
            digest(value.as_str().unwrap_or_default().as_bytes(), state);
        }
        _ => digest_text(format_args!("{value}"), state),
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        format!("{:032x}", u128::from_be_bytes(mark.0))
    }
}

impl TryFrom<String> for Mark {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16).map(|mark| Self(mark.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::EvalLimits;

    /// Marks are stored with tasks, so they must not change with a release.
    #[test]
    fn a_mark_is_made_of_these_bytes() {
        let output = Json::parse(r#"{"b": [true], "a": "x"}"#, &EvalLimits::default()).unwrap();
        let number = |number: u64| number.to_be_bytes().to_vec();
        let text = |text: &str| [number(text.len() as u64), text.into()].concat();
        let object = [text("{"), number(2), text("a"), text("\""), text("x"), text("b")].concat();
        let list = [text("["), number(1), text("true")].concat();
        let bytes = [text("Successful "), object, list].concat();
        let digest = Digest::of(&bytes).to_string();
        assert!(digest.starts_with(&String::from(Mark::of_result(&CallResult::successful(output)))));
    }
}
