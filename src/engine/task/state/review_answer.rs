//! The answers to a review, as they are held and as they are written.
//!
//! In: what a person wants, and who they are. Out: `true` or `false` where it says no more than that, as releases of before had it;
//! else an object with `answer`.

use crate::cel::Json;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The answer of a person, with who they are.
///
/// Written in short as `true` or `false` where it says no more than that.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "Written")]
pub struct ReviewAnswer {
    /// What they want.
    pub choice: ReviewChoice,
    /// Who they are, as far as the host knows; nothing where nobody was known.
    pub by: Option<Identity>,
    /// What they add, in their own words.
    pub note: Option<String>,
    /// The names of a review of several people that are theirs, such as `group:leads`, as the host knows them. Without any, their subject
    /// and their e-mail address count.
    pub addressed_as: Vec<String>,
}

/// What a reviewer wants.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewChoice {
    /// It may be done.
    Approve,
    /// It must not be done.
    Deny,
    /// It may be done with other arguments. They pass the steps again; invoke steps that have run are not repeated. Only a
    /// call that has not run can be edited, and no parameter that the manifest binds (BND-02).
    Edit {
        /// The new arguments of the model: an object.
        arguments: Json,
    },
    /// It must not be done, and this is the result instead. It passes the steps of `after`. Only a call that has not run can be
    /// answered so.
    Respond {
        /// The result that stands in the tool's place.
        result: Json,
    },
}

/// A person or program, as a host knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// Who vouches for them, such as the issuer of their token.
    #[serde(default)]
    pub issuer: Option<String>,
    /// Their id at that issuer.
    pub subject: String,
    /// Their e-mail address, if the issuer has verified it.
    #[serde(default)]
    pub email: Option<String>,
}

impl ReviewAnswer {
    /// Whether the expression that asked goes on as if it was approved.
    #[must_use]
    pub fn approves(&self) -> bool {
        matches!(self.choice, ReviewChoice::Approve | ReviewChoice::Edit { .. })
    }

    /// The documents and texts that it holds.
    pub(in crate::task) fn bytes(&self) -> usize {
        let document = match &self.choice {
            ReviewChoice::Approve | ReviewChoice::Deny => 0,
            ReviewChoice::Edit { arguments: document } | ReviewChoice::Respond { result: document } => {
                document.heap_bytes()
            }
        };
        let names = self.addressed_as.iter().fold(0_usize, |sum, name| sum.saturating_add(name.len()));
        document.saturating_add(self.note.as_ref().map_or(0, String::len)).saturating_add(names)
    }
}

impl From<bool> for ReviewAnswer {
    /// Approve or deny, by somebody of whom nothing is known.
    fn from(approved: bool) -> Self {
        let choice = if approved { ReviewChoice::Approve } else { ReviewChoice::Deny };
        Self { choice, by: None, note: None, addressed_as: Vec::new() }
    }
}

/// How an answer is written: releases of before knew of yes and no.
#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Written {
    Short(bool),
    Whole(Whole),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Whole {
    /// What the reviewer wants.
    answer: ReviewWord,
    /// The new arguments, of `edit` alone.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    arguments: Option<Json>,
    /// The result in the tool's place, of `respond` alone.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    result: Option<Json>,
    /// The person who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Identity>,
    /// What they add, in their own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The names of a review of several people that are theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addressed_as: Vec<String>,
}

/// An answer to a review, as a person gives it. Who they are their host knows.
///
/// ```
/// use celador::task::{ReviewChoice, ReviewReply, ReviewWord};
///
/// let reply: ReviewReply = serde_json::from_str(r#"{"answer": "respond", "result": null, "note": "It is out of stock."}"#)?;
/// assert_eq!((reply.answer, reply.note.as_deref()), (ReviewWord::Respond, Some("It is out of stock.")));
/// assert!(matches!(reply.choice(), Ok(ReviewChoice::Respond { .. })));
/// // arguments go with `edit` alone
/// let reply: ReviewReply = serde_json::from_str(r#"{"answer": "approve", "arguments": {"amount": 5}}"#)?;
/// assert!(reply.choice().is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnswerReview"))]
pub struct ReviewReply {
    /// The answer.
    pub answer: ReviewWord,
    /// The arguments to go on with; only with `edit`. `***` in the place of a secret leaves the secret as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    pub arguments: Option<Json>,
    /// What the model receives in the place of the tool's result; only with `respond`. Any JSON, or a result as `after` takes it,
    /// whose output it is then.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub result: Option<Json>,
    /// What is to be said about it, of at most `max_reason_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The digest of the review that is answered: the answer is refused if the review has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl ReviewReply {
    /// A reply of this word and nothing else.
    #[must_use]
    pub const fn new(answer: ReviewWord) -> Self {
        Self { answer, arguments: None, result: None, note: None, digest: None }
    }

    /// What it says, if its parts go together.
    ///
    /// # Errors
    /// A sentence, if something lacks or is too much.
    pub fn choice(&self) -> Result<ReviewChoice, &'static str> {
        ReviewChoice::of(self.answer, self.arguments.clone(), self.result.clone())
    }
}

/// What a reviewer wants, in a word.
///
/// ```
/// use celador::task::{ReviewChoice, ReviewWord};
///
/// let choice = ReviewChoice::of(ReviewWord::Edit, Some(serde_json::json!({"amount": 90}).into()), None)?;
/// assert_eq!(choice.word(), ReviewWord::Edit);
/// assert!(ReviewChoice::of(ReviewWord::Edit, None, None).is_err());
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReviewChoice"))]
pub enum ReviewWord {
    /// Go on.
    Approve,
    /// Do not.
    Deny,
    /// Go on with other arguments.
    Edit,
    /// Do not call the tool; this is its result.
    Respond,
}

impl ReviewWord {
    /// The word for wires and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Edit => "edit",
            Self::Respond => "respond",
        }
    }
}

impl ReviewChoice {
    /// The choice of a word with the arguments or the result that go with it.
    ///
    /// # Errors
    /// A sentence, if something lacks or is too much.
    pub fn of(word: ReviewWord, arguments: Option<Json>, result: Option<Json>) -> Result<Self, &'static str> {
        match (word, arguments, result) {
            (ReviewWord::Approve, None, None) => Ok(Self::Approve),
            (ReviewWord::Deny, None, None) => Ok(Self::Deny),
            (ReviewWord::Edit, Some(arguments), None) => Ok(Self::Edit { arguments }),
            (ReviewWord::Respond, None, Some(result)) => Ok(Self::Respond { result }),
            _ => {
                Err("`arguments` goes with `edit`, `result` with `respond`, and neither with another answer")
            }
        }
    }

    /// The choice without what goes with it.
    #[must_use]
    pub fn word(&self) -> ReviewWord {
        match self {
            Self::Approve => ReviewWord::Approve,
            Self::Deny => ReviewWord::Deny,
            Self::Edit { .. } => ReviewWord::Edit,
            Self::Respond { .. } => ReviewWord::Respond,
        }
    }
}

/// A value that is there, and may be null.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl From<ReviewAnswer> for Written {
    fn from(ReviewAnswer { choice, by, note, addressed_as }: ReviewAnswer) -> Self {
        let answer = choice.word();
        let (arguments, result) = match choice {
            ReviewChoice::Approve | ReviewChoice::Deny
                if by.is_none() && note.is_none() && addressed_as.is_empty() =>
            {
                return Self::Short(answer == ReviewWord::Approve);
            }
            ReviewChoice::Approve | ReviewChoice::Deny => (None, None),
            ReviewChoice::Edit { arguments } => (Some(arguments), None),
            ReviewChoice::Respond { result } => (None, Some(result)),
        };
        Self::Whole(Whole { answer, arguments, result, by, note, addressed_as })
    }
}

impl<'de> Deserialize<'de> for ReviewAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ReviewAnswer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or an object with `answer`")
            }

            fn visit_bool<E: Error>(self, approved: bool) -> Result<ReviewAnswer, E> {
                Ok(approved.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ReviewAnswer, A::Error> {
                let Whole { answer, arguments, result, by, note, addressed_as } =
                    Whole::deserialize(MapAccessDeserializer::new(members))?;
                let choice = ReviewChoice::of(answer, arguments, result).map_err(A::Error::custom)?;
                Ok(ReviewAnswer { choice, by, note, addressed_as })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ReviewAnswer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReviewAnswer".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}
