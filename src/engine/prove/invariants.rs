//! A file of invariants: what is to hold of every call that is let by, or of every task at any time.
//!
//! In: YAML of kind `celador/v1/invariants`. Out: [`Invariants`] with each expression still as text and in its place, or everything that is wrong with
//! the file. Expressions are compiled where they are woven into policies.
//!
//! ```yaml
//! kind: celador/v1/invariants
//! invariants:
//!   - id: large-is-reviewed
//!     text: Every payout above 1000 has an approved review.
//!     call: payout
//!     always: input.amount <= 1000 || review('lead@example.com')
//!   - id: at-most-5000
//!     text: No task pays more than 5,000.
//!     always: c.cap.payout.calls.filter(t, t.status == 'successful').map(t, double(t.input.amount)).sum() <= 5000.0
//! ```

use super::messages;
use crate::diagnostic::Diagnostic;
use crate::limits::EngineLimits;
use crate::manifest::fields::Fields;
use crate::manifest::kind::INVARIANTS;
use crate::manifest::node::Node;
use crate::manifest::reader::Reader;
use crate::manifest::shape::{Expression, List, Name, Required, Shape, Text, document, mapping, shape};
use crate::scenario::one_document::read_one;
use crate::source::{Embedded, Place, Source};
use serde_json::{Value, json};
use std::collections::HashMap;

/// What is to be proved.
#[derive(Clone, Debug)]
pub struct Invariants {
    /// In the order of the file, at least one.
    pub invariants: Vec<Invariant>,
}

/// Something that is to hold, whatever a model, a user or a tool does.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// Its name, unique in the file.
    pub id: Embedded,
    /// The sentence that people agree on.
    pub text: Option<Embedded>,
    /// Patterns of the agents that it is about, as `namespace/name`; all of them if none is named.
    pub agents: Vec<Embedded>,
    /// The calls that it is about, as a key of a policy selects them; without one it is about tasks at any time.
    pub call: Option<Embedded>,
    /// What is to be true: of a call behind all steps that let it by, or of a task after each of its steps.
    pub always: Embedded,
    /// Where it stands.
    pub place: Place,
}

mapping! {
    /// What is to hold of every task of some agents, for `celador prove`. No document of this kind decides anything.
    InvariantsKeys as "invariants" = "invariants" {
        /// The kind of the file.
        kind: Required<InvariantsKind>,
        /// What the invariants are about.
        description: Text,
        /// The invariants.
        invariants: Required<List<InvariantKeys>>,
    }

    InvariantKeys = "an invariant" {
        /// Its name, unique in the file.
        id: Required<Name>,
        /// The sentence that people agree on.
        text: Text,
        /// Agents as `namespace/name`; `*` stands for any characters. Without it the invariant is about all agents.
        agents: List<Text>,
        /// The calls that it is about: a function, a tool, a pattern of them, or `tag:` and a tag. Without it the invariant is about
        /// the task, after each of its steps.
        call: Text,
        /// What is always true: of a call that is let by, with `input`, `context` and `review`, or of the task, with `context` alone.
        always: Required<Expression>,
    }
}

shape! {
    /// The word that says what the file is.
    InvariantsKind = |_| json!({ "const": INVARIANTS });
}

impl Invariants {
    /// Reads a file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(source: &Source, limits: &EngineLimits) -> Result<Self, Vec<Diagnostic>> {
        read_one(source, limits, &["invariants"], read)
    }

    /// The JSON Schema of such a file.
    #[must_use]
    pub fn json_schema() -> Value {
        document(InvariantsKeys::schema)
    }
}

fn read(fields: &Fields<'_, InvariantsKeys>, reader: &mut Reader) -> Option<Invariants> {
    let kind = fields.kind().required("", reader)?.get()?;
    let word = reader.text(kind.node, &kind.path)?;
    if &*word.text != INVARIANTS {
        reader.report(&kind.path, messages::other_kind(&word));
    }
    fields.description().text(reader);
    let listed = fields.invariants().required("", reader)?.get()?;
    let items = reader.list(listed.node, &listed.path)?.iter().enumerate();
    let mut one = |(at, node): (usize, &Node)| {
        let fields = reader.fields::<InvariantKeys>(node, &listed.path.item(at))?;
        let id = fields.id().text_or_empty("", reader);
        let text = fields.text().text(reader);
        let agents = fields.agents().get();
        let agents = agents.and_then(|field| reader.texts(field.node, &field.path)).unwrap_or_default();
        let call = fields.call().text(reader);
        let always = fields.always().required("", reader).and_then(|key| {
            let field = key.get()?;
            reader.expression(field.node, &field.path, "")
        });
        fields.refuse_others(reader);
        Some(Invariant { id, text, agents, call, always: always?, place: node.place.clone() })
    };
    let invariants: Vec<Invariant> = items.filter_map(&mut one).collect();
    let mut known: HashMap<&str, &Embedded> = HashMap::new();
    for (at, invariant) in invariants.iter().enumerate() {
        if let Some(first) = known.insert(&invariant.id.text, &invariant.id) {
            let path = fields.invariants().path().item(at).key("id");
            reader.report(&path, messages::twice(&invariant.id, first.place.clone()));
        }
    }
    if invariants.is_empty() {
        reader.report(&fields.invariants().path(), messages::nothing_to_prove(fields.place));
    }
    Some(Invariants { invariants })
}
