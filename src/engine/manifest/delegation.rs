//! The bound of delegated tasks: `delegate: {within: parent}` of a policy.
//!
//! In: the key `delegate` of a policy. Out: a [`DeclaredDelegation`] with the agents whose tasks may delegate. Which calls the bound allows is
//! decided by the policy of the parent (`celador::policy::DelegationBound`).

use super::fields::Key;
use super::messages;
use super::reader::Reader;
use super::shape::{List, OneOf, Required, Text, Vocabulary, mapping, words};
use crate::source::{Embedded, Place};

/// The bound of the tasks to which other tasks delegate.
#[derive(Clone, Debug)]
pub struct DeclaredDelegation {
    /// Place of the key.
    pub place: Place,
    /// The manifest path: `delegate`.
    pub path: String,
    /// Patterns of the agents whose tasks may delegate, as `namespace/name`; without them the agents whose manifests name the agent.
    pub parents: Option<Vec<Embedded>>,
}

/// The word for what a call has to be within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// The calls that the parent task may make itself.
    Parent,
}

impl Vocabulary for Within {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[("parent", Self::Parent)];
}

mapping! {
    /// Bound of the tasks that other tasks begin.
    pub(super) DelegationKeys = "`delegate`" {
        /// What a call has to be within. `parent`: the task that delegates may make the same call itself, at that moment and with the same arguments.
        within: Required<OneOf<Within>>,
        /// Agents whose tasks may delegate to it, as `namespace/name`; `*` stands for any characters. Without it those whose manifests list it under
        /// `capabilities`.
        agents: List<Text>,
    }
}

impl Key<'_, '_, DelegationKeys> {
    /// The bound, if the policy has one. A bound that cannot be read is reported, and the policy is not sound.
    pub(super) fn delegation(&self, reader: &mut Reader) -> Option<DeclaredDelegation> {
        let field = self.get()?;
        let (place, path) = (field.key.place.clone(), field.path.to_string());
        let fields = self.fields(reader)?;
        let within = fields.within().required("KV-03", reader).and_then(|key| key.get());
        if let Some(field) = within
            && let Some(word) = reader.text(field.node, &field.path)
            && !Within::WORDS.iter().any(|(known, Within::Parent)| **known == *word.text)
        {
            reader.report(&field.path, messages::unknown_bound(&word, &words(Within::WORDS)));
        }
        let parents = fields.agents().get().map(|field| {
            let patterns = reader.texts(field.node, &field.path).unwrap_or_default();
            if patterns.is_empty() {
                reader.report(&field.path, messages::no_parents_named(&field.key.place));
            }
            for (at, pattern) in patterns.iter().enumerate() {
                if &*pattern.text != "*" && !pattern.text.contains('/') {
                    reader.report(&field.path.item(at), messages::bad_agent_pattern(pattern));
                }
            }
            patterns
        });
        fields.refuse_others(reader);
        Some(DeclaredDelegation { place, path, parents })
    }
}
