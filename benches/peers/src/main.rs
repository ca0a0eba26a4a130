//! Celador beside its peers: the same questions on the same state, in one process.
//!
//! In: which engines, expressions and kinds of figures are wanted; all, if nothing is said. Out: a table of ratios, or one
//! line of JSON for each figure, and if it is asked for a picture of what a decision costs as a task gets longer. Each
//! answer is asserted before it is timed; all engines at one question are timed in turn, round by round.

#[path = "../../workload/allocations.rs"]
mod allocations;
mod arguments;
#[path = "../../workload/celador.rs"]
mod celador;
mod engines;
mod kind;
mod measure;
#[path = "../../workload/native.rs"]
mod native;
mod picture;
#[path = "../../workload/questions.rs"]
mod questions;
mod roots;
mod row;
mod table;

use arguments::Wanted;
use engines::{ENGINES, Engine};
use kind::Kind;
use measure::figures;
use roots::Roots;
use row::Row;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Wanted::read(std::env::args().skip(1)).and_then(|wanted| run(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(wrong) => {
            eprintln!("{wrong}\n\n{}", arguments::USAGE);
            ExitCode::FAILURE
        }
    }
}

fn run(wanted: &Wanted) -> Result<(), String> {
    let mut rows = Vec::new();
    for n in wanted.sizes() {
        measure_at(n, wanted, &mut rows);
    }
    if !wanted.json {
        print!("{}", table::of(&rows));
    }
    let Some(file) = &wanted.svg else { return Ok(()) };
    let picture = picture::of(&rows).ok_or("the picture needs step+eval or bind+eval of E12")?;
    std::fs::write(file, picture).map_err(|wrong| format!("{file}: {wrong}"))
}

/// Everything that is wanted on a task with this many invocations.
fn measure_at(n: usize, wanted: &Wanted, rows: &mut Vec<Row>) {
    let state = celador::State::new(n);
    let roots: &'static Roots = Box::leak(Box::new(Roots::of(&state)));
    let engines: Vec<Box<dyn Engine>> = {
        let chosen = ENGINES.iter().filter(|(name, _)| wanted.engine(name));
        chosen.map(|(_, make)| make(n, roots)).collect()
    };
    for expression in wanted.expressions(n) {
        let (mut kinds, mut cases) = (Vec::new(), Vec::new());
        for kind in Kind::ALL.into_iter().filter(|kind| wanted.question(*kind, expression, n)) {
            for case in engines.iter().filter_map(|engine| engine.case(kind, expression)) {
                kinds.push(kind);
                cases.push(case);
            }
        }
        let figures = figures(cases, wanted.patience());
        for row in kinds.into_iter().zip(figures).map(|(kind, figure)| Row { kind, expression, n, figure }) {
            if wanted.json {
                println!("{}", row.json());
            }
            rows.push(row);
        }
    }
}
