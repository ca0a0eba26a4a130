//! What can be said of a part of an expression, whatever the input is.

use crate::source::Span;

/// What holds of a part, whatever the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Claim {
    NeverTrue,
    NeverFalse,
    AlwaysFails,
    /// What stands beside it, other operands or both branches, answers the same without it.
    Moot,
    /// Never true, or never false, for any input for which the parts around it let it decide.
    NeverTrueHere,
    NeverFalseHere,
    /// A constant of a list, to which nothing is equal that is looked for in it.
    NeverMember,
    /// A constant of the list of a macro, for which the predicate is never true.
    NeverOfElement,
    /// The same, where it is never false.
    AlwaysOfElement,
}

impl Claim {
    /// Whether a run of the part that came to this truth, or failed, refutes it. What is said of a part among others takes a run of these.
    pub(super) fn is_refuted_by(self, truth: Option<bool>) -> bool {
        match self {
            Self::NeverTrue => truth == Some(true),
            Self::NeverFalse => truth == Some(false),
            Self::AlwaysFails => truth.is_some(),
            Self::Moot
            | Self::NeverTrueHere
            | Self::NeverFalseHere
            | Self::NeverMember
            | Self::NeverOfElement
            | Self::AlwaysOfElement => false,
        }
    }
}

impl Claim {
    /// Whether it says of two expressions that they fail for the same inputs.
    pub(super) fn compares_failures(self) -> bool {
        matches!(self, Self::Moot | Self::NeverFalseHere)
    }
}

/// A part of which something holds, and the clauses because of which it does.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) claim: Claim,
    pub(super) span: Span,
    pub(super) reasons: Vec<Span>,
    /// Whether it holds of what the schemas of arguments let by, and not of every value of their types.
    pub(super) by_schema: bool,
    /// Whether it holds of the whole expression.
    pub(super) is_whole: bool,
}

/// What was decided of an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Decided {
    pub(super) verdicts: Vec<Verdict>,
    /// The clauses, and whether their answers are known for every input.
    pub(super) clauses: Vec<(Span, bool)>,
    /// Verdicts that a run has contradicted, which are faults of this analysis.
    pub(super) contradicted: usize,
}
