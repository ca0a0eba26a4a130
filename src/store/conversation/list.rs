//! `contexts/list`: which contexts, in which order, which page (B4 to B8).
//!
//! In: the `metadata` of a request, and the contexts that its caller may see. Out: a checked [`ListQuery`], and the page.
//! Contexts come without their tasks, so a filter costs what there is to filter and not what was said in it: linear, and
//! a sort of what matched. A query that asks for nothing but what columns hold is answered by the database, as
//! `tables::page` has it; what a role, tags or names are part of is answered here.

use super::bad_params;
use super::context::Context;
use super::lifecycle::ContextStatus;
use super::members::{Members, text};
use super::number::whole;
use super::refusal::ContextRefusal;
use celador::cel::Timestamp;
use serde_json::value::RawValue;
use std::cmp::Ordering;

/// Filters, order and page. The default filters nothing and has no limit.
///
/// ```
/// use celador_store::conversation::{Context, ListQuery, SortBy, SortOrder};
/// use serde_json::value::RawValue;
/// # let now: celador::Timestamp = "2026-01-15T12:00:00Z".parse()?;
///
/// let metadata = r#"{"sortBy": "name", "sortOrder": "asc", "limit": 2, "offset": 2, "colour": "unknown keys are ignored"}"#;
/// let query = ListQuery::read(&*RawValue::from_string(metadata.to_owned())?)?;
/// assert_eq!((query.sort_by, query.sort_order), (SortBy::Name, SortOrder::Ascending));
///
/// // the second page of three contexts; one without a name comes last
/// let named = |id: &str, name: Option<&str>| {
///     let mut context = Context::implicit(id, Some("kim"), now);
///     context.details.name = name.map(str::to_owned);
///     context
/// };
/// let page = query.page(vec![named("c-1", None), named("c-2", Some("Returns")), named("c-3", Some("Orders"))]);
/// let ids: Vec<_> = page.items.iter().map(|context| &*context.id).collect();
/// assert_eq!((ids, page.total, page.page, page.page_size), (vec!["c-1"], 3, 2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only contexts of this status.
    pub status: Option<ContextStatus>,
    /// Only contexts of exactly this role.
    pub role: Option<String>,
    /// Only contexts that have every one of these.
    pub tags: Vec<String>,
    /// Only contexts made then or later.
    pub created_after: Option<Timestamp>,
    /// Only contexts made then or earlier.
    pub created_before: Option<Timestamp>,
    /// The member that decides the order.
    pub sort_by: SortBy,
    /// Which end comes first.
    pub sort_order: SortOrder,
    /// Contexts skipped.
    pub offset: u128,
    /// Contexts given, at least 1.
    pub limit: Option<u128>,
}

/// The member by which contexts are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// When they were made.
    #[default]
    CreatedAt,
    /// When something changed last.
    UpdatedAt,
    /// Their names as bytes; those without come last either way (B5).
    Name,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortOrder {
    /// The least.
    Ascending,
    /// The greatest.
    #[default]
    Descending,
}

/// A page with its numbers (B6).
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Its items, in order.
    pub items: Vec<T>,
    /// How many matched, on all pages.
    pub total: usize,
    /// Which page it is, from 1.
    pub page: u128,
    /// How many a page holds.
    pub page_size: u128,
}

impl ListQuery {
    /// Reads the `metadata` of a request; unknown keys are ignored, null values are absent (B8, J8).
    ///
    /// # Errors
    /// [`ContextRefusal::Params`] for a known key with a value of a wrong type or out of its range.
    pub fn read(metadata: &RawValue) -> Result<Self, ContextRefusal> {
        let members = Members::of(metadata).ok_or_else(|| bad_params::not_an_object("metadata"))?;
        let member = |camel: &str, snake: &str| {
            members.either(camel, snake).filter(|value| !super::members::is_null(value))
        };
        let choice = |name: &str, value: Option<&RawValue>| match value {
            None => Ok(None),
            Some(value) => text(value).map(Some).ok_or_else(|| bad_params::wrong_type(name)),
        };
        let time = |name: &str, value| match choice(name, value)? {
            None => Ok(None),
            // the parser knows a minus sign beyond ASCII, which RFC 3339 does not
            Some(text) if !text.is_ascii() => Err(bad_params::not_a_time(name)),
            Some(text) => text.parse::<Timestamp>().map(Some).map_err(|_| bad_params::not_a_time(name)),
        };
        let number = |name: &str, value: Option<&RawValue>| match value {
            None => Ok(None),
            Some(value) => whole(value).map_err(|_| bad_params::not_whole(name)),
        };
        let status = choice("status", member("status", "status"))?;
        let status =
            status.map(|name| ContextStatus::from_name(&name).ok_or_else(bad_params::unknown_status));
        let sort_by = match choice("sortBy", member("sortBy", "sort_by"))?.as_deref() {
            None => SortBy::default(),
            Some("createdAt" | "created_at") => SortBy::CreatedAt,
            Some("updatedAt" | "updated_at") => SortBy::UpdatedAt,
            Some("name") => SortBy::Name,
            Some(_) => return Err(bad_params::not_one_of("sortBy", "`createdAt`, `updatedAt`, `name`")),
        };
        let sort_order = match choice("sortOrder", member("sortOrder", "sort_order"))?.as_deref() {
            None => SortOrder::default(),
            Some("asc") => SortOrder::Ascending,
            Some("desc") => SortOrder::Descending,
            Some(_) => return Err(bad_params::not_one_of("sortOrder", "`asc`, `desc`")),
        };
        let limit = number("limit", member("limit", "limit"))?;
        if limit == Some(0) {
            return Err(bad_params::not_positive("limit"));
        }
        Ok(Self {
            status: status.transpose()?,
            role: choice("role", member("role", "role"))?,
            tags: member("tags", "tags").map_or_else(|| Ok(Vec::new()), tags)?,
            created_after: time("createdAfter", member("createdAfter", "created_after"))?,
            created_before: time("createdBefore", member("createdBefore", "created_before"))?,
            sort_by,
            sort_order,
            offset: number("offset", member("offset", "offset"))?.unwrap_or_default(),
            // what no machine counts to is no limit (J10)
            limit: limit.filter(|limit| *limit != u128::MAX),
        })
    }

    /// Whether the context passes every filter (B4).
    #[must_use]
    pub fn matches(&self, context: &Context) -> bool {
        let tags = context.details.tags.as_deref().unwrap_or_default();
        self.status.is_none_or(|status| status == context.status)
            && self.role.as_deref().is_none_or(|role| role == context.role())
            && self.tags.iter().all(|tag| tags.contains(tag))
            && self.created_after.is_none_or(|earliest| earliest <= context.created_at)
            && self.created_before.is_none_or(|latest| context.created_at <= latest)
    }

    /// The page of those that match (B5, B6).
    #[must_use]
    pub fn page(&self, contexts: Vec<Context>) -> Page<Context> {
        let mut items: Vec<Context> = contexts.into_iter().filter(|context| self.matches(context)).collect();
        items.sort_by(|one, other| self.order(one, other));
        let total = items.len();
        let skipped = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let taken = self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        self.numbered(items.into_iter().skip(skipped).take(taken).collect(), total)
    }

    /// What is on the page, with its numbers.
    pub(super) fn numbered<T>(&self, items: Vec<T>, total: usize) -> Page<T> {
        let (page, page_size) = match self.limit {
            Some(limit) => (self.offset.checked_div(limit).unwrap_or_default().saturating_add(1), limit),
            None => (1, u128::try_from(total).unwrap_or(u128::MAX)),
        };
        Page { items, total, page, page_size }
    }

    /// Whether it asks for nothing but what columns hold: roles, tags and names stand in the JSON of the description, which
    /// each database looks into with words of its own.
    pub(super) fn is_of_columns(&self) -> bool {
        self.role.is_none() && self.tags.is_empty() && self.sort_by != SortBy::Name
    }

    /// Ids ascend among equals, and what has no name comes last, in both directions (B5).
    fn order(&self, one: &Context, other: &Context) -> Ordering {
        let directed = |order: Ordering| match self.sort_order {
            SortOrder::Ascending => order,
            SortOrder::Descending => order.reverse(),
        };
        let by_key = match self.sort_by {
            SortBy::CreatedAt => directed(one.created_at.cmp(&other.created_at)),
            SortBy::UpdatedAt => directed(one.updated_at.cmp(&other.updated_at)),
            SortBy::Name => match (&one.details.name, &other.details.name) {
                (Some(one), Some(other)) => directed(one.as_bytes().cmp(other.as_bytes())),
                (one, other) => one.is_none().cmp(&other.is_none()),
            },
        };
        by_key.then_with(|| one.id.cmp(&other.id))
    }
}

/// A list of strings, or one string.
fn tags(value: &RawValue) -> Result<Vec<String>, ContextRefusal> {
    match text(value) {
        Some(tag) => Ok(vec![tag]),
        None => serde_json::from_str(value.get()).map_err(|_| bad_params::wrong_type("tags")),
    }
}
