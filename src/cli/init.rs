//! `celador init`: a folder to begin with: an agent, its tool, and cases that pass.
//!
//! In: a folder. Out: the files of `starter/` in it. What is there already stays as it is: if one of the files exists,
//! nothing is written, and if one cannot be written, those before it are taken away again.

use super::{ExitCode, Failure, Format, Screen, messages};
use clap::Args;
use serde_json::json;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The files, by their paths in the folder.
const FILES: [(&str, &str); 6] = [
    ("agent.yaml", include_str!("starter/agent.yaml")),
    ("tools/orders.yaml", include_str!("starter/tools/orders.yaml")),
    ("cases/card-is-hidden.yaml", include_str!("starter/cases/card-is-hidden.yaml")),
    ("cases/large-refund-asks-the-lead.yaml", include_str!("starter/cases/large-refund-asks-the-lead.yaml")),
    ("cases/refund-needs-the-order.yaml", include_str!("starter/cases/refund-needs-the-order.yaml")),
    ("cases/small-refund-goes-through.yaml", include_str!("starter/cases/small-refund-goes-through.yaml")),
];

/// Write an agent, a tool and cases to begin with
///
/// No file is overwritten: if one of them is there already, nothing is written.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  celador init my-agent
  celador check --strict my-agent
  celador test my-agent

Exit codes: 0 written, 1 a file is there already or cannot be written.")]
pub(crate) struct Arguments {
    /// The folder; made if it is not there
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
}

impl Arguments {
    pub(super) fn run(self, screen: &mut Screen) -> Result<ExitCode, Failure> {
        let paths = FILES.map(|(path, text)| (self.folder.join(path), text));
        if let Some((path, _)) = paths.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
            return Err(Failure::Unusable(messages::already_there(path)));
        }
        let folders = [self.folder.join("tools"), self.folder.join("cases"), self.folder.clone()];
        let made: Vec<&PathBuf> = folders.iter().filter(|folder| !folder.exists()).collect();
        let mut written: Vec<&Path> = Vec::new();
        for (path, text) in &paths {
            if let Err(error) = write_new(path, text) {
                written.into_iter().for_each(|path| drop(fs::remove_file(path)));
                made.into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
                return Err(Failure::Unusable(messages::cannot_create(path, &error)));
            }
            written.push(path);
        }
        for (path, _) in &paths {
            let path = path.display().to_string();
            match screen.format() {
                Format::Human => screen.line(&path)?,
                Format::Json => screen.json("written", json!({ "file": path }))?,
            }
        }
        Ok(ExitCode::Yes)
    }
}

/// Writes a file that must not be there yet, and leaves none that is cut off.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
