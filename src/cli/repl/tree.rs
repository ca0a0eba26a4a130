//! An explanation as text: one line a part, parts indented below what they are parts of.

use super::explain::{Node, Outcome};
use celador::scenario::Palette;

/// The lines of an explanation, each with its line break.
pub(super) fn render(node: &Node, palette: &Palette) -> String {
    let mut text = line(node, palette) + "\n";
    below(&mut text, node, "", palette);
    text
}

/// The parts of a node; `stem` stands before each line.
fn below(text: &mut String, node: &Node, stem: &str, palette: &Palette) {
    let Palette { dim, reset, .. } = palette;
    for (index, part) in (1..).zip(&node.parts) {
        let (branch, gap) = if index == node.parts.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        text.push_str(&format!("{dim}{stem}{branch}{reset}{}\n", line(part, palette)));
        below(text, part, &format!("{stem}{gap}"), palette);
    }
}

fn line(node: &Node, palette: &Palette) -> String {
    let Palette { green, red, yellow, bold, dim, reset } = palette;
    let shown = &node.text;
    match &node.outcome {
        // a constant says so itself
        Outcome::Value { text, .. } if text == shown => format!("{bold}{text}{reset}"),
        Outcome::Value { text, answer: Some(true) } if text == "true" => {
            format!("{shown}  {dim}={reset} {green}{text}{reset}")
        }
        Outcome::Value { text, .. } => format!("{shown}  {dim}={reset} {bold}{text}{reset}"),
        Outcome::Failed(error) => format!("{shown}  {red}fails: {error}{reset}"),
        Outcome::Passed => format!("{shown}  {red}fails, as below{reset}"),
        Outcome::Asks(question) => format!("{shown}  {yellow}{question}{reset}"),
        Outcome::Skipped => format!("{dim}{shown}  not evaluated{reset}"),
        Outcome::Round => format!("{dim}for{reset} {shown}"),
        Outcome::Rounds(1) => format!("{dim}… and 1 more round{reset}"),
        Outcome::Rounds(count) => format!("{dim}… and {count} more rounds{reset}"),
        Outcome::Cut => format!("{dim}… nothing more is shown{reset}"),
    }
}
