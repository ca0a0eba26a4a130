//! Tokens to an outline: which brackets belong together, and how deep the tree of the text can be at most.
//!
//! The grammar recurses on brackets and its trees lean on chains (`a.b.c`, `1 + 2 + 3`), so depth is known
//! from the tokens before anything recurses. The bound is exact for chains and brackets; `&&` and `||`, which the
//! grammar balances, count by their logarithm. One pass over the tokens with a stack of its own.

use super::messages;
use super::tokens::Token;
use crate::issue::Issue;

/// What the tokens say before a tree is built.
#[derive(Debug)]
pub(super) struct Outline {
    /// For the position of each opening bracket the position of the closing one, and the other way round.
    partners: Vec<Option<usize>>,
}

impl Outline {
    /// The bracket that belongs to the one at this position.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).copied().flatten()
    }

    fn pair(&mut self, opening: usize, closing: usize) {
        for (bracket, partner) in [(opening, closing), (closing, opening)] {
            if let Some(place) = self.partners.get_mut(bracket) {
                *place = Some(partner);
            }
        }
    }
}

/// The levels of one part of a text between brackets, from the whole down to one operand.
#[derive(Default)]
struct Levels {
    /// Of the parts before the last comma or colon.
    parts: usize,
    /// Of conditions: each else branch is one deeper.
    conditions: usize,
    /// `&&` and `||` so far.
    logic: usize,
    /// Of the deepest clause before the last `&&` or `||`.
    clauses: usize,
    /// Binary operators of this clause: a chain leans on each.
    operators: usize,
    /// Of the deepest operand of this clause before the last operator.
    operands: usize,
    /// Of this operand: a selection, call or index stands above what it is made on and above what is in its brackets.
    operand: usize,
    /// Signs before this operand.
    signs: usize,
}

impl Levels {
    /// Goes past a sign that neither opens nor closes a bracket, nor asks a condition.
    fn sign(&mut self, sign: &str, after_operand: bool) {
        match sign {
            "" | "?" => {}
            "." => self.operand = self.operand.saturating_add(1),
            "!" => self.signs = self.signs.saturating_add(1),
            "-" if !after_operand => self.signs = self.signs.saturating_add(1),
            "," => {
                self.branch_ends();
                self.conditions = 0;
            }
            ":" => self.branch_ends(),
            "&&" | "||" => {
                self.clause_ends();
                self.logic = self.logic.saturating_add(1);
            }
            _ => {
                self.operand_ends();
                self.operators = self.operators.saturating_add(1);
            }
        }
    }

    /// A bracket opens; an index leans on its operand as a selection does, a call's dot has counted already.
    fn opens(&mut self, index: bool) {
        self.operand = self.operand.saturating_add(usize::from(index));
    }

    /// What came before the `?` is one deeper, as both branches are.
    fn condition(&mut self) {
        self.conditions = self.conditions.saturating_add(1);
        self.branch_ends();
    }

    fn operand_ends(&mut self) {
        self.operands = self.operands.max(self.operand.saturating_add(self.signs));
        (self.operand, self.signs) = (0, 0);
    }

    fn clause_ends(&mut self) {
        self.operand_ends();
        self.clauses = self.clauses.max(self.operators.saturating_add(self.operands));
        (self.operators, self.operands) = (0, 0);
    }

    fn branch_ends(&mut self) {
        self.clause_ends();
        self.parts = self.parts.max(self.here());
        (self.logic, self.clauses) = (0, 0);
    }

    /// The levels of what has been read so far: a balanced tree of `n` operators has at most `log2(n) + 1` levels,
    /// and there may be one of `||` over ones of `&&`.
    fn here(&self) -> usize {
        let logic = (usize::BITS.saturating_sub(self.logic.leading_zeros()) as usize).saturating_mul(2);
        let operand = self.operands.max(self.operand.saturating_add(self.signs));
        let clause = self.clauses.max(self.operators.saturating_add(operand));
        self.parts.max(self.conditions.saturating_add(logic).saturating_add(clause))
    }
}

/// The outline of the tokens.
///
/// # Errors
/// The first bracket that nothing opens or closes, or the first token that more than `max_depth` levels stand around.
pub(super) fn outline(tokens: &[Token], max_depth: usize) -> Result<Outline, Issue> {
    let mut open: Vec<(usize, &'static str, Levels)> = Vec::new();
    let mut levels = Levels::default();
    let mut outline = Outline { partners: vec![None; tokens.len()] };
    let mut after_operand = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.sign() {
            sign @ ("(" | "[" | "{") => {
                levels.opens(sign == "[" && after_operand);
                open.push((at, sign, std::mem::take(&mut levels)));
            }
            sign @ (")" | "]" | "}") => {
                let Some((start, opening, outer)) = open.pop() else {
                    return Err(messages::unopened_bracket(token.span, sign));
                };
                if closing(opening) != sign {
                    return Err(messages::mismatched_bracket(token.span, sign, opening, closing(opening)));
                }
                let inside = levels.here().saturating_add(1);
                levels = outer;
                levels.operand = levels.operand.max(inside);
                outline.pair(start, at);
            }
            "?" if after_operand => levels.condition(),
            sign => levels.sign(sign, after_operand),
        }
        if open.len().saturating_add(levels.here()) >= max_depth {
            return Err(messages::too_deep(token.span, max_depth));
        }
        after_operand = token.ends_operand();
    }
    match open.pop() {
        Some((start, opening, _)) => {
            let span = tokens.get(start).map(|token| token.span).unwrap_or_default();
            Err(messages::unclosed_bracket(span, opening, closing(opening)))
        }
        None => Ok(outline),
    }
}

/// The bracket that closes this one.
fn closing(opening: &str) -> &'static str {
    match opening {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}
