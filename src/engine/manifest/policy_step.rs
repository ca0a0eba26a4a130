//! How a step of a policy document is named: the policy, and what its author calls the step, how grave it is and whose.
//!
//! In: the keys `id`, `severity` and `labels`. Out: a [`PolicyStep`], which traces, findings, reviews and the decision log carry
//! along. Nothing of it decides anything. Linear in the labels.

use super::fields::{Fields, Key};
use super::messages;
use super::mode::Mode;
use super::reader::Reader;
use super::review::NoteReader;
use super::shape::{ByName, Name, OneOf, TextOrTexts, Vocabulary, mapping, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Labels by name, each with one text or several.
pub type Labels = BTreeMap<String, Vec<String>>;

/// The name of a step of a policy document, as decisions, reviews and logs carry it.
///
/// ```
/// use celador::{Call, Engine, StartTask, User};
/// let manifests = r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: refund
/// description: Pays money back.
/// actions:
///   - name: pay
///     description: Pays.
///     parameters: {properties: {amount: {type: number}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities:
///   refund: {include: [pay]}
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: money
/// labels: {owner: risk}
/// capabilities:
///   "refund*":
///     before:
///       - id: cap
///         severity: high
///         assert: input.amount <= 100
/// "#;
/// let engine = Engine::parse("shop.yaml", manifests)?;
/// let now = std::time::SystemTime::UNIX_EPOCH;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
///
/// let call = Call::new("refund", serde_json::json!({"amount": 500}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let step = decision.decided_by.and_then(|origin| origin.policy).ok_or("a policy has decided")?;
/// assert_eq!((&*step.name, step.id.as_deref()), ("shop/money", Some("cap")));
/// assert_eq!(step.to_string(), "shop/money#cap");
/// assert_eq!(step.labels["owner"], ["risk"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyStep {
    /// Namespace and name of the policy: `acme/payments`.
    pub name: Arc<str>,
    /// The way to the policy that has the step, where the first one uses it: `acme/pii`, `acme/pii as cards`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Arc<str>>,
    /// The id of the step, unique in its policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// How grave it is when the step fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The labels of the policy; one of the step takes the place of the policy's of the same name.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
}

impl PolicyStep {
    /// What tells a step from all others, in a word: its name where it has an id, else the policy with the manifest path of the step.
    ///
    /// ```
    /// use celador::manifest::policy_step::PolicyStep;
    /// let step: PolicyStep = serde_json::from_str(r#"{"name": "shop/money"}"#)?;
    /// assert_eq!(step.at("capabilities.*.before[0].assert"), "shop/money capabilities.*.before[0].assert");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        if self.id.is_some() { self.to_string() } else { format!("{self} {path}") }
    }
}

impl PolicyStep {
    /// The policy with the uses that lead to it: `acme/payments > acme/pii`.
    pub(crate) fn policy(&self) -> String {
        Self { id: None, ..self.clone() }.to_string()
    }
}

impl fmt::Display for PolicyStep {
    /// `acme/payments#daily-cap`; of a step without an id the policy alone; with the uses that lead to it
    /// `acme/payments > acme/pii#no-cards`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.uses.iter().try_for_each(|used| write!(f, " > {used}"))?;
        self.id.as_ref().map_or(Ok(()), |id| write!(f, "#{id}"))
    }
}

/// How grave it is when a step fails: for people and for those who sort what a log says.
///
/// ```
/// use celador::manifest::policy_step::Severity;
/// assert!(Severity::High < Severity::Critical);
/// assert_eq!(serde_json::to_string(&Severity::High)?, r#""high""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Little harm.
    Low,
    /// Some harm.
    Medium,
    /// Much harm.
    High,
    /// Harm that cannot be undone.
    Critical,
}

impl Severity {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl Vocabulary for Severity {
    type Meaning = Self;
    const WORDS: &'static [(&'static str, Self)] = &[
        ("info", Self::Info),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("critical", Self::Critical),
    ];
}

/// What the steps of a policy have where they say nothing else of their own.
pub(super) struct OfPolicy {
    /// The name of the policy and its labels.
    pub(super) name: PolicyStep,
    /// Whether its steps decide.
    pub(super) mode: Mode,
    /// The default reader of the notes on its reviews.
    pub(super) note: NoteReader,
}

mapping! {
    /// How a step is named.
    pub(super) NameKeys = "a step" {
        /// A name of the step, unique in its policy.
        id: Name,
        /// How grave it is when the step fails.
        severity: OneOf<Severity>,
        /// Texts by name for those who read decisions; they take the place of the policy's.
        labels: ByName<TextOrTexts>,
    }
}

impl PolicyStep {
    /// The name of a policy, without a step.
    pub(super) fn of(policy: &str) -> Self {
        Self { name: policy.into(), uses: Vec::new(), id: None, severity: None, labels: Labels::new() }
    }

    /// The name of a step of a policy that has this name and these labels.
    pub(super) fn read(policy: &Self, fields: &Fields<'_, NameKeys>, reader: &mut Reader) -> Self {
        let id = fields.id().get().and_then(|field| reader.text(field.node, &field.path));
        if let Some(id) = id.as_ref().filter(|id| id.text.is_empty()) {
            reader.report(&fields.id().path(), messages::empty_step_id(&id.place));
        }
        let mut labels = policy.labels.clone();
        labels.extend(fields.labels().labels(reader));
        Self {
            name: policy.name.clone(),
            uses: Vec::new(),
            id: id.map(|id| id.text.clone()),
            severity: read_severity(&fields.severity(), reader),
            labels,
        }
    }
}

impl Key<'_, '_, ByName<TextOrTexts>> {
    /// The labels of a policy or a step.
    pub(super) fn labels(&self, reader: &mut Reader) -> Labels {
        let Some(field) = self.get() else { return Labels::new() };
        let entries = reader.mapping(field.node, &field.path).unwrap_or_default();
        let read = entries.iter().map(|entry| {
            let path = field.path.key(&entry.key.text);
            let texts = match entry.value.as_string() {
                Some(text) => vec![text.text.to_string()],
                None => {
                    let texts = reader.texts(&entry.value, &path).unwrap_or_default();
                    texts.iter().map(|text| text.text.to_string()).collect()
                }
            };
            (entry.key.text.to_string(), texts)
        });
        read.collect()
    }
}

fn read_severity(key: &Key<'_, '_, OneOf<Severity>>, reader: &mut Reader) -> Option<Severity> {
    let field = key.get()?;
    let word = reader.text(field.node, &field.path)?;
    let known = Severity::WORDS.iter().find(|(known, _)| **known == *word.text);
    if known.is_none() {
        reader.report(&field.path, messages::unknown_severity(&word, &words(Severity::WORDS)));
    }
    known.map(|(_, severity)| *severity)
}
