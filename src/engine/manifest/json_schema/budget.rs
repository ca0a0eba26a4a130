//! What all schemas of one document may weigh together: values with references written out, patterns compiled.
//!
//! In: patterns and schemas before they are made ready. Out: whether there is room for them. A parameter that refers to a
//! large definition has a copy of its own, so that a short document could ask for gigabytes; nothing is compiled before it
//! is paid for. What is over `max_schema_bytes` is said once, and the rest of the document's schemas is passed over: it is
//! refused anyway. Linear in what it is shown.

use super::pattern;
use crate::cel::PatternPrice;
use crate::limits::EngineLimits;
#[cfg(feature = "schemas")]
use serde_json::Value;
use std::collections::HashMap;

/// About the bytes that a value of a schema takes once it is made ready, its texts not counted.
#[cfg(feature = "schemas")]
const BYTES_PER_VALUE: usize = 256;

/// What is left for the schemas of one document.
#[derive(Default)]
pub(in crate::manifest) struct Budget {
    limits: EngineLimits,
    used: usize,
    is_spent: bool,
    /// The patterns of the document, translated, that can be compiled.
    patterns: HashMap<String, PatternPrice>,
}

/// Why something of a schema is not taken.
pub(in crate::manifest) enum Refusal {
    /// It is wrong by itself.
    Bad(&'static str),
    /// It is too much together with what came before it.
    Spent,
}

impl Budget {
    /// The whole of what these bounds allow.
    pub(in crate::manifest) fn new(limits: &EngineLimits) -> Self {
        Self { limits: *limits, ..Self::default() }
    }

    /// The bounds of the host.
    pub(in crate::manifest) fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    /// Whether more was asked for than there is, which has been said.
    pub(in crate::manifest) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// Pays for so many bytes.
    ///
    /// # Errors
    /// [`Refusal::Spent`] where there is not so much left; whoever gets it says so, and nothing is looked at any more.
    pub(in crate::manifest) fn pay(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.used = self.used.saturating_add(bytes);
        if self.used <= self.limits.max_schema_bytes {
            return Ok(());
        }
        self.is_spent = true;
        Err(Refusal::Spent)
    }

    /// Reads, pays for and tries out a pattern, each one once.
    ///
    /// # Errors
    /// Why it is not taken.
    pub(in crate::manifest) fn pattern(&mut self, written: &str) -> Result<(), Refusal> {
        if self.is_spent {
            return Ok(());
        }
        let translated = pattern::translate(written, &self.limits).map_err(Refusal::Bad)?;
        if self.patterns.contains_key(&translated) {
            return Ok(());
        }
        let price = PatternPrice::of(&translated, &self.limits.eval).ok_or(Refusal::Bad(pattern::LARGE))?;
        self.pay(price.bytes)?;
        pattern::try_out(&translated, &self.limits).map_err(Refusal::Bad)?;
        self.patterns.insert(translated, price);
        Ok(())
    }

    /// Pays for a schema as the validator takes it. Gives how many times the price of looking at a text all of its patterns
    /// together make of it.
    ///
    /// # Errors
    /// Why it is not taken.
    #[cfg(feature = "schemas")]
    pub(super) fn schema(&mut self, schema: &Value) -> Result<u64, Refusal> {
        let mut factor = 0;
        let bytes = self.weight(schema, &mut factor);
        self.pay(bytes).map(|()| factor.max(1))
    }

    #[cfg(feature = "schemas")]
    fn weight(&self, schema: &Value, factor: &mut u64) -> usize {
        let mut pattern = |text: &str| {
            let price = self.patterns.get(text);
            *factor = factor.saturating_add(price.map_or(0, |price| price.factor));
            price.map_or(0, |price| price.bytes)
        };
        let bytes = match schema {
            Value::String(text) => text.len(),
            Value::Array(items) => {
                items.iter().fold(0, |sum: usize, item| sum.saturating_add(self.weight(item, factor)))
            }
            Value::Object(members) => {
                let mut sum: usize = 0;
                for (key, value) in members {
                    let compiled = match (&**key, value) {
                        ("pattern", Value::String(text)) => pattern(text),
                        ("patternProperties", Value::Object(by_pattern)) => {
                            by_pattern.keys().fold(0, |sum: usize, text| sum.saturating_add(pattern(text)))
                        }
                        _ => 0,
                    };
                    sum = sum.saturating_add(key.len()).saturating_add(compiled);
                }
                members.values().fold(sum, |sum, value| sum.saturating_add(self.weight(value, factor)))
            }
            _ => 0,
        };
        bytes.saturating_add(BYTES_PER_VALUE)
    }
}
