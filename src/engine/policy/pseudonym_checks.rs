//! Whether an expression may call the functions that give something else in the place of personal data.
//!
//! In: a checked expression, and what holds where it stands. Out: findings. `pii.hash` needs a key of the host. Pseudonyms are given and taken back
//! where a value is replaced and nowhere else: a rule that judges what a pseudonym stands for, while the pseudonym goes on, would judge another value than the one
//! that is used. Linear in the expression.

use super::messages;
use crate::cel::{Expr, ExprKind};
use crate::context::{PII_DETOKENIZE, PII_HASH, PII_TOKENIZE};
use crate::diagnostic::Diagnostic;
use crate::source::{Embedded, Span};

/// The library of the functions.
const LIBRARY: &str = "pii";

/// What holds where expressions stand, and what they turned out to do.
#[derive(Debug, Default)]
pub(super) struct PseudonymUse {
    /// Whether the host has given a key to hash with.
    pub(super) has_hash_key: bool,
    /// Whether the value of the expression takes the place of one of the task.
    pub(super) replaces: bool,
    /// Whether an expression hashes.
    pub(super) hashes: bool,
}

impl PseudonymUse {
    /// The findings about the calls of an expression that may not stand there.
    pub(super) fn check(&mut self, expr: &Expr, text: &Embedded, path: &str) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for_each_call(expr, &mut |name, call| {
            let is = |function: &str| {
                function.strip_prefix(LIBRARY).and_then(|rest| rest.strip_prefix('.')) == Some(name)
            };
            if (is(PII_TOKENIZE) || is(PII_DETOKENIZE)) && !self.replaces {
                findings.push(messages::misplaced_pseudonyms(text.locate(call), name).path(path));
            }
            if is(PII_HASH) {
                self.hashes = true;
                if !self.has_hash_key {
                    findings.push(messages::no_hash_key(text.locate(call)).path(path));
                }
            }
        });
        findings
    }
}

/// Hands over each call of a function of the library: its name there, and where it stands. A variable of a macro that is called like the library has no
/// such functions, and its expression does not compile.
fn for_each_call(expr: &Expr, found: &mut dyn FnMut(&str, Span)) {
    if let ExprKind::Call { target: Some(target), function, .. } = &expr.kind
        && matches!(&target.kind, ExprKind::Ident { name, .. } if name == LIBRARY)
    {
        found(&function.text, expr.span);
    }
    expr.for_each_part(&mut |part| for_each_call(part, found));
}
