//! `--cost`: what one evaluation of each expression costs, in cost units.

use crate::{Failure, Format, Screen, messages};
use celador::cel::CostEstimate;
use celador::policy::Policy;
use celador::scenario::Palette;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where an expression stands, its path and its text, what one evaluation costs, and the part of it that nothing bounds.
type Cost = ((String, usize, usize), (String, String, CostEstimate, Option<String>));

/// Lists the static cost of the expressions of all agents that are valid. One that several functions share is one line.
pub(super) fn list(policies: &[Arc<Policy>], screen: &mut Screen) -> Result<(), Failure> {
    let mut costs = BTreeMap::new();
    for policy in policies {
        costs.extend(policy.expressions().map(|expression| -> Cost {
            let origin = expression.origin();
            let program = expression.program();
            let cost = program.cost();
            let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let unbounded = cost.assumes.unbounded.and_then(|part| program.source().get(part.range()));
            let texts = (one_line(program.source()), unbounded.map(one_line));
            ((origin.file, origin.line, origin.column), (origin.path, texts.0, cost, texts.1))
        }));
    }
    let mut costs: Vec<Cost> = costs.into_iter().collect();
    costs.sort_by_key(|(_, (.., cost, _))| std::cmp::Reverse((cost.max.unwrap_or(u64::MAX), cost.min)));
    for ((file, line, column), (path, text, CostEstimate { min, max, assumes }, unbounded)) in costs {
        let assumes = messages::assumptions(&assumes);
        match screen.format() {
            Format::Human => {
                let Palette { bold, dim, reset, .. } = screen.palette();
                let max = max.map_or_else(|| "no bound".to_owned(), |max| max.to_string());
                screen.line(&format!("{bold}{min:>6} to {max:<9}{reset} {text}"))?;
                screen.line(&format!("{:19} {dim}{file}:{line}:{column}: {path}{reset}", ""))?;
                let terms = assumes.iter().map(|term| messages::if_assumed(term));
                for line in terms.chain(unbounded.as_deref().map(messages::unbounded)) {
                    screen.line(&format!("{:19} {dim}{line}{reset}", ""))?;
                }
            }
            Format::Json => {
                let cost = json!({
                    "file": file, "line": line, "column": column, "path": path,
                    "expr": text, "min": min, "max": max, "assumes": assumes,
                    "unbounded": unbounded,
                });
                screen.json("cost", cost)?;
            }
        }
    }
    Ok(())
}
