//! Every message of the manifest layer, one function each, in a file by what it is about.
//!
//! In: places and the words of the user. Out: a [`Diagnostic`] without its path, which the reader adds. A message names
//! what was expected and what was found; a value that is not a name of the manifest's own is never repeated. Callers
//! name a message without its file, so no two have one name.

mod agent;
mod counter;
#[cfg(feature = "schedules")]
mod cron;
mod document;
mod launch;
mod link;
mod meant;
mod mount;
mod policy;
mod schema;
mod step;
mod tool;
mod value;
mod yaml;

pub(super) use agent::*;
pub(super) use counter::*;
#[cfg(feature = "schedules")]
pub(super) use cron::*;
pub(super) use document::*;
pub(super) use launch::*;
pub(super) use link::*;
pub(super) use mount::*;
pub(super) use policy::*;
pub(super) use schema::*;
pub(super) use step::*;
pub(super) use tool::*;
pub(super) use value::*;
pub(super) use yaml::*;

use crate::diagnostic::{Diagnostic, nearest};
use crate::source::Embedded;

/// The finding with its words on one line and of a length that fits a screen, whatever names the file holds.
pub(super) fn on_one_line(mut finding: Diagnostic) -> Diagnostic {
    finding.message = one_line(&finding.message);
    finding.help = finding.help.map(|help| one_line(&help));
    finding
}

fn one_line(text: &str) -> String {
    const SHOWN: usize = 400;
    let mut line = String::new();
    for (at, character) in text.chars().enumerate() {
        match character {
            _ if at == SHOWN => {
                line.push('…');
                break;
            }
            character if character.is_control() => line.extend(character.escape_default()),
            character => line.push(character),
        }
    }
    line
}

/// The known key that an unknown one was meant to be.
pub(super) fn nearest_key<'a>(key: &Embedded, known: &[&'a str]) -> Option<&'a str> {
    nearest(&key.text, known.iter().copied())
}

/// Adds what the name was meant to be, or what there is.
fn named(finding: Diagnostic, name: &Embedded, known: &[&str]) -> Diagnostic {
    match nearest_key(name, known) {
        Some(near) => finding.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => finding,
        None => finding.help(format!("there are {}", quoted(known))),
    }
}

/// Words in backticks, divided by commas and a last `and`; past a dozen, how many more there are.
fn quoted(words: &[&str]) -> String {
    const SHOWN: usize = 12;
    let mut shown = words.iter().take(SHOWN).map(|word| format!("`{word}`")).collect::<Vec<_>>();
    match words.len().saturating_sub(SHOWN) {
        0 => {}
        hidden => shown.push(format!("{hidden} more")),
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => shown.concat(),
    }
}
