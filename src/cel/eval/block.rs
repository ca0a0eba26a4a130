//! Blocks: each binding is computed when it is first asked for, and at most once.
//!
//! What came out is kept until its block begins again, be it a value or an error: a binding that fails, fails wherever
//! it is named, and costs no more for it.

use super::evaluator::Evaluator;
use super::watch::Watch;
use crate::plan::{Memo, NodeId};
use crate::value::Value;
use std::ops::Range;

impl<'a, W: Watch<'a>> Evaluator<'a, '_, '_, W> {
    pub(super) fn block(&mut self, bindings: &Range<Memo>, body: NodeId) -> Option<Value<'a>> {
        let kept = self.memos.get_mut(bindings.start.0 as usize..bindings.end.0 as usize);
        kept.into_iter().flatten().for_each(|memo| *memo = None);
        self.eval(body)
    }

    pub(super) fn bound(&mut self, memo: Memo, value: NodeId) -> Option<Value<'a>> {
        match self.memos.get(memo.0 as usize) {
            Some(Some(Ok(value))) => return Some(value.clone()),
            Some(&Some(Err(halt))) => return self.progress.halt(halt),
            _ => {}
        }
        let found = self.eval(value);
        let outcome = match &found {
            Some(value) => Some(Ok(value.clone())),
            None => Some(Err(self.progress.halted())),
        };
        if let Some(place) = self.memos.get_mut(memo.0 as usize) {
            *place = outcome;
        }
        found
    }
}
