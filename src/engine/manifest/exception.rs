//! Exceptions of a policy: calls and messages that one of its rules lets pass, for a reason and until a time.
//!
//! In: the key `exceptions` of a policy document. Out: [`DeclaredException`]s, and the expression of a rule that has some;
//! `except` gives rules theirs. A rule `R` with an exception `W` until `T` asks `now < T && (W) || (R)`: an exception is a part of its rule, so that traces, analysis, proofs, coverage, mutants and fingerprints have it, and one that has
//! expired, or whose condition fails, lets nothing pass. The exception comes first, so that nobody is asked for a review of what is excepted. Only a rule
//! that judges can have exceptions. Linear in the exceptions times the steps.

use super::fields::Key;
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::shape::{Expression, List, Name, Required, mapping};
use crate::cel::Timestamp;
use crate::source::{Embedded, Place};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An exception as decisions, logs and explanations name it.
///
/// ```
/// use celador::{Call, Engine, StartTask, User};
///
/// let engine = Engine::parse("shop.yaml", r#"
/// kind: commonagents.info/v1beta2/tool
/// namespace: shop
/// name: refund
/// description: Pays money back.
/// actions:
///   - name: pay
///     description: Pays.
///     parameters: {properties: {amount: {type: number}, customer: {type: string}}}
///     execute: {stateless_http: {method: POST, url: "https://pay.example.com"}}
/// ---
/// kind: commonagents.info/v1beta2/agent
/// namespace: shop
/// name: clerk
/// description: Answers customers.
/// prompt: You are a careful clerk.
/// capabilities: {refund: "*"}
/// ---
/// kind: celador/v1/policy
/// namespace: shop
/// name: money
/// capabilities:
///   refund: {before: [{id: cap, assert: input.amount <= 100}]}
/// exceptions:
///   - {rule: cap, where: input.customer == 'fair', until: 2026-12-31, reason: The stand at the fair is dissolved.}
/// "#)?;
/// let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// let mut task = engine.start(StartTask::new("t-1", "shop", "clerk", User::default(), now))?;
/// let call = Call::new("refund", serde_json::json!({"amount": 500, "customer": "fair"}).into());
/// let decision = task.before(&call, now)?.outcome().into_decision();
/// let exception = decision.trace[0].exception.as_ref().ok_or("an exception let it pass")?;
/// assert_eq!((&*exception.path, &*exception.until), ("exceptions[0]", "2026-12-31"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyException {
    /// Where it stands in its policy, such as `exceptions[0]`.
    pub path: String,
    /// Until when it holds, as it is written.
    pub until: String,
    /// Why there is one, in the words of its author.
    pub reason: String,
}

/// An exception of a policy document.
#[derive(Clone, Debug)]
pub struct DeclaredException {
    /// Where it stands.
    pub place: Place,
    /// The id of the rule: of a step of the policy, or of one that it uses, `acme/pii#cards`.
    pub rule: Embedded,
    /// The calls or messages that it is for; all of the rule's if absent.
    pub condition: Option<Embedded>,
    /// The word that says until when it holds.
    pub until: Embedded,
    /// From when on it lets nothing pass.
    pub ends: Timestamp,
    /// How it is named.
    pub name: Arc<PolicyException>,
}

/// A rule and its exceptions, apart.
#[derive(Clone, Debug)]
pub(crate) struct Excepted {
    /// The rule alone.
    pub(crate) rule: Embedded,
    /// Its exceptions, in the order in which they are written.
    pub(crate) exceptions: Vec<DeclaredException>,
}

mapping! {
    /// A rule that lets some calls or messages pass until a time.
    pub(super) ExceptionKeys = "an exception" {
        /// The id of a rule of the policy; of one that it uses, `namespace/name#id`.
        rule: Required<Name>,
        /// What the rule lets pass: an expression that reads what the rule reads. Without it all that the rule would stop.
        condition = "where": Expression,
        /// Until when: a day (`2026-12-31`, to its end in UTC) or a time in RFC 3339.
        until: Required<Name>,
        /// Why; decisions, logs and explanations show it.
        reason: Required<Name>,
    }
}

/// The nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// The time at which something ends that holds until this word: the end of a day, or a time.
fn end_of(word: &str) -> Option<Timestamp> {
    match word.parse::<Timestamp>() {
        Ok(time) => Some(time),
        Err(_) => {
            let day = format!("{word}T00:00:00Z").parse::<Timestamp>().ok()?;
            Timestamp::from_nanos(day.nanos().checked_add(DAY)?).ok()
        }
    }
}

impl Key<'_, '_, List<ExceptionKeys>> {
    /// The exceptions. One that breaks a rule is reported and left out.
    pub(super) fn exceptions(&self, reader: &mut Reader) -> Vec<DeclaredException> {
        let Some(field) = self.get() else { return Vec::new() };
        let items = reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate();
        items.filter_map(|(at, item)| DeclaredException::read(item, &field.path.item(at), reader)).collect()
    }
}

impl DeclaredException {
    fn read(node: &Node, path: &Path, reader: &mut Reader) -> Option<Self> {
        let fields = reader.fields::<ExceptionKeys>(node, path)?;
        let rule = fields.rule().text_or_empty("KV-03", reader);
        let condition = fields.condition().expression("CEL-01", reader);
        let until = fields.until().text_or_empty("KV-03", reader);
        let reason = fields.reason().text_or_empty("KV-03", reader);
        let ends = end_of(&until.text);
        if ends.is_none() && !until.text.is_empty() {
            reader.report(&fields.until().path(), messages::bad_end_of_exception(&until));
        }
        let place = fields.place.clone();
        fields.refuse_others(reader);
        let name = PolicyException {
            path: path.to_string(),
            until: until.text.to_string(),
            reason: reason.text.to_string(),
        };
        Some(Self { place, rule, condition, ends: ends?, until, name: Arc::new(name) })
    }

    /// Whether it lets nothing pass any more.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.ends <= now
    }

    /// The name of a use and the id of its rule, where it is about a rule that is used.
    pub(super) fn of_use(&self) -> Option<(&str, &str)> {
        self.rule.text.split_once('#')
    }
}

impl Excepted {
    /// The expression that has both: each exception until its end, and the rule.
    pub(super) fn together(&self) -> Embedded {
        let mut text = Joined::at(&self.rule.place);
        for exception in &self.exceptions {
            text.add_at(&format!("now < '{}'", exception.ends), &exception.until.place);
            if let Some(condition) = &exception.condition {
                text.add(" && ");
                text.add_within(condition);
            }
            text.add(" || ");
        }
        text.add_within(&self.rule);
        text.end()
    }
}

/// A text that is put together of several, with the way back to each of them, as far as they stand in one file.
struct Joined<'p> {
    place: &'p Place,
    text: String,
    runs: Vec<(u32, u32)>,
}

impl<'p> Joined<'p> {
    /// Characters without a place of their own are at the beginning of this one.
    fn at(place: &'p Place) -> Self {
        Self { place, text: String::new(), runs: Vec::new() }
    }

    fn length(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// Adds a text that nobody wrote.
    fn add(&mut self, text: &str) {
        self.add_at(text, &self.place.clone());
    }

    /// Adds a text for which something else is written at a place.
    fn add_at(&mut self, text: &str, place: &Place) {
        let span = if place.source.same(&self.place.source) { place.span } else { self.place.span };
        let first = self.length();
        let last = first.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX)).saturating_sub(1);
        // each character at the beginning, the last one at the end: a span of all of it is that of the place
        self.runs.extend((first..last).map(|at| (at, span.start)));
        self.runs.push((last, span.end.saturating_sub(1).max(span.start)));
        self.text.push_str(text);
    }

    /// Adds an expression in brackets. A comment at its end is not to take the bracket along.
    fn add_within(&mut self, text: &Embedded) {
        self.add("(");
        self.add_embedded(text);
        self.add(if text.text.contains("//") { "\n)" } else { ")" });
    }

    /// Adds a text as it is written.
    fn add_embedded(&mut self, text: &Embedded) {
        if !text.place.source.same(&self.place.source) {
            return self.add_at(&text.text, &text.place);
        }
        let first = self.length();
        let offset = |(of_text, file): (u32, u32)| (first.saturating_add(of_text), file);
        self.runs.extend(text.runs().iter().copied().map(offset));
        self.text.push_str(&text.text);
    }

    fn end(self) -> Embedded {
        Embedded::new(self.text, self.place.clone(), self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn a_day_holds_to_its_end() {
        for (word, end) in [
            ("2026-12-31", Some("2027-01-01T00:00:00Z")),
            ("2028-02-28", Some("2028-02-29T00:00:00Z")),
            ("2026-12-31T12:00:00Z", Some("2026-12-31T12:00:00Z")),
            ("2026-12-31T12:00:00+02:00", Some("2026-12-31T10:00:00Z")),
            ("2026-02-30", None),
            ("2026-12", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(end_of(word).map(|end| end.to_string()).as_deref(), end, "{word}");
        }
    }
}
