//! A question with a constant in it that a guard asks of one value: what most clauses of a policy are.
//!
//! The constant stands in the question and not in a step of its own, so that asking builds nothing and looks nothing up.
//! What it costs is the same: the constant is paid for like the step that it was.

use super::comparison::Comparison;
use crate::stdlib::{GLOB, Pattern};
use crate::value::Guess;
use std::sync::Arc;

/// A question about a value.
#[derive(Clone, Debug)]
pub enum Question {
    /// `a < 3`
    Compare(Comparison, i64),
    /// `size(a) < 3`: counts no further than the answer needs
    Size(Comparison, i64),
    /// `a == 'text'`
    Is(Arc<str>),
    /// `a != 'text'`
    IsNot(Arc<str>),
    /// `a.startsWith('text')`
    StartsWith(Arc<str>),
    /// `a.endsWith('text')`
    EndsWith(Arc<str>),
    /// `a.matches('^a+$')`, the pattern compiled
    Matches(Arc<Pattern>),
    /// `a.glob('**/*.rs')`, the pattern compiled
    Glob(Arc<Pattern>),
    /// `has(a.key)`, and where the key was last found in a JSON object
    Has(Box<str>, Guess),
}

impl Question {
    /// The steps that its constants were, as far as they are paid for.
    pub(crate) fn constants(&self) -> u64 {
        match self {
            Self::Compare(..) | Self::Is(_) | Self::IsNot(_) | Self::StartsWith(_) | Self::EndsWith(_) => 1,
            Self::Size(..) | Self::Matches(_) | Self::Glob(_) | Self::Has(..) => 0,
        }
    }

    /// The function or operator that asks it, by CEL's name, where errors name one.
    #[must_use]
    pub fn function_name(&self) -> Option<&'static str> {
        match self {
            Self::Compare(comparison, _) => Some(comparison.function_name()),
            Self::Size(..) => Some("size"),
            Self::Is(_) | Self::IsNot(_) | Self::Has(..) => None,
            Self::StartsWith(_) => Some("startsWith"),
            Self::EndsWith(_) => Some("endsWith"),
            Self::Matches(_) => Some("matches"),
            Self::Glob(_) => Some(GLOB),
        }
    }
}
