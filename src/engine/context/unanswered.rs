//! A host for expressions that are tried out where nobody can be asked.
//!
//! In: the questions of an expression. Out: for `review` that it asks, and whom; for every other question of the host that
//! it fails. It answers nothing and does nothing.

use crate::cel::{ErrorCode, HostFunctions, Interruption, Value};

/// A host that knows no answer and remembers whom it would have to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    /// The last one whose review was asked for (`RV-01`).
    pub reviewer: Option<String>,
}

impl HostFunctions for Unanswered {
    fn call(&mut self, function: &str, args: &[Value<'_>]) -> Result<Value<'static>, Interruption> {
        let reviewer = args.first().and_then(Value::as_str).filter(|reviewer| !reviewer.is_empty());
        match (function, reviewer) {
            ("review", Some(reviewer)) => {
                self.reviewer = Some(reviewer.to_owned());
                Err(Interruption::Asked)
            }
            ("review", None) => Err(Interruption::Fault(ErrorCode::InvalidArgument.into())),
            _ => Err(Interruption::Fault(ErrorCode::HostFailed.into())),
        }
    }
}
