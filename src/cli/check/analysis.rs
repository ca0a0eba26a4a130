//! `--analysis`: how many clauses could be decided, and those of which something is unknown.

use crate::{Failure, Format, Screen};
use celador::analysis::Analysis;
use celador::scenario::Palette;

/// Lists the clauses of asserts, conditions and filters that the analysis leaves open, then says how many there are of each kind.
pub(super) fn list(analysis: &Analysis, screen: &mut Screen) -> Result<(), Failure> {
    let Analysis { decided, unknown, .. } = analysis;
    match screen.format() {
        Format::Human => {
            for place in unknown {
                let at = place.position();
                let file = place.source.name();
                let text = place.source.slice(place.span).split_whitespace().collect::<Vec<_>>().join(" ");
                let Palette { dim, reset, .. } = screen.palette();
                screen.line(&format!("unknown {text} {dim}{file}:{}:{}{reset}", at.line, at.column))?;
            }
            let (all, unknown) = (decided.saturating_add(unknown.len()), unknown.len());
            screen.line(&format!("analysis: {all} clauses, {decided} decided, {unknown} unknown"))?;
        }
        Format::Json => {
            for clause in analysis.unknown_clauses() {
                screen.json("unknown_clause", clause)?;
            }
            screen.json("analysis", analysis.counts())?;
        }
    }
    Ok(())
}
