//! Where a reference leads: to a schema of its block, by its place.
//!
//! In: a block and a reference in it. Out: the schema, or why there is none. Nothing is fetched.

use super::parts::{Step, schemas};
use super::words::{Treatment, word};
use crate::manifest::node::Node;

/// Why a reference leads nowhere.
const ELSEWHERE: &str = "a reference leads to a schema of the same block; nothing is fetched";
const NOWHERE: &str = "the block has no such schema";

/// The schema that a reference names.
pub(in crate::manifest) fn resolve<'n>(root: &'n Node, reference: &str) -> Result<&'n Node, &'static str> {
    let pointer = reference.strip_prefix('#').ok_or(ELSEWHERE)?;
    let mut segments = pointer.split('/');
    if segments.next() != Some("") {
        return Err("a reference names a schema by its place, as `#/$defs/name` does");
    }
    let mut node = root;
    while let Some(key) = segments.next() {
        let takes = word(&unescaped(key)).filter(|word| word.treatment == Treatment::Enforced);
        let takes = takes.ok_or(NOWHERE)?.takes;
        let value = node.get(&unescaped(key)).ok_or(NOWHERE)?;
        let inner = schemas(takes, value);
        node = match inner.first() {
            Some((Step::Itself, _, node)) => node,
            Some(_) => {
                let segment = unescaped(segments.next().ok_or(NOWHERE)?);
                let found = inner.iter().find(|(step, _, _)| step.is(&segment));
                found.map(|(_, _, node)| *node).ok_or(NOWHERE)?
            }
            None => return Err(NOWHERE),
        };
    }
    Ok(node)
}

/// A segment of a pointer, which is written as in an address (RFC 6901).
fn unescaped(segment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = segment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}
