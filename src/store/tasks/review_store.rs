//! Reviews out of their rows: found by who is asked, by state and by agent, a page at a time.
//!
//! In: a filter, and where a page begins. Out: pages in the order in which reviews were asked, and in the order in which they
//! changed; whoever passes changes on says here how far they have come.

use super::StoredTasks;
use super::owner::Owner;
use super::review::reviewer_name;
use super::reviews::{BETWEEN, CHANGES, REVIEW, ReviewRow};
use crate::{SqlValue, StoreError, messages};
use celador::cel::Timestamp;
use celador::task::ReviewState;

/// Which reviews are listed.
#[derive(Clone, Debug, Default)]
pub struct ReviewFilter<'f> {
    /// Whose eyes they are for; all of them without it.
    pub seen_by: Option<ReviewViewer<'f>>,
    /// The name of who is asked.
    pub reviewer: Option<&'f str>,
    /// Their state; any without it.
    pub state: Option<ReviewState>,
    /// The namespace of the agent.
    pub namespace: Option<&'f str>,
    /// The name of the agent.
    pub agent: Option<&'f str>,
}

/// Somebody who sees the reviews that are addressed to them, and those of their own tasks.
#[derive(Clone, Copy, Debug)]
pub struct ReviewViewer<'v> {
    /// The owner of tasks that they are.
    pub owner: &'v Owner,
    /// The names under which reviews are addressed to them.
    pub names: &'v [String],
}

/// A statement that grows.
#[derive(Default)]
struct Conditions<'v> {
    texts: Vec<String>,
    values: Vec<SqlValue<'v>>,
}

impl<'v> Conditions<'v> {
    fn value(&mut self, value: impl Into<SqlValue<'v>>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn is(&mut self, column: &str, value: impl Into<SqlValue<'v>>) {
        let value = self.value(value);
        self.texts.push(format!("{column} = {value}"));
    }

    /// That a review is addressed to one of these names, alone or among several; nothing for no names.
    fn asked(&mut self, names: &[String]) -> Option<String> {
        if names.is_empty() {
            return None;
        }
        let names: Vec<String> = names.iter().map(|name| reviewer_name(name)).collect();
        let alone: Vec<String> = names.iter().map(|name| self.value(name.clone())).collect();
        let between = self.value(BETWEEN);
        // to replace is to look, to the letter, in both databases
        let among = |name: &String| {
            let name = self.value(format!("{BETWEEN}{name}{BETWEEN}"));
            format!("replace(reviewer, {name}, '') <> reviewer")
        };
        let among: Vec<String> = names.iter().map(among).collect();
        let (alone, among) = (alone.join(", "), among.join(" OR "));
        Some(format!("(reviewer IN ({alone}) OR (substr(reviewer, 1, 1) = {between} AND ({among})))"))
    }

    fn of(filter: &ReviewFilter<'v>) -> Self {
        let mut conditions = Self::default();
        if let Some(state) = filter.state {
            conditions.is("state", state.as_str());
        }
        if let Some(reviewer) = filter.reviewer {
            let asked = conditions.asked(&[reviewer.to_owned()]);
            conditions.texts.extend(asked);
        }
        if let Some(namespace) = filter.namespace {
            conditions.is("namespace", namespace);
        }
        if let Some(agent) = filter.agent {
            conditions.is("agent", agent);
        }
        if let Some(ReviewViewer { owner, names }) = filter.seen_by {
            let owner = conditions.value(owner.as_str());
            let addressed = conditions.asked(names).map(|asked| format!(" OR {asked}")).unwrap_or_default();
            conditions.texts.push(format!("(owner = {owner}{addressed})"));
        }
        conditions
    }
}

impl StoredTasks {
    /// The reviews behind a number that fit a filter, in the order in which they were asked: at most so many and at most
    /// `max_page`, as many as `max_page_bytes` allows, and one at least. Whether there are more.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    ///
    /// # Cost
    /// Linear in the reviews that have the filter's state, reviewer or owner, as far as the page.
    pub fn reviews(
        &self,
        filter: &ReviewFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<ReviewRow>, bool), StoreError> {
        self.page_of_reviews(Conditions::of(filter), "number", after, limit)
    }

    /// The reviews that changed behind a number, in the order in which they did, each as it is now; otherwise as
    /// [`StoredTasks::reviews`]. No change is ever seen before an earlier one.
    ///
    /// # Errors
    /// As [`StoredTasks::reviews`].
    pub fn reviews_changed(
        &self,
        filter: &ReviewFilter<'_>,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<ReviewRow>, bool), StoreError> {
        self.page_of_reviews(Conditions::of(filter), "changed", after, limit)
    }

    /// The number of the last change of any review; 0 before the first. One row.
    ///
    /// # Errors
    /// Those of the database.
    pub fn last_review_change(&self) -> Result<u64, StoreError> {
        self.review_mark(CHANGES)
    }

    /// How far somebody who passes changes of reviews on has come; 0 if they never said. One row.
    ///
    /// # Errors
    /// Those of the database.
    pub fn review_mark(&self, name: &str) -> Result<u64, StoreError> {
        let statement = "SELECT last FROM review_count WHERE name = $1";
        let found = self.database().read(|sql| sql.query_one(statement, &[name.into()]))?;
        found.map_or(Ok(0), |row| row.count(0))
    }

    /// Says how far somebody who passes changes of reviews on has come, if they were where they think; whether they were. So
    /// of several processes that pass the same changes on, one goes ahead.
    ///
    /// # Errors
    /// Those of the database; [`StoreError::NotStorable`] for the name of the count of changes itself.
    pub fn move_review_mark(&self, name: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        if name == CHANGES {
            return Err(StoreError::NotStorable(messages::OWN_COUNT));
        }
        let moved = self.database().write_rows(|sql| {
            let values = [name.into(), to.into()];
            if from == 0 {
                let made = "INSERT INTO review_count (name, last) VALUES ($1, $2) ON CONFLICT DO NOTHING";
                if sql.execute(made, &values)? == 1 {
                    return Ok(1);
                }
            }
            let moved = "UPDATE review_count SET last = $2 WHERE name = $1 AND last = $3";
            sql.execute(moved, &[&values[..], &[from.into()]].concat())
        })?;
        Ok(moved == 1)
    }

    /// A review, whoever owns its task; nothing if there is none. One row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    pub fn review(&self, id: &str) -> Result<Option<ReviewRow>, StoreError> {
        let statement = format!("SELECT {REVIEW} FROM review WHERE id = $1");
        let found = self.database().read(|sql| sql.query_one(&statement, &[id.into()]))?;
        found.as_ref().map(ReviewRow::read).transpose()
    }

    /// The reviews of a task that these of its events have opened or closed last.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    pub fn reviews_at(
        &self,
        owner: &Owner,
        task: &str,
        (first, last): (u64, u64),
    ) -> Result<Vec<ReviewRow>, StoreError> {
        let statement = format!(
            "SELECT {REVIEW} FROM review WHERE owner = $1 AND task = $2 AND version >= $3 AND version <= $4 \
             ORDER BY question"
        );
        let values = [owner.as_str().into(), task.into(), first.into(), last.into()];
        let rows = self.database().read(|sql| sql.query(&statement, &values))?;
        rows.iter().map(ReviewRow::read).collect()
    }

    /// The open reviews that were to be answered by a time and stand behind another in the order in which they expire, at most
    /// so many; and the last review that was looked at, behind which the next page begins. Nothing behind the last page.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], and those of the database.
    pub fn expired_reviews(
        &self,
        now: Timestamp,
        after: Option<&ReviewRow>,
        limit: usize,
    ) -> Result<Option<(Vec<ReviewRow>, ReviewRow)>, StoreError> {
        // texts of times differ in how they write fractions of a second, so their order is right to a second
        let soon = Timestamp::from_unix(now.seconds().saturating_add(1)).unwrap_or(now).to_string();
        let after = after.map(|row| (row.review.expires_at.as_deref().unwrap_or_default(), &*row.review.id));
        let (expires, id) = after.unwrap_or_default();
        let statement = format!(
            "SELECT {REVIEW} FROM review WHERE state = 'open' AND expires_at < $1 AND (expires_at, id) > ($2, $3) \
             ORDER BY expires_at, id LIMIT $4"
        );
        let values = [soon.into(), expires.into(), id.into(), self.page(limit)];
        let rows = self.database().read(|sql| sql.query(&statement, &values))?;
        let mut expired: Vec<ReviewRow> = rows.iter().map(ReviewRow::read).collect::<Result<_, _>>()?;
        let Some(last) = expired.last().cloned() else { return Ok(None) };
        expired.retain(|row| row.review.has_expired(now));
        Ok(Some((expired, last)))
    }

    fn page_of_reviews(
        &self,
        mut conditions: Conditions<'_>,
        order: &str,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<ReviewRow>, bool), StoreError> {
        let behind = conditions.value(after);
        conditions.texts.push(format!("{order} > {behind}"));
        let Conditions { texts, mut values } = conditions;
        let (place, texts) = (values.len().saturating_add(1), texts.join(" AND "));
        let lengths = format!(
            "SELECT CAST(OCTET_LENGTH(content) AS BIGINT) FROM review WHERE {texts} ORDER BY {order} LIMIT ${place}"
        );
        let rows = format!("SELECT {REVIEW} FROM review WHERE {texts} ORDER BY {order} LIMIT ${place}");
        let most = (limit as u64).min(self.limits().max_page.max(1) as u64);
        let max_bytes = self.limits().max_page_bytes as u64;
        values.push(most.saturating_add(1).into());
        self.database().read(|sql| {
            let (mut bytes, mut count) = (0_u64, 0_u64);
            let found = sql.query(&lengths, &values)?;
            for length in &found {
                bytes = bytes.saturating_add(length.count(0)?);
                if count >= most || (count > 0 && bytes > max_bytes) {
                    break;
                }
                count = count.saturating_add(1);
            }
            let mut values = values.clone();
            values.pop();
            values.push(count.into());
            let read = sql.query(&rows, &values)?;
            let read = read.iter().map(ReviewRow::read).collect::<Result<_, _>>()?;
            Ok((read, (found.len() as u64) > count))
        })
    }
}
