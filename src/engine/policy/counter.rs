//! Counters of policy documents, compiled: which of them a call reads, under which keys, and what it adds.
//!
//! In: the arguments of a call or what is sent to the model, and the context of the task. Out: for each counter that the call needs its
//! id and the amount that the call would add, or why there is none: then the call is refused, for a guard has failed. Linear in
//! the counters of the function or of the model, times what their expressions cost.

use super::expression::Expression;
use super::messages;
use super::origin::Origin;
use super::read_path::for_each_path;
use super::step::Step;
use super::template::{PathStep, Placeholder};
use crate::cel::{ErrorCode, Expr, Json, Stop, Timestamp, Type, Value};
use crate::context::{Activations, Root, Selector};
use crate::counter::{Amount, AmountError, CounterId, CounterState, CounterWindow, Decimal};
use crate::manifest::counter::{CounterScope, Decrease};
use std::sync::Arc;

/// What reads counters and adds to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterReader {
    /// A call of the function at this position.
    Function(usize),
    /// A call of the model.
    Model,
}

/// What the calls of the model are to a counter.
#[derive(Debug, Default)]
pub(super) struct CountedModel {
    /// Whether a step ahead of them reads the counter, or they add to it.
    pub(super) is_needed: bool,
    /// Whether something is decided about them by it.
    pub(super) is_deciding: bool,
    /// The key, with what is sent to the model as its input.
    pub(super) key: Option<Expression>,
    /// How much a call of the model adds; nothing if it adds nothing.
    pub(super) add: Option<Expression>,
}

/// A counter of a policy, compiled for one agent.
#[derive(Debug)]
pub struct Counter {
    /// The policy that declares it: namespace and name.
    pub policy: Arc<str>,
    /// Its name there.
    pub name: Arc<str>,
    /// The policy as stores know it. One that is only tried out counts under a name of its own, so what it counts is in no counter by
    /// which anything is decided, before or after it is enforced.
    pub book: Arc<str>,
    /// The time that it looks at.
    pub window: CounterWindow,
    /// Whether what counts may be made of secrets of the manifests: the amounts of calls, or the key.
    pub is_secret: bool,
    /// Whether its policy is only tried out.
    pub is_observed: bool,
    /// Whether its key may be a secret, which then goes by its digest.
    pub(super) has_secret_key: bool,
    /// The functions whose calls something is decided about by it, by position; for the others it is read for observed steps alone.
    pub(super) deciding: Box<[usize]>,
    /// The functions whose calls add to it, by position.
    pub(super) functions: Box<[usize]>,
    /// Whether it is declared with a key, also where no call of the agent needs it.
    pub(super) has_key: bool,
    pub(super) key: Option<Expression>,
    pub(super) add: Option<Expression>,
    /// The same of the calls of the model.
    pub(super) model: CountedModel,
    /// Whether it holds whole numbers; nothing where the amounts at run time say so.
    pub(super) is_whole: Option<bool>,
    /// Whether calls can lower it.
    pub decrease: Decrease,
    /// Whose calls add to it.
    pub scope: CounterScope,
    pub(super) origin: Origin,
}

/// What a counter adds, compiled ahead of the steps.
#[derive(Debug)]
pub(super) struct Added {
    /// What a call of a function adds; nothing if that is 1, or if none does.
    pub(super) by_calls: Option<Expression>,
    /// What a call of the model adds, if it does.
    pub(super) by_model: Option<Expression>,
    /// The type of the counter.
    pub(super) ty: Type,
}

/// A counter as one call needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct NeededCounter {
    /// The counter.
    pub id: CounterId,
    /// How much the call adds; nothing if it only reads it.
    pub add: Option<Decimal>,
    /// Whether expressions read it as a whole number.
    pub is_whole: bool,
}

/// Why a call has no key or no amount for a counter: an expression failed, or gave something else. It holds no value.
#[derive(Clone, Debug)]
pub struct CounterFault {
    /// A stable word for programs.
    pub code: &'static str,
    /// One line.
    pub message: String,
    /// The expression.
    pub origin: Origin,
}

/// The counters of the policies that are for an agent.
#[derive(Debug, Default)]
pub struct Counters {
    /// All of them that a step reads.
    pub(super) all: Vec<Counter>,
    /// By function: the positions of those that its steps read and that its calls add to.
    pub(super) by_function: Vec<Vec<usize>>,
    /// The positions of those that steps ahead of calls of the model read, or that these add to.
    pub(super) by_model: Vec<usize>,
}

impl Counters {
    /// The counters that such a call reads or adds to.
    pub fn of(&self, reader: CounterReader) -> impl Iterator<Item = &Counter> {
        let positions = match reader {
            CounterReader::Function(function) => self.by_function.get(function),
            CounterReader::Model => Some(&self.by_model),
        };
        positions.map_or(&[][..], Vec::as_slice).iter().filter_map(|at| self.all.get(*at))
    }

    /// The counters that calls of the model add to.
    pub fn fed_by_model(&self) -> impl Iterator<Item = &Counter> {
        self.of(CounterReader::Model).filter(|counter| counter.model.add.is_some())
    }

    /// A counter by its policy and its name.
    #[must_use]
    pub fn get(&self, policy: &str, name: &str) -> Option<&Counter> {
        self.all.iter().find(|counter| *counter.policy == *policy && *counter.name == *name)
    }

    /// The one that a counter of a task is of.
    #[must_use]
    pub fn declared(&self, counter: &CounterId) -> Option<&Counter> {
        self.all
            .iter()
            .find(|declared| *declared.book == *counter.policy() && *declared.name == *counter.name())
    }

    /// All counters that a step reads.
    pub fn iter(&self) -> impl Iterator<Item = &Counter> {
        self.all.iter()
    }

    /// Whether a step reads a counter that may be made of secrets with this expression.
    #[must_use]
    pub fn show_secret(&self, step: &Step, expression: &Expr) -> bool {
        let mut shows = false;
        if self.all.iter().any(|counter| counter.is_secret) {
            for_each_path(expression, &mut |root, path| {
                let name = match path.first() {
                    Some(Selector::Name(name)) => Some(&**name),
                    _ => None,
                };
                shows |= root == Root::Counters.name() && self.is_secret(step, name);
            });
        }
        shows
    }

    /// Whether a step shows a counter that may be made of secrets at the end of this path.
    #[must_use]
    pub fn show_secret_path(&self, step: &Step, placeholder: &Placeholder) -> bool {
        let name = match placeholder.path.first() {
            Some(PathStep::Key(name)) => Some(&**name),
            _ => None,
        };
        *placeholder.root == *Root::Counters.name() && self.is_secret(step, name)
    }

    /// Whether a counter of the step's policy may be made of secrets: the one of this name, or any.
    fn is_secret(&self, step: &Step, name: Option<&str>) -> bool {
        let mut own = self.all.iter().filter(|counter| counter.is_of_policy_of(step));
        own.any(|counter| counter.is_secret && name.is_none_or(|name| *counter.name == *name))
    }

    /// The expressions of all counters.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.all.iter().flat_map(Counter::expressions)
    }
}

impl Counter {
    /// All of its expressions.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.expressions_of_calls().chain(self.expressions_of_model())
    }

    /// Of its key and what it adds for calls of functions.
    pub(super) fn expressions_of_calls(&self) -> impl Iterator<Item = &Expression> {
        self.key.iter().chain(&self.add)
    }

    /// The key, for calls of functions.
    #[must_use]
    pub fn key(&self) -> Option<&Expression> {
        self.key.as_ref()
    }

    /// How much a call of a function adds, if it is computed.
    #[must_use]
    pub fn added_by(&self, function: usize) -> Option<&Expression> {
        self.add.as_ref().filter(|_| self.functions.contains(&function))
    }

    /// Of its key and what it adds for calls of the model.
    pub(super) fn expressions_of_model(&self) -> impl Iterator<Item = &Expression> {
        self.model.key.iter().chain(&self.model.add)
    }

    /// The counter as such a call needs it, and what it cost to find out, in cost units. `root` is the first task of the call's tree.
    ///
    /// # Errors
    /// [`CounterFault`]: the call is refused.
    pub fn needed<'a>(
        &'a self,
        reader: CounterReader,
        root: &str,
        values: &mut Activations<'a>,
    ) -> (Result<NeededCounter, CounterFault>, u64) {
        let mut cost = 0;
        let needed = self.needed_at(reader, root, values, &mut cost);
        (needed, cost)
    }

    fn needed_at<'a>(
        &'a self,
        reader: CounterReader,
        root: &str,
        values: &mut Activations<'a>,
        cost: &mut u64,
    ) -> Result<NeededCounter, CounterFault> {
        let (key, add, adds_one) = match reader {
            CounterReader::Function(function) if self.functions.contains(&function) => {
                (&self.key, self.add.as_ref(), self.add.is_none())
            }
            CounterReader::Function(_) => (&self.key, None, false),
            CounterReader::Model => (&self.model.key, self.model.add.as_ref(), false),
        };
        let id = match key {
            None => self.id_of(root, None),
            Some(key) => match evaluate(key, values, cost)? {
                Value::String(text) => self.id_of(root, Some(&text)),
                other => {
                    let message = messages::key_of_kind(&self.name, other.kind());
                    return Err(CounterFault { code: "bad_counter_key", message, origin: key.origin() });
                }
            },
        };
        let whole = |otherwise: bool| self.is_whole.unwrap_or(otherwise);
        let Some(add) = add else {
            let one = adds_one.then(|| Amount::from_uint(1).unwrap_or_default().into());
            return Ok(NeededCounter { id, add: one, is_whole: whole(true) });
        };
        let (amount, is_whole) = match evaluate(add, values, cost)? {
            Value::Int(number) => (Decimal::from_int(number), true),
            Value::UInt(number) => (Amount::from_uint(number).map(Decimal::from), true),
            Value::Double(number) => (Decimal::from_double(number), false),
            other => {
                let message = messages::amount_of_kind(&self.name, other.kind());
                return Err(CounterFault { code: "bad_counter_amount", message, origin: add.origin() });
            }
        };
        let may_lower = self.decrease != Decrease::None && reader != CounterReader::Model;
        let allowed = |amount: Decimal| match amount.is_negative() && !may_lower {
            true => Err(AmountError::Negative),
            false => Ok(amount),
        };
        let amount = amount.and_then(allowed).map_err(|why| CounterFault {
            code: "bad_counter_amount",
            message: messages::no_amount(&self.name, why),
            origin: add.origin(),
        })?;
        Ok(NeededCounter { id, add: Some(amount), is_whole: whole(is_whole) })
    }

    /// Whether a step is of the same policy.
    #[must_use]
    pub fn is_of_policy_of(&self, step: &Step) -> bool {
        match (&self.origin.policy, &step.name) {
            (Some(policy), Some(step)) => policy.name == step.name && policy.uses == step.uses,
            _ => false,
        }
    }

    /// The counter itself, for the first task of a tree and a text of its key. That of a tree goes by both: a list, as no other key is.
    #[must_use]
    pub fn id_of(&self, root: &str, key: Option<&str>) -> CounterId {
        let key: Option<Json> = match self.scope {
            CounterScope::Caller => key.map(Json::string),
            CounterScope::Tree => match key {
                None => Some(serde_json::json!([root]).into()),
                Some(key) => Some(serde_json::json!([root, key]).into()),
            },
        };
        match key {
            None => CounterId::new(&self.book, &self.name, ""),
            Some(key) if self.has_secret_key => CounterId::hidden(&self.book, &self.name, &key),
            Some(key) => CounterId::keyed(&self.book, &self.name, &key),
        }
    }

    /// Whether something is decided by it about such calls. Where it is not, nothing that is wrong with it stops a call.
    #[must_use]
    pub fn decides(&self, reader: CounterReader) -> bool {
        match reader {
            CounterReader::Function(function) => self.deciding.contains(&function),
            CounterReader::Model => self.model.is_deciding,
        }
    }

    /// What counts of it.
    #[must_use]
    pub fn read(&self, state: &CounterState, now: Timestamp) -> Decimal {
        counted(state, self.window, self.decrease == Decrease::BelowZero, now)
    }

    /// Whether there is one for each value of a key.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.has_key
    }

    /// Where it stands.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// What counts of a counter in its window.
pub(crate) fn counted(
    state: &CounterState,
    window: CounterWindow,
    is_below_zero: bool,
    now: Timestamp,
) -> Decimal {
    if is_below_zero { state.balance(window, now) } else { state.counted(window, now).into() }
}

fn evaluate<'a>(
    expression: &'a Expression,
    values: &mut Activations<'a>,
    cost: &mut u64,
) -> Result<Value<'a>, CounterFault> {
    let (result, spent) = expression.run_metered(values, None);
    *cost = cost.saturating_add(spent);
    result.map_err(|stop| {
        // the scope of conditions has no function that asks
        let failed = |stop| if let Stop::Failed(error) = stop { Some(error) } else { None };
        let nobody = || failed(expression.failure(ErrorCode::HostFailed.into()));
        let error = failed(stop).or_else(nobody);
        CounterFault {
            code: error.as_ref().map_or(ErrorCode::HostFailed, |error| error.code).as_str(),
            message: error.as_ref().map(ToString::to_string).unwrap_or_default(),
            origin: error.map_or_else(|| expression.origin(), |error| expression.origin_of(error.span)),
        }
    })
}
