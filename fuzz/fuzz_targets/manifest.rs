//! `cargo fuzz run manifest`; the body also runs in `cargo test`.
#![no_main]
#[path = "../bodies.rs"]
mod bodies;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::manifest(data));
