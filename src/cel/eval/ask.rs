//! Questions: a value is found where it lies and asked one thing, without a step in between that makes something.
//!
//! Most of what is asked about stands at the end of a path: a variable, and the fields, keys and positions from there.
//! Such a path is first gone quickly, for the number or the text that the question is about, and nothing is made, kept or
//! explained on the way. If anything is out of the ordinary (a key that is not there, a number where a text should be, a
//! budget that is spent), that leaves no trace, and the question is asked the long way, step by step, which says what is
//! wrong and where. So there is one meaning: the quick way has no errors and no costs of its own.

use super::activation::Activation;
use super::evaluator::{Evaluator, compare};
use crate::cel::env::Slot;
use crate::cel::fault::Fault;
use crate::cel::meter::{Meter, text_units};
use crate::cel::plan::{Ask, Node, NodeId, Question};
use crate::cel::types::{At, Kind};
use crate::cel::value::{JsonRef, List, LiveRecord, Map, Value, View, same_bytes};

impl<'a> Evaluator<'a, '_, '_> {
    /// The answer to a question about the value of a step.
    #[inline(always)]
    pub(super) fn ask(&mut self, id: NodeId, ask: &'a Ask) -> Option<bool> {
        let paths = Paths { nodes: self.nodes, activation: self.activation, locals: self.locals };
        match paths.answer(ask, &mut self.progress.meter) {
            Some(answer) => Some(answer),
            None => self.ask_at_length(id, ask),
        }
    }

    #[inline(never)]
    fn ask_at_length(&mut self, id: NodeId, ask: &'a Ask) -> Option<bool> {
        self.with(ask.operand, |progress, of| {
            let answer = ask.question.of(of, &mut progress.meter);
            progress.at(id, answer)
        })
    }
}

/// Where paths begin, and what they go through.
struct Paths<'a, 'r> {
    nodes: &'a [Node],
    activation: &'r Activation<'a>,
    locals: &'r [Value<'a>],
}

impl<'a, 'r> Paths<'a, 'r> {
    /// The answer to a question about the end of a path, paid for; nothing if it is not plain.
    #[inline(always)]
    fn answer(&self, ask: &Ask, meter: &mut Meter<'_>) -> Option<bool> {
        let cost = ask.cost?.get().into();
        let operand = self.nodes.get(ask.operand.0 as usize)?;
        match &ask.question {
            Question::Compare(comparison, bound) => {
                let number = self.int(operand)?;
                meter.take(cost)?;
                Some(comparison.of_ints(number, *bound))
            }
            Question::Is(other) => self.is_text(operand, other, cost, meter),
            Question::IsNot(other) => self.is_text(operand, other, cost, meter).map(|is| !is),
            Question::StartsWith(part) => {
                let text = self.text(operand)?;
                meter.take(cost)?;
                Some(starts_with(text, part.as_bytes()))
            }
            Question::EndsWith(part) => {
                let text = self.text(operand)?;
                meter.take(cost)?;
                Some(ends_with(text, part.as_bytes()))
            }
            Question::Size(comparison, bound) => {
                let (least, most) = sizes(self.text(operand)?);
                let answer = comparison.of_size(least, *bound);
                // the characters are counted elsewhere, if they must be
                if answer != comparison.of_size(most, *bound) {
                    return None;
                }
                meter.take(cost)?;
                Some(answer)
            }
            Question::Matches(_) => None,
        }
    }

    #[inline(always)]
    fn is_text(&self, operand: &'a Node, other: &str, cost: u64, meter: &mut Meter<'_>) -> Option<bool> {
        let text = self.text(operand)?;
        let same_length = text.len() == other.len();
        meter.take(if same_length { cost.saturating_add(text_units(other.len())) } else { cost })?;
        Some(same_length && same_bytes(text, other.as_bytes()))
    }

    /// The number at the end of a path.
    #[inline(always)]
    fn int(&self, node: &'a Node) -> Option<i64> {
        match node {
            &Node::Path { root, part, field } => {
                let (of, at) = self.record(root, part)?;
                of.int(at, field)
            }
            Node::Variable(_) | Node::Local(_) => match self.variable(node)? {
                Value::Int(number) => Some(*number),
                _ => None,
            },
            node => self.json(node)?.as_int(),
        }
    }

    /// The bytes of the text at the end of a path.
    #[inline(always)]
    fn text(&self, node: &'a Node) -> Option<&'r [u8]> {
        match node {
            &Node::Path { root, part, field } => {
                let (of, at) = self.record(root, part)?;
                of.text(at, field).map(str::as_bytes)
            }
            Node::Variable(_) | Node::Local(_) => self.variable(node)?.as_str().map(str::as_bytes),
            node => self.json(node)?.as_text_bytes(),
        }
    }

    /// The part of a document at the end of a path.
    #[inline(never)]
    fn json(&self, node: &'a Node) -> Option<JsonRef<'a>> {
        match node {
            Node::Member { operand, key, guess } => self.json_of(*operand)?.get_near(key, guess),
            &Node::Index { operand, index } => {
                let Node::Constant(Value::Int(index)) = self.nodes.get(index.0 as usize)? else {
                    return None;
                };
                let index = usize::try_from(*index).ok()?;
                match self.nodes.get(operand.0 as usize)? {
                    &Node::Path { root, part, field } => {
                        let (of, at) = self.record(root, part)?;
                        let View::List { of, at } = of.field(at, field)? else { return None };
                        let View::Json(json) = of.item(at, index)? else { return None };
                        Some(json)
                    }
                    _ => self.json_of(operand)?.item(index),
                }
            }
            _ => None,
        }
    }

    /// The same where a path may begin.
    #[inline(always)]
    fn json_of(&self, id: NodeId) -> Option<JsonRef<'a>> {
        match self.nodes.get(id.0 as usize)? {
            node @ (Node::Variable(_) | Node::Local(_)) => match self.variable(node)? {
                Value::Map(Map::Json(json)) | Value::List(List::Json(json)) => Some(*json),
                _ => None,
            },
            node => self.json(node),
        }
    }

    /// The value of a variable of the scope or of a loop.
    #[inline(always)]
    fn variable(&self, node: &Node) -> Option<&'r Value<'a>> {
        match node {
            Node::Variable(slot) => self.activation.get(*slot),
            Node::Local(local) => self.locals.get(local.0 as usize),
            _ => None,
        }
    }

    /// A part of the host's structs.
    #[inline(always)]
    fn record(&self, root: Slot, part: Option<At>) -> Option<(&'a dyn LiveRecord, At)> {
        match self.activation.get(root)? {
            Value::Map(Map::Live { of, at }) => Some((*of, part.unwrap_or(*at))),
            _ => None,
        }
    }
}

impl Question {
    /// The answer about any value, paid for.
    ///
    /// # Errors
    /// `no_matching_overload` for a value that the question makes no sense of, `budget_exceeded`.
    fn of(&self, of: &Value<'_>, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        // a constant is a step too
        meter.charge(self.constants())?;
        let no_overload = |kinds: &[Kind]| Err(Fault::no_overload(kinds.iter().copied()));
        match (self, of) {
            (Self::Compare(comparison, bound), of) => compare(meter, *comparison, of, &Value::Int(*bound)),
            (Self::Is(text), of) => of.equals_metered(&Value::text(text), meter),
            (Self::IsNot(text), of) => of.equals_metered(&Value::text(text), meter).map(|is| !is),
            (Self::StartsWith(part), Value::String(text)) => {
                meter.charge_text(part.len())?;
                Ok(text.starts_with(&**part))
            }
            (Self::EndsWith(part), Value::String(text)) => {
                meter.charge_text(part.len())?;
                Ok(text.ends_with(&**part))
            }
            (Self::StartsWith(_) | Self::EndsWith(_), other) => no_overload(&[other.kind(), Kind::String]),
            (Self::Size(comparison, bound), Value::String(text)) => {
                let (least, most) = sizes(text.as_bytes());
                let answer = comparison.of_size(least, *bound);
                if answer == comparison.of_size(most, *bound) {
                    return Ok(answer);
                }
                meter.charge_text(text.len())?;
                Ok(comparison.of_size(text.count(), *bound))
            }
            (Self::Size(comparison, bound), Value::Bytes(bytes)) => {
                Ok(comparison.of_size(bytes.len(), *bound))
            }
            (Self::Size(comparison, bound), Value::List(list)) => Ok(comparison.of_size(list.size(), *bound)),
            (Self::Size(comparison, bound), Value::Map(map)) => Ok(comparison.of_size(map.len(), *bound)),
            (Self::Matches(pattern), Value::String(text)) => pattern.is_match(meter, text),
            (Self::Size(..) | Self::Matches(_), other) => no_overload(&[other.kind()]),
        }
    }
}

/// The least and the most characters that a text of so many bytes has, which settles most comparisons without counting.
#[inline(always)]
fn sizes(text: &[u8]) -> (usize, usize) {
    (text.len().div_ceil(4), text.len())
}

#[inline(always)]
fn starts_with(text: &[u8], part: &[u8]) -> bool {
    text.get(..part.len()).is_some_and(|beginning| same_bytes(beginning, part))
}

#[inline(always)]
fn ends_with(text: &[u8], part: &[u8]) -> bool {
    let end = text.len().checked_sub(part.len()).and_then(|from| text.get(from..));
    end.is_some_and(|end| same_bytes(end, part))
}
