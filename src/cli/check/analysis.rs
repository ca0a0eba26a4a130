//! `--analysis`: how many clauses could be decided, and those of which something is unknown.

use crate::{Failure, Format, Screen};
use celador::analysis::Analysis;
use celador::scenario::Palette;
use serde_json::json;

/// Lists the clauses of asserts, conditions and filters that the analysis leaves open, then says how many there are of each kind.
pub(super) fn list(analysis: &Analysis, screen: &mut Screen) -> Result<(), Failure> {
    let Analysis { decided, unknown, contradicted, .. } = analysis;
    for place in unknown {
        let at = place.position();
        let file = place.source.name();
        let text = place.source.slice(place.span).split_whitespace().collect::<Vec<_>>().join(" ");
        match screen.format() {
            Format::Human => {
                let Palette { dim, reset, .. } = screen.palette();
                screen.line(&format!("unknown {text} {dim}{file}:{}:{}{reset}", at.line, at.column))?;
            }
            Format::Json => {
                let clause = json!({"file": file, "line": at.line, "column": at.column, "expr": text});
                screen.json("unknown_clause", clause)?;
            }
        }
    }
    let all = decided.saturating_add(unknown.len());
    match screen.format() {
        Format::Human => {
            let unknown = unknown.len();
            screen.line(&format!("analysis: {all} clauses, {decided} decided, {unknown} unknown"))?;
        }
        Format::Json => {
            let counts = json!({
                "clauses": all, "decided": decided, "unknown": unknown.len(), "contradicted": contradicted,
            });
            screen.json("analysis", counts)?;
        }
    }
    Ok(())
}
