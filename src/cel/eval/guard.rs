//! Guards: the tests of a plan that only ask about values where they lie, made ready to be asked at once.
//!
//! Most clauses of a policy find a value at the end of a path (a variable, and the fields, keys and positions from there)
//! and ask one thing of it, with a constant. When a program is made, each such test becomes a closure that knows its path
//! and its question. It makes, keeps and explains nothing. If anything is out of the ordinary (a key that is not there, a
//! number where a text should be, a budget that is spent) it answers nothing and leaves no trace, and the test is run the
//! long way, step by step, which says what is wrong and where. So there is one meaning: a guard has no errors and no costs
//! of its own. Builds with assertions run both and compare.

use super::activation::Activation;
use crate::env::Slot;
use crate::meter::{Meter, text_units};
use crate::plan::{Clause, Node, NodeId, Plan, Question};
use crate::types::At;
use crate::value::{Guess, JsonRef, List, LiveRecord, Map, Value, View, same_bytes};
use std::fmt;

/// A test made ready: its truth, paid for, or nothing.
type Guard = Box<dyn Fn(&Variables<'_, '_>, &mut Meter<'_>) -> Option<bool> + Send + Sync>;

/// What paths begin at: the variables of the scope, and those of the loops around.
pub(super) struct Variables<'r, 'a> {
    pub(super) activation: &'r Activation<'a>,
    pub(super) locals: &'r [Value<'a>],
}

/// The guards of a plan, by the step that each of them is.
#[derive(Default)]
pub(crate) struct Guards(Box<[Option<Guard>]>);

impl Guards {
    /// Those of a plan: one for each test that is no part of a larger one.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut guards: Vec<Option<Guard>> = Vec::with_capacity(plan.nodes.len());
        for node in &plan.nodes {
            // operands stand before their operators
            let guard = match node {
                Node::Ask { operand, question } => question.guard(&plan.nodes, *operand),
                Node::And(clauses) => junction(clauses, false, &mut guards),
                Node::Or(clauses) => junction(clauses, true, &mut guards),
                Node::Not(operand) => take(&mut guards, *operand).map(negation),
                _ => None,
            };
            guards.push(guard);
        }
        Self(guards.into())
    }

    /// The answer of the guard that a step is, if it is one.
    #[inline(always)]
    pub(super) fn ask(
        &self,
        step: NodeId,
        variables: &Variables<'_, '_>,
        meter: &mut Meter<'_>,
    ) -> Option<bool> {
        let Some(Some(guard)) = self.0.get(step.0 as usize) else { return None };
        let left = meter.left();
        let answer = guard(variables, meter);
        if answer.is_none() {
            meter.take_back(left);
        }
        answer
    }

    /// About the bytes that they hold.
    pub(crate) fn heap_bytes(&self) -> usize {
        const EACH: usize = 128;
        let guards = self.0.iter().flatten().count();
        size_of_val(&*self.0).saturating_add(guards.saturating_mul(EACH))
    }
}

impl fmt::Debug for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} guards", self.0.iter().flatten().count())
    }
}

fn take(guards: &mut [Option<Guard>], step: NodeId) -> Option<Guard> {
    guards.get_mut(step.0 as usize)?.take()
}

fn negation(guard: Guard) -> Guard {
    Box::new(move |variables, meter| {
        let truth = guard(variables, meter)?;
        meter.take(1)?;
        Some(!truth)
    })
}

/// `&&` or `||` over guards. If one of the clauses is none, the others stay what they are.
fn junction(clauses: &[Clause], deciding: bool, guards: &mut [Option<Guard>]) -> Option<Guard> {
    let is_guard = |clause: &Clause| matches!(guards.get(clause.step.0 as usize), Some(Some(_)));
    if !clauses.iter().all(is_guard) {
        return None;
    }
    let clauses =
        clauses.iter().map(|clause| Some((u64::from(clause.operators), take(guards, clause.step)?)));
    let clauses: Box<[(u64, Guard)]> = clauses.collect::<Option<_>>()?;
    Some(Box::new(move |variables, meter| {
        meter.take(1)?;
        for (operators, guard) in &clauses {
            meter.take(*operators)?;
            if guard(variables, meter)? == deciding {
                return Some(deciding);
            }
        }
        Some(!deciding)
    }))
}

impl Question {
    /// The guard that asks it about the end of a path.
    fn guard(&self, nodes: &[Node], operand: NodeId) -> Option<Guard> {
        let (place, cost) = Place::of(nodes, operand)?;
        // the test is a step, and so was its constant
        let cost = cost.saturating_add(self.constants()).saturating_add(1);
        Some(match place {
            Place::Field(field) => self.about(field, cost),
            Place::Root(root) => self.about(root, cost),
            Place::Deep(deep) => self.about(deep, cost),
        })
    }

    fn about(&self, place: impl Find + 'static, cost: u64) -> Guard {
        match self.clone() {
            Self::Compare(comparison, bound) => {
                let (least, most) = comparison.range(bound);
                Box::new(move |variables, meter| {
                    let number = place.int(variables)?;
                    meter.take(cost)?;
                    Some(least <= number && number <= most)
                })
            }
            Self::Is(other) => {
                Box::new(move |variables, meter| is_text(place.text(variables)?, &other, cost, meter))
            }
            Self::IsNot(other) => Box::new(move |variables, meter| {
                is_text(place.text(variables)?, &other, cost, meter).map(|is| !is)
            }),
            Self::StartsWith(part) => {
                let cost = cost.saturating_add(text_units(part.len()));
                Box::new(move |variables, meter| {
                    let beginning = place.text(variables)?.as_bytes().get(..part.len());
                    meter.take(cost)?;
                    Some(beginning.is_some_and(|beginning| same_bytes(beginning, part.as_bytes())))
                })
            }
            Self::EndsWith(part) => {
                let cost = cost.saturating_add(text_units(part.len()));
                Box::new(move |variables, meter| {
                    let text = place.text(variables)?.as_bytes();
                    meter.take(cost)?;
                    let end = text.len().checked_sub(part.len()).and_then(|from| text.get(from..));
                    Some(end.is_some_and(|end| same_bytes(end, part.as_bytes())))
                })
            }
            Self::Size(comparison, bound) => Box::new(move |variables, meter| {
                let answer = comparison.of_length(place.text(variables)?, bound)?;
                meter.take(cost)?;
                Some(answer)
            }),
            Self::Matches(pattern) => Box::new(move |variables, meter| {
                let text = place.text(variables)?;
                meter.take(cost)?;
                pattern.is_match(meter, text).ok()
            }),
        }
    }
}

#[inline(always)]
fn is_text(text: &str, other: &str, cost: u64, meter: &mut Meter<'_>) -> Option<bool> {
    let same_length = text.len() == other.len();
    meter.take(if same_length { cost.saturating_add(text_units(other.len())) } else { cost })?;
    Some(same_length && same_bytes(text.as_bytes(), other.as_bytes()))
}

/// The end of a path.
enum Place {
    Field(Field),
    Root(Root),
    Deep(Deep),
}

/// How the end of a path is found, if a number or a text is there.
trait Find: Send + Sync {
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64>;
    fn text<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r str>;
}

/// A field of a host's structs.
#[derive(Clone, Copy)]
struct Field {
    root: Slot,
    part: Option<At>,
    field: usize,
}

/// A variable.
#[derive(Clone, Copy)]
enum Root {
    Scope(Slot),
    Loop(usize),
}

/// A part of a document.
struct Deep {
    begin: Begin,
    steps: Box<[Step]>,
}

/// Where a document is.
enum Begin {
    Variable(Root),
    /// At a position of a host's list.
    Item(Field, usize),
}

/// A step inside of a document.
enum Step {
    Key(Box<str>, Guess),
    Item(usize),
}

impl Place {
    /// The place that a step finds, and what finding it costs.
    fn of(nodes: &[Node], id: NodeId) -> Option<(Self, u64)> {
        let (mut id, mut cost, mut steps) = (id, 1_u64, Vec::new());
        let begin = loop {
            match nodes.get(id.0 as usize)? {
                &Node::Variable(slot) => break Begin::Variable(Root::Scope(slot)),
                Node::Local(local) => break Begin::Variable(Root::Loop(local.0 as usize)),
                &Node::Path { root, part, field } if steps.is_empty() => {
                    return Some((Self::Field(Field { root, part, field }), cost));
                }
                &Node::Path { root, part, field } => match steps.pop() {
                    Some(Step::Item(index)) => break Begin::Item(Field { root, part, field }, index),
                    _ => return None,
                },
                Node::Member { operand, key, .. } => {
                    cost = cost.saturating_add(text_units(key.len())).saturating_add(1);
                    steps.push(Step::Key(key.clone(), Guess::default()));
                    id = *operand;
                }
                Node::Index { operand, index } => {
                    let Node::Constant(Value::Int(index)) = nodes.get(index.0 as usize)? else { return None };
                    // the constant is a step too
                    cost = cost.saturating_add(2);
                    steps.push(Step::Item(usize::try_from(*index).ok()?));
                    id = *operand;
                }
                _ => return None,
            }
        };
        steps.reverse();
        Some(match begin {
            Begin::Variable(root) if steps.is_empty() => (Self::Root(root), cost),
            begin => (Self::Deep(Deep { begin, steps: steps.into() }), cost),
        })
    }
}

impl Field {
    /// The record that has it.
    #[inline(always)]
    fn record<'a>(self, variables: &Variables<'_, 'a>) -> Option<(&'a dyn LiveRecord, At)> {
        match variables.activation.get(self.root)? {
            Value::Map(Map::Live { of, at }) => Some((*of, self.part.unwrap_or(*at))),
            _ => None,
        }
    }
}

impl Find for Field {
    #[inline(always)]
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64> {
        let (of, at) = self.record(variables)?;
        of.int(at, self.field)
    }

    #[inline(always)]
    fn text<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r str> {
        let (of, at) = self.record(variables)?;
        of.text(at, self.field)
    }
}

impl Root {
    #[inline(always)]
    fn value<'r, 'a>(self, variables: &Variables<'r, 'a>) -> Option<&'r Value<'a>> {
        match self {
            Self::Scope(slot) => variables.activation.get(slot),
            Self::Loop(local) => variables.locals.get(local),
        }
    }
}

impl Find for Root {
    #[inline(always)]
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64> {
        match self.value(variables)? {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    #[inline(always)]
    fn text<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r str> {
        self.value(variables)?.as_str()
    }
}

impl Deep {
    #[inline(always)]
    fn json<'a>(&self, variables: &Variables<'_, 'a>) -> Option<JsonRef<'a>> {
        let mut json = match self.begin {
            Begin::Variable(root) => match root.value(variables)? {
                Value::Map(Map::Json(json)) | Value::List(List::Json(json)) => *json,
                _ => return None,
            },
            Begin::Item(list, index) => {
                let (of, at) = list.record(variables)?;
                let View::List { of, at } = of.field(at, list.field)? else { return None };
                let View::Json(json) = of.item(at, index)? else { return None };
                json
            }
        };
        for step in &self.steps {
            json = match step {
                Step::Key(key, guess) => json.get_near(key, guess)?,
                Step::Item(index) => json.item(*index)?,
            };
        }
        Some(json)
    }
}

impl Find for Deep {
    #[inline(always)]
    fn int(&self, variables: &Variables<'_, '_>) -> Option<i64> {
        self.json(variables)?.as_int()
    }

    #[inline(always)]
    fn text<'r>(&self, variables: &Variables<'r, '_>) -> Option<&'r str> {
        self.json(variables)?.as_str()
    }
}
