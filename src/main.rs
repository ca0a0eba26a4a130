//! The `celador` command.

fn main() {}
