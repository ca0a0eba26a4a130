//! Celador as an addon of Node: the requests of [`celador_embed::Texts`], at once or as a promise.
//!
//! In: texts, and a function of JavaScript that answers calls of the program's functions. Out: texts. Types, classes and errors are those of the package `@celador/api`, which this is a port of.
//!
//! A function of JavaScript runs on the thread of its own environment alone. A request that is answered at once calls it where it stands; one on a thread of the pool, or of another environment, puts the call into the
//! queue of that thread and waits.

use celador_embed::{Texts, system_clock};
use napi::bindgen_prelude::{AsyncTask, FnArgs, Function, FunctionRef};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status, Task};
use napi_derive::napi;
use std::cell::Cell;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// What this process holds. Worker threads of Node share it, and so the tasks in memory.
static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::new(system_clock()));

/// How long a call of a function of JavaScript waits for its thread. Beyond it the thread waits itself, such as for a lock of the caller, and the call fails.
const MAX_HOST_WAIT: Duration = Duration::from_secs(30);

thread_local! {
    /// The environment that has asked, while a request of it is answered on its own thread.
    static ASKING: Cell<Option<Env>> = const { Cell::new(None) };
}

/// Answers a request at once.
#[napi]
#[must_use]
pub fn ask(env: Env, what: String, about: u32, body: String) -> String {
    let before = ASKING.replace(Some(env));
    let answer = TEXTS.ask(&what, about, &body);
    ASKING.set(before);
    answer
}

/// Answers a request on a thread of Node's pool, where stores and servers may be waited for.
#[napi]
#[must_use]
pub fn ask_later(what: String, about: u32, body: String) -> AsyncTask<Asked> {
    AsyncTask::new(Asked { what, about, body })
}

/// Holds a function that answers calls of the program's functions, by name and arguments. It must not throw.
///
/// # Errors
/// An environment that ends.
#[napi]
pub fn host(env: Env, answer: Function<'_, HostCall, String>) -> Result<u32> {
    let host = JavaScript {
        env: env.raw() as usize,
        here: answer.create_ref()?,
        elsewhere: answer.build_threadsafe_function().weak::<true>().build()?,
    };
    let held = TEXTS.hold_host(Arc::new(move |name, arguments| host.call(name, arguments)));
    held.map_err(|error| napi::Error::from_reason(error.message))
}

/// Forgets a handle.
#[napi]
pub fn forget(about: u32) {
    TEXTS.forget(about);
}

/// A name and arguments.
type HostCall = FnArgs<(String, String)>;

/// A function of JavaScript that answers calls.
struct JavaScript {
    /// The address of its environment, which tells it from others and is never followed.
    env: usize,
    here: FunctionRef<HostCall, String>,
    elsewhere: ThreadsafeFunction<HostCall, String, HostCall, Status, false, true>,
}

impl JavaScript {
    fn call(&self, name: &str, arguments: &str) -> Option<String> {
        let call = (name.to_owned(), arguments.to_owned()).into();
        if let Some(env) = ASKING.get().filter(|env| env.raw() as usize == self.env) {
            return self.here.borrow_back(&env).and_then(|answer| answer.call(call)).ok();
        }
        let (give, take) = sync_channel(1);
        let status = self.elsewhere.call_with_return_value(
            call,
            ThreadsafeFunctionCallMode::NonBlocking,
            move |answer, _| {
                // nobody takes it who has stopped waiting
                let _ = give.send(answer.ok());
                Ok(())
            },
        );
        if status != Status::Ok {
            return None;
        }
        take.recv_timeout(MAX_HOST_WAIT).ok().flatten()
    }
}

/// A request that is answered on another thread.
pub struct Asked {
    what: String,
    about: u32,
    body: String,
}

impl Task for Asked {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        Ok(TEXTS.ask(&self.what, self.about, &self.body))
    }

    fn resolve(&mut self, _: Env, answer: String) -> Result<String> {
        Ok(answer)
    }
}
