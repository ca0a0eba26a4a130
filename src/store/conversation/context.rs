//! A context as data, and what may be changed about it.
//!
//! In: what a client or an operator says of a context. Out: the Context object of section 4.1 as JSON, and changes that
//! were looked at whole before any of them counts. Metadata and extensions stay the text that they came as. Tasks are not
//! in here: a list of contexts never reads what was said in them.

use super::bad_params;
use super::lifecycle::ContextStatus;
use super::members::{Members, is_null, is_object};
use super::refusal::ContextRefusal;
use celador::cel::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The role of a context that was never given one (B3).
pub const DEFAULT_ROLE: &str = "assistant";

/// A context of a conversation: who owns it, its status and its description. It groups tasks.
///
/// ```
/// use celador_store::conversation::{
///     Changes, Context, ContextStatus, Conversations, Details, ListQuery,
/// };
/// use celador_store::{Database, Location, StoreLimits};
/// use serde_json::value::RawValue;
/// # let conversations = Conversations::new(Database::open(&Location::Memory, &StoreLimits::default())?, || 7);
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
///
/// // a context is brought in from another server
/// let details = Details { name: Some("Order 1041".into()), tags: Some(vec!["refund".into()]), ..Details::default() };
/// let context = Context { details, status: ContextStatus::Paused, ..Context::implicit("order-1041", Some("kim"), now) };
/// conversations.import(&[context], &[])?;
///
/// // its owner gives it another name and takes the tags away
/// let raw = RawValue::from_string(r#"{"name": "Order 1041, paid back", "tags": null}"#.to_owned())?;
/// conversations.update(Some("kim"), "order-1041", &Changes::read(&raw)?, now)?;
/// let page = conversations.list(Some("kim"), &ListQuery::default())?;
/// let (Context { status, details, .. }, tasks) = &page.items[0];
/// assert_eq!((details.name.as_deref(), details.tags.is_none()), (Some("Order 1041, paid back"), true));
/// assert_eq!((*status, tasks.len()), (ContextStatus::Paused, 0));
///
/// // what is not the client's to change is refused as a whole
/// let raw = RawValue::from_string(r#"{"name": "Mine", "owner": "max"}"#.to_owned())?;
/// assert_eq!(Changes::read(&raw).map_err(|refusal| refusal.code()).err(), Some(-32602));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    /// Its id: a UUID, or a text that a client chose.
    pub id: String,
    /// Who it belongs to; nobody where there was no identity. Never changes (L4).
    pub owner: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a task or a message came, or the status or the description changed.
    pub updated_at: Timestamp,
    /// Where it is in its life.
    pub status: ContextStatus,
    /// The context that it came out of.
    pub parent: Option<String>,
    /// Its name, description and other details.
    pub details: Details,
}

/// The details of a context, for people. A member that is absent was never set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Free text; counts as `assistant` where unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// An object that is given back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    /// Contexts that it refers to, whether or not they are there (L5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_context_ids: Option<Vec<String>>,
    /// An object that is given back as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Box<RawValue>>,
}

impl Context {
    /// The context that a message makes (L4).
    #[must_use]
    pub fn implicit(id: &str, owner: Option<&str>, now: Timestamp) -> Self {
        Self {
            id: id.to_owned(),
            owner: owner.map(str::to_owned),
            created_at: now,
            updated_at: now,
            status: ContextStatus::Active,
            parent: None,
            details: Details { role: Some(DEFAULT_ROLE.to_owned()), ..Details::default() },
        }
    }

    /// The role, or the one that an unset role counts as (B3).
    #[must_use]
    pub fn role(&self) -> &str {
        self.details.role.as_deref().unwrap_or(DEFAULT_ROLE)
    }

    /// The Context object of an answer: unset members left out, tasks oldest first (B2, B3).
    #[must_use]
    pub(super) fn shown<'c>(&'c self, tasks: &'c [String]) -> Shown<'c> {
        let details = &self.details;
        Shown {
            context_id: &self.id,
            kind: "context",
            role: self.role(),
            created_at: self.created_at.to_string(),
            updated_at: self.updated_at.to_string(),
            status: self.status.name(),
            tasks,
            name: details.name.as_deref(),
            description: details.description.as_deref(),
            tags: details.tags.as_deref(),
            metadata: details.metadata.as_deref(),
            parent_context_id: self.parent.as_deref(),
            reference_context_ids: details.reference_context_ids.as_deref(),
            extensions: details.extensions.as_deref(),
        }
    }
}

/// A Context object on its way out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'c> {
    context_id: &'c str,
    kind: &'static str,
    role: &'c str,
    created_at: String,
    updated_at: String,
    status: &'static str,
    tasks: &'c [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<&'c [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'c RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_context_id: Option<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_context_ids: Option<&'c [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extensions: Option<&'c RawValue>,
}

/// Changes to the details of a context: each member stays, gets a new value, or is unset.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    details: Vec<Change>,
    /// The new parent; the inner nothing unsets it.
    pub(super) parent: Option<Option<String>>,
}

/// One member with its new value.
#[derive(Clone, Debug)]
enum Change {
    Role(Option<String>),
    Name(Option<String>),
    Description(Option<String>),
    Tags(Option<Vec<String>>),
    Metadata(Option<Box<RawValue>>),
    References(Option<Vec<String>>),
    Extensions(Option<Box<RawValue>>),
}

impl Changes {
    /// Reads an object of members to change: `name`, `description`, `role`, `tags`, `metadata`, `extensions`,
    /// `parentContextId`, `referenceContextIds`, each also in snake_case. `null` unsets a member.
    ///
    /// # Errors
    /// [`ContextRefusal::Params`] if it is not an object, for members that are unknown or not the client's to change, and for
    /// values of a wrong type.
    pub fn read(raw: &RawValue) -> Result<Self, ContextRefusal> {
        let members = Members::of(raw).ok_or_else(|| bad_params::not_an_object("changes"))?;
        let mut changes = Self::default();
        for (name, value) in members.iter() {
            let value = Some(value).filter(|value| !is_null(value));
            let change = match name {
                "role" => Change::Role(value.map(|value| typed(name, value)).transpose()?),
                "name" => Change::Name(value.map(|value| typed(name, value)).transpose()?),
                "description" => Change::Description(value.map(|value| typed(name, value)).transpose()?),
                "tags" => Change::Tags(value.map(|value| typed(name, value)).transpose()?),
                "metadata" => Change::Metadata(value.map(|value| object(name, value)).transpose()?),
                "extensions" => Change::Extensions(value.map(|value| object(name, value)).transpose()?),
                "referenceContextIds" | "reference_context_ids" => {
                    Change::References(value.map(|value| typed(name, value)).transpose()?)
                }
                "parentContextId" | "parent_context_id" => {
                    changes.parent = Some(value.map(|value| typed(name, value)).transpose()?);
                    continue;
                }
                other => return Err(bad_params::not_changeable(other)),
            };
            changes.details.push(change);
        }
        Ok(changes)
    }

    /// Puts the new values in place; whether anything is different now.
    pub(super) fn apply(self, context: &mut Context) -> bool {
        let details = &mut context.details;
        let mut changed = false;
        for change in self.details {
            changed |= match change {
                Change::Role(role) => replace(&mut details.role, role),
                Change::Name(name) => replace(&mut details.name, name),
                Change::Description(description) => replace(&mut details.description, description),
                Change::Tags(tags) => replace(&mut details.tags, tags),
                Change::References(references) => replace(&mut details.reference_context_ids, references),
                Change::Metadata(metadata) => replace_json(&mut details.metadata, metadata),
                Change::Extensions(extensions) => replace_json(&mut details.extensions, extensions),
            };
        }
        if let Some(parent) = self.parent {
            changed |= replace(&mut context.parent, parent);
        }
        changed
    }
}

fn replace<T: PartialEq>(old: &mut T, new: T) -> bool {
    let changed = *old != new;
    *old = new;
    changed
}

fn replace_json(old: &mut Option<Box<RawValue>>, new: Option<Box<RawValue>>) -> bool {
    let changed = old.as_deref().map(RawValue::get) != new.as_deref().map(RawValue::get);
    *old = new;
    changed
}

fn typed<T: for<'de> Deserialize<'de>>(name: &str, value: &RawValue) -> Result<T, ContextRefusal> {
    serde_json::from_str(value.get()).map_err(|_| bad_params::wrong_type(name))
}

fn object(name: &str, value: &RawValue) -> Result<Box<RawValue>, ContextRefusal> {
    if is_object(value) { Ok(value.to_owned()) } else { Err(bad_params::wrong_type(name)) }
}
