//! Expected and found in two columns.
//!
//! In: mismatches. Out: lines of at most about 128 characters. Long values wrap inside their column; control characters
//! are escaped.

use super::expect::Mismatch;
use super::terminal::{Palette, visible};
use serde_json::Value;
use std::fmt::Write as _;

/// The most characters of a column with values.
const WIDTH: usize = 44;
/// The most characters of the first column.
const KEY_WIDTH: usize = 34;

/// Writes the mismatches, one below the other.
pub(super) fn side_by_side(text: &mut String, mismatches: &[Mismatch], palette: &Palette) {
    let rows: Vec<[Vec<String>; 3]> = mismatches
        .iter()
        .map(|mismatch| {
            let side = |value: &Option<Value>| wrap(&show(value.as_ref()), WIDTH);
            [wrap(&visible(&mismatch.key), KEY_WIDTH), side(&mismatch.expected), side(&mismatch.found)]
        })
        .collect();
    let [keys, expected, _] = [0, 1, 2].map(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column)).flatten();
        cells.map(|line| line.chars().count()).max().unwrap_or_default().max("expected".len())
    });
    let Palette { dim, green, red, reset, .. } = palette;
    let _ = writeln!(text, "  {:keys$}  {dim}{:expected$}  found{reset}", "", "expected");
    for [key, left, right] in &rows {
        for at in 0..key.len().max(left.len()).max(right.len()) {
            let [key, left, right] = [key, left, right].map(|cell| cell.get(at).map_or("", String::as_str));
            let line = format!("  {key:keys$}  {green}{left:expected$}{reset}  {red}{right}{reset}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
}

/// A value on one line: text as it is, all else as JSON.
fn show(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) if !text.is_empty() => visible(text),
        Some(value) => visible(&value.to_string()),
    }
}

/// Lines of at most `width` characters, broken at spaces where there are some in the second half of a line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > width {
        let space = rest.iter().take(width).rposition(|c| *c == ' ').filter(|at| *at > width / 2);
        let tail = rest.split_off(space.map_or(width, |at| at.saturating_add(1)));
        lines.push(rest.iter().collect::<String>().trim_end().to_owned());
        rest = tail;
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn long_text_breaks_at_spaces() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
