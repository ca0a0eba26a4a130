//! `celador hook`: rules for agents whose code nobody changes, by the hooks that they call.
//!
//! | file | what |
//! |---|---|
//! | `claude_code` | answers one event of Claude Code, in this process or by a server |
//! | `config_change` | what is answered to a change of its settings |
//! | `settings_state`, `settings_members`, `permissions` | the settings at the start of a session, and which changes it takes over |
//! | `nested` | the session that has started another one |
//! | `version` | the version of Claude Code that hooks are installed for |
//! | `unjudged_log` | counts events that went on unjudged |
//! | `how` | the options that the hook has, and that `install` writes down for it |
//! | `install` | writes the hooks into a file of settings, and takes them out |
//! | `settings` | a file of settings as it is, with and without the hooks |

mod claude_code;
mod config_change;
mod how;
mod install;
mod messages;
mod nested;
mod permissions;
mod settings;
mod settings_members;
mod settings_state;
mod unjudged_log;
mod version;

use super::{ExitCode, Failure, Screen, Started};
use clap::{Args, Subcommand};

/// Hold an agent that calls hooks to policies
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    ClaudeCode(Box<claude_code::Arguments>),
    Install(Box<install::Install>),
    Uninstall(install::Uninstall),
}

impl Arguments {
    pub(super) fn run(self, started: &Started, screen: &mut Screen) -> Result<ExitCode, Failure> {
        match self.action {
            Action::ClaudeCode(event) => event.run(screen),
            Action::Install(install) => install.run(started, screen),
            Action::Uninstall(uninstall) => uninstall.run(screen),
        }
    }
}
