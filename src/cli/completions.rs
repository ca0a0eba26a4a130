//! `celador completions`: the command's words for a shell.

use super::{ExitCode, Failure, Screen};
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador completions bash > /etc/bash_completion.d/celador
  celador completions zsh > ~/.zfunc/_celador
  celador completions fish > ~/.config/fish/completions/celador.fish")]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(
            self.shell,
            &mut super::Arguments::<super::Command>::command(),
            "celador",
            &mut script,
        );
        screen.text(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::Yes)
    }
}
