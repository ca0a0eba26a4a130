//! What is sent to a model and what it answers, as the steps around its calls see it: documents of a small shape.
//!
//! In: what a host gives, or what a transform makes. Out: a [`ModelRequest`] or a [`ModelAnswer`], with every key that a host may leave
//! out filled in; or why the document is none, without a value of it. The schemas in `model_schema` give the check and the type of
//! expressions alike.
//!
//! A key that the schema does not have is refused. If a host could put the text of a message under another name, a rule over
//! `text` would let pass what it was written for. Whatever else a host wants rules to read stands under `other`. Linear in the document.

use super::expression::Expression;
use super::messages;
use super::model_schema::{answer_schema, request_schema};
use super::shape::{Others, Shape};
use crate::amount::{Amount, AmountError};
use crate::cel::{Json, JsonRef, Kind, Part, Type, Value as ValueRef};
use crate::manifest::node::Node;
use crate::manifest::schema::SchemaKind;
use crate::source::{Place, Source, Span};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;

/// What is sent to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ModelRequest(Json);

/// What a model answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ModelAnswer(Json);

/// A document's shape, and the values of the keys that may be left out.
struct Document {
    shape: Shape,
    defaults: Vec<(String, Json)>,
}

static REQUEST: LazyLock<Document> = LazyLock::new(|| Document::of(&request_schema()));
static ANSWER: LazyLock<Document> = LazyLock::new(|| Document::of(&answer_schema()));

/// More than the levels of either schema.
const DEPTH: usize = 32;

impl Document {
    fn of(schema: &Value) -> Self {
        let place = Place::new(&Source::new("model", ""), Span::new(0, 0));
        let properties = schema.get("properties").and_then(Value::as_object);
        let defaults = properties.into_iter().flatten().filter_map(|(key, schema)| {
            let default = schema.get("default")?;
            Some((key.clone(), Json::from(default)))
        });
        let defaults: Vec<_> = defaults.collect();
        // a schema that could not be read would let nothing through
        let nothing =
            || Shape { kind: Some(SchemaKind::Object), others: Others::Refused, ..Shape::default() };
        let mut shape =
            Node::of_json(schema, &place, DEPTH).map_or_else(nothing, |node| Shape::of_node(&node));
        for field in &mut shape.fields {
            field.required |= defaults.iter().any(|(key, _)| **key == *field.name);
        }
        Self { shape, defaults }
    }

    /// A document with all that may be left out, if it is one; `whose` opens a quotation, which the place within it continues.
    fn read(&self, given: JsonRef<'_>, whose: &str) -> Result<Json, String> {
        let is_missing = |(key, _): &&(String, Json)| given.is_object() && given.get(key).is_none();
        let missing: Vec<_> = self.defaults.iter().filter(is_missing).collect();
        let document = if missing.is_empty() {
            given.to_json()
        } else {
            let members = given.entries().map(|(key, value)| (key, value.to_json()));
            let missing = missing.into_iter().map(|(key, value)| (key.as_str(), value.clone()));
            Json::object(members.chain(missing))
        };
        let fits = self.shape.check_part(Part::Json(document.root()));
        fits.map_err(|misfit| messages::model_misfit(whose, &misfit))?;
        Ok(document)
    }
}

/// The type of `input` to the steps around a call of the model.
pub(super) fn request_type() -> Type {
    REQUEST.shape.ty("request to the model")
}

/// The type of `output` to the steps behind it.
pub(super) fn answer_type() -> Type {
    ANSWER.shape.ty("answer of the model")
}

impl ModelRequest {
    /// Reads what a host gives.
    ///
    /// # Errors
    /// The place in it that does not fit, and how.
    pub(crate) fn of(given: JsonRef<'_>) -> Result<Self, String> {
        REQUEST.read(given, "`request").map(Self)
    }

    /// What a transform makes of it: a map takes its place, a list that of its messages.
    ///
    /// # Errors
    /// As [`ModelRequest::of`].
    pub(crate) fn transformed(&self, by: &Json) -> Result<Self, String> {
        match by.root().is_array() {
            true => Self::of(with_member(&self.0, "messages", by).root()),
            false => Self::of(by.root()),
        }
    }

    /// The document: an object.
    pub(crate) fn json(&self) -> &Json {
        &self.0
    }
}

impl ModelAnswer {
    /// Reads what a host gives.
    ///
    /// # Errors
    /// The place in it that does not fit, and how.
    pub(crate) fn of(given: JsonRef<'_>) -> Result<Self, String> {
        let answer = ANSWER.read(given, "`answer").map(Self)?;
        match answer.tokens() {
            Some(tokens) if tokens.contains(&None) => Err(messages::bad_token_count()),
            _ if answer.reported_cost().is_some_and(|cost| cost.is_err()) => Err(messages::bad_cost()),
            _ => Ok(answer),
        }
    }

    /// What a transform makes of it: a map takes its place, a text that of its text.
    ///
    /// # Errors
    /// As [`ModelAnswer::of`].
    pub(crate) fn transformed(&self, by: &Json) -> Result<Self, String> {
        match by.root().as_str() {
            Some(_) => Self::of(with_member(&self.0, "text", by).root()),
            None => Self::of(by.root()),
        }
    }

    /// The tokens read and written, if the host has told; each is absent where it is no count.
    fn tokens(&self) -> Option<[Option<u64>; 2]> {
        let usage = self.0.root().get("usage")?;
        let count = |key: &str| u64::try_from(usage.get(key)?.as_int()?).ok();
        Some([count("prompt_tokens"), count("completion_tokens")])
    }

    /// The tokens read and written, if the host has told.
    pub(crate) fn usage(&self) -> Option<(u64, u64)> {
        let [prompt, completion] = self.tokens()?;
        prompt.zip(completion)
    }

    /// What the answer cost, if the host has told.
    pub(crate) fn cost(&self) -> Option<Amount> {
        self.reported_cost()?.ok()
    }

    fn reported_cost(&self) -> Option<Result<Amount, AmountError>> {
        let cost = self.0.root().get("usage")?.get("cost")?;
        Some(match (cost.as_int(), cost.value()) {
            (Some(cost), _) => Amount::from_int(cost),
            (None, ValueRef::Double(cost)) => Amount::from_double(cost),
            (None, ValueRef::UInt(cost)) => Amount::from_uint(cost),
            _ => Err(AmountError::NotDecimal),
        })
    }

    /// The document: an object.
    pub(crate) fn json(&self) -> &Json {
        &self.0
    }
}

/// An object with another value for one of its members.
fn with_member(object: &Json, member: &str, value: &Json) -> Json {
    let members = object.root().entries();
    Json::object(members.map(|(key, old)| (key, if key == member { value.clone() } else { old.to_json() })))
}

/// Whether nothing that a transform gives can take the place of a request or of its messages.
pub(super) fn excludes_request(transform: &Expression) -> bool {
    excludes(&REQUEST.shape, "messages", transform)
}

/// Whether nothing that a transform gives can take the place of an answer or of its text.
pub(super) fn excludes_answer(transform: &Expression) -> bool {
    excludes(&ANSWER.shape, "text", transform)
}

fn excludes(whole: &Shape, member: &str, transform: &Expression) -> bool {
    let member = whole.fields.iter().find(|field| *field.name == *member);
    // a constant map may leave out what has a default
    let is_constant = transform.program().constant().is_some();
    let may_be_whole =
        is_constant && transform.program().result_type().kind().is_none_or(|kind| kind == Kind::Map);
    !may_be_whole && whole.excludes(transform) && member.is_none_or(|field| field.shape.excludes(transform))
}
