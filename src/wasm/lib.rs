//! Celador as a WebAssembly module that a browser, Node or another host loads: engine, checker and cases, and with the feature `authoring` what authors ask; tasks in memory, `save` and
//! `restore`. No files, no network: manifests are texts, and time and chance come from the host.
//!
//! In: a request as text, in the memory of the module. Out: the answer likewise; they are those of [`celador_embed::Texts`].
//!
//! A host asks for room ([`room`]), writes the request there, has it answered ([`answer`]), and reads as many bytes as it is told at the
//! address that it is told. There is one room, as a module has one thread. The package `@celador/wasm` is such a host.
//!
//! Functions that policies call are those of the host too: it holds what answers them under a number of its own ([`hold_host`]), and the module asks it by the import `call`, at once. The host asks for room for what was
//! answered ([`reply_room`]) and writes it there.
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
        /// Answers a call of a function, by the number of what answers. The name stands at the first address and a list of arguments as JSON at the second. The answer stands in the room for
        /// it; 0 if there is none.
        pub(super) fn call(
            answers: u32,
            name: *const u8,
            name_length: usize,
            arguments: *const u8,
            arguments_length: usize,
        ) -> u32;
    }
}

thread_local! {
    static TEXTS: Texts = Texts::new(Arc::new(now));
    /// The request, and then the answer.
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The answer of a function of the host.
    static REPLY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
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
    ROOM.with_borrow_mut(|room| cleared(room, length))
}

/// Makes room for the answer of a function of so many bytes, and says where.
#[unsafe(no_mangle)]
pub extern "C" fn reply_room(length: usize) -> *mut u8 {
    REPLY.with_borrow_mut(|reply| cleared(reply, length))
}

fn cleared(room: &mut Vec<u8>, length: usize) -> *mut u8 {
    room.clear();
    room.resize(length, 0);
    room.as_mut_ptr()
}

/// Holds what answers calls of functions, by a number of the host. Gives its handle; 0 if too much is held.
#[unsafe(no_mangle)]
pub extern "C" fn hold_host(answers: u32) -> u32 {
    let call = move |name: &str, arguments: &str| {
        let (name, name_length) = (name.as_ptr(), name.len());
        // SAFETY: the host reads so many bytes at these addresses, and both texts live until it has answered
        let answered = unsafe { host::call(answers, name, name_length, arguments.as_ptr(), arguments.len()) };
        let reply = REPLY.take();
        (answered != 0).then(|| String::from_utf8(reply).ok()).flatten()
    };
    TEXTS.with(|texts| texts.hold_host(Arc::new(call))).unwrap_or(0)
}

/// Answers the request in the room: its name, a blank, and behind it the body. Says how long the answer is; [`answer_at`] says where.
#[unsafe(no_mangle)]
pub extern "C" fn answer(about: u32) -> usize {
    // nothing is borrowed meanwhile: a function of the host may ask, and is refused
    let request = ROOM.take();
    let answer = match std::str::from_utf8(&request).ok().and_then(|request| request.split_once(' ')) {
        Some((what, body)) => TEXTS.with(|texts| texts.ask(what, about, body)),
        // no request of the package: there is nothing of this name either
        None => TEXTS.with(|texts| texts.ask("", about, "")),
    };
    let length = answer.len();
    ROOM.set(answer.into_bytes());
    length
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
