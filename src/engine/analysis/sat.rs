//! The solver of propositions: literals, clauses, and whether they can hold together.
//!
//! In: clauses, and literals that are assumed. Out: whether there is an assignment; nothing if that takes more conflicts than
//! [`MAX_CONFLICTS`]. The bound counts what the solver does and no time, so an answer is the same on every machine.

use batsat::{Callbacks, Lit, Solver, SolverInterface, lbool};

/// Conflicts after which a question is given up.
const MAX_CONFLICTS: u64 = 10_000;

/// Stops a solver that has learnt too much.
#[derive(Default)]
struct Bound {
    conflicts: u64,
}

impl Callbacks for Bound {
    fn on_start(&mut self) {
        self.conflicts = 0;
    }

    fn on_new_clause(&mut self, _: &[Lit], kind: batsat::ClauseKind) {
        if kind == batsat::ClauseKind::Learnt {
            self.conflicts = self.conflicts.saturating_add(1);
        }
    }

    fn stop(&self) -> bool {
        self.conflicts > MAX_CONFLICTS
    }
}

/// A literal.
pub(super) type Literal = Lit;

/// Clauses that grow, and are asked again and again.
pub(super) struct Sat {
    solver: Solver<Bound>,
    clause: Vec<Lit>,
}

impl Sat {
    pub(super) fn new() -> Self {
        Self { solver: Solver::new(batsat::SolverOpts::default(), Bound::default()), clause: Vec::new() }
    }

    /// A proposition of its own.
    pub(super) fn fresh(&mut self) -> Literal {
        Lit::new(self.solver.new_var_default(), true)
    }

    /// At least one of these holds.
    pub(super) fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        self.clause.clear();
        self.clause.extend(literals);
        self.solver.add_clause_reuse(&mut self.clause);
    }

    /// A literal that holds if all of these do, and only then.
    pub(super) fn all(&mut self, literals: &[Literal]) -> Literal {
        let whole = self.fresh();
        for literal in literals {
            self.clause([!whole, *literal]);
        }
        self.clause(literals.iter().map(|literal| !*literal).chain([whole]));
        whole
    }

    /// A literal that holds if one of these does, and only then.
    pub(super) fn any(&mut self, literals: &[Literal]) -> Literal {
        let negated: Vec<Literal> = literals.iter().map(|literal| !*literal).collect();
        !self.all(&negated)
    }

    /// Whether all clauses can hold together with these literals; nothing if that takes too long.
    pub(super) fn can_hold(&mut self, assumed: &[Literal]) -> Option<bool> {
        let answer = self.solver.solve_limited(assumed);
        if answer == lbool::TRUE {
            Some(true)
        } else if answer == lbool::FALSE {
            Some(false)
        } else {
            None
        }
    }
    /// Whether a literal is true in the assignment that was found last.
    pub(super) fn is_true(&self, literal: Literal) -> bool {
        self.solver.value_lit(literal) == lbool::TRUE
    }
}
