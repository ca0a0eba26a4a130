//! Who sits at the command line, as it is put on record.

use clap::Args;

#[derive(Args)]
pub(super) struct Operator {
    /// Who; `USER` of the environment if not said
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

impl Operator {
    /// The name, as far as it is known.
    pub(super) fn name(self) -> String {
        self.by
            .or_else(|| std::env::var("USER").ok())
            .filter(|name| !name.is_empty())
            .unwrap_or("operator".to_owned())
    }
}
