//! Switches of an operator, as plain data and one table that all tasks of an engine share.
//!
//! In: what is to stop. Out: the first switch that is on and stops something. One look costs nothing while no switch is on.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A target that an operator stops: an agent, a tool or one of its actions, or a user.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", try_from = "Written")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!try_from, deny_unknown_fields))]
pub enum Switch {
    /// All tasks of an agent, and delegations to it.
    Agent {
        /// The agent's namespace.
        namespace: String,
        /// The agent's name.
        name: String,
    },
    /// A tool, whichever agent calls it, and its events.
    Tool {
        /// The tool's namespace.
        namespace: String,
        /// The tool's name, as its manifest has it.
        name: String,
        /// One of its actions, by its name or by the name that the model calls; without it all of them are stopped.
        #[serde(skip_serializing_if = "Option::is_none")]
        function: Option<String>,
    },
    /// All tasks that run for a user.
    User {
        /// The user's id: `context.user.id`.
        name: String,
    },
}

/// The members of each kind in one object, as they come.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: Kind,
    namespace: Option<String>,
    name: String,
    function: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Agent,
    Tool,
    User,
}

impl TryFrom<Written> for Switch {
    type Error = &'static str;

    fn try_from(Written { kind, namespace, name, function }: Written) -> Result<Self, &'static str> {
        match (kind, namespace, function) {
            (Kind::Agent, Some(namespace), None) => Ok(Self::Agent { namespace, name }),
            (Kind::Tool, Some(namespace), function) => Ok(Self::Tool { namespace, name, function }),
            (Kind::User, None, None) => Ok(Self::User { name }),
            (Kind::Agent, ..) => Err("expected `namespace` and `name` of an agent"),
            (Kind::Tool, ..) => Err("expected `namespace`, `name` and perhaps `function` of a tool"),
            (Kind::User, ..) => Err("expected `name` of a user"),
        }
    }
}

impl Switch {
    /// The length of its names together, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let names = match self {
            Self::Agent { namespace, name } => [&**namespace, name, ""],
            Self::Tool { namespace, name, function } => {
                [&**namespace, name, function.as_deref().unwrap_or_default()]
            }
            Self::User { name } => [&**name, "", ""],
        };
        names.into_iter().fold(0, |bytes, name| bytes.saturating_add(name.len()))
    }
}

impl fmt::Display for Switch {
    /// As a person reads it, such as: the tool `shop/refund`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent { namespace, name } => write!(f, "the agent `{namespace}/{name}`"),
            Self::Tool { namespace, name, function: None } => write!(f, "the tool `{namespace}/{name}`"),
            Self::Tool { namespace, name, function: Some(function) } => {
                write!(f, "the function `{function}` of the tool `{namespace}/{name}`")
            }
            Self::User { name } => write!(f, "the user `{name}`"),
        }
    }
}

/// The switches that are on. Clones are handles of one table.
///
/// ```
/// use celador::task::{Switch, Switches};
///
/// // those of an engine are `engine.switches()`
/// let switches = Switches::default();
/// let refunds = Switch::Tool { namespace: "shop".into(), name: "refund".into(), function: None };
/// assert!(switches.turn_on(refunds.clone()));
/// assert_eq!(switches.on(), [refunds.clone()]);
/// assert!(switches.turn_off(&refunds));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Switches(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    /// Whether any switch is on. Each step looks here first, so that no lock is taken while all are off.
    any: AtomicBool,
    version: AtomicU64,
    on: RwLock<BTreeSet<Switch>>,
}

impl Switches {
    /// Turns one on, from the next step of every task on. False if it was on.
    pub fn turn_on(&self, switch: Switch) -> bool {
        self.change(|on| on.insert(switch))
    }

    /// Turns one off. False if it was not on.
    pub fn turn_off(&self, switch: &Switch) -> bool {
        self.change(|on| on.remove(switch))
    }

    /// Puts other switches in the place of all, as of a version of a table that several processes share.
    pub fn replace(&self, switches: impl IntoIterator<Item = Switch>, version: u64) {
        let switches: BTreeSet<Switch> = switches.into_iter().collect();
        self.change(|on| {
            // of two that read the shared table at once, the later reading stays
            if version < self.version() {
                return;
            }
            *on = switches;
            // a step that reads this version finds at least these switches
            self.0.version.store(version, Ordering::Release);
        });
    }

    /// The version that [`Switches::replace`] was given last; 0 before.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    /// Those that are on, in their order.
    #[must_use]
    pub fn on(&self) -> Vec<Switch> {
        self.0.on.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<Switch>) -> T) -> T {
        // nothing panics while it is held, so what a poisoned lock holds is whole
        let mut on = self.0.on.write().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut on);
        self.0.any.store(!on.is_empty(), Ordering::Release);
        changed
    }

    /// The first that is on and stops this.
    pub(in crate::task) fn find(&self, stops: impl Fn(&Switch) -> bool) -> Option<Switch> {
        if !self.0.any.load(Ordering::Acquire) {
            return None;
        }
        self.0.on.read().unwrap_or_else(PoisonError::into_inner).iter().find(|switch| stops(switch)).cloned()
    }
}
