//! Signs that a document is meant as one of ours, though it is none.
//!
//! Data only: [`role`](super::role) finds them, and messages are made of them.

use super::node::Node;
use crate::source::{Embedded, Place};

/// The sign that a document is meant as one of ours.
#[derive(Debug)]
pub enum Doubt<'d> {
    /// A kind that is none, but nearly one.
    Kind(&'d Embedded),
    /// A key that was to be `kind`.
    Key(&'d Embedded),
    /// Its keys.
    Shape(&'d Place),
    /// A text or another scalar, or a list of manifests or cases, where keys should be.
    NoMapping(&'d Node),
    /// Keys of a case, of which one is misspelt.
    Case {
        /// The key.
        key: &'d Embedded,
        /// The key of a case that is nearest to it.
        near: &'static str,
    },
}
