//! Results as commands that GitHub shows beside the lines of a change, one line each.

use super::{Problem, Results, Weight};
use std::fmt::Write as _;

/// The commands of these results.
pub(super) fn report(results: &Results) -> String {
    let mut text = String::new();
    for problem in results.0.iter().flat_map(|tried| &tried.problems) {
        let command = match problem.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
            Weight::Allowed => "notice",
        };
        let Problem { code, message, help, reason, file, start, end, .. } = problem;
        let mut said = message.clone();
        if let Some(help) = help {
            let _ = write!(said, "\n{help}");
        }
        if !reason.is_empty() {
            let _ = write!(said, "\nallowed: {reason}");
        }
        // columns are of one line, as GitHub has it
        let columns = if start.line == end.line {
            format!(",col={},endColumn={}", start.column, end.column)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "::{command} file={},line={},endLine={}{columns},title={}::{}",
            property(file),
            start.line,
            end.line,
            property(code),
            data(&said)
        );
    }
    text
}

/// A text behind `::`: a line break would end the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A text among the properties of a command, which colons and commas divide.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
