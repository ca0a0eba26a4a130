//! A question with a constant in it that a guard asks of one value: what most clauses of a policy are.
//!
//! The constant stands in the question and not in a step of its own, so that asking builds nothing and looks nothing up.
//! What it costs is the same: the constant is paid for like the step that it was.

use super::{Comparison, NodeId};
use crate::cel::meter::text_units;
use crate::cel::stdlib::Pattern;
use std::num::NonZeroU32;

/// A question about the value of a step.
#[derive(Debug)]
pub struct Ask {
    /// What is asked.
    pub question: Question,
    /// The step.
    pub operand: NodeId,
    /// If that is a path: what going it costs, the constant of the question with it, and no text that is looked at.
    pub cost: Option<NonZeroU32>,
}

/// What is asked of a value.
#[derive(Debug)]
pub enum Question {
    /// `a < 3`
    Compare(Comparison, i64),
    /// `size(a) < 3`: counts no further than the answer needs
    Size(Comparison, i64),
    /// `a == 'text'`
    Is(Box<str>),
    /// `a != 'text'`
    IsNot(Box<str>),
    /// `a.startsWith('text')`
    StartsWith(Box<str>),
    /// `a.endsWith('text')`
    EndsWith(Box<str>),
    /// `a.matches('^a+$')`, the pattern compiled
    Matches(Box<Pattern>),
}

impl Question {
    /// The steps that its constants were, as far as they are paid for.
    pub(in crate::cel) fn constants(&self) -> u64 {
        match self {
            Self::Compare(..) | Self::Is(_) | Self::IsNot(_) | Self::StartsWith(_) | Self::EndsWith(_) => 1,
            Self::Size(..) | Self::Matches(_) => 0,
        }
    }

    /// What looking at the constant costs that every answer looks at.
    pub(super) fn text_cost(&self) -> u64 {
        match self {
            Self::StartsWith(part) | Self::EndsWith(part) => text_units(part.len()),
            _ => 0,
        }
    }

    /// The function or operator that asks it, by CEL's name, where errors name one.
    #[must_use]
    pub fn function_name(&self) -> Option<&'static str> {
        match self {
            Self::Compare(comparison, _) => Some(comparison.function_name()),
            Self::Size(..) => Some("size"),
            Self::Is(_) | Self::IsNot(_) => None,
            Self::StartsWith(_) => Some("startsWith"),
            Self::EndsWith(_) => Some("endsWith"),
            Self::Matches(_) => Some("matches"),
        }
    }
}
