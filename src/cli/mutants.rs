//! What came of the mutants of `celador test --mutate`, for people and for programs.
//!
//! In: the mutants that were tried. Out: those that no case noticed, each with its place, and the counts.

use super::files::{way_from, write_new};
use super::{Failure, Format, Screen, messages};
use celador::scenario::{Mutation, Palette, Search, TriedMutant, visible};
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is asked of mutants.
#[derive(Args)]
#[group(skip)]
pub(crate) struct Wanted {
    /// Change the policies a little, in many ways one after the other, and tell which changes no case notices
    #[arg(long)]
    mutate: bool,

    /// Write the cases that would notice what no case notices into this folder, as far as a search finds them
    #[arg(long, value_name = "DIR", requires = "mutate")]
    mutants_cases: Option<PathBuf>,
}

impl Wanted {
    pub(crate) fn is_wanted(&self) -> bool {
        self.mutate
    }

    /// Whether cases are looked for that would notice what survives.
    pub(crate) fn search(&self) -> Search {
        if self.mutants_cases.is_some() { Search::Arguments } else { Search::Nothing }
    }

    /// Writes the cases that were found, and says how many. A file that is there already is left alone, and its name passed over.
    fn write(&self, mutation: &Mutation) -> Result<Option<(usize, &Path)>, Failure> {
        let Some(folder) = &self.mutants_cases else { return Ok(None) };
        let failed = |error: io::Error| Failure::Unusable(messages::cannot_write_file(folder, &error));
        fs::create_dir_all(folder).map_err(failed)?;
        let home = std::path::absolute(folder).map_err(failed)?;
        let way = |to: &Path| way_from(&home, to);
        let (mut written, mut number) = (0_usize, 0_usize);
        for killer in mutation.survivors().filter_map(|survivor| survivor.killer.as_ref()) {
            loop {
                number = number.saturating_add(1);
                let name = format!("mutant-{number}");
                let file = folder.join(&name).with_extension("yaml");
                match write_new(&file, &killer.text(&name, way)) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(Failure::Unusable(messages::cannot_write_file(&file, &error))),
                }
            }
            written = written.saturating_add(1);
        }
        Ok(Some((written, folder)))
    }
}

/// Tells what came of the mutants; the counts are the last line.
pub(crate) fn tell(wanted: &Wanted, mutation: &Mutation, screen: &mut Screen) -> Result<(), Failure> {
    let written = wanted.write(mutation)?;
    let (noticed, all) = (mutation.noticed(), mutation.tried.len());
    match screen.format() {
        Format::Human => {
            let palette = screen.palette();
            for survivor in mutation.survivors() {
                screen.text(&render(survivor, &palette))?;
            }
            if let Some((count, folder)) = written {
                screen.line(&messages::wrote_cases(count, folder))?;
            }
            screen.line(&format!("mutants: {noticed} of {all} noticed"))?;
        }
        Format::Json => {
            for row in mutation.rows() {
                screen.json("mutant", row)?;
            }
            let written = written.map(|(count, _)| count);
            screen.json("mutants", json!({ "noticed": noticed, "all": all, "cases_written": written }))?;
        }
    }
    Ok(())
}

fn render(tried: &TriedMutant, palette: &Palette) -> String {
    let Palette { yellow, dim, reset, .. } = palette;
    let mutant = &tried.mutant;
    let mut text = String::new();
    let _ = writeln!(text, "{yellow}survived{reset} {}: {}", visible(&mutant.path), visible(&mutant.about));
    let position = mutant.place.position();
    let _ = writeln!(text, "  {dim}at{reset} {}:{}:{}", mutant.file(), position.line, position.column);
    text
}
