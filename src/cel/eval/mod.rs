//! A plan and an activation to a value: metered, without text and without names.

mod activation;

pub use activation::{Activation, Host, Interruption};
