//! Questions about one value, asked in two ways: the long way, about any value and with errors that say what is wrong; and in
//! place, about a value where it lies, which is faster and gives no answer where anything is out of the ordinary.
//!
//! The long way is what a question means. Builds with assertions ask in both ways and compare, so each question is written
//! twice on purpose, and both stand here.

use super::operators::compare;
use super::place::{Find, Variables};
use crate::fault::Fault;
use crate::formats::check_clean;
use crate::meter::{Meter, text_units};
use crate::plan::{Comparison, Question};
use crate::stdlib::{Pattern, is_glob_match};
use crate::types::Kind;
use crate::value::{Guess, Value, View, same_bytes};

/// A test made ready: its truth, paid for, or no answer.
pub(super) type Guard = Box<dyn Fn(&Variables<'_, '_>, &mut Purse) -> Option<bool> + Send + Sync>;

/// The cost units that are left.
pub(super) struct Purse(pub(super) u64);

/// The least and the greatest number that a comparison is true of.
#[derive(Clone, Copy)]
pub(super) struct Range {
    least: i64,
    most: i64,
}

impl Question {
    /// The answer about any value, paid for.
    ///
    /// # Errors
    /// `no_matching_overload` for a value that the question makes no sense of, `budget_exceeded`.
    pub(super) fn of(&self, of: &Value<'_>, meter: &mut Meter<'_>) -> Result<bool, Fault> {
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
                if let Some(answer) = comparison.of_length(text.len(), *bound) {
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
            (Self::Has(key, _), of) => {
                meter.charge_text(key.len())?;
                of.has_member(key)
            }
            (Self::Matches(pattern), Value::String(text)) => pattern.is_match(meter, text),
            (Self::Glob(pattern), Value::String(path)) => is_glob_match(meter, path, pattern),
            (Self::Size(..) | Self::Matches(_) | Self::Glob(_), other) => no_overload(&[other.kind()]),
        }
    }

    /// The guard that asks it alone, made for the kind of place and the kind of question.
    pub(super) fn about(&self, place: impl Find + 'static, cost: u64) -> Guard {
        match self.clone() {
            Self::Compare(comparison, bound) => Range::of(comparison, bound).about(place, cost),
            Self::Is(other) => about_text(place, cost, move |text, purse| is(text, &other, purse)),
            Self::IsNot(other) => {
                about_text(place, cost, move |text, purse| is(text, &other, purse).map(|is| !is))
            }
            Self::StartsWith(part) => about_text(place, cost, move |text, _| Some(starts_with(text, &part))),
            Self::EndsWith(part) => about_text(place, cost, move |text, _| Some(ends_with(text, &part))),
            Self::Has(key, guess) => about_value(place, cost, move |value, _| has(value, &key, &guess)),
            Self::Size(comparison, bound) => {
                about_value(place, cost, move |value, _| size(value, comparison, bound))
            }
            Self::Matches(pattern) => {
                about_value(place, cost, move |value, purse| matches(value, &pattern, purse))
            }
            Self::Glob(pattern) => about_value(place, cost, move |value, purse| glob(value, &pattern, purse)),
        }
    }

    /// The answer about a value of any kind, where there are several questions about it.
    #[inline(never)]
    pub(super) fn of_view(&self, value: View<'_>, purse: &mut Purse) -> Option<bool> {
        match self {
            Self::Compare(comparison, bound) => Some(comparison.of_ints(value.as_int()?, *bound)),
            Self::Is(other) => is(value.as_bytes()?, other, purse),
            Self::IsNot(other) => is(value.as_bytes()?, other, purse).map(|is| !is),
            Self::StartsWith(part) => Some(starts_with(value.as_bytes()?, part)),
            Self::EndsWith(part) => Some(ends_with(value.as_bytes()?, part)),
            Self::Has(key, guess) => has(value, key, guess),
            Self::Size(comparison, bound) => size(value, *comparison, *bound),
            Self::Matches(pattern) => matches(value, pattern, purse),
            Self::Glob(pattern) => glob(value, pattern, purse),
        }
    }
}

impl Range {
    pub(super) fn of(comparison: Comparison, bound: i64) -> Self {
        let (least, most) = comparison.range(bound);
        Self { least, most }
    }

    #[inline(always)]
    pub(super) fn has(self, number: i64) -> bool {
        self.least <= number && number <= self.most
    }

    pub(super) fn about(self, place: impl Find + 'static, cost: u64) -> Guard {
        Box::new(move |variables, purse| {
            let number = place.int(variables)?;
            purse.pay(cost)?;
            Some(self.has(number))
        })
    }
}

impl Purse {
    #[inline(always)]
    pub(super) fn pay(&mut self, units: u64) -> Option<()> {
        self.0 = self.0.checked_sub(units)?;
        Some(())
    }
}

/// The guard that asks something of the bytes of a text.
fn about_text<A>(place: impl Find + 'static, cost: u64, ask: A) -> Guard
where
    A: Fn(&[u8], &mut Purse) -> Option<bool> + Send + Sync + 'static,
{
    Box::new(move |variables, purse| {
        let text = place.bytes(variables)?;
        purse.pay(cost)?;
        ask(text, purse)
    })
}

/// The guard that asks something of a value as its holder shows it.
fn about_value<A>(place: impl Find + 'static, cost: u64, ask: A) -> Guard
where
    A: Fn(View<'_>, &mut Purse) -> Option<bool> + Send + Sync + 'static,
{
    Box::new(move |variables, purse| {
        let value = place.view(variables)?;
        purse.pay(cost)?;
        ask(value, purse)
    })
}

#[inline(always)]
fn is(text: &[u8], other: &str, purse: &mut Purse) -> Option<bool> {
    if text.len() != other.len() {
        return Some(false);
    }
    purse.pay(text_units(text.len()))?;
    Some(same_bytes(text, other.as_bytes()))
}

#[inline(always)]
fn starts_with(text: &[u8], part: &str) -> bool {
    text.get(..part.len()).is_some_and(|beginning| same_bytes(beginning, part.as_bytes()))
}

#[inline(always)]
fn ends_with(text: &[u8], part: &str) -> bool {
    let end = text.len().checked_sub(part.len()).and_then(|from| text.get(from..));
    end.is_some_and(|end| same_bytes(end, part.as_bytes()))
}

#[inline(always)]
fn has(value: View<'_>, key: &str, guess: &Guess) -> Option<bool> {
    match value {
        View::Json(json) if json.is_object() => Some(json.get_near(key, guess).is_some()),
        View::Record { of, at } => {
            let slot = of.shape(at).slot(key);
            Some(slot.is_some_and(|slot| of.field(at, slot).is_some()))
        }
        _ => None,
    }
}

fn matches(value: View<'_>, pattern: &Pattern, purse: &mut Purse) -> Option<bool> {
    let text = value.as_str()?;
    purse.pay(pattern.cost(text.len()))?;
    Some(pattern.compiled().ok()?.regex.is_match(text))
}

/// A path that is not in its plain form is out of the ordinary: the long way says what is wrong.
fn glob(value: View<'_>, pattern: &Pattern, purse: &mut Purse) -> Option<bool> {
    let path = value.as_str()?;
    check_clean(path).ok()?;
    purse.pay(text_units(path.len()))?;
    purse.pay(pattern.cost(path.len()))?;
    Some(pattern.compiled().ok()?.regex.is_match(path))
}

/// Whether the size of a value satisfies a comparison, if that need not be counted.
#[inline(always)]
fn size(value: View<'_>, comparison: Comparison, bound: i64) -> Option<bool> {
    match value {
        View::Text(text) | View::Time(text) => comparison.of_length(text.len(), bound),
        View::Json(json) if json.is_array() || json.is_object() => {
            Some(comparison.of_size(json.len(), bound))
        }
        View::Json(json) => comparison.of_length(json.as_bytes()?.len(), bound),
        View::List { of, at } => Some(comparison.of_size(of.size(at), bound)),
        View::Record { of, at } => Some(comparison.of_size(of.shape(at).key_count(), bound)),
        View::Null | View::Bool(_) | View::Int(_) | View::UInt(_) | View::Double(_) => None,
    }
}
