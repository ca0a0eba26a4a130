//! `cargo fuzz run host_function`; the body also runs in `cargo test`.
#![no_main]
#[allow(dead_code, unused_imports, reason = "each target uses one body")]
#[path = "../bodies.rs"]
mod bodies;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::host_function(data));
