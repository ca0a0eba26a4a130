//! What a step of a policy document does ahead of a call besides to judge and to invoke.
//!
//! In: the keys of such a step. Out: a [`DeclaredEffect`], its expressions as text. Specification manifests have none of these keys.

use super::binding::DeclaredBinding;
use super::fields::{Field, Fields};
use super::messages;
use super::node::Node;
use super::reader::{Path, Reader};
use super::shape::{ByName, Duration, Expression, List, Mapping as _, Name, Required, mapping, names, shape};
use crate::source::{Embedded, Place};
use serde_json::json;

/// What a step does to a call that is about to run.
#[derive(Clone, Debug)]
pub enum DeclaredEffect {
    /// `set: {amount: "input.amount * 2"}` or `set: redact(input, ['ssn'])`: arguments that get other values.
    Set(DeclaredSet),
    /// `respond: "'Closed today.'"`: an expression whose value the model receives in the place of a result.
    Respond(Embedded),
    /// `delay: 30s`: how long the host waits before it carries the call out.
    Delay(DeclaredDelay),
    /// `obligations: [{id: tell-risk, values: {amount: input.amount}}]`: what the host does beside.
    Oblige(Vec<DeclaredObligation>),
    /// `credential: {audience: "'https://pay.example.com'", scopes: ["'refund'"]}`: what the host gets to carry it out with.
    Credential(DeclaredCredential),
}

/// Other values for arguments of a call.
#[derive(Clone, Debug)]
pub enum DeclaredSet {
    /// Some arguments, each with the expression of its value.
    Each(Vec<DeclaredBinding>),
    /// The expression of a map of all arguments.
    Whole(Embedded),
}

/// How long to wait.
#[derive(Clone, Debug)]
pub struct DeclaredDelay {
    /// In milliseconds; a part of one counts as one.
    pub milliseconds: u64,
    /// Where it stands.
    pub place: Place,
}

/// Something that the host does for a call.
#[derive(Clone, Debug)]
pub struct DeclaredObligation {
    /// The name by which the host knows it.
    pub id: Embedded,
    /// The expressions of its values, by name.
    pub values: Vec<DeclaredBinding>,
}

/// A credential for a call.
#[derive(Clone, Debug)]
pub struct DeclaredCredential {
    /// The expression of whom it is for.
    pub audience: Embedded,
    /// The expressions of what it lets its bearer do.
    pub scopes: Vec<Embedded>,
    /// The manifest path of the credential.
    pub path: String,
}

impl DeclaredEffect {
    /// The texts that are evaluated.
    pub(super) fn texts(&self) -> Vec<&Embedded> {
        match self {
            Self::Set(DeclaredSet::Each(values)) => values.iter().map(|it| &it.value).collect(),
            Self::Set(DeclaredSet::Whole(text)) => vec![text],
            Self::Respond(text) => vec![text],
            Self::Delay(_) => Vec::new(),
            Self::Oblige(obligations) => {
                obligations.iter().flat_map(|it| it.values.iter().map(|it| &it.value)).collect()
            }
            Self::Credential(credential) => {
                std::iter::once(&credential.audience).chain(&credential.scopes).collect()
            }
        }
    }

    /// The key that it stands under.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Set(_) => "set",
            Self::Respond(_) => "respond",
            Self::Delay(_) => "delay",
            Self::Oblige(_) => "obligations",
            Self::Credential(_) => "credential",
        }
    }
}

mapping! {
    /// What a step does ahead of a call, besides to judge and to invoke.
    pub(super) EffectKeys = "a step" {
        /// Arguments that the call gets other values for: names, each with an expression, or one expression of a map of all arguments.
        set: SetArguments,
        /// What the model receives in the place of a result; the call does not run.
        respond: Expression,
        /// How long the host waits before it carries the call out; the longest of several counts.
        delay: Duration,
        /// What the host does for the call beside carrying it out.
        obligations: List<ObligationKeys>,
        /// A credential that the host gets to carry the call out with.
        credential: CredentialKeys,
    }

    ObligationKeys = "an obligation" {
        /// The name by which the host knows it.
        id: Required<Name>,
        /// What it is told: names, each with an expression.
        values: ByName<Expression>,
    }

    CredentialKeys = "`credential`" {
        /// Whom it is for: an expression of a text.
        audience: Required<Expression>,
        /// What it lets its bearer do: expressions of texts.
        scopes: List<Expression>,
    }
}

shape! {
    /// Names and expressions, or the text of one expression.
    pub(super) SetArguments = |definitions| {
        json!({ "anyOf": [<ByName<Expression>>::schema(definitions), Expression::schema(definitions)] })
    };
}

/// The keys of effects.
pub(super) fn keys() -> Vec<&'static str> {
    names(EffectKeys::ROWS)
}

/// The keys of effects that a step has.
pub(super) fn written<'a>(fields: &Fields<'a, EffectKeys>) -> Vec<Field<'a>> {
    let all = [
        fields.set().get(),
        fields.respond().get(),
        fields.delay().get(),
        fields.obligations().get(),
        fields.credential().get(),
    ];
    all.into_iter().flatten().collect()
}

/// The effect of a step that has one key of them.
pub(super) fn read(fields: &Fields<'_, EffectKeys>, reader: &mut Reader) -> Option<DeclaredEffect> {
    if let Some(set) = fields.set().get() {
        return read_set(&set, reader).map(DeclaredEffect::Set);
    }
    if let Some(delay) = fields.delay().get() {
        return read_delay(&delay, reader).map(DeclaredEffect::Delay);
    }
    if let Some(obligations) = fields.obligations().get() {
        return Some(DeclaredEffect::Oblige(read_obligations(&obligations, reader)));
    }
    if let Some(credential) = fields.credential().get() {
        return read_credential(credential.node, &credential.path, reader).map(DeclaredEffect::Credential);
    }
    fields.respond().expression("CEL-01", reader).map(DeclaredEffect::Respond)
}

fn read_set(field: &Field<'_>, reader: &mut Reader) -> Option<DeclaredSet> {
    if field.node.as_string().is_some() {
        return reader.expression(field.node, &field.path, "CEL-01").map(DeclaredSet::Whole);
    }
    Some(DeclaredSet::Each(DeclaredBinding::read_all(field.node, &field.path, "CEL-01", reader)))
}

fn read_delay(field: &Field<'_>, reader: &mut Reader) -> Option<DeclaredDelay> {
    const NANOS: u64 = 1_000_000;
    let nanoseconds = reader.duration(field.node, &field.path, "LIM-13")?;
    let milliseconds = u64::try_from(nanoseconds).unwrap_or_default().div_ceil(NANOS);
    Some(DeclaredDelay { milliseconds, place: field.node.place.clone() })
}

fn read_obligations(field: &Field<'_>, reader: &mut Reader) -> Vec<DeclaredObligation> {
    let items = reader.list(field.node, &field.path).unwrap_or_default();
    if items.is_empty() {
        reader.report(&field.path, messages::no_obligations(&field.key.place));
    }
    let read = |(at, item): (usize, &Node)| {
        let fields = reader.fields::<ObligationKeys>(item, &field.path.item(at))?;
        let id = fields.id().text_or_empty("KV-03", reader);
        let values = fields.values().get();
        let values = values.map(|it| DeclaredBinding::read_all(it.node, &it.path, "CEL-01", reader));
        fields.refuse_others(reader);
        Some(DeclaredObligation { id, values: values.unwrap_or_default() })
    };
    items.iter().enumerate().filter_map(read).collect()
}

fn read_credential(node: &Node, path: &Path, reader: &mut Reader) -> Option<DeclaredCredential> {
    let fields = reader.fields::<CredentialKeys>(node, path)?;
    let audience =
        fields.audience().required("KV-03", reader).and_then(|key| key.expression("CEL-01", reader));
    let scopes = fields.scopes().get().map(|field| {
        let items = reader.list(field.node, &field.path).unwrap_or_default().iter().enumerate();
        let read = |(at, item)| reader.expression(item, &field.path.item(at), "CEL-01");
        items.filter_map(read).collect()
    });
    fields.refuse_others(reader);
    let (scopes, path) = (scopes.unwrap_or_default(), path.to_string());
    Some(DeclaredCredential { audience: audience?, scopes, path })
}
