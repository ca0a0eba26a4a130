//! What is expected of observed steps: what they would have done, beside the verdict.
//!
//! In: a list of mappings, and the observed steps of a decision. Out: whether the two are alike, in number, order and each key that
//! is given. A key that is absent is not compared.

use super::values;
use crate::manifest::node::Node;
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{List, Nullable, OneOf, Required, Text, Vocabulary, mapping};
use crate::task::{ObservedStep, StepOutcome, VerdictKind};
use serde_json::{Map, Value, json};

mapping! {
    /// An observed step.
    pub(super) ObservedKeys = "an observed step" {
        /// What it is called, such as `before[0] of shop/money#cap`.
        step: Required<Text>,
        /// `pass`, `fail`, or `suspend` where it would have asked.
        outcome: OneOf<Outcomes>,
        /// The verdict that it would have led to; null where it would have led to no other.
        verdict: Nullable<OneOf<Verdicts>>,
        /// The text that it would have told.
        message: Text,
        /// Who would have been asked for a review.
        reviewer: Text,
        /// The labels that it would have given or taken away.
        labels: List<Text>,
        /// The codes of what went wrong in it.
        findings: List<Text>,
    }
}

/// What is expected of one observed step: the keys that are given, each with its value.
pub(super) type WantObserved = Map<String, Value>;

/// The outcomes of a step, as words.
pub(super) enum Outcomes {}

impl Vocabulary for Outcomes {
    type Meaning = ();
    const WORDS: &'static [(&'static str, ())] = &[("pass", ()), ("fail", ()), ("suspend", ())];
}

/// The verdicts that a step may lead to, as words.
pub(super) enum Verdicts {}

impl Vocabulary for Verdicts {
    type Meaning = ();
    const WORDS: &'static [(&'static str, ())] = &[
        (VerdictKind::Block.as_str(), ()),
        (VerdictKind::LockTask.as_str(), ()),
        (VerdictKind::Suspend.as_str(), ()),
        (VerdictKind::Respond.as_str(), ()),
        (VerdictKind::Discard.as_str(), ()),
    ];
}

/// Reads one of the list.
pub(super) fn read(node: &Node, path: &Path, reader: &mut Reader) -> Option<WantObserved> {
    let fields = reader.fields::<ObservedKeys>(node, path)?;
    let mut want = WantObserved::new();
    let step = fields.step().required_text(reader)?;
    want.insert("step".to_owned(), json!(step.text));
    let words = [
        ("outcome", fields.outcome().get(), Outcomes::WORDS),
        ("verdict", fields.verdict().get(), Verdicts::WORDS),
    ];
    for (key, field, known) in words {
        let Some(field) = field else { continue };
        if key == "verdict" && field.node.is_null() {
            want.insert(key.to_owned(), Value::Null);
            continue;
        }
        let word = reader.text(field.node, &field.path)?;
        values::one_of(&word, &field.path, known, reader)?;
        want.insert(key.to_owned(), json!(word.text));
    }
    for (key, text) in
        [("message", fields.message().text(reader)), ("reviewer", fields.reviewer().text(reader))]
    {
        want.extend(text.map(|text| (key.to_owned(), json!(text.text))));
    }
    for (key, field) in [("labels", fields.labels().get()), ("findings", fields.findings().get())] {
        let Some(field) = field else { continue };
        let texts = reader.texts(field.node, &field.path)?;
        let texts: Vec<_> = texts.iter().map(|text| &text.text).collect();
        want.insert(key.to_owned(), json!(texts));
    }
    fields.refuse_others(reader);
    Some(want)
}

/// The observed steps of a decision, with all that can be expected of them.
pub(super) fn found(observed: &[ObservedStep]) -> Vec<Map<String, Value>> {
    let all = observed.iter().map(|seen| {
        let codes: Vec<_> = seen.findings.iter().map(|finding| &finding.code).collect();
        let keys = [
            ("step", json!(seen.called())),
            ("outcome", json!(StepOutcome::as_str(seen.outcome))),
            ("verdict", json!(seen.verdict)),
            ("message", json!(seen.message)),
            ("reviewer", json!(seen.reviewer)),
            ("labels", json!(seen.labels)),
            ("findings", json!(codes)),
        ];
        keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    });
    all.collect()
}

/// Whether what was found is what is expected, and what was found as far as it is compared.
pub(super) fn judge(wanted: &[WantObserved], found: &[Map<String, Value>]) -> (bool, Value) {
    let compared = found.iter().enumerate().map(|(at, found)| {
        let is_compared = |key: &str| {
            wanted.get(at).map_or(!matches!(key, "findings" | "labels"), |wanted| wanted.contains_key(key))
        };
        let mut compared = found.clone();
        compared.retain(|key, _| is_compared(key));
        compared
    });
    let compared: Vec<Map<String, Value>> = compared.collect();
    (compared == wanted, json!(compared))
}
