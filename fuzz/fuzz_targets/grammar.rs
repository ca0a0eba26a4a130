//! `cargo fuzz run grammar`; the body also runs in `cargo test`.
#![no_main]
#[allow(dead_code, unused_imports, reason = "each target uses one body")]
#[path = "../bodies.rs"]
mod bodies;
// libFuzzer's hook ends the process at every panic, also at those of the other parser, which the body catches; a panic of the
// body itself still ends it
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))),
    |data: &[u8]| bodies::grammar(data)
);
