//! Celador as a WebAssembly module that a browser, Node or another host loads: engine, checker and cases, and with the feature `authoring` what authors ask; tasks in memory, `save` and
//! `restore`. No files, no network: manifests are texts, and time and chance come from the host.
//!
//! In: a request as text, in the memory of the module. Out: the answer likewise; they are those of [`celador_embed::Texts`].
//!
//! A host asks for room ([`room`]), writes the request there, has it answered ([`answer`]), and reads as many bytes as it is told at the
//! address that it is told. There is one room, as a module has one thread. The package `@celador/wasm` is such a host.
//!
//! A host without chance gives Rust's hash tables the same seed each time. Whoever lets strangers choose the names in JSON
//! there lowers `max_json_bytes` and `max_task_bytes`: names that fall together make a table slow, never wrong.

#![expect(
    unsafe_code,
    reason = "a host finds exported functions by their names, and has its own under the names that are imported"
)]

use celador::Timestamp;
use celador_embed::Texts;
use std::cell::RefCell;
use std::sync::Arc;

/// What the host gives: the functions that are imported from `celador`.
mod host {
    #[link(wasm_import_module = "celador")]
    unsafe extern "C" {
        /// The time, in milliseconds since 1970.
        pub(super) safe fn now() -> f64;
        /// Writes so many random bytes at this address.
        pub(super) fn random(address: *mut u8, length: usize);
    }
}

thread_local! {
    static TEXTS: Texts = Texts::new(Arc::new(now));
    /// The request, and then the answer.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn now() -> Timestamp {
    let milliseconds = host::now() as i64;
    // of a host without a sensible time it is that of the epoch
    Timestamp::from_nanos(i128::from(milliseconds).saturating_mul(1_000_000))
        .unwrap_or_else(|_| std::time::UNIX_EPOCH.into())
}

/// Makes room for a request of so many bytes, and says where. What stood there before is gone.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        room.clear();
        room.resize(length, 0);
        room.as_mut_ptr()
    })
}

/// Answers the request in the room: its name, a blank, and behind it the body. Says how long the answer is; [`answer_at`] says where.
#[unsafe(no_mangle)]
pub extern "C" fn answer(about: u32) -> usize {
    ROOM.with_borrow_mut(|room| {
        let answer = match std::str::from_utf8(room).ok().and_then(|request| request.split_once(' ')) {
            Some((what, body)) => TEXTS.with(|texts| texts.ask(what, about, body)),
            // no request of the package: there is nothing of this name either
            None => TEXTS.with(|texts| texts.ask("", about, "")),
        };
        *room = answer.into_bytes();
        room.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    ROOM.with_borrow(|room| room.as_ptr())
}

/// Forgets a handle.
#[unsafe(no_mangle)]
pub extern "C" fn forget(about: u32) {
    TEXTS.with(|texts| texts.forget(about));
}

/// Chance for the hash tables of the validator of schemas, which asks for it by this name (`getrandom_backend="custom"`).
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    address: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller vouches for so many bytes at this address, and the host writes no others
    unsafe { host::random(address, length) };
    Ok(())
}
