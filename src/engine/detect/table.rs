//! A table of kinds, made ready to search with.

use super::kind::Kind;
use super::signs::Signs;
use super::wanted::Wanted;
use crate::cel::{Fault, Value};
use regex::Regex;
use std::sync::OnceLock;

/// The rows of a table. A pattern is compiled when its sign first stands in a text: a process that decides about one call, as a hook does,
/// hardly needs one.
pub(super) struct Table {
    pub(super) kinds: &'static [Kind],
    signs: Signs,
    patterns: Vec<OnceLock<Option<Regex>>>,
}

/// Kinds for which a pass over the text for the signs of all kinds does not pay.
const FEW: u32 = 2;

impl Table {
    pub(super) fn new(kinds: &'static [Kind]) -> Self {
        Self { kinds, signs: Signs::new(kinds), patterns: vec![OnceLock::new(); kinds.len()] }
    }

    /// The wanted kinds whose sign stands in a text, each with its pattern; one or two kinds are as quickly looked for as their signs.
    ///
    /// # Errors
    /// `invalid_argument` if a pattern could not be compiled, which a test excludes: to find nothing would let everything by.
    pub(super) fn signed<'s>(
        &'s self,
        wanted: Wanted,
        text: &str,
    ) -> Result<Vec<(usize, &'static Kind, &'s Regex)>, Fault> {
        let broken = Fault::refused("a table whose patterns compile");
        let signed = match wanted.count() > FEW {
            true => self.signs.of(wanted, text).ok_or(broken)?,
            false => wanted,
        };
        let rows = self.kinds.iter().zip(&self.patterns).enumerate().filter(|(index, _)| signed.has(*index));
        rows.map(|(index, (kind, pattern))| {
            let pattern = pattern.get_or_init(|| Regex::new(kind.pattern).ok());
            Ok((index, kind, pattern.as_ref().ok_or(broken)?))
        })
        .collect()
    }

    /// The kinds that are looked for where none is named.
    pub(super) fn usual(&self) -> Wanted {
        let usual = self.kinds.iter().enumerate().filter(|(_, kind)| !kind.on_request);
        Wanted::of(usual.map(|(index, _)| index))
    }

    /// The kinds that a value names: one as a text, several as a list of texts.
    ///
    /// # Errors
    /// `invalid_argument` for a name that no row has and for a list without names, which would let everything by;
    /// `no_matching_overload` for what is no text.
    pub(super) fn named(&self, names: &Value<'_>) -> Result<Wanted, Fault> {
        match names {
            Value::String(name) => self.wanted(Wanted::default(), name),
            Value::List(names) if names.is_empty() => Err(Fault::refused("at least one kind")),
            Value::List(names) => names.iter().try_fold(Wanted::default(), |wanted, name| match &name {
                Value::String(name) => self.wanted(wanted, name),
                other => Err(Fault::no_overload([other.kind()])),
            }),
            other => Err(Fault::no_overload([other.kind()])),
        }
    }

    fn wanted(&self, wanted: Wanted, name: &str) -> Result<Wanted, Fault> {
        let index = self.kinds.iter().position(|kind| kind.name == name);
        index.map(|index| wanted.and(index)).ok_or(Fault::refused("kinds that the function knows"))
    }
}
