//! References: within their block, to a schema, and never round in a circle about one value.
//!
//! In: a schema and the block that it stands in. Out: findings. Schemas may well be recursive, as trees are: then every
//! round takes them deeper into the value, whose depth is bounded. What one value is held to, references written out, is
//! bounded too, in number and in depth, so that neither time nor stack depends on how schemas refer to each other.

use crate::limits::EngineLimits;
use crate::manifest::json_schema::parts::{About, schemas};
use crate::manifest::json_schema::references::resolve;
use crate::manifest::json_schema::words::{Takes, word};
use crate::manifest::messages;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::source::Embedded;
use std::collections::HashMap;

/// Why a reference is refused although there is a schema where it leads.
const ROUND: &str = "the reference leads back to itself without going into the value";

/// What a look at a schema weighs: each parameter that refers to a definition has it looked at anew.
const BYTES_PER_LOOK: usize = 32;

/// Follows every reference of a schema.
pub(in crate::manifest) fn check_references(root: &Node, schema: &Node, path: &Path, reader: &mut Reader) {
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
