//! What is measured, by the names that figures carry.

/// What one call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answer an expression on a state that is bound.
    Eval,
    /// Record one invocation in a resident state, then answer.
    StepEval,
    /// Give the engine the whole current state, as it must be given after each step, then answer.
    BindEval,
    /// The first answer about a task to an expression.
    First,
    /// The next answer, after one more invocation was recorded.
    Next,
    /// Text to something that can be run.
    Compile,
    /// The same, for a text that was compiled before.
    CompileCached,
    /// Everything that is decided before a call.
    Decision,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Eval,
        Self::StepEval,
        Self::BindEval,
        Self::First,
        Self::Next,
        Self::Compile,
        Self::CompileCached,
        Self::Decision,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Eval => "eval",
            Self::StepEval => "step+eval",
            Self::BindEval => "bind+eval",
            Self::First => "first",
            Self::Next => "next",
            Self::Compile => "compile",
            Self::CompileCached => "compile-cached",
            Self::Decision => "decision",
        }
    }

    /// The expressions and the numbers of recorded invocations that this is measured at.
    pub fn questions(self) -> Vec<(&'static str, usize)> {
        const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
        const LOOPS: [&str; 4] = ["E7", "E10", "E11", "E13"];
        let at_all_sizes = |names: &[&'static str]| {
            let sizes = |name: &&'static str| SIZES.map(|n| (*name, n));
            names.iter().flat_map(sizes).collect::<Vec<_>>()
        };
        match self {
            Self::Eval => {
                let short = ["E1", "E2", "E3", "E4", "E5", "E6", "E8", "E12n"].map(|name| (name, 100));
                let long = at_all_sizes(&["E7", "E10", "E11", "E13", "E12"]);
                short.into_iter().chain(long).collect()
            }
            Self::StepEval | Self::BindEval => at_all_sizes(&["E12"]),
            Self::First | Self::Next => at_all_sizes(&LOOPS),
            Self::Compile | Self::CompileCached => vec![("E1", 0), ("E12", 0)],
            Self::Decision => vec![("before", 100)],
        }
    }
}
