//! Questions about any value, the long way: with the step that finds it, and with errors that say what is wrong.

use super::evaluator::Evaluator;
use super::operators::compare;
use crate::fault::Fault;
use crate::meter::Meter;
use crate::plan::{NodeId, Question};
use crate::types::Kind;
use crate::value::Value;

impl<'a> Evaluator<'a, '_, '_> {
    /// The answer to a question about the value of a step.
    pub(super) fn ask(&mut self, id: NodeId, operand: NodeId, question: &Question) -> Option<bool> {
        self.with(operand, |progress, of| {
            let answer = question.of(of, &mut progress.meter);
            progress.at(id, answer)
        })
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
                if let Some(answer) = comparison.of_length(text, *bound) {
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
