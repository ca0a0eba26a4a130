//! Coverage on a terminal: the YAML with a mark at each line that has a step or a clause, and what was not seen below it.
//!
//! A line is marked `+` if everything was seen, `~` if something was not, and `-` if nothing ever came to it. Lines far from any mark are
//! left out.

use super::lines::{Line, Seen, lines};
use celador::scenario::{COUNTS, Coverage, FileCoverage, Palette, SeenPart, Share, visible};
use std::fmt::Write as _;

/// The key of the count that has a line of its own.
const CLAUSES: &str = "clauses";

/// Lines around a marked one that are shown.
const AROUND: usize = 1;

pub(super) fn render(coverage: &Coverage, palette: &Palette) -> String {
    let mut text = String::new();
    for (name, file) in &coverage.files {
        if !file.steps.is_empty() || !file.clauses.is_empty() {
            listing(&mut text, name, file, palette);
        }
    }
    parts(&mut text, "name", "never read", &coverage.names, palette);
    parts(&mut text, "limit", "never reached", &coverage.limits, palette);
    parts(&mut text, "event", "never came", &coverage.events, palette);
    let counts = COUNTS.iter().filter(|count| count.key != CLAUSES);
    let rows = counts.map(|count| (count.name, count.share(coverage)));
    for (name, Share { seen, all }) in rows.filter(|(_, share)| share.all > 0) {
        let _ = writeln!(text, "{name:<25} {seen} of {all}");
    }
    let Share { seen, all } = coverage.clauses();
    let _ = writeln!(text, "coverage: {seen} of {all} clauses");
    text
}

fn listing(text: &mut String, name: &str, file: &FileCoverage, palette: &Palette) {
    let Palette { green, red, yellow, bold, dim, reset } = palette;
    let _ = writeln!(text, "{bold}{}{reset}", visible(name));
    let lines = lines(file);
    let near = |number: usize| {
        lines.range(number.saturating_sub(AROUND)..=number.saturating_add(AROUND)).next().is_some()
    };
    let mut is_gap = false;
    for (number, shown) in (1_usize..).zip(file.source.text().lines()) {
        if !near(number) {
            is_gap = true;
            continue;
        }
        if std::mem::take(&mut is_gap) {
            let _ = writeln!(text, "{dim}       …{reset}");
        }
        let line = lines.get(&number);
        let (color, mark) = match line.map(Line::seen) {
            Some(Seen::Everything) => (*green, '+'),
            Some(Seen::Partly) => (*yellow, '~'),
            Some(Seen::Nothing) => (*red, '-'),
            None => ("", ' '),
        };
        let _ = writeln!(text, "{color}{mark}{reset} {dim}{number:>5}{reset} {}", visible(shown).trim_end());
        for lack in line.into_iter().flat_map(|line| &line.lacks) {
            let _ = writeln!(text, "        {color}^ {}{reset}", visible(lack));
        }
    }
    text.push('\n');
}

fn parts(text: &mut String, kind: &str, lack: &str, parts: &[SeenPart], palette: &Palette) {
    let Palette { red, reset, .. } = palette;
    for part in parts.iter().filter(|part| !part.seen) {
        let _ = writeln!(
            text,
            "{red}-{reset} {kind} `{}` of {}: {lack}",
            visible(&part.name),
            visible(&part.agent)
        );
    }
}
