//! Where references lead: within their block, to a schema, and never round in a circle about one value.
//!
//! In: a schema and the block that it stands in. Out: findings. Schemas may well be recursive, as trees are: then every
//! round takes them deeper into the value, whose depth is bounded. What one value is held to, references written out, is
//! bounded too, in number and in depth, so that neither time nor stack depends on how schemas refer to each other.

use super::parts::{About, schemas};
use super::words::{Takes, Treatment, word};
use crate::limits::EngineLimits;
use crate::manifest::messages;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::source::Embedded;
use std::collections::HashMap;

/// Why a reference leads nowhere.
const ELSEWHERE: &str = "a reference leads to a schema of the same block; nothing is fetched";
const NOWHERE: &str = "the block has no such schema";
const ROUND: &str = "the reference leads back to itself without going into the value";

/// What a look at a schema weighs: each parameter that refers to a definition has it looked at anew.
const BYTES_PER_LOOK: usize = 32;

/// Follows every reference of a schema.
pub(in crate::manifest) fn check(root: &Node, schema: &Node, path: &Path, reader: &mut Reader) {
    let limits = *reader.schemas.limits();
    let mut survey = Survey { root, path, reader, limits, known: HashMap::new(), waiting: vec![schema] };
    while let Some(next) = survey.waiting.pop() {
        let Some(extent) = survey.extent(next, &mut Vec::new()) else { return };
        let bound = match extent {
            Extent { schemas, .. } if schemas.max(survey.known.len()) > limits.max_schema_nodes => {
                Some(("max_schema_nodes", limits.max_schema_nodes))
            }
            Extent { depth, .. } if depth > limits.max_schema_depth => {
                Some(("max_schema_depth", limits.max_schema_depth))
            }
            _ => None,
        };
        if let Some((name, limit)) = bound {
            survey.reader.report(path, messages::schema_refused(&next.place, &exceeded(name, limit)));
            return;
        }
    }
}

fn exceeded(bound: &str, limit: usize) -> String {
    format!("`{bound}` {limit} exceeded")
}

/// The schema that a reference names.
pub(super) fn resolve<'n>(root: &'n Node, reference: &str) -> Result<&'n Node, &'static str> {
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
            Some((super::parts::Step::Itself, _, node)) => node,
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

/// What one value is held to.
#[derive(Clone, Copy)]
struct Extent {
    /// Schemas, references written out.
    schemas: usize,
    /// How deep they stand in one another.
    depth: usize,
}

struct Survey<'n, 's> {
    root: &'n Node,
    path: &'s Path,
    reader: &'s mut Reader,
    limits: EngineLimits,
    /// The schemas that were referred to.
    known: HashMap<String, Extent>,
    /// Schemas of parts of values, not looked at yet.
    waiting: Vec<&'n Node>,
}

impl<'n> Survey<'n, '_> {
    /// What a value is held to by a schema; `under_way` are the references that led here. Nothing if one leads nowhere,
    /// of which a finding says so.
    fn extent(&mut self, schema: &'n Node, under_way: &mut Vec<String>) -> Option<Extent> {
        if self.reader.schemas.pay(BYTES_PER_LOOK).is_err() {
            let limit = self.limits.max_schema_bytes;
            self.reader.report(self.path, messages::schemas_too_large(&schema.place, limit));
            return None;
        }
        let mut extent = Extent { schemas: 1, depth: 0 };
        let mut add = |inner: Extent| {
            extent.schemas = extent.schemas.saturating_add(inner.schemas);
            extent.depth = extent.depth.max(inner.depth);
        };
        for entry in schema.as_mapping().unwrap_or_default() {
            let Some(word) = word(&entry.key.text) else { continue };
            if let (Takes::Reference, Some(reference)) = (word.takes, entry.value.as_string()) {
                add(self.referred(reference, under_way)?);
            }
            for (_, about, inner) in schemas(word.takes, &entry.value) {
                match about {
                    About::Same => add(self.extent(inner, under_way)?),
                    About::Part => self.waiting.push(inner),
                    About::Definition => {}
                }
            }
        }
        extent.depth = extent.depth.saturating_add(1);
        Some(extent)
    }

    fn referred(&mut self, reference: &Embedded, under_way: &mut Vec<String>) -> Option<Extent> {
        let name = &*reference.text;
        if let Some(extent) = self.known.get(name) {
            return Some(*extent);
        }
        let target = if under_way.iter().any(|above| above == name) {
            Err(ROUND)
        } else if under_way.len() >= self.limits.max_schema_depth {
            let limit = self.limits.max_schema_depth;
            let finding = messages::schema_refused(&reference.place, &exceeded("max_schema_depth", limit));
            self.reader.report(self.path, finding);
            return None;
        } else {
            resolve(self.root, name)
        };
        let target = match target {
            Ok(target) => target,
            Err(reason) => {
                self.reader.report(self.path, messages::bad_reference(reference, reason));
                return None;
            }
        };
        under_way.push(name.to_owned());
        let extent = self.extent(target, under_way);
        under_way.pop();
        self.known.insert(name.to_owned(), extent?);
        extent
    }
}
