//! Switches of an operator in a store, for all servers that share it.
//!
//! In: turns of switches, each with who, when and why. Out: those that are on, and the history of all turns, which nothing
//! shortens. A turn's digest covers the turn before it, as with the events of a task. The number of the last turn is the
//! version of the whole: a step that was decided under another one is not stored (see [`StoredTasks::append_under`]).
//!
//! [`StoredTasks::append_under`]: super::StoredTasks::append_under

use super::tombstones::check_reason;
use crate::StoreLimits;
use crate::row_digest::digest;
use crate::{Database, Row, Sql, SqlValue, StoreError, messages};
use celador::cel::Timestamp;
use celador::task::Switch;
use std::collections::BTreeMap;

/// The columns of `switch_turn`, in the order in which [`SwitchTurn::read`] takes them.
const TURN: &str = "number, at, who, turned, subject, reason, chain";

/// One turn of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchTurn {
    /// Its number among all turns, from 1.
    pub number: u64,
    /// When: RFC 3339.
    pub at: String,
    /// Who, as authentication or the command line has it.
    pub who: String,
    /// On, or off.
    pub on: bool,
    /// The target that it stops.
    pub switch: Switch,
    /// Why.
    pub reason: String,
}

/// The switches that are on at one moment.
///
/// ```
/// use celador::task::Switch;
/// use celador_store::{Database, Location, StoreLimits, StoredSwitches, SwitchTurn, SwitchesOn};
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
/// # let limits = StoreLimits::default();
/// # let switches = StoredSwitches::new(Database::open(&Location::Memory, &limits)?, &limits);
///
/// let refund = Switch::Tool { namespace: "shop".into(), name: "refund".into(), function: None };
/// let payout = Switch::Tool { namespace: "shop".into(), name: "payout".into(), function: None };
/// switches.turn(&refund, true, now, "kim", "The provider pays twice.")?;
/// switches.turn(&payout, true, now, "kim", "The same provider.")?;
/// switches.turn(&refund, false, now, "max", "The provider has repaired it.")?;
///
/// // a server asks for the version alone, and reads the switches when it is another than it knows
/// let known = 2;
/// assert!(switches.version()? > known);
/// let SwitchesOn { version, on } = switches.on()?;
/// assert_eq!((version, on.len(), &on[0].switch), (3, 1, &payout));
///
/// // whoever asks later who turned what off, and why
/// let history: Vec<SwitchTurn> = switches.history(known, 100)?;
/// let SwitchTurn { number, who, on, switch, reason, .. } = &history[0];
/// assert_eq!((*number, &**who, *on, switch), (3, "max", false, &refund));
/// assert_eq!(reason, "The provider has repaired it.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchesOn {
    /// The number of the last turn; 0 before the first.
    pub version: u64,
    /// The turns that put them on, in the order of their numbers.
    pub on: Vec<SwitchTurn>,
}

/// The switches of a database. Clones share it.
///
/// ```
/// use celador::task::Switch;
/// use celador_store::{Database, Location, StoreLimits, StoredSwitches};
/// # let now: celador::Timestamp = "2026-06-01T12:00:00Z".parse()?;
///
/// let limits = StoreLimits::default();
/// let switches = StoredSwitches::new(Database::open(&Location::Memory, &limits)?, &limits);
/// let refunds = Switch::Tool { namespace: "shop".into(), name: "refund".into(), function: None };
/// let turn = switches.turn(&refunds, true, now, "kim", "The provider pays twice.")?;
/// assert_eq!(turn.number, 1);
/// assert_eq!(switches.on()?.on[0].switch, refunds);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredSwitches {
    database: Database,
    limits: StoreLimits,
}

impl StoredSwitches {
    /// The switches of a database.
    #[must_use]
    pub fn new(database: Database, limits: &StoreLimits) -> Self {
        Self { database, limits: *limits }
    }

    /// Turns a switch on or off; in force for every step that begins after this has returned.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] for one to be turned off that is not on, [`StoreError::NotStorable`] for a reason that is
    /// empty or longer than `max_reason_bytes`, and those of the database.
    pub fn turn(
        &self,
        switch: &Switch,
        on: bool,
        at: Timestamp,
        who: &str,
        reason: &str,
    ) -> Result<SwitchTurn, StoreError> {
        check_reason(reason, self.limits.engine.max_reason_bytes)?;
        let subject =
            serde_json::to_string(switch).map_err(|_| StoreError::NotStorable(messages::NOT_JSON))?;
        let (at, turned) = (at.to_string(), word(on));
        self.database.write(|sql| {
            let turns = all(sql)?;
            if !on && !present(&turns).iter().any(|turn| turn.switch == *switch) {
                return Err(StoreError::NotFound);
            }
            let (last, before) = turns.last().map_or((0, ""), |(turn, chain)| (turn.number, chain));
            let number = last.saturating_add(1);
            let chain = link(before, number, [&at, who, turned, &subject, reason]);
            let values: [SqlValue<'_>; 7] = [
                number.into(),
                (&at).into(),
                who.into(),
                turned.into(),
                (&subject).into(),
                reason.into(),
                (&chain).into(),
            ];
            sql.execute(
                &format!("INSERT INTO switch_turn ({TURN}) VALUES ($1, $2, $3, $4, $5, $6, $7)"),
                &values,
            )?;
            let (at, who, reason) = (at.clone(), who.to_owned(), reason.to_owned());
            Ok(SwitchTurn { number, at, who, on, switch: switch.clone(), reason })
        })
    }

    /// The switches that are on. Linear in all turns; [`StoredSwitches::version`] says whether there was one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a turn is damaged, and those of the database.
    pub fn on(&self) -> Result<SwitchesOn, StoreError> {
        self.database.read(|sql| {
            let turns = all(sql)?;
            let version = turns.last().map_or(0, |(turn, _)| turn.number);
            Ok(SwitchesOn { version, on: present(&turns) })
        })
    }

    /// The turns behind a number, oldest first, at most so many and at most `max_page`.
    ///
    /// # Errors
    /// As [`StoredSwitches::on`].
    pub fn history(&self, after: u64, limit: usize) -> Result<Vec<SwitchTurn>, StoreError> {
        let most = limit.min(self.limits.max_page.max(1));
        let turns = self.database.read(all)?;
        Ok(turns.into_iter().map(|(turn, _)| turn).filter(|turn| turn.number > after).take(most).collect())
    }

    /// The number of the last turn. One row.
    ///
    /// # Errors
    /// Those of the database.
    pub fn version(&self) -> Result<u64, StoreError> {
        self.database.read(version)
    }
}

/// The number of the last turn.
pub(super) fn version(sql: &mut Sql<'_>) -> Result<u64, StoreError> {
    let last = sql.query_one("SELECT number FROM switch_turn ORDER BY number DESC LIMIT 1", &[])?;
    last.map_or(Ok(0), |row| row.count(0))
}

const fn word(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn link(before: &str, number: u64, [at, who, turned, subject, reason]: [&str; 5]) -> String {
    digest(&[before, &number.to_string(), at, who, turned, subject, reason])
}

/// All turns with their digests, each held against its own.
pub(super) fn all(sql: &mut Sql<'_>) -> Result<Vec<(SwitchTurn, String)>, StoreError> {
    let rows = sql.query(&format!("SELECT {TURN} FROM switch_turn ORDER BY number"), &[])?;
    let mut turns: Vec<(SwitchTurn, String)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let before = turns.last().map_or("", |(_, chain)| chain);
        let number = (turns.len() as u64).saturating_add(1);
        turns.push(SwitchTurn::read(row, number, before)?);
    }
    Ok(turns)
}

impl SwitchTurn {
    fn read(row: &Row, number: u64, before: &str) -> Result<(Self, String), StoreError> {
        let altered = || StoreError::Corrupt(messages::altered_turn(number));
        let [at, who, turned, subject, reason] =
            [row.text(1)?, row.text(2)?, row.text(3)?, row.text(4)?, row.text(5)?];
        let chain = link(before, number, [at, who, turned, subject, reason]);
        if row.count(0)? != number || row.text(6)? != chain {
            return Err(altered());
        }
        let switch = serde_json::from_str(subject).map_err(|_| altered())?;
        let (at, who, reason) = (at.to_owned(), who.to_owned(), reason.to_owned());
        Ok((Self { number, at, who, on: turned == word(true), switch, reason }, chain))
    }
}

/// Of all turns those that put a switch on which is on now.
fn present(turns: &[(SwitchTurn, String)]) -> Vec<SwitchTurn> {
    let mut on: BTreeMap<&Switch, &SwitchTurn> = BTreeMap::new();
    for (turn, _) in turns {
        if turn.on {
            on.insert(&turn.switch, turn);
        } else {
            on.remove(&turn.switch);
        }
    }
    let mut on: Vec<SwitchTurn> = on.into_values().cloned().collect();
    on.sort_by_key(|turn| turn.number);
    on
}
