//! Which values a schema marks as secret, at any depth and behind references.
//!
//! In: a schema that was checked, and the block that it stands in. Out: its marks as [`Secrets`]. A mark in a branch counts
//! whether or not the branch holds of a value, since nobody should have to know that to know what is shown. Where marks go
//! by what a value is (names that fit a pattern, items that `contains` is about), they count for every part that it may be.
//! Linear in the schema and in what it refers to.

use super::parts::{Step, schemas};
use super::references::resolve;
use super::words::{SECRET, Takes, word};
use crate::context::{SecretRule, Secrets};
use crate::manifest::node::{Data, Entry, Node};
use std::collections::HashMap;

/// What a schema marks.
pub(in crate::manifest) fn secrets(schema: &Node, block: &Node) -> Secrets {
    let mut survey = Survey { block, rules: Vec::new(), known: HashMap::new(), waiting: Vec::new() };
    survey.number(schema);
    while let Some((schema, number)) = survey.waiting.pop() {
        let rule = survey.rule(schema);
        if let Some(place) = survey.rules.get_mut(number) {
            *place = rule;
        }
    }
    Secrets::new(survey.rules)
}

fn is_marked(schema: &Node) -> bool {
    matches!(schema.get(SECRET), Some(Node { data: Data::Bool(true), .. }))
}

struct Survey<'n> {
    block: &'n Node,
    rules: Vec<SecretRule>,
    /// The numbers of schemas, by where they are in memory.
    known: HashMap<*const Node, usize>,
    /// Schemas that have a number and no rule yet.
    waiting: Vec<(&'n Node, usize)>,
}

impl<'n> Survey<'n> {
    fn number(&mut self, schema: &'n Node) -> usize {
        let next = self.rules.len();
        let number = *self.known.entry(std::ptr::from_ref(schema)).or_insert(next);
        if number == next {
            self.rules.push(SecretRule::default());
            self.waiting.push((schema, number));
        }
        number
    }

    fn rule(&mut self, schema: &'n Node) -> SecretRule {
        let closed = matches!(schema.get("additionalProperties"), Some(Node { data: Data::Bool(false), .. }));
        let mut rule = SecretRule { whole: is_marked(schema), closed, ..SecretRule::default() };
        for Entry { key, value } in schema.as_mapping().unwrap_or_default() {
            let Some(word) = word(&key.text) else { continue };
            if let (Takes::Reference, Some(reference)) = (word.takes, value.as_string()) {
                // one that leads nowhere has a finding of its own, and its manifest is not served
                let target = resolve(self.block, &reference.text).ok();
                rule.same.extend(target.map(|target| self.number(target)));
            }
            for (step, _, inner) in schemas(word.takes, value) {
                if word.takes == Takes::Definitions {
                    continue;
                }
                let number = self.number(inner);
                match (word.name, step) {
                    ("properties", Step::Key(name)) => rule.members.push((name.into(), number)),
                    ("additionalProperties", _) => rule.others.push(number),
                    ("prefixItems", _) | ("items", Step::Item(_)) => rule.items.push(number),
                    ("items" | "additionalItems", _) => rule.rest.push(number),
                    ("patternProperties" | "unevaluatedProperties" | "contains" | "unevaluatedItems", _) => {
                        rule.parts.push(number);
                    }
                    // names of members are part of what the value is: a mark on them is one on the value
                    _ => rule.same.push(number),
                }
            }
        }
        rule
    }
}
