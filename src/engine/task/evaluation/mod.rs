//! What expressions and templates of a task see, how they are evaluated, and how they are tried out.

pub(super) mod file_reference;
pub(super) mod interpolation;
mod mount_path;
pub(super) mod replay;
pub(super) mod trial;
mod values;
