//! The protocol vectors: what clients of Bindu, Aion and Aletheia send, and what has to come back, or to be stored.
//!
//! `tests/data/protocols/vectors` holds them, `own` those of this project; `PROTOCOL_VECTORS` names another folder of the
//! same format. Each vector of
//! the RPC groups starts from a fresh store and runs over every transport on the embedded store and on Postgres; those of
//! Aletheia run on real servers, Redis behind a proxy that records what goes out. A vector passes if it does everywhere.

mod aletheia;
mod format;
mod proxy;
mod rpc;

use format::{Body, Vector};
use std::path::{Path, PathBuf};

/// What went wrong, with the vector, where it ran, the step, what was expected and what was found.
type Failures = Vec<String>;

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/protocols").join(folder)
}

#[test]
fn protocol_vectors() {
    let (passed, failures) =
        run(&std::env::var_os("PROTOCOL_VECTORS").map_or_else(|| data("vectors"), PathBuf::from));
    println!("vectors: {passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "\n{}\n", failures.concat().join("\n"));
}

/// Our own, of the same rules: harder edges and other data.
#[test]
fn own_protocol_vectors() {
    let (passed, failures) = run(&data("own"));
    println!("own vectors: {passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "\n{}\n", failures.concat().join("\n"));
}

/// How many vectors of a folder passed, and what is wrong with each of the others.
fn run(folder: &Path) -> (usize, Vec<Failures>) {
    let vectors = format::read(folder);
    assert!(!vectors.is_empty(), "no vectors in {}", folder.display());
    let mut rpc = rpc::Runner::default();
    let mut aletheia = aletheia::Runner::default();
    let outcomes = vectors.iter().map(|vector| match &vector.body {
        Err(wrong) => vec![format!("{}: {wrong}", vector.id)],
        Ok(Body::Rpc(steps)) => rpc.run(vector, steps),
        Ok(Body::Redis(stored)) => aletheia.redis(vector, stored),
        Ok(Body::Postgres(stored)) => aletheia.postgres(vector, stored),
    });
    let failures: Vec<Failures> = outcomes.filter(|found| !found.is_empty()).collect();
    (vectors.len() - failures.len(), failures)
}

/// One line about a step.
fn wrong(vector: &Vector, place: &str, step: usize, expected: &dyn ToString, found: &dyn ToString) -> String {
    format!(
        "{} on {place}, step {}: expected {}, found {}",
        vector.id,
        step + 1,
        expected.to_string(),
        found.to_string()
    )
}
