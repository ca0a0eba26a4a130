//! The figures as ratios: how far Celador is from hand-written Rust, and how far the fastest peer is from Celador.

use crate::kind::Kind;
use crate::row::{Row, time};

const CELADOR: &str = "celador";
const NATIVE: &str = "native";

const HEAD: &str = "\
| what | of | N | Celador | allocations | by hand | Celador / by hand | fastest peer | takes | peer / Celador |
|---|---|--:|--:|--:|--:|--:|---|--:|--:|
";

/// A Markdown table with a line for each figure of Celador.
pub fn of(rows: &[Row]) -> String {
    let ours = |kind| rows.iter().filter(move |row| row.figure.engine == CELADOR && row.kind == kind);
    let lines = Kind::ALL.into_iter().flat_map(ours).map(|row| line(row, rows));
    std::iter::once(HEAD.to_owned()).chain(lines).collect()
}

fn line(ours: &Row, rows: &[Row]) -> String {
    let theirs = || {
        let kinds = comparable(ours.kind);
        let same = move |row: &&Row| {
            (row.expression, row.n) == (ours.expression, ours.n) && kinds.contains(&row.kind)
        };
        rows.iter().filter(same)
    };
    let by_hand = theirs().find(|row| row.figure.engine == NATIVE);
    let peers = theirs().filter(|row| ![CELADOR, NATIVE].contains(&row.figure.engine));
    let fastest = peers.min_by(|a, b| a.figure.ns.total_cmp(&b.figure.ns));
    let ns = ours.figure.ns;
    let hand = by_hand.map_or_else(
        || "| |".to_owned(),
        |row| format!("{} | {:.1} |", time(row.figure.ns), ns / row.figure.ns),
    );
    let peer = fastest.map_or_else(
        || "| | |".to_owned(),
        |row| {
            format!(
                "{}, {} | {} | {} |",
                row.figure.engine,
                row.kind.name(),
                time(row.figure.ns),
                times(row.figure.ns / ns)
            )
        },
    );
    let (kind, allocations) = (ours.kind.name(), ours.figure.allocations);
    format!("| {kind} | {} | {} | {} | {allocations} | {hand} {peer}\n", ours.expression, ours.n, time(ns))
}

/// What another engine has to do to get as far as Celador gets with this.
fn comparable(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::StepEval => &[Kind::StepEval, Kind::BindEval],
        // no peer remembers an answer, so its next one costs what any costs
        Kind::Eval | Kind::First | Kind::Next => &[Kind::Eval],
        Kind::Compile | Kind::CompileCached => &[Kind::Compile],
        Kind::BindEval | Kind::Decision => &[],
    }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}
