//! What it takes to decide the clauses of agents: of each folder of `policies/`, and of one with a thousand clauses.
//!
//! `cargo bench --bench analysis` compiles each set of manifests with its analysis and without, and prints the difference. It stops if an agent that ships
//! takes a second.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::arithmetic_side_effects,
    reason = "a benchmark is a program of its own; what goes wrong in it should stop it"
)]

use celador::Engine;
use celador::limits::EngineLimits;
use celador::manifest::load::{File, FileOrigin};
use celador::manifest::{Catalog, load};
use celador::source::Source;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often each set is compiled; the shortest time counts.
const ROUNDS: u32 = 5;

fn main() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let below = |folder: &Path| {
        let entries =
            std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
        let mut found: Vec<_> = entries.filter(|path| path.is_dir() && !path.ends_with("library")).collect();
        found.sort();
        found
    };
    println!("{:<40} {:>9} {:>9} {:>12} {:>12}", "manifests", "clauses", "decided", "compiled", "analysed");
    for folder in below(&policies).into_iter().chain(below(&policies.join("library"))) {
        let (files, _) = load(&[&folder], &EngineLimits::default()).expect("the folder can be read");
        let name = folder.strip_prefix(&policies).unwrap_or(&folder).display().to_string();
        assert!(measure(&name, &files) < Duration::from_secs(1), "{name} takes a second");
    }
    let file = File { source: Source::new("large.yaml", large(1_000)), origin: FileOrigin::Named };
    measure("a thousand clauses", &[file]);
}

fn measure(name: &str, files: &[File]) -> Duration {
    let limits = EngineLimits::default();
    let (catalog, _) = Catalog::parse(files, &limits);
    let shortest = |run: &dyn Fn()| {
        let rounds = (0..ROUNDS).map(|_| {
            let begin = Instant::now();
            run();
            begin.elapsed()
        });
        rounds.min().unwrap_or_default()
    };
    let compiled = shortest(&|| drop(Engine::lenient_from_catalog(&catalog, limits)));
    let whole = shortest(&|| drop(Engine::from_catalog(&catalog, limits)));
    let analysed = whole.saturating_sub(compiled);
    let analysis = Engine::from_catalog(&catalog, limits).0.analysis();
    let clauses = analysis.decided + analysis.unknown.len();
    println!("{name:<40} {clauses:>9} {:>9} {compiled:>12.1?} {analysed:>12.1?}", analysis.decided);
    analysed
}

/// An agent with so many clauses, ten to a step.
fn large(clauses: usize) -> String {
    let mut text = String::from(
        "kind: commonagents.info/v1beta2/tool\nnamespace: shop\nname: refund\ndescription: Pays.\nactions:\n  - name: pay\n    description: Pays.\n    \
         parameters: {properties: {amount: {type: number}, order: {type: string}}}\n    \
         execute: {stateless_http: {method: POST, url: \"https://pay.example.com\"}}\n---\n\
         kind: commonagents.info/v1beta2/agent\nnamespace: shop\nname: clerk\ndescription: Answers.\nprompt: You are careful.\ncapabilities:\n  refund:\n    before:\n",
    );
    for step in 0..clauses / 10 {
        let clause = |at: usize| {
            let number = step * 10 + at;
            if at.is_multiple_of(2) {
                format!("input.amount != {number}")
            } else {
                format!("!input.order.startsWith('order-{number}')")
            }
        };
        let all: Vec<String> = (0..10).map(clause).collect();
        writeln!(text, "      - assert: \"{}\"", all.join(" && ")).expect("a text takes what is written");
    }
    text
}
