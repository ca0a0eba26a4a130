//! Coverage as a tracefile of lcov: a step is a function, a clause has two branches, and a line is hit as often as what stands in it.

use super::lines::{lines, names};
use celador::scenario::Coverage;
use std::fmt::Write as _;

pub(super) fn report(coverage: &Coverage) -> String {
    let mut text = String::new();
    for (name, file) in &coverage.files {
        let _ = writeln!(text, "TN:celador\nSF:{name}");
        let names = names(file);
        for (step, name) in file.steps.values().zip(&names) {
            let _ = writeln!(text, "FN:{},{name}", step.line);
        }
        for (step, name) in file.steps.values().zip(&names) {
            let _ = writeln!(text, "FNDA:{},{name}", step.reached);
        }
        let reached = file.steps.values().filter(|step| step.reached > 0).count();
        let _ = writeln!(text, "FNF:{}\nFNH:{reached}", file.steps.len());
        let lines = lines(file);
        let (mut found, mut hit) = (0_usize, 0_usize);
        for (number, line) in &lines {
            for (block, ways) in line.branches.iter().enumerate() {
                for (branch, count) in ways.iter().enumerate() {
                    // a dash says that the clause was never evaluated
                    let taken =
                        if ways.iter().all(|count| *count == 0) { "-".to_owned() } else { count.to_string() };
                    let _ = writeln!(text, "BRDA:{number},{block},{branch},{taken}");
                    found = found.saturating_add(1);
                    hit = hit.saturating_add(usize::from(*count > 0));
                }
            }
        }
        let _ = writeln!(text, "BRF:{found}\nBRH:{hit}");
        for (number, line) in &lines {
            let _ = writeln!(text, "DA:{number},{}", line.hits);
        }
        let covered = lines.values().filter(|line| line.hits > 0).count();
        let _ = writeln!(text, "LF:{}\nLH:{covered}\nend_of_record", lines.len());
    }
    text
}
