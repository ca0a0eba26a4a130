//! Where the repository is, and the official suites that are fetched into its `target/`.
//!
//! A suite that is not there is told of and passed over, since the network may be away. `tests/run` sets
//! `CELADOR_SUITES=required`, so where all tests are run a missing suite is a failure.

use std::path::Path;

/// The folder of the whole repository, from whichever of its packages this is built.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .find(|folder| folder.join("tests/it").is_dir())
        .expect("a package stands in the repository")
}

/// Says that a suite is not there, and what brings it.
///
/// # Panics
/// Where it must be there.
pub fn missing(suite: &str, brings: &str) {
    let required = std::env::var("CELADOR_SUITES").is_ok_and(|value| value == "required");
    assert!(!required, "{suite}: not run, it is not here: `{brings}` brings it");
    println!("{suite}: skipped, it is not here: `{brings}` brings it");
}
