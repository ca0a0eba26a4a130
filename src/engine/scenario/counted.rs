//! Counters of a case or a recorded task: what they hold at the beginning, and what is expected of them.
//!
//! In: `counters`, by the name of each: a number, or numbers by key. Out: a book that holds them, and what a book holds. A
//! number alone is that of the counter without a key, or for the user of the task. Where several policies have a counter of
//! one name, `acme/payments#spend` says which.

use super::messages;
use crate::cel::{Json, Timestamp, Value};
use crate::counter::{AmountError, CounterBook, CounterChanges, CounterId, Decimal, Reservation};
use crate::diagnostic::Diagnostic;
use crate::manifest::counter::Decrease;
use crate::manifest::fields::Key;
use crate::manifest::node::{Data, Node};
use crate::manifest::reader::{Path, Reader};
use crate::manifest::shape::{ByName, shape};
use crate::policy::Counter;
use crate::source::Embedded;
use crate::task::Task;
use serde_json::json;

/// An amount, by the name of its counter and its key.
#[derive(Clone, Debug)]
pub struct CountedAmount {
    /// The name, as written.
    pub name: Embedded,
    /// The key; nothing for the counter without a key, or that of the user.
    pub key: Option<Embedded>,
    /// The amount.
    pub amount: Decimal,
}

shape! {
    /// A number, or numbers by key.
    pub(super) Counted = |_| {
        let number = json!({ "type": "number" });
        json!({ "anyOf": [number, { "type": "object", "additionalProperties": number }] })
    };
}

impl Key<'_, '_, ByName<Counted>> {
    /// The amounts, by counter and key.
    pub(super) fn counted(&self, reader: &mut Reader) -> Vec<CountedAmount> {
        let Some(field) = self.get() else { return Vec::new() };
        read_counted(field.node, &field.path, reader)
    }
}

/// The amounts of a mapping.
pub(super) fn read_counted(node: &Node, path: &Path, reader: &mut Reader) -> Vec<CountedAmount> {
    let mut all = Vec::new();
    for entry in reader.mapping(node, path).unwrap_or_default() {
        let (path, name) = (path.key(&entry.key.text), &entry.key);
        if entry.value.as_mapping().is_none() {
            let amount = amount(&entry.value, &path, reader);
            all.extend(amount.map(|amount| CountedAmount { name: name.clone(), key: None, amount }));
            continue;
        }
        for keyed in reader.mapping(&entry.value, &path).unwrap_or_default() {
            let amount = amount(&keyed.value, &path.key(&keyed.key.text), reader);
            let key = Some(keyed.key.clone());
            all.extend(amount.map(|amount| CountedAmount { name: name.clone(), key, amount }));
        }
    }
    all
}

fn amount(node: &Node, path: &Path, reader: &mut Reader) -> Option<Decimal> {
    let amount = match Json::from(&node.to_json()).value() {
        _ if node.as_string().is_some() || matches!(node.data, Data::Bool(_)) => Err(AmountError::NotDecimal),
        Value::Int(number) => Decimal::from_int(number),
        Value::Double(number) => Decimal::from_double(number),
        _ => Err(AmountError::NotDecimal),
    };
    match amount {
        Ok(amount) => Some(amount),
        Err(why) => {
            reader.report(path, messages::no_amount(&node.place, why));
            None
        }
    }
}

impl CountedAmount {
    /// The key of the case that it stands under: `counters.spend`, `counters.spend.u-7`.
    pub(super) fn called(&self) -> String {
        let key = self.key.as_ref().map(|key| format!(".{}", key.text)).unwrap_or_default();
        format!("counters.{}{key}", self.name.text)
    }

    /// The counters of a task that it may be about.
    fn counters<'t>(&self, task: &'t Task) -> impl Iterator<Item = &'t Counter> {
        let (policy, name) = match self.name.text.rsplit_once('#') {
            Some((policy, name)) => (Some(policy.to_owned()), name.to_owned()),
            None => (None, self.name.text.to_string()),
        };
        task.policy().counters().iter().filter(move |counter| {
            *counter.name == *name && policy.as_ref().is_none_or(|policy| *counter.policy == **policy)
        })
    }

    /// The only counter that it can be about.
    fn counter<'t>(&self, task: &'t Task) -> Option<&'t Counter> {
        let mut all = self.counters(task);
        all.next().filter(|_| all.next().is_none())
    }

    /// The finding about a counter that the task does not have, or has several of.
    fn unknown(&self, task: &Task) -> Diagnostic {
        let counters = task.policy().counters().iter();
        let known: Vec<String> =
            counters.map(|counter| format!("{}#{}", counter.policy, counter.name)).collect();
        messages::no_counter(&self.name, &known)
    }

    /// The counter itself.
    fn id(&self, counter: &Counter, task: &Task) -> CounterId {
        let (user, root) = (task.context().user().0, task.tree_root());
        let key = match &self.key {
            Some(key) => &*key.text,
            None if counter.has_key() => user,
            None => return counter.id_of(root, None),
        };
        counter.id_of(root, Some(key))
    }

    /// The amount that a book holds of the same counter; nothing if the task knows no such counter, or several.
    pub(super) fn found(&self, task: &Task, book: &CounterBook, now: Timestamp) -> Option<Decimal> {
        let counter = self.counter(task)?;
        let id = self.id(counter, task);
        Some(counter.read(&book.read(&id), now))
    }
}

/// A book in which these amounts count at a time.
///
/// # Errors
/// The name of a counter that the task does not know, or knows several of.
pub(super) fn book_of(
    start: &[CountedAmount],
    task: &Task,
    now: Timestamp,
) -> Result<CounterBook, Box<Diagnostic>> {
    let mut book = CounterBook::default();
    let mut changes = CounterChanges::default();
    for counted in start {
        let counter = counted.counter(task).ok_or_else(|| counted.unknown(task))?;
        let (id, call) = (counted.id(counter, task), String::new());
        let amount = counted.amount;
        if amount.is_negative() && counter.decrease != Decrease::BelowZero {
            return Err(Box::new(messages::counter_below_zero(&counted.name)));
        }
        changes.spend.push(Reservation { counter: id, window: counter.window, call, amount });
    }
    // nobody has read anything of a new book, so nothing stands in the way
    let _ = book.apply("", &changes, now);
    Ok(book)
}
